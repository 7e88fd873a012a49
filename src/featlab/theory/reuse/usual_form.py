"""Dynamical mean field of a reused batch in its usual form (Dandi et al. 2024, arXiv:2402.03220), slow and explicit.

Fields carry a memory of earlier forces, and responses are averages of derivatives carried along with every sample:

    lambda_t = M_t h + z_t + (1/alpha) sum_{s<t} G_ts D_s,    w_{t+1} = w_t + gamma (u_t + sum_{s<=t} F_ts w_s),
    G_ts = d w_t / d u_s,   F_ts = E[d D_t / d z_s],   E[u_t u_s] = E[D_t D_s] / alpha.

The derivatives need sigma''. For a relu it is a delta function, of which an average over samples sees nothing: with
sigma'' = 0, as in the code of that paper, the responses are wrong by a finite amount. `dmft` needs no derivatives; this
form is here to compare with, and to show what the missing term does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.gaussian.sobol import sobol_normals
from featlab.theory.reuse.dmft import Descent

Pair = tuple[int, int]


def usual_form(
    descent: Descent, curvature: Callable[[Floats], Floats], steps: int, samples: int, seed: int
) -> tuple[Floats, Floats]:
    """Overlaps (steps + 1, p, r) and Gram matrices (steps + 1, p, p) of T steps on one batch, from M = 0, Q = I.

    Args:
        descent: with the squared loss, no constraint and no biases.
        curvature: sigma'' away from kinks.
        samples: Sobol points, a power of 2; seed: of their scrambling.
    """
    second, ratio, step = descent.second, descent.ratio, descent.step
    width, rank, eye = second.size, descent.target.rank, np.eye(second.size)
    normals = sobol_normals(rank + width * steps, samples, seed)
    fields, noises = normals[:, :rank], normals[:, rank:]
    labels = descent.target.link(fields)
    overlaps, started = [np.zeros((width, rank))], [eye]  # M_t, d w_t / d w_0
    memory: dict[Pair, Floats] = {}
    responses: dict[Pair, Floats] = {}
    noise: dict[Pair, Floats] = {}
    carried: dict[Pair, Floats] = {}  # d D_t / d z_s of each sample
    forces: list[Floats] = []

    def gram(t: int, s: int) -> Floats:
        found = started[t] @ started[s].T
        for v in range(t):
            for w in range(s):
                found = found + memory[t, v] @ noise[v, w] @ memory[s, w].T
        return found

    grams = [eye]
    for t in range(steps):
        covariance = np.block([[gram(u, v) for v in range(t + 1)] for u in range(t + 1)])
        rows = np.linalg.cholesky(covariance)[t * width :]
        here = fields @ overlaps[t].T + noises[:, : (t + 1) * width] @ rows.T
        for s in range(t):
            here = here + forces[s] @ memory[t, s].T / ratio
        forces.append(descent.force(here, labels))
        jacobian = _jacobian(descent, here, labels, curvature)
        for s in range(t + 1):
            moved = np.broadcast_to(eye * (s == t), jacobian.shape)
            for v in range(s, t):
                moved = moved + memory[t, v] @ carried[v, s] / ratio
            carried[t, s] = jacobian @ moved
            responses[t, s] = carried[t, s].mean(axis=0)
            noise[t, s] = forces[t].T @ forces[s] / (samples * ratio)
            noise[s, t] = noise[t, s].T
        overlaps.append(overlaps[t] + step * forces[t].T @ fields / samples)
        started.append(started[t] + step * sum((responses[t, s] @ started[s] for s in range(t + 1)), 0 * eye))
        for s in range(t + 1):
            answer = sum((responses[t, v] @ memory[v, s] for v in range(s + 1, t + 1)), eye * (s == t))
            memory[t + 1, s] = memory.get((t, s), 0 * eye) + step * answer
        grams.append(gram(t + 1, t + 1) + overlaps[-1] @ overlaps[-1].T)
    return np.array(overlaps), np.array(grams)


def _jacobian(descent: Descent, fields: Floats, labels: Floats, curvature: Callable[[Floats], Floats]) -> Floats:
    """d D / d lambda of each sample (N, p, p), away from kinks."""
    width = descent.second.size
    slopes = descent.second * descent.activation.derivative(fields)
    residual = labels - descent.output(fields)
    found = -slopes[:, :, None] * slopes[:, None, :] / width
    return found + np.eye(width) * (residual[:, None] * descent.second * curvature(fields))[:, :, None]
