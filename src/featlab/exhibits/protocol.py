"""What an exhibit is: a claim, the studies that test it, what theory predicts, the checks, the numbers, the picture.

An exhibit only declares: the studies say what is run, `theory` asks the theory where that was run, checks, numbers and
picture name what they speak of. Importing one is cheap: `featlab explain` reads the titles of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from featlab.citations import Citation, cite
from featlab.exhibits.combined import AnyCheck
from featlab.exhibits.documents import Document
from featlab.exhibits.drawn import AnyFigure
from featlab.exhibits.reading import Data, View
from featlab.exhibits.values import AnyNumber
from featlab.study.description import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What `featlab explain` says of a target, line by line; an exhibit names the lines that it shows.
TOPICS = (
    "verdict",
    "information_exponent",
    "leap",
    "generative_exponent",
    "critical_ratio",
    "giant_staircase",
    "correlation_staircase",
    "grand_staircase",
    "one_pass_sgd",
    "csq_bound",
    "sq_bound",
    "amp",
    "batch_reuse",
    "one_giant_step",
    "one_gradient_step",
    "random_features",
    "kernels",
    "normalised_flow",
    "residuals",
)


class Size(StrEnum):
    """How large a run is: seconds to a minute on two cores, the source's own sizes, or beyond them."""

    QUICK = "quick"
    PAPER = "paper"
    LARGE = "large"


@dataclass(frozen=True)
class Part:
    """One study of an exhibit.

    Attributes:
        study: its points.
        kind: what a point is: "simulate", "predict", "one-step", "one-step-readout", or "module:name" of a runner.
        words: what it is called in statements, labels and names of numbers, where {words} stands.
        facts: what else may be said of it there, by name, such as an exponent that is claimed; no part of its points.
        names: parameter -> what its values are called, such as {"width": {1: "one neuron"}}, for {width_words}.
    """

    study: Study
    kind: str = "simulate"
    words: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)


def no_theory(data: Data) -> Data:
    """For claims that only say what is larger, or what is found."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A claim and everything that tests it.

    Attributes:
        id: its name on the command line; its file's name with dashes, or that of its entry point.
        title: a few words.
        claim: one sentence; what the source says.
        document: the document that makes the claim.
        papers: where the claim and its formulas are from: keys of `featlab.citations`, or citations of your own.
        protocol: what is run and how it is judged, in a few sentences; conventions that differ from the source's.
        caption: what the lines and points of the figure are.
        studies: the named studies of a size. Their results come back under the same names.
        theory: what is predicted: for each study a dataset with the names and axes of the measurement, at the same
            labels or more (a finer grid for a line); axes along which nothing changes may be left out. Other names
            are for predictions that were not measured.
        checks: statement -> what puts it to the test, with its negative control; several for different studies.
        looks: at how many runs it is looked at most: while a check cannot tell, the repeats of its studies are doubled.
            The chance of a false alarm is at most so many times that of one look.
        numbers: name -> a number, or several, in the table of predicted and measured ones.
        remarks: what else a reader must know.
        settled: what of protocol or rules was settled after first runs were seen, and why.
        figure: title -> panel: theory as lines, simulation as points with error bars.
        animation: the frames of a moving picture, where motion tells the story.
        shows: the lines of `featlab explain` that it shows, of `TOPICS`.
    """

    id: str
    title: str
    claim: str
    document: Document
    papers: tuple[str | Citation, ...]
    protocol: str
    caption: str
    studies: Callable[[Size], Mapping[str, Part]]
    theory: Callable[[Data], Data] = no_theory
    checks: Mapping[str, AnyCheck | Sequence[AnyCheck]] = field(default_factory=dict)
    looks: int = 1
    numbers: Mapping[str, AnyNumber | Sequence[AnyNumber]] = field(default_factory=dict)
    remarks: str | Sequence[str | Callable[[View], str]] = ()
    settled: str = ""
    figure: AnyFigure
    animation: Callable[..., Iterator[Figure]] | None = None
    shows: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        cite(*(paper for paper in self.papers if isinstance(paper, str)))
        for topic in self.shows:
            if topic not in TOPICS:
                raise ValueError(f"exhibit {self.id}: unknown topic {topic!r}, expected some of {TOPICS}")

    @property
    def sources(self) -> list[Citation]:
        """The papers, those of `featlab.citations` looked up."""
        return [cite(paper)[0] if isinstance(paper, str) else paper for paper in self.papers]
