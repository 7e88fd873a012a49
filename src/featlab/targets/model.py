"""The target: a link of a few directions, its noise, its kinks, and how it reads.

`target(...)` is the door: it takes a text of the language, a SymPy expression, a NumPy or JAX function, or a target,
and gives an admissible `Target` in its true directions, or raises `InvalidTarget`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import isfinite
from typing import Any, ClassVar

import numpy as np
import sympy

from featlab.errors import InvalidParameter, InvalidTarget
from featlab.shown import Shown
from featlab.targets.admissible import check_defined, check_not_constant, check_poles, check_tails, tail_doubts
from featlab.targets.canonical import canonical, free_names
from featlab.targets.evaluate import Floats, gradient_at, value_at, values_jax
from featlab.targets.from_sympy import literal_of, native
from featlab.targets.inputs import Hypercube, Inputs, Isotropic, Spiked, SpikeLaw
from featlab.targets.kinks import Kink, kinks_of, surfaces
from featlab.targets.language import parse
from featlab.targets.polynomials import polynomial_degree, small_polynomial
from featlab.targets.printing import latex_of, text_of
from featlab.targets.reduction import Reduced, reduce
from featlab.targets.tokens import spaced, tokens_of

_MAX_DEGREE = 40


@dataclass(frozen=True, eq=False, repr=False)
class Target(Shown):
    """A function of a few directions, with Gaussian label noise: y = link(h, xi) + sqrt(noise) * N(0, 1).

    The fields are h = (h1, .., hr), the inputs' components along r orthonormal directions, and xi = (xi1, .., xim),
    noise inside the link that can never be learned; all are independent standard normals.

    Attributes:
        text: canonical text, which parses back to this target; a function's name in angle brackets for a function.
        rank: the true number r of directions, after reduction.
        hidden: the number m of noise variables inside the link.
        noise: variance of the additive Gaussian label noise.
        degree: total degree of the link in all fields if it is a polynomial, else None.
        kinks: surfaces where the link or a derivative of it jumps or is singular.
        typed_variables: the directions as they were typed.
        directions: (rank, len(typed_variables)), orthonormal rows: the target's directions in the variables typed.
        remarks: sentences for the user on what was reduced.
        latex: the link in LaTeX.
        shown: the link as it was typed, with its own order of terms; `text` where it was reduced or was no text.
        doubts: sentences on what numbers of this target may miss.
        inputs: the law of the inputs, or how it depends on d.

    Examples:
        >>> import featlab
        >>> featlab.target("He2(h1)*h2", noise=0.1)
        target('He2(h1)*h2', noise=0.1)
    """

    text: str
    rank: int
    hidden: int
    noise: float
    degree: int | None
    kinks: tuple[Kink, ...]
    typed_variables: tuple[str, ...]
    directions: Floats = field(repr=False)
    remarks: tuple[str, ...] = field(repr=False)
    latex: str = field(repr=False)
    source: Any = field(repr=False)
    inputs: Inputs = field(default_factory=Isotropic)
    typed: str | None = field(default=None, repr=False)
    doubts: tuple[str, ...] = field(default=(), repr=False)
    tree: sympy.Expr | None = field(default=None, repr=False)
    numpy_function: Callable[[Floats], Floats] | None = field(default=None, repr=False)
    jax_function: Callable[[Any], Any] | None = field(default=None, repr=False)

    _picture: ClassVar[str] = "featlab.reports.notebook:target_picture"
    _page: ClassVar[str] = "featlab.reports.notebook:target_page"

    def __repr__(self) -> str:
        noise = f", noise={self.noise:g}" if self.noise else ""
        inputs = "" if isinstance(self.inputs, Isotropic) else f", inputs={self.inputs!r}"
        return f"target({self.shown!r}{noise}{inputs})"

    def to_latex(self) -> str:
        """The link in LaTeX."""
        return self.latex

    @property
    def names(self) -> list[str]:
        """The names of the fields, in their order: h1..hr, xi1..xim."""
        return [f"h{k + 1}" for k in range(self.rank)] + [f"xi{k + 1}" for k in range(self.hidden)]

    @property
    def shown(self) -> str:
        """The link in the words of the person who typed it, wherever they name its directions as `names` does."""
        return self.text if self.typed is None else self.typed

    @cached_property
    def expression(self) -> sympy.Expr | None:
        """The reduced link in SymPy's own functions, or None for a function target."""
        return None if self.tree is None else native(self.tree)

    def link(self, fields: Any) -> Floats:
        """The noiseless label at fields (..., rank + hidden), in float64; the result has shape (...)."""
        fields = self._checked(np.asarray(fields, dtype=float))
        if self.tree is not None:
            return np.array(value_at(self.tree, self.names)(fields))
        assert self.numpy_function is not None
        return self.numpy_function(fields)

    def link_jax(self, fields: Any) -> Any:
        """The same in JAX, in the precision of the fields; may be jitted, vmapped and differentiated.

        In reverse mode a derivative is nan where a branch that `where` does not choose is undefined.
        """
        import jax.numpy as jnp

        fields = self._checked(jnp.asarray(fields))
        if not jnp.issubdtype(fields.dtype, jnp.floating):
            fields = fields.astype(jnp.float32)
        if self.tree is not None:
            return values_jax(self.tree, {name: fields[..., index] for index, name in enumerate(self.names)})
        assert self.jax_function is not None
        return self.jax_function(fields)

    def at(self, dim: int) -> Target:
        """The target at this dimension: a law of the inputs in d becomes the inputs themselves."""
        return replace(self, inputs=self.inputs.at(dim)) if isinstance(self.inputs, SpikeLaw) else self

    def _checked(self, fields: Any) -> Any:
        if not fields.shape or fields.shape[-1] != self.rank + self.hidden:
            expected = f"an array (..., {self.rank + self.hidden}) holding {', '.join(self.names)}"
            raise InvalidParameter("fields", f"shape {fields.shape}", expected)
        return fields

    @property
    def _identity(self) -> tuple[Any, ...]:
        return (self.text, self.noise, self.inputs, None if self.tree is not None else self.source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.source, self.noise, self.inputs)


def target(
    source: Any,
    *,
    noise: float | None = None,
    inputs: Inputs | None = None,
    rank: int | None = None,
    kinks: Sequence[Callable[[Floats], Floats]] = (),
) -> Target:
    """The target that `source` describes, in its true directions.

    Args:
        source: a text such as "He4(h1) + sign(h1*h2*h3)" (or "tree(g, P, D)", see `tree_target`), a SymPy expression in
            symbols h1.., xi1.., a NumPy or JAX function from fields (..., rank) to values (...), or a target.
        noise: variance of the additive Gaussian label noise (0 unless given; a target keeps its own).
        inputs: the law of the inputs (`Isotropic()` unless given; a target keeps its own).
        rank: the number of directions of a function; not for texts and expressions, which show theirs.
        kinks: functions of the fields that vanish where a function jumps or bends; not for texts and expressions.

    Raises:
        InvalidTarget: the text is not in the language, or the function is constant, undefined on a set of positive
            measure, or not square-integrable under the Gaussian.

    Examples:
        >>> import featlab
        >>> featlab.target("(h1 + h2)**3").rank
        1
        >>> featlab.target("h1 + foo(h2)")
        Traceback (most recent call last):
            ...
        featlab.errors.InvalidTarget: got 'h1 + foo(h2)': unknown function ...
    """
    if not isinstance(kinks, Sequence):
        raise InvalidParameter("kinks", kinks, "a sequence of functions of the fields")
    if isinstance(source, Target | str | sympy.Basic) and (rank is not None or len(kinks)):
        raise InvalidParameter("rank or kinks", rank or kinks, "nothing: they are only for functions")
    if isinstance(source, Target):
        found = source if noise is None else replace(source, noise=_checked_noise(noise))
        return found if inputs is None else _with_inputs(found, inputs)
    if inputs is not None:
        return _with_inputs(target(source, noise=noise, rank=rank, kinks=kinks), inputs)
    variance = _checked_noise(0.0 if noise is None else noise)
    if isinstance(source, str | sympy.Basic):
        if isinstance(source, str) and source.lstrip().startswith("tree("):
            from featlab.targets.tree import tree_in_words

            return tree_in_words(source, variance)
        return _target_of_text(source, variance) if isinstance(source, str) else _symbolic_target(source, variance)
    if callable(source):
        from featlab.targets.function_target import function_target

        return function_target(source, rank, tuple(kinks), variance)
    raise InvalidTarget(f"a text, a SymPy expression or a function was expected, not {type(source).__name__}")


def _rebuilt(source: Any, noise: float, inputs: Inputs) -> Target:
    """A pickled target again, from what it was made of."""
    if isinstance(source, str):
        return target(source, noise=noise, inputs=inputs)
    function, rank, kinks = source
    return target(function, rank=rank, kinks=kinks, noise=noise, inputs=inputs)


def _with_inputs(source: Target, inputs: Inputs) -> Target:
    if not isinstance(inputs, Inputs):
        expected = "Isotropic(), Spiked(strength, overlaps), SpikeLaw(strength_exponent, ..) or Hypercube(anisotropy)"
        raise InvalidParameter("inputs", inputs, expected)
    name = {Spiked: "overlaps", SpikeLaw: "overlap_exponents"}.get(type(inputs))
    if name is not None and len(getattr(inputs, name)) != source.rank:
        given = getattr(inputs, name)
        raise InvalidParameter(name, given, f"one overlap for each of the target's {source.rank} directions")
    if isinstance(inputs, Hypercube) and np.any(np.abs(source.directions).max(axis=1) < 1):
        expected = f"Gaussian ones for {source.text}, whose directions mix the coordinates: no function of signs h_k"
        raise InvalidParameter("inputs", inputs, expected)
    return replace(source, inputs=inputs)


def _checked_noise(noise: float) -> float:
    if isinstance(noise, bool) or not isinstance(noise, int | float | np.number) or not isfinite(noise) or noise < 0:
        raise InvalidParameter("noise", noise, "a variance: a finite number >= 0")
    return float(noise)


@lru_cache(maxsize=256)
def _target_of_text(text: str, noise: float) -> Target:
    """A study asks for the same text at every point, and to reduce it takes some 50 ms."""
    return _symbolic_target(text, noise)


def _symbolic_target(source: str | sympy.Basic, noise: float) -> Target:
    text = source if isinstance(source, str) else None
    literal = parse(source) if isinstance(source, str) else literal_of(source)
    try:
        with np.errstate(all="ignore"):  # overflow is met on the way; every decision looks for it
            reduced, tree, doubts = _admitted(literal)
    except InvalidTarget as fault:
        if fault.text is not None or text is None:
            raise
        raise InvalidTarget(fault.reason, text=text, column=fault.column, suggestion=fault.suggestion) from None
    typed = tuple(free_names(literal, "h"))
    names = [f"h{k + 1}" for k in range(reduced.rank)] + [f"xi{k + 1}" for k in range(reduced.hidden)]
    return Target(
        text=text_of(tree),
        rank=reduced.rank,
        hidden=reduced.hidden,
        noise=noise,
        degree=_degree(tree),
        kinks=kinks_of(tree, names),
        typed_variables=typed,
        directions=reduced.directions,
        remarks=reduced.remarks,
        latex=latex_of(tree),
        source=text if text is not None else text_of(canonical(literal)),
        typed=_typed(text, literal, reduced) if text is not None else None,
        doubts=doubts,
        tree=tree,
    )


def _typed(text: str, literal: sympy.Expr, reduced: Reduced) -> str | None:
    """The text with tidy spaces, if every name in it still means what it meant."""
    typed = [*free_names(literal, "h"), *free_names(literal, "xi")]
    kept = [f"h{k + 1}" for k in range(reduced.rank)] + [f"xi{k + 1}" for k in range(reduced.hidden)]
    same = typed == kept and np.array_equal(reduced.directions, np.eye(reduced.rank))
    return spaced(tokens_of(text)) if same else None


def _admitted(literal: sympy.Expr) -> tuple[Reduced, sympy.Expr, tuple[str, ...]]:
    """The reduced target of a literal tree with what is doubtful about it, or the reason why it is not admissible."""
    check_defined(literal, [*free_names(literal, "h"), *free_names(literal, "xi")])
    tree = canonical(literal)
    degree = polynomial_degree(tree)
    if degree is not None and degree > _MAX_DEGREE:
        raise InvalidTarget(f"a polynomial of degree {degree}; the limit is {_MAX_DEGREE}")
    names = [*free_names(tree, "h"), *free_names(tree, "xi")]
    function = value_at(tree, names)
    check_not_constant(function, len(names))
    check_tails(function, names)
    rough = surfaces(tree)
    singular = [surface for surface, kind in rough.items() if kind == "singular"]
    check_poles(function, names, [(text_of(s), value_at(s, names), gradient_at(s, names)) for s in singular])
    reduced = reduce(tree, rough, free_names(literal, "h"), free_names(literal, "xi"))
    settled = _settled(reduced.tree)
    kept = [*free_names(settled, "h"), *free_names(settled, "xi")]
    # A polynomial is integrated exactly, however far out its square is carried.
    doubts = tail_doubts(value_at(settled, kept), len(kept)) if degree is None else ()
    return reduced, settled, doubts


def _settled(tree: sympy.Expr) -> sympy.Expr:
    """The tree that its own text parses to (printing and parsing may still merge numbers once or twice)."""
    for _ in range(6):
        again = canonical(parse(text_of(tree)))
        if text_of(again) == text_of(tree):
            return again
        tree = again
    raise InvalidTarget("no stable canonical form was found", suggestion="simplify the expression")


def _degree(tree: sympy.Expr) -> int | None:
    """The total degree of a polynomial link: exact where it is small enough to expand, else that of its form."""
    bound = polynomial_degree(tree)
    polynomial = None if bound is None else small_polynomial(tree)
    return bound if polynomial is None else polynomial.total_degree()
