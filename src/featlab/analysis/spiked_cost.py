"""Powers of d under a spiked covariance x ~ N(0, I + theta mu mu^T), for a single-index target f* = g(h).

With theta ~ d^g2, <mu, beta> ~ d^-g1, k the information exponent and p the degree of the link g:

    normalised flow     d^(1 + 2 (k-1) s) from an overlap of d^-s; sufficient (Mousavi-Hosseini et al. 2023)
    one gradient step   d once g2 > 1 - 1/k, perfect alignment; sufficient, not sharp (Ba et al. 2023)
    kernels             d if and only if g2 > 1 - 1/p, perfect alignment (Ba et al. 2023)
    kernels             at least d^Theta((1-g2) p) (Donhauser et al. 2021)

The link's exponents are those of the normalised coordinate h = <x, beta> / sqrt(1 + theta <mu, beta>^2), which is
standard normal. Nothing here is a Bayes threshold: those are for isotropic inputs.
"""

from __future__ import annotations

from math import ceil, inf

from featlab.analysis.sample_cost import SampleCost, Status, cost
from featlab.errors import InvalidParameter
from featlab.targets.inputs import Spiked, SpikeLaw, checked_exponents


def start_exponent(overlap_exponent: float, strength_exponent: float) -> float:
    """s in delta_0 = d^-s, the overlap at random initialisation that the normalised flow starts from.

    In the normalised coordinate a random w has the overlap <w, S beta> / (|S^{1/2} w| |S^{1/2} beta|) with the target:

        s = 1/2                  for g2 <= g1       (the spike is too weak, or too far from beta)
        s = 1/2 - (g2 - g1)      for g1 <= g2 <= 2 g1
        s = (1 - g2) / 2         for 2 g1 <= g2 <= 1

    continuous across both lines. Mousavi-Hosseini et al. 2023 (arXiv 2309.03843).
    """
    g1, g2 = checked_exponents(overlap_exponent, strength_exponent)
    if g2 <= g1:
        return 0.5
    return 0.5 - (g2 - g1) if g2 <= 2 * g1 else (1 - g2) / 2


def normalised_flow_exponent(overlap_exponent: float, strength_exponent: float, information_exponent: int) -> float:
    """The power of d of the samples that suffice for the normalised flow, at a fixed accuracy.

    n >~ d (d^{2 (k-1) s} v eps^-2) with s = `start_exponent(g1, g2)`: d^k without a useful spike, d^(1 + (k-1)(1 - g2))
    with an aligned one. Mousavi-Hosseini et al. 2023 (arXiv 2309.03843), an upper bound, for links with
    zeta(w) = sum_j j c_j c*_j w^{j-1} >= c w^{k-1} on (0, 1).
    """
    if information_exponent < 1:
        raise InvalidParameter("information_exponent", information_exponent, "a whole number, at least 1")
    return 1 + 2 * (information_exponent - 1) * start_exponent(overlap_exponent, strength_exponent)


def learned_degree(strength_exponent: float) -> float:
    """l: what a kernel learns of f* from n ~ d samples under an aligned spike are its degrees up to l,
    risk -> ||P_{>l} f*||^2, for g2 in (1 - 1/l, 1 - 1/(l+1)) (Ba et al. 2023).

    On the boundary g2 = 1 - 1/(l+1), of which the theorem does not speak, this is l; at g2 = 1 there is no limit, and
    at g2 = 0 it is 1, as for isotropic inputs.
    """
    _, g2 = checked_exponents(0.0, strength_exponent)
    return inf if g2 == 1 else max(1, ceil(1 / (1 - g2) - 1e-9) - 1)


def kernel_reach(law: SpikeLaw) -> float:
    """The degrees that a kernel learns from n ~ d samples: proven for mu = beta (`learned_degree`); otherwise
    (heuristic) the same where h is mostly the coordinate along mu, theta <mu, beta>^2 -> infinity; else 1.
    """
    g1, g2 = _exponents(law)
    return learned_degree(g2) if _perfect(law) or g2 > 2 * g1 else 1


def law_of(inputs: Spiked | SpikeLaw) -> SpikeLaw:
    """How a spike depends on d. One that is given as numbers is read as constant in d."""
    if isinstance(inputs, SpikeLaw):
        return inputs
    largest = max(abs(m) for m in inputs.overlaps)
    exponents = [0.0 if m else 0.5 for m in inputs.overlaps]
    return SpikeLaw(0.0, exponents, strength_scale=inputs.strength or 1.0, overlap_scale=min(largest, 1.0) or 1.0)


def spiked_costs(
    law: SpikeLaw, *, rank: int, information_exponent: int | None, degree: int | None
) -> dict[str, SampleCost]:
    """The costs of a single-index target; empty for several directions, for which nothing of the kind is proven.

    Args:
        information_exponent: k; None, undecided. degree: p; None, not a polynomial.
    """
    if rank > 1:
        return {}
    _, g2 = _exponents(law)
    perfect, reach, order = _perfect(law), kernel_reach(law), information_exponent
    proven = order is not None and perfect and g2 > 1 - 1 / order
    costs = [
        cost(
            "normalised_flow",
            "normalised gradient flow, whitened",
            "finds the direction, at a fixed accuracy",
            ("mousavi2023",),
            None if order is None else normalised_flow_exponent(*_exponents(law), order),
            Status.SUFFICIENT,
            known=order is not None,
        ),
        cost(
            "one_gradient_step",
            "one gradient step, then ridge",
            "makes features of the direction; without alignment a step finds S beta instead of beta",
            ("ba2023", "mousavi2023"),
            None if order is None else one_step_exponent(law, order),
            Status.SUFFICIENT if proven else Status.HEURISTIC,
            known=order is not None,
        ),
        cost(
            "kernels_linear",
            "kernels, random features",
            "fits the target exactly (d to infinity); n ~ d suffices if and only if g2 > 1 - 1/degree",
            ("ba2023",),
            None if degree is None and reach < inf else 1.0,
            Status.THEOREM if perfect else Status.HEURISTIC,
            beyond=degree is not None and max(degree, 1) > reach,
        ),
        cost(
            "kernels_bound",
            "any rotation-invariant kernel (lower bound)",
            "no kernel does with less; the power of d is known up to a constant factor",
            ("donhauser2021", "mousavi2023"),
            None if degree is None else (1 - g2) * max(degree, 1),
            loose=True,
        ),
    ]
    return {one.name: one for one in costs}


def one_step_exponent(law: SpikeLaw, information_exponent: int) -> float | None:
    """The power of d at which the feature <x, G> of one gradient G at random w is mostly the target's h; None, it
    never is.

    Proven to be at most 1 (n ~ d) for g2 > 1 - 1/k and mu = beta, where G itself aligns with beta (Ba et al. 2023,
    sufficient). Otherwise by the sizes of signal and noise (heuristic; `featlab.theory.spiked` has them at finite d).
    G ~ S beta (theta/d)^{(k-1)/2} / sqrt(kappa) + S^{1/2} z / sqrt(n), and inputs with a spike see it through S once
    more: of its feature's variance theta^2 (theta/d)^{k-1} is signal, theta^2/n noise along mu, d/n noise elsewhere.
    Where h is mu's direction (g2 > 2 g1, or mu = beta) the noise along mu is no harm:

        1                      for g2 > 1/2, where labels do not matter: it is a step of the power method
        max(1, k - (k+1) g2)   for g2 <= 1/2

    For g2 < 2 g1 / 3 it is k, as if there were no spike; between, <x, S beta> is not <x, beta>: None.
    """
    g1, g2 = _exponents(law)
    if _perfect(law) or g2 > 2 * g1:
        return 1.0 if g2 > 0.5 else max(1.0, information_exponent - (information_exponent + 1) * g2)
    return float(information_exponent) if 3 * g2 < 2 * g1 else None


def _exponents(law: SpikeLaw) -> tuple[float, float]:
    return law.overlap_exponents[0], law.strength_exponent


def _perfect(law: SpikeLaw) -> bool:
    """mu = beta at every d."""
    return law.overlap_exponents == (0.0,) and law.overlap_scale == 1
