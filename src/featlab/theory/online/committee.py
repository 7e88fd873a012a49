"""Closed forms for committees of erf: D. Saad and S. A. Solla, "On-line learning in soft committee machines" (1995).

For a student (1/p) sum a_i erf(lambda_i) without biases and a target sum_n v_n erf(<t_n, h>), all fields x are jointly
Gaussian with covariance C and every average is a sum of

    E[erf(x_1) erf(x_2)],   E[erf'(x_1) x_2 erf(x_3)],   E[erf'(x_1) erf'(x_2) erf(x_3) erf(x_4)]

and, with label noise, E[erf'(x_1) erf'(x_2)].

Saad and Solla use g(x) = erf(x / sqrt 2), so erf(x) = g(sqrt(2) x): their covariances are 2 C here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.targets import Target
from featlab.theory.online.averages import Averages, Descent

_MOST_FOUR_POINT_TERMS = 4_000_000


def erf_erf(c11: Floats, c22: Floats, c12: Floats) -> Floats:
    """E[erf(x_1) erf(x_2)] = (2/pi) arcsin(2 C12 / sqrt((1 + 2 C11)(1 + 2 C22)))."""
    return (2 / np.pi) * np.arcsin(2 * c12 / np.sqrt((1 + 2 * c11) * (1 + 2 * c22)))


def slope_slope(c11: Floats, c22: Floats, c12: Floats) -> Floats:
    """E[erf'(x_1) erf'(x_2)] = (4/pi) / sqrt((1 + 2 C11)(1 + 2 C22) - 4 C12^2)."""
    return (4 / np.pi) / np.sqrt((1 + 2 * c11) * (1 + 2 * c22) - 4 * c12**2)


def slope_field_erf(c11: Floats, c33: Floats, c12: Floats, c13: Floats, c23: Floats) -> Floats:
    """E[erf'(x_1) x_2 erf(x_3)] = (4/pi) (C23 (1 + 2 C11) - 2 C12 C13) / ((1 + 2 C11) sqrt(D)),
    D = (1 + 2 C11)(1 + 2 C33) - 4 C13^2 (the average I3 of Saad and Solla)."""
    one = 1 + 2 * c11
    return (4 / np.pi) * (c23 * one - 2 * c12 * c13) / (one * np.sqrt(one * (1 + 2 * c33) - 4 * c13**2))


def slope_slope_erf_erf(covariance: Floats) -> Floats:
    """E[erf'(x_1) erf'(x_2) erf(x_3) erf(x_4)] for covariances (..., 4, 4): the average I4 of Saad and Solla.

    = (8 / pi^2) arcsin(L0 / sqrt(L1 L2)) / sqrt(L4) with c = 2 C and
    L4 = (1 + c11)(1 + c22) - c12^2,
    L0 = L4 c34 - c23 c24 (1 + c11) - c13 c14 (1 + c22) + c12 c13 c24 + c12 c14 c23,
    L1 = L4 (1 + c33) - c23^2 (1 + c11) - c13^2 (1 + c22) + 2 c12 c13 c23, and L2 the same with 4 for 3.
    """
    c = 2 * np.moveaxis(covariance, (-2, -1), (0, 1))
    one, two, both = 1 + c[0, 0], 1 + c[1, 1], c[0, 1]
    determinant = one * two - both**2

    def reduced(a: int, b: int) -> Floats:
        cross = c[0, a] * c[1, b] + c[0, b] * c[1, a]
        return determinant * ((a == b) + c[a, b]) - c[1, a] * c[1, b] * one - c[0, a] * c[0, b] * two + both * cross

    angle = np.arcsin(reduced(2, 3) / np.sqrt(reduced(2, 2) * reduced(3, 3)))
    return (8 / np.pi**2) * angle / np.sqrt(determinant)


@dataclass(frozen=True, eq=False)
class ErfCommittee:
    """The averages for an erf student and a target sum_n v_n erf(<t_n, h>) + N(0, noise)."""

    descent: Descent
    heights: Floats  # v (n,)
    teachers: Floats  # t (n, r)
    label_noise: float

    def __call__(self, overlap: Floats, gram: Floats) -> Averages:
        width = len(overlap)
        projected = overlap @ self.teachers.T
        fields = np.block([[gram, projected], [projected.T, self.teachers @ self.teachers.T]])  # students, teachers
        with_directions = np.vstack([overlap, self.teachers])
        student = -self.descent.second / width
        error = np.concatenate([student, self.heights])  # y - f = sum over all units of error * erf
        residual = error if self.descent.loss == "squared" else np.concatenate([0 * student, self.heights])
        variance = np.diag(fields)
        pairs = erf_erf(variance[:, None], variance, fields)
        own = variance[:width, None]
        slopes = slope_slope(own, own.T, gram)
        second = self.descent.second
        return Averages(
            drive=second[:, None] * self._three_point(fields, overlap, with_directions, residual),
            pull=second[:, None] * self._three_point(fields, gram, fields[:, :width], residual),
            noise=np.outer(second, second) * (self._four_point(fields, width, residual) + self.label_noise * slopes),
            risk=float(error @ pairs @ error) + self.label_noise,
        )

    def _three_point(self, fields: Floats, with_student: Floats, with_unit: Floats, residual: Floats) -> Floats:
        """sum_n residual_n E[erf'(lambda_i) v_k erf(x_n)] for fields v_k of the given covariances: (p, k)."""
        width, variance = len(with_student), np.diag(fields)
        terms = slope_field_erf(
            variance[:width, None, None],
            variance[None, None, :],
            with_student[:, :, None],
            fields[:width, None, :],
            with_unit.T[None, :, :],
        )
        return terms @ residual

    def _four_point(self, fields: Floats, width: int, residual: Floats) -> Floats:
        """sum_nm residual_n residual_m E[erf'(lambda_i) erf'(lambda_j) erf(x_n) erf(x_m)]: (p, p)."""
        active = np.flatnonzero(residual)
        units = [np.arange(width), np.arange(width), active, active]
        i, j, n, m = np.meshgrid(*units, indexing="ij")
        index = np.stack([i, j, n, m], axis=-1)
        terms = slope_slope_erf_erf(fields[index[..., :, None], index[..., None, :]])
        return np.einsum("ijnm,n,m->ij", terms, residual[active], residual[active])


def erf_committee(target: Target, descent: Descent) -> ErfCommittee | None:
    """The closed form, if student and target are committees of erf, there is no inner step and it is not too large."""
    if descent.activation.name != "erf" or np.any(descent.biases) or descent.reach != 0 or target.hidden:
        return None
    teachers = erf_terms(target)
    if teachers is None:
        return None
    heights, directions = teachers
    terms = descent.width**2 * (descent.width + len(heights)) ** 2
    if terms > _MOST_FOUR_POINT_TERMS:
        return None
    return ErfCommittee(descent, heights, directions, target.noise)


def erf_terms(target: Target) -> tuple[Floats, Floats] | None:
    """v (n,) and t (n, r) of a link that is sum_n v_n erf(<t_n, h>), or None."""
    import sympy

    if target.expression is None or target.expression.atoms(sympy.erf) == set():
        return None
    symbols = [sympy.Symbol(name, real=True) for name in target.names]
    heights, directions = [], []
    for term in sympy.Add.make_args(sympy.expand(target.expression)):
        height, unit = term.as_coeff_Mul() if not term.is_Mul else term.as_independent(*symbols)
        if not (isinstance(unit, sympy.erf) and unit.args[0].is_polynomial(*symbols)):
            return None
        field = sympy.Poly(unit.args[0], *symbols)
        if field.total_degree() != 1 or field.eval(dict.fromkeys(symbols, 0)) != 0:
            return None
        heights.append(float(height))
        directions.append([float(field.coeff_monomial(symbol)) for symbol in symbols])
    return np.array(heights), np.array(directions)
