"""`explain`: from a text, an expression or a target to everything that can be said of it before any data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from numbers import Real
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from featlab.analysis import Analysis, analyse
from featlab.analysis.budget import DEFAULT_BUDGET, Tell
from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.reports.plain import plain_text
from featlab.reports.records import explanation_record
from featlab.reports.terminal import render
from featlab.reports.verdict_sentence import verdict_sentence
from featlab.shown import Shown
from featlab.targets import Target, target
from featlab.targets.inputs import Inputs

if TYPE_CHECKING:  # it runs simulations, which most explanations do not ask for
    from featlab.comparison import Demonstration
    from featlab.racing import Race

_LARGEST_DIM = 10**15
_DEMONSTRATION_SECONDS = 10.0


@dataclass(frozen=True)
class Explanation(Shown):
    """What can be learned of a target, by which algorithm, from how much data.

    Print it, show it in a notebook, or take it as data (`to_dict`) or as a self-contained page (`to_html`).

    Attributes:
        analysis: every number, with its numerical error.
        dim: the dimension at which sample costs are also given as numbers, or None.
        demonstration: theory over simulation of the cheapest algorithm that learns it, if that was asked for.

    Examples:
        >>> import featlab
        >>> explanation = featlab.explain("He3(h1)")
        >>> explanation.analysis.information_exponent, explanation.to_html().startswith("<!doctype html>")
        (3, True)
    """

    analysis: Analysis
    dim: int | None = None
    demonstration: Demonstration | None = None

    _picture: ClassVar[str] = "featlab.reports.notebook:explanation_picture"
    _page: ClassVar[str] = "featlab.reports.notebook:explanation_page"

    def demonstrated(self, budget: float = _DEMONSTRATION_SECONDS, tell: Tell | None = None) -> Explanation:
        """The same with a demonstration, which takes at most about so many seconds; `tell` hears of its phases."""
        begin = monotonic()
        from featlab.comparison.demonstration import demonstrate  # JAX comes with it, which takes its time, too

        return replace(self, demonstration=demonstrate(self.analysis, budget, tell, begin))

    def raced(self, race: Race) -> Explanation:
        """The same with the constants of sample costs that a race of the target has measured; at its dimension, unless
        another was asked for: the power of d carries them there."""
        from featlab.racing.constants import costs_with_constants

        costs = costs_with_constants(self.analysis.sample_cost, race)
        return replace(self, analysis=replace(self.analysis, sample_cost=costs), dim=self.dim or race.course.dim)

    @property
    def target(self) -> Target:
        return self.analysis.target

    @property
    def verdict_sentence(self) -> str:
        """The verdict, its critical sample ratio and what it means, in one sentence."""
        return verdict_sentence(self.analysis)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for `json.dumps`: the object that `featlab explain --json` prints."""
        return explanation_record(self.analysis, self.dim, self.demonstration)

    def to_html(self, gallery: str | None = None) -> str:
        """A self-contained page with pictures and tables; `gallery` is where the pages of exhibits lie, to link to."""
        from featlab.reports.page import page

        return page(self.analysis, self.dim, self.demonstration, gallery)

    def __rich__(self) -> Any:
        return render(self.analysis, self.dim, self.demonstration)

    def text(self, width: int = 80) -> str:
        """The screen as plain text of that width."""
        return plain_text(self, width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Explanation of {self.target.shown!r}: {self.verdict_sentence}>"

    def to_latex(self) -> str:
        """A table of exponents and sample costs for a paper; it needs the package booktabs."""
        return self.analysis.to_latex()

    def to_bibtex(self) -> str:
        """The papers that it rests on."""
        return self.analysis.to_bibtex()


def explain(
    source: Any,
    *,
    noise: float | None = None,
    inputs: Inputs | None = None,
    dim: float | None = None,
    simulation: bool = False,
    rank: int | None = None,
    kinks: Sequence[Callable[[Floats], Floats]] = (),
    budget: float = _DEMONSTRATION_SECONDS,
    analysis_budget: float = DEFAULT_BUDGET,
    tell: Tell | None = None,
) -> Explanation:
    """Explain a target: exponents, staircases, verdict, sample costs.

    Args:
        source: anything that `featlab.target` takes: a text such as "He4(h1) + sign(h1*h2*h3)", a SymPy expression, a
            target, or with `rank` a function of the fields (..., rank).
        noise: variance of Gaussian noise added to the label; a target keeps its own unless it is given.
        inputs: the law of the inputs: `Isotropic()`, `Spiked(...)`, `SpikeLaw(...)`; a target keeps its own unless it
            is given. Under a spike the costs are those that are proven there, and there is no verdict.
        dim: also give the sample costs as numbers at this dimension of the inputs.
        simulation: end with a demonstration: the cheapest algorithm that learns it, predicted and simulated.
        rank: the number of directions of a function; only for functions.
        kinks: functions of the fields that are zero where a function jumps or bends; jumps on planes are found.
        budget: seconds for the demonstration, by the clock; the seeds and times that were reached by then are shown.
        analysis_budget: seconds of processor time for the analysis, so that a busy machine changes no verdict; what is
            not decided by then is a doubt that says so.
        tell: is called with a few words whenever a step of the analysis or a phase of the demonstration begins.

    Raises:
        InvalidTarget: the source is not a target that can be analysed.
        InvalidParameter: the noise, the dimension or a budget is out of range.

    Examples:
        >>> import featlab
        >>> featlab.explain("sign(h1*h2)").to_dict()["sample_cost"]["one_pass_sgd"]
        'd log d'
    """
    asked = None if dim is None else _checked_dim(dim)
    what = target(source, noise=noise, inputs=inputs, rank=rank, kinks=kinks)
    if asked is not None and asked < what.rank:
        raise InvalidParameter("dim", dim, f"at least the number of directions, {what.rank}")
    explanation = Explanation(analyse(what, analysis_budget, tell), asked)
    return explanation.demonstrated(budget, tell) if simulation else explanation


def _checked_dim(dim: float) -> int:
    expected = f"a whole number from 2 to {_LARGEST_DIM:.0e}".replace("+", "")
    number = isinstance(dim, Real) and not isinstance(dim, bool) and isfinite(dim)
    if not number or dim != int(dim) or not 2 <= dim <= _LARGEST_DIM:
        raise InvalidParameter("dim", dim, expected)
    return int(dim)
