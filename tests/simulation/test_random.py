"""The generator: published test vectors, laws at fixed keys with a stated level, and a control that is refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy import stats

from featlab.simulation.random import (
    _erf_inv,
    _threefry,
    bartlett,
    chi,
    fold,
    named,
    normal,
    normal_turned,
    root_key,
    seed_keys,
    uniform,
)

LEVEL = 1e-4
COUNT = 50_000


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_the_cipher_gives_the_published_words(key, counter, expected):
    """Known-answer vectors of the Random123 library for Threefry-2x32-20."""
    words = _threefry(jnp.array(key, jnp.uint32), *(jnp.uint32(word) for word in counter))
    assert tuple(int(word) for word in words) == expected


@pytest.mark.parametrize("shape", [(COUNT,), (COUNT // 3, 3), (7, 1, COUNT // 7)])
def test_normals_are_normal_in_any_shape(shape):
    numbers = np.asarray(normal(fold(root_key(1), sum(shape)), shape)).ravel()
    assert stats.kstest(numbers, "norm").pvalue > LEVEL
    assert len(np.unique(numbers)) > 0.99 * len(numbers)


@pytest.mark.parametrize("shape", [(256, 9), (130, 3), (7, 3)])
def test_turned_numbers_are_the_same(shape):
    """Drawn in that order or turned after they are drawn; another key gives others."""
    key, other = (named(root_key(3), name) for name in ("one", "other"))
    turned, plain, control = jax.jit(
        lambda: (normal_turned(key, shape), normal(key, shape), normal_turned(other, shape))
    )()
    np.testing.assert_allclose(turned, np.asarray(plain).T, rtol=1e-6)
    assert not np.allclose(turned, control)


def test_the_ends_of_the_normal_are_finite_and_symmetric():
    """All 2^23 levels of the inversion are odd multiples of 2^-23: no level at -1, where z is infinite."""
    words = np.array([0, 2**32 - 1], np.uint32)
    levels = ((words >> 8 | 1).astype(np.int64) - 2**23) * 2.0**-23
    assert levels[0] == -levels[1] == -(1 - 2**-23)
    assert np.all(np.isfinite(jax.lax.erf_inv(levels.astype(np.float32))))


def test_uniforms_are_uniform():
    numbers = np.asarray(uniform(root_key(2), (COUNT,)))
    assert 0 <= numbers.min() < numbers.max() < 1
    assert stats.kstest(numbers, "uniform").pvalue > LEVEL


@pytest.mark.parametrize("degrees", [2, 3, 7, 150, 201, 5000])
@pytest.mark.parametrize("known_early", [True, False])
def test_chi_has_its_law(degrees, known_early):
    draw = jax.jit(chi, static_argnums=(1, 2) if known_early else 2)
    key = fold(root_key(3), degrees)
    numbers = np.asarray(draw(key, float(degrees), (COUNT,)), float)
    assert stats.kstest(numbers**2, stats.chi2(degrees).cdf).pvalue > LEVEL


@pytest.mark.parametrize("degrees", [2.0, 5.0, 300.0])
def test_a_round_more_or_less_changes_no_number(degrees):
    """Rounds end when nothing is refused, of one key alone or of several side by side; as if all rounds were drawn."""
    keys = jnp.asarray(seed_keys(6, range(3)))
    shift, shape = degrees / 2 - 1 / 3, (4000,)

    def all_rounds(key):
        value, done = np.zeros(shape), np.zeros(shape, bool)
        for number in range(8):
            one = fold(key, number)
            point = np.asarray(normal(fold(one, 0), shape), float)
            grown = 1 + point / (3 * np.sqrt(shift))
            with np.errstate(invalid="ignore"):
                chance = np.exp(point**2 / 2 + shift * (1 - grown**3 + 3 * np.log(grown)))
            accepted = (grown > 0) & (np.asarray(uniform(fold(one, 1), shape), float) >= 1 - chance)
            value = np.where(done, value, np.sqrt(2 * shift * np.maximum(grown, 0) ** 3))
            done |= accepted
        assert np.all(done)
        return value

    expected = [all_rounds(key) for key in keys]
    np.testing.assert_allclose(jax.vmap(lambda key: chi(key, degrees, shape))(keys), expected, rtol=1e-5)
    np.testing.assert_allclose(chi(keys[0], degrees, shape), expected[0], rtol=1e-5)


@pytest.mark.parametrize("degrees", [2.0, 300.0])
def test_a_gpu_draws_all_rounds_and_has_the_same_numbers(degrees, monkeypatch):
    few = chi(root_key(7), degrees, (4000,))
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    np.testing.assert_array_equal(chi(root_key(7), degrees, (4000,)), few)


def test_control_the_proposal_without_refusal_is_refused():
    """Wilson and Hilferty's approximation, which the sampler corrects, fails the same test at 2 degrees of freedom."""
    shift = 1 - 1 / 3
    point = np.asarray(normal(root_key(4), (COUNT,)), float) / (3 * np.sqrt(shift))
    approximate = 2 * shift * np.maximum(1 + point, 0) ** 3
    assert stats.kstest(approximate, stats.chi2(2).cdf).pvalue < LEVEL


@pytest.mark.parametrize("degrees", [1e6, 1e9, 1e12])
def test_chi_of_huge_dimensions_keeps_its_fluctuations(degrees):
    """sqrt(chi^2_k) - sqrt(k) tends to N(0, 1/2); float32 resolves it to half a spacing of sqrt(k)."""
    draw = jax.jit(chi, static_argnums=(1, 2))
    numbers = np.asarray(draw(root_key(5), degrees, (COUNT,)), float) - np.sqrt(degrees)
    spacing = float(np.spacing(np.float32(np.sqrt(degrees))))
    assert abs(numbers.mean()) < 4 * np.sqrt(0.5 / COUNT) + spacing
    assert numbers.std() == pytest.approx(np.sqrt(0.5 + spacing**2 / 12), rel=4 / np.sqrt(2 * COUNT) + 0.02)


def test_bartlett_factor_is_that_of_a_gaussian_matrix():
    """Law of L L^T against Z Z^T of a stored Gaussian Z; degrees one too many are refused for the small entries."""
    draw = jax.jit(bartlett, static_argnums=(1, 3))
    factors = np.asarray(draw(root_key(6), 3, 6.0, (COUNT // 5,)), float)
    gram = factors @ np.swapaxes(factors, 1, 2)
    stored = np.random.default_rng(0).standard_normal((COUNT // 5, 3, 6))
    expected = stored @ np.swapaxes(stored, 1, 2)
    for entry in ((0, 0), (1, 0), (2, 1), (2, 2)):
        assert stats.ks_2samp(gram[:, *entry], expected[:, *entry]).pvalue > LEVEL
    assert stats.ks_2samp(np.linalg.det(gram), np.linalg.det(expected)).pvalue > LEVEL
    wrong = np.asarray(draw(root_key(6), 3, 7.0, (COUNT // 5,)), float)
    assert (
        stats.ks_2samp(np.prod(np.diagonal(wrong, axis1=1, axis2=2), axis=1) ** 2, np.linalg.det(expected)).pvalue
        < LEVEL
    )


def test_keys_from_names_never_change():
    """Written down once: a change here would silently change every result."""
    assert np.asarray(named(root_key(0), "weights")).tolist() == [3558423812, 3069861366]
    assert np.asarray(fold(root_key(2**40 + 5), 7)).tolist() == [235930250, 2178995069]
    assert np.asarray(root_key(jax.random.key(5))).tolist() == np.asarray(root_key(5)).tolist()


@pytest.mark.parametrize("key", [0, 2**40 + 5, jax.random.key(5)])
def test_keys_of_seeds_are_folds_on_the_host(key):
    keys, seeds = seed_keys(key, [0, 7, 2**32 - 1]), np.array([0, 7, 2**32 - 1], np.uint32)
    assert keys.tolist() == [np.asarray(fold(root_key(key), jnp.asarray(seed))).tolist() for seed in seeds]


def test_inverse_error_function_has_the_numbers_of_jax():
    """Of every number that can be drawn near the ends, and of many others."""
    odd = np.concatenate([np.arange(2**23 - 2**12 + 1, 2**23, 2), np.arange(1, 2**23, 1022)]).astype(np.float32)
    points = np.concatenate([odd, -odd]) * np.float32(2**-23)
    mine, theirs = jax.jit(lambda x: (_erf_inv(x), lax.erf_inv(x)))(points)
    np.testing.assert_allclose(mine, theirs, rtol=3e-7)


def test_numbers_of_several_devices_are_those_of_one():
    one = jax.sharding.NamedSharding(
        jax.sharding.Mesh(np.array(jax.devices()[:1]), ("sample",)), jax.sharding.PartitionSpec(None, "sample")
    )
    for shape in ((3, 50), (2, 128), (1, 1001)):
        whole, by_place = jax.jit(lambda key, shape=shape: (normal(key, shape), normal(key, shape, over=one)))(
            root_key(5)
        )
        np.testing.assert_array_equal(whole, by_place)
