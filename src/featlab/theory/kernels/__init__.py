"""Kernel ridge regression: which degrees are learned, and the risk at a finite dimension."""
