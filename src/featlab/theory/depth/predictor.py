"""The first layer of a three-layer network predicted, as it is trained on a tree target; see `first_layer`."""

from __future__ import annotations

import numpy as np

from featlab.errors import MissingParameter
from featlab.gaussian.activations import activation
from featlab.learners.layerwise import Layerwise
from featlab.learners.steps import step_at
from featlab.targets import TreeTarget
from featlab.theory.depth.first_layer import batch_overlap, fresh_overlaps, tree_signal
from featlab.theory.depth.limits import tree_limits
from featlab.theory.question import NoPrediction, Prediction, Question, Start

_QUADRATIC = "He2"


def predict_layerwise(question: Question, start: Start) -> Prediction:
    """M_W of a `Layerwise` learner whose first layer has the activation He2 while it is trained.

    On fresh batches the recursion of `fresh_overlaps`, step by step; on one batch `batch_overlap`, where many large
    steps end. What the other layers make of it is known as powers of d only (`featlab.theory.tree_thresholds`).

    Raises:
        NoPrediction: for other targets, activations or schedules, saying which.
    """
    tree, learner = _checked(question)
    samples, signal = _samples(question), tree_signal(tree, question.dim)
    if learner.steps_per_batch == 1:
        rising, falling = _directions(tree)
        path = fresh_overlaps(
            signal,
            steps=int(question.steps[-1]),
            step_size=step_at(learner.step_size, question.dim),
            positive=rising,
            negative=falling,
            dim=question.dim,
            samples=samples,
        )
        values, words = path[question.steps], "step by step on fresh batches"
    else:
        values = np.full(len(question.steps), np.nan)
        values[question.steps == 0] = np.sqrt(tree.rank / question.dim)
        values[question.steps == learner.steps] = batch_overlap(signal, dim=question.dim, samples=samples)
        words = "where many large steps on one batch end"
    return Prediction(
        {"first_overlap": values},
        f"The first layer {words}, as D, d/D and n/d go to infinity; what the other layers make of it is known as "
        "powers of d only (featlab.theory.tree_thresholds).",
    )


def _checked(question: Question) -> tuple[TreeTarget, Layerwise]:
    """The tree and the learner, where they are what the recursion is for."""
    tree, learner, student = question.target, question.learner, question.student
    if not isinstance(tree, TreeTarget):
        raise NoPrediction(
            f"{tree.text}: layers trained one after the other are predicted for tree targets, tree(g, P, D); the first "
            "one alone is ReusedBatch(loss='correlation', constraint='spherical'), which is predicted for any link"
        )
    if not learner.trains_first:
        raise NoPrediction(f"trained={learner.trained!r}: the first layer is what is predicted, and it is not trained")
    chosen = activation(student.activation if learner.first_activation is None else learner.first_activation)
    if chosen.name != _QUADRATIC:
        raise NoPrediction(f"first_activation={chosen.name!r}: the recursion is for {_QUADRATIC}; simulate it")
    if student.start != "sphere":
        raise NoPrediction(f"start={student.start!r}: the recursion is for neurons that start at random, 'sphere'")
    if learner.steps_per_batch not in (1, None):
        raise NoPrediction(
            f"steps_per_batch={learner.steps_per_batch}: known are a fresh batch for every step (1) and one batch "
            "throughout (None)"
        )
    return tree, learner


def _samples(question: Question) -> int:
    if question.samples is None:
        raise MissingParameter("samples", "the number n of samples in a batch")
    return question.samples


def _directions(tree: TreeTarget) -> tuple[int, int]:
    """How many directions have a positive and a negative eigenvalue of E[y (x x^T - I)]: the signs a_i of P's second
    coefficient, all turned over if that or the slope of g is negative."""
    shape = tree.shape
    plus = (tree.rank // shape.blocks + 1) // 2 * shape.blocks if shape.signs == "alternating" else tree.rank
    counts = plus, tree.rank - plus
    return counts if shape.coefficients[2] * tree_limits(tree).slope >= 0 else counts[::-1]
