import numpy as np
import pytest

from featlab.exhibits import ClaimVerdict
from featlab.exhibits.claims import real_inputs
from featlab.study import InvalidStudy


def test_real_inputs_need_independent_components(shown):
    pytest.importorskip("sklearn")
    report = shown("real-inputs")
    assert report.verdict is ClaimVerdict.CORRECTED
    assert all(check.refused for check in report.checks)
    corrected = [check.statement for check in report.checks if check.correction]
    assert [words.split(",")[0] for words in corrected] == ["digits", "wine"]


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(real_inputs, "find_spec", lambda name: None)
    with pytest.raises(InvalidStudy, match=r"'wine' .* pip install 'featlab\[sklearn\]'"):
        real_inputs.STEP.check_point({"data": "wine"})


def test_gradients_of_a_known_direction():
    """All inputs along the direction: the gradient of every neuron that sees them is, too."""
    x = np.array([[1.0, 0.0], [-2.0, 0.0]])
    wanted = np.array([1.0, 0.0])
    assert real_inputs._cosine(x, wanted, np.array([[1.0, 5.0], [-1.0, 2.0]]), wanted) == pytest.approx(1.0)
