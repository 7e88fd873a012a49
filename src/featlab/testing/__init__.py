"""Tests for what people add: `check_learner` is to learners what `check_estimator` is to scikit-learn's estimators."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
