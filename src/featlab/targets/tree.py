"""Tree targets: hidden units of many directions each, y = (1/sqrt r) sum_i g(h_i*), h_i* = a_i . P(W_i* x) / sqrt(D).

Each of the r blocks sees its own D of the target's orthonormal directions; a_i are signs, P is a polynomial of one
variable that acts on each direction, g a function of one variable. D is a number, or grows as d^e: then the target is a
law, and `at(dim)` is the target at a dimension. With one block this is the single-index (SIGHT), with several the
multi-index (MIGHT) Gaussian hierarchical target of Dandi, Pesce, Zdeborova, Krzakala 2025 (arXiv:2502.13961); their
code has P = He2/2 + He3/6, their text the orthonormal He2/sqrt(2) + He3/sqrt(6).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import floor, sqrt
from numbers import Integral, Real
from typing import Any

import numpy as np
import sympy

from featlab.errors import InvalidParameter, InvalidTarget
from featlab.gaussian.hermite import hermite_all
from featlab.gaussian.quadrature import gauss_pieces
from featlab.targets.evaluate import Floats, values, values_jax
from featlab.targets.kinks import Kink
from featlab.targets.model import Target, target

_SIGNS = ("alternating", "ones")
# Of the polynomial's mean, which h* would add up D times.
_ROUNDING = 1e-10
_MOST_DIRECTIONS = 10_000
_DECIMAL = r"(?:\d+\.?\d*|\.\d+)"


@dataclass(frozen=True)
class Tree:
    """What a tree target is made of.

    Attributes:
        link: g, a text in h1.
        polynomial: P, a text in h1: a polynomial of mean zero.
        effective: D, the directions of a block; None where it follows a law.
        exponent: e of the law D = floor(d^e); None where D is given.
        blocks: r.
        signs: a_i: "alternating" +1, -1, ... (what random signs are in the mean), or "ones".
    """

    link: str
    polynomial: str
    effective: int | None
    exponent: float | None
    blocks: int
    signs: str

    @property
    def text(self) -> str:
        """As `featlab.target` reads it: tree(g, P, D), and what differs from blocks=1, signs=alternating."""
        width = str(self.effective) if self.effective is not None else f"d^{self.exponent:g}"
        parts = [self.link, self.polynomial, width]
        parts += [f"blocks={self.blocks}"] if self.blocks != 1 else []
        parts += [f"signs={self.signs}"] if self.signs != _SIGNS[0] else []
        return f"tree({', '.join(parts)})"

    @property
    def coefficients(self) -> Floats:
        """c_0, ..., c_k of P = sum c_j He_j."""
        return _coefficients(self.polynomial)

    @property
    def degree(self) -> int:
        """k, the degree of P."""
        return len(self.coefficients) - 1

    def at(self, dim: int) -> Tree:
        """The same with D as a number."""
        if self.exponent is None:
            return self
        return replace(self, effective=max(1, floor(float(dim) ** self.exponent + 1e-9)), exponent=None)


@dataclass(frozen=True, eq=False, repr=False)
class TreeTarget(Target):
    """A target with a `shape`, and with hidden fields h* between its directions and its label.

    Examples:
        >>> import featlab
        >>> featlab.target("tree(tanh(3*h1), He2(h1), 8)").text
        'tree(tanh(3*h1), He2(h1), 8)'
    """

    shape: Tree = field(kw_only=True)

    def at(self, dim: int) -> Target:
        """The target at this dimension."""
        found = super().at(dim)
        return found if self.shape.exponent is None else replace(found, **_parts(self.shape.at(dim)))

    def hidden_fields(self, fields: Any) -> Floats:
        """h* (..., r) at fields (..., r D), in float64."""
        return _hidden(self.shape, self._checked(np.asarray(fields, dtype=float)), values)

    def hidden_fields_jax(self, fields: Any) -> Any:
        """The same in JAX, in the precision of the fields."""
        return _hidden(self.shape, fields, values_jax)


def tree_target(
    link: str,
    polynomial: str,
    *,
    effective: int | None = None,
    exponent: float | None = None,
    blocks: int = 1,
    signs: str = _SIGNS[0],
    noise: float = 0.0,
) -> TreeTarget:
    """The target y = (1/sqrt r) sum_i g(a_i . P(W_i* x) / sqrt(D)), as `featlab.target("tree(g, P, D)")` gives it too.

    Source: Dandi et al. 2025, arXiv:2502.13961.

    Args:
        link: g, a text in h1, such as "tanh(3*h1)".
        polynomial: P, a text in h1, such as "He2(h1)/2 + He3(h1)/6"; its mean must be zero.
        effective: D, the number of directions of each block; or
        exponent: e, from 0 to 1, of the law D = floor(d^e).
        blocks: r. signs: "alternating" or "ones". noise: variance of Gaussian noise added to the label.

    Raises:
        InvalidParameter, InvalidTarget: what does not make a tree, with the reason.

    Examples:
        >>> import featlab
        >>> featlab.tree_target("tanh(3*h1)", "He2(h1)", effective=8).rank
        8
    """
    if (effective is None) == (exponent is None):
        raise InvalidParameter("effective", effective, "a number of directions, or else exponent= of the law d^e")
    if effective is not None:
        _check_count("effective", effective)
    elif isinstance(exponent, bool) or not isinstance(exponent, Real) or not 0 < exponent <= 1:
        raise InvalidParameter("exponent", exponent, "a number above 0 and at most 1, in D = d^e")
    _check_count("blocks", blocks)
    if signs not in _SIGNS:
        raise InvalidParameter("signs", signs, "one of " + ", ".join(map(repr, _SIGNS)))
    outer, inner = _of_one_variable("link", link), _of_one_variable("polynomial", polynomial)
    if inner.degree is None:
        raise InvalidTarget("P has to be a polynomial", text=polynomial)
    width = None if effective is None else int(effective)
    power = None if exponent is None else float(exponent)
    shape = Tree(outer.text, inner.text, width, power, int(blocks), signs)
    mean = shape.coefficients[0]
    if abs(mean) > _ROUNDING * np.abs(shape.coefficients).max():
        suggestion = f"subtract it: {inner.text} - ({mean:.6g}), or write P in He1, He2, ..."
        raise InvalidTarget(f"P has the mean {mean:.6g}", text=polynomial, suggestion=suggestion)
    found = TreeTarget(noise=0.0, **_parts(shape))
    return replace(found, noise=target(found, noise=noise).noise)


def tree_in_words(text: str, noise: float = 0.0) -> TreeTarget:
    """The target of a text tree(g, P, D) or tree(g, P, d^e), with blocks=... or signs=... after these."""
    found = re.fullmatch(r"\s*tree\s*\((.*)\)\s*", text, flags=re.DOTALL)
    parts = _split(found[1]) if found else []
    if len(parts) < 3:
        expected = "tree(g, P, D), such as tree(tanh(3*h1), He2(h1)/2 + He3(h1)/6, 16), or with the law d^0.5 for D"
        raise InvalidTarget("a tree is written otherwise", text=text, suggestion=expected)
    options: dict[str, Any] = _width(text, parts[2])
    for part in parts[3:]:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name not in ("blocks", "signs"):
            raise InvalidTarget(f"{part!r} is no part of a tree", text=text, suggestion="blocks=2, or signs=ones")
        options[name] = int(value) if re.fullmatch(r"\d{1,15}", value) else value
    return tree_target(parts[0], parts[1], noise=noise, **options)


def _parts(shape: Tree) -> dict[str, Any]:
    """The fields of the `Target` with this shape; while D is a law, one direction a block stands for all of them."""
    rank = shape.blocks * (shape.effective or 1)
    if rank > _MOST_DIRECTIONS:
        fault = f"its {rank:,} directions would take a matrix of {8 * rank**2:.1e} bytes"
        raise InvalidTarget(fault, text=shape.text, suggestion=f"at most {_MOST_DIRECTIONS:,} directions in all blocks")
    degree = target(shape.link).degree
    return {
        "text": shape.text,
        "rank": rank,
        "hidden": 0,
        "degree": None if degree is None else degree * shape.degree,
        "kinks": _kinks(shape),
        "typed_variables": tuple(f"h{k + 1}" for k in range(rank)),
        "directions": np.eye(rank),
        "remarks": (),
        "latex": rf"\mathrm{{{shape.text}}}".replace("^", r"\hat{}"),
        "source": shape.text,
        "numpy_function": _link(shape, values),
        "jax_function": _link(shape, values_jax),
        "shape": shape,
    }


def _link(shape: Tree, compute: Callable[..., Any]) -> Callable[[Any], Any]:
    """The link, with trees computed by `values` or by `values_jax`."""

    def link(fields: Any) -> Any:
        if shape.effective is None:
            raise InvalidTarget(
                "its number of directions is a law in d",
                text=shape.text,
                suggestion="take it at a dimension: .at(dim); its limits and thresholds are in featlab.theory.depth",
            )
        return compute(_tree(shape.link), {"h1": _hidden(shape, fields, compute)}).sum(axis=-1) / sqrt(shape.blocks)

    return link


def _hidden(shape: Tree, fields: Any, compute: Callable[..., Any]) -> Any:
    """h* (..., r) from the fields (..., r D)."""
    assert shape.effective is not None
    polynomials = compute(_tree(shape.polynomial), {"h1": fields})
    each = polynomials.reshape(*fields.shape[:-1], shape.blocks, shape.effective)
    signs = np.ones(shape.effective) if shape.signs == "ones" else 1.0 - 2.0 * (np.arange(shape.effective) % 2)
    return (each * (signs / sqrt(shape.effective)).astype(each.dtype)).sum(axis=-1)


def _kinks(shape: Tree) -> tuple[Kink, ...]:
    """Where g jumps or bends, as surfaces in the fields; none while D is a law."""
    if shape.effective is None:
        return ()

    def along(kink: Kink, block: int) -> Callable[[Floats], Floats]:
        return lambda fields: kink.function(_hidden(shape, fields, values)[..., block : block + 1])

    width = shape.effective
    return tuple(
        Kink(kink.kind, tuple(range(block * width, (block + 1) * width)), along(kink, block), f"{kink.text} of h*")
        for kink in target(shape.link).kinks
        for block in range(shape.blocks)
    )


@lru_cache(maxsize=64)
def _tree(text: str) -> sympy.Expr:
    tree = target(text).tree
    assert tree is not None
    return tree


@lru_cache(maxsize=64)
def _coefficients(text: str) -> Floats:
    polynomial = target(text)
    assert polynomial.degree is not None
    points, weights = gauss_pieces((), polynomial.degree + 1)  # exact for degree 2k + 1
    series = hermite_all(polynomial.degree, points)
    factorials = np.array([float(sympy.factorial(k)) for k in range(polynomial.degree + 1)])
    found = (series * polynomial.link(points[:, None])) @ weights / factorials
    found.setflags(write=False)
    return found


def _of_one_variable(name: str, text: object) -> Target:
    if not isinstance(text, str):
        raise InvalidParameter(name, text, "a text in h1")
    found = target(text)
    if found.rank != 1 or found.hidden or found.typed_variables != ("h1",):
        raise InvalidTarget(f"the {name} of a tree is a function of h1 alone", text=text)
    return found


def _check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InvalidParameter(name, value, "a whole number, at least 1")


def _width(text: str, part: str) -> dict[str, Any]:
    """D, or the exponent of its law, in words."""
    law = re.fullmatch(rf"d\s*(?:\^|\*\*)\s*({_DECIMAL})(?:/({_DECIMAL}))?", part.strip())
    if law and float(law[2] or 1) > 0:
        return {"exponent": float(law[1]) / float(law[2] or 1)}
    if re.fullmatch(r"\d{1,15}|\d[eE]\d{1,2}", part.strip()):
        return {"effective": int(float(part))}
    raise InvalidTarget(f"{part.strip()!r} is no number of directions", text=text, suggestion="16, or the law d^0.5")


def _split(text: str) -> list[str]:
    """The parts between commas that are in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
