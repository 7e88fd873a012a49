"""How long one-pass SGD searches for a direction: exit times of the spherical equation and their scaling with d.

A start at random has |m| of order 1/sqrt(d). Near m = 0 the equation reads

    dm/dt = (c / N) kappa m^(l-1) - (c^2 / (2 b N^2)) C m,     kappa m^(l-1) the first term of S(m), C = C(0),

with l the information exponent (Ben Arous, Gheissari, Jagannath 2021), so that to leave the neighbourhood of 0 takes,
in steps,

    l = 1   d times a constant;
    l = 2   d log(d) / (2 g), g = c kappa / N - c^2 C / (2 b N^2) > 0, fastest at c = b N kappa / C;
    l >= 3  A d^(l-1) with gamma = s d^(-l/2); at larger steps the noise wins at the start. A is, with
            u = s C / (2 b N kappa) < 1, C / (2 b kappa^2 (l - 2)) (-log(1 - u)) / u^2, smallest at u = 0.7153.

Constants are those of the equation started at m = 1/sqrt(d). While it searches, chance moves m by as much as that: for
l = 2 `mean_exit_time` takes it into account; for l >= 3 it changes the constant, not the power of d.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from featlab.errors import InvalidParameter
from featlab.learners.checks import positive_integer, positive_number
from featlab.theory.online.sphere import SphericalNeuron

_LOOKS = 400
_MEAN_LOG_NORMAL = -0.5 * (np.euler_gamma + np.log(2))  # E[log |xi|], xi ~ N(0, 1)


def exit_time(neuron: SphericalNeuron, scale: float, start: float, level: float, batch: int = 1) -> float:
    """The time, in units of d steps, that the overlap takes from `start` to `level`: the integral of dm / (dm/dt).

    Args:
        scale: c = gamma d.
        start, level: overlaps of one sign, |start| < |level| < 1; a start at 0 only for information exponent 1.

    Returns:
        The time, or infinity if the equation does not reach the level.
    """
    side = float(np.sign(level))
    low, high = side * start, side * level
    if not 0 <= low < high < 1:
        raise InvalidParameter("level", level, f"an overlap beyond the start {start}, of the same sign and below 1")

    def speed(size: float) -> float:
        return side * neuron.speed(side * size, scale, batch)

    grid = np.linspace(low, high, _LOOKS) if low == 0 else np.geomspace(low, high, _LOOKS)
    if min(speed(float(size)) for size in grid) <= 0:
        return np.inf
    if low == 0:
        return float(quad(lambda size: 1 / speed(size), low, high, epsrel=1e-9)[0])
    span = np.log(high / low)
    return float(
        quad(lambda x: low * np.exp(x) / speed(low * np.exp(x)), 0.0, span, epsrel=1e-9, epsabs=0.0, limit=200)[0]
    )


def growth_rate(neuron: SphericalNeuron, scale: float, batch: int = 1) -> float:
    """g of the linearised equation dm/dt = g m, for information exponent 2 or more (there without signal)."""
    signal = neuron.signal[1] if neuron.information_exponent <= 2 else 0.0
    return float(scale / neuron.norm * signal - scale**2 / (2 * batch * neuron.norm**2) * neuron.noise[0])


def mean_exit_time(neuron: SphericalNeuron, scale: float, dim: int, level: float, batch: int = 1) -> float:
    """The mean over starts, uniform on the sphere, of the time to reach |m| = level, for information exponent 2.

    Around m = 0 the overlap is an unstable Ornstein-Uhlenbeck process, dm = g m dt + sqrt(q / d) dB with
    q = c^2 E[D^2 h^2] / (b N^2): when it leaves, m exp(-g t) is N(0, V / d), V = 1 + q / (2 g). So the mean is the exit
    time from 1/sqrt(d) less (log(V) / 2 + E log|N(0, 1)|) / g. For a target and neuron that are even in h and lambda.
    """
    if neuron.information_exponent != 2:
        raise InvalidParameter("neuron", neuron.target.text, "a target and an activation of information exponent 2")
    rate = growth_rate(neuron, scale, batch)
    from_typical = exit_time(neuron, scale, positive_integer("dim", dim) ** -0.5, level, batch)
    if not np.isfinite(from_typical):
        return np.inf
    spread = 1 + scale**2 * neuron.spread / (batch * neuron.norm**2) / (2 * rate)
    return float(from_typical - (0.5 * np.log(spread) + _MEAN_LOG_NORMAL) / rate)


@dataclass(frozen=True)
class HittingLaw:
    """The number of steps from m = 1/sqrt(d) to an overlap of order one, to leading order in d.

    Attributes:
        information_exponent: l.
        step_exponent: e of the step size gamma = scale d^-e.
        scale: of that step size.
        prefactor: of d, d log(d) or d^(l-1).
    """

    information_exponent: int
    step_exponent: float
    scale: float
    prefactor: float

    @property
    def text(self) -> str:
        """The law in words: "d", "d log d" or "d^2", .."""
        return {1: "d", 2: "d log d"}.get(self.information_exponent, f"d^{self.information_exponent - 1}")

    def steps(self, dim: int) -> float:
        """The number of steps at dimension d, to leading order."""
        power = max(1, self.information_exponent - 1)
        return self.prefactor * float(dim) ** power * (np.log(dim) if self.information_exponent == 2 else 1.0)


def fastest_scale(neuron: SphericalNeuron, batch: int = 1) -> float:
    """The scale of the step gamma = scale d^-max(1, l/2) that leaves m = 0 fastest, for information exponent l >= 2."""
    exponent = neuron.information_exponent
    if exponent < 2:
        raise InvalidParameter("neuron", neuron.target.text, "an information exponent of 2 or more: else no search")
    stalling = 2 * batch * neuron.norm * abs(neuron.signal[exponent - 1]) / neuron.noise[0]
    return float(0.5 * stalling if exponent == 2 else best_fraction() * stalling)


def best_fraction() -> float:
    """The u that minimises -log(1 - u) / u^2 on (0, 1): u / (1 - u) = -2 log(1 - u)."""
    return float(brentq(lambda u: u / (1 - u) + 2 * np.log(1 - u), 0.3, 0.99, xtol=1e-14))


def hitting_law(neuron: SphericalNeuron, scale: float, *, level: float = 0.5, batch: int = 1) -> HittingLaw:
    """The law for steps gamma = scale d^-max(1, l/2), l the neuron's information exponent; infinite if it never leaves.

    Args:
        level: for l = 1, the overlap to be reached (signed as the target's slope); beyond it the law is the same.
        batch: fresh samples per step.

    Raises:
        InvalidParameter: a scale that is not above 0.

    Source: the exponents are those of Ben Arous, Gheissari, Jagannath 2021; the constants are derived from the
    spherical equation in this module.

    Examples:
        >>> from featlab import target
        >>> from featlab.gaussian import activation
        >>> from featlab.theory import hitting_law
        >>> from featlab.theory.online.sphere import spherical_neuron
        >>> neuron = spherical_neuron(target("He2(h1)"), activation("He2"))
        >>> law = hitting_law(neuron, scale=0.01)
        >>> law.information_exponent, round(law.prefactor, 1)
        (2, 12.6)
    """
    positive_number("scale", scale)
    exponent = neuron.information_exponent
    signal, noise, norm = neuron.signal[exponent - 1], neuron.noise[0], neuron.norm
    if exponent == 1:
        prefactor = exit_time(neuron, scale, 0.0, float(np.copysign(level, signal)), batch)
    elif exponent == 2:
        rate = growth_rate(neuron, scale, batch)
        prefactor = 1 / (2 * rate) if rate > 0 else np.inf
    else:
        fraction = scale * noise / (2 * batch * norm * abs(signal))
        escapes = fraction < 1 and (signal > 0 or exponent % 2 == 1)  # an odd power pulls towards one of the two sides
        shape = -np.log1p(-fraction) / fraction**2 if escapes else np.inf
        prefactor = noise / (2 * batch * signal**2 * (exponent - 2)) * shape
    return HittingLaw(exponent, max(1.0, exponent / 2), float(scale), float(prefactor))


def hitting_steps(neuron: SphericalNeuron, scale: float, dim: int, *, level: float = 0.5, batch: int = 1) -> float:
    """The steps that the equation itself takes at dimension d from |m| = 1/sqrt(d) to |m| = level, on the side that the
    signal pulls to, with gamma = scale d^-max(1, l/2).

    Source: derived as `hitting_law`, which is its leading order in d.

    Args:
        scale: s of the step.
        level: the overlap to be reached.
        batch: fresh samples per step.

    Examples:
        >>> from featlab import target
        >>> from featlab.gaussian import activation
        >>> from featlab.theory import hitting_steps
        >>> from featlab.theory.online.sphere import spherical_neuron
        >>> neuron = spherical_neuron(target("He2(h1)"), activation("He2"))
        >>> round(hitting_steps(neuron, scale=0.01, dim=1000) / 1000, 1)
        73.5
    """
    exponent = neuron.information_exponent
    side = 1.0 if exponent % 2 == 0 else float(np.sign(neuron.signal[exponent - 1]))
    reduced = scale * float(dim) ** (1 - max(1.0, exponent / 2))
    return float(dim * exit_time(neuron, reduced, side * dim**-0.5, side * level, batch))
