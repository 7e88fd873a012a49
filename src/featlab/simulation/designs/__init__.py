"""How the n x d matrix X of Gaussian inputs exists: stored, streamed, sampled where asked, or as a few coordinates."""

from __future__ import annotations
