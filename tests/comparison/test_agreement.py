"""Verdicts: right predictions are rejected no more often than stated, wrong ones are, and noise is called noise."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import featlab
from featlab.comparison import Agreement, FiniteSize, assert_agrees, compare
from featlab.errors import InvalidParameter
from tests.comparison.synthetic import measurement, prediction, truth

TRUTH = truth()


def test_the_package_is_called_like_its_function() -> None:
    data = measurement(TRUTH, noise=0.01)
    assert featlab.compare(prediction(TRUTH), data).verdict is Agreement.AGREES
    assert featlab.compare is featlab.compare


def test_false_alarms_are_no_more_frequent_than_stated() -> None:
    """Bonferroni over strongly dependent points: at most `level`, with three standard errors of the count."""
    repeats, level = 300, 0.1
    alarms = sum(
        compare(prediction(TRUTH), measurement(TRUTH, noise=0.05, seeds=5, key=key), allowance=0.0, level=level).verdict
        is Agreement.DISAGREES
        for key in range(repeats)
    )
    spread = np.sqrt(repeats * level * (1 - level))
    assert alarms <= repeats * level + 3 * spread
    assert alarms > 0.1 * repeats * level  # and the test is not asleep


def test_independent_points_use_up_the_level() -> None:
    """With independent points Bonferroni is nearly exact: at the level 20% it rejects 1 - (1 - 0.2/m)^m = 18.2%."""
    repeats, level = 300, 0.2
    found = [
        compare(
            prediction(TRUTH), measurement(TRUTH, noise=0.05, seeds=6, key=key, common=0.0), allowance=0.0, level=level
        )
        for key in range(repeats)
    ]
    rate = np.mean([one.verdict is Agreement.DISAGREES for one in found])
    assert rate == pytest.approx(1 - (1 - level / 12) ** 12, abs=3 * np.sqrt(0.18 * 0.82 / repeats))


@settings(max_examples=40, deadline=None)
@given(
    wrong=st.sampled_from([0.8, 1.2]),
    noise=st.floats(0.001, 0.05),
    seeds=st.integers(8, 40),
    key=st.integers(0, 2**32 - 1),
)
def test_twenty_percent_wrong_is_rejected_when_the_errors_allow(
    wrong: float, noise: float, seeds: int, key: int
) -> None:
    """The largest value is off by 0.18, at least four critical distances here; the allowance takes 0.01 of it."""
    data = measurement(TRUTH, noise=noise, seeds=seeds, key=key)
    assert compare(prediction(wrong * TRUTH), data).verdict is Agreement.DISAGREES
    with pytest.raises(AssertionError, match="disagrees: overlap at time"):
        assert_agrees(prediction(wrong * TRUTH), data)


@settings(max_examples=40, deadline=None)
@given(seeds=st.integers(3, 20), key=st.integers(0, 2**32 - 1), wrong=st.floats(0.8, 1.2))
def test_noise_is_never_agreement(seeds: int, key: int, wrong: float) -> None:
    """Data as noisy as their values cannot tell 20%: whatever the verdict, it is not agreement."""
    data = measurement(TRUTH, noise=1.0, seeds=seeds, key=key)
    assert compare(prediction(wrong * TRUTH), data).verdict is not Agreement.AGREES


def test_cannot_tell_says_what_it_would_take() -> None:
    found = compare(prediction(TRUTH), measurement(TRUTH, noise=0.4, seeds=6, key=3))
    assert found.verdict is Agreement.CANNOT_TELL
    assert found.resolution > 0.2
    assert f"(of overlap it takes {found.resolution:.0%}): more seeds" in found.reason
    with pytest.raises(AssertionError, match="cannot tell"):
        assert_agrees(prediction(TRUTH), measurement(TRUTH, noise=0.4, seeds=6, key=3))


@settings(max_examples=25, deadline=None)
@given(noise=st.floats(0.001, 0.2), key=st.integers(0, 2**32 - 1))
def test_the_resolution_is_where_scaled_predictions_begin_to_be_rejected(noise: float, key: int) -> None:
    data = measurement(TRUTH, noise=noise, key=key)
    data = data.assign_coords(step=data["step"] + 1)  # every point is evidence, none the start
    found = compare(prediction(TRUTH), data, allowance=0.02)
    if found.verdict is Agreement.DISAGREES:
        return

    def rejects(relative: float) -> bool:
        """Both a larger and a smaller prediction; the allowance stays that of the prediction itself."""
        scaled = (compare(prediction(s * TRUTH), data, allowance=0.02 / s) for s in (1 + relative, 1 - relative))
        return all(one.verdict is Agreement.DISAGREES for one in scaled)

    if found.resolution < 0.9:
        assert rejects(1.001 * found.resolution)
        assert not rejects(0.999 * found.resolution)


def test_the_allowance_is_stated_and_used() -> None:
    biased = TRUTH + 0.02
    data = measurement(biased, noise=0.002)
    strict = compare(prediction(TRUTH), data, allowance=0.0)
    assert (strict.verdict, strict.allowance) == (Agreement.DISAGREES, "none")
    default = compare(prediction(TRUTH), data)  # 1/sqrt(10^4) of each value
    assert default.verdict is Agreement.DISAGREES
    assert default.allowance == "1/sqrt(d) = 0.01 of each predicted value"
    np.testing.assert_allclose(default.quantities["overlap"].allowance, 0.01 * np.abs(TRUTH), atol=1e-9)
    wide = compare(prediction(TRUTH), data, allowance=FiniteSize(3.0, of="largest"))
    assert wide.verdict is Agreement.AGREES
    assert wide.resolution < 0.1
    assert FiniteSize(2.0, 1.0).text(1000) == "2/d = 0.002 of each predicted value"


def test_a_large_value_allows_nothing_to_a_small_one() -> None:
    """The smallest value is 0.05; a tenth of the largest, 0.09, hides that it is wrong by 60%."""
    wrong = TRUTH.copy()
    wrong[0] *= 1.6
    data = measurement(TRUTH, noise=0.002)
    assert compare(prediction(wrong), data, allowance=0.1).verdict is Agreement.DISAGREES
    of_largest = FiniteSize(0.1, 0.0, of="largest")
    assert compare(prediction(wrong), data, allowance=of_largest, telling=0.0).verdict is Agreement.AGREES


def test_the_sentence_says_what_share_of_the_bound_was_allowed() -> None:
    data = measurement(TRUTH, noise=0.01)
    allowed = compare(prediction(TRUTH), data, allowance=0.1)
    assert allowed.verdict is Agreement.AGREES
    assert 0.3 < allowed.allowance_share < 1
    assert f"The allowance for finite d is {allowed.allowance_share:.0%} of the bound there." in allowed.reason
    strict = compare(prediction(TRUTH), data, allowance=0.0)
    assert strict.allowance_share < 1e-6
    assert "allowance" not in strict.reason


def test_z_scores_against_plain_arithmetic() -> None:
    data = measurement(TRUTH, noise=0.05, seeds=7)
    found = compare(prediction(TRUTH, error=0.03), data, allowance=0.01).quantities["overlap"]
    values = data["overlap"].values
    difference = values.mean(axis=0) - TRUTH
    error = np.sqrt(values.var(axis=0, ddof=1) / 7 + 0.03**2)
    np.testing.assert_allclose(found.error, error)
    excess = np.sign(difference) * np.maximum(np.abs(difference) - 0.01 * np.abs(TRUTH), 0)
    np.testing.assert_allclose(found.z, excess / error, atol=1e-9)


def test_the_error_of_the_prediction_counts() -> None:
    data = measurement(1.03 * TRUTH, noise=0.001)
    assert compare(prediction(TRUTH), data).verdict is Agreement.DISAGREES
    assert compare(prediction(TRUTH, error=0.01), data).verdict is Agreement.AGREES


def test_seeds_are_paired_with_their_own_predictions() -> None:
    """Starts scatter a lot, what follows from them hardly: unpaired, nothing could be told."""
    rng = np.random.default_rng(0)
    starts = TRUTH * rng.uniform(0.2, 1.8, size=(12, 1, 2, 1))
    data = measurement(TRUTH, noise=0.0)
    data["overlap"].values[:] = starts + 0.001 * rng.normal(size=starts.shape)
    assert compare(prediction(TRUTH), data).verdict is Agreement.CANNOT_TELL
    assert compare(prediction(starts, seeds=True), data).verdict is Agreement.AGREES
    assert compare(prediction(1.2 * starts, seeds=True), data).verdict is Agreement.DISAGREES
    reversed_seeds = prediction(starts, seeds=True).isel(seed=slice(None, None, -1))
    assert compare(reversed_seeds, data).verdict is Agreement.AGREES  # paired by label, not by place


def test_signs_may_be_arbitrary() -> None:
    data = measurement(TRUTH, noise=0.01)
    data["overlap"].values[::4] *= -1
    assert compare(prediction(TRUTH), data).verdict is not Agreement.AGREES
    assert compare(prediction(TRUTH), data, signless=True).verdict is Agreement.AGREES
    assert compare(prediction(1.2 * TRUTH), data, signless=True).verdict is Agreement.DISAGREES


def test_a_prediction_of_zero_is_measured_by_one() -> None:
    nothing = 0 * TRUTH
    assert compare(prediction(nothing), measurement(nothing, noise=0.02)).verdict is Agreement.AGREES
    assert compare(prediction(nothing), measurement(nothing + 0.3, noise=0.02)).verdict is Agreement.DISAGREES
    assert compare(prediction(nothing), measurement(nothing, noise=1.0)).verdict is Agreement.CANNOT_TELL


def test_one_seed_cannot_tell() -> None:
    found = compare(prediction(TRUTH), measurement(TRUTH, noise=0.01, seeds=1))
    assert found.verdict is Agreement.CANNOT_TELL
    assert "take at least two seeds" in found.reason


def test_what_has_no_value_is_left_out_and_counted() -> None:
    data = measurement(TRUTH, noise=0.01)
    data["overlap"].values[0, 4:] = np.nan  # one seed diverged: the mean of the others is not what is predicted
    found = compare(prediction(TRUTH), data)
    assert found.verdict is Agreement.AGREES
    assert found.points == 8
    assert "4 points without a value are left out" in found.reason
    failed = prediction(np.full_like(TRUTH, np.nan), outcome="diverged", remedy="take smaller steps")
    failed.attrs |= {"outcome": "diverged", "remedy": "take smaller steps"}
    found = compare(failed, measurement(TRUTH, noise=0.01))
    assert found.verdict is Agreement.CANNOT_TELL
    assert "the prediction is diverged; take smaller steps" in found.reason


def test_exact_values_need_no_noise() -> None:
    """Norms on the sphere: no scatter at all, rounding only."""
    ones = np.ones((6, 2, 1))
    assert compare(prediction(ones), measurement(ones, noise=0.0), allowance=0.0).verdict is Agreement.AGREES
    assert compare(prediction(1.2 * ones), measurement(ones, noise=0.0), allowance=0.0).verdict is Agreement.DISAGREES


def test_a_sure_quantity_does_not_vouch_for_a_noisy_one() -> None:
    ones = np.ones_like(TRUTH)
    theory = prediction(TRUTH).assign(norm=prediction(ones)["overlap"])
    data = measurement(TRUTH, noise=0.4, key=3).assign(norm=measurement(ones, noise=0.0)["overlap"])
    assert compare(theory, data, names=["norm"]).verdict is Agreement.AGREES
    assert compare(theory, data).verdict is Agreement.CANNOT_TELL


def test_a_given_start_is_no_evidence() -> None:
    """At the start all seeds are alike, as prescribed: that they are where the prediction starts tells nothing."""
    data = measurement(TRUTH, noise=0.4, key=3)
    data["overlap"].values[:, 0] = TRUTH[0]
    assert compare(prediction(TRUTH), data).verdict is Agreement.CANNOT_TELL
    elsewhere = TRUTH + np.array([0.3, 0, 0, 0, 0, 0])[:, None, None]
    assert compare(prediction(elsewhere), data).verdict is Agreement.DISAGREES


def test_a_prediction_of_rounding_size_is_one_of_zero() -> None:
    nothing = 1e-17 * TRUTH
    assert compare(prediction(nothing), measurement(nothing, noise=0.02)).verdict is Agreement.AGREES


def test_times_are_matched_within_half_a_step() -> None:
    """One-pass learners: time is steps / d, rounded to whole steps."""
    data = measurement(TRUTH, noise=0.01)
    data = data.assign_coords(time=data["time"].values / 3, step=("time", np.arange(6)))
    near = prediction(TRUTH)
    near = near.assign_coords(time=np.arange(6) / 3 + 0.1)
    assert compare(near, data).points == 12
    with pytest.raises(InvalidParameter, match="times and seeds of the measurement among them"):
        compare(near.assign_coords(time=np.arange(6) + 50.0), data)
    some = prediction(TRUTH[:4])
    assert compare(some, measurement(TRUTH, noise=0.01)).points == 8


def test_measurements_may_bring_their_errors() -> None:
    """Without seeds: numbers read off a paper."""
    data = measurement(TRUTH, noise=0.0, seeds=1).isel(seed=0, drop=True)
    data["overlap_error"] = data["overlap"] * 0 + 0.01
    assert compare(prediction(TRUTH), data).verdict is Agreement.AGREES
    assert compare(prediction(1.2 * TRUTH), data).verdict is Agreement.DISAGREES


@pytest.mark.parametrize(
    ("left", "right", "options", "name"),
    [
        (prediction(TRUTH), measurement(TRUTH, noise=0.1), {"names": ["risk"]}, "names"),
        (prediction(TRUTH), measurement(TRUTH, noise=0.1), {"names": []}, "names"),
        (prediction(TRUTH), measurement(TRUTH, noise=0.1), {"level": 0.0}, "level"),
        (prediction(TRUTH), measurement(TRUTH, noise=0.1), {"allowance": -1.0}, "allowance"),
        (prediction(TRUTH[:, :1]), measurement(TRUTH, noise=0.1), {}, "prediction"),
        (prediction(TRUTH), measurement(TRUTH, noise=0.1).isel(seed=0), {}, "measurement"),
        (prediction(TRUTH).rename(overlap="gram"), measurement(TRUTH, noise=0.1), {}, "names"),
    ],
)
def test_misuse(left: xr.Dataset, right: xr.Dataset, options: dict[str, object], name: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{name}: got"):
        compare(left, right, **options)  # type: ignore[arg-type]


def test_at_one_size_a_limit_of_many_samples_is_allowed_the_noise_of_a_batch() -> None:
    """sqrt(d/n) of each value: a fifth off is no contradiction at n = 16 d, and cannot be told, by more seeds neither;
    at n = 10^4 d it is one."""
    limit = prediction(TRUTH).assign_attrs(limit="samples")
    few, many = (
        measurement(0.8 * TRUTH, noise=0.001).assign_attrs(dim=100, samples=ratio * 100) for ratio in (16, 10_000)
    )
    found = compare(limit, few)
    assert found.allowance == "sqrt(d/n) = 0.25 of each predicted value"
    assert found.verdict is Agreement.CANNOT_TELL
    assert "what is allowed for one size is more than that by itself; several sizes measure it, or more samples" in (
        found.reason
    )
    assert "The allowance for finite n is" in found.reason
    assert compare(limit, many).verdict is Agreement.DISAGREES
    assert compare(prediction(TRUTH), few).verdict is Agreement.DISAGREES  # 1/sqrt(d) of a limit of large d
    assert compare(limit, few, allowance=0.01).verdict is Agreement.DISAGREES


def test_signs_that_cancel_in_the_mean_do_not_cancel_errors() -> None:
    """Each seed has its own prediction, of either sign: a factor in it is refused, however signs fall."""
    signs = np.resize([1.0, -1.0, -1.0], 12)[:, None, None, None]
    run = measurement(TRUTH, noise=0.01)
    run = run.assign(overlap=signs * run["overlap"])
    for factor, verdict in ((1.0, Agreement.AGREES), (1.2, Agreement.DISAGREES), (0.8, Agreement.DISAGREES)):
        found = compare(prediction(factor * signs * TRUTH[None], seeds=True), run, allowance=0.0)
        assert found.verdict is verdict
        shown = found.quantities["overlap"]
        np.testing.assert_allclose(shown.theory, -factor * TRUTH)  # the size, with the sign of most
        np.testing.assert_allclose(shown.simulation, -TRUTH, atol=0.02)
        np.testing.assert_allclose(shown.limit, shown.simulation)
    data = measurement(-TRUTH, noise=0.01)
    same = compare(prediction(np.repeat(-TRUTH[None], 12, axis=0), seeds=True), data).quantities["overlap"]
    np.testing.assert_allclose(same.theory, -TRUTH)
    np.testing.assert_allclose(same.z, compare(prediction(-TRUTH), data).quantities["overlap"].z)


@pytest.mark.parametrize("factor", [1.0, 1.2])
def test_finite_size_with_the_sign_of_each_seed_is_no_disagreement(factor: float) -> None:
    """A correction of 30/d of the value: seeds of either sign in unequal numbers would make it no power of d."""
    rng, predicted, measured = np.random.default_rng(3), [], []
    for dim in (100, 400, 1600):
        signs = rng.choice([-1.0, 1.0], size=12)[:, None, None, None]
        run = measurement(TRUTH * (1 - 30 / dim), noise=0.005, dim=dim, key=dim)
        predicted.append(prediction(factor * signs * TRUTH[None], seeds=True))
        measured.append(run.assign(overlap=signs * run["overlap"]))
    found = compare(predicted, measured)
    assert found.verdict is (Agreement.AGREES if factor == 1.0 else Agreement.DISAGREES), found
