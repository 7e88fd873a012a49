"""Which exhibits show which lines of an explanation.

A line has the name of its key in the record of `featlab explain --json`, so that the two can be joined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_letters

from featlab.analysis import Analysis, Verdict
from featlab.exhibits import Exhibit, all_exhibits, find_exhibit

# Line -> what exhibits call it (`featlab.exhibits.protocol.TOPICS`), where that is another name.
_TOPICS = {
    "alpha_c": "critical_ratio",
    "giant_steps": "giant_staircase",
    "staircase": "correlation_staircase",
    "random_features_99": "random_features",
    "kernels_linear": "kernels",
    "kernels_bound": "kernels",
}
_FIRST = ("verdict", "information_exponent", "leap", "generative_exponent", "alpha_c")
_STAIRCASES = ("giant_steps", "staircase", "grand_staircase")
# More than there are exhibits.
_LETTERS = ascii_letters + "αβγδεζηθικλμνξπρστυφχψω"
_ISOTROPIC_ONLY = ("verdict", "alpha_c", "giant_steps")


@dataclass(frozen=True)
class Links:
    """The exhibits of each line, and a letter for every exhibit in the order of the lines.

    Attributes:
        lines: line -> ids of the exhibits that show it; lines without any are left out.
        letters: id -> letter.
    """

    lines: Mapping[str, tuple[str, ...]]
    letters: Mapping[str, str]

    def marks(self, line: str) -> str:
        """The letters of a line's exhibits in braces, such as {ab}; nothing if there are none."""
        found = "".join(sorted((self.letters[id] for id in self.lines.get(line, ())), key=_LETTERS.index))
        return f"{{{found}}}" if found else ""

    def label(self, id: str) -> Exhibit:
        """The exhibit, for what is written on it."""
        return find_exhibit(id)


def links_of(analysis: Analysis, *, residuals: bool = True) -> Links:
    """The exhibits behind the lines of an explanation; `residuals` says whether it tells those, too."""
    open_verdict = analysis.verdict is Verdict.OPEN
    named = (*_FIRST, *_STAIRCASES, *analysis.sample_cost, *(("residuals",) if analysis.regimes and residuals else ()))
    shown = [line for line in named if not (open_verdict and line in _ISOTROPIC_ONLY)]
    found = {line: _showing(_TOPICS.get(line, line)) for line in shown}
    lines = {line: ids for line, ids in found.items() if ids}
    ids = dict.fromkeys(id for of_line in lines.values() for id in of_line)
    return Links(lines, dict(zip(ids, _LETTERS, strict=False)))


def _showing(topic: str) -> tuple[str, ...]:
    return tuple(sorted(exhibit.id for exhibit in all_exhibits() if topic in exhibit.shows))
