"""What a second layer on p relu neurons makes of one giant step on a quadratic target, at any p: given the spike.

y = <l, x> + x^T Q x - tr Q, mu = |l|. A step of size s on n = psi d samples of the correlation loss, from a unit row w
and a weight a, is w + s a (1/n) sum y x [<w, x> > 0]. With [z > 0] = (1 + sgn z)/2 it has four parts (derived here):

    w + s a { (l + eps)/2 + sqrt(2/pi) Q w + xi },     |eps|^2 = E[y^2]/psi,   |xi|^2 = E[y^2]/(4 psi).

The first is common to all neurons, noise eps included: the spike, along a unit vector e with <e, l>/mu = mu /
sqrt(mu^2 + E[y^2]/psi). The second, E[y x sgn <w, x>]/2 to first order in w, is of order 1/sqrt(d) but of the size of
what a random row knows of the target; xi is each neuron's own. Given t = <x, e> the fields <w_i, x> + b_i are Gaussian
with means alpha_i t + b_i and covariances z_i.z_j, z_i the rest of w_i across e. So (Mehler)

    E[phi_i phi_j | t] = sum_k psi_i^(k) psi_j^(k) (z_i.z_j)^k / k!,      psi_i^(k)(t) = E[relu^(k)(field)],

of which off the diagonal k <= 2 is kept: the next one is of order d^(-3/2). The least risk of a second layer is
E[y^2] - b.G^{-1} b, G = E[phi phi^T], b = E[y phi] = E[psi g_0] + E[psi' <g_1, z>] + E[psi''] z.Q z, g_0 = E[y | t] and
g_1 = E[grad y | t] across e. As d grows at fixed p only k = 0 and the diagonal remain: neurons with noise of their own,
which many of them average out, and b.G^{-1} b tends to E[E[y | t]^2] if the psi_i span functions of t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gauss_pieces
from featlab.targets import Target
from featlab.targets import target as make_target

_REACH, _STEP = 8.0, 0.1  # of the trapezoidal rule in t: the psi_i bend within 1/alpha_i, .1 to .5
_EXACT = 1e-9


@dataclass(frozen=True)
class Quadratic:
    """<l, x> + x^T Q x - tr Q: l (r,) and the symmetric Q (r, r)."""

    linear: Floats
    form: Floats

    @property
    def square(self) -> float:
        """E[y^2]."""
        return float(self.linear @ self.linear + 2 * np.sum(self.form**2))


@dataclass(frozen=True)
class Step:
    """One step of size `size` on `ratio` d samples (infinity: without noise); the new biases are N(0, `spread`^2)."""

    size: float
    ratio: float
    spread: float = 1.0


@dataclass(frozen=True)
class Trained:
    """p neurons after the step: along the spike (p,), across it (p, d - 1), norms of that (p,), and new biases (p,).

    Of `across` the first columns are those of the target, in the frame of `Turned`; None where d is infinite.
    """

    along: Floats
    across: Floats | None
    norms: Floats
    biases: Floats


def quadratic(target: Target | str) -> Quadratic:
    """l = E[y x] and Q = E[y (x x^T - 1)]/2.

    Raises:
        InvalidParameter: for a target that is not linear and quadratic, without mean and noise.
    """
    of = make_target(target)
    nodes, weights = gauss_pieces((), 8)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*[nodes] * of.rank, indexing="ij")], axis=1)
    mass = np.prod(np.stack(np.meshgrid(*[weights] * of.rank, indexing="ij")), axis=0).ravel()
    labels = of.link(grid)
    found = Quadratic(
        (mass * labels) @ grid,
        (np.einsum("n,nk,nl->kl", mass * labels, grid, grid) - mass @ labels * np.eye(of.rank)) / 2,
    )
    if of.noise or of.hidden or abs(mass @ labels**2 - found.square) > _EXACT * found.square:
        raise InvalidParameter("target", of.text, "linear and quadratic terms only, without mean and noise")
    return found


def turned(goal: Quadratic, ratio: float) -> Quadratic:
    """The target in the frame of the spike e: its first coordinate is e, the second what l has across e."""
    mean = np.linalg.norm(goal.linear)
    cosine = mean / np.sqrt(mean**2 + goal.square / ratio)
    first = np.linalg.qr(np.column_stack([goal.linear / mean, np.eye(len(goal.linear))]))[0].T
    first *= np.sign(first[0] @ goal.linear)
    rotated = np.zeros((len(first), len(first) + 1))  # rows: l/mu and what is across it; columns: e and the rest
    rotated[0, :2] = cosine, np.sqrt(1 - cosine**2)
    rotated[1:, 2:] = np.eye(len(first) - 1)
    to_frame = first.T @ rotated
    return Quadratic(goal.linear @ to_frame, to_frame.T @ goal.form @ to_frame)


def draw_trained(goal: Quadratic, width: int, dim: float, step: Step, draw: np.random.Generator) -> Trained:
    """Neurons after the step, `goal` as `turned` gives it; `dim` may be infinite."""
    second, biases = draw.standard_normal(width), step.spread * draw.standard_normal(width)
    moved, noise = step.size * second, goal.square / step.ratio
    spike = moved * np.sqrt(np.sum(goal.linear**2) + noise) / 2
    if not np.isfinite(dim):
        return Trained(spike, None, np.sqrt(1 + moved**2 * noise / 4), biases)
    rows = draw.standard_normal((width, int(dim))) / np.sqrt(dim)
    own = np.abs(moved)[:, None] * np.sqrt(noise / (4 * dim)) * draw.standard_normal(rows.shape)
    rank = len(goal.linear)
    pulled = rows + own
    pulled[:, :rank] += np.sqrt(2 / np.pi) * moved[:, None] * (rows[:, :rank] @ goal.form)
    across = pulled[:, 1:]
    return Trained(spike + pulled[:, 0], across, np.linalg.norm(across, axis=1), biases)


def least_risk(goal: Quadratic, trained: Trained) -> float:
    """E[y^2] - b.G^{-1} b, what the best second layer leaves; `goal` as `turned` gives it.

    At infinite d G is diagonal but for rank K, the number of nodes, and p may be large.
    """
    nodes = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    weights = _STEP * norm.pdf(nodes)
    centres = trained.along * nodes[:, None] + trained.biases
    scaled = centres / trained.norms
    passed, density = norm.cdf(scaled), norm.pdf(scaled)
    means = trained.norms * (scaled * passed + density)
    squares = weights @ ((centres**2 + trained.norms**2) * passed + centres * trained.norms * density)
    given = goal.linear[0] * nodes + goal.form[0, 0] * (nodes**2 - 1)
    root = np.sqrt(weights)
    if trained.across is None:
        factors = root[:, None] * means
        inner = (factors / (squares - np.sum(factors**2, axis=0))) @ factors.T
        wanted = root * given
        return goal.square - float(wanted @ np.linalg.solve(np.eye(len(nodes)) + inner, inner @ wanted))
    bends, seen = density / trained.norms, trained.across[:, : len(goal.linear) - 1]
    slope = goal.linear[1:] + 2 * np.outer(nodes, goal.form[0, 1:])
    pull = (weights * given) @ means + np.sum((passed * weights[:, None]).T @ slope * seen, axis=1)
    pull += (weights @ bends) * np.einsum("ik,kl,il->i", seen, goal.form[1:, 1:], seen)
    products = trained.across @ trained.across.T
    gram = _weighted(means, weights) + _weighted(passed, weights) * products
    gram += _weighted(bends, weights) * products**2 / 2
    np.fill_diagonal(gram, squares)
    return goal.square - float(pull @ np.linalg.solve(gram, pull))


def _weighted(values: Floats, weights: Floats) -> Floats:
    return np.asarray((values * weights[:, None]).T @ values, dtype=np.float64)
