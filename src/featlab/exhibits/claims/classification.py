"""Which functions are trivial, easy or hard to learn from n = O(d) samples, and by which algorithm.

The classes are those of message passing (Troiani et al. 2024): a first moment E[h | y] makes a direction trivial, a
second one E[h h^T - I | y] makes it easy above a critical ratio n/d, and parities of three directions have neither.
What one-pass SGD sees, correlations with the label, orders the same functions differently (Ben Arous et al. 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.exhibits.message_passing import Runs, amp_part
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOUND = 0.5
RATIO = 3.0
_HARD, _SQUARE = "sign(h1*h2*h3)", "h1**2"
_QUICK = ("tanh", "He3", "phase-retrieval", "He4", "three-parity")
_MANY = (
    *_QUICK, "sign", "absolute-value", "generative-four", "two-parity", "product-two", "product-three",
    "linear-and-absolute", "long-staircase", "grand-staircase-square", "grand-staircase",
)  # fmt: skip
_SPHERE = {"loss": "correlation", "constraint": "spherical", "design": "virtual", "observe": ["overlap"]}
_TANH = {**_SPHERE, "activation": "tanh", "biases": 0.5, "step_size": "0.1/d", "times": [0.0, 80.0]}
_RELU = {**_SPHERE, "activation": "relu", "biases": -0.5, "step_size": "0.03/d", "times": [0.0, 700.0]}
_INNER = {"He3(h1)": "0.3/d", "He4(h1)": "0.5/d", _HARD: "0.3/d"}
LEARNERS = {"amp": "message passing", "reuse": "extragradient", "sgd": "one-pass SGD"}
# Learner and target: whether n = O(d) samples suffice, up to logarithms, by the generative exponent (AMP, reuse) or
# the leap (SGD).
CELLS = {
    ("amp", "He3(h1)"): True,
    ("amp", "He4(h1)"): True,
    ("amp", _HARD): False,
    ("reuse", "He3(h1)"): True,
    ("reuse", "He4(h1)"): True,
    ("reuse", _HARD): False,
    ("sgd", "tanh(h1)"): True,
    ("sgd", "He3(h1)"): False,
    ("sgd", "He4(h1)"): False,
    ("sgd", _HARD): False,
}
_STUDY = {cell: f"{cell[0]}-{place}" for place, cell in enumerate(CELLS)}
# Dimension of message passing, and of the neuron; seeds.
_SIZES = {ex.Size.QUICK: (100, 0, 8), ex.Size.PAPER: (1000, 2000, 24), ex.Size.LARGE: (4000, 8000, 24)}
_EXPONENTS = ("information_exponent", "leap", "generative_exponent")
_COSTS = ("amp", "batch_reuse", "one_pass_sgd")


def run_point(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """The analysis of one target; numbers that do not exist are left out."""
    from featlab.analysis import analyse
    from featlab.targets import target

    found = analyse(target(point["target"]))
    numbers = {**{name: getattr(found, name) for name in _EXPONENTS}, "critical_ratio": found.alpha_c}
    costs = {name: found.sample_cost[name].text for name in _COSTS}
    return [{"class": str(found.verdict), **costs, **{name: x for name, x in numbers.items() if x is not None}}]


RUNNER = Runner(run_point)


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The analysis of many targets, and what three algorithms find of one target in each class."""
    from featlab.targets.literature import catalogue

    quick, (passing, neuron, seeds) = size is ex.Size.QUICK, _SIZES[size]
    texts = [catalogue[name].text for name in (_QUICK if quick else _MANY)]
    parts = {"analysis": ex.Part(ex.Study(axes={"target": texts}, key=51), f"{__name__}:RUNNER")}
    for key, ((learner, text), name) in enumerate(_STUDY.items(), start=60):
        if quick and (learner != "amp" or text == "He4(h1)"):  # message passing takes long to compile for He4
            continue
        if learner == "amp":
            study = amp_part(text, passing, Runs((RATIO,), seeds, iterations=40), key, ("overlap",)).study
        else:
            rule: dict[str, Any] = {"learner": "online-sgd"}
            if learner == "reuse":
                rule = {"learner": "extragradient", "inner_step": _INNER[text]}
            fixed = {**(_RELU if text == "He4(h1)" else _TANH), **rule, "target": text, "dim": neuron, "seeds": seeds}
            study = ex.Study(fixed, key=key)
        parts[name] = ex.Part(study, words=f"{LEARNERS[learner]} on {text}")
    return parts


def theory(data: ex.Data) -> ex.Data:
    """What the literature says of each target; and the critical ratio of h1^2 by the source's formula and by ours."""
    import xarray as xr

    from featlab.gaussian.quadrature import gauss_pieces
    from featlab.targets.literature import catalogue

    by_text, texts = {entry.text: entry for entry in catalogue.values()}, data["analysis"]["target"]
    entries = [by_text[text] for text in texts.values.tolist()]
    names = {"class": "verdict", "critical_ratio": "alpha_c", **{name: name for name in _EXPONENTS}}
    said = {name: ("target", [getattr(entry, own) for entry in entries]) for name, own in names.items()}
    z, weights = gauss_pieces((0.0,), 40)
    # y = z^2 has E[z | y] = 0 and E[z^2 | y] = y.
    ratios = {"stated": 1 / float(weights @ (0 * z - 1) ** 2), "right": 1 / float(weights @ (z**2 - 1) ** 2)}
    return {"analysis": xr.Dataset({**said, **ratios, "count": len(entries)}, {"target": texts})}


def largest(data: ex.Dataset) -> ex.Array:
    """The largest overlap with a direction at the end; of an estimate, of each row with its own."""
    found = ex.matched_overlap(data).isel(ratio=0) if "ratio" in data.dims else abs(data["overlap"]).isel(neuron=0)
    return found.isel(time=-1).max("direction")


def missed(data: ex.Dataset) -> ex.Array:
    """Whether no direction was found."""
    return largest(data) <= FOUND


def _wrong(view: ex.View, at: Mapping[str, Any]) -> float:
    """How many classes and exponents differ."""
    found, said = view.data["analysis"], view.theory["analysis"]
    return float(sum((found[name] != said[name]).sum().item() for name in ("class", *_EXPONENTS)))


def _wrong_by_correlation(view: ex.View, at: Mapping[str, Any]) -> float:
    """How many classes, where the information exponent sorts."""
    orders, classes = view.data["analysis"]["information_exponent"], view.theory["analysis"]["class"]
    sorted_by = [{1: "TRIVIAL", 2: "EASY"}.get(int(order), "HARD") for order in orders.values]
    return float(np.sum(sorted_by != classes.values))


def _ratio_is(formula: str, other: str) -> ex.Identity:
    """The critical ratio of h1^2 by one formula; the control has the square at the other place."""

    def off(name: str) -> Any:
        return lambda view, at: at[name] - float(view.data["analysis"]["critical_ratio"].sel(target=_SQUARE))

    words = "the formula with the square at the other place"
    return ex.Identity(off(formula), 1e-6, control=words, control_difference=off(other))


def _contrast(learner: str, text: str) -> ex.Contrast:
    """What SGD misses is what an inner step finds; where that is no comparison, the hard target is the control."""
    control = ("sgd", text) if learner == "reuse" else (learner, _HARD)
    return ex.Contrast(ex.Of(largest, _STUDY[learner, text]), ex.Of(largest, _STUDY[control]), beyond=FOUND)


def _ratios(view: ex.View, name: str) -> list[ex.Number]:
    found, said = (data["analysis"]["critical_ratio"] for data in (view.data, view.theory))
    known = [text for text in found["target"].values.tolist() if np.isfinite(found.sel(target=text))]
    return [ex.Number(name.format(text), said.sel(target=text).item(), float(found.sel(target=text))) for text in known]


def figure(view: ex.View) -> Figure:
    """The table of targets, and below it what was found."""
    from featlab.figures.style import new_figure

    rows = view.data["analysis"].sizes["target"]
    made = new_figure(9.2, 0.27 * rows + 4.2)
    table, successes = made.subplots(2, 1, height_ratios=[0.27 * (rows + 2), 3.2])
    _draw_table(table, view.data["analysis"])
    _draw_successes(successes, view)
    return made


_COLUMNS = {
    "target": 0.0, "class": 0.31, "l": 0.42, "leap": 0.47, "k*": 0.53, "critical n/d": 0.57, "AMP": 0.69,
    "batch reuse": 0.76, "one-pass SGD": 0.87,
}  # fmt: skip


def _draw_table(axes: Axes, analysis: ex.Dataset) -> None:
    from featlab.figures.style import INK, KIND_COLOURS
    from featlab.figures.tables import text_table

    rows = []
    for text in analysis["target"].values.tolist():
        row = analysis.sel(target=text)
        ratio, kind = float(row["critical_ratio"]), row["class"].item()
        words = [f"{float(row[name]):.0f}" for name in _EXPONENTS]
        words += [f"{ratio:.3g}" if np.isfinite(ratio) else "-", *(row[name].item() for name in _COSTS)]
        cells = [(text, INK), (kind, KIND_COLOURS[kind.lower()]), *((word, INK) for word in words)]
        rows.append((list(KIND_COLOURS).index(kind.lower()), cells))
    text_table(axes, _COLUMNS, [cells for _, cells in sorted(rows, key=lambda row: row[0])])


def _draw_successes(axes: Axes, view: ex.View) -> None:
    from featlab.figures.style import INK, KIND_COLOURS, MUTED, TEXT_SIZE, dress

    cells = [cell for cell, study in _STUDY.items() if study in view.data]
    dress(axes, title="measured from n of order d samples: every run", y="largest overlap")
    for place, (learner, text) in enumerate(cells):
        values = view.measured(ex.Of(largest, _STUDY[learner, text])).values
        colour = KIND_COLOURS[view.data["analysis"]["class"].sel(target=text).item().lower()]
        spread = place + np.linspace(-0.25, 0.25, values.size)
        axes.plot(spread, values, "o", color=colour, markersize=4, markeredgecolor=INK, markeredgewidth=0.4)
        expected = "finds it" if CELLS[learner, text] else "does not"
        axes.text(place, 1.1, f"theory:\n{expected}", ha="center", color=INK, fontsize=TEXT_SIZE - 1.5)
    short = {"amp": "AMP", "reuse": "extragr.", "sgd": "SGD"}
    labels = [f"{short[learner]}\n{text}" for learner, text in cells]
    axes.set_xticks(range(len(cells)), labels, fontsize=TEXT_SIZE - (0.5 if len(cells) < 5 else 2.5))
    axes.axhline(FOUND, color=MUTED, linestyle=":", linewidth=1.1)
    axes.set_ylim(-0.05, 1.35)


EXHIBIT = ex.Exhibit(
    id="classification",
    title="Trivial, easy, hard: who finds what from n = O(d) samples",
    claim="All but a few functions are found from n = O(d) samples: at once (trivial), or above a critical ratio n/d "
    "(easy); parities of three directions are not (hard), and one-pass SGD misses many that are.",
    document=ex.MULTI_INDEX,
    papers=("troiani2024", "damian2024", "benarous2021", "arnaboldi2024"),
    protocol="Targets of the literature are analysed and compared with their stated classes and exponents. For one "
    "target of each class Bayes-AMP makes 40 iterations on n = 3 d samples from a random start; and beyond the quick "
    "size one neuron on the sphere learns with and without an inner step: tanh(z + 1/2) from 80 d samples, for He4 "
    "relu(z - 1/2) from 700 d. Found means an overlap above 1/2 with a direction.",
    caption="Above: information exponent l, leap, generative exponent k*, critical ratio n/d and the samples that "
    "three algorithms need. Below: single runs, the dotted line at 1/2.",
    studies=studies,
    theory=theory,
    checks={
        "class, information exponent, leap and generative exponent of {count} targets are those of the literature": (
            ex.Identity(
                _wrong,
                0,
                control="sorted by the information exponent instead",
                control_difference=_wrong_by_correlation,
            )
        ),
        "the critical ratio of h1^2 is 1 / E[(E[h | y]^2 - 1)^2]": ex.Corrected(
            _ratio_is("stated", "right"),
            _ratio_is("right", "stated"),
            "The square belongs inside the average: E[h^2 | y], not E[h | y]^2, gives 0.5, not 1.",
            "the critical ratio of h1^2 is 1 / E[(E[h^2 | y] - 1)^2]",
        ),
        **{
            f"{LEARNERS[learner]} finds {text} from n = O(d) samples, up to logarithms": _contrast(learner, text)
            for (learner, text), finds in CELLS.items()
            if finds
        },
        f"extragradient does not find {_HARD} from so few samples": ex.Contrast(
            ex.Of(missed, _STUDY["reuse", _HARD], words=f"failure on {_HARD}"),
            ex.Of(missed, _STUDY["reuse", "He3(h1)"], words="failure on He3(h1)"),
        ),
    },
    numbers={
        "largest overlap, {words}": ex.Value(ex.Of(largest, tuple(_STUDY.values())), predicted=False),
        "critical ratio of {}": _ratios,
    },
    remarks=(
        "The source gives O(d^3) samples for one-pass SGD on He4(h1) + sign(h1 h2 h3), the cost of He4 alone.",
        "Its sign has a part of degree 3: the leap is 3, and the cost d^2.",
    ),
    figure=figure,
    shows=("verdict", "generative_exponent", "sq_bound", "amp"),
)
