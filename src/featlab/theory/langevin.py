"""The mean-field limit of Langevin dynamics on the 2-parity of two signs, when every corner is in the batch.

Neurons h = R [tanh(<w, x> + b) + 2 tanh(c)] / 3, corners x = (+-1, +-1)/sqrt(2) with labels y = sign(x1 x2), logistic
loss, prior nu = N(0, I / (2 lambda1)), from which the neurons start. Flips of a sign and of the neurons leave all of it
as it is, so that the law of infinitely many neurons has f(x) = s y at all times and c stays at its prior. With
u = (w1 + w2)/sqrt(2), v = (w1 - w2)/sqrt(2),

    s = (R/3) E[phi],   phi = [T(u, b) - T(v, b)] / 4,   T(u, b) = tanh(b + u) + tanh(b - u),

and the law p of (u, v, b) follows the Fokker-Planck equation of the potential -g phi + lambda lambda1 |X|^2 at the
temperature lambda, with g = (R/3) / (1 + e^s). In Hermite functions of the prior, p = nu sum_k c_k psi_k, that is

    dc/dt = -2 lambda lambda1 |k| c_k + g(c) sum_j B_kj c_j,   B_kj = E_nu[<grad psi_k, grad phi> psi_j].

Where it ends is the Gibbs law nu exp(theta phi)/Z, theta = g/lambda, the minimum of L + lambda KL(p, nu) (Nitanda, Wu,
Suzuki 2022; Chizat 2022): one equation for s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import factorial

import numpy as np
from numpy.polynomial.hermite_e import hermegauss, hermevander
from numpy.typing import ArrayLike

from featlab.gaussian.hermite import Floats

OSCILLATION = 1.0  # of phi, which is between -1/2 and 1/2
_DEGREE, _NODES = 24, 64
_CORNERS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])  # (u, v) -> <w, x>; y = + for the first two
_LABELS = np.array([1.0, 1.0, -1.0, -1.0])


@dataclass(frozen=True)
class Equilibrium:
    """Where infinitely many neurons end, and how far N of them are from it there.

    Attributes:
        output: s, f = s y.
        tilt: theta of the Gibbs law nu exp(theta phi) / Z.
        loss: log(1 + e^-s).
        objective: loss + lambda KL, the smallest there is.
        distance: N E[(f_N - f)^2], averaged over corners, as N grows: the trace of (C^-1 + H/lambda)^-1 over 4, with
            C the covariance of a neuron's outputs at the corners and H the second derivative of the loss by them, since
            N neurons have the law exp(-N L/lambda) times their priors.
        independent: the same of N independent neurons of this law, the trace of C over 4.
    """

    output: float
    tilt: float
    loss: float
    objective: float
    distance: float
    independent: float


def log_sobolev_bound(tilt: float, prior_rate: float) -> float:
    """2 lambda1 exp(-theta osc(phi)) (Holley, Stroock 1987): no more than the log-Sobolev constant of the Gibbs law.

    With alpha the least such constant on the way, the objective's gap to its minimum falls at least like
    exp(-2 lambda alpha t) (Nitanda, Wu, Suzuki 2022; Chizat 2022).
    """
    return 2 * prior_rate * float(np.exp(-tilt * OSCILLATION))


@dataclass(frozen=True)
class ParityMeanField:
    """The limit of infinitely many neurons and small steps.

    Attributes:
        output_scale: R.
        prior_rate: lambda1.
        degree: of the Hermite functions; the equilibrium needs none.
    """

    output_scale: float = 15.0
    prior_rate: float = 0.5
    degree: int = _DEGREE

    def push(self, output: ArrayLike) -> Floats:
        """g = (R/3) / (1 + e^s)."""
        return self.output_scale / 3 / (1 + np.exp(np.asarray(output, np.float64)))

    def equilibrium(self, temperature: float) -> Equilibrium:
        """The solution of s = (R/3) E[phi] under the Gibbs law of s, which decreases in s: there is one."""
        from scipy.optimize import brentq

        phi, weights = self._phi

        def law(output: float) -> tuple[float, Floats]:
            tilted = weights * np.exp(float(self.push(output)) / temperature * phi)
            return float(tilted.sum()), tilted / tilted.sum()

        top = self.output_scale / 6
        output = float(brentq(lambda s: s - self.output_scale / 3 * float((law(s)[1] * phi).sum()), 0.0, top))
        total, gibbs = law(output)
        tilt, loss = float(self.push(output)) / temperature, float(np.logaddexp(0, -output))
        divergence = tilt * float((gibbs * phi).sum()) - np.log(total)
        covariance = self._covariance(gibbs)
        curvature = np.eye(4) * np.exp(-output) / (1 + np.exp(-output)) ** 2 / 4
        distance = np.linalg.inv(np.linalg.inv(covariance) + curvature / temperature)
        ends = float(np.trace(distance)) / 4, float(np.trace(covariance)) / 4
        return Equilibrium(output, tilt, loss, loss + temperature * float(divergence), *ends)

    def path(self, times: ArrayLike, temperature: float, halve_every: float | None = None) -> tuple[Floats, Floats]:
        """s, and the objective L + lambda KL with the temperature of the moment, at increasing times from the prior.

        Where the truncated series for the density is below zero, far out, it counts as zero in KL.
        """
        from scipy.integrate import solve_ivp

        moments, pull, levels = self._modes
        times = np.asarray(times, np.float64)
        state, found, now = np.eye(len(levels))[0], [], 0.0
        for time, heat in _stages(times, temperature, halve_every):
            decay = 2 * heat * self.prior_rate * levels

            def speed(_: float, c: Floats, decay: Floats = decay) -> Floats:
                return float(self.push(self.output_scale / 3 * (moments @ c))) * (pull @ c) - decay * c

            if time > now:
                state = solve_ivp(speed, (now, time), state, rtol=1e-6, atol=1e-9).y[:, -1]
            found.append((time, self.output_scale / 3 * float(moments @ state), heat * self._divergence(state)))
            now = time
        kept = np.array(found)[np.searchsorted([time for time, *_ in found], times)]
        return kept[:, 1], np.logaddexp(0, -kept[:, 1]) + kept[:, 2]

    def rate(self, temperature: float) -> float:
        """How fast s comes to its equilibrium in the end, exp(-rate t): the slowest mode of the equation near it.

        The objective, which is smallest there, falls like exp(-2 rate t).
        """
        moments, pull, levels = self._modes
        output = self.equilibrium(temperature).output
        linear = float(self.push(output)) * pull - np.diag(2 * temperature * self.prior_rate * levels)
        end = np.concatenate([[1.0], np.linalg.solve(linear[1:, 1:], -linear[1:, 0])])
        slope = -float(self.push(output)) / (1 + np.exp(-output)) * self.output_scale / 3 * moments
        near = linear + np.outer(pull @ end, slope)
        return -float(np.linalg.eigvals(near[1:, 1:]).real.max())  # the first mode is the mass, which stays

    def gap(self, temperature: float) -> float:
        """The spectral gap of the Gibbs law over all functions odd in v: its log-Sobolev constant is no larger.

        A neuron needs a time of 1/(lambda gap) to get from v to -v.
        """
        _, pull, levels = _modes(self.prior_rate, self.degree, odd=True)
        linear = self.equilibrium(temperature).tilt * pull - np.diag(2 * self.prior_rate * levels)
        return -float(np.linalg.eigvals(linear).real.max())

    @cached_property
    def _modes(self) -> tuple[Floats, Floats, Floats]:
        return _modes(self.prior_rate, self.degree, odd=False)

    @property
    def _deviation(self) -> float:
        return (2 * self.prior_rate) ** -0.5

    @cached_property
    def _phi(self) -> tuple[Floats, Floats]:
        """phi at the nodes of a product rule for the prior, (u, v, b), and their weights."""
        nodes, weights = _rule()
        lifts = _lift(self._deviation * nodes[:, None], self._deviation * nodes)
        phi = (lifts[:, None] - lifts[None]) / 4
        return phi, weights[:, None, None] * weights[None, :, None] * weights

    def _covariance(self, gibbs: Floats) -> Floats:
        """Of a neuron's outputs at the four corners."""
        nodes, weights = _rule()
        axis = self._deviation * nodes
        u, v, b = np.meshgrid(axis, axis, axis, indexing="ij")
        outputs = np.array([np.tanh(along * u + across * v + b).ravel() for along, across in _CORNERS])
        chances = gibbs.ravel()
        means = outputs @ chances
        offsets = 4 * float(weights @ np.tanh(axis) ** 2)
        within = (outputs * chances) @ outputs.T - np.outer(means, means)
        return (self.output_scale / 3) ** 2 * (within + offsets)

    def _divergence(self, state: Floats) -> float:
        """KL of the law with these coefficients to the prior."""
        from scipy.special import xlogy

        nodes, weights = _rule()
        values, keys = _functions(nodes, self.degree), _keys(self.degree, odd=False)
        tensor = np.zeros((self.degree + 1,) * 3)
        for (i, j, k), size, coefficient in zip(*keys, state, strict=True):
            tensor[i, j, k] += size * coefficient
            tensor[j, i, k] += (-1) ** k * size * coefficient
        density = np.einsum("ijk,ai,bj,ck->abc", tensor, values, values, values, optimize=True)
        total = np.maximum(density, 0.0)
        return float(np.einsum("abc,a,b,c->", xlogy(total, total), weights, weights, weights, optimize=True))


def _stages(times: Floats, temperature: float, halve_every: float | None) -> list[tuple[float, float]]:
    """Times to stop at, which are those asked for and those of halvings, and the temperature on the way there."""
    if halve_every is None:
        return [(float(time), temperature) for time in times]
    ends = halve_every * np.arange(1, int(times[-1] / halve_every) + 1)
    stops = np.union1d(times, ends)
    halvings = np.maximum(np.ceil(stops / halve_every - 1e-9) - 1, 0)
    return [(float(time), temperature * 0.5 ** float(number)) for time, number in zip(stops, halvings, strict=True)]


@cache
def _rule() -> tuple[Floats, Floats]:
    """Gauss' rule for N(0, 1)."""
    nodes, weights = hermegauss(_NODES)
    return nodes, weights / weights.sum()


def _lift(u: Floats, b: Floats) -> Floats:
    """T(u, b)."""
    return np.tanh(b + u) + np.tanh(b - u)


def _functions(nodes: Floats, degree: int) -> Floats:
    """Orthonormal Hermite polynomials, (node, degree)."""
    return hermevander(nodes, degree) / np.sqrt([float(factorial(k)) for k in range(degree + 1)])


def _keys(degree: int, *, odd: bool) -> tuple[list[tuple[int, int, int]], Floats]:
    """Degrees in (u, v, b), even in u; and the norm of each function among its images.

    In functions even in v the law has the symmetry (u, v, b) -> (v, u, -b), so that only i <= j is kept.
    """
    triples = [
        (i, j, k)
        for i in range(0, degree + 1, 2)
        for j in range(1 if odd else i, degree + 1 - i, 2)
        for k in range(degree + 1 - i - j)
        if odd or i < j or k % 2 == 0
    ]
    sizes = [1.0 if odd else 0.5 if i == j else 0.5**0.5 for i, j, _ in triples]
    return triples, np.array(sizes)


@cache
def _modes(prior_rate: float, degree: int, *, odd: bool) -> tuple[Floats, Floats, Floats]:
    """E_nu[phi psi_k], B_kj and |k| over the functions of `_keys`."""
    nodes, weights = _rule()
    deviation = (2 * prior_rate) ** -0.5
    values = _functions(nodes, degree)
    slopes = np.zeros_like(values)
    slopes[:, 1:] = values[:, :-1] * np.sqrt(np.arange(1, degree + 1)) / deviation
    u, b = deviation * nodes[:, None], deviation * nodes
    plus, minus = 1 - np.tanh(b + u) ** 2, 1 - np.tanh(b - u) ** 2
    rule = np.outer(weights, weights)
    means = np.einsum("ab,ai,bk->ik", rule * _lift(u, b), values, values, optimize=True)
    # One pull for T(u, b), over pairs of degrees (i, k); T(v, b) has the same.
    pulls = _pairs(rule * (plus - minus), slopes, values, values) + _pairs(
        rule * (plus + minus), values, slopes, values
    )
    triples, sizes = _keys(degree, odd=odd)
    i, j, k = np.array(triples).T
    norms = 2 * sizes  # of psi + its image, where they are two
    moments = (means[i, k] * (j == 0) - means[j, k] * (i == 0)) / 4

    def between(rows: tuple[Floats, ...], columns: tuple[Floats, ...]) -> Floats:
        (i, j, k), (other_i, other_j, other_k) = ([part[:, None] for part in rows], columns)
        along = pulls[i, k, other_i, other_k] * (j == other_j)
        return (along - pulls[j, k, other_j, other_k] * (i == other_i)) / 4

    here = (i, j, k)
    if odd:
        return moments, between(here, here), (i + j + k).astype(np.float64)
    mirrored = between(here, (j, i, k)) * (-1.0) ** k
    pull = (between(here, here) + mirrored) * np.outer(norms, norms) / 2
    return moments * norms, pull, (i + j + k).astype(np.float64)


def _pairs(factor: Floats, along: Floats, across: Floats, values: Floats) -> Floats:
    """sum_ab factor_ab along_ai across_bk values_aI values_bK, (i, k, I, K)."""
    degree = values.shape[1]
    left = (along[:, :, None] * values[:, None]).reshape(len(values), -1)
    right = (across[:, :, None] * values[:, None]).reshape(len(values), -1)
    found = (left.T @ factor @ right).reshape((degree,) * 4)
    return found.transpose(0, 2, 1, 3)
