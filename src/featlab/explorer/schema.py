"""The requests and answers of the API, version 1: what FastAPI checks and OpenAPI describes.

Answers have more keys than are described; a described one is never changed or removed within a version.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_TEXT, _LIST, _FIELDS = 2000, 200, 64

Text = Annotated[str, Field(max_length=_TEXT)]
Name = Annotated[str, Field(max_length=64)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Number = bool | int | Finite
Numbers = Annotated[list[Number | Annotated[list[Number], Field(max_length=_LIST)] | Name], Field(max_length=_LIST)]
Value = Text | Number | Numbers | None
Experiment = Annotated[dict[Name, Value], Field(max_length=_FIELDS)]
Record = dict[str, Any]


class Asked(BaseModel):
    """A request; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class Parse(Asked):
    text: Text


class Analyse(Asked):
    target: Text
    noise: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    spike: Finite | None = None
    alignment: Finite | Annotated[list[Finite], Field(max_length=32)] | None = None
    dim: Annotated[float, Field(allow_inf_nan=False)] | None = None


class Link(Asked):
    target: Text
    axes: Annotated[list[Name], Field(min_length=1, max_length=2)]
    fixed: Annotated[dict[Name, Finite], Field(max_length=_FIELDS)] = {}
    resolution: Annotated[int, Field(ge=2, le=400)] = 160
    reach: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] | None = None


class Question(Asked):
    experiment: Experiment


class Predict(Question):
    draft: bool = False


class TakeHome(Asked):
    what: Literal["explain", "predict", "simulate", "compare", "race"]
    experiment: Experiment


class Sweep(Asked):
    experiment: Experiment
    ratios: Annotated[list[Annotated[float, Field(gt=0, allow_inf_nan=False)]], Field(min_length=1, max_length=64)]
    simulate: Annotated[int, Field(ge=0, le=50)] = 0


class Race(Asked):
    target: Text
    noise: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    dim: Annotated[int, Field(ge=1, le=10**6)] = 500
    ratios: Text | Annotated[list[Finite], Field(max_length=64)] = "0.5:16"
    seeds: Annotated[int, Field(ge=1, le=64)] = 8
    budget: Annotated[float, Field(gt=0, le=540)] = 60.0
    entrants: Annotated[list[Name], Field(max_length=32)] | None = None
    key: Annotated[int, Field(ge=0, lt=2**64)] = 0
    theory: bool = True


class Answer(BaseModel):
    """An answer, in a version of the schema."""

    model_config = ConfigDict(extra="allow")

    schema_: Annotated[Literal["featlab.explorer/1"], Field(alias="schema")]


class Error(BaseModel):
    kind: str
    message: str
    parameter: str | None
    columns: list[int] | None
    suggestions: list[str]


class Refused(Answer):
    error: Error


class Health(Answer):
    version: str
    started: str


class Parsed(Answer):
    text: str
    shown: str
    latex: str
    mathml: str
    rank: int
    hidden: int
    degree: int | None
    typed_variables: list[str]
    directions: list[list[float]]
    remarks: list[str]
    doubts: list[str]


class Paper(BaseModel):
    citation: str
    title: str
    link: str | None


class CatalogueTarget(BaseModel):
    name: str
    text: str
    noise: float
    words: str
    verdict: str | None
    papers: list[Paper]


class Catalogue(Answer):
    targets: list[CatalogueTarget]


class FieldOf(BaseModel):
    name: str
    group: Literal["experiment", "learner", "student", "readout"]
    kind: Literal["number", "integer", "numbers", "step", "choice", "flag", "text"]
    choices: list[str]
    takes: str
    required: bool
    default: Any
    meaning: str


class LearnerOf(BaseModel):
    name: str
    does: str
    words: str
    samples_and_times: str
    clock: str | None
    papers: list[Paper]
    predictable: bool
    example: str | None
    experiment: Record
    fields: list[FieldOf]


class EntrantOf(BaseModel):
    name: str
    label: str
    settings: str


class Learners(Answer):
    fields: list[FieldOf]
    learners: list[LearnerOf]
    entrants: list[EntrantOf]


class ExhibitOf(BaseModel):
    id: str
    title: str
    claim: str
    document: str
    protocol: str
    caption: str
    papers: list[Paper]
    shows: list[str]
    target: str | None
    experiment: Record | None


class Exhibits(Answer):
    exhibits: list[ExhibitOf]


class Notice(BaseModel):
    kind: str
    words: str


class ExponentLine(BaseModel):
    line: str
    name: str
    symbol: str
    value: str
    meaning: str
    papers: list[Paper]
    exhibits: list[str]


class StaircaseLine(BaseModel):
    line: str
    learner: str
    rows: list[list[str]]
    kinds: list[str | None]
    papers: list[Paper]
    exhibits: list[str]


class CostLine(BaseModel):
    line: str
    name: str
    samples: str
    at_dim: str
    status: str
    bound: bool
    meaning: str
    papers: list[Paper]
    exhibits: list[str]


class CostGroup(BaseModel):
    heading: str
    costs: list[CostLine]


class Lines(BaseModel):
    setting: str
    verdict: str
    reason: str
    exhibits: list[str]
    notices: list[Notice]
    exponents: list[ExponentLine]
    staircases: list[StaircaseLine]
    condition: str
    costs: list[CostGroup]
    papers: list[Paper]


class CostDetails(BaseModel):
    algorithm: str
    samples: str
    exponent: float | None
    power_of_log_d: float
    more_than: bool
    log10_samples: float | None
    constant: Record | None
    status: str
    meaning: str
    papers: list[Record]


class AgainstDim(BaseModel):
    dims: list[int]
    log10_samples: dict[str, list[float] | None]


class Analysed(Answer):
    target: str
    rank: int
    noise: float
    information_exponent: int | None
    leap: int | None
    generative_exponent: int | None
    verdict: str
    alpha_c: float | None
    giant_steps: list[list[list[float]]]
    staircase: list[Record]
    grand_staircase: list[Record]
    sample_cost: dict[str, str]
    hermite_energies: list[float]
    variance: float
    sample_cost_details: dict[str, CostDetails]
    exhibits: dict[str, list[str]]
    mathml: str
    lines: Lines
    against_dim: AgainstDim


class LinkAxis(BaseModel):
    name: str
    values: list[float]


class Linked(Answer):
    axes: list[LinkAxis]
    values: list[float | None] | list[list[float | None]]
    fixed: dict[str, float]


class Quantity(BaseModel):
    axes: list[str]
    meaning: str | None
    values: Any


class Recovery(BaseModel):
    """How much of the directions is found, 1 being all: the curves of a picture, (time, place)."""

    names: list[str]
    column: str
    words: str
    chance: float
    values: list[list[float | None]]


class Dataset(BaseModel):
    model_config = ConfigDict(extra="allow")

    target: str
    learner: str
    dim: int
    time: list[float]
    data: dict[str, Quantity]
    recovery: Recovery


class Predicted(Answer):
    prediction: Dataset
    draft: bool


class Estimated(Answer):
    seconds: float


class TakenHome(Answer):
    command: str
    python: str
    json_: Annotated[Record, Field(alias="json")]


class Controlled(Answer):
    job: str


class Queued(Answer):
    """Event `queued` of a stream."""

    job: str
    place: int


class Started(Answer):
    """Event `started` of a stream."""

    seconds: float | None


class SeedDone(Answer):
    """Event `seed` of a simulation."""

    seed: int
    simulation: Dataset


class Agreed(Answer):
    """Event `agreement` of a simulation."""

    agreement: Record | None
    reason: str


class Point(Answer):
    """Event `point` of a sweep."""

    ratio: float
    samples: int


class Standings(Answer):
    """Event `standings` of a race."""

    race: Record


class Step(Answer):
    """Event `step` of a diagnosis."""

    words: str


class Diagnosed(Answer):
    """Event `done` of a diagnosis."""

    diagnosis: Record
    words: str
    page: str


EVENTS: dict[str, type[Answer]] = {
    "queued": Queued,
    "started": Started,
    "seed": SeedDone,
    "agreement": Agreed,
    "point": Point,
    "standings": Standings,
    "step": Step,
    "error": Refused,
}
