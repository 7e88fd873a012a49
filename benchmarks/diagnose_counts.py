"""What the draws of `benchmarks.diagnose` come to: counts, and the tables of docs/your-data.md that show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest

import featlab
from benchmarks.diagnose_draws import AS_THEY_ARE

Row = dict[str, Any]
_ASTRAY = 60.0  # degrees to the span of the true directions, beyond which one is taken for noise
_HEAD = (
    "| inputs | n/d | d | rank | right number | too many | information exponent | generative exponent "
    "| angles | orders of the label | of its functions | band |"
)
_KEYS = ("law", "ratio", "dim", "rank")
_WORDS = {
    "angles": "upper bounds of angles, 95%",
    "label": "orders of the label, 95% at once",
    "functions": "orders of its functions, 95% at once",
}

_MORE_WORDS = {"lower": "lower bounds of angles, 95%", "medians": "medians of angles: the true one is below, 50%"}


def counted(part: str, rows: Sequence[Row]) -> list[Row]:
    """Counts over draws, and for targets over those of one law, n/d, d and rank; cases without a draw are left out."""
    rows = [row for row in rows if row["draws"]]
    if part == "noise":
        return [_without_draws(row) | {"alarms": sum(one["alarm"] for one in row["draws"])} for row in rows]
    if part == "real":
        return [_real(row) for row in rows]
    groups = dict.fromkeys(tuple(row[key] for key in _KEYS) for row in rows)
    return [_group(group, [row for row in rows if tuple(row[key] for key in _KEYS) == group]) for group in groups]


def _without_draws(row: Row) -> Row:
    return row | {"draws": len(row["draws"])}


def _real(row: Row) -> Row:
    if "planted" not in row:
        return _without_draws(row) | row["draws"][0]
    counts = [one["count"] for one in row["draws"]]
    share = float(np.median([min(one["explained"]) for one in row["draws"]]))
    return _without_draws(row) | {
        "counts": {str(number): counts.count(number) for number in sorted(set(counts))},
        "explained": share,
    }


def _group(group: tuple[Any, ...], rows: Sequence[Row]) -> Row:
    rank = group[-1]
    pairs = [(featlab.catalogue[row["target"]], one) for row in rows for one in row["draws"]]
    bands = [one["band"] for _, one in pairs if one.get("band") is not None]
    astray = [
        inside is None
        for _, one in pairs
        for inside, true in zip(one.get("angles", []), one.get("true", []), strict=True)
        if true > _ASTRAY
    ]
    return dict(zip(_KEYS, group, strict=True)) | {
        "draws": len(pairs),
        "right": sum(one["count"] == rank for _, one in pairs),
        "more": sum(one["count"] > rank for _, one in pairs),
        "information": sum(one["information"] == entry.information_exponent for entry, one in pairs),
        "generative": sum(one["generative"] == entry.generative_exponent for entry, one in pairs),
        "angles": _held([inside for _, one in pairs for inside in one.get("angles", [])]),
        "lower": _held([inside for _, one in pairs for inside in one.get("lower", [])]),
        "medians": _held([inside for _, one in pairs for inside in one.get("medians", [])]),
        "label": _held([one[kind] for _, one in pairs if (kind := "label") in one]),
        "functions": _held([one[kind] for _, one in pairs if (kind := "functions") in one]),
        "band": [float(np.sum(bands)), float(np.sum(np.square(bands))), len(bands)],
        "astray": [sum(astray), len(astray)],
    }


def _held(answers: Sequence[bool | None]) -> list[int]:
    """How many hold, of how many that are told, and of how many nothing is told."""
    told = [one for one in answers if one is not None]
    return [sum(told), len(told), len(answers) - len(told)]


def lines(part: str, counts: Sequence[Row]) -> list[str]:
    """Counts as they are printed; those of targets as tables in Markdown."""
    if not counts:
        return ["nothing was done in time"]
    if part == "noise":
        return _noise_table(counts)
    if part == "real":
        return _real_tables(counts)
    return [_HEAD, _rule(_HEAD), *map(_group_line, counts), "", *totals(counts)]


def _rule(head: str) -> str:
    return "|---" * (head.count("|") - 1) + "|"


def _noise_table(counts: Sequence[Row]) -> list[str]:
    head = "| inputs | label | a direction is seen | |"
    cells = [(one["law"], one["labels"], one["alarms"], one["draws"]) for one in counts]
    cells.append(("all", "", sum(one["alarms"] for one in counts), sum(one["draws"] for one in counts)))
    rows = [f"| {law} | {labels} | {seen} of {count:,} | {_share(seen, count)} |" for law, labels, seen, count in cells]
    return [head, _rule(head), *rows]


def _real_tables(counts: Sequence[Row]) -> list[str]:
    """What is said of data sets as they are, and how many directions are found of labels planted on them."""
    head, other = (
        "| data | directions | fitted link | advice |",
        "| inputs | planted | directions found, in so many draws | least part of a field that they explain, median |",
    )
    shipped = [
        f"| {one['data']} | {one['count']} | {one['verdict'] or 'not analysed'} | {one['advice']} |"
        for one in counts
        if "planted" not in one
    ]
    planted = [
        f"| {one['data']} | `{one['planted']}` | {_numbers(one['counts'])} | {one['explained']:.2f} |"
        for one in counts
        if "planted" in one
    ]
    return [head, _rule(head), *shipped, "", other, _rule(other), *planted]


def _numbers(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} in {count}" for number, count in counts.items())


def totals(counts: Sequence[Row]) -> list[str]:
    """Over all laws of which the statements are made, and over the other: what holds of what is told, with intervals of
    95%; directions too many, and those far from the truth of which nothing is told."""
    found: list[str] = []
    for name in ("", AS_THEY_ARE):
        own = [one for one in counts if (one["law"] == AS_THEY_ARE) == bool(name)]
        if own:
            found += ["", *_total(name, own)]
    return found[1:]


def _total(name: str, own: Sequence[Row]) -> list[str]:
    head = f"| {name} | held, of what was told | | cannot tell |"
    table = [head, _rule(head)]
    for kind, words in (_MORE_WORDS | _WORDS).items():
        if kind not in own[0]:  # counts of a version that did not give it
            continue
        held, told, unsaid = (sum(one[kind][place] for one in own) for place in range(3))
        table.append(f"| {words} | {held:,} of {told:,} | {_share(held, told)} | {unsaid:,} |")
    total, squares, count = (sum(one["band"][place] for one in own) for place in range(3))
    if count > 1:
        mean = total / count
        error = np.sqrt(max(squares / count - mean**2, 0) / (count - 1))
        table.append(f"| bands, nominally 95% at each point | {mean:.1%} of the points | +- {error:.1%} | |")
    more, draws = (sum(one[kind] for one in own) for kind in ("more", "draws"))
    table.append(f"| not a direction too many | {draws - more:,} of {draws:,} | {_share(draws - more, draws)} | |")
    untold, astray = (sum(one["astray"][place] for one in own) for place in range(2))
    table.append(f"| found more than {_ASTRAY:.0f} degrees off | {untold:,} of {astray:,} not told of | | {untold:,} |")
    return table


def put_into(page: str, tables: Sequence[str]) -> str:
    """A page with these lines in the place of the tables that have the same heads.

    Raises:
        ValueError: the page has no such table.
    """
    old, new = page.split("\n"), list[str]()
    for line in [*tables, ""]:
        if line:
            new.append(line)
            continue
        if new[0] not in old:
            raise ValueError(f"the page has no table with the head {new[0]}")
        begin = end = old.index(new[0])
        while old[end].startswith("|"):
            end += 1
        old[begin:end], new = new, []
    return "\n".join(old)


def _share(held: int, told: int) -> str:
    """By Clopper and Pearson, for independent answers."""
    if not told:
        return ""
    low, high = binomtest(held, told).proportion_ci()
    return f"{held / told:.1%} ({low:.1%} to {high:.1%})"


def _group_line(one: Row) -> str:
    total, _, count = one["band"]
    cells = [*(one[key] for key in _KEYS), f"{one['right']} of {one['draws']}"]
    cells += [one[name] for name in ("more", "information", "generative")]
    cells += [*(covered(*one[kind]) for kind in _WORDS), f"{total / count:.0%}" if count else "-"]
    return f"| {' | '.join(map(str, cells))} |"


def covered(held: int, told: int, unsaid: int) -> str:
    """How many of those that are told hold; in brackets, of how many nothing is told."""
    return f"{held} of {told}" + (f" ({unsaid})" if unsaid else "")
