"""The target: a link of a few directions, its noise, its kinks, and how it reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from featlab.errors import InvalidParameter
from featlab.targets.evaluate import Floats, value_at, values_jax
from featlab.targets.from_sympy import native
from featlab.targets.inputs import Inputs, Isotropic, SpikeLaw
from featlab.targets.kinks import Kink


@dataclass(frozen=True, eq=False)
class Target:
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
        inputs: the law of the inputs, or how it depends on d.
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
    tree: sympy.Expr | None = field(default=None, repr=False)
    numpy_function: Callable[[Floats], Floats] | None = field(default=None, repr=False)
    jax_function: Callable[[Any], Any] | None = field(default=None, repr=False)

    @property
    def names(self) -> list[str]:
        """The names of the fields, in their order: h1..hr, xi1..xim."""
        return [f"h{k + 1}" for k in range(self.rank)] + [f"xi{k + 1}" for k in range(self.hidden)]

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
        """The same in JAX, in the precision of the fields; may be jitted, vmapped and differentiated."""
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
        from featlab.targets.build import rebuild

        return rebuild, (self.source, self.noise, self.inputs)
