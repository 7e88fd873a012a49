"""The simplest target whose label tells the same: without injective functions on the label, added noise drawn out.

What can be learned with any function of the label depends on the events that the label tells apart, not on the numbers
by which it calls them. A strictly monotone function of a label, such as tanh, an odd power or an affine map, tells what
the label tells; an even function that is strictly monotone on each side of 0 tells what the square tells. A noise
variable that is only added, h1 + 2 xi1, is label noise of variance 4. What correlations see changes with all of this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, reduce
from math import gcd

import numpy as np
import sympy

from featlab.errors import InvalidTarget
from featlab.targets.functions import is_call, row_of
from featlab.targets.model import Target
from featlab.targets.model import target as make_target
from featlab.targets.printing import text_of


@lru_cache(maxsize=256)
def informative(target: Target) -> Target:
    """The target without the injective functions on its label and with added noise variables as label noise.

    Noise that is added to the label is added after all of its functions: then only an affine map is taken off. Where
    the simplest link is no admissible target (tanh(exp(h1**2) + h1) is bounded, its argument is not square-integrable)
    the simplest that is one is taken.
    """
    if target.tree is None:
        return target
    simpler = [(target.tree, target.noise), *_simpler(target.tree, target.noise)]
    for tree, noise in tuple(simpler):
        for rest, variance in _without_added_noise(tree):
            core, scale = _without_affine(rest)
            simpler.append((core, (noise + variance) / scale**2))
    for tree, noise in sorted(simpler[1:], key=lambda form: form[0].count_ops()):
        found = _same_directions(tree, noise, target)
        if found is not None:
            return found
    return target


def _same_directions(tree: sympy.Expr, noise: float, target: Target) -> Target | None:
    """The target of a tree, if there is one and it speaks of the same directions."""
    try:
        found = make_target(text_of(tree), noise=noise)
    except InvalidTarget:
        return None
    if found.rank != target.rank or not np.array_equal(found.directions, np.eye(found.rank)):
        return None
    return replace(found, inputs=target.inputs)


def _simpler(tree: sympy.Expr, noise: float) -> Iterator[tuple[sympy.Expr, float]]:
    """Link and noise after each function that is taken off."""
    core, scale = _without_affine(tree)
    if core != tree:
        tree, noise = core, noise / scale**2
        yield tree, noise
    while noise == 0:
        inner = _inside(tree)
        if inner is None:
            return
        tree = _without_affine(inner)[0]
        yield tree, 0.0


def _without_affine(tree: sympy.Expr) -> tuple[sympy.Expr, float]:
    """u and a of a link a u + b."""
    _, scaled = tree.as_independent(*tree.free_symbols, as_Add=True)
    scale, core = scaled.as_independent(*tree.free_symbols, as_Add=False)
    return core, float(scale)


def _inside(node: sympy.Expr) -> sympy.Expr | None:
    """u of a link f(u) that tells what u tells, f injective where u takes its values; None if nothing is taken off."""
    if is_call(node, "log", "power"):
        # They are defined where u > 0 only, and injective there; the exponent must be a number.
        return node.args[0] if len(node.args) == 1 or node.args[1].is_number else None
    row = row_of(node)
    if row is not None and row.scalar is not None and row.scalar.log_slope is not None:
        return node.args[0]
    even = _even_argument(node)
    if even is not None:
        size = _size(even)
        simpler = size if _not_negative(size) else size**2
        return None if simpler == node or (is_call(node, "abs") and size == even) else simpler
    factors = sympy.Mul.make_args(node)
    if len(factors) > 1 and all(isinstance(factor, sympy.exp) for factor in factors):
        return sympy.Add(*(factor.args[0] for factor in factors))
    root = _root(node)[1]
    return None if root == node else root


def _even_argument(node: sympy.Expr) -> sympy.Expr | None:
    """u of a link that tells the size |u| and nothing else: |u|, an even power, He2(u)."""
    if is_call(node, "abs"):
        return node.args[0]
    if is_call(node, "He") and node.args[0] == 2:
        return node.args[1]
    common, root = _root(node)
    return root if common % 2 == 0 else None


def _size(node: sympy.Expr) -> sympy.Expr:
    """Something simpler with sizes |v| that tell what |u| tells: odd injective functions, powers and factors go."""
    node = node.as_independent(*node.free_symbols, as_Add=False)[1]
    row = row_of(node)
    if is_call(node, "abs"):
        return _size(node.args[0])
    if row is not None and row.scalar is not None and row.scalar.log_slope is not None and row.scalar.parity == -1:
        return _size(node.args[0])
    root = _root(node)[1]
    return node if root == node else _size(root)


def _root(node: sympy.Expr) -> tuple[int, sympy.Expr]:
    """(k, v) with node = v^k or v^-k for the largest whole k."""
    factors = [part.as_base_exp() if part.is_Pow else (part, sympy.Integer(1)) for part in sympy.Mul.make_args(node)]
    if not all(exponent.is_Integer for _, exponent in factors):
        return 1, node
    common = reduce(gcd, (abs(int(exponent)) for _, exponent in factors))
    sign = -1 if all(exponent < 0 for _, exponent in factors) else 1
    return common, sympy.Mul(*(base ** (sign * exponent / common) for base, exponent in factors))


def _not_negative(node: sympy.Expr) -> bool:
    """Whether a link is >= 0 everywhere, as far as its form shows."""
    if node.is_Number:
        return bool(node >= 0)
    if node.is_Add or node.is_Mul:
        return all(_not_negative(part) for part in node.args)
    if node.is_Pow and node.exp.is_Integer:
        return bool(node.exp % 2 == 0) or _not_negative(node.base)
    row = row_of(node)
    return row is not None and row.sign_of_value is not None


def _without_added_noise(tree: sympy.Expr) -> Iterator[tuple[sympy.Expr, float]]:
    """The link without the noise variables that are only added to it, and their variance."""
    terms = sympy.Add.make_args(tree)
    added = [term for term in terms if _is_added_noise(term, terms)]
    if added and len(added) < len(terms):
        rest = sympy.Add(*(term for term in terms if term not in added))
        yield rest, float(sum(term.as_independent(*term.free_symbols, as_Add=False)[0] ** 2 for term in added))


def _is_added_noise(term: sympy.Expr, terms: tuple[sympy.Expr, ...]) -> bool:
    noise = term.as_independent(*term.free_symbols, as_Add=False)[1]
    alone = noise.is_Symbol and noise.name.startswith("xi")
    return alone and not any(noise in other.free_symbols for other in terms if other is not term)
