"""How it is to be learned: students and algorithms as frozen, validated descriptions without dynamics."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
