"""A spike across the target: one gradient step goes along beta + theta <mu, beta> mu, not along beta (Mousavi-Hosseini
et al. 2023; the talk's "insufficiency of one gradient step").

By Stein's lemma for x ~ N(0, S), S = I + theta mu mu^T, and f = g(<x, beta> / sqrt(kappa)), kappa = 1 + theta m^2,

    E[x sigma'(<x, w>) f(x)] = kappa^(-1/2) S beta E[g' sigma'] + S w E[f sigma''],

S beta = beta + theta m mu. The second term, which the talk abbreviates, has mean zero over w. The cosine of S beta with
beta is (1 + theta m^2) / sqrt(1 + 2 theta m^2 + theta^2 m^2): for theta m^2 >> 1 it is m = d^(-g1), far above the
d^(-1/2) of a random direction. That is the warm start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALIGNMENT, STRENGTH = 0.25, 0.75  # g1 and g2: m = d^-g1, theta = d^g2
NEURONS = 32
# Dimensions; samples per dimension; runs.
_SIZES = {
    ex.Size.QUICK: ([64, 128, 256, 512], 16, 12),
    ex.Size.PAPER: ([64, 256, 1024, 2048], 16, 24),
    ex.Size.LARGE: ([256, 1024, 2048, 4096], 16, 24),
}


def first_gradient(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """Cosines of the first gradient, the mean over neurons, with S beta and with beta, in the plane of mu and beta; and
    with beta in the whole space.

    relu neurons w, uniform on the sphere, in pairs w and -w, so that S w cancels exactly where sigma'' is even. mu is
    the first axis, beta in the plane of the first two; y = (h_1 + h_3)/sqrt 2 of the target's field.
    """
    draw, dim = np.random.default_rng(key), point["dim"]
    m, theta = dim**-ALIGNMENT, dim**STRENGTH
    beta, spike = np.array([m, np.sqrt(1 - m**2)]), np.append(np.sqrt(1 + theta), np.ones(dim - 1))
    inputs = draw.standard_normal((point["ratio"] * dim, dim)) * spike
    z = inputs[:, :2] @ beta / np.sqrt(1 + theta * m**2)
    labels = (z + (z**3 - 3 * z) / np.sqrt(6)) / np.sqrt(2)
    half = draw.standard_normal((NEURONS // 2, dim))
    neurons = np.concatenate([half, -half])
    slopes = (inputs @ neurons.T > 0).mean(axis=1)
    gradient = inputs.T @ (labels * slopes) / len(inputs)
    claimed = np.array([1 + theta, 1.0]) * beta
    plane = gradient[:2] / np.linalg.norm(gradient[:2])
    return [
        {
            "with_claimed": float(plane @ claimed / np.linalg.norm(claimed)),
            "with_target": float(plane @ beta),
            "overlap": float(gradient[:2] @ beta / np.linalg.norm(gradient)),
        }
    ]


GRADIENTS = Runner(first_gradient)


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Several dimensions, spike and alignment as powers of them."""
    dims, ratio, repeats = _SIZES[size]
    return {
        "step": ex.Part(ex.Study({"ratio": ratio}, {"dim": dims}, repeats=repeats, key=431), f"{__name__}:GRADIENTS")
    }


def theory(data: ex.Data) -> ex.Data:
    """The direction S beta: its cosine with itself, and with beta."""
    import xarray as xr

    dims = np.unique(np.append(np.geomspace(32, data["step"]["dim"].max(), 30).round(), data["step"]["dim"]))
    m, theta = dims**-ALIGNMENT, dims**STRENGTH
    cosine = (1 + theta * m**2) / np.sqrt(1 + 2 * theta * m**2 + theta**2 * m**2)
    columns = {"with_claimed": np.ones_like(cosine), "with_target": cosine, "overlap": cosine}
    return {"step": xr.Dataset({name: ("dim", column) for name, column in columns.items()}, {"dim": dims})}


def _falls(view: ex.View, statement: str) -> ex.Check:
    """The power of d against that of theory over the same dimensions, which tends to -1/4."""
    from featlab.exhibits.checks import exponent

    found, dims = view.measured(ex.Of("overlap", "step")), view.data["step"]["dim"].values
    claimed = ex.exponent_and_error(dims, view.predicted(ex.Of("overlap", "step")).values, None)[0]
    mean, error = found.mean("run").values, ex.standard_error(found.values)
    return exponent(statement, dims, mean, error, claimed, wrong=-0.5)


def _draw_chance(axes: Axes, view: ex.View) -> None:
    from featlab.figures.panels import theory_line

    dims = view.theory["step"]["dim"].values
    theory_line(axes, dims, dims**-0.5, series=1, label="chance, d^(-1/2)")


EXHIBIT = ex.Exhibit(
    id="misaligned-step",
    title="A spike across the target: a wrong direction, and a warm start",
    claim="Under a spike that is not along the target, the first gradient step goes along beta + theta <mu, beta> "
    "mu: it does not find the target, but starts later steps far above the overlap of a random direction.",
    document=ex.STRUCTURED_DATA,
    papers=("mousavi2023",),
    protocol="<mu, beta> = d^(-1/4), theta = d^(3/4), y = (h1 + h3)/sqrt 2 of the target's field, the gradient of "
    "the correlation loss on 16 d samples, the mean over 32 relu neurons in pairs w, -w. Directions are compared in "
    "the plane of mu and beta, the warm start in the whole space; its exponent is -1/4 as d grows, and theory's own "
    "slope at these d is compared with the measured one.",
    caption="Lines: beta + theta <mu, beta> mu. Points: means over runs with two standard errors.",
    studies=studies,
    theory=theory,
    checks={
        "the gradient is along beta + theta <mu, beta> mu": ex.Close(ex.Of("with_claimed"), allowance=0.02),
        "its cosine with the target is that of beta + theta <mu, beta> mu": ex.Close(
            ex.Of("with_target"), allowance=0.05
        ),
        "one step does not find the target: its cosine is below .9 at d = {dim}": ex.Above(
            ex.Of("with_target", "step", {"dim": ex.LAST}),
            0.9,
            ex.Of("with_claimed", "step", {"dim": ex.LAST}),
            "beta + theta <mu, beta> mu, which it does find",
            below=True,
        ),
        "the overlap with the target falls like d^(-1/4), as theory has it at these d, not like d^(-1/2)": _falls,
    },
    numbers={
        "cosine with the target, d = {dim}": ex.Value(ex.Of("with_target"), each="dim"),
        "overlap after the step, d = {dim}": ex.Value(ex.Of("overlap"), each="dim"),
    },
    figure={
        "After one step": ex.Panel(
            ex.Overlay(ex.Of("overlap"), "dim", "beta + theta <mu, beta> mu", "gradient"),
            _draw_chance,
            y="overlap with the target",
            xscale="log",
            yscale="log",
            ticks={"y": [0.05, 0.1, 0.2, 0.4]},
        )
    },
    shows=("normalised_flow", "one_gradient_step"),
)
