"""Averages for many neurons, from those of single neurons and of pairs, so that their accuracy does not fall with p.

With the correlation loss D_i depends on y and lambda_i alone, so E[D_i h] and E[D_i lambda_i] are averages of one
neuron, and since the other fields are linear in (h, lambda_i) up to something independent,

    E[D_i lambda_j] = <M_j, E[D_i h]> + (C_ij / C_ii) (E[D_i lambda_i] - <M_i, E[D_i h]>),   C = Q - M M^T.

The squared loss (without inner step) subtracts (a_i / p) sum_l a_l E[sigma'_i sigma_l x] for x = h_k or lambda_j, an
average over the pair (lambda_i, lambda_l) alone. Only E[D_i D_j], which involves all neurons at once, is sampled; it
enters with the square of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gaussian_lines
from featlab.theory.online.averages import Averages, AveragesOf, Descent
from featlab.theory.online.cuts import LINE_EDGES

_NODES = 10


class PairTerms(NamedTuple):
    """For lambda_i = sqrt(Q_ii) u and lambda_l = (Q_il / sqrt(Q_ii)) u + t_il v, with u and v independent N(0, 1).

    Attributes:
        product: E[sigma_i sigma_l] (p, p).
        with_first: E[sigma'_i sigma_l u] (p, p).
        with_second: E[sigma'_i sigma_l v] (p, p).
    """

    product: Floats
    with_first: Floats
    with_second: Floats


@dataclass(frozen=True, eq=False)
class PairRule:
    """The averages of many neurons.

    Attributes:
        descent: the student; with the squared loss it makes no inner step.
        singles: for each neuron, its averages alone, with the correlation loss.
        sampled: averages of all, for E[D_i D_j].
        label_square: E[y^2].
        scale: < 1 takes fewer nodes.
    """

    descent: Descent
    singles: Sequence[AveragesOf]
    sampled: AveragesOf
    label_square: float
    scale: float

    def __call__(self, overlap: Floats, gram: Floats) -> Averages:
        width, second = self.descent.width, self.descent.second
        alone = [self.singles[i](overlap[i : i + 1], gram[i : i + 1, i : i + 1]) for i in range(width)]
        drive = np.concatenate([one.drive for one in alone])
        pull = _others(drive, np.array([one.pull[0, 0] for one in alone]), overlap, gram)
        pairs = pair_terms(self.descent, gram, max(4, int(self.scale * _NODES)))
        own = np.array([one.risk for one in alone])  # E[(y - a_i sigma_i)^2]
        correlations = (self.label_square + second**2 * np.diag(pairs.product) - own) / 2  # a_i E[y sigma_i]
        risk = self.label_square - 2 * np.mean(correlations) + second @ pairs.product @ second / width**2
        if self.descent.loss == "squared":
            weights = np.outer(second, second) / width
            drive = drive - _contracted(pairs, weights, gram, overlap)
            pull = pull - _contracted(pairs, weights, gram, gram)
        noise = self.sampled(overlap, gram).noise
        if self.descent.loss == "correlation":
            np.fill_diagonal(noise, [one.noise[0, 0] for one in alone])
        return Averages(drive, pull, noise, float(risk))


def _others(drive: Floats, own: Floats, overlap: Floats, gram: Floats) -> Floats:
    """E[D_i lambda_j] for all j, from E[D_i h] and E[D_i lambda_i]."""
    across = gram - overlap @ overlap.T
    variance = np.diag(across)
    rest = own - np.sum(drive * overlap, axis=1)
    free = variance > 1e-14 * np.diag(gram)
    share = np.where(free, rest / np.where(free, variance, 1.0), 0.0)
    return drive @ overlap.T + across * share[:, None]


def _contracted(pairs: PairTerms, weights: Floats, gram: Floats, covariance: Floats) -> Floats:
    """sum_l weights_il E[sigma'_i sigma_l x_k] for fields x of the given covariance (p, k) with lambda: (p, k)."""
    norms, slope, spread = _geometry(gram)
    along = covariance / norms[:, None]  # Cov(x_k, u) for each i
    on_first = np.sum(weights * pairs.with_first, axis=1)[:, None] * along
    ratio = np.where(spread > 0, weights * pairs.with_second / np.where(spread > 0, spread, 1.0), 0.0)
    return on_first + ratio @ covariance - np.sum(ratio * slope, axis=1)[:, None] * along


def _geometry(gram: Floats) -> tuple[Floats, Floats, Floats]:
    """|w_i|; the slope Q_il / |w_i| of lambda_l in u; and t_il, 0 where lambda_l follows from lambda_i."""
    norms = np.sqrt(np.diag(gram))
    slope = gram / norms[:, None]
    variance = np.diag(gram) - slope**2
    return norms, slope, np.sqrt(np.where(variance > 1e-14 * np.diag(gram), variance, 0.0))


def pair_terms(descent: Descent, gram: Floats, nodes: int) -> PairTerms:
    """The averages over every pair of neurons; the lines of u and v are cut at the kinks of sigma."""
    width, sigma, biases = descent.width, descent.activation, descent.biases
    kinks = np.array(sigma.kinks or (0.0,))  # a smooth activation varies fastest around zero
    norms, slope, spread = _geometry(gram)
    terms = np.zeros((3, width, width))
    for i in range(width):
        _, u, u_weights = gaussian_lines(LINE_EDGES, ((kinks - biases[i]) / norms[i])[None, :], nodes)
        mean = (slope[i][:, None] * u).ravel()  # one line of v for every l and u
        reach = np.repeat(spread[i], u.size)
        level = kinks - np.repeat(biases, u.size)[:, None] - mean[:, None]
        crossings = level / np.where(reach > 0, reach, np.inf)[:, None]
        line, v, v_weights = gaussian_lines(LINE_EDGES, crossings, nodes)
        neuron, place = np.divmod(line, u.size)
        value = sigma.value(mean[line] + reach[line] * v + biases[neuron])
        field = norms[i] * u + biases[i]
        weights = u_weights[place] * v_weights * value
        sloped = weights * sigma.derivative(field)[place]
        for row, summand in zip(
            terms, (weights * sigma.value(field)[place], sloped * u[place], sloped * v), strict=True
        ):
            row[i] = np.bincount(neuron, summand, minlength=width)
    return PairTerms(*terms)
