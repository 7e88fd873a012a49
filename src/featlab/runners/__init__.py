"""What the points of a study can be: the science that `featlab.study` does not know, bound to it.

A kind is "simulate", "predict", "one-step", "one-step-readout", or `module:name` of any function
`run_point(point, key) -> rows` or `Runner`.

Internal: modules and names may change; what is public of them is in `featlab`.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
