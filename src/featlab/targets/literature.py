"""The catalogue: named targets of the literature with what the papers say of them, as data.

`catalogue` maps names to entries. A value that no source states is None; nothing here is computed by featlab.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import pi
from typing import ClassVar, NamedTuple

from featlab.citations import Citation, cite
from featlab.shown import Shown, written


class Stage(NamedTuple):
    """One stage of the grand staircase: how a batch of directions becomes learnable once the earlier ones are known.

    kind is "trivial", "easy" or "hard"; exponent the generative exponent of the stage (1, 2, or 3 and more); alpha its
    sample ratio n/d for weak recovery (0 if trivial, None if hard or not stated); dimension the number of directions.
    """

    kind: str
    exponent: int
    alpha: float | None
    dimension: int


def _trivial(dimension: int) -> Stage:
    return Stage("trivial", 1, 0.0, dimension)


def _easy(alpha: float | None, dimension: int) -> Stage:
    return Stage("easy", 2, alpha, dimension)


def _hard(exponent: int, dimension: int) -> Stage:
    return Stage("hard", exponent, None, dimension)


class SampleCosts(NamedTuple):
    """Samples as functions of the dimension d, written "d", "d log d", "d^1.5", or "none" if no number suffices."""

    one_pass_sgd: str
    csq_bound: str
    sq_bound: str
    batch_reuse: str
    one_giant_step: str
    random_features: str


@dataclass(frozen=True, repr=False)
class CatalogueEntry:
    """A target of the literature.

    Attributes:
        name: its key in the catalogue.
        text: the target in the language.
        words: what it is known for.
        citations: keys into `featlab.citations.CITATIONS`.
        noise: variance of the label noise in the source.
        rank: number of directions that matter.
        information_exponent: smallest degree of a non-zero Hermite coefficient.
        leap: rotation-invariant leap.
        coordinate_leap: leap in the coordinates as typed.
        generative_exponent: the largest over the stages.
        verdict: "TRIVIAL", "EASY" or "HARD", of the hardest stage.
        alpha_c: weak-recovery ratio of the first stage: 0 if trivial; None if hard or not stated.
        stages: the grand staircase.
        giant_steps: dimensions of the subspaces learned by giant steps with n = O(d); () if nothing is learned.
        costs: sample costs.
        residual_variance: (samples, width, variance left) after one giant step and a fitted second layer.
        tolerance: relative accuracy of the stated alphas.

    Examples:
        >>> import featlab
        >>> featlab.catalogue["absolute-value"].information_exponent
        2
    """

    name: str
    text: str
    words: str
    citations: tuple[str, ...]
    noise: float = 0.0
    rank: int | None = None
    information_exponent: int | None = None
    leap: int | None = None
    coordinate_leap: int | None = None
    generative_exponent: int | None = None
    verdict: str | None = None
    alpha_c: float | None = None
    stages: tuple[Stage, ...] | None = None
    giant_steps: tuple[int, ...] | None = None
    costs: SampleCosts | None = None
    residual_variance: tuple[tuple[str, str, float], ...] = field(default=(), repr=False)
    tolerance: float = 1e-3

    @property
    def papers(self) -> tuple[Citation, ...]:
        """Where it comes from."""
        return cite(*self.citations)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.text}, {self.verdict or 'not classified'}; {self.words}>"

    def to_bibtex(self) -> str:
        """Its papers."""
        return written("featlab.reports.papers:bibliography", self.papers)


_TWO_PARITY = pi**2 / 4


def _row(
    name: str,
    text: str,
    exponents: tuple[int, int],
    stages: list[Stage],
    giant_steps: list[int],
    costs: list[str],
    citations: str,
    words: str,
    coordinate_leap: int | None = None,
) -> CatalogueEntry:
    """One row; exponents are (information exponent, leap), and the verdict is that of the hardest stage."""
    hardest = max(stages, key=lambda stage: stage.exponent)
    return CatalogueEntry(
        name=name,
        text=text,
        words=words,
        citations=tuple(citations.split()),
        rank=sum(stage.dimension for stage in stages),
        information_exponent=exponents[0],
        leap=exponents[1],
        coordinate_leap=coordinate_leap,
        generative_exponent=hardest.exponent,
        verdict=hardest.kind.upper(),
        alpha_c=stages[0].alpha,
        stages=tuple(stages),
        giant_steps=tuple(giant_steps),
        costs=SampleCosts(*costs),
    )


_LINEAR = ["d", "d", "d", "d"]  # one-pass SGD, CSQ bound, SQ bound, batch reuse
_LOGARITHMIC = ["d log d", "d", "d", "d log d"]

# The classified targets: exponents, verdict, stages, giant steps and sample costs of each. alpha of the easy stages:
# 1/2 for phase retrieval; pi^2/4 for the two-parity; 0.593751 for h1*h2 (density K0(|y|)/pi); the others by quadrature
# of 1/alpha = top eigenvalue of E[G M G], G(y) = E[z z^T - I | y].
_CLASSIFIED = (
    _row("tanh", "tanh(h1)", (1, 1), [_trivial(1)], [1], [*_LINEAR, "d", "none"], "benarous2021 ba2022",
         "a smooth activation as link: learned by everything, exactly by no fixed features", 1),
    _row("relu", "relu(h1)", (1, 1), [_trivial(1)], [1], [*_LINEAR, "d", "none"], "benarous2021 ba2022",
         "the teacher of the weight-spike picture", 1),
    _row("sign", "sign(h1)", (1, 1), [_trivial(1)], [1], [*_LINEAR, "d", "none"], "benarous2021",
         "the perceptron", 1),
    _row("absolute-value", "abs(h1)", (2, 2), [_easy(0.5, 1)], [], [*_LOGARITHMIC, "d^2", "none"],
         "defilippis2025 troiani2024", "real phase retrieval: no linear part, threshold 1/2", 2),
    _row("phase-retrieval", "h1**2", (2, 2), [_easy(0.5, 1)], [], [*_LOGARITHMIC, "d^2", "d^2"],
         "defilippis2025 troiani2024", "real phase retrieval with intensities: threshold 1/2", 2),
    _row("He3", "He3(h1)", (3, 3), [_trivial(1)], [], ["d^2", "d^1.5", "d", "d", "d^3", "d^3"],
         "damian2024 dandi2024 lee2024", "hard for one-pass SGD, trivial once samples are used twice", 3),
    _row("He4", "He4(h1)", (4, 4), [_easy(0.64485, 1)], [], ["d^3", "d^2", "d", "d log d", "d^4", "d^4"],
         "damian2024 dandi2024 lee2024", "an even polynomial: generative exponent 2", 4),
    _row("generative-four", "h1**2*exp(-h1**2)", (4, 4), [_hard(4, 1)], [],
         ["d^3", "d^2", "d^2", "d^3", "d^4", "none"], "damian2024 arnaboldi2024",
         "generative exponent exactly 4: no transformation of the label helps", 4),
    _row("two-parity", "sign(h1*h2)", (2, 2), [_easy(_TWO_PARITY, 2)], [], [*_LOGARITHMIC, "d^2", "none"],
         "troiani2024 defilippis2025", "both directions at once, at alpha = pi^2/4", 2),
    _row("product-two", "h1*h2", (2, 2), [_easy(0.593751, 2)], [], [*_LOGARITHMIC, "d^2", "d^2"], "defilippis2025",
         "a saddle; threshold 0.59375", 2),
    _row("product-three", "h1*h2*h3", (3, 3), [_easy(2.56518, 3)], [], ["d^2", "d^1.5", "d", "d log d", "d^3", "d^3"],
         "defilippis2025 arnaboldi2024", "leap 3, yet easy: the size of the label tells about the squares", 3),
    _row("three-parity", "sign(h1*h2*h3)", (3, 3), [_hard(3, 3)], [], ["d^2", "d^1.5", "d^1.5", "d^2", "d^3", "none"],
         "troiani2024 damian2025", "hard: nothing of fewer than three directions shows in the label", 3),
    _row("linear-and-absolute", "h1 + abs(h2)", (1, 2), [_trivial(1), _easy(0.5, 1)], [1],
         [*_LOGARITHMIC, "d", "none"], "troiani2024 dandi2023", "the linear direction first, the even one after it",
         2),
    _row("staircase-quadratic", "h1 + 2*h2 + h1*h2 + 3*h2**2", (1, 1), [_trivial(2)], [1, 2], [*_LINEAR, "d", "d^2"],
         "troiani2024 dandi2023", "w1 + 2 w2 in the first step, everything in the second", 1),
    _row("opposite-teachers", "h1 + He2(h1) + h2 - He2(h2)", (1, 1), [_trivial(2)], [1, 2], [*_LINEAR, "d", "d^2"],
         "dandi2023", "w1 + w2 makes w1 - w2 linear: a staircase of two giant steps", 1),
    _row("equal-teachers", "h1 + He2(h1) + h2 + He2(h2)", (1, 2), [_trivial(1), _easy(0.5, 1)], [1],
         [*_LOGARITHMIC, "d", "d^2"], "dandi2023", "equal teachers: giant steps stop at w1 + w2", 1),
    _row("shared-factor", "h1 + h1*h2 + h1*h3", (1, 1), [_trivial(2)], [1, 2], [*_LINEAR, "d", "d^2"], "dandi2023",
         "only w1 and w2 + w3 matter", 1),
    _row("independent-factors", "h1 + h1*h2 + He3(h1)*h3", (1, 1), [_trivial(3)], [1, 3], [*_LINEAR, "d", "d^4"],
         "dandi2023", "H1 and H3 are independent: both other directions in the second step", 1),
    _row("long-staircase", "h1 + He3(h1)*h2 + He3(h2)*h3", (1, 1), [_trivial(3)], [1, 2, 3], [*_LINEAR, "d", "d^4"],
         "dandi2023 abbe2022", "one direction per giant step", 1),
    _row("grand-staircase-square", "h1**2 + sign(h1*h2*h3)", (2, 2), [_easy(0.575166, 1), _easy(_TWO_PARITY, 2)], [],
         [*_LOGARITHMIC, "d^2", "none"], "troiani2024 arnaboldi2024",
         "h1 at alpha = 0.575, then the other two as a two-parity at pi^2/4", 2),
    _row("grand-staircase", "He4(h1) + sign(h1*h2*h3)", (3, 3), [_easy(None, 1), _easy(_TWO_PARITY, 2)], [],
         ["d^2", "d^1.5", "d", "d log d", "d^3", "none"], "troiani2024 arnaboldi2024",
         "three degrees at once for one-pass SGD; with reused samples h1 first, then a two-parity", 3),
    _row("monomial-staircase", "h1 + h1*h2 + h1*h2*h3 + h1*h2*h3*h4", (1, 1), [_trivial(4)], [1, 2, 3, 4],
         [*_LINEAR, "d", "d^4"], "abbe2022 abbe2023", "the merged staircase: one new variable per term", 1),
)  # fmt: skip

# Hat function of Bietti et al., shifted by one; Phi and phi are the normal distribution function and density.
_HATS = "relu(h1 + 1) - 2*relu(h1) + 2*relu(h1 - 2) - relu(h1 - 3)"
_FIRST = "(0.5*erf(1/sqrt(2)) - 1/2 + 1 - erf(2/sqrt(2)) - 0.5 + 0.5*erf(3/sqrt(2)))"
_SECOND = "(exp(-1/2) - 2 + 2*exp(-2) - exp(-9/2))/sqrt(2*pi)/2"
_MEAN = f"(0.5*erf(1/sqrt(2)) + 2*erf(2/sqrt(2)) - 1.5*erf(3/sqrt(2)) + 2*{_SECOND})"
_CENTRED = f"{_HATS} - {_MEAN}"


def _entry(name: str, text: str, words: str, citations: str, **said: object) -> CatalogueEntry:
    return CatalogueEntry(name, text, words, tuple(citations.split()), **said)  # type: ignore[arg-type]


_SINGLE_INDEX = (
    _entry("linear", "h1", "the generalised linear model without a link", "benarous2021", rank=1,
           information_exponent=1, leap=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("noisy-perceptron", "sign(h1 + 0.5*xi1)", "a perceptron with noise inside the link", "troiani2024", rank=1,
           information_exponent=1, leap=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("sine", "sin(h1)", "a link for pictures of the feature spectrum after a giant step", "", rank=1,
           information_exponent=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("error-function", "erf(h1)", "a link whose one-step residual K* vanishes", "ba2022", rank=1,
           information_exponent=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("He2", "He2(h1)", "information and generative exponent 2", "damian2024 arnaboldi2024", rank=1,
           information_exponent=2, leap=2, coordinate_leap=2, generative_exponent=2, verdict="EASY", alpha_c=0.5),
    _entry("He5", "He5(h1)", "information exponent 5, generative exponent 1", "damian2024", rank=1,
           information_exponent=5, leap=5, coordinate_leap=5, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("He1-He3", "He1(h1) + He3(h1)", "a cubic with a linear part", "ba2022 mousavi2023", rank=1,
           information_exponent=1, leap=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("He2-He3", "He2(h1) + He3(h1)", "information exponent 2", "ba2022 mousavi2023", rank=1,
           information_exponent=2, leap=2, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("He1-He2-He3", "He1(h1) + He2(h1)/sqrt(2) + He3(h1)/sqrt(6)", "equal weight in three degrees",
           "mousavi2023 mei2022", rank=1, information_exponent=1, leap=1, generative_exponent=1, verdict="TRIVIAL"),
    _entry("steep-tanh", "tanh(3*h1)", "the outer link of the hierarchical targets", "dandi2025", rank=1,
           information_exponent=1, leap=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0),
    _entry("damian-quartic", "He2(h1)/2 + He4(h1)/(4*sqrt(3))", "unit variance, learned after d^2 samples",
           "damian2022", noise=1.0, rank=1, information_exponent=2, leap=2, generative_exponent=2, verdict="EASY"),
    _entry("damian-transfer-source", "He2(h1)/2 + He3(h1)/sqrt(12)", "pretraining target of the transfer experiment",
           "damian2022", noise=1.0, rank=1, information_exponent=2, leap=2),
    _entry("damian-transfer", "He3(h1)/sqrt(6)", "the target that is transferred to", "damian2022", noise=1.0, rank=1,
           information_exponent=3, leap=3, generative_exponent=1),
    _entry("hats", _CENTRED, "piecewise linear teacher of mean 0 and information exponent 1", "bietti2022",
           noise=1e-4, rank=1, information_exponent=1, leap=1),
    _entry("hats-two", f"{_CENTRED} - {_FIRST}*h1", "the same without its linear part: information exponent 2",
           "bietti2022", noise=1e-4, rank=1, information_exponent=2, leap=2),
    _entry("hats-three", f"{_CENTRED} - {_FIRST}*h1 - {_SECOND}*He2(h1)", "without linear and quadratic part: "
           "information exponent 3, with a third coefficient of only -0.016", "bietti2022", noise=1e-4, rank=1,
           information_exponent=3, leap=3),
    _entry("hats-centred", "relu(h1 + 2) - 2*relu(h1 + 1) + 2*relu(h1 - 1) - relu(h1 - 2)",
           "the odd, unshifted teacher", "bietti2022", rank=1, information_exponent=1, leap=1),
)  # fmt: skip

_LEAPS = (
    _entry("boolean-leap-two", "h1 + h2 + h2*h3*h4", "leap 2 in the coordinates as typed", "abbe2023",
           coordinate_leap=2, information_exponent=1),
    _entry("boolean-leap-four", "h1 + h1*h2*h3 + h2*h3*h4*h5*h6*h7", "leap 4 in the coordinates as typed", "abbe2023",
           coordinate_leap=4, information_exponent=1, rank=7),
    _entry("boolean-leap-three", "h1*h2*h3 + h2*h3*h4", "leap 3; the directions are h1 + h4, h2 and h3", "abbe2023",
           coordinate_leap=3, information_exponent=3, rank=3),
    _entry("hermite-products", "He1(h1) + He1(h1)*He2(h2) + He1(h1)*He2(h2)*He3(h3)", "leap max(1, 2, 3)", "abbe2023",
           coordinate_leap=3, information_exponent=1, rank=3),
    _entry("hermite-squares", "He2(h1) + He2(h2) + He2(h3) + He3(h1)*He8(h3)", "leap 2 in spite of degree 11",
           "abbe2023", coordinate_leap=2, information_exponent=2, rank=3),
    _entry("rotated-leap", "h1 + h2 + h1*h2", "leap 1 as typed, 2 after rotation to h1 + h2, h1 - h2", "abbe2023",
           coordinate_leap=1, leap=2, information_exponent=1, rank=2, giant_steps=(1,)),
    _entry("square-and-product", "He2(h1) + h1*h2", "no linear part: leap 2", "dandi2023 abbe2023", leap=2,
           information_exponent=2, rank=2, giant_steps=()),
    _entry("degenerate-staircase-three", "h1 + h2 + h3 + h1*h2*h3", "degenerate: the risk stays away from zero",
           "abbe2022", coordinate_leap=1, information_exponent=1, rank=3),
    _entry("perturbed-staircase-three", "h1 + 0.99*h2 + 1.01*h3 + h1*h2*h3", "the perturbed version is learned",
           "abbe2022", coordinate_leap=1, information_exponent=1, rank=3),
    _entry("degenerate-staircase-pairs", "h1 + h2 + h1*h3 + h2*h4", "degenerate: the risk stays away from zero",
           "abbe2022", coordinate_leap=1, information_exponent=1, rank=4),
    _entry("degenerate-staircase-twins", "h1 + h1*h2 + h3 + h3*h4", "degenerate: the risk stays away from zero",
           "abbe2022", coordinate_leap=1, information_exponent=1, rank=4),
    _entry("merged-staircase-four", "h1 + h1*h2 + h3 + h1*h2*h3*h4", "a merged staircase that is learned", "abbe2022",
           coordinate_leap=1, information_exponent=1, rank=4),
    _entry("merged-staircase-chain", "h1 + h1*h2 + h2*h3 + h3*h4 + h1*h2*h3*h4", "a merged staircase that is learned",
           "abbe2022", coordinate_leap=1, information_exponent=1, rank=4),
)  # fmt: skip

_MULTI_INDEX = (
    _entry("squared-norm", "(h1**2 + h2**2 + h3**2 + h4**2)/4", "all four directions at alpha = 2", "defilippis2025",
           rank=4, information_exponent=2, leap=2, generative_exponent=2, verdict="EASY", alpha_c=2.0,
           stages=(_easy(2.0, 4),)),
    _entry("four-parity", "sign(h1*h2*h3*h4)", "generative exponent 4", "troiani2024 damian2025", rank=4,
           information_exponent=4, leap=4, generative_exponent=4, verdict="HARD", stages=(_hard(4, 4),)),
    _entry("committee", "(relu(h1) + relu(h2) + relu(h3))/3", "a committee machine; its sources add label noise",
           "troiani2024", rank=3, information_exponent=1),
    _entry("squares-difference", "h1 + h2 + h1**2 - h2**2", "w1 + w2 first, then w1 - w2", "dandi2023", rank=2,
           information_exponent=1, leap=1, giant_steps=(1, 2)),
    _entry("giant-regimes", "h1 + He2(h2) + He2(h1)*h2 + He4(h1)*He2(h2)*h3 + He2(h2)*He2(h3)",
           "total variance 57; what is left of it depends on samples and width", "dandi2023", rank=3,
           information_exponent=1, leap=1, giant_steps=(1, 2, 3),
           residual_variance=(("d", "1", 56.0), ("d", "d", 54.0), ("d^2", "1", 52.0), ("d^2", "d", 4.0),
                              ("d^2", "d^2", 0.0))),
    _entry("slope-quarter", "(4*h1 + h1**2 + h2)/2", "the gradient stays on a line of slope 1/4", "dandi2023", rank=2,
           information_exponent=1),
    _entry("rotating-gradient", "(h1 + h1**2 + h2 - h2**2)/2", "step one on slope 1, then towards (1, -1)", "dandi2023",
           rank=2, information_exponent=1, leap=1, giant_steps=(1, 2)),
    _entry("one-step-curve", "(He1(h1) + He2(h1)/2 + He4(h1)/24 + He1(h2) + He2(h2)/2 + He4(h2)/24)/2",
           "equal quartic teachers of the one-step learning curve", "dandi2023", rank=2, information_exponent=1),
    _entry("reuse-mixed", "tanh(h1 + He3(h2))", "two linear directions in one: the dynamical mean-field figure",
           "dandi2024", rank=2, information_exponent=1),
    _entry("short-staircase", "h1 + h1*h2", "one-pass SGD learns it as well", "dandi2024 arnaboldi2024", rank=2,
           information_exponent=1, leap=1, generative_exponent=1, verdict="TRIVIAL", alpha_c=0.0,
           stages=(_trivial(2),)),
    _entry("blocked-by-symmetry", "tanh(h1) + tanh(h2)", "reuse cannot separate equal directions", "dandi2024", rank=2,
           information_exponent=1),
    _entry("linear-and-cubic", "h1 + He3(h2)", "the cubic direction needs reuse", "arnaboldi2024", rank=2,
           information_exponent=1, leap=3),
    _entry("linear-times-cubic", "h1 + h1*He3(h2)", "h2 appears with degree 3 once h1 is known", "arnaboldi2024",
           rank=2, information_exponent=1, leap=3),
    _entry("staircase-five-square", "He2(h1) + 5*sign(h1*h2*h3)", "the published figures weigh the sign by 5",
           "arnaboldi2024", rank=3, information_exponent=2, leap=2, generative_exponent=2, verdict="EASY"),
    _entry("staircase-five", "He4(h1) + 5*sign(h1*h2*h3)", "the published figures weigh the sign by 5",
           "arnaboldi2024", rank=3, information_exponent=3, leap=3, generative_exponent=2, verdict="EASY"),
    _entry("parity-five", "5*sign(h1*h2*h3)", "the baseline that is not learned", "arnaboldi2024", rank=3,
           information_exponent=3, leap=3, generative_exponent=3, verdict="HARD"),
    _entry("damian-two-directions", "(He2(h1) + He2(h2))/sqrt(8) + sqrt(0.5)*He2(h1)*He2(h2)/2 + h1/2",
           "two directions behind a full-rank Hessian, variance 1.25", "damian2022", rank=2, information_exponent=1),
)  # fmt: skip


class Catalogue(Mapping[str, CatalogueEntry], Shown):
    """The entries by name, read-only."""

    _picture: ClassVar[str] = "featlab.reports.notebook:catalogue_picture"
    _page: ClassVar[str] = "featlab.reports.notebook:catalogue_page"

    def __init__(self, *entries: CatalogueEntry) -> None:
        self._entries = {entry.name: entry for entry in entries}
        if len(self._entries) != len(entries):
            raise ValueError("two entries of the catalogue have the same name")

    def __getitem__(self, name: str) -> CatalogueEntry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<catalogue of {len(self)} targets: {', '.join(list(self)[:4])}, ...>"

    def to_latex(self) -> str:
        """A table of all targets for a paper; it needs the package booktabs."""
        return written("featlab.reports.papers:catalogue_latex", self)

    def to_bibtex(self) -> str:
        """The papers of all targets."""
        return written("featlab.reports.papers:bibliography", [paper for one in self.values() for paper in one.papers])


catalogue = Catalogue(*_CLASSIFIED, *_SINGLE_INDEX, *_LEAPS, *_MULTI_INDEX)
"""The targets of the papers, by name, with what each paper says of them."""
