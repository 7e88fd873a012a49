"""How a target falls into groups of directions: a sum, or a product, of functions of different directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import sympy

from featlab.errors import InvalidTarget
from featlab.gaussian.hermite import Floats
from featlab.targets import Target
from featlab.targets.canonical import apply, canonical, power, product
from featlab.targets.evaluate import number
from featlab.targets.functions import is_call
from featlab.targets.model import target as make_target
from featlab.targets.printing import text_of

# What quadrature integrates over: directions of a group, and its fields with the noise inside the link.
MOST_OF_A_GROUP, MOST_FIELDS_OF_A_GROUP = 4, 5


@dataclass(frozen=True)
class Group:
    """A function of some of the target's directions, written in h1, h2, ... of its own.

    Attributes:
        axes: which directions of the whole target these are, in the order of the group's own.
        part: the function.
    """

    axes: tuple[int, ...]
    part: Target

    def columns(self, subspace: Floats) -> Floats:
        """The part of a subspace that lies in this group, in its own axes (len(axes), s); of one that splits."""
        rows = subspace[list(self.axes)]
        return rows[:, np.linalg.norm(rows, axis=0) > 0.5]


@dataclass(frozen=True)
class Parts:
    """link = offset + scale * (sum, or product, of the groups' functions), whose directions are disjoint."""

    rank: int
    groups: tuple[Group, ...]
    product: bool
    offset: float
    scale: float

    def split(self, subspace: Floats) -> bool:
        """Whether every column lies in one group, so that the subspace is a sum of subspaces of the groups."""
        touched = np.array([np.linalg.norm(subspace[list(group.axes)], axis=0) > 1e-9 for group in self.groups])
        return bool(np.all(touched.sum(axis=0) <= 1))


def merged(parts: Parts, first: int, second: int) -> Parts | None:
    """The same product with two of its groups taken as one; None if that is too large."""
    pair = [parts.groups[first], parts.groups[second]]
    names: list[str] = []
    trees = []
    for place, group in enumerate(pair):
        own = group.part.names
        new = [f"{name}0{place}" for name in own]  # of two groups, different ones
        old_to_new = {sympy.Symbol(a, real=True): sympy.Symbol(b, real=True) for a, b in zip(own, new, strict=True)}
        trees.append(canonical(group.part.tree, old_to_new))
        names += new
    axes = pair[0].axes + pair[1].axes
    if len(axes) > MOST_OF_A_GROUP or len(names) > MOST_FIELDS_OF_A_GROUP:
        return None
    names.sort(key=lambda name: name.startswith("xi"))
    part = _part(text_of(_renamed(product(trees), names)))
    if part is None:
        return None
    others = [group for k, group in enumerate(parts.groups) if k not in (first, second)]
    return replace(parts, groups=(Group(axes, part), *others))


@lru_cache(maxsize=64)
def parts_of(target: Target) -> Parts | None:
    """The groups of a target that is such a sum or product; None for any other, and where a group is too large."""
    if target.tree is None:
        return None
    symbols = target.tree.free_symbols
    offset, rest = target.tree.as_independent(*symbols, as_Add=True)
    scale, core = rest.as_independent(*symbols, as_Add=False)
    for pieces, multiplied in ((core.args if isinstance(core, sympy.Add) else (), False), (_factors(core), True)):
        groups = _groups(pieces, multiplied, target)
        if groups is not None:
            return Parts(target.rank, groups, multiplied, number(offset), number(scale))
    return None


def _factors(node: sympy.Expr) -> list[sympy.Expr]:
    """Factors of a node: those of a product, and of the sign, the size or a power of one; exp of each term of a sum."""
    if isinstance(node, sympy.Mul):
        return [factor for argument in node.args for factor in _factors(argument)]
    if is_call(node, "sign", "abs"):
        return [apply(node.func.__name__, [factor]) for factor in _factors(node.args[0])]
    if is_call(node, "power") and is_call(node.args[0], "abs"):
        return [power(factor, node.args[1]) for factor in _factors(node.args[0])]
    if isinstance(node, sympy.exp) and isinstance(node.args[0], sympy.Add):
        return [sympy.exp(term) for term in node.args[0].args]
    return [node]


def _groups(pieces: Sequence[sympy.Expr], multiplied: bool, target: Target) -> tuple[Group, ...] | None:
    """The pieces put together where they share a variable, each group as a target of its own; None if it cannot be."""
    found = []
    for names, members in _connected(pieces, target.names):
        axes = [target.names.index(name) for name in names if name.startswith("h")]
        if not 1 <= len(axes) <= MOST_OF_A_GROUP or len(names) > MOST_FIELDS_OF_A_GROUP:
            return None
        together = product(members) if multiplied else canonical(sympy.Add(*members))
        part = _part(text_of(_renamed(together, names)))
        if part is None or (part.rank, part.hidden) != (len(axes), len(names) - len(axes)):
            return None
        found.append(Group(tuple(axes), part))
    return tuple(found) if len(found) > 1 else None


def _connected(pieces: Sequence[sympy.Expr], names: list[str]) -> list[tuple[list[str], list[sympy.Expr]]]:
    """(variables, pieces) of each set of pieces that hang together; pieces of pure noise go with the first."""
    sets: list[tuple[set[str], list[sympy.Expr]]] = []
    for piece in pieces:
        used = {symbol.name for symbol in piece.free_symbols}
        touching = [one for one in sets if one[0] & used]
        merged = (used.union(*(one[0] for one in touching)), [p for one in touching for p in one[1]] + [piece])
        sets = [one for one in sets if one not in touching] + [merged]
    learned = [one for one in sets if any(name.startswith("h") for name in one[0])]
    if not learned:
        return []
    for noise in (one for one in sets if one not in learned):
        learned[0] = (learned[0][0] | noise[0], learned[0][1] + noise[1])
    ordered = [(sorted(used, key=names.index), members) for used, members in learned]
    return sorted(ordered, key=lambda one: names.index(one[0][0]))


def _renamed(tree: sympy.Expr, names: list[str]) -> sympy.Expr:
    """The tree with its variables called h1, h2, ... and xi1, xi2, ... in their order."""
    count = {"h": 0, "xi": 0}
    new = {}
    for name in names:
        kind = "h" if name.startswith("h") else "xi"
        count[kind] += 1
        new[sympy.Symbol(name, real=True)] = sympy.Symbol(f"{kind}{count[kind]}", real=True)
    return canonical(tree, new)


@lru_cache(maxsize=256)
def _part(text: str) -> Target | None:
    try:
        part = make_target(text)
    except InvalidTarget:  # a factor alone may be what the language refuses, such as 1/h1
        return None
    return part if np.array_equal(part.directions, np.eye(part.rank)) else None
