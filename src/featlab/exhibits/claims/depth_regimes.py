"""Three scenarios on one axis, kappa = log n / log d (Dandi, Pesce, Zdeborova, Krzakala 2025): no feature learned (I),
the first layer trained (II), all layers trained one after the other (III), on a tree with D = sqrt(d) directions.

(I) learns what is quadratic in the inputs from n of order d^2 on; (II) what is cubic in the D directions that its first
layer finds from n of order d D = d^1.5 on; (III) finds the hidden field h* as well, and fits g(h*). Beside (II) stands
the best that we got from two layers: in the span that the first layer finds, both trained together by Adam.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex
from featlab.study import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TREE = "tree({}, He2(h1)/2 + He3(h1)/6, d^0.5)"
TARGET, LINEAR = _TREE.format("tanh(3*h1)"), _TREE.format("h1")
LEVEL = 0.6  # of the variance: where a risk is said to fall
_ENOUGH = 16  # n/(d D) from which the order is judged
_DERIVED = {"samples": "round(ratio*dim**1.5)"}
_MORE = 1.15  # neurons of the first layer, over the polynomials of degrees 2 and 3 in D directions
_SECOND = {"neurons": 50, "step_size": 4.0, "steps": [20]}
_TESTED = 2**14
# Dimensions, n/(d D), runs; neurons and epochs of two layers trained together.
_SIZES: dict[ex.Size, tuple[list[int], list[int], int, int, int]] = {
    ex.Size.QUICK: ([36], [32], 6, 128, 10),
    ex.Size.PAPER: ([36, 64, 144], [2, 4, 8, 16, 32], 4, 512, 40),
    ex.Size.LARGE: ([64, 144, 256, 576], [2, 4, 8, 16, 32, 64], 4, 2048, 80),
}


def scenarios(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
    """The risks of (I), (II) and (III) and of two layers trained together, on the same samples, n for each layer of
    (III); and M_W of the first layer."""
    from featlab.exhibits import layers
    from featlab.targets import TreeTarget, target

    draw, dim, samples = np.random.default_rng(key), point["dim"], point["samples"]
    tree = target(point["target"]).at(dim)
    assert isinstance(tree, TreeTarget)
    batch, second, last, tested = (
        layers.drawn(draw, tree, count, dim) for count in (samples, samples, samples, _TESTED)
    )
    directions = tree.rank
    width = round(_MORE * directions * (directions + 1) * (directions + 5) / 6)
    rows = layers.first_layer(draw, batch, width)
    (three,) = layers.three_layers(draw, rows, second, last, tested, **_SECOND)  # type: ignore[arg-type]
    more = layers.Samples(*(np.concatenate(pair) for pair in zip(second, last, strict=True)))
    sizes = {"rank": directions, "neurons": point["neurons"], "epochs": point["epochs"]}
    return [
        {
            "quadratics": layers.all_quadratics(batch, tested),
            "two": layers.two_layers(rows, last, tested),
            "together": layers.trained_together(draw, batch, more, tested, **sizes),
            "three": three,
            "first_overlap": float(np.mean(np.sum(rows[:, :directions] ** 2, axis=1)) ** 0.5),
        }
    ]


SCENARIOS = Runner(scenarios)
_RUNS, _LINEAR = "runs", "linear"


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """All learners at the same d and n; and at one d, with the most samples, a linear g."""
    dims, ratios, repeats, neurons, epochs = _SIZES[size]

    def part(target: str, key: int, dims: list[int], ratios: list[int], epochs: int) -> ex.Part:
        fixed = {"target": target, "neurons": neurons, "epochs": epochs}
        study = ex.Study(fixed, {"dim": dims, "ratio": ratios}, _DERIVED, repeats=repeats, key=key)
        return ex.Part(study, f"{__name__}:SCENARIOS")

    middle = dims[len(dims) // 2 :][:1]
    return {
        _RUNS: part(TARGET, 541, dims, ratios, epochs),
        _LINEAR: part(LINEAR, 542, middle, ratios[-1:], 5),  # of which two layers trained together are not asked
    }


def theory(data: ex.Data) -> ex.Data:
    """At each d and n, with the D of that d: what all quadratics leave, M_W of the first layer, and what no polynomial
    of degree 2 or 3 in the directions explains; risks over the variance."""
    import xarray as xr

    from featlab.targets import target
    from featlab.theory.depth.finite import finite_tree
    from featlab.theory.depth.first_layer import batch_overlap

    dims, ratios = (data[_RUNS][name].values.tolist() for name in ("dim", "ratio"))
    trees = [finite_tree(target(TARGET).at(dim)) for dim in dims]
    counts = [[round(ratio * dim**1.5) for ratio in ratios] for dim in dims]
    known = list(zip(trees, dims, counts, strict=True))
    overlaps = [[batch_overlap(tree.signal(), dim=dim, samples=n) for n in row] for tree, dim, row in known]
    risks = [[tree.quadratics(dim, n) / tree.variance for n in row] for tree, dim, row in known]
    values = {f"beyond {q}": ("dim", [tree.of_degree(q) / tree.variance for tree in trees]) for q in (2, 3)}
    both = ("dim", "ratio")
    values |= {"quadratics": (both, risks), "first_overlap": (both, overlaps)}  # type: ignore[dict-item]
    return {_RUNS: xr.Dataset(values, {"dim": dims, "ratio": ratios})}


def falls(name: str) -> ex.Reading:
    """log2 of the n/(d D) at which this risk goes through `LEVEL`, on straight lines in log n; NaN where it never is
    above it, or never below."""

    def of(data: ex.Dataset) -> ex.Array:
        import xarray as xr

        axes = [["ratio"], ["ratio"]]
        return xr.apply_ufunc(crossing, data[name], data["ratio"], input_core_dims=axes, vectorize=True)

    return of


def crossing(risks: np.ndarray, ratios: np.ndarray) -> float:
    """Where risks that fall along the ratios go through `LEVEL`, in log2 of the ratio."""
    below = int(np.argmax(risks < LEVEL))
    if below == 0:
        return float("nan")
    high, low = risks[below - 1], risks[below]
    start, end = np.log2(ratios[below - 1]), np.log2(ratios[below])
    return float(start + (end - start) * (high - LEVEL) / (high - low))


def _gap(view: ex.View, statement: str) -> list[ex.Check]:
    """log2 of the n at which (I) falls over that of (III) is larger at the largest d than at the smallest."""
    if view.data[_RUNS].sizes["dim"] < 2:
        return []
    one, three = (view.measured(ex.Of(falls(name), _RUNS)) for name in ("quadratics", "three"))
    between = (one - three).transpose("run", "dim")
    ends = between["dim"].values[[0, -1]].tolist()
    samples = {f"d = {dim}": between.sel(dim=dim).values for dim in ends}
    return [ex.ordered(statement, samples)]


def _of(name: str, words: str, study: str = _RUNS) -> ex.Of:
    return ex.Of(name, study, words=words)


_ONE, _TWO, _THREE = _of("quadratics", "(I)"), _of("two", "(II)"), _of("three", "(III)")
_BEST = _of("together", "two layers trained together")
_EACH: dict[str, Any] = {"each": ("dim", "ratio")}
_AT = "d = {dim}, n = {ratio} d D"
_SHOWN = [(_ONE, "all quadratics (I)"), (_TWO, "two layers (II)"), (_BEST, "two layers, best"), (_THREE, "three (III)")]


def _draw(axes: Axes, view: ex.View) -> None:
    """All risks at all d against kappa."""
    from featlab.figures.panels import measured_points

    dims = view.data[_RUNS]["dim"].values.tolist()
    for series, (of, _) in enumerate(_SHOWN):
        for dim in dims:
            found = view.measured(of).sel(dim=dim).transpose("run", "ratio")
            kappa = 1.5 + np.log(found["ratio"].values) / np.log(dim)
            measured_points(axes, kappa, found.values.mean(axis=0), ex.standard_error(found.values), series=series)


EXHIBIT = ex.Exhibit(
    id="depth-regimes",
    title="Three scenarios of depth against the number of samples",
    claim="On a tree with D = sqrt(d) directions all quadratics (I) learn their share from n = d^2 on, two layers "
    "(II) what is cubic in the directions from d^1.5 on, and three layers (III) all of it, leaving less than the best "
    "two.",
    document=ex.MULTI_INDEX,
    papers=("dandi2025",),
    protocol="y = tanh(3 h*), P = He2/2 + He3/6, D = sqrt(d), n/(d D) = n/d^1.5 from 2 to 32. (I): ridge regression on "
    "all quadratics. (II), (III): eight large steps of the first layer on one batch; (II) a ridge fit on its features "
    "h2 + h3; (III) 20 preconditioned steps of a second layer of 50 tanh neurons before it; n fresh samples for each "
    "layer. The best two layers: in the span of the leading eigenvectors of mean[y(x x^T - 1)] over n samples, where "
    "those first steps end, 512 relu neurons and their second layer trained together by Adam on 2n more, and of two "
    "step sizes and eight stops the best by the test samples themselves. Order and gain are judged from n = 16 d D on.",
    caption="Points are means over runs with two standard errors, lines are theory. Marks mean the same in all panels; "
    "in the last one each learner has those of all three d.",
    studies=studies,
    theory=theory,
    checks={
        f"{_AT}: three layers leave less than two, and two less than all quadratics": ex.Ordered(
            [_THREE, _TWO, _ONE], least=0.05, paired=True, only=lambda at: at["ratio"] >= _ENOUGH, **_EACH
        ),
        f"{_AT}: three layers leave less than the best two": ex.Ordered(
            [_THREE, _BEST], least=0.1, paired=True, only=lambda at: at["ratio"] >= _ENOUGH, **_EACH
        ),
        "all quadratics leave at d = {dim} what they would as isotropic features, up to 5%": ex.Close(
            _ONE, allowance=0.05, each="dim"
        ),
        "d = {dim}: the first layer knows its directions as predicted (M_W) from n = 8 d D on, up to 3%": ex.Close(
            ex.Of("first_overlap", _RUNS, {"ratio": lambda ratio: ratio >= 8}), allowance=0.03, each="dim"
        ),
        "(II) leaves at least what no cubic explains, d = {dim}; (III) goes below it": ex.Above(
            _TWO, "beyond 3", _THREE, "(III)", each="dim"
        ),
        f"the n at which (I) leaves {LEVEL:.0%} of the variance grows faster with d than that of (III)": _gap,
        "of h* itself (a linear g) three layers leave more than two": ex.Ordered(
            [_of("two", "(II)", _LINEAR), _of("three", "(III)", _LINEAR)], paired=True
        ),
    },
    numbers={
        f"(I) all quadratics, {_AT}": ex.Value(_ONE, **_EACH),
        f"(II) two layers, {_AT}": ex.Value(_TWO, False, **_EACH),
        f"two layers trained together, {_AT}": ex.Value(_BEST, False, **_EACH),
        f"(III) three layers, {_AT}": ex.Value(_THREE, False, **_EACH),
        "linear g: (II) two layers": ex.Value(_of("two", "", _LINEAR), False),
        "linear g: (III) three layers": ex.Value(_of("three", "", _LINEAR), False),
    },
    looks=2,
    remarks="What two layers leave is no bound on all of them: at D = 8, polynomials of degree 5 in the directions "
    "explain all but 14%, if they are known and there are samples enough. At these d the n of order d D and of order "
    "d^2 are not far apart, and what is compared is how fast they part.",
    settled="Looked at before: (III) by simulation at d = 64 and 144 with 5, 20, 50 and 200 second steps, of which 20 "
    "of size 4 are enough (.096 where 50 leave .097); two layers with the directions given, by ridge regression on all "
    "polynomials up to degree 5 (.157 at D = 8, n = 16,000) and by Adam with 256 and 1024 neurons, 60 and 300 epochs "
    "and step sizes .003, .01, .03 (.112 to .155), hence Adam; one run of (I) and of two layers trained together at "
    "d = 36 to 144, and two of (II) and (III) at d = 64 and 144, from which the level .6, the allowances of 5% and 3% "
    "and the n from which is judged; the quick size three times, with four runs too few to tell. For time d = 100 and "
    "1024 neurons were left out. No run of paper size was seen before its protocol was fixed.",
    figure={
        "d = {dim}": ex.Panel(
            *(
                ex.Overlay(of, "ratio", "(I), theory" if of is _ONE else None, words, series=series)
                for series, (of, words) in enumerate(_SHOWN)
            ),
            ex.Mark("beyond 3", "no cubic explains", along="y", under=True),
            each="dim",
            ticks={"x": lambda view: view.data[_RUNS]["ratio"].values.tolist()},
            x="n / (d D)",
            y="risk over variance",
            xscale="log",
            ylim=(0, 1.05),
        ),
        "all d": ex.Panel(_draw, x="log n / log d", y="risk over variance", ylim=(0, 1.05)),
    },
)
