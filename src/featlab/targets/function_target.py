"""Targets given as a NumPy or JAX function of the fields, with the rank said by the user.

The same checks as for texts, with derivatives by central differences. Jumps are declared as kinks, or found by the
values of the function if they lie on planes; a corner is known only if it is declared. What is no function of a point
(random, or of its whole batch) is refused, poles are looked for, and what is left in doubt is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from featlab.errors import InvalidParameter, InvalidTarget
from featlab.precision import double_precision
from featlab.targets.admissible import REACH, check_not_constant, check_poles, check_tails, tail_doubts
from featlab.targets.evaluate import Floats, Jet
from featlab.targets.functions import MAX_VARIABLES
from featlab.targets.jumps import Plane, find_jumps
from featlab.targets.kinks import Kink
from featlab.targets.model import Target
from featlab.targets.poles import Pole, find_poles
from featlab.targets.rank import Probe, relevant_subspace
from featlab.targets.reduction import basis_remarks, exact_basis, in_floats, linear_text
from featlab.targets.repeatable import check_repeatable
from featlab.targets.surfaces import gaussian_points, spread_points

_STEP = 1e-4
_ERROR = 1e-8  # relative error of central differences with that step

_FORM = "write it for one array of fields (..., rank), for example lambda h: h[..., 0]**2"

Function = Callable[[Any], Any]


def function_target(function: Function, rank: int | None, kinks: tuple[Function, ...], noise: float) -> Target:
    """The target of a function from fields (..., rank) to values (...)."""
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or not 1 <= rank <= MAX_VARIABLES:
        raise InvalidParameter("rank", rank, f"the function's number of directions, 1 to {MAX_VARIABLES}")
    numpy_link = _numpy_link(function, int(rank))
    typed = [f"h{k + 1}" for k in range(rank)]
    check_repeatable(numpy_link, int(rank))
    _check_defined(numpy_link, int(rank))
    check_not_constant(numpy_link, int(rank))
    jumps = find_jumps(numpy_link, int(rank), kinks)
    found = sorted((_surface(plane, typed) for plane in jumps.planes), key=_name)
    surfaces = (*kinks, *found)
    poles = _uncut_poles(numpy_link, surfaces, typed)
    check_tails(numpy_link, typed)
    check_poles(numpy_link, typed, [(_name(kink), kink, _differences(kink)) for kink in surfaces])
    basis = relevant_subspace(_probe(numpy_link, surfaces, int(rank)), int(rank), range(rank))
    if not len(basis):
        raise InvalidTarget("the target is constant, up to rounding: there is nothing to learn")
    rows = exact_basis(basis, error=10 * _ERROR)
    directions = in_floats(rows)
    link = _embedded(numpy_link, directions)
    return Target(
        text=f"<{_name(function).strip('<>')}>",
        rank=len(directions),
        hidden=0,
        noise=noise,
        degree=None,
        kinks=tuple(_kink(kink, directions) for kink in surfaces),
        typed_variables=tuple(typed),
        directions=directions,
        remarks=(*basis_remarks(rows, typed, typed, "h", "directions"), *_jump_remarks(found)),
        doubts=(*tail_doubts(link, len(directions)), *_jump_doubts(jumps.stray, typed), *_pole_doubts(poles, typed)),
        latex=rf"\mathrm{{{_name(function).strip('<>')}}}(h)",
        source=(function, int(rank), kinks),
        numpy_function=link,
        jax_function=_jax_link(function, directions, numpy_link),
    )


def _numpy_link(function: Function, rank: int) -> Callable[[Floats], Floats]:
    """The function in NumPy float64; a JAX function is run in double precision, inside a context."""
    points = np.array(gaussian_points(8, rank, 80)).reshape(2, 4, rank)
    try:
        with np.errstate(all="ignore"):
            traced = type(function(points)).__module__.startswith("jax")
    except Exception as fault:  # whatever a function of a user raises
        raise InvalidTarget(
            f"the function does not take an array of shape {points.shape}: {type(fault).__name__}: {fault}",
            suggestion=_FORM,
        ) from fault

    def link(fields: Floats) -> Floats:
        if traced:
            with double_precision():
                return _real(np.asarray(function(fields)))
        with np.errstate(all="ignore"):
            return _real(np.asarray(function(fields)))

    if link(points).shape != points.shape[:-1]:
        raise InvalidTarget(
            f"the function maps shape {points.shape} to {link(points).shape}, not to {points.shape[:-1]}",
            suggestion=_FORM,
        )
    return link


def _real(value: Floats) -> Floats:
    if np.iscomplexobj(value):
        raise InvalidTarget("the function returns complex numbers")
    return value.astype(float)


def _check_defined(link: Callable[[Floats], Floats], rank: int) -> None:
    points = spread_points(rank, REACH)
    undefined = np.isnan(link(points))
    if undefined.any():
        at = ", ".join(f"{x:.4g}" for x in points[undefined][0])
        raise InvalidTarget(f"the function is undefined (nan) on a set of positive measure, for example at ({at})")


def _surface(plane: Plane, names: Sequence[str]) -> Function:
    """A function that is zero on a plane, named in the words of the language."""

    def surface(fields: Any) -> Any:
        return np.asarray(fields) @ plane.normal - plane.offset

    sign = "-" if plane.offset > 0 else "+"
    constant = f" {sign} {abs(plane.offset):.4g}" if plane.offset else ""
    surface.__name__ = linear_text(plane.normal, names) + constant
    return surface


def _jump_remarks(found: Sequence[Function]) -> list[str]:
    if not found:
        return []
    names = [_name(surface) for surface in found]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return [f"it jumps at the zeros of {shown}: found by its values along lines, as if declared by kinks="]


def _jump_doubts(stray: Floats, names: Sequence[str]) -> list[str]:
    if not len(stray):
        return []
    said = (
        f"the function jumps at {_point_words(stray[0], names)}, on no plane that was found, and integrals are not cut "
        "there: declare it by kinks=(surface,), a function of the fields that is zero there"
    )
    return [said]


def _uncut_poles(link: Callable[[Floats], Floats], surfaces: Sequence[Function], names: Sequence[str]) -> list[Pole]:
    """Poles where integrals are not cut; one that is too strong is refused, wherever it lies."""
    poles = find_poles(link, len(names))
    if poles and poles[0].too_strong:
        s = poles[0].strength
        raise InvalidTarget(
            f"not square-integrable under the Gaussian: it grows like the power -{s:.3g} of the distance to "
            f"{_point_words(poles[0].point, names)}",
            suggestion="a pole of strength below 1/2, such as abs(h1)**-0.25, is allowed",
        )
    return [pole for pole in poles if not any(abs(float(surface(pole.point[None])[0])) < 1e-6 for surface in surfaces)]


def _pole_doubts(poles: Sequence[Pole], names: Sequence[str]) -> list[str]:
    if not poles:
        return []
    said = (
        f"the function grows without bound, like the power -{poles[0].strength:.2g} of the distance to "
        f"{_point_words(poles[0].point, names)}, and integrals are not cut there: declare it by kinks=(surface,), a "
        "function of the fields that is zero there"
    )
    return [said]


def _point_words(point: Floats, names: Sequence[str]) -> str:
    rounded = np.where(np.abs(point) < 1e-9, 0.0, point)
    return ", ".join(f"{name} = {x:.4g}" for name, x in zip(names, rounded, strict=True))


def _name(function: Function) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _differences(function: Function) -> Callable[[Floats], Floats]:
    """The gradient by central differences, from points (n, m) to (n, m)."""

    def gradient(points: Floats) -> Floats:
        moves = _STEP * np.eye(points.shape[1])
        columns = [np.asarray(function(points + move)) - np.asarray(function(points - move)) for move in moves]
        return np.stack(columns, axis=1) / (2 * _STEP)

    return gradient


def _probe(link: Callable[[Floats], Floats], kinks: Sequence[Function], rank: int) -> Probe:
    def jet(points: Floats) -> Jet:
        value, gradient = link(points), _differences(link)(points).T
        size = np.abs(gradient).max(axis=0) + 1e-3 * np.abs(value)
        return Jet(value, gradient, np.broadcast_to(size, (rank, len(points))))

    return Probe(link, jet, [(kink, _differences(kink)) for kink in kinks], inner=(), tolerance=_ERROR)


def _embedded(function: Function, directions: Floats) -> Callable[[Floats], Floats]:
    """The function of reduced fields: the removed directions are set to zero."""
    if np.array_equal(directions, np.eye(len(directions))):
        return function
    return lambda fields: function(fields @ directions)


def _kink(function: Function, directions: Floats) -> Kink:
    embedded = _embedded(function, directions)
    points = gaussian_points(32, len(directions), 81)
    base = np.asarray(embedded(points))
    moved = [np.asarray(embedded(points + move)) for move in 0.7 * np.eye(len(directions))]
    used = tuple(index for index, value in enumerate(moved) if not np.array_equal(value, base))
    return Kink("jump", used, embedded, _name(function))


def _jax_link(function: Function, directions: Floats, numpy_link: Callable[[Floats], Floats]) -> Function:
    """The function in JAX: traced where it can be, called back otherwise (then without derivatives)."""
    identity = np.array_equal(directions, np.eye(len(directions)))

    def link(fields: Any) -> Any:
        import jax
        import jax.numpy as jnp

        full = fields if identity else fields @ jnp.asarray(directions, dtype=fields.dtype)
        shape = jax.ShapeDtypeStruct(full.shape[:-1], full.dtype)
        if _is_traceable(jax, function, full):
            return function(full)

        def back(values: Any) -> Any:
            return numpy_link(np.asarray(values, dtype=float)).astype(full.dtype)

        return jax.pure_callback(back, shape, full, vmap_method="expand_dims")

    return link


def _is_traceable(jax: Any, function: Function, fields: Any) -> bool:
    try:
        jax.eval_shape(function, jax.ShapeDtypeStruct(fields.shape, fields.dtype))
    except TypeError:  # a NumPy-only function meets a tracer: jax.errors.TracerArrayConversionError is a TypeError
        return False
    return True
