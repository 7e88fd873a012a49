"""The functions of one variable that featlab knows by name: what targets are written in and students are activated by.

One entry of `FUNCTIONS` serves both. It writes the function once, with `ops` for the functions it may use: NumPy's and
SciPy's, JAX's, or SymPy's, the last two imported only when asked for. Two conventions at a jump, which no Gaussian
integral can see: step(0) = 1, so that step(a - b) is the indicator of a >= b, and sign(0) = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import e, factorial, log, pi, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.special

from featlab.gaussian.closed_forms import (
    combined,
    erf_coefficients,
    gelu_coefficients,
    gelu_kernel,
    leaky_kernel,
    monomial,
    relu_coefficients,
    relu_kernel,
    sine_of,
    step_coefficients,
    step_kernel,
    wave_coefficients,
)
from featlab.gaussian.hermite import Floats
from featlab.precision import double_precision

_LEAKY_SLOPE = 0.01
_LONGEST_HERMITE = 12
_SHARED = (
    "abs", "arcsinh", "arctan", "cos", "cosh", "exp", "floor", "heaviside", "log", "logaddexp", "maximum", "minimum",
    "mod", "ones_like", "power", "round", "sign", "sin", "sinh", "tanh", "where", "zeros_like",
)  # fmt: skip


@dataclass(frozen=True)
class ScalarFunction:
    """What is known of a function s of one real variable.

    Attributes:
        value: (ops, x) -> s(x), for NumPy, JAX and SymPy alike.
        derivative: (ops, x) -> s'(x) almost everywhere, for NumPy and JAX.
        kinks: pairs (kind, place): "jump" where s jumps, "corner" where s' does.
        latex: a template for `str.format`, {0} the argument; the name in upright letters unless given.
        parity: +1 for s(-x) = s(x), -1 for s(-x) = -s(x), 0 for neither.
        scaling: the power p in s(c x) = c^p s(x) for c > 0, or None; s is then rational at rational x.
        zero_at_zero: s vanishes or turns where x = 0 and nowhere else, so that its zero set is that of its argument.
        sign_of_value: +1 if s > 0 everywhere, 0 if s >= 0 everywhere, None if unknown.
        log_slope: x -> log s'(x) (NumPy) of a smooth s with s' > 0 everywhere, or None.
        coefficients: max_order -> E[s He_k], k = 0..max_order, or None if only quadrature knows.
        kernel: rho -> E[s(u) s(v)], or None if only quadrature knows.
        written_out: a target's text shows the formula instead of the name.
        typed: False for an activation that the language of targets writes in another way.

    Examples:
        >>> from featlab.gaussian import FUNCTIONS
        >>> FUNCTIONS["abs"].parity
        1
    """

    value: Callable[[Any, Any], Any]
    derivative: Callable[[Any, Any], Any]
    kinks: tuple[tuple[str, float], ...] = ()
    latex: str | None = None
    parity: int = 0
    scaling: int | None = None
    zero_at_zero: bool = False
    sign_of_value: int | None = None
    log_slope: Callable[[Floats], Floats] | None = None
    coefficients: Callable[[int], Floats] | None = None
    kernel: Callable[[Floats], Floats] | None = None
    written_out: bool = False
    typed: bool = True


def _hermite_polynomial(order: int, x: Any) -> Any:
    """He_order(x) by He_{k+1} = x He_k - k He_{k-1}, for arrays of NumPy and JAX."""
    below, here = x**0, x
    for k in range(1, order):
        below, here = here, x * here - k * below
    return here if order else below


def _in_float64(function: Callable[[Any], Any], x: Floats) -> Floats:
    import jax.numpy as jnp

    with double_precision():
        return np.asarray(function(jnp.asarray(x, dtype=jnp.float64)), dtype=np.float64)


def _heaviside(x: Floats, at_zero: float) -> Floats:
    """`np.heaviside`, whose branch for every number takes nine times as long where signs are random."""
    x = np.asarray(x)
    above = (x > 0).astype(x.dtype if x.dtype.kind == "f" else np.float64)
    special = (x == 0) | np.isnan(x)
    return np.where(special, np.heaviside(x, at_zero), above) if np.any(special) else above


NUMPY_OPS = SimpleNamespace(
    **{**{name: getattr(np, name) for name in _SHARED}, "heaviside": _heaviside},
    relu=lambda x: np.maximum(x, 0.0),
    erf=scipy.special.erf,
    expit=scipy.special.expit,
    distribution=lambda x: 0.5 * scipy.special.erfc(x * -sqrt(0.5)),
    hermite=_hermite_polynomial,
    call=_in_float64,
)


@lru_cache(maxsize=1)
def jax_ops() -> SimpleNamespace:
    """The names of `NUMPY_OPS`, from JAX."""
    import jax
    import jax.numpy as jnp
    import jax.scipy.special as special

    return SimpleNamespace(
        **{name: getattr(jnp, name) for name in _SHARED},
        relu=jax.nn.relu,
        erf=special.erf,
        expit=special.expit,
        distribution=lambda x: 0.5 * special.erfc(x * -sqrt(0.5)),
        hermite=_hermite_polynomial,
        call=lambda function, x: function(x),
    )


@lru_cache(maxsize=1)
def sympy_ops() -> SimpleNamespace:
    """The names that a value uses, from SymPy."""
    import sympy

    return SimpleNamespace(
        **{name: getattr(sympy, name) for name in ("cos", "cosh", "erf", "exp", "log", "sign", "sin", "sinh", "tanh")},
        abs=sympy.Abs,
        arcsinh=sympy.asinh,
        arctan=sympy.atan,
        floor=sympy.floor,
        mod=sympy.Mod,
        round=lambda x: sympy.Integer(round(x)) if isinstance(x, sympy.Rational) else sympy.floor(x + sympy.S.Half),
        where=lambda condition, a, b: sympy.Piecewise((a, condition), (b, True)),
        heaviside=lambda x, at_zero: sympy.Heaviside(x, sympy.Rational(at_zero)),
        logaddexp=lambda x, y: sympy.log(sympy.exp(x) + sympy.exp(y)),
        hermite=sympy.hermite_prob,
        maximum=sympy.Max,
        minimum=sympy.Min,
        power=sympy.Pow,
        relu=lambda x: sympy.Max(x, 0),
        expit=lambda x: 1 / (1 + sympy.exp(-x)),
        distribution=lambda x: (1 + sympy.erf(x / sympy.sqrt(2))) / 2,
    )


def _hermite(order: int) -> ScalarFunction:
    """He_order, with He_order' = order He_{order-1} and E[He_k(u) He_k(v)] = k! rho^k (Mehler)."""
    return ScalarFunction(
        value=lambda ops, x: ops.hermite(order, x),
        derivative=lambda ops, x: order * ops.hermite(order - 1, x),
        coefficients=monomial(order),
        kernel=lambda rho: factorial(order) * rho**order,
        typed=False,
    )


def _density(ops: Any, x: Any) -> Any:
    return ops.exp(-0.5 * x * x) / sqrt(2 * pi)


FUNCTIONS: dict[str, ScalarFunction] = {
    "relu": ScalarFunction(
        value=lambda ops, x: ops.relu(x),
        derivative=lambda ops, x: ops.heaviside(x, 0.0),
        kinks=(("corner", 0),),
        latex=r"\left({0}\right)_+",
        scaling=1,
        zero_at_zero=True,
        sign_of_value=0,
        coefficients=relu_coefficients,
        kernel=relu_kernel,
    ),
    "leaky_relu": ScalarFunction(
        value=lambda ops, x: ops.maximum(x, x / 100),
        derivative=lambda ops, x: _LEAKY_SLOPE + (1 - _LEAKY_SLOPE) * ops.heaviside(x, 0.0),
        kinks=(("corner", 0),),
        scaling=1,
        zero_at_zero=True,
        coefficients=combined((1 - _LEAKY_SLOPE, relu_coefficients), (_LEAKY_SLOPE, monomial(1))),
        kernel=partial(leaky_kernel, _LEAKY_SLOPE),
    ),
    "abs": ScalarFunction(
        value=lambda ops, x: ops.abs(x),
        derivative=lambda ops, x: ops.sign(x),
        kinks=(("corner", 0),),
        latex=r"\left|{0}\right|",
        parity=1,
        scaling=1,
        zero_at_zero=True,
        sign_of_value=0,
        coefficients=combined((2.0, relu_coefficients), (-1.0, monomial(1))),
        kernel=lambda rho: (sine_of(rho) + rho * np.arcsin(rho)) * (2 / pi),
    ),
    "sign": ScalarFunction(
        value=lambda ops, x: ops.sign(x),
        derivative=lambda ops, x: ops.zeros_like(x),
        kinks=(("jump", 0),),
        parity=-1,
        scaling=0,
        zero_at_zero=True,
        coefficients=combined((2.0, step_coefficients), (-1.0, monomial(0))),
        kernel=lambda rho: np.arcsin(rho) * (2 / pi),
    ),
    "step": ScalarFunction(
        value=lambda ops, x: ops.heaviside(x, 1.0),
        derivative=lambda ops, x: ops.zeros_like(x),
        kinks=(("jump", 0),),
        latex=r"\mathbf{{1}}\left\{{{0} \geq 0\right\}}",
        scaling=0,
        zero_at_zero=True,
        sign_of_value=0,
        coefficients=step_coefficients,
        kernel=step_kernel,
    ),
    "identity": ScalarFunction(
        value=lambda ops, x: x,
        derivative=lambda ops, x: ops.ones_like(x),
        coefficients=monomial(1),
        kernel=lambda rho: rho,
        written_out=True,
    ),
    "square": ScalarFunction(
        value=lambda ops, x: x * x,
        derivative=lambda ops, x: 2.0 * x,
        coefficients=combined((1.0, monomial(0)), (1.0, monomial(2))),
        kernel=lambda rho: 1 + 2 * rho**2,
        written_out=True,
    ),
    "exp": ScalarFunction(
        value=lambda ops, x: ops.exp(x),
        derivative=lambda ops, x: ops.exp(x),
        latex=r"e^{{{0}}}",
        sign_of_value=1,
        log_slope=lambda x: x,
        coefficients=lambda max_order: np.full(max_order + 1, sqrt(e)),
        kernel=lambda rho: np.exp(1 + rho),
    ),
    "sin": ScalarFunction(
        value=lambda ops, x: ops.sin(x),
        derivative=lambda ops, x: ops.cos(x),
        latex=r"\sin\left({0}\right)",
        parity=-1,
        coefficients=wave_coefficients(np.imag),
        kernel=lambda rho: np.sinh(rho) / e,
    ),
    "cos": ScalarFunction(
        value=lambda ops, x: ops.cos(x),
        derivative=lambda ops, x: -ops.sin(x),
        latex=r"\cos\left({0}\right)",
        parity=1,
        coefficients=wave_coefficients(np.real),
        kernel=lambda rho: np.cosh(rho) / e,
    ),
    "erf": ScalarFunction(
        value=lambda ops, x: ops.erf(x),
        derivative=lambda ops, x: (2 / sqrt(pi)) * ops.exp(-x * x),
        parity=-1,
        zero_at_zero=True,
        log_slope=lambda x: log(2 / sqrt(pi)) - x**2,
        coefficients=erf_coefficients,
        kernel=lambda rho: np.arcsin(2 * rho / 3) * (2 / pi),  # Williams (1996)
    ),
    "tanh": ScalarFunction(
        value=lambda ops, x: ops.tanh(x),
        # 1 - tanh^2 without the cancellation in the tails
        derivative=lambda ops, x: 4.0 * ops.expit(2.0 * x) * ops.expit(-2.0 * x),
        latex=r"\tanh\left({0}\right)",
        parity=-1,
        zero_at_zero=True,
        log_slope=lambda x: 2 * (np.log(2) - np.abs(x) - np.log1p(np.exp(-2 * np.abs(x)))),
    ),
    "arctan": ScalarFunction(
        value=lambda ops, x: ops.arctan(x),
        derivative=lambda ops, x: 1.0 / (1.0 + x * x),
        latex=r"\arctan\left({0}\right)",
        parity=-1,
        zero_at_zero=True,
        log_slope=lambda x: -np.log1p(x**2),
    ),
    "arcsinh": ScalarFunction(
        value=lambda ops, x: ops.arcsinh(x),
        derivative=lambda ops, x: (1.0 + x * x) ** -0.5,
        parity=-1,
        zero_at_zero=True,
        log_slope=lambda x: -0.5 * np.log1p(x**2),
    ),
    "sinh": ScalarFunction(
        value=lambda ops, x: ops.sinh(x),
        derivative=lambda ops, x: ops.cosh(x),
        latex=r"\sinh\left({0}\right)",
        parity=-1,
        zero_at_zero=True,
        log_slope=lambda x: np.logaddexp(x, -x) - log(2),
        coefficients=lambda max_order: np.where(np.arange(max_order + 1) % 2, sqrt(e), 0.0),
        kernel=lambda rho: e * np.sinh(rho),
    ),
    "cosh": ScalarFunction(
        value=lambda ops, x: ops.cosh(x),
        derivative=lambda ops, x: ops.sinh(x),
        latex=r"\cosh\left({0}\right)",
        parity=1,
        sign_of_value=1,
        coefficients=lambda max_order: np.where(np.arange(max_order + 1) % 2, 0.0, sqrt(e)),
        kernel=lambda rho: e * np.cosh(rho),
    ),
    "sigmoid": ScalarFunction(
        value=lambda ops, x: ops.expit(x),
        derivative=lambda ops, x: ops.expit(x) * ops.expit(-x),
        latex=r"\varsigma\left({0}\right)",
        sign_of_value=1,
        log_slope=lambda x: -np.abs(x) - 2 * np.log1p(np.exp(-np.abs(x))),
    ),
    "softplus": ScalarFunction(
        value=lambda ops, x: ops.logaddexp(x, 0),
        derivative=lambda ops, x: ops.expit(x),
        sign_of_value=1,
        log_slope=lambda x: -np.logaddexp(-x, 0.0),
    ),
    "swish": ScalarFunction(
        value=lambda ops, x: x * ops.expit(x),
        derivative=lambda ops, x: ops.expit(x) * (1.0 + x * ops.expit(-x)),
        zero_at_zero=True,
    ),
    "gelu": ScalarFunction(  # the exact x Phi(x), not its tanh approximation
        value=lambda ops, x: x * ops.distribution(x),
        derivative=lambda ops, x: ops.distribution(x) + x * _density(ops, x),
        zero_at_zero=True,
        coefficients=gelu_coefficients,
        kernel=gelu_kernel,
    ),
    **{f"He{order}": _hermite(order) for order in range(1, _LONGEST_HERMITE + 1)},
    "h2+h3": ScalarFunction(  # orthonormal: He2/sqrt(2) + He3/sqrt(6)
        value=lambda ops, x: (x * x - 1) / sqrt(2) + x * (x * x - 3) / sqrt(6),
        derivative=lambda ops, x: sqrt(2) * x + (x * x - 1) * sqrt(1.5),
        coefficients=combined((sqrt(1 / 2), monomial(2)), (sqrt(1 / 6), monomial(3))),
        kernel=lambda rho: rho**2 + rho**3,
        typed=False,
    ),
}
"""The functions of one variable that the language of targets has, by name."""

ALIASES = {"silu": "swish", "expit": "sigmoid", "absolute": "abs", "fabs": "abs"}
