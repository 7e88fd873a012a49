"""The explanation as a self-contained page: nothing is fetched, pictures are inline SVG, everything is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup
from matplotlib.figure import Figure

from featlab.analysis import Analysis, Verdict
from featlab.analysis.residuals import Regime
from featlab.figures import comparison_figure, cost_figure, energy_figure, link_figure, staircase_figure, to_svg
from featlab.reports.links import links_of
from featlab.reports.records import regime_status
from featlab.reports.statements import Statements, command_words, demonstration_sentences, state
from featlab.reports.templating import fill

if TYPE_CHECKING:
    from featlab.comparison import Demonstration

_LINK_CAPTIONS = {
    1: "The label as a function of its direction, and its best approximations by polynomials of low degree.",
    2: "The label as a function of its two directions; nine tenths of the inputs fall inside the dotted circle.",
}
_SLICES = "The label on planes of two directions, the others held at 1; the dotted circle holds nine tenths of them."


@dataclass(frozen=True)
class _Picture:
    """An SVG element made by us, and its caption."""

    svg: Markup
    caption: str


def page(
    analysis: Analysis, dim: int | None, demonstration: Demonstration | None = None, gallery: str | None = None
) -> str:
    """A whole HTML document; `gallery` is the address of a gallery of exhibits to link to."""
    said, sentences = state(analysis, dim), demonstration_sentences(demonstration)
    pictures = _pictures(analysis, said, dim)
    if demonstration is not None and demonstration.run is not None:
        run = demonstration.run
        figure = comparison_figure(run.drawn(), run.simulation, run.comparison)
        caption = "Lines are predicted for large d, points are simulated, with two standard errors."
        pictures["demonstration"] = _picture("demonstration", figure, " ".join(sentences), caption)
    return fill(
        "explanation.html",
        title=f"featlab: {said.target}",
        said=said,
        dim=dim,
        pictures=pictures,
        residuals=_residuals(analysis),
        demonstration=sentences,
        command=demonstration and demonstration.command,
        again=demonstration and command_words(demonstration),
        links=links_of(analysis),
        gallery=gallery and gallery.rstrip("/"),
    )


def fragment(analysis: Analysis, dim: int | None) -> str:
    """A compact display for notebooks: the verdict, the notices, the tables; no pictures."""
    return fill("fragment.html", said=state(analysis, dim), dim=dim)


def _picture(name: str, figure: Figure, words: str, caption: str) -> _Picture:
    """The figure under a name of its own; `words` tell what it shows to those who do not see it."""
    # Drawn by us, its texts escaped there.
    return _Picture(Markup(to_svg(figure, words, name)), caption)  # nosec B704


def _pictures(analysis: Analysis, said: Statements, dim: int | None) -> dict[str, _Picture]:
    """Name -> picture, in the order of the page."""
    pictures = {"link": _link(analysis), "energies": _energies(analysis), "staircase": _staircase(analysis, said)}
    if said.costs:
        texts = {cost.line: f"{cost.name} {cost.samples}" for group in said.costs.values() for cost in group}
        words = f"Samples needed: {', '.join(texts[line] for line in analysis.sample_cost)}"
        caption = "The power of d that each algorithm needs, and the lower bounds."
        pictures["costs"] = _picture("costs", cost_figure(analysis.sample_cost, dim), words, caption)
    return pictures


def _link(analysis: Analysis) -> _Picture:
    target = analysis.target
    figure = link_figure(target, analysis.energies)
    return _picture("link", figure, f"The link {target.shown}", _LINK_CAPTIONS.get(target.rank, _SLICES))


def _energies(analysis: Analysis) -> _Picture:
    share = analysis.energies.per_degree[1:] / analysis.energies.variance
    words = ", ".join(f"degree {k}: {part:.1%}" for k, part in enumerate(share, start=1) if part >= 5e-4)
    figure = energy_figure(analysis.energies, analysis.information_exponent)
    kernels = "" if analysis.verdict is Verdict.OPEN else " A kernel learns one degree with each power of d."
    return _picture("energies", figure, f"Shares by {words}", f"The share of the variance in each degree.{kernels}")


def _staircase(analysis: Analysis, said: Statements) -> _Picture:
    rows = said.climbs[-1].rows[: len(analysis.grand_staircase)]  # without the one that tells why it ends
    words = "; ".join(f"{opened}: {directions}" for opened, directions in rows)
    ratio = "" if analysis.verdict is Verdict.OPEN else "; alpha is the sample ratio n/d it needs"
    caption = f"Each block opens new directions on top of those known before{ratio}."
    return _picture("staircase", staircase_figure(analysis), f"Grand staircase: {words}", caption)


def _residuals(analysis: Analysis) -> list[list[str]]:
    """Headers, then rows: samples n ~ d^a; columns: width p ~ d^b. A conjectured number carries a star."""
    powers = sorted({regime.samples for regime in analysis.regimes})
    if not powers:
        return []
    at = {(regime.samples, regime.width): regime for regime in analysis.regimes}
    headers = ["samples", "directions found", "width p = O(1)", *(f"p ~ d^{b}" for b in powers)]
    shares = {a: [_share(at.get((a, b)), analysis.energies.variance) for b in (0, *powers)] for a in powers}
    return [headers, *([f"n ~ d^{a}", str(at[a, 0].known_dimension), *shares[a]] for a in powers)]


def _share(regime: Regime | None, variance: float) -> str:
    if regime is None:
        return ""
    return f"{100 * regime.residual / variance:.4g}%" + ("*" if regime_status(regime) == "conjecture" else "")
