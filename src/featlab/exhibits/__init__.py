"""Every claim of the literature that featlab knows, put to the test: a study, a prediction, a figure and a verdict.

One file for each claim, in `claims`; `how to add an exhibit` is in docs/adding-an-exhibit.md.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
