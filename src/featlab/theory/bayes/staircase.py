"""The channel of y = p(z1) + c sign(z1 z2 z3), p a polynomial, at a diagonal overlap: closed up to smooth integrals.

Statement (Troiani et al. 2024, Fig. 2, for p = z1^2, c = 1): a label y has as roots those x_k of p(x) = y - c s for
s = +-1, with sign(z2 z3) = s sign(x_k) there, so with e_i = erf(omega_i / sqrt(2 v_i)), E = e2 e3, c_k = s_k sign(x_k)
and a_k = N(x_k; omega1, v1) / |p'(x_k)|,

    Z = sum_k a_k (1 + c_k E) / 2.

omega2 and omega3 enter through E alone: E[g_1^2 | E], E[(d log Z / dE)^2 | E] and E[log Z | E] are tabulated on
Chebyshev nodes of E and averaged over omega2, omega3 afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import polynomial
from scipy.interpolate import BarycentricInterpolator

from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gaussian_panels
from featlab.targets import Target
from featlab.targets.patterns import PolynomialAndParity
from featlab.theory.bayes.channel import Channel, ChannelAverages, is_diagonal
from featlab.theory.bayes.closed_forms import parity_axis
from featlab.theory.bayes.continuous import Continuous
from featlab.theory.bayes.rules import omega_given

_NODES = 24
_GRADES = 0.5 ** np.arange(1, 14)
_REACH = 7.0
_RELATIVE_ERROR = 1e-4  # dH = 1/2 Tr(F dQ) holds to 6e-5
_REAL = 1e-7  # of a root x of a polynomial: imaginary parts below this times 1 + |x| are rounding


@dataclass(frozen=True, eq=False)
class Staircase:
    """F and H of a target that is a polynomial of one direction plus a parity of three."""

    target: Target
    link: PolynomialAndParity

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at Q (3, 3); one that is not diagonal goes the generic way."""
        if not is_diagonal(overlap):
            return self._generic.at(overlap)
        order = [self.link.axis, *(axis for axis in range(3) if axis != self.link.axis)]
        q1, q2, q3 = (float(overlap[axis, axis]) for axis in order)
        nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
        table = self._given(q1, nodes)
        first, about, entropy = (BarycentricInterpolator(nodes, values) for values in table)
        (x2, w2, slope2), (x3, w3, slope3) = parity_axis(q2), parity_axis(q3)
        below = x2[:, None] + x3 - x2[:, None] * x3  # 1 - |E|
        weights = np.outer(w2, w3)
        ends = np.concatenate([(1 - below).ravel(), (below - 1).ravel()])
        half = 0.5 * np.concatenate([weights.ravel(), weights.ravel()])
        # (1 - E^2) E[(d log Z / dE)^2 | E] is bounded; the slopes of the error functions vanish faster than 1 - E^2.
        gain = 0.5 * np.sum(about(ends).reshape(2, *below.shape), axis=0)
        room = np.where(below > 0, below * (2 - below), np.inf)
        second = np.sum(weights * gain / room * (slope2[:, None] * (1 - x3)) ** 2)
        third = np.sum(weights * gain / room * (slope3 * (1 - x2)[:, None]) ** 2)
        information = np.zeros((3, 3))
        information[order, order] = half @ first(ends), second, third
        return ChannelAverages(information, float(half @ entropy(ends)))

    def relative_error(self, overlap: Floats) -> float:
        """That of smooth integrals in three variables, or of the generic way."""
        return _RELATIVE_ERROR if is_diagonal(overlap) else self._generic.relative_error(overlap)

    @cached_property
    def _generic(self) -> Channel:
        return Continuous(self.target)

    @cached_property
    def _even(self) -> bool:
        return not any(self.link.coefficients[1::2])

    @cached_property
    def _outer(self) -> tuple[Floats, Floats]:
        """Nodes z1, graded wherever a root of y changes sign, or two of them come or go; for an even p positive ones.

        That is where p(z1), p(z1) + 2c or p(z1) - 2c is p(0) or a critical value of p.
        """
        coefficients = np.array(self.link.coefficients)
        turns = _real_roots(polynomial.polyder(coefficients)[None])[0]
        turns = turns[np.isfinite(turns)]
        marks: list[float] = []
        for value in polynomial.polyval(np.array([0.0, *turns]), coefficients):
            for shift in (0.0, 2 * self.link.size, -2 * self.link.size):
                marks += list(_real_roots(polynomial.polysub(coefficients, [value + shift])[None])[0])
        marks = [mark for mark in marks if np.isfinite(mark)]
        rest = [-_REACH, -4.0, -2.5, 2.5, 4.0, _REACH]
        around = np.add.outer(marks, np.concatenate([-_GRADES, _GRADES])).ravel()
        edges = np.unique(np.round([*rest, *marks, *around], 9))
        edges = edges[(edges >= (0.0 if self._even else -_REACH)) & (edges <= _REACH)]
        edges = edges[np.concatenate([[True], np.diff(edges) > 0.5 * _GRADES[-1]])]
        z, weights = gaussian_panels(edges, 6)
        return z, 2 * weights if self._even else weights

    def _given(self, q: float, ends: Floats) -> tuple[Floats, Floats, Floats]:
        """E[g_1^2 | E], (1 - E^2) E[(d log Z / dE)^2 | E] and E[log Z | E] for every E."""
        v = 1 - q
        z, weights = self._outer
        omega, inner = omega_given(z, q)
        first, about, entropy = np.zeros(ends.size), np.zeros(ends.size), np.zeros(ends.size)
        for sign in (1.0, -1.0):  # the true sign(z1 z2 z3), of probability (1 + sign sign(z1) E) / 2
            roots, signs, log_slopes = self._branches[sign]
            logs = -0.5 * (roots[..., None] - omega) ** 2 / v - log_slopes[..., None]
            top = np.max(logs, axis=0)
            a = np.exp(logs - top)
            plain, pulled = a.sum(axis=0), np.einsum("kzt,kz->zt", a, roots)
            tilted, pulled_tilted = np.einsum("kzt,kz->zt", a, signs), np.einsum("kzt,kz->zt", a, signs * roots)
            log_top = top - 0.5 * np.log(2 * np.pi * v)
            for place, end in enumerate(ends):
                total = plain + end * tilted
                share = (0.5 * (1 + sign * np.sign(z) * end) * weights)[:, None] * inner
                score = ((pulled + end * pulled_tilted) / total - omega) / v
                first[place] += np.sum(share * score**2)
                about[place] += np.sum(share * (tilted / total) ** 2) * (1 - end**2)
                entropy[place] += np.sum(share * (log_top + np.log(0.5 * total)))
        return first, about, entropy

    @cached_property
    def _branches(self) -> dict[float, tuple[Floats, Floats, Floats]]:
        """For each true sign: the roots (K, Z) of the label of z1, their c_k (K, Z) and log |p'| there (K, Z).

        Where there are fewer than K roots, the others are 0 with log |p'| = inf.
        """
        z, _ = self._outer
        coefficients = np.array(self.link.coefficients)
        slope = polynomial.polyder(coefficients)
        values = polynomial.polyval(z, coefficients)
        found = {}
        for sign in (1.0, -1.0):
            roots, signs = [], []
            for guess in (sign, -sign):
                level = np.tile(coefficients, (z.size, 1))
                level[:, 0] -= values + (sign - guess) * self.link.size
                real = _real_roots(level)
                roots.append(real.T)
                signs.append(guess * np.sign(real.T))
            all_roots, all_signs = np.concatenate(roots), np.concatenate(signs)
            exists = np.isfinite(all_roots)
            all_roots = np.where(exists, all_roots, 0.0)
            with np.errstate(divide="ignore"):
                logs = np.log(np.abs(polynomial.polyval(all_roots, slope)))
            found[sign] = all_roots, np.where(exists, all_signs, 0.0), np.where(exists, logs, np.inf)
        return found


def _real_roots(coefficients: Floats) -> Floats:
    """The real roots (N, n), NaN for the others, of polynomials (N, n + 1) of degree n, by ascending powers."""
    count, degree = coefficients.shape[0], coefficients.shape[1] - 1
    if degree == 0:
        return np.empty((count, 0))
    companion = np.zeros((count, degree, degree))
    companion[:, np.arange(1, degree), np.arange(degree - 1)] = 1.0
    companion[:, :, -1] = -coefficients[:, :-1] / coefficients[:, -1:]
    roots = np.linalg.eigvals(companion)
    real = np.abs(roots.imag) <= _REAL * (1 + np.abs(roots))
    return np.where(real, roots.real, np.nan)
