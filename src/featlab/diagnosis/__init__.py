"""Data that are given: what is wrong with them, their inputs, directions and orders, and whether they are enough.

Internal: modules and names may change; what is public of them is in `featlab`. It needs the extra `sklearn`.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
