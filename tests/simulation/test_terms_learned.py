import jax.numpy as jnp
import numpy as np
import pytest

from featlab.precision import double_precision
from featlab.simulation import terms_learned
from featlab.simulation.one_step_fits import linear_part, relu_gradient
from featlab.simulation.random import fold, normal, root_key
from featlab.simulation.terms_learned import Terms, step_and_fit


def _both(inputs):
    return jnp.stack([inputs[:, 0], inputs[:, 1] ** 2 - 1], axis=1)


def _step(terms, **changes):
    sizes = {"dim": 10, "samples": 4000, "width": 60, "rest": 1.0, "test": 20_000, "seed": 2}
    return step_and_fit(terms, **{**sizes, **changes})


def test_a_step_finds_the_linear_direction_and_the_fit_has_all_of_it():
    terms = Terms(lambda inputs: inputs[:, :1], np.array([1.0]))
    found = _step(terms)
    assert found.coefficients == pytest.approx([1.0], abs=0.03)
    assert found.risk < 0.05
    assert found.cosines[0] > 1.2 * found.cosines[1:].max()


def test_weighing_the_rest_more_finds_its_direction():
    terms = Terms(_both, np.array([1.0, 2.0]))
    plain, weighed = _step(terms), _step(terms, rest=8.0)
    assert weighed.cosines[1] > 1.5 * plain.cosines[1]
    assert weighed.risk < 3.0


@pytest.mark.parametrize("rest", [1.0, 3.0])
def test_by_chunks_it_is_the_gradient_and_the_fit_of_all_samples_at_once(rest, monkeypatch):
    """Three chunks, the last of them not full; the control is the gradient without the samples of the last."""
    monkeypatch.setattr(terms_learned, "_CHUNK", 40)
    with double_precision():
        key, weights = root_key(3), normal(root_key(4), (5, 6), jnp.float64)
        inputs = np.concatenate([np.float64(normal(fold(key, place), (40, 6))) for place in range(3)])[:107]
        found = np.asarray(terms_learned._gradient(_both, weights, key, 107, rest))

        def plain(inputs):
            labels = np.asarray(_both(inputs)).sum(axis=1)
            labels = labels - labels.mean()
            linear = linear_part(inputs, labels)
            return relu_gradient(np.asarray(weights), inputs, linear + rest * (labels - linear))

        assert found == pytest.approx(plain(inputs), abs=1e-12)
        assert found != pytest.approx(plain(inputs[:80]), abs=1e-2)
        layer = terms_learned._Layer(weights, jnp.arange(5.0))
        gram, moment = terms_learned._moments(_both, layer, key, 107)
        features = np.column_stack([np.ones(107), inputs, np.maximum(inputs @ weights.T + np.arange(5), 0)])
        labels = np.asarray(_both(inputs)).sum(axis=1)
        assert np.asarray(gram) == pytest.approx(features.T @ features / 107, abs=1e-12)
        path = np.asarray(terms_learned._ridge_path(gram, moment))
        ridge = terms_learned._RIDGE_SHARES[3] * np.trace(gram) / 12
        solved = np.linalg.solve(features.T @ features / 107 + ridge * np.eye(12), features.T @ labels / 107)
        assert path[:, 3] == pytest.approx(solved, rel=1e-6, abs=1e-9)
