"""The first gradient has rank one, up to order 1/sqrt(n) (Ba et al. 2022, arXiv:2205.01445, Proposition 2).

With n, p and d in proportion, G = (1/n) X^T [(y - f) a^T o sigma'(X W^T)] is close to A = mu1 X^T y a^T / n in operator
norm: |G - A| <= C (log n)^2 / sqrt(n) |G|. What is left is each neuron's own noise, of variance a_i^2; with Gaussian
a_i the largest of them give a logarithm, with a_i = +-1 there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from featlab.exhibits.checks import exponent, mean_and_error, standard_error
from featlab.exhibits.documents import FIRST_STEP
from featlab.exhibits.one_step import Setting, top_singular
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Check, Finding, Number, Outcome
from featlab.figures.panels import measured_points, panels, theory_line
from featlab.figures.style import add_legend
from featlab.gaussian.powerlaw import PowerLaw, fit_power_law
from featlab.study import Runner, Study

CLAIMED = -0.5
_SIZES = {
    Size.QUICK: ([96, 192, 384, 768], 8),
    Size.PAPER: ([256, 512, 1024, 2048, 4096], 10),
    Size.LARGE: ([512, 1024, 2048, 4096, 8192], 10),
}
_SETTING = {"student": "tanh", "teacher": "tanh(h1)", "noise": 0.0, "psi1": 2.0, "psi2": 1.0}
_NAMES = {"signs": "second layer ±1", "gaussian": "Gaussian second layer"}


def run_point(point: Mapping[str, Any], key: int) -> list[dict[str, Any]]:
    """|G - A| / |G| in operator norm, for one start and one batch."""
    setting = Setting.of(point)
    batch = setting.draw(np.random.default_rng(key), point["second_layer"])
    rest = batch.gradient - setting.slope * np.outer(batch.second, batch.labels)
    return [{"ratio": top_singular(rest)[0] / top_singular(batch.gradient)[0]}]


RUNNER = Runner(run_point)


def studies(size: Size) -> Mapping[str, Part]:
    """n = 2d and p = d as d grows, with both second layers."""
    dims, repeats = _SIZES[size]
    study = Study(_SETTING, axes={"second_layer": [*_NAMES], "dim": dims}, repeats=repeats, key=33)
    return {"ratio": Part(study, f"{__name__}:RUNNER")}


def prediction(data: Data) -> dict[str, PowerLaw]:
    """The laws that fit: a power of n for each second layer, and the same after the bound's (log n)^2 is taken out."""
    n, fits = _samples(data), {}
    for name in _NAMES:
        mean, error = _measured(data, name)
        fits[name] = fit_power_law(n, mean, error, level=0.99)
        fits[f"{name}, bound"] = fit_power_law(n, mean / np.log(n) ** 2, error / np.log(n) ** 2, level=0.99)
    return fits


def verdict(data: Data, predicted: dict[str, PowerLaw]) -> Finding:
    """The exponent without the logarithm, and the bound with it."""
    n = _samples(data)
    checks = [
        exponent("with a = +-1, |G - A| / |G| falls as n^(-1/2)", n, *_measured(data, "signs"), CLAIMED, wrong=-0.25),
        _bound_holds(predicted["gaussian, bound"]),
    ]
    numbers = [
        Number(f"exponent, {words}", CLAIMED, predicted[name].exponent, predicted[name].exponent_error)
        for name, words in _NAMES.items()
    ]
    largest = data["ratio"]["ratio"].isel(dim=-1)
    numbers += [
        Number(f"|G - A| / |G| at n = {n[-1]}, {words}", None, *mean_and_error(largest.sel(second_layer=name).values))
        for name, words in _NAMES.items()
    ]
    remark = (
        "The bound's (log n)^2 is not seen. For Gaussian a the largest a_i, near sqrt(2 log p), can make the exponent "
        "less steep by 1/(2 log n), which is .06 at n = 4000."
    )
    return Finding(checks, numbers, [remark])


def _bound_holds(fit: PowerLaw) -> Check:
    """The exponent of the ratio over (log n)^2 is at most -1/2; a bound of order 1/n is refused by the same test."""
    low, high = fit.exponent_interval
    detail = (
        f"over (log n)^2 the ratio falls with exponent {fit.exponent:.3f}, between {low:.3f} and {high:.3f} at 99%."
    )
    outcome = Outcome.HOLDS if high <= CLAIMED else Outcome.FAILS if low > CLAIMED else Outcome.CANNOT_TELL
    statement = "with Gaussian a, |G - A| <= C (log n)^2 / sqrt(n) |G|"
    return Check(statement, outcome, detail, "the bound (log n)^2 / n", low > -1.0)


def _samples(data: Data) -> np.ndarray:
    return np.round(_SETTING["psi1"] * data["ratio"]["dim"].values).astype(int)


def _measured(data: Data, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error for each n."""
    values = data["ratio"]["ratio"].sel(second_layer=name).transpose("repeat", "dim").values
    return values.mean(0), standard_error(values)


def figure(data: Data, predicted: dict[str, PowerLaw]) -> Figure:
    """The ratio against n, with slope -1/2 through the largest n."""
    made, (axes,) = panels(
        ["The first gradient is close to rank one"], x="samples n (n = 2d, p = d)", y="|G - A| / |G|, operator norms"
    )
    n = _samples(data)
    for series, (name, words) in enumerate(_NAMES.items()):
        mean, error = _measured(data, name)
        theory_line(axes, n, mean[-1] * (n / n[-1]) ** CLAIMED, series=series, label=f"slope -1/2, {words}")
        fitted = f"exponent {predicted[name].exponent:.2f}"
        measured_points(axes, n, mean, error, series=series, label=f"simulation, {fitted}")
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(n, [str(value) for value in n])
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    add_legend(axes)
    return made


EXHIBIT = Exhibit(
    id="rank-one-gradient",
    title="The first gradient has rank one",
    claim="With n, width and dimension in proportion, the first gradient of the first layer differs from the rank-one "
    "matrix mu1 X^T y a^T / n by (log n)^2 / sqrt(n) of its norm at most.",
    document=FIRST_STEP,
    papers=("ba2022",),
    protocol="tanh student and tanh teacher without noise, n = 2d, p = d. Operator norms. The exponent is read off "
    "with a = +-1, where no logarithm is expected; with the source's Gaussian a the bound itself is tested, its "
    "constant being free.",
    caption="Points are means over seeds with two standard errors; lines have slope -1/2 and pass through the last.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
)
