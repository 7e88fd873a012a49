"""Explanations take up to seconds: each is computed once in a test session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from featlab.reports import Explanation, explain


@pytest.fixture(scope="session")
def explained() -> Callable[..., Explanation]:
    """`explain`, remembering what it has explained."""
    return cache(explain)
