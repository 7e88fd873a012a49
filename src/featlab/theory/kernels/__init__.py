"""Kernel ridge regression: which degrees are learned, and the risk at a finite dimension."""

from __future__ import annotations
