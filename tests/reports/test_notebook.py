"""What results look like in a notebook: a short repr, a page that is escaped and has pictures, a figure, LaTeX."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import featlab
from featlab.comparison import ComparedRun, compare
from featlab.experiments.labels import with_labels
from featlab.reports.papers import tex

TIMES = np.arange(4.0)


def run(seeds: int | None) -> xr.Dataset:
    """A made-up simulation, or without seeds a prediction."""
    rng, lead = np.random.default_rng(0), ("seed",) if seeds else ()
    size = (seeds,) if seeds else ()
    overlap = np.broadcast_to((TIMES / 5)[:, None, None], (4, 1, 1)) + 0.01 * rng.standard_normal((*size, 4, 1, 1))
    axes = (*lead, "time", "neuron", "direction")
    data: dict[str, Any] = dict.fromkeys(("overlap", "cosine"), (axes, overlap))
    data["norm"] = (axes[:-1], np.ones_like(overlap[..., 0]))
    data["risk"] = ((*lead, "time"), 2 - overlap[..., 0, 0])
    data["outcome"] = (lead, np.full(size, "ok"))
    coordinates = {"time": TIMES, "step": ("time", TIMES.astype(int)), **({"seed": range(seeds)} if seeds else {})}
    about = {"target": "tanh(h1)<b>", "dim": 400, "learner": "OnlineSgd(..)", "student": "..", "words": "a limit"}
    return with_labels(xr.Dataset(data, coordinates, about), "one-pass")


@pytest.fixture(scope="module")
def analysis() -> featlab.Analysis:
    return featlab.analyse(featlab.target("He3(h1)"))


def both() -> ComparedRun:
    prediction, simulation = run(None), run(6)
    return ComparedRun(prediction, simulation, compare(prediction, simulation), (), "d = 400 only")


@pytest.fixture
def shown(request: pytest.FixtureRequest, analysis: featlab.Analysis) -> Any:
    return {
        "target": lambda: analysis.target,
        "analysis": lambda: analysis,
        "explanation": lambda: featlab.Explanation(analysis, 1000),
        "comparison": lambda: both().comparison,
        "run": both,
        "catalogue": lambda: featlab.catalogue,
        "simulation": lambda: run(6).featlab,
        "prediction": lambda: run(None).featlab,
    }[request.param]()


KINDS = ("target", "analysis", "explanation", "comparison", "run", "catalogue", "simulation", "prediction")


class Ids(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [str(value) for name, value in attrs if name == "id"]


@pytest.mark.parametrize("shown", KINDS, indirect=True)
def test_every_result_has_a_short_repr_a_figure_and_a_page_with_pictures(shown: Any) -> None:
    assert len(repr(shown)) < 250
    assert "\n" not in repr(shown)
    assert isinstance(shown.plot(), Figure)
    page = shown._repr_html_()
    assert "<svg" in page
    assert not re.search(r"tanh\(h1\)<b>", page)
    found = Ids()
    found.feed(page)
    assert len(found.ids) == len(set(found.ids)), "pictures of one page share no ids"


def test_two_pictures_in_one_notebook_share_no_ids() -> None:
    first, second = Ids(), Ids()
    first.feed(featlab.target("tanh(h1)")._repr_html_())
    second.feed(featlab.target("h1**2")._repr_html_())
    assert first.ids
    assert not {*first.ids} & {*second.ids}


def test_a_target_is_short_and_in_latex() -> None:
    target = featlab.target("He3(h1) + h2", noise=0.1)
    assert repr(target) == "target('He3(h1) + h2', noise=0.1)"
    assert eval(repr(target), {"target": featlab.target}) == target  # noqa: S307
    assert target.to_latex() == target.latex


def test_tables_and_bibliographies_for_papers(analysis: featlab.Analysis) -> None:
    explanation = featlab.Explanation(analysis)
    for text in (explanation.to_latex(), both().comparison.to_latex(), featlab.catalogue.to_latex()):
        rows = [line for line in text.splitlines() if line.endswith(r"\\")]
        assert len(rows) > 1
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1
        assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1
    keys = re.findall(r"@misc\{(\w+),", explanation.to_bibtex())
    assert len(keys) == len(set(keys)) > 3
    cited = {
        key for group in re.findall(r"\\cite\{([^}]*)\}", featlab.catalogue.to_latex()) for key in group.split(",")
    }
    assert cited == set(re.findall(r"@misc\{(\w+),", featlab.catalogue.to_bibtex()))
    assert featlab.catalogue["tanh"].to_bibtex().startswith("@misc{")
    assert "author = {{Ben Arous} and Gheissari and Jagannath}" in explanation.to_bibtex()
    assert "{SGD} learning on neural networks" in explanation.to_bibtex()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d^1.5", "$d^{1.5}$"),
        ("> d^12", "$> d^{12}$"),
        ("d log d", r"$d \log d$"),
        ("none", "none"),
        ("50% of h_1 & {x}", r"50\% of h\_1 \& \{x\}"),
        ("h1**2^3~", r"h1**2\textasciicircum{}3\textasciitilde{}"),
    ],
)
def test_texts_in_latex(text: str, expected: str) -> None:
    assert tex(text) == expected


def test_every_variable_says_what_it_is() -> None:
    for one in (run(3), run(None)):
        assert {"long_name", "units"} <= set.intersection(*(set(values.attrs) for values in one.variables.values()))
        assert one["direction"].values.tolist() == ["h1"]
        assert one["neuron"].values.tolist() == [1]
        assert "other_neuron" not in one.dims or one["other_neuron"].values.tolist() == [1]
        assert one["time"].attrs["units"] == "d steps"


def test_a_whole_study_has_no_single_picture() -> None:
    with pytest.raises(featlab.InvalidParameter, match="of a study choose a point"):
        xr.Dataset({"risk": ("dim", [1.0, 2.0])}).featlab.plot()
