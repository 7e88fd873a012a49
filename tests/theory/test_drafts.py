"""Drafts of predictions: the same equations to the accuracy of a picture that moves, for a fraction of the work."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.experiments.text import experiment_from_text
from featlab.gaussian.activations import activation
from featlab.targets import target
from featlab.theory.giant import overlaps
from featlab.theory.online.averages import Descent
from featlab.theory.online.predictor import averages_of_descent, draft_of_descent
from featlab.theory.online.rules import FixedRule
from featlab.theory.prediction import predict_experiment

SGD = {"learner": "online-sgd", "dim": "1000", "times": "0,2,4,8", "step_size": "0.5/d"}
GIANT = {"learner": "giant-steps", "dim": "1000", "samples": "4000", "steps": "2", "width": "12"}
PHD = {"learner": "principal-hessian", "dim": "500", "samples": "2000"}
CASES = {
    "one neuron, a kink": {**SGD, "target": "h1 + h1*h2", "activation": "relu", "loss": "squared"},
    "one neuron, smooth": {**SGD, "target": "tanh(h1) + h1*h2", "activation": "erf", "constraint": "spherical"},
    "four neurons": {**SGD, "target": "tanh(h1)", "width": "4", "activation": "relu"},
    "giant steps": {**GIANT, "target": "h1 + h1*h2"},
    "principal Hessian": {**PHD, "target": "He2(h1)"},
}
FAR = 0.03  # of the height of a picture: cosines are drawn from 0 to 1, a risk from 0 to its largest


@pytest.mark.parametrize("case", CASES)
def test_a_draft_is_the_prediction_to_the_accuracy_of_a_picture(case: str) -> None:
    asked = experiment_from_text(CASES[case])
    draft, whole = predict_experiment(asked, draft=True), predict_experiment(asked)
    assert draft.attrs["draft"]
    assert "draft" not in whole.attrs
    assert not [name for name in draft if str(name).endswith("_error")]
    for name in {"cosine", "subspace", "risk"} & set(whole):
        height = float(whole[name].max()) if name == "risk" else 1.0
        assert np.nanmax(np.abs(draft[name] - whole[name])) <= FAR * height, name
    # Another question has another answer: what is compared could be told apart.
    changed = "step_size" if "step_size" in CASES[case] else "samples"
    other = {"step_size": "1.5/d", "samples": "40000"}[changed]
    far = predict_experiment(experiment_from_text({**CASES[case], changed: other}), draft=True)
    names = {"cosine", "subspace", "risk"} & set(whole)
    assert any(np.nanmax(np.abs(far[name] - whole[name])) > FAR for name in names)


def test_who_is_quick_gives_the_whole_prediction() -> None:
    asked = experiment_from_text({"target": "h1", "learner": "kernel-ridge", "dim": "50", "samples": "500"})
    found = predict_experiment(asked, draft=True)
    assert "draft" not in found.attrs
    np.testing.assert_array_equal(found["risk"], predict_experiment(asked)["risk"])


def test_a_draft_looks_at_fewer_points() -> None:
    """Counted, not timed: numbers that one average is a sum of, and points that stand for a label."""
    of = target("tanh(h1) + h1*h2")
    descent = Descent(activation("erf"), np.ones(1), np.zeros(1), "correlation")
    few, many = (rule(of, descent).best for rule in (draft_of_descent, averages_of_descent))
    assert isinstance(few, FixedRule)
    assert isinstance(many, FixedRule)
    assert 3 * len(few.normals) < len(many.normals)
    start = np.full((1, 2), 0.1), np.eye(1)
    np.testing.assert_allclose(few(*start).drive, many(*start).drive, atol=1e-6)
    light, every = (overlaps._weighted_points(of, share)[1] for share in (1e-6, 0.0))
    assert 2 * len(light) < len(every)
    assert abs(np.sum(light) - np.sum(every)) < 1e-5
