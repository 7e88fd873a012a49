"""Dynamical mean field in its usual form, slow and explicit: memory of earlier forces, and responses that are averages
of derivatives carried along with every sample. Independent of featlab's recursion but for the points it is averaged on.

`curvature` is sigma''. Without the delta functions of a kink it is what the code of Dandi et al. (2024) computes, and
wrong for a relu.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

Function = Callable[[np.ndarray], np.ndarray]


def usual_form(
    link: Function,
    rank: int,
    second: np.ndarray,
    value: Function,
    slope: Function,
    curvature: Function,
    step: float,
    ratio: float,
    steps: int,
    count: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Overlaps (steps + 1, p, r) and Gram matrices (steps + 1, p, p) from M = 0, Q = I, squared loss, no biases."""
    width, eye = second.size, np.eye(second.size)
    normals = ndtri(qmc.Sobol(rank + width * steps, bits=30, seed=seed).random(count) + 2.0**-31)
    fields, noises = normals[:, :rank], normals[:, rank:]
    labels = link(fields)
    overlaps, started = [np.zeros((width, rank))], [eye]  # M_t, d w_t / d w_0
    memory, responses, noise = {}, {}, {}  # G_ts = d w_t / d u_s, F_ts = E[d D_t / d z_s], E[u_t u_s]
    forces, carried = [], {}  # D_t, d D_t / d z_s of each sample

    def gram(t, s):
        correlated = sum(
            (memory[t, v] @ noise[v, w] @ memory[s, w].T for v in range(t) for w in range(s)), np.zeros_like(eye)
        )
        return started[t] @ started[s].T + correlated

    grams = [eye]
    for t in range(steps):
        covariance = np.block([[gram(u, v) for v in range(t + 1)] for u in range(t + 1)])
        rows = np.linalg.cholesky(covariance)[t * width :]
        here = fields @ overlaps[t].T + noises[:, : (t + 1) * width] @ rows.T
        here = here + sum((forces[s] @ memory[t, s].T for s in range(t)), np.zeros_like(here)) / ratio
        residual = labels - value(here) @ second / width
        slopes = second * slope(here)
        forces.append(residual[:, None] * slopes)
        jacobian = -slopes[:, :, None] * slopes[:, None, :] / width
        jacobian += eye * (residual[:, None] * second * curvature(here))[:, :, None]
        for s in range(t + 1):
            moved = np.broadcast_to(eye * (s == t), jacobian.shape)
            for v in range(s, t):
                moved = moved + memory[t, v] @ carried[v, s] / ratio
            carried[t, s] = jacobian @ moved
            responses[t, s] = carried[t, s].mean(axis=0)
            noise[t, s] = forces[t].T @ forces[s] / (count * ratio)
            noise[s, t] = noise[t, s].T
        overlaps.append(overlaps[t] + step * forces[t].T @ fields / count)
        started.append(started[t] + step * sum(responses[t, s] @ started[s] for s in range(t + 1)))
        for s in range(t + 1):
            answer = sum((responses[t, v] @ memory[v, s] for v in range(s + 1, t + 1)), eye * (s == t))
            memory[t + 1, s] = memory.get((t, s), np.zeros_like(eye)) + step * answer
        grams.append(gram(t + 1, t + 1) + overlaps[-1] @ overlaps[-1].T)
    return np.array(overlaps), np.array(grams)
