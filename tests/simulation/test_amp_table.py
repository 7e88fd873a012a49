"""The denoiser from a table: as good as evaluated at every sample where it is used, and used only there."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from featlab.simulation.amp import denoiser
from featlab.simulation.amp_mixture import MixtureDenoiser
from featlab.simulation.amp_table import TabulatedDenoiser, interpolate
from featlab.targets import target

COUNT = 4000


def samples(text: str, overlap: float) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Labels and fields of which the posterior of z is the truth: omega ~ N(0, q I), z ~ N(omega, (1 - q) I)."""
    goal, rng = target(text), np.random.default_rng(0)
    fields = overlap**0.5 * rng.standard_normal((COUNT, goal.rank))
    labels = goal.link(fields + (1 - overlap) ** 0.5 * rng.standard_normal((COUNT, goal.rank)))
    arrays = (labels, fields, (1 - overlap) * np.eye(goal.rank))
    return tuple(jnp.asarray(array, jnp.float32) for array in arrays)  # type: ignore[return-value]


@pytest.mark.parametrize(("text", "overlap", "allowed"), [("h1*h2", 0.15, 0.03), ("sign(h1*h2 + 0.5*h1)", 0.4, 2e-3)])
def test_a_table_is_as_good_as_every_sample(text: str, overlap: float, allowed: float) -> None:
    """Root mean square error of g_out; mean square and mean curvature to 1%. Fields 20% off are refused."""
    tabulated = TabulatedDenoiser(MixtureDenoiser(target(text)))
    direct, table = jax.jit(tabulated.direct), jax.jit(tabulated)
    labels, fields, covariance = samples(text, overlap)
    exact, bend = direct(labels, fields, covariance)
    found, found_bend = table(labels, fields, covariance)

    def off(values: jax.Array) -> float:
        return float(jnp.sqrt(jnp.mean((values - exact) ** 2) / jnp.mean(exact**2)))

    assert 0 < off(found) < allowed
    assert float(jnp.sum(found**2)) == pytest.approx(float(jnp.sum(exact**2)), rel=0.01)
    assert np.diag(found_bend) == pytest.approx(np.diag(bend), rel=0.01, abs=0.01 * COUNT)
    wrong, _ = table(labels, 0.8 * fields, covariance)
    assert off(wrong) > allowed
    # Where the grid would be too coarse, every sample is evaluated.
    labels, fields, covariance = samples(text, 0.9)
    assert np.array_equal(table(labels, fields, covariance)[0], direct(labels, fields, covariance)[0])


def test_a_table_is_made_where_it_pays() -> None:
    assert isinstance(denoiser(target("h1*h2"), 10**5), TabulatedDenoiser)
    assert isinstance(denoiser(target("h1*h2"), 10**4), MixtureDenoiser)
    assert isinstance(denoiser(target("He3(h1)"), 10**6), MixtureDenoiser)
    assert not isinstance(denoiser(target("sign(h1*h2)"), 10**6), TabulatedDenoiser)
    # Some labels have an atom, others a density: between the two nothing is to be interpolated.
    assert isinstance(denoiser(target("relu(h1*h2)"), 10**6), MixtureDenoiser)


def test_cubic_convolution_is_exact_for_quadratics() -> None:
    """On two axes and two rows; a cube is not reproduced."""
    nodes = np.arange(8.0)
    grid = np.meshgrid(nodes, nodes, indexing="ij")
    quadratic = lambda x, y: x**2 - 2 * x * y + 3 * y + 1  # noqa: E731
    table = np.stack([quadratic(*grid), grid[0] ** 3], axis=0)[..., None]
    places = np.random.default_rng(0).uniform(1, 6, (30, 2))
    found = interpolate(jnp.asarray(table), jnp.zeros(30, jnp.int32), jnp.asarray(places))[:, 0]
    assert np.asarray(found) == pytest.approx(quadratic(*places.T), rel=1e-5)
    cube = interpolate(jnp.asarray(table), jnp.ones(30, jnp.int32), jnp.asarray(places))[:, 0]
    assert np.asarray(cube) != pytest.approx(places[:, 0] ** 3, rel=1e-5)
