"""What is to be learned: safe text to target, its link, rank and kinks, and a catalogue from the literature."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
