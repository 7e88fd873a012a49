"""What a run takes is known before it starts: designs that depend on sizes alone, refusals that say what would fit."""

from __future__ import annotations

import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.attack_sizes import CASES, memory_verdict, said
from benchmarks.attack_sizes import measured as measured_runs

from featlab.errors import InvalidParameter
from featlab.experiments import Experiment
from featlab.experiments.text import experiment_from_text
from featlab.learners import (
    BayesAmp,
    GiantSteps,
    KernelRidge,
    OnlineSgd,
    RandomFeatures,
    ReusedBatch,
    SignSgd,
    StepLaw,
    TwoLayer,
)
from featlab.machine import Memory
from featlab.precision import double_precision
from featlab.simulation import DoesNotFit, progress, simulate
from featlab.simulation import extent as extent_module
from featlab.simulation.algorithms import algorithm
from featlab.simulation.designs import choose as choose_module
from featlab.simulation.designs.choose import Demand, choose
from featlab.simulation.extent import TakesTooLong, chosen, extent
from featlab.simulation.run import advance, group_size, start
from featlab.simulation.simulator import _prepared
from featlab.targets import target

GB = 10**9
SIZED = Demand(dim=20_000, known=1, width=8, rows=30_000, uses=4_000)  # dense is least work, streamed least memory


def machine(monkeypatch: pytest.MonkeyPatch, size: int, available: int) -> None:
    for module in (choose_module, extent_module):
        monkeypatch.setattr(module, "process_memory", lambda: Memory(size, available))


def takes(experiment: Experiment) -> extent_module.Extent:
    wanted, choice, _, names = _prepared(experiment, experiment.memory)
    return extent(experiment, wanted, choice, names)


def test_the_design_depends_on_the_size_of_the_machine_and_not_on_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {}
    for size in (64 * GB, 8 * GB):
        for free in (size, size // 20):
            machine(monkeypatch, size, free)
            kinds.setdefault(size, set()).add(choose(SIZED, True).kind)
    assert kinds == {64 * GB: {"dense"}, 8 * GB: {"streamed"}}


def test_a_run_leaves_room_for_python_and_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, 500 * 10**6, 400 * 10**6)  # as in a container of 500 MB
    assert choose_module.usable_bytes() == 10**8


def test_what_other_programs_use_is_not_given_away(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment.of("h1", GiantSteps(), dim=10**6, samples=10**7, seeds=1)
    machine(monkeypatch, 64 * GB, 10**7)
    assert chosen(experiment, None)[1].kind == "virtual"
    with pytest.raises(DoesNotFit, match="of the 64,000,000,000 that there are; the rest is in use") as caught:
        simulate(experiment)
    assert caught.value.available <= 10**7 < caught.value.needed


def test_seeds_run_side_by_side_within_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment.of("h1", OnlineSgd(0.1), dim=10**6, times=[1e-6], seeds=1000, student=TwoLayer(64))
    machine(monkeypatch, 64 * GB, 60 * GB)
    together, memory, results, _ = takes(experiment)
    assert together == group_size(1000) >= 1000
    machine(monkeypatch, 64 * GB, memory // 2)
    fewer = takes(experiment)
    assert 1 <= fewer.together < together
    assert fewer.memory <= memory // 2
    assert fewer.results == results


def test_a_batch_that_is_read_as_a_whole_is_counted_as_a_whole() -> None:
    """It was estimated as a chunk: 12.6 MB for what took 1.2 GB."""
    batch = 3 * 10**7
    whole = takes(Experiment.of("h1", OnlineSgd(0.5, batch=batch), dim=1000, times=[1e-3], seeds=1, memory=10 * GB))
    assert whole.memory > 4 * 2 * batch
    swept = takes(Experiment.of("h1", GiantSteps(), dim=1000, samples=batch, seeds=1))
    assert swept.memory < 10**8


@pytest.mark.parametrize(
    ("learner", "more", "expected"),
    [
        (OnlineSgd(0.5, batch=10**12), {"times": [1]}, "samples would fit"),
        (ReusedBatch(3, 0.1), {"samples": 10**11}, "samples would fit"),
        (KernelRidge(), {"samples": 10**6}, "samples would fit"),
        (GiantSteps(), {"samples": 10**18}, "samples would fit"),
        (RandomFeatures(10**6), {"student": TwoLayer(10**6), "dim": 10**7}, "narrower student; .* neurons would fit"),
        (OnlineSgd(0.5), {"student": TwoLayer(10**9, paired=True), "times": [1]}, "neurons would fit"),
        (SignSgd(0.5), {"dim": 10**15, "times": [1e-9]}, "dimensions would fit"),
        (OnlineSgd(0.5), {"times": range(1, 10**5), "seeds": 10**5, "dim": 10}, "seeds fit"),
    ],
)
def test_what_is_too_large_is_refused_at_once_and_it_is_said_what_fits(
    learner: object, more: dict, expected: str
) -> None:
    begin = time.process_time()
    with pytest.raises(DoesNotFit, match=expected) as caught:
        simulate("h1", learner, **{"dim": 1000, "seeds": 1, "memory": GB, **more})
    assert caught.value.needed > GB == caught.value.available
    assert time.process_time() - begin < 5


def said_to_fit(fault: DoesNotFit) -> int:
    return int(str(fault).split("; ")[-1].split()[0].replace(",", ""))


def test_what_is_said_to_fit_does() -> None:
    experiment = Experiment.of("h1", KernelRidge(), dim=1000, samples=10**6, seeds=1, memory=GB)
    with pytest.raises(DoesNotFit) as caught:
        chosen(experiment, GB)
    chosen(Experiment.of("h1", KernelRidge(), dim=1000, samples=(most := said_to_fit(caught.value)), seeds=1), GB)
    with pytest.raises(DoesNotFit):  # it is rounded down to two digits
        chosen(Experiment.of("h1", KernelRidge(), dim=1000, samples=round(1.2 * most), seeds=1), GB)
    wide = partial(Experiment.of, "h1", OnlineSgd(0.5), dim=1000, times=[1], seeds=1)
    with pytest.raises(DoesNotFit, match="neurons would fit") as caught:
        chosen(wide(student=TwoLayer(10**9)), GB)
    chosen(wide(student=TwoLayer(most := said_to_fit(caught.value))), GB)
    with pytest.raises(DoesNotFit):
        chosen(wide(student=TwoLayer(round(1.2 * most))), GB)


def test_a_run_of_a_hundred_years_is_refused_and_one_of_hours_announced(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TakesTooLong, match="years"):
        simulate("h1", ReusedBatch(2**31 - 1, 0.1), dim=1000, samples=10**4, seeds=1000, times=[2**31 - 1])
    seconds = takes(Experiment.of("h1", RandomFeatures(10**12), dim=1000, seeds=1)).seconds
    assert seconds is not None
    assert 3600 < seconds < 10**6
    progress.announce(None, seconds)
    assert "this takes about" in capsys.readouterr().err
    progress.announce(False, seconds)
    progress.announce(None, 30.0)
    progress.announce(None, None)
    assert capsys.readouterr().err == ""


def test_where_nobody_watches_one_line_says_how_long_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    with progress.reporting(None, 10**6) as report:
        for _ in range(40):
            now[0] += 1.0
            report(100)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert "about 2.78 hours for all of it" in told[0]  # 10^6 steps at 100 a second
    with progress.reporting(False, 10**6) as report:
        now[0] += 100.0
        report(1)
    assert capsys.readouterr().err == ""


def test_a_learner_that_has_stopped_is_not_run_to_its_last_iteration() -> None:
    begin = time.process_time()
    data = simulate("h1", BayesAmp(iterations=10**8), dim=50, samples=400, seeds=1, observe="overlap")
    assert data.outcome.values.tolist() == ["ok"]
    assert data.iterations.values[0] < 1000
    assert data.step.values[-1] == 10**8
    assert time.process_time() - begin < 30  # a step that changes nothing takes a microsecond: a hundred seconds


# Steps are counted by 32 bits.
HE2 = target("He2(h1)")
SGD = OnlineSgd(StepLaw(0.3, 1.0), loss="correlation", constraint="spherical")


def test_the_last_steps_before_the_counter_is_full() -> None:
    experiment = Experiment.of(HE2, SGD, dim=100, times=[1], seeds=[6], student=TwoLayer(activation="He2"))
    _, choice, problem, _ = _prepared(experiment, None)
    assert choice.design.block > 1  # blocks of steps, the last of which ends beyond the counter
    keys, last = jnp.array([[0, 6]], jnp.uint32), 2**31 - 1
    at_once = advance(problem, start(problem, keys), keys, last - 70, last)
    one_by_one = start(problem, keys)
    for cut in (last - 70, last - 5, last - 1):
        one_by_one = advance(problem, one_by_one, keys, cut, {last - 70: last - 5, last - 5: last - 1}.get(cut, last))
    np.testing.assert_allclose(at_once.state.network.weights, one_by_one.state.network.weights, rtol=1e-4, atol=1e-6)
    assert not np.allclose(at_once.state.network.weights, start(problem, keys).state.network.weights)


@pytest.mark.parametrize(
    "words",
    [
        "h1 learner=giant-steps samples=3e9",
        "h1 learner=bayes-amp samples=100 iterations=3 start=spectral power-steps=2",
        "h1 learner=reused-batch samples=100 steps=2 step-size=0.1 readout=3e9",
        "h1 learner=random-features width=4 readout=3e9",
    ],
)
def test_programs_take_samples_and_dimensions_beyond_32_bits(words: str) -> None:
    """Every function of the algorithm is traced, which is where numbers too large for an integer are refused."""
    experiment = experiment_from_text(said(f"{words} dim=3e9 design=virtual"))
    problem = _prepared(experiment, 10**12)[2]
    steps, key = algorithm(problem), jax.ShapeDtypeStruct((2,), jnp.uint32)
    state = jax.eval_shape(steps.init, key)
    fresh = jax.eval_shape(lambda key: jax.tree.map(lambda part: part[0], steps.draw(key)), key)
    jax.eval_shape(steps.step, state, fresh, jnp.int32(0))
    if steps.fit is not None:
        with double_precision():
            jax.eval_shape(steps.fit, state, key)


def test_what_cannot_be_counted_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="at most 2,147,483,647"):
        simulate("h1", OnlineSgd(0.1, batch=3 * 10**9), dim=1000, times=[1], seeds=1, memory=10**15)
    with pytest.raises(InvalidParameter, match="at most 2,147,483,647"):
        simulate("h1", OnlineSgd(0.1), dim=3 * 10**9, times=[1e-9], seeds=1, memory=10**15, design="dense")
    with pytest.raises(InvalidParameter, match="dim: got 10000000000000000000, expected at most 4,611,686"):
        simulate("h1", GiantSteps(1), dim=10**19, samples=100)


def test_estimates_of_memory_are_within_a_factor_of_what_runs_take() -> None:
    """One process, its peak set back before each run; `python -m benchmarks.attack estimates` does it for all kinds."""
    names = ("one-pass, a large batch", "giant steps, wide", "message passing", "readout, primal")
    for name, found in zip(names, measured_runs(*(CASES[name] for name in names)), strict=True):
        assert memory_verdict(found["bytes"], found["beyond"]) == "memory right", (name, found)
    assert memory_verdict(12.6e6, 1.2e9) == "memory too low"
    assert memory_verdict(12e9, 1.2e9) == "memory too high"


@pytest.mark.parametrize("name", CASES)
def test_what_the_benchmark_measures_can_be_run(name: str) -> None:
    words, small = CASES[name]
    less, more = (_prepared(experiment_from_text(said(text)), 10**11)[1] for text in (f"{words} {small}", words))
    assert more.bytes_of(1) > less.bytes_of(1) or more.bytes_of(1) < 10**8  # of seeds and results there may be more


def test_a_risk_that_is_not_looked_at_takes_no_time() -> None:
    """With it the estimate of 199 looks at the weights of 60 neurons was 36 s, where 3 s were measured."""
    words, _ = CASES["all weights"]
    weights, both = (
        takes(experiment_from_text(said(f"{words} observe={seen}"))) for seen in ("weights", "weights,risk")
    )
    assert weights.seconds is not None
    assert both.seconds is not None
    assert weights.seconds < 6 < 10 < both.seconds
