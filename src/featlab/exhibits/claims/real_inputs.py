"""Real inputs: is what a gradient step finds on them what it finds on Gaussian inputs of the same mean and covariance?

The talk takes Gaussian inputs for two reasons, of which universality is one (with a figure of Loureiro et al. 2021).
For centred inputs of covariance S and a target tanh(3h) along v, h = <v, x> of variance 1, the first gradient of a relu
neuron on Gaussian inputs is along S v, and n samples show it but for noise. On real inputs E[x | h] need not be along
S v, and the halves of a data set that two neurons see need not show the same: their principal components are
uncorrelated, but not independent. Shuffled among the rows, each by itself, they are; mean, covariance and the law of
each are kept, and fields are sums of independent numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from featlab import exhibits as ex
from featlab.errors import FeatlabError
from featlab.study import Runner

DATA = ["digits", "diabetes", "wine", "breast cancer"]
RATIOS = [4.0, 16.0]
NEURONS = 32
SAME = 0.05  # of the Gaussian value
LESS = 0.1  # so much less is another
_LOADERS = {"digits": "digits", "scaled digits": "digits", "breast cancer": "breast_cancer"}
_REPEATS = {ex.Size.QUICK: 60, ex.Size.PAPER: 2000, ex.Size.LARGE: 8000}


class NeedsScikitLearn(FeatlabError):
    """The data sets come with scikit-learn, which is not installed."""


def check(point: dict[str, Any]) -> None:
    """Refuse to begin without scikit-learn."""
    if find_spec("sklearn") is None:
        raise NeedsScikitLearn(
            f"the data set {point['data']!r} comes with scikit-learn, which is not installed: pip install "
            "'featlab[sklearn]', then the same command again"
        )


@cache
def inputs(name: str) -> np.ndarray:
    """All rows of a data set, centred; each column scaled to variance 1, but for the pixels of digits, whose unit is
    one."""
    from sklearn import datasets

    rows = getattr(datasets, f"load_{_LOADERS.get(name, name)}")().data.astype(np.float64)
    rows = rows[:, np.std(rows, axis=0) > 0]
    rows = rows - rows.mean(axis=0)
    return rows if name == "digits" else rows / rows.std(axis=0)


def first_step(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """The squared cosine of the first gradient with S v, the mean over neurons, for one v and the same neurons: on rows
    of the data drawn with replacement, on the same with each principal component drawn by itself, and on Gaussian
    inputs of their covariance."""
    draw, rows = np.random.default_rng(key), inputs(point["data"])
    count, dim = rows.shape
    covariance = rows.T @ rows / count
    kurtosis = np.mean(rows**4, axis=0) / np.mean(rows**2, axis=0) ** 2
    direction = draw.standard_normal(dim) if point["spread"] else np.eye(dim)[np.argmax(kurtosis)]
    direction /= np.sqrt(direction @ covariance @ direction)
    neurons = draw.standard_normal((NEURONS, dim))
    wanted = covariance @ direction / np.linalg.norm(covariance @ direction)
    values, vectors = np.linalg.eigh(covariance)
    samples = round(point["ratio"] * dim)
    shuffled = np.take_along_axis(rows @ vectors, draw.integers(count, size=(samples, dim)), axis=0)
    normal = draw.standard_normal((samples, dim)) * np.sqrt(np.maximum(values, 0.0))
    kinds = {"real": rows[draw.integers(count, size=samples)]}
    kinds |= {"shuffled": shuffled @ vectors.T, "gaussian": normal @ vectors.T}
    return [{name: _cosine(x, direction, neurons, wanted) for name, x in kinds.items()}]


def _cosine(x: np.ndarray, direction: np.ndarray, neurons: np.ndarray, wanted: np.ndarray) -> float:
    labels = np.tanh(3 * x @ direction)
    gradients = ((x @ neurons.T > 0) * labels[:, None]).T @ x
    return float(np.mean((gradients @ wanted) ** 2 / np.sum(gradients**2, axis=1)))


STEP = Runner(first_step, check=check)


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Directions spread over all columns, and along the column of digits with the heaviest tails."""
    kind, repeats = f"{__name__}:STEP", _REPEATS[size]
    spread = ex.Study({"spread": True}, {"data": DATA, "ratio": RATIOS}, repeats=repeats, key=524)
    scaled = ex.Study({"spread": True, "data": "scaled digits"}, {"ratio": RATIOS}, repeats=repeats, key=525)
    single = ex.Study({"spread": False, "data": "digits"}, {"ratio": RATIOS}, repeats=repeats, key=526)
    return {
        "spread": ex.Part(spread, kind, words="{data}"),
        "scaled": ex.Part(scaled, kind, words="digits, every pixel scaled"),
        "single": ex.Part(single, kind, words="digits, along one pixel"),
    }


def relative(name: str) -> Any:
    """A squared cosine over that of Gaussian inputs, run by run with the same v and neurons."""
    return lambda data: 1 + (data[name] - data["gaussian"]) / data["gaussian"].mean("repeat")


def _less(study: str) -> ex.Ordered:
    """Real inputs show less of the direction, by a tenth at least."""
    at = {"ratio": ex.FIRST}
    return ex.Ordered([ex.Of("real", study, at, "real"), ex.Of("gaussian", study, at, "Gaussian")], least=LESS)


def _same(name: str) -> ex.Close:
    return ex.Close(ex.Of(relative(name), "spread"), predicted=1.0, allowance=SAME, each="data")


EXHIBIT = ex.Exhibit(
    id="real-inputs",
    title="Real inputs",
    claim="Gaussian universality: on real inputs a gradient step finds what it finds on Gaussian inputs of the same "
    "mean and covariance.",
    document=ex.GIANT_STEPS,
    papers=("loureiro2021", "dandi2023"),
    protocol="Rows of data sets that come with scikit-learn, drawn with replacement: digits (pixels in their unit), "
    "diabetes, wine and breast cancer (columns scaled to variance 1). Planted labels y = tanh(3h), h of variance 1 "
    "along a random direction v, the first gradient of 32 relu neurons on n = 4 d and 16 d samples, its squared "
    "cosine with S v. It must be that of Gaussian inputs within 5%; where it is not, that of the same principal "
    "components drawn each by itself. What should differ, by 10% at least at n = 4 d: digits with every pixel scaled "
    "to variance 1, so that some that are hardly ever lit are rare and large, and a direction along the one pixel of "
    "the heaviest tails.",
    caption="Squared cosine over that on Gaussian inputs of the same covariance; means over runs with two standard "
    "errors. Left: rows as they are. Right: each principal component drawn by itself.",
    studies=studies,
    checks={
        "{data}: the squared cosine is that of Gaussian inputs, within 5%": ex.Corrected(
            _same("real"),
            _same("shuffled"),
            "Of {data} it is another: the principal components of real rows are uncorrelated, not independent.",
            "{data}, each principal component by itself: the squared cosine is that of Gaussian inputs, within 5%",
        ),
        "{words}, n = {ratio:g} d: real inputs show less of the direction, by 10% at least": [
            _less("scaled"),
            _less("single"),
        ],
    },
    numbers={
        "{words}, n = {ratio:g} d: real over Gaussian": [
            ex.Value(ex.Of(relative("real"), "spread"), predicted=False, each=("data", "ratio")),
            ex.Value(ex.Of(relative("real"), "scaled"), predicted=False, each="ratio"),
            ex.Value(ex.Of(relative("real"), "single"), predicted=False, each="ratio"),
        ],
        "{words}, n = {ratio:g} d: shuffled over Gaussian": ex.Value(
            ex.Of(relative("shuffled"), "spread"), predicted=False, each=("data", "ratio")
        ),
    },
    settled="First runs, 150 of each, had n = d as well, where some neuron of ten columns sees no sample, allowed 10%, "
    "and called the first three sets nearly Gaussian by the kurtosis of fields along random directions, breast cancer "
    "not. Digits came out 11% lower, wine 10%, breast cancer 7%, diabetes 3%: the kurtosis does not tell them apart, "
    "and 10% was too near to what is found to decide. So all four are asked for 5%, with new runs, and the shuffled "
    "components were added.",
    figure={
        words: ex.Panel(
            *(
                ex.Overlay(ex.Of(relative(name), "spread", {"data": data}), "ratio", None, "{words}", series=place)
                for place, data in enumerate(DATA)
            ),
            ex.Mark(1.0, "Gaussian inputs", along="y"),
            x="samples over dimension, n/d",
            y="squared cosine, over the Gaussian one",
            xscale="log",
            ylim=(0.8, 1.1),
            ticks={"x": RATIOS},
        )
        for name, words in {"real": "Rows as they are", "shuffled": "Components by themselves"}.items()
    },
    shows=("one_giant_step",),
)
