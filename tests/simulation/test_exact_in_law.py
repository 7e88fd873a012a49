"""Learners on the virtual design have the law of a plain NumPy loop on a stored X; some on Dense or Dice too.

On Dense single steps equal those of automatic differentiation (`test_steps.py`), Streamed is Dense number by number
(`test_streamed_is_dense`), and every learner has one law on all designs that serve it (`test_check_learner.py`, which
sees differences of distribution functions from about 0.2).

Kolmogorov-Smirnov on 1500 seeds a side, several order parameters at several steps, each at level 1e-6 (false alarm
of the whole file below 5e-4; fixed keys); it sees differences of distribution functions from about 0.1. The negative
controls are mistakes one could make, which the same comparison refuses.
"""

from __future__ import annotations

import functools

import pytest

from featlab.learners import Extragradient, GiantSteps, OnlineSgd, ReusedBatch, TwoLayer
from featlab.simulation import simulate
from featlab.simulation.designs import chunks, virtual
from featlab.simulation.linalg import split
from featlab.simulation.random import bartlett
from featlab.targets import target

from .reference import LEVEL, SEEDS, Reference, smallest_level

TARGET = target("h1 + h1*h2", noise=0.25)
ONE = target("He2(h1)")
TANH3 = TwoLayer(3, "tanh", "alternating", second_scale=2.0)
TANH2 = TwoLayer(2, "tanh", "alternating", second_scale=2.0)

# name: (target, learner, student, d, n, steps to look at)
CASES = {
    "sgd one sample spherical": (
        ONE,
        OnlineSgd(0.01, loss="correlation", constraint="spherical"),
        TwoLayer(1, "He2"),
        30,
        None,
        (20, 60),
    ),
    "sgd small batch": (TARGET, OnlineSgd(0.05, batch=2), TANH3, 20, None, (1, 15)),
    "sgd large batch projected": (TARGET, OnlineSgd(0.2, batch=7, constraint="projected"), TANH2, 20, None, (1, 10)),
    "extragradient one sample": (TARGET, Extragradient(0.05, inner_step=0.1), TANH2, 20, None, (1, 15)),
    "extragradient batch spherical": (
        TARGET,
        Extragradient(0.1, inner_step=-0.05, batch=3, loss="correlation", constraint="spherical"),
        TwoLayer(1, "tanh"),
        20,
        None,
        (1, 10),
    ),
    "giant paired": (
        TARGET,
        GiantSteps(2, scale=(2.0, 1.0), leap=2),
        TwoLayer(4, "tanh", "alternating", paired=True),
        24,
        50,
        (1, 2),
    ),
    "reuse": (TARGET, ReusedBatch(6, 0.3), TwoLayer(2, "relu", "alternating"), 30, 24, (1, 3, 6)),
    "reuse two steps a batch": (
        ONE,
        ReusedBatch(4, 0.5, steps_per_batch=2, constraint="projected"),
        TwoLayer(1, "relu"),
        24,
        40,
        (2, 4),
    ),
}
ALSO = [("reuse", "dense"), ("reuse", "dice"), ("sgd large batch projected", "dice")]


@functools.cache
def reference(name):
    return Reference(*CASES[name])


def simulated(name, design, **changes):
    goal, learner, student, dim, samples, looks = CASES[name]
    unit = 1 if samples is not None else dim
    return simulate(
        goal,
        learner,
        dim=changes.get("dim", dim),
        samples=samples,
        times=[step / unit for step in looks],
        seeds=SEEDS,
        key=3,
        student=student,
        design=design,
        observe=("overlap", "weights"),
        progress=False,
    )


@pytest.mark.parametrize(("name", "design"), [*((name, "virtual") for name in CASES), *ALSO])
def test_law_is_that_of_a_plain_loop(name, design):
    assert smallest_level(simulated(name, design), reference(name)) > LEVEL


def test_law_of_a_giant_batch_in_many_chunks(monkeypatch):
    """As "giant paired", with chunks of 11 rows: sums over chunks, and a factor of D that grows."""
    monkeypatch.setattr(chunks, "_CHUNK_NUMBERS", 66)
    monkeypatch.setitem(CASES, "chunks", (*CASES["giant paired"][:3], 25, 51, (1, 2)))
    assert smallest_level(simulated("chunks", "virtual"), reference("chunks")) > LEVEL


@pytest.mark.parametrize(("name", "dim"), [("reuse", 31), ("giant paired", 23), ("extragradient one sample", 21)])
def test_control_wrong_degrees_of_freedom_are_refused(compiled_anew, name, dim):
    """Forgetting that the known axes take their share of d: chi^2 with 12 degrees of freedom too many."""

    def wrong(key, size, degrees, *args, **kwargs):
        return bartlett(key, size, degrees + 12, *args, **kwargs)

    compiled_anew.setattr(virtual, "bartlett", wrong)
    compiled_anew.setitem(CASES, "wrong", (*CASES[name][:3], dim, *CASES[name][4:]))
    assert smallest_level(simulated("wrong", "virtual"), Reference(*CASES["wrong"])) < LEVEL


def test_control_missing_projection_is_refused(compiled_anew):
    """Forgetting that the answers to earlier questions are known: every D treated as if it were the first."""
    compiled_anew.setattr(virtual, "split", lambda basis, block: split(0 * basis, block))
    compiled_anew.setitem(CASES, "wrong", (*CASES["reuse"][:3], 32, *CASES["reuse"][4:]))
    assert smallest_level(simulated("wrong", "virtual"), Reference(*CASES["wrong"])) < LEVEL


def test_control_fresh_batches_are_told_from_a_reused_one():
    """The comparison sees whether the second step reads the first step's batch."""
    goal, _, student, dim, samples, looks = CASES["reuse"]
    fresh = Reference(goal, ReusedBatch(6, 0.3, steps_per_batch=1), student, dim, samples, looks)
    assert smallest_level(simulated("reuse", "virtual"), fresh) < LEVEL
