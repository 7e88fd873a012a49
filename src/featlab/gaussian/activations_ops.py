"""How a formula becomes a function in NumPy and in JAX.

A formula gets the functions it may use as `ops` (NumPy's and SciPy's, or JAX's), so that both faces of an activation
are the same formula. JAX is imported only when its face is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.special

from featlab.gaussian.hermite import Floats
from featlab.precision import double_precision

_SHARED_NAMES = (
    "abs",
    "cos",
    "exp",
    "heaviside",
    "logaddexp",
    "maximum",
    "ones_like",
    "sign",
    "sin",
    "tanh",
    "zeros_like",
)


@dataclass(frozen=True)
class Formula:
    """What is known of an activation s.

    Attributes:
        value: (ops, x) -> s(x).
        derivative: (ops, x) -> s'(x), almost everywhere.
        kinks: the points where s or s' jumps.
        coefficients: max_order -> E[s He_k], k = 0..max_order, or None if only quadrature knows.
        kernel: rho -> E[s(u) s(v)], or None if only quadrature knows.
    """

    value: Callable[[Any, Any], Any]
    derivative: Callable[[Any, Any], Any]
    kinks: tuple[float, ...] = ()
    coefficients: Callable[[int], Floats] | None = None
    kernel: Callable[[Floats], Floats] | None = None


def _in_float64(function: Callable[[Any], Any], x: Floats) -> Floats:
    import jax.numpy as jnp

    with double_precision():
        return np.asarray(function(jnp.asarray(x, dtype=jnp.float64)), dtype=np.float64)


NUMPY_OPS = SimpleNamespace(
    **{name: getattr(np, name) for name in _SHARED_NAMES},
    erf=scipy.special.erf,
    expit=scipy.special.expit,
    erfc=scipy.special.erfc,
    call=_in_float64,
)


@lru_cache(maxsize=1)
def jax_ops() -> SimpleNamespace:
    """The same names as in `NUMPY_OPS`, from JAX."""
    import jax.numpy as jnp
    import jax.scipy.special as special

    return SimpleNamespace(
        **{name: getattr(jnp, name) for name in _SHARED_NAMES},
        erf=special.erf,
        expit=special.expit,
        erfc=special.erfc,
        call=lambda function, x: function(x),
    )


def from_function(function: Callable[[Any], Any], kinks: tuple[float, ...]) -> Formula:
    """The formula of a function that JAX can trace, with its derivative by automatic differentiation."""

    def slope(x: Any) -> Any:
        import jax
        import jax.numpy as jnp

        return jax.jvp(function, (x,), (jnp.ones_like(x),))[1]

    return Formula(
        value=lambda ops, x: ops.call(function, x), derivative=lambda ops, x: ops.call(slope, x), kinks=kinks
    )
