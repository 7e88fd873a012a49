"""What is to be learned: safe text to target, its link, rank and kinks, and a catalogue from the literature.

Internal: modules and names may change; what is public of them is in `featlab`.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
