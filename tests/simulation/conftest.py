"""What tests of simulations share."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture
def compiled_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """`monkeypatch` for what is compiled: dimensions share programs, so those of others are forgotten, and its own."""
    jax.clear_caches()
    yield monkeypatch
    jax.clear_caches()
