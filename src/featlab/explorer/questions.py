"""What workers answer at once: texts, links, analyses, predictions, lists. Tasks are functions of plain data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from featlab.citations import Citation
from featlab.errors import InvalidParameter
from featlab.experiments.experiment import Experiment
from featlab.experiments.text import COMMON_NAMES, experiment_from_text
from featlab.experiments.typed import call, command_line, command_of, python_of
from featlab.learners.fields import read_number, read_numbers
from featlab.learners.guide import RANDOM_FEATURES
from featlab.learners.registry import learner_names
from featlab.reports.mathml import mathml_of
from featlab.targets import Target, target
from featlab.targets.inputs import spike_in_words

Said = Mapping[str, Any]

_MOST_ON_A_PLANE = 160
_OF_TARGET = ("target", "noise", "spike", "alignment")
_SETTINGS = {"explain": ("dim",), "race": ("dim", "ratios", "seeds", "budget", "entrants", "key", "theory")}


def parse(said: Said) -> dict[str, Any]:
    """What a text means."""
    what = target(said["text"])
    return {
        "text": what.text,
        "shown": what.shown,
        "latex": what.latex,
        "mathml": mathml_of(what.latex),
        "rank": what.rank,
        "hidden": what.hidden,
        "degree": what.degree,
        "typed_variables": list(what.typed_variables),
        "directions": what.directions.tolist(),
        "remarks": list(what.remarks),
        "doubts": list(what.doubts),
    }


def link(said: Said) -> dict[str, Any]:
    """The mean label along one direction, or over two; the others are held."""
    from featlab.figures.link import REACH, SLICE_AT, broken_at_jumps, mean_label
    from featlab.reports.run_records import plain

    what = target(said["target"])
    names = what.names[: what.rank]
    held = {name: said["fixed"].get(name, SLICE_AT) for name in names if name not in said["axes"]}
    for name in (*said["axes"], *said["fixed"]):
        if name not in names:
            raise InvalidParameter("axes", name, f"directions of the target: {', '.join(names)}")
    if len(said["axes"]) == 2 and said["resolution"] > _MOST_ON_A_PLANE:
        raise InvalidParameter("resolution", said["resolution"], f"at most {_MOST_ON_A_PLANE} for two axes")
    reach = said["reach"] or REACH
    axis = np.linspace(-reach, reach, said["resolution"])
    grid = np.meshgrid(*[axis] * len(said["axes"]))  # rows are the second direction
    fields = np.empty((*grid[0].shape, what.rank))
    for place, name in enumerate(names):
        fields[..., place] = grid[said["axes"].index(name)] if name in said["axes"] else held[name]
    values = mean_label(what, fields)
    if len(said["axes"]) == 1:
        values = broken_at_jumps(what, fields, values)
    axes = [{"name": name, "values": axis.tolist()} for name in said["axes"]]
    return {"axes": axes, "values": plain(values), "fixed": held}


def analyse(said: Said) -> dict[str, Any]:
    """What `featlab explain --json` prints, and what its screen says, line by line."""
    from featlab.reports.statements import state

    explanation = _explained(said)
    record, lines = explanation.to_dict(), state(explanation.analysis, explanation.dim)
    shown_by = record["exhibits"]

    def line(one: Any) -> dict[str, Any]:
        more = {"papers": _papers(one.papers)} if hasattr(one, "papers") else {}
        return {**asdict(one), **more, "exhibits": shown_by.get(one.line, [])}

    words = {
        "setting": lines.setting,
        "verdict": lines.verdict,
        "reason": lines.reason,
        "exhibits": shown_by.get("verdict", []),
        "notices": [{"kind": kind, "words": words} for kind, words in lines.notices],
        "exponents": [{**line(one), "name": one.name} for one in lines.exponents],
        "staircases": [line(one) for one in lines.climbs],
        "condition": lines.condition,
        "costs": [{"heading": heading, "costs": [line(one) for one in many]} for heading, many in lines.costs.items()],
        "papers": _papers(lines.papers),
    }
    against = _costs_against_dim(explanation.analysis)
    return {**record, "mathml": mathml_of(explanation.target.latex), "lines": words, "against_dim": against}


def _costs_against_dim(analysis: Any) -> dict[str, Any]:
    """log10 of the samples of every cost at dimensions from 10 to 10^6, with the constant where it is known."""
    from featlab.reports.statements import log10_samples

    dims = np.unique(np.round(10.0 ** (1 + np.arange(101) / 20)).astype(int)).tolist()
    costs = {}
    for line, cost in analysis.sample_cost.items():
        constant = 0.0 if cost.constant is None else math.log10(cost.constant.value)
        sizes = [size + constant for dim in dims if (size := log10_samples(cost, dim)) is not None]
        costs[line] = sizes or None
    return {"dims": dims, "log10_samples": costs}


def page(said: Said) -> dict[str, Any]:
    """The self-contained page of an explanation."""
    return {"page": _explained(said).to_html()}


def predict(said: Said) -> dict[str, Any]:
    """What `featlab predict --json` prints, and what of the directions is found. A draft has fewer digits where that
    is quicker, and leaves out the Gram matrix, which no picture shows."""
    from featlab.theory.prediction import predict_experiment

    found = predict_experiment(experiment(said["experiment"]), draft=said["draft"])
    record, draft = dataset_record(found), "draft" in found.attrs
    if draft:
        record["data"].pop("gram", None)
    return {"prediction": record, "draft": draft}


def take_home(said: Said) -> dict[str, Any]:
    """What to type to have the same without the page."""
    what, given = said["what"], {name: value for name, value in said["experiment"].items() if value is not None}
    if what in ("predict", "simulate", "compare"):
        asked = experiment(given)
        function = "predict_and_simulate" if what == "compare" else str(what)
        more = {"command": command_of(what, asked), "python": python_of(function, asked)}
    else:
        settings = {name: value for name, value in given.items() if name not in _OF_TARGET}
        for name, value in settings.items():
            if name not in _SETTINGS[what]:
                raise InvalidParameter(name, value, f"nothing of that name for {what}")
        more = {"command": command_line(what, given), "python": call(what, _target(given), **settings)}
    return {**more, "json": {"what": what, "experiment": given}}


def catalogue(said: Said) -> dict[str, Any]:
    """The targets of the literature."""
    from featlab.targets import catalogue as targets

    return {
        "targets": [
            {
                "name": one.name,
                "text": one.text,
                "noise": one.noise,
                "words": one.words,
                "verdict": one.verdict,
                "papers": _papers(one.papers),
            }
            for one in targets.values()
        ]
    }


def exhibits(said: Said) -> dict[str, Any]:
    """The claims of the literature that are put to the test, each with an experiment of its studies."""
    from featlab.exhibits import all_exhibits

    return {
        "exhibits": [
            {
                "id": one.id,
                "title": one.title,
                "claim": one.claim,
                "document": one.document.title,
                "protocol": one.protocol,
                "caption": one.caption,
                "papers": _papers(one.sources),
                "shows": list(one.shows),
                **_opened(one),
            }
            for one in all_exhibits()
        ]
    }


def experiment(said: Mapping[str, Any]) -> Experiment:
    """The experiment of a request. A class of any module is refused: its import would run what a stranger names."""
    name = said.get("learner")
    if isinstance(name, str) and ":" in name:
        raise InvalidParameter("learner", name, f"one of {', '.join([*learner_names(), RANDOM_FEATURES])}")
    return experiment_from_text(said)


def dataset_record(dataset: Any) -> dict[str, Any]:
    """A prediction, or one seed of a simulation, as plain data; with `recovery`, the curves that its picture shows."""
    from featlab.comparison.recovery import recovery
    from featlab.reports.run_records import plain, simulation_record

    found = recovery(dataset if "seed" in dataset.dims else dataset.expand_dims("seed"))
    shown = {"names": list(found.names), "column": found.column, "words": found.words, "chance": found.chance}
    return {**simulation_record(dataset), "recovery": {**shown, "values": plain(found.values[0])}}


def _target(said: Said) -> Target:
    spike, alignment = said.get("spike"), said.get("alignment")
    if isinstance(spike, str):
        spike = read_number("spike", spike)
    if isinstance(alignment, str):
        alignment = read_numbers("alignment", alignment)
    noise = said.get("noise") or 0.0
    if isinstance(noise, str):
        noise = read_number("noise", noise)
    return target(said["target"], noise=noise, inputs=spike_in_words(spike, alignment))


def _explained(said: Said) -> Any:
    from featlab.reports import explain

    return explain(_target(said), dim=said.get("dim"))


def _papers(papers: Iterable[Citation]) -> list[dict[str, Any]]:
    return [{"citation": one.short, "title": one.title, "year": one.year, "link": one.link} for one in papers]


def _opened(exhibit: Any) -> dict[str, Any]:
    """The first experiment of its quick studies; and its target, which others may have alone."""
    from featlab.exhibits.protocol import Size
    from featlab.runners.questions import known_parameters

    points = [
        (part.kind, point)
        for part in exhibit.studies(Size.QUICK).values()
        for point in itertools.islice(part.study.points(), 1)
    ]
    run = next((point for kind, point in points if kind in ("simulate", "predict")), None)
    texts = [point["target"] for _, point in points if isinstance(point.get("target"), str)]
    known = None if run is None else known_parameters(run.get("learner")) | {*COMMON_NAMES}
    opened = None if run is None or known is None else {name: run[name] for name in run if name in known}
    return {"target": next(iter(texts), None), "experiment": opened}
