"""Every claim of the literature that featlab knows, put to the test: a study, a prediction, a figure and a verdict.

One file for each claim, in `claims`; `how to add an exhibit` is in docs/adding-an-exhibit.md. The public names are
loaded when they are first asked for.
"""

from __future__ import annotations

from featlab.lazy import public_names

_PUBLIC = {
    "Exhibit": "protocol",
    "Part": "protocol",
    "Size": "protocol",
    "Check": "verdict",
    "Finding": "verdict",
    "Number": "verdict",
    "Outcome": "verdict",
    "Verdict": "verdict",
    "Report": "report",
    "all_exhibits": "find",
    "find_exhibit": "find",
    "run_exhibit": "running",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = public_names(__name__, _PUBLIC)
