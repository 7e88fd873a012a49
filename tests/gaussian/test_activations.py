"""Activations: values and derivatives in NumPy and JAX, names, functions, errors."""

from __future__ import annotations

import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.gaussian import activation, activation_names
from featlab.gaussian.activations import Activation
from featlab.gaussian.functions import NUMPY_OPS
from featlab.gaussian.hermite import hermite
from featlab.precision import double_precision

# Off the kinks (all at 0), on both sides, with the far tails.
POINTS = np.array([-30.0, -5.0, -2.3, -1.0, -0.4, -1e-3, 1e-3, 0.2, 0.9, 1.7, 3.1, 6.0, 30.0])
every_name = pytest.mark.parametrize("name", activation_names())


def autodiff(act: Activation, x: np.ndarray) -> np.ndarray:
    with double_precision():
        return np.asarray(jax.vmap(jax.grad(lambda t: act.jax_value(t)))(jnp.asarray(x, dtype=jnp.float64)))


@every_name
def test_derivative_is_the_one_of_autodiff(name: str) -> None:
    act = activation(name)
    np.testing.assert_allclose(act.derivative(POINTS), autodiff(act, POINTS), rtol=1e-12, atol=1e-14)


@every_name
def test_derivative_integrates_to_the_value(name: str) -> None:
    """s(1.7) - s(0.2) = int s', by quadrature: independent of JAX, and false for a derivative 1% off."""
    act = activation(name)
    t, w = np.polynomial.legendre.leggauss(30)
    integral = 0.75 * w @ act.derivative(0.95 + 0.75 * t)
    difference = float(act.value(1.7) - act.value(0.2))
    assert difference == pytest.approx(integral, rel=1e-12, abs=1e-14)
    if difference:
        assert difference != pytest.approx(1.01 * integral, rel=1e-12)


@every_name
def test_numpy_and_jax_agree_in_double_precision(name: str) -> None:
    act = activation(name)
    with double_precision():
        x = jnp.asarray(POINTS, dtype=jnp.float64)
        value, slope = jax.jit(act.jax_value)(x), jax.jit(act.jax_derivative)(x)
        assert value.dtype == slope.dtype == jnp.float64
        # JAX's own special functions are good to about 1e-13 in the far tails
        np.testing.assert_allclose(np.asarray(value), act.value(POINTS), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(np.asarray(slope), act.derivative(POINTS), rtol=1e-12, atol=1e-14)


@every_name
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_jax_keeps_the_type_and_shape_of_its_input(name: str, dtype: type) -> None:
    act = activation(name)
    x = jnp.ones((2, 3), dtype=dtype)
    for function in (act.jax_value, act.jax_derivative):
        assert function(x).dtype == dtype
        assert function(x).shape == (2, 3)
        with double_precision():
            assert function(x).dtype == dtype


@every_name
def test_numpy_takes_numbers_and_arrays_in_double_precision(name: str) -> None:
    act = activation(name)
    assert act.value(np.ones((2, 1), dtype=np.float32)).dtype == np.float64
    assert act.value([1, 2]).shape == act.derivative([1, 2]).shape == (2,)
    assert float(act.value(2)) == float(act.value([2.0])[0])


def test_numpy_path_and_package_never_import_jax() -> None:
    code = (
        "import sys, featlab.gaussian\n"
        "assert not {'jax', 'scipy', 'numpy'} & set(sys.modules), 'the package is not light'\n"
        "from featlab.gaussian import activation\n"
        "a = activation('tanh'); a.value(1.0); a.derivative(1.0); a.kernel(0.5); a.residual(3)\n"
        "assert 'jax' not in sys.modules, 'NumPy face imports JAX'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_step_function_is_that_of_numpy() -> None:
    numbers = np.array([-2.0, -0.0, 0.0, 3.0, np.inf, -np.inf, np.nan])
    for x in (numbers, numbers[[0, 3]], numbers.astype(np.float32), 2.0, 0.0, np.array([-1, 0, 1])):
        for at_zero in (0.0, 0.5, 1.0):
            found, expected = NUMPY_OPS.heaviside(x, at_zero), np.heaviside(x, at_zero)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


def test_known_values() -> None:
    assert float(activation("relu").value(-1.0)) == 0.0
    assert float(activation("leaky_relu").value(-1.0)) == -0.01
    assert float(activation("gelu").value(1.0)) == pytest.approx(0.8413447460685429)
    assert float(activation("swish").value(1.0)) == pytest.approx(0.7310585786300049)
    assert float(activation("softplus").value(0.0)) == pytest.approx(np.log(2))
    assert float(activation("softplus").value(800.0)) == 800.0
    assert float(activation("tanh").derivative(20.0)) == pytest.approx(4 * np.exp(-40), rel=1e-12)
    assert activation("step").value([-1.0, 0.0, 1.0]).tolist() == [0.0, 1.0, 1.0]
    assert activation("sign").value([-1.0, 0.0, 1.0]).tolist() == [-1.0, 0.0, 1.0]


@pytest.mark.parametrize("order", range(1, 13))
def test_hermite_activations_are_the_hermite_polynomials(order: int) -> None:
    expected = hermite(order, POINTS)
    np.testing.assert_allclose(activation(f"He{order}").value(POINTS), expected, rtol=1e-13)


@pytest.mark.parametrize(("given", "name"), [("ReLU", "relu"), ("he3", "He3"), ("silu", "swish"), ("GELU", "gelu")])
def test_names_in_any_case_and_aliases(given: str, name: str) -> None:
    act = activation(given)
    assert act.name == name
    assert act == activation(name)
    assert hash(act) == hash(activation(name))
    assert activation(act) is act
    assert act != activation("tanh")


def test_registered_activations_survive_pickling() -> None:
    for name in activation_names():
        assert pickle.loads(pickle.dumps(activation(name))) == activation(name)  # noqa: S301 - our own bytes


def cubic_relu(x: jax.Array) -> jax.Array:
    return jnp.maximum(x - 0.5, 0.0) ** 3


def test_function_gets_its_derivative_and_precision_from_jax() -> None:
    act = activation(cubic_relu, kinks=[0.5])
    assert (act.name, act.kinks) == ("cubic_relu", (0.5,))
    x = np.array([-1.0, 0.7, 2.0])
    np.testing.assert_allclose(act.value(x), np.maximum(x - 0.5, 0) ** 3, rtol=1e-15)
    np.testing.assert_allclose(act.derivative(x), 3 * np.maximum(x - 0.5, 0) ** 2, rtol=1e-15)
    assert act.jax_value(jnp.ones(2, dtype=jnp.float32)).dtype == jnp.float32
    np.testing.assert_allclose(act.jax_derivative(jnp.full(2, 1.5, dtype=jnp.float32)), 3.0, rtol=1e-6)
    assert pickle.loads(pickle.dumps(act)) == act  # noqa: S301 - our own bytes
    assert act != activation(cubic_relu)


@pytest.mark.parametrize(
    ("typo", "meant"), [("rellu", "relu"), ("tahn", "tanh"), ("sigmod", "sigmoid"), ("He13", "He3")]
)
def test_unknown_names_get_a_suggestion(typo: str, meant: str) -> None:
    with pytest.raises(InvalidParameter, match=f"got '{typo}'.*did you mean '{meant}'"):
        activation(typo)


@pytest.mark.parametrize(
    "source", [3, np.tanh, lambda x: x.sum(), lambda x: x > 0, lambda x: 1.0, lambda x: x if x > 0 else 0.0]
)
def test_what_is_no_elementwise_function_is_refused(source: object) -> None:
    with pytest.raises(InvalidParameter, match="activation"):
        activation(source)  # type: ignore[arg-type]


def test_misuse_is_refused_with_its_reason() -> None:
    with pytest.raises(InvalidParameter, match="kinks"):
        activation("relu", kinks=(0.0,))
    with pytest.raises(InvalidParameter, match="kinks"):
        activation(cubic_relu, kinks=(np.nan,))
    with pytest.raises(InvalidParameter, match="rho"):
        activation("relu").kernel([0.5, 1.0001])
    with pytest.raises(InvalidParameter, match="rho"):
        activation("relu").kernel(np.nan)
    for order in (-1, 101, 2.5):
        with pytest.raises(InvalidParameter, match="max_order"):
            activation("relu").hermite_coefficients(order)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="degree"):
        activation("relu").residual(-1)


@pytest.mark.parametrize("function", [lambda x: jnp.maximum(x - 0.3, 0.0), lambda x: jnp.sign(x - 0.123)])
def test_an_untold_kink_is_noticed(function: object) -> None:
    with pytest.raises(InvalidParameter, match="kinks"):
        activation(function).hermite_coefficients(3)  # type: ignore[arg-type]


def test_a_function_without_second_moment_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="square-integrable"):
        _ = activation(lambda x: jnp.exp(x * x / 3)).second_moment
    with pytest.raises(InvalidParameter, match="square-integrable"):
        _ = activation(lambda x: jnp.exp(x * x * x)).second_moment
    # E exp(2 z^2 / 5) = (1 - 4/5)^{-1/2} is finite
    assert activation(lambda x: jnp.exp(x * x / 5)).second_moment == pytest.approx(5**0.5, rel=1e-9)
