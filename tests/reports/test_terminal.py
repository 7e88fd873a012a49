"""One screen: verdict first, ASCII, 80 columns, doubts and notes not to be missed."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console

from featlab.reports import Explanation
from featlab.reports.plain import plain_text

Explained = Callable[..., Explanation]
README = "He4(h1) + sign(h1*h2*h3)"


def _written(explanation: Explanation, width: int = 80) -> str:
    return plain_text(explanation, width)


@pytest.mark.parametrize("width", [80, 100])
def test_one_screen(explained: Explained, width: int) -> None:
    text = _written(explained(README, dim=1000), width)
    lines = text.splitlines()
    assert len(lines) <= 66
    assert max(map(len, lines)) <= width
    assert text.isascii()
    assert lines[0].startswith(README)
    assert lines[1].startswith("EASY: ")
    assert not any(line.endswith(" ") for line in lines)


def test_says_what_it_must(explained: Explained) -> None:
    text = " ".join(_written(explained(README, dim=1000)).split())
    for words in (
        "information exponent 3 lowest Hermite degree",
        "generative exponent 2 the same",
        "2. EASY above n/d >= 2.467",
        "Later ratios take earlier directions as exactly known: lower bounds for AMP.",
        "at d = 1,000 without the unknown constant",
        "conjecture",
        "Lower bounds: no method of the kind does with less",
    ):
        assert words in text


def test_lines_are_marked_with_their_exhibits(explained: Explained) -> None:
    """Letters in braces, each listed once with its id; a line that no exhibit shows has none."""
    text = _written(explained("He3(h1)"))
    body, _, listed = text.partition("Exhibits that show it")
    legend = dict(re.findall(r"\{(\w)\} ([a-z0-9-]+)", listed))
    used = {letter for group in re.findall(r"\{(\w+)\}", body) for letter in group}
    assert used == set(legend)
    assert sorted(legend.values()) == sorted(set(legend.values()))
    (reuse,) = (line for line in body.splitlines() if "batch reuse" in line)
    shown = {legend[letter] for letter in re.search(r"\{(\w+)\}", reuse).group(1)}  # type: ignore[union-attr]
    assert "extragradient" in shown
    assert "amp-two-parity" not in shown


def test_papers_are_numbered_and_listed(explained: Explained) -> None:
    text = _written(explained("He3(h1)"))
    body, _, papers = text.partition("Papers")
    cited = {int(mark) for group in body.split("[")[1:] for mark in group.split("]")[0].split(",")}
    listed = {int(entry.split("]")[0]) for entry in papers.split("[")[1:]}
    assert cited == listed == set(range(1, len(listed) + 1))


def test_notes_and_doubts_stand_above_the_tables(explained: Explained) -> None:
    for text, word in (("(h1 + h2)**3", "Note: "), ("3e-11*h1 + abs(h1)", "Doubt: ")):
        head, found, _ = _written(explained(text)).partition("Exponents")
        assert found
        assert word in head
    assert "Doubt: " not in _written(explained("He3(h1)"))


def test_a_weak_signal_is_named(explained: Explained) -> None:
    assert "order 1 (weak: relative size 4.1e-06)" in _written(explained("1e-5*h1 + He3(h1)"))
    assert "weak" not in _written(explained("He3(h1)"))


def test_colour_only_on_a_terminal(explained: Explained) -> None:
    explanation = explained("He3(h1)")
    for terminal, coloured in ((True, True), (False, False)):
        console = Console(
            file=io.StringIO(), force_terminal=terminal, color_system="standard", width=80, no_color=False
        )
        if not terminal:
            console = Console(file=io.StringIO(), force_terminal=False, width=80)
        with console.capture() as capture:
            console.print(explanation)
        assert ("\x1b[" in capture.get()) is coloured


def test_str_and_repr(explained: Explained) -> None:
    explanation = explained("He3(h1)")
    assert str(explanation) == _written(explanation)
    assert repr(explanation) == f"<Explanation of 'He3(h1)': {explanation.verdict_sentence}>"
