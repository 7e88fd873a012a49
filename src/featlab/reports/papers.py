"""Results for a paper: tables in LaTeX (with the package booktabs), and the bibliography they rest on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from featlab.citations import Citation
from featlab.reports.statements import state

if TYPE_CHECKING:
    from featlab.analysis import Analysis
    from featlab.comparison import Comparison
    from featlab.targets.literature import Catalogue

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SPECIAL |= {character: f"\\{character}" for character in "&%$#_{}"}
# An amount of samples: d^1.5, > d^12, d log d, d^Theta(1.5).
_POWER = re.compile(r"(> )?d(\^[\w.]+(?:\([\d.]+\))?)?( log d)?")


def analysis_latex(analysis: Analysis) -> str:
    """The exponents and the verdict, then what each algorithm needs."""
    said = state(analysis, None)
    rows = [[one.name, one.value, ""] for one in said.exponents]
    rows += [[cost.name, cost.samples, cost.status] for group in said.costs.values() for cost in group]
    return _table(["", "", "known as"], rows, f"% {said.target}: {said.verdict}")


def comparison_latex(comparison: Comparison) -> str:
    """What is said of each quantity."""
    rows = [[name, str(comparison.verdicts[name])] for name in comparison.quantities]
    return _table(["quantity", "theory and simulation"], rows, f"% {comparison.verdict}: {comparison.reason}")


def catalogue_latex(catalogue: Catalogue) -> str:
    """A row for each target with its papers."""
    cited = {one.name: rf"\cite{{{','.join(one.citations)}}}" if one.citations else "" for one in catalogue.values()}
    rows = [[one.name, one.text, one.verdict or "", cited[one.name]] for one in catalogue.values()]
    return _table(["name", "target", "verdict", "papers"], rows, columns=r"lp{0.45\linewidth}ll")


def analysis_bibtex(analysis: Analysis) -> str:
    """Every paper that a statement of the analysis rests on."""
    return bibliography(state(analysis, None).papers)


def bibliography(papers: Iterable[Citation]) -> str:
    """The entries, each once, in their order."""
    return "\n\n".join(dict.fromkeys(paper.bibtex for paper in papers)) + "\n"


def tex(text: str) -> str:
    """A text as LaTeX shows it: powers of d typeset, a citation as it is, everything else escaped."""
    if text.startswith(r"\cite{"):
        return text
    if _POWER.fullmatch(text):
        power = re.sub(r"\^([\w.]+(?:\([\d.]+\))?)", r"^{\1}", text).replace("log", r"\log").replace("Theta", r"\Theta")
        return f"${power}$"
    return "".join(_SPECIAL.get(character, character) for character in text)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], comment: str = "", columns: str = "") -> str:
    lines = [" & ".join(map(tex, cells)) + r" \\" for cells in (header, *rows)]
    body = [
        rf"\begin{{tabular}}{{{columns or 'l' * len(header)}}}",
        r"\toprule",
        lines[0],
        r"\midrule",
        *lines[1:],
        r"\bottomrule",
    ]
    return "\n".join([*([comment] if comment else []), *body, r"\end{tabular}"]) + "\n"
