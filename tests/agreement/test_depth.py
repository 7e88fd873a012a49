"""The first layer's overlap with the directions of a tree: the recursion of theory against steps on fresh batches.

The link is y = h*, of which every moment is known: mu = 2 c_2/sqrt(D), E[y^2] = sum_j j! c_j^2. D = 48 directions,
d = 1500, n = 5 d D samples a step, from the overlap that each of two seeds of 16 neurons has at the start. 3% are
allowed for finite D and few neurons: the noise is 9% stronger than in the limit once W* is known, 1% of the overlap.
"""

from __future__ import annotations

import numpy as np

from featlab.learners import Layerwise, ThreeLayer
from featlab.simulate import simulate
from featlab.targets import tree_target
from featlab.theory.depth.first_layer import Signal, fresh_overlaps, tree_signal

ALLOWED = 0.03
SIZES = {"dim": 1500, "samples": 360_000}


def test_overlap_of_the_first_layer_follows_the_recursion():
    tree = tree_target("h1", "He2(h1)/2 + He3(h1)/6", effective=48)
    learner, student = Layerwise("first", 3, 20.0), ThreeLayer(16)
    run = simulate(tree, learner, **SIZES, seeds=2, key=11, student=student, observe="first_overlap")
    assert run.attrs["design"] == "virtual"
    measured = run.first_overlap.values.astype(float)

    def agrees(signal):
        how = {"steps": 3, "step_size": 20.0, "positive": 24, "negative": 24, **SIZES}
        predicted = np.array([fresh_overlaps(signal, start=seed[0], **how) for seed in measured])
        return np.allclose(measured, predicted, rtol=ALLOWED)

    signal = tree_signal(tree, 1500)
    assert agrees(signal)
    for factor in (0.8, 1.2):
        assert not agrees(Signal(factor * signal.strength, signal.second_moment))
