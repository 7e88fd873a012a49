"""Results in a notebook: a few words, a table, pictures. Each class of results names its functions here (`Shown`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import xarray as xr
from markupsafe import Markup
from matplotlib.figure import Figure

from featlab.analysis import Analysis
from featlab.comparison import ComparedRun, Comparison
from featlab.errors import InvalidParameter
from featlab.figures import (
    catalogue_figure,
    comparison_figure,
    cost_figure,
    link_figure,
    prediction_figure,
    staircase_figure,
    to_svg,
    trajectory_figure,
)
from featlab.reports.page import fragment
from featlab.reports.simulation import found_words, order_parameter_cells, shown_times
from featlab.reports.templating import fill
from featlab.targets import Target

if TYPE_CHECKING:
    from featlab.reports.explanation import Explanation
    from featlab.targets.literature import Catalogue


def target_picture(target: Target) -> Figure:
    """The link."""
    return link_figure(target)


def target_page(target: Target) -> str:
    """The link in LaTeX, its setting, its picture."""
    noise = f", label noise {target.noise:g}" if target.noise else ""
    words = [f"{target.rank} direction{'s' if target.rank > 1 else ''}{noise}", *target.remarks, *target.doubts]
    return notebook_page(target.shown, words, (), [target_picture(target)], latex=target.latex)


def analysis_picture(analysis: Analysis) -> Figure:
    """What each algorithm needs; the staircases where no cost is known."""
    return cost_figure(analysis.sample_cost) if analysis.sample_cost else staircase_figure(analysis)


def analysis_page(analysis: Analysis) -> str:
    """Verdict and tables, the link, the staircases, the costs."""
    return _explained(analysis, None, [])


def explanation_picture(explanation: Explanation) -> Figure:
    """Theory over simulation, if it was asked for; else what each algorithm needs."""
    shown = explanation.demonstration
    return analysis_picture(explanation.analysis) if shown is None or shown.run is None else run_picture(shown.run)


def explanation_page(explanation: Explanation) -> str:
    """That of its analysis, with theory over simulation if it was asked for."""
    shown = explanation.demonstration
    more = [] if shown is None or shown.run is None else [run_picture(shown.run)]
    return _explained(explanation.analysis, explanation.dim, more)


def comparison_picture(comparison: Comparison) -> Figure:
    """Theory as lines, the measurement as points."""
    found = comparison.quantities.items()
    theory, measured = (
        xr.Dataset({name: getattr(one, part) for name, one in found}) for part in ("theory", "simulation")
    )
    return comparison_figure(theory, measured, comparison)


def comparison_page(comparison: Comparison) -> str:
    """The verdict, that of each quantity, the picture."""
    rows = [[name, str(comparison.verdicts[name])] for name in comparison.quantities]
    pictures = [comparison_picture(comparison)] if comparison.quantities else []
    words = [f"{str(comparison.verdict).capitalize()}: {comparison.reason}", f"Allowance: {comparison.allowance}."]
    return notebook_page("Theory over simulation", words, [["quantity", "verdict"], *rows], pictures)


def run_picture(run: ComparedRun) -> Figure:
    """Theory as lines, the simulation as points."""
    return comparison_figure(run.drawn(), run.simulation, run.comparison)


def run_page(run: ComparedRun) -> str:
    """The verdict, that of each quantity, the picture."""
    comparison = run.comparison
    rows = [[name, str(comparison.verdicts[name])] for name in comparison.quantities]
    words = [f"{str(comparison.verdict).capitalize()}: {comparison.reason}", f"Measured at {run.measured}."]
    words.append(f"Theory: {run.prediction.attrs['words']}")
    return notebook_page(run.simulation.attrs["target"], words, [["quantity", "verdict"], *rows], [run_picture(run)])


def catalogue_picture(catalogue: Catalogue) -> Figure:
    """The exponents of the targets of the literature."""
    return catalogue_figure(catalogue)


def catalogue_page(catalogue: Catalogue) -> str:
    """A row for each target."""
    rows = [
        [entry.name, entry.text, entry.verdict or "", entry.words, ", ".join(paper.short for paper in entry.papers)]
        for entry in catalogue.values()
    ]
    title = f"{len(catalogue)} targets of the literature"
    header = ["name", "target", "verdict", "known for", "papers"]
    return notebook_page(title, (), [header, *rows], [catalogue_picture(catalogue)])


def dataset_picture(accessor: Any) -> Figure:
    """A simulation over time, or a prediction."""
    dataset = _one_run(accessor.dataset)
    return trajectory_figure(dataset) if "seed" in dataset.dims else prediction_figure(dataset)


def dataset_page(accessor: Any) -> str:
    """The order parameters over time, and the picture."""
    dataset = _one_run(accessor.dataset)
    seeded = dataset if "seed" in dataset.dims else dataset.expand_dims("seed")
    cells, shown = order_parameter_cells(seeded), shown_times(dataset.sizes["time"])
    rows = [[column[index] for column in cells.values()] for index in shown]
    learner = f"{dataset.attrs.get('learner', '')}, d = {dataset.attrs.get('dim', '?'):,}"
    words = [learner, *found_words(seeded), *([dataset.attrs["words"]] if "words" in dataset.attrs else [])]
    return notebook_page(dataset.attrs.get("target", "run"), words, [list(cells), *rows], [dataset_picture(accessor)])


def _one_run(dataset: xr.Dataset) -> xr.Dataset:
    """Refuse the dataset of a whole study, of which no single picture tells."""
    if "time" not in dataset.dims or "target" not in dataset.attrs:
        expected = "one simulation or prediction; of a study choose a point, and draw its variables with xarray"
        raise InvalidParameter("dataset", f"axes {', '.join(map(str, dataset.dims))}", expected)
    return dataset


def _explained(analysis: Analysis, dim: int | None, more: list[Figure]) -> str:
    figures = [link_figure(analysis.target, analysis.energies), staircase_figure(analysis)]
    figures += [cost_figure(analysis.sample_cost, dim)] if analysis.sample_cost else []
    return fragment(analysis, dim) + notebook_page("", (), (), [*figures, *more])


def notebook_page(
    title: str, words: Iterable[str], table: Sequence[Sequence[str]], figures: Sequence[Figure], latex: str = ""
) -> str:
    """A heading, a few words, a table whose first row is its header, pictures."""
    pictures = [_svg(figure, title) for figure in figures]
    content = {"words": [word for word in words if word], "table_rows": table, "pictures": pictures, "latex": latex}
    return fill("notebook.html", title=title, **content)


def _svg(figure: Figure, title: str) -> Markup:
    """Ids are those of the picture's own content: a notebook has many pictures in one page."""
    first = to_svg(figure, title, "featlab")
    prefix = f"featlab{sha256(first.encode()).hexdigest()[:10]}"
    # Drawn by us, its texts escaped there.
    return Markup(first.replace("featlab-", f"{prefix}-"))  # nosec B704
