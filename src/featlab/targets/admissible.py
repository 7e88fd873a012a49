"""Which functions are admissible targets: defined almost everywhere, not constant, square-integrable under N(0, I).

All three are decided numerically, at fixed points, with the following rules. A case that the numbers cannot separate
from a violation is refused, in words.

*Defined.* Every logarithm and fractional power is checked at Gaussian points stretched by 1, 2, 4, 8 and by a local
search that pushes its argument down; an argument below -1e-9 of the size of its terms is a violation. Sets
further than 26 standard deviations out (probability below 1e-148) do not count.

*Tails.* E f^2 is finite iff exp(2 log|f(rho u)| - rho^2/2) is integrable along every ray u. The worst ray is sought
among axes, random rays and random changes of the best; up to rho = 26 the integrand is summed, beyond it continues with
the decay that it has there. E f^2 is all that is asked for: labels, exponents and thresholds need no moment at all, and
energies and variances need this one. So exp(0.24*h1**2) passes, exp(h1**2/4) and exp(exp(h1)) do not. Quadrature sees
19 standard deviations far in one variable, 15 in two, 10 in three and 9 in more: more than 5% of E f^2 beyond 19 is
refused, as for exp(0.2475*h1**2), and a share beyond the reach is told to the user, because variances may miss it.

*Poles.* Near a zero of the base of a negative power (or of a logarithm) |f| grows like distance^(-s); with the zero set
of codimension c, f^2 is integrable iff 2 s < c. The zeros are found along random lines (c = 1) and by descent (c from
the span of gradients nearby); s is fitted between distances 1e-4 and 1e-9; 2 s > c - 0.02 is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.special
import sympy
from numpy.typing import NDArray

from featlab.errors import InvalidTarget
from featlab.targets.evaluate import Floats, Memo, value_at, values
from featlab.targets.functions import is_call, row_of
from featlab.targets.surfaces import (
    Function,
    crossings,
    gaussian_points,
    low_points,
    spread_points,
    touching_points,
    unit_vectors,
)

REACH = 26.0
_MAX_LOG_SQUARE = 345.0
# How many standard deviations far quadrature sees for one, two, three and more variables, as measured on exp(a*h1**2).
_REACHES = (19.0, 15.0, 10.0, 9.0)
_MAX_FAR = 0.05
_TOLD_SHARE = 1e-5
_GROWTH = "exp(a*h1**2) needs a below 0.247"
# Odd radii and rays just beside the axes: a pole on an axis or at a round number is the business of the pole test.
_RADII = np.append(np.linspace(0.4871, 25.613, 51), REACH)
_DISTANCES = np.array([1e-4, 1e-9])


def check_defined(literal: sympy.Expr, names: Sequence[str]) -> None:
    """Refuse a tree with a logarithm or fractional power of something negative on a set of positive measure.

    It looks at the tree as typed, so sqrt(h1)**2 is refused although it could be simplified to h1. Where a `where` does
    not choose a branch, the branch may be undefined.
    """
    for node, guards in _guarded(literal).items():
        row = row_of(node)
        if row is None or row.outside is None:
            continue
        points = low_points(value_at(node.args[0], names), len(names), REACH) if names else np.zeros((1, 0))
        memo: Memo = {}
        fields = dict(zip(names, points.T, strict=True))
        arguments = [np.broadcast_to(values(argument, fields, memo), len(points)) for argument in node.args]
        size = _size_of_terms(node.args[0], memo)
        bad = row.outside(*arguments) & (arguments[0] < -1e-9 * size) & np.isfinite(arguments[0])
        bad &= np.any([_chosen(guard, fields, memo, len(points)) for guard in guards], axis=0)
        if bad.any():
            raise InvalidTarget(
                f"undefined on a set of positive measure: {row.outside_words}{_where(names, points[bad][0])}",
                suggestion="make its argument non-negative, for example with abs(...) or relu(...)",
            )


_Guard = tuple[tuple[sympy.Expr, bool], ...]


def _guarded(tree: sympy.Expr) -> dict[sympy.Expr, set[_Guard]]:
    """Every node with the sets of conditions, to hold or to fail, under which its value is asked for."""
    found: dict[sympy.Expr, set[_Guard]] = {}
    waiting: list[tuple[sympy.Expr, _Guard]] = [(tree, ())]
    while waiting:
        node, guard = waiting.pop()
        known = found.setdefault(node, set())
        if guard in known or () in known:
            continue
        known.add(guard)
        if is_call(node, "where"):
            condition, chosen, other = node.args
            waiting += [
                (condition, guard),
                (chosen, (*guard, (condition, True))),
                (other, (*guard, (condition, False))),
            ]
        else:
            waiting += [(argument, guard) for argument in node.args]
    return found


def _chosen(guard: _Guard, fields: Mapping[str, Floats], memo: Memo, count: int) -> NDArray[np.bool_]:
    """At which of the points the conditions of a guard hold or fail as they should."""
    met = np.ones(count, dtype=bool)
    for condition, holds in guard:
        met = met & ((values(condition, fields, memo) > 0.5) == holds)
    return met


def _size_of_terms(tree: sympy.Expr, memo: Memo) -> Floats:
    """The size that a sum would have without cancellation: it scales the rounding error of the sum."""
    if isinstance(tree, sympy.Add):
        return sum((np.abs(memo[term]) for term in tree.args), start=np.zeros(1))
    return np.abs(memo[tree])


def _where(names: Sequence[str], point: Floats) -> str:
    if not names:
        return ""
    rounded = np.where(np.abs(point) < 1e-12, 0.0, point)
    return ", for example at " + ", ".join(f"{name} = {x:.4g}" for name, x in zip(names, rounded, strict=True))


def check_not_constant(function: Function, variables: int) -> None:
    """Refuse a function that does not change, beyond rounding, at Gaussian points stretched up to 8 times."""
    value = function(spread_points(variables, REACH)) if variables else np.zeros(1)
    value = value[np.isfinite(value)]
    if not len(value):
        raise InvalidTarget("the target is not finite at any point", suggestion="look for overflow or division by zero")
    if np.ptp(value) <= 1e-13 * np.max(np.abs(value)):
        raise InvalidTarget("the target is constant: there is nothing to learn", suggestion="let it depend on h1")


def check_tails(function: Function, names: Sequence[str]) -> None:
    """Refuse a function that grows too fast for E f^2 < infinity, or beyond what float64 can hold."""
    rays = _worst_rays(function, len(names))
    logs = _log_integrand(function, rays)
    overflow = np.isposinf(logs) | np.isnan(logs)
    if overflow.any():
        ray, radius = np.argwhere(overflow)[0]
        at = _where(names, _RADII[radius] * rays[ray])
        raise InvalidTarget(
            f"not square-integrable under the Gaussian, or too large for float64: its value is not a number{at}",
            suggestion="a target may grow like a polynomial or like exp(0.24*h1**2), all intermediate values finite",
        )
    top = np.max(logs)
    everywhere, far = (_radial_masses(logs - top, edge) for edge in (0.0, _REACHES[0]))
    worst = int(np.argmax(far))
    at = _where(names, REACH * rays[worst])
    if np.isinf(far[worst]):
        words = "not square-integrable under the Gaussian: it grows too fast"
        raise InvalidTarget(words + at, suggestion=_GROWTH)
    if top > _MAX_LOG_SQUARE:
        raise InvalidTarget(
            f"the mean of the target's square is about 1e{top / np.log(10):.0f}, too large for float64",
            suggestion="divide the target by a large number or lower its degree",
        )
    if far[worst] > _MAX_FAR * everywhere.max():
        words = "too close to not being square-integrable: the mean of its square is carried by far-out points"
        raise InvalidTarget(words + at, suggestion=_GROWTH)


def tail_doubts(function: Function, variables: int) -> tuple[str, ...]:
    """What to say of an admissible function of which a part of E f^2 lies beyond the reach of quadrature."""
    logs = _log_integrand(function, _worst_rays(function, variables))
    logs = np.where(logs < np.inf, logs, -np.inf)  # a pole that a ray happens to meet
    everywhere, beyond = (_radial_masses(logs - np.max(logs), edge).max() for edge in (0.0, _reach(variables)))
    share = float(beyond / everywhere)
    if share < _TOLD_SHARE:
        return ()
    said = (
        f"about {share:.1g} of the mean of its square comes from points that integrals may not reach: so much may "
        "be missing in its variance and residuals; exponents and critical ratios are not affected"
    )
    return (said,)


def _reach(variables: int) -> float:
    return _REACHES[min(variables, len(_REACHES)) - 1]


def _radial_masses(logs: Floats, edge: float) -> Floats:
    """The integral of f^2 exp(-rho^2/2) along each ray, beyond `edge`.

    Past the last radius R the integrand is continued as exp(-c (rho^2 - R^2)), c its decay over the last five standard
    deviations; c < 1e-3 is no decay, and the integral infinite.
    """
    last = _RADII[-1]
    with np.errstate(all="ignore"):
        decay = (logs[:, -12] - logs[:, -1]) / (last**2 - _RADII[-12] ** 2)
        decay = np.where(np.isnan(decay) | np.isneginf(logs[:, -12]), 0.5, decay)  # it was zero there
        root = np.sqrt(np.maximum(decay, 1e-3))
        rest = np.exp(logs[:, -1]) * scipy.special.erfcx(last * root) * np.sqrt(np.pi) / (2 * root)
    rest = np.where((decay < 1e-3) & np.isfinite(logs[:, -1]), np.inf, rest)
    weights = np.gradient(_RADII) * (edge < _RADII)
    return np.exp(logs) @ weights + rest


def _log_integrand(function: Function, rays: Floats) -> Floats:
    """2 log|f(rho u)| - rho^2/2 on the radial grid, for every ray u."""
    value = function(_RADII[None, :, None] * rays[:, None, :])
    with np.errstate(all="ignore"):
        return 2.0 * np.log(np.abs(value)) - 0.5 * _RADII**2


def _worst_rays(function: Function, variables: int) -> Floats:
    """Unit vectors along which the target is largest far out: axes, random ones, and improved ones."""
    beside = 1e-3 * gaussian_points(2 * variables, variables, 12)
    axes = unit_vectors(np.concatenate([np.eye(variables), -np.eye(variables)]) + beside)
    rays = np.concatenate([axes, unit_vectors(gaussian_points(96, variables, 11))])
    for round_number, scale in enumerate((0.5, 0.25, 0.1, 0.05, 0.02)):
        far = np.abs(function(REACH * rays))
        worst = rays[np.argsort(np.where(np.isnan(far), np.inf, far))[-6:]]
        moves = scale * gaussian_points(6 * 16, variables, 40 + round_number)
        rays = np.concatenate([rays[: 2 * variables + 24], worst, unit_vectors(np.repeat(worst, 16, axis=0) + moves)])
    return rays


def check_poles(function: Function, names: Sequence[str], singular: Sequence[tuple[str, Function, Function]]) -> None:
    """Refuse a function with a pole too strong for E f^2; `singular` holds (text, K, grad K) per surface {K = 0}."""
    for text, surface, gradient in singular:
        crossed = crossings(surface, len(names), lines=12, key=50)
        if len(crossed.points):
            _check_pole(function, names, text, crossed.points, crossed.directions[:, None, :], codimension=1)
        else:
            for point in touching_points(surface, gradient, len(names), key=50)[:4]:
                _check_pole_at(function, names, text, point, gradient)
    if len(singular) > 1:
        joint = np.zeros(len(names))
        if all(abs(float(surface(joint[None])[0])) < 1e-12 for _, surface, _ in singular):
            normals = np.concatenate(
                [gradient(1e-5 * gaussian_points(16, len(names), 60)) for *_, gradient in singular]
            )
            codimension = _span(normals)
            directions = unit_vectors(gaussian_points(32, len(names), 61))[None]
            _check_pole(function, names, "the origin", joint[None], directions, codimension)


def _check_pole_at(function: Function, names: Sequence[str], text: str, point: Floats, gradient: Function) -> None:
    """The test at a zero that is touched but not crossed: its codimension is the span of gradients close by."""
    codimension = _span(gradient(point + 1e-4 * gaussian_points(16, len(names), 62)))
    directions = unit_vectors(gaussian_points(32, len(names), 61))[None]
    _check_pole(function, names, text, point[None], directions, codimension)


def _span(normals: Floats) -> int:
    """The number of directions that a set of gradients spans, up to one per cent of the largest."""
    largest = np.abs(normals).max(axis=1)
    keep = np.isfinite(largest) & (largest > 0)
    if not keep.any():
        return 1
    strength = np.linalg.svd(unit_vectors(normals[keep] / largest[keep][:, None]), compute_uv=False)
    return max(1, int(np.sum(strength > 0.01 * strength[0])))


def _check_pole(
    function: Function, names: Sequence[str], text: str, points: Floats, directions: Floats, codimension: int
) -> None:
    """Fit |f| ~ distance^(-s) on both sides of the points; refuse where 2 s comes within 0.02 of the codimension."""
    offsets = directions[:, :, None, :] * _DISTANCES[:, None]
    for side in (1.0, -1.0):
        value = function(points[:, None, None, :] + side * offsets)
        with np.errstate(all="ignore"):
            logs = np.log(np.abs(value))
            slopes = (logs[..., 1] - logs[..., 0]) / np.log(_DISTANCES[1] / _DISTANCES[0])
        if np.isnan(value).any():
            raise InvalidTarget(
                f"its value is lost to rounding next to the zeros of {text}" + _where(names, points[0]),
                suggestion="write it in factored form, such as abs(h1 - h2) for sqrt(h1**2 - 2*h1*h2 + h2**2)",
            )
        endless = np.isinf(value).any(axis=-1)
        strength = np.where(endless, np.inf, np.where(np.isfinite(slopes), -slopes, 0.0))
        typical = np.median(strength, axis=1)
        worst = int(np.argmax(typical))
        s = float(typical[worst])
        if 2.0 * s > codimension - 0.02:
            shown = "faster than any power of" if np.isinf(s) else f"like the power -{s:.3g} of"
            raise InvalidTarget(
                f"not square-integrable under the Gaussian: it grows {shown} the distance to the zeros of {text}"
                + _where(names, points[worst]),
                suggestion="a pole of strength below 1/2, such as abs(h1)**-0.25, is allowed",
            )
