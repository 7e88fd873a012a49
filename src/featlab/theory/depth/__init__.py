"""Depth: what three-layer networks learn of tree targets, and two-layer networks and kernels do not."""
