"""`diagnose`: what theory says of data that are given, in words, as JSON and as a page."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from featlab.analysis.budget import Tell
from featlab.errors import FeatlabError, MissingParameter
from featlab.reports.diagnosis_advice import advice
from featlab.reports.diagnosis_words import heading, sections
from featlab.shown import Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from featlab.diagnosis import Findings


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Shown):
    """What was found in data: print it, or take it as data (`to_dict`) or as a self-contained page (`to_html`).

    Attributes:
        findings: every number.

    Examples:
        >>> import numpy as np
        >>> import featlab
        >>> X = np.random.default_rng(0).standard_normal((200, 4))
        >>> featlab.diagnose(X, np.tanh(X[:, 0]), curves=False).to_dict()["inputs"]["dim"]
        4
    """

    findings: Findings

    _picture: ClassVar[str] = "featlab.reports.diagnosis:diagnosis_picture"
    _page: ClassVar[str] = "featlab.reports.diagnosis:diagnosis_page"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was wrong with the data."""
        return self.findings.table.warnings

    @property
    def advice(self) -> str:
        """What to use, and whether more samples would help."""
        return advice(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for `json.dumps`: the object that `featlab diagnose --json` prints."""
        from featlab.reports.diagnosis_record import diagnosis_record

        return diagnosis_record(self.findings)

    def to_html(self) -> str:
        """A self-contained page with pictures and tables."""
        return diagnosis_page(self)

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        parts: list[Any] = [Text(heading(self.findings), "bold"), Text(self.advice)]
        parts += [Text.assemble(("Warning: ", "bold yellow"), words) for words in self.warnings]
        for section in sections(self.findings):
            parts.append(Text(f"\n{section.title}", "bold"))
            parts += [Padding(Text(sentence), (0, 0, 0, 2)) for sentence in section.sentences]
            if section.rows:
                table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
                for header in section.headers:
                    table.add_column(header)
                for row in section.rows:
                    table.add_row(*map(Text, row))
                parts.append(Padding(table, (0, 0, 0, 2)))
        return Group(*parts)

    def text(self, width: int = 80) -> str:
        """The screen as plain text of that width."""
        from featlab.reports.plain import plain_text

        return plain_text(self, width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        count = self.findings.directions.count
        return f"<Diagnosis: {heading(self.findings)}; {count} direction{'' if count == 1 else 's'}>"


def diagnose(
    X: Any,
    y: Any = None,
    *,
    label: str | None = None,
    seed: int = 0,
    curves: bool = True,
    tell: Tell | None = None,
) -> Diagnosis:
    """What theory says of data: inputs, directions, orders, and whether the samples are enough. It needs the extra
    `sklearn`.

    Args:
        X: inputs (n, d), an array or a table with named columns; or the path of a CSV, Parquet or NPZ file.
        y: labels (n,): numbers, or up to ten classes. None for a file.
        label: the name of the label; of a file, of the column (or array) that holds it.
        seed: of permutations and splits.
        curves: whether to measure learning curves, which is most of the time for small data.
        tell: is called with a few words whenever a step begins.

    Raises:
        FeatlabError: nothing can be said of these data, and why.

    Examples:
        >>> import numpy as np
        >>> import featlab
        >>> X = np.random.default_rng(0).standard_normal((200, 4))
        >>> featlab.diagnose(X, np.tanh(X[:, 0]), curves=False).findings.directions.count
        1
    """
    if find_spec("sklearn") is None:
        raise FeatlabError("diagnose needs scikit-learn: pip install 'featlab[sklearn]'")
    from featlab.diagnosis import examine

    is_file = isinstance(X, str) or hasattr(X, "__fspath__")
    if is_file and label is None:
        raise MissingParameter("label", "the name of the column that holds the label")
    if not is_file and y is None:
        raise MissingParameter("y", "the labels, one for each row of X")
    return Diagnosis(examine(X, y, label=label, seed=seed, curves=curves, tell=tell))


def diagnosis_page(diagnosis: Diagnosis) -> str:
    """A whole HTML document."""
    from markupsafe import Markup

    from featlab.figures.style import to_svg
    from featlab.reports.templating import fill

    # Drawn by us, its texts escaped there.
    pictures = {
        title: Markup(to_svg(figure, title, f"picture-{place}"))  # nosec B704
        for place, (title, figure) in enumerate(_pictures(diagnosis.findings).items())
    }
    return fill(
        "diagnosis.html",
        title="featlab: diagnosis",
        heading=heading(diagnosis.findings),
        advice=diagnosis.advice,
        warnings=diagnosis.warnings,
        sections=sections(diagnosis.findings),
        pictures=pictures,
    )


def diagnosis_picture(diagnosis: Diagnosis) -> Figure:
    """The last of the pictures: learning curves, or what there is without them."""
    return list(_pictures(diagnosis.findings).values())[-1]


def _pictures(findings: Findings) -> dict[str, Figure]:
    """By the title of the section they belong to."""
    from featlab.figures.diagnosis import curves_figure, links_figure, spectrum_figure

    pictures = {"Inputs": spectrum_figure(findings.inputs.spectrum)}
    if findings.orders is not None:
        pictures["Directions"] = links_figure(findings.orders.links, findings.table.label)
    if findings.curves:
        pictures["Is n enough?"] = curves_figure(findings.curves)
    return pictures
