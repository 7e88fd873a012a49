"""What an exhibit is: a claim, the study that tests it, what theory predicts, the verdict, the picture.

An exhibit only puts together what the library has: the studies say what is run, `prediction` calls the theory,
`verdict` hands both to `featlab.exhibits.checks`, `figure` hands both to `featlab.figures`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from featlab.citations import cite
from featlab.exhibits.documents import DOCUMENTS
from featlab.study.description import Study

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from featlab.exhibits.verdict import Finding

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
    """One study of an exhibit, and what a point of it is: "simulate", "predict", or "module:name" of a runner."""

    study: Study
    kind: str = "simulate"


Data = Mapping[str, "xr.Dataset"]


@dataclass(frozen=True)
class Exhibit:
    """A claim and everything that tests it.

    Attributes:
        id: its name on the command line, its file's name with dashes.
        title: a few words.
        claim: one sentence; what the source says.
        document: the document that makes the claim, a key of `DOCUMENTS`.
        papers: keys of `featlab.citations`, where the claim and its formulas are from.
        protocol: what is run and how it is judged, in a few sentences; conventions that differ from the source's.
        caption: what the lines and points of the figure are.
        studies: the named studies of a size. Their results come back under the same names.
        prediction: what theory says where the data were taken; it may be anything that the other two understand.
        verdict: the checks, each with its negative control, and the numbers.
        figure: theory as lines, simulation as points with error bars.
        animation: the frames of a moving picture, where motion tells the story.
        shows: the lines of `featlab explain` that it shows, of `TOPICS`.
    """

    id: str
    title: str
    claim: str
    document: str
    papers: tuple[str, ...]
    protocol: str
    caption: str
    studies: Callable[[Size], Mapping[str, Part]]
    prediction: Callable[[Data], Any]
    verdict: Callable[[Data, Any], Finding]
    figure: Callable[[Data, Any], Figure]
    animation: Callable[[Data, Any], Iterator[Figure]] | None = None
    shows: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.document not in DOCUMENTS:
            raise ValueError(f"exhibit {self.id}: unknown document {self.document!r}, expected one of {[*DOCUMENTS]}")
        cite(*self.papers)
        for topic in self.shows:
            if topic not in TOPICS:
                raise ValueError(f"exhibit {self.id}: unknown topic {topic!r}, expected some of {TOPICS}")
