"""Under a spike the spherical flow of a neuron is driven away; the normalised one is not (Mousavi-Hosseini et al. 2023,
arXiv:2309.03843).

Inputs x ~ N(0, I + theta mu mu^T), theta = d^g2, <mu, beta> = d^-g1, target He3. On the sphere |w| = 1 the output's
second moment grows with <w, mu>, and a small w is pushed off mu, hence off beta. Of sigma(<w, x> / |S^{1/2} w|) it is
constant, and the spike is nothing but a head start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from featlab import exhibits as ex

FOUND = 0.9
MANY = 64  # samples over dimension of the contrast
STEPS = 120
POPULATION = 10**4
STRENGTHS = (-0.5, -0.375, -0.25, -0.125, 0.0, 0.2, 0.4, 0.6, 0.8)
_NORMALISED, _SPHERICAL = "normalised", "spherical"
_FEWER = {_NORMALISED: [4, 8, 16, 32, MANY], _SPHERICAL: [4, 16, MANY]}
_SIZES: dict[ex.Size, tuple[dict[str, int], dict[str, list[int]]]] = {
    ex.Size.QUICK: ({"dim": 64, "seeds": 12}, {_NORMALISED: [4, MANY], _SPHERICAL: [MANY]}),
    ex.Size.PAPER: ({"dim": 200, "seeds": 32}, _FEWER),
    ex.Size.LARGE: ({"dim": 800, "seeds": 8}, _FEWER),
}
_TASK = {
    "target": "He3(h1)/sqrt(6)", "noise": 0.1, "alignment": 0.2, "spike": 0.8, "activation": "He3",
    "second_scale": 6**-0.5, "positive_start": True, "steps": STEPS,
    "times": [0, 5, 10, 15, 20, 30, 40, 60, 90, STEPS], "design": "dense",
    "observe": ["overlap", "gram", "second_layer", "biases", "spike_overlap", "field_correlation"],
}  # fmt: skip


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Both flows on batches of several sizes, (g1, g2) = (.2, .8)."""
    sizes, ratios = _SIZES[size]

    def part(flow: str, key: int, ratios: list[int], words: str = "{flow} flow", **spike: Any) -> ex.Part:
        fixed = {**_TASK, **sizes, **spike, "learner": f"{flow}-flow"}
        study = ex.Study(fixed, {"ratio": ratios}, {"samples": "ratio*dim"}, key=key)
        return ex.Part(study, words=words.format(flow=flow))

    aligned: dict[str, Any] = {"ratios": [MANY], "words": "{flow} flow, mu = beta", "alignment": 0.0, "seeds": 32}
    return {
        _NORMALISED: part(_NORMALISED, 41, ratios[_NORMALISED]),
        _SPHERICAL: part(_SPHERICAL, 42, ratios[_SPHERICAL]),
        **{f"aligned {flow}": part(flow, 43, **aligned) for flow in _FEWER},
    }


def theory(data: ex.Data) -> ex.Data:
    """The population flow from the start of each seed; and aligned, mu = beta, from a typical start at d = 10^4."""
    flows = {flow: ex.predict_at(data[flow], start=ex.at_point(data[flow], ratio=MANY), ratio=MANY) for flow in _FEWER}
    return {**flows, **{f"population {flow}": _aligned_population(flow) for flow in _FEWER}}


def _aligned_population(flow: str) -> ex.Dataset:
    """|cosine| with beta at the start, and the highest on the way, over strengths of the spike."""
    import xarray as xr

    from featlab.learners import NormalisedFlow, SphericalFlow, TwoLayer
    from featlab.targets import Spiked, target
    from featlab.theory import predict

    learner = {_NORMALISED: NormalisedFlow, _SPHERICAL: SphericalFlow}[flow]()
    student = TwoLayer(activation="He3", second_scale=6**-0.5)
    goals = [target("He3(h1)/sqrt(6)", inputs=Spiked(float(POPULATION) ** strength, 1.0)) for strength in STRENGTHS]
    paths = [abs(predict(goal, learner, dim=POPULATION, student=student)["cosine"]).values.ravel() for goal in goals]
    ends = {"start": ("strength", [path[0] for path in paths]), "highest": ("strength", [path.max() for path in paths])}
    return xr.Dataset(ends, {"strength": list(STRENGTHS)})


def correlation(data: ex.Dataset) -> ex.Array:
    """Of the neuron's field with the target's, without its sign."""
    return abs(data["field_correlation"]).isel(neuron=0, direction=0)


def cosine(data: ex.Dataset) -> ex.Array:
    """Of the neuron with beta, without its sign; on the sphere that is the overlap."""
    return abs(data["overlap"]).isel(neuron=0, direction=0)


def found(data: ex.Dataset) -> ex.Array:
    """Whether it is above what counts as found."""
    return correlation(data) > FOUND


def _end(flow: str | tuple[str, ...], ratio: Any, words: str = "{words}") -> ex.Of:
    return ex.Of(correlation, flow, {"ratio": ratio, "time": ex.LAST}, words)


def _largest_gain(flow: str) -> Any:
    """How far an aligned path rises above its start, relative to it: the largest over theta >= 1."""

    def gain(view: ex.View, at: Mapping[str, Any]) -> float:
        strong = view.theory[f"population {flow}"].sel(strength=slice(0.0, None))
        return float((strong["highest"] / strong["start"] - 1).max())

    return gain


def _weak(view: ex.View, name: str) -> ex.Number:
    return ex.Number(name, float(view.theory[f"population {_SPHERICAL}"]["highest"].sel(strength=-0.5)))


def _aligned(axes: Any, view: ex.View) -> None:
    from featlab.figures.panels import theory_line

    for series, flow in enumerate(_FEWER):
        highest = view.theory[f"population {flow}"]["highest"]
        theory_line(axes, highest["strength"], highest, series=series, label=f"{flow} flow, population")


_LIMITS = (-0.05, 1.1)

EXHIBIT = ex.Exhibit(
    id="normalised-flow",
    title="Under a spike, normalise the flow",
    claim="Where inputs have a spike along the target, the spherical gradient flow of a neuron is driven away from it, "
    "while the normalised flow finds the target.",
    document=ex.STRUCTURED_DATA,
    papers=("mousavi2023",),
    protocol="x ~ N(0, I + d^.8 mu mu^T), <mu, beta> = d^-.2, target He3/sqrt(6) with noise .1, one neuron of the same "
    "shape that starts in the right hemisphere. Flows go by arcs of 0.1 rad down the loss of one batch; the normalised "
    "flow whitens by the batch's own covariance, as the source's algorithm does. The source has no experiment: sizes, "
    "and that a correlation above .9 counts as found, are ours. Its proposition is about the population, mu = beta.",
    caption="Lines are population flows, on the left from the starts of the simulated seeds, on the right at d = 10^4; "
    "points are means over seeds with two standard errors.",
    studies=studies,
    theory=theory,
    checks={
        "(g1, g2) = (.2, .8), n = {ratio} d: the normalised flow finds the target (correlation > 0.9)": ex.Contrast(
            _end(_NORMALISED, MANY), _end(_SPHERICAL, MANY), beyond=FOUND
        ),
        "more samples help the normalised flow": ex.Ordered(
            [_end(_NORMALISED, ex.FIRST, "n = {ratio} d"), _end(_NORMALISED, MANY, "n = {ratio} d")]
        ),
        "mu = beta, theta = d^{spike:g}, n = {ratio} d: the normalised flow finds the target": ex.Contrast(
            _end(f"aligned {_NORMALISED}", MANY), _end(f"aligned {_SPHERICAL}", MANY), beyond=FOUND
        ),
        "mu = beta, theta = d^{spike:g}, n = {ratio} d: the spherical flow ends farther from beta": ex.Ordered(
            [
                ex.Of(cosine, f"aligned {_SPHERICAL}", {"ratio": MANY, "time": when}, words)
                for when, words in ((ex.LAST, "at the end"), (ex.FIRST, "at the start"))
            ],
            least=0.1,
        ),
        "mu = beta, theta >= 1: the population's spherical flow never rises above its start": ex.Identity(
            _largest_gain(_SPHERICAL),
            0.01,
            control="the normalised flow from the same start",
            control_difference=_largest_gain(_NORMALISED),
        ),
    },
    numbers={
        "correlation of the {words}, n = {ratio} d": ex.Value(_end(tuple(_FEWER), MANY)),
        "share found, normalised, n = {ratio} d": ex.Value(
            ex.Of(found, _NORMALISED, {"time": ex.LAST}),
            False,
            each="ratio",
        ),
        "overlap of the spherical population flow, theta = d^-1/2": _weak,
    },
    remarks="The spherical flow does not fail under every spike: it finds the target at (g1, g2) = (.3, .2), (.4, .6). "
    "At (.2, .8), d = 200, that of the population, given long, reaches a cosine of .95 off mu, its field's correlation "
    "with the target's being .51. Batches with mu = beta were first 12 (theta = d^.4, then d^.8), too few to tell.",
    figure={
        "(g1, g2) = (.2, .8), d = {dim}, n = {ratio} d": ex.Panel(
            ex.Overlay(
                ex.Of(correlation, tuple(_FEWER), {"ratio": MANY}),
                "time",
                "{words}, population",
                points="{words}, batch",
            ),
            x="steps of 0.1 rad",
            y="correlation with the target's field",
            legend="center right",
            ylim=_LIMITS,
        ),
        "the same, fewer samples": ex.Panel(
            ex.Overlay(
                ex.Of(found, tuple(_FEWER), {"time": ex.LAST}),
                "ratio",
                None,
                x=lambda values, at: values["ratio"] * (1.04 if at["study"] == _SPHERICAL else 1 / 1.04),
            ),
            y="share of runs with correlation > 0.9",
            ticks={"x": _FEWER[_NORMALISED]},
            xscale="log",
            ylim=_LIMITS,
        ),
        "mu = beta, infinitely many samples": ex.Panel(
            _aligned,
            x="strength of the spike, g2: theta = d^g2",
            y="highest cosine with beta",
            legend="center right",
            ylim=_LIMITS,
        ),
    },
    shows=("normalised_flow",),
)
