"""Directions, networks and kernels fitted to data of your own, with scikit-learn's contract (extra `sklearn`)."""

from __future__ import annotations

from importlib.util import find_spec

import lazy_loader

if find_spec("sklearn") is None:
    raise ModuleNotFoundError("featlab.estimators needs scikit-learn: pip install 'featlab[sklearn]'", name="sklearn")
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
