"""Norms, cosines and spectra that follow from overlaps and Gram matrices carry their errors."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.theory.derived import with_derived

STEPS, WIDTH, RANK = 3, 4, 2
DERIVED = ("norm", "cosine", "subspace", "spectrum")
NONE = np.zeros((STEPS, WIDTH))


def student(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """M and Q of random neurons in R^6, the directions being the first axes."""
    weights = rng.standard_normal((STEPS, WIDTH, 6))
    return {"overlap": weights[:, :, :RANK], "gram": weights @ weights.transpose(0, 2, 1)}


@pytest.mark.parametrize("seed", range(5))
def test_no_change_within_the_errors_changes_more_than_is_stated(seed: int) -> None:
    """200 changes of M and Q within their errors, each entry by all of its error, up or down. The stated error is
    reached by norms, whose entry is one number, and is within a factor of three of the largest change for the rest."""
    rng = np.random.default_rng(seed)
    right, off = student(rng), 1e-4
    errors = {name: off * np.ones_like(value) for name, value in right.items()}
    told = with_derived(right, errors, spectrum=True)
    largest = {name: np.zeros_like(told[name]) for name in DERIVED}
    for _ in range(200):
        turns = {name: rng.choice([-1.0, 1.0], value.shape) for name, value in right.items()}
        turns["gram"] = np.triu(turns["gram"]) + np.triu(turns["gram"], 1).transpose(0, 2, 1)
        moved = with_derived({name: right[name] + off * turns[name] for name in right}, {}, spectrum=True)
        for name in DERIVED:
            largest[name] = np.maximum(largest[name], np.abs(moved[name] - told[name]))
    for name, share in (("norm", 0.999), ("cosine", 0.999), ("subspace", 1 / 3), ("spectrum", 1 / 3)):
        stated = told[f"{name}_error"]
        assert np.all(largest[name] <= 1.001 * stated), name
        assert np.max(largest[name] / stated) > share, f"{name}: an error that says nothing"


def test_errors_are_told_where_there_are_some() -> None:
    right = student(np.random.default_rng(0))
    assert not any(name.endswith("_error") for name in with_derived(right, {}, spectrum=True))
    of_gram = with_derived(right, {"gram": 1e-3 * np.ones_like(right["gram"])}, spectrum=False)
    assert "spectrum" not in of_gram
    np.testing.assert_allclose(
        of_gram["cosine_error"], np.abs(of_gram["cosine"]) * (of_gram["norm_error"] / of_gram["norm"])[:, :, None]
    )
    of_overlap = with_derived(right, {"overlap": 1e-3 * np.ones_like(right["overlap"])}, spectrum=False)
    assert "norm_error" not in of_overlap
    np.testing.assert_allclose(of_overlap["cosine_error"], 1e-3 / np.repeat(of_overlap["norm"][:, :, None], RANK, 2))


def test_what_was_predicted_is_kept() -> None:
    right = student(np.random.default_rng(0))
    own = with_derived(right | {"norm": NONE + 2}, {"norm": NONE + 0.5, "gram": right["gram"]}, spectrum=False)
    assert own["norm"].tolist() == (NONE + 2).tolist()
    assert own["norm_error"].tolist() == (NONE + 0.5).tolist()


def test_what_has_no_value_has_no_error_either() -> None:
    right = student(np.random.default_rng(0))
    right["overlap"][1] = right["gram"][1] = np.nan
    told = with_derived(right, {name: np.zeros_like(value) for name, value in right.items()}, spectrum=True)
    for name in DERIVED:
        assert np.all(np.isnan(told[name][1])), name
        assert np.all(np.isfinite(told[name][[0, 2]])), name
        assert np.all(told[f"{name}_error"][[0, 2]] == 0), name
