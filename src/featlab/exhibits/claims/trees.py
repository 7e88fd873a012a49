"""Trees of two blocks: three layers must find two hidden fields, and one step of the second layer finds their sum only.

y = (g(h_1*) + g(h_2*)) / sqrt(2), each field a polynomial of directions of its own (Dandi, Pesce, Zdeborova, Krzakala
2025). The second layer starts at zero, so that its first step is along one vector for all neurons: the regression of y
on the features, which for many directions is h_1* + h_2*. By the symmetry of the blocks the mean gradient of later
steps has no part along h_1* - h_2* either, but where some is there it grows: the noise of the samples is enough, and the
risk leaves the plateau of the sum after some tens of steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from featlab import exhibits as ex

_RULE = {
    "learner": "layerwise",
    "activation": "h2+h3",
    "second_activation": "tanh",
    "second_width": 50,
    "second_step": 4.0,
}
# Directions of a block, samples, neurons of the first layer (above the number of polynomials of degrees 2 and 3 in
# those of two blocks), seeds, numbers of second steps, of which the last one is "many".
_GIVEN = {
    ex.Size.QUICK: (3, 4000, 90, 3, [1, 100]),
    ex.Size.PAPER: (5, 20_000, 310, 3, [1, 3, 10, 30, 100, 200]),
    ex.Size.LARGE: (8, 100_000, 1100, 4, [1, 3, 10, 30, 100, 300, 1000]),
}
# Dimension, samples, repeats, second steps; all layers trained.
_TRAINED = {ex.Size.PAPER: (100, 30_000, 3, [1, 30, 200]), ex.Size.LARGE: (256, 200_000, 3, [1, 30, 300])}
_NAMES = {"none": "two layers", "first": "two layers", "second": "three layers", "both": "three layers"}
_BOTH = "trained,second_steps"
_TWO_BLOCKS, _ONE_BLOCK, _WITHOUT, _ALL, _LINEAR = "two-blocks", "one-block", "two-layers", "all", "linear"


def tree(directions: int, blocks: int, link: str = "tanh(3*h1)") -> str:
    """The target with so many directions in each block."""
    return f"tree({link}, He2(h1)/2 + He3(h1)/6, {directions}, blocks={blocks})"


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Directions given: two blocks, and beyond the quick size one of as many directions, two layers, and a linear g.
    All layers trained, on two blocks."""
    directions, samples, width, seeds, steps = _GIVEN[size]
    given = {**_RULE, "dim": 100, "samples": samples, "width": width, "start": "aligned", "seeds": seeds}

    def part(target: str, key: int, words: str, **axes: Any) -> ex.Part:
        fixed = {**given, "target": target}
        return ex.Part(ex.Study(fixed, axes, key=key, observe=["risk_share"]), words=words, names={"trained": _NAMES})

    two = tree(directions, 2)
    parts = {_TWO_BLOCKS: part(two, 551, "two fields", trained=["second"], second_steps=steps)}
    if size is ex.Size.QUICK:
        return parts
    parts[_ONE_BLOCK] = part(tree(2 * directions, 1), 552, "one field", trained=["second"], second_steps=steps)
    parts[_WITHOUT] = part(two, 553, "two fields, two layers", trained=["none"])
    parts[_LINEAR] = part(tree(directions, 2, "h1"), 554, "linear g", trained=["none", "second"], second_steps=[30])
    dim, samples, repeats, steps = _TRAINED[size]
    fixed = {**_RULE, "target": two, "dim": dim, "samples": samples, "width": width, "seeds": 1}
    fixed |= {"steps": 8, "steps_per_batch": None, "times": [8]}
    points = [["first", 1], *(["both", count] for count in steps)]
    observe = ["risk_share", "first_overlap"]
    study = ex.Study(fixed, {_BOTH: points}, key=555, repeats=repeats, observe=observe)
    parts[_ALL] = ex.Part(study, words="two fields, all layers trained", names={"trained": _NAMES})
    return parts


def theory(data: ex.Data) -> ex.Data:
    """What a function of h_1* + h_2* leaves, what no cubic explains, over the variance and for this number of
    directions; and M_W of the first layer."""
    import xarray as xr

    from featlab.theory.depth.finite import finite_tree
    from featlab.theory.depth.first_layer import batch_overlap

    found = finite_tree(str(data[_TWO_BLOCKS]["target"].values))
    shares = {"from_sum": found.from_sum / found.variance, "cubic": found.of_degree(3) / found.variance}
    said = {name: xr.Dataset(shares) for name in data}
    if _ALL in data:
        dim, samples = int(data[_ALL]["dim"]), int(data[_ALL]["samples"])
        said[_ALL]["first_overlap"] = batch_overlap(found.signal(), dim=dim, samples=samples)
    return said


def _steps(study: str, place: Any, words: str) -> ex.Of:
    return ex.Of("risk_share", study, {"trained": "second", "second_steps": place}, words)


def _all(trained: str, steps: Any, words: str, quantity: str = "risk_share") -> ex.Of:
    return ex.Of(quantity, _ALL, {"trained_second_steps": lambda at: at["trained"] == trained and steps(at)}, words)


def _few(at: Mapping[str, Any]) -> bool:
    return bool(at["second_steps"] == 1)


def _many(at: Mapping[str, Any]) -> bool:
    return bool(at["second_steps"] >= 200)


_ONE_STEP, _MANY_STEPS = _steps(_TWO_BLOCKS, ex.FIRST, "one step"), _steps(_TWO_BLOCKS, ex.LAST, "many steps")
_TWO_LAYERS = ex.Of("risk_share", _WITHOUT, {"trained": "none"}, "two layers")
_TRAINED_TWO = _all("first", _few, "two layers")
_TRAINED_ONE, _TRAINED_MANY = _all("both", _few, "one second step"), _all("both", _many, "many")
_SUM = ex.Mark(lambda view: float(view.theory[_TWO_BLOCKS]["from_sum"]), "known: the sum of the fields", along="y")
_CUBIC = ex.Mark(lambda view: float(view.theory[_TWO_BLOCKS]["cubic"]), "no cubic explains", along="y")


EXHIBIT = ex.Exhibit(
    id="trees",
    title="Two hidden fields",
    claim="Of a tree of two blocks, gradient steps on the second layer learn both hidden fields, and three layers leave "
    "less than two: it takes several steps, one finds the sum of the fields only.",
    document=ex.MULTI_INDEX,
    papers=("dandi2025",),
    protocol="y = (tanh(3 h1*) + tanh(3 h2*))/sqrt(2), P = He2/2 + He3/6, five directions a block. With the directions "
    "given: features h2 + h3, n = 20,000 samples for the second layer (50 tanh neurons, preconditioned steps of 4 from "
    "zero) and as many fresh ones for the last; beside it one block of ten directions, and y = (h1* + h2*)/sqrt(2), of "
    "which depth should bring nothing. All layers trained: d = 100, n = 30,000 for each, eight large first steps on "
    "one batch. Many steps are 200. The theorem of the talk has T2 = polylog(d) second steps, that of the paper one.",
    caption="Points are means over seeds with two standard errors. Dotted lines: what is left by the best function of "
    "h1* + h2*, and what no polynomial of degree 3 in the directions explains, exact for five directions.",
    studies=studies,
    theory=theory,
    checks={
        "directions given, one second step: it leaves at least {bound:.1%}, as a function of h1* + h2*; many leave less": (
            ex.Above(_ONE_STEP, "from_sum", _MANY_STEPS, "many second steps")
        ),
        "directions given: two layers leave at least {bound:.1%}, what no cubic explains; three leave less": ex.Above(
            _TWO_LAYERS, "cubic", ex.Of("risk_share", _WITHOUT), "three layers"
        ),
    },
    numbers={
        "{words}, {second_steps} second steps": ex.Value(
            ex.Of("risk_share", (_TWO_BLOCKS, _ONE_BLOCK)), False, each="second_steps"
        ),
    },
    figure={
        "directions given": ex.Panel(
            ex.Overlay(ex.Of("risk_share", (_TWO_BLOCKS, _ONE_BLOCK)), "second_steps", None, "{words}"),
            _SUM,
            x="steps of the second layer",
            y="risk over variance",
            xscale="log",
            ylim=(0, None),
        ),
    },
)
