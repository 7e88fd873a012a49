"""Activations of a student network, and everything Gaussian that theory asks of them.

`activation("relu")`, `activation("He3")` or `activation(lambda x: x * jax.nn.relu(x), kinks=(0.0,))` gives an
`Activation`: its value and derivative in NumPy (float64) and in JAX, its Hermite coefficients E[s He_k], the energy
beyond a degree, and the kernel E[s(u) s(v)].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featlab.errors import InvalidParameter
from featlab.gaussian.activations_integrals import MAX_ORDER, Projection, hermite_projection, kernel, residual_energy
from featlab.gaussian.functions import ALIASES, FUNCTIONS, NUMPY_OPS, ScalarFunction, jax_ops
from featlab.gaussian.hermite import Floats


@dataclass(frozen=True)
class Activation:
    """A scalar function s applied to each neuron; made by `activation(...)`.

    Two activations are equal when they come from the same source with the same kinks.

    Attributes:
        name: its name in the registry, or the name of the function it was made of.
        source: what `activation` was given: the registered name, or the function.
        kinks: the points where s or s' jumps.

    Examples:
        >>> from featlab.gaussian import activation
        >>> activation("He3").name
        'He3'
    """

    name: str = field(compare=False)
    source: str | Callable[[Any], Any] = field(repr=False)
    kinks: tuple[float, ...]
    _function: ScalarFunction = field(compare=False, repr=False)

    def value(self, x: ArrayLike) -> Floats:
        """s(x) in NumPy, float64."""
        return self._function.value(NUMPY_OPS, np.asarray(x, dtype=np.float64))

    def derivative(self, x: ArrayLike) -> Floats:
        """s'(x) in NumPy, float64; away from the kinks."""
        return self._function.derivative(NUMPY_OPS, np.asarray(x, dtype=np.float64))

    def jax_value(self, x: Any) -> Any:
        """s(x) in JAX; jittable, of the type of x."""
        return self._function.value(jax_ops(), x)

    def jax_derivative(self, x: Any) -> Any:
        """s'(x) in JAX; jittable, of the type of x."""
        return self._function.derivative(jax_ops(), x)

    def of(self, x: Any) -> Any:
        """s(x) in the library of x: NumPy's arrays stay NumPy's."""
        return self.value(x) if isinstance(x, np.ndarray) else self.jax_value(x)

    def slope(self, x: Any) -> Any:
        """s'(x) in the library of x."""
        return self.derivative(x) if isinstance(x, np.ndarray) else self.jax_derivative(x)

    def hermite_coefficients(self, max_order: int) -> Floats:
        """E[s(z) He_k(z)] for k = 0..max_order <= 100, read-only.

        In closed form where there is one; otherwise by quadrature, to about 1e-15 sqrt(k! E[s^2]).
        """
        _check_order("max_order", max_order)
        return _coefficients(self)[: max_order + 1]

    @property
    def second_moment(self) -> float:
        """E[s(z)^2]."""
        if self._function.kernel is not None:
            return float(self._function.kernel(np.ones(())))
        return _projection(self).second_moment

    def residual(self, degree: int) -> float:
        """||P_{>degree} s||^2 = E[s^2] - sum_{k <= degree} E[s He_k]^2 / k!: the energy beyond that degree."""
        _check_order("degree", degree)
        normalised = self.hermite_coefficients(degree) / _root_factorials(degree)
        return residual_energy(self.value, self.kinks, normalised, _projection(self).width)

    def kernel(self, rho: ArrayLike) -> Floats:
        """E[s(u) s(v)] for standard normal u, v of correlation rho in [-1, 1]; of the shape of rho.

        In closed form where there is one, otherwise by Mehler's series or by quadrature split at the kinks.
        """
        rho = np.asarray(rho, dtype=np.float64)
        if not np.all(np.abs(rho) <= 1):
            raise InvalidParameter("rho", rho, "correlations between -1 and 1")
        if self._function.kernel is not None:
            return self._function.kernel(rho)
        return kernel(self.value, self.kinks, _projection(self), rho)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as the call that made it."""
        return (activation, (self.source, () if isinstance(self.source, str) else self.kinks))


def activation(source: str | Activation | Callable[[Any], Any], kinks: Sequence[float] = ()) -> Activation:
    """The activation of that name, or the one that a function defines.

    Args:
        source: a registered name in any case ("relu", "He3", ...; see `activation_names`), an Activation (returned as
            it is), or an elementwise function that JAX can trace; its derivative comes from automatic differentiation.
        kinks: for a function: the points where it or its derivative jumps.

    Raises:
        InvalidParameter: for an unknown name, a function that JAX cannot trace or that is not elementwise, or kinks
            given beside a name.

    Examples:
        >>> from featlab.gaussian import activation
        >>> activation("relu").kinks
        (0.0,)
    """
    if isinstance(source, str | Activation):
        if len(kinks):
            raise InvalidParameter("kinks", kinks, "none, because a registered activation knows its own")
        return source if isinstance(source, Activation) else _registered(source)
    if not callable(source):
        raise InvalidParameter("activation", source, "a name, an Activation or a function")
    places = tuple(sorted(float(k) for k in kinks))
    if not np.all(np.isfinite(places)):
        raise InvalidParameter("kinks", kinks, "finite numbers")
    _check_traceable(source)
    name = getattr(source, "__name__", type(source).__name__)
    return Activation(name, source, places, _traced(source))


def activation_names() -> tuple[str, ...]:
    """The registered names.

    Examples:
        >>> from featlab.gaussian import activation_names
        >>> "erf" in activation_names()
        True
    """
    return tuple(FUNCTIONS)


def _registered(name: str) -> Activation:
    known = {key.lower(): key for key in FUNCTIONS} | ALIASES
    key = known.get(name.lower())
    if key is None:
        close = get_close_matches(name.lower(), known, n=1)
        hint = f"; did you mean {known[close[0]]!r}?" if close else ""
        raise InvalidParameter("activation", name, f"one of {', '.join(FUNCTIONS)}{hint}")
    return Activation(key, key, tuple(float(place) for _, place in FUNCTIONS[key].kinks), FUNCTIONS[key])


def _traced(function: Callable[[Any], Any]) -> ScalarFunction:
    """A function that JAX can trace, with its derivative by automatic differentiation."""

    def slope(x: Any) -> Any:
        import jax
        import jax.numpy as jnp

        return jax.jvp(function, (x,), (jnp.ones_like(x),))[1]

    return ScalarFunction(lambda ops, x: ops.call(function, x), lambda ops, x: ops.call(slope, x))


def _check_traceable(function: Callable[[Any], Any]) -> None:
    import jax
    import jax.numpy as jnp

    given = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    try:
        result = jax.eval_shape(function, given)
    except (TypeError, ValueError) as error:  # what JAX and NumPy raise for a tracer they cannot take
        expected = "an elementwise function written with operators or jax.numpy, so that JAX can trace it"
        raise InvalidParameter("activation", function, expected) from error
    shape, dtype = getattr(result, "shape", None), getattr(result, "dtype", None)
    if shape != given.shape or dtype is None or not jnp.issubdtype(dtype, jnp.floating):
        expected = f"an elementwise real function: an array of shape (2, 3) came back as {result}"
        raise InvalidParameter("activation", function, expected)


def _check_order(name: str, order: int) -> None:
    if not isinstance(order, int | np.integer) or not 0 <= order <= MAX_ORDER:
        raise InvalidParameter(name, order, f"an integer from 0 to {MAX_ORDER}")


def _root_factorials(max_order: int) -> Floats:
    return np.sqrt([float(factorial(k)) for k in range(max_order + 1)])


@lru_cache(maxsize=256)
def _projection(act: Activation) -> Projection:
    return hermite_projection(act.name, act.value, act.kinks)


@lru_cache(maxsize=256)
def _coefficients(act: Activation) -> Floats:
    closed = act._function.coefficients
    result = closed(MAX_ORDER) if closed else _projection(act).normalised * _root_factorials(MAX_ORDER)
    result.setflags(write=False)
    return result
