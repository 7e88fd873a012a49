"""Directions, networks and kernels fitted to data of your own, with scikit-learn's contract (extra `sklearn`)."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
