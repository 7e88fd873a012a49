"""What can be known of a target before any data: exponents, staircases, thresholds, residuals, sample costs.

Internal: modules and names may change; what is public of them is in `featlab`.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
