"""The script in PyTorch: run as it is where PyTorch is installed, else on arrays of the array API."""

from __future__ import annotations

from typing import Any

import array_api_strict as xp
from docs import own_run_pytorch as script


def by_hand(weights: Any, inputs: Any, labels: Any) -> Any:
    """dL/dW of L = mean (y - f)^2 / 2, in nothing but the array API."""
    fields = inputs @ weights.T
    output = xp.mean(xp.where(fields > 0, fields, xp.zeros_like(fields)), axis=1)
    slopes = xp.astype(fields > 0, fields.dtype) / weights.shape[0]
    return -((labels - output)[:, None] * slopes).T @ inputs / labels.shape[0]


def test_the_script_agrees_with_theory_and_a_wrong_one_does_not() -> None:
    try:
        import torch
    except ImportError:
        arrays, gradient = xp, by_hand
    else:
        arrays, gradient = torch, script.by_torch
    found = script.compared(arrays, gradient)
    assert found.verdict == "agrees", found
    twice = script.compared(arrays, lambda *given: 2 * gradient(*given))
    assert twice.verdict == "disagrees", twice
