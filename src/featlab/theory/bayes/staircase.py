"""The channel of y = z1^2 + sign(z1 z2 z3) at a diagonal overlap, in closed form up to smooth integrals.

Statement (Troiani et al. 2024, Fig. 2): a label y has the roots z1 = c sqrt(y - s) for s, c = +-1, with sign(z2 z3) = s
c there, so with e_i = erf(omega_i / sqrt(2 v_i)), E = e2 e3 and a_k = N(root; omega1, v1) / (2 |root|),

    Z = sum_k a_k (1 + s_k c_k E) / 2.

omega2 and omega3 enter through E alone: E[g_1^2 | E], E[(d log Z / dE)^2 | E] and E[log Z | E] are tabulated on
Chebyshev nodes of E and averaged over omega2, omega3 afterwards.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.interpolate import BarycentricInterpolator

from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import legendre
from featlab.theory.bayes.channel import Channel, Told
from featlab.theory.bayes.closed_forms import parity_axis
from featlab.theory.bayes.rules import evenly_spaced

_NODES = 24
_INNER = 51


class Staircase:
    """F and H of h1^2 + sign(h1 h2 h3)."""

    def at(self, overlap: Floats) -> Told:
        """F and H at Q (3, 3); one that is not diagonal goes the generic way."""
        if np.max(np.abs(overlap - np.diag(np.diag(overlap)))) > 1e-12:
            return self._generic.at(overlap)
        q1, q2, q3 = (float(q) for q in np.diag(overlap))
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
        return Told(np.diag([half @ first(ends), second, third]), float(half @ entropy(ends)))

    @cached_property
    def _generic(self) -> Channel:
        from featlab.targets import target
        from featlab.theory.bayes.channel import generic_channel

        return generic_channel(target("h1**2 + sign(h1*h2*h3)"))

    @cached_property
    def _outer(self) -> tuple[Floats, Floats]:
        """Nodes z1 > 0, graded around 0 and around sqrt(2), where two of the roots of y come or go."""
        grades = 0.5 ** np.arange(1, 14)
        edges = np.unique([0.0, *grades, *(np.sqrt(2) - grades), np.sqrt(2), *(np.sqrt(2) + grades), 2.5, 4.0, 7.0])
        t, w = legendre(6)
        half = 0.5 * np.diff(edges)[:, None]
        z = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * t).ravel()
        return z, 2 * (half * w).ravel() * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)

    def _given(self, q: float, ends: Floats) -> tuple[Floats, Floats, Floats]:
        """E[g_1^2 | E], (1 - E^2) E[(d log Z / dE)^2 | E] and E[log Z | E] for every E."""
        v = 1 - q
        z, weights = self._outer
        tau, inner = evenly_spaced(_INNER) if q > 0 else (np.zeros(1), np.ones(1))
        omega = (q * z[:, None] + np.sqrt(q * v) * tau)[None]
        first, about, entropy = np.zeros(ends.size), np.zeros(ends.size), np.zeros(ends.size)
        for sign in (1.0, -1.0):  # the true sign(z1 z2 z3), of probability (1 + sign E) / 2 as z1 > 0
            roots, signs, log_a = self._branches(z, sign, omega, v)
            top = log_a.max(axis=0)
            a = np.exp(log_a - top)
            plain, tilted = a.sum(axis=0), np.tensordot(signs, a, axes=1)
            pulled, pulled_tilted = np.einsum("kzt,kz->zt", a, roots), np.einsum("k,kzt,kz->zt", signs, a, roots)
            for place, end in enumerate(ends):
                total = plain + end * tilted
                share = 0.5 * (1 + sign * end) * weights[:, None] * inner
                score = ((pulled + end * pulled_tilted) / total - omega[0]) / v
                first[place] += np.sum(share * score**2)
                about[place] += np.sum(share * (tilted / total) ** 2) * (1 - end**2)
                entropy[place] += np.sum(share * (top + np.log(0.5 * total)))
        return first, about, entropy

    @staticmethod
    def _branches(z: Floats, sign: float, omega: Floats, v: float) -> tuple[Floats, Floats, Floats]:
        """Roots (4, Z), their s c (4,), and log a (4, Z, T); a root that does not exist has log a = -inf."""
        other = z**2 + 2 * sign  # y - s for the other s
        exists = other > 0
        far = np.sqrt(np.where(exists, other, 1.0))
        roots = np.stack([z, -z, far, -far])
        signs = np.array([sign, -sign, -sign, sign])
        log_a = (
            -0.5 * (roots[..., None] - omega) ** 2 / v
            - 0.5 * np.log(2 * np.pi * v)
            - np.log(2 * np.abs(roots))[..., None]
        )
        log_a[2:, ~exists] = -np.inf
        return roots, signs, log_a
