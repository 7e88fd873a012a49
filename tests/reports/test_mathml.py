"""Every formula of the catalogue and of the language is set, whole, and nothing else is let through."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import featlab
from featlab.reports.mathml import formula, mathml_of, powers
from featlab.targets.functions import function, typed_names

TEXTS = [
    "He4(h1) + sign(h1*h2*h3)",
    "where(h1 > 0, tanh(h1), sqrt(abs(h2)))",
    "where(h1 > 0 and h2 < 1, h1, where(h2 >= 1 or h1 < -1, h2, 0))",
    "relu(h1)*exp(-h2**2)/3 + xi1",
    "mod(h1, 2) + floor(h2)*step(h1)",
    "h1**2/(1 + h2**2)",
    "tree(tanh(h1), He2(h1), 4)",
    *(entry.text for entry in featlab.catalogue.values()),
]


def content(text: str) -> str:
    """What is read of a formula, without how it is set."""
    return "".join(ElementTree.fromstring(mathml_of(featlab.target(text).latex)).itertext())


@pytest.mark.parametrize("text", TEXTS)
def test_every_letter_of_a_link_is_there(text: str) -> None:
    """Well-formed, without a command of LaTeX, and with each of its numbers."""
    shown, latex = content(text), featlab.target(text).latex
    assert "\\" not in shown
    digits = [sign for sign in latex if sign.isdigit()]
    assert [sign for sign in shown if sign.isdigit()] == digits


def test_what_stands_where() -> None:
    found = mathml_of(featlab.target("He3(h1)/(1 + h2**2)").latex)
    fraction = ElementTree.fromstring(found).find(".//{*}mfrac")
    assert fraction is not None
    above, below = fraction
    assert "".join(above.itertext()) == "He3(h1)"
    assert "".join(below.itertext()) == "h22+1"
    assert below.find(".//{*}msup/{*}msub") is not None


def test_texts_are_escaped() -> None:
    assert "<b>" not in mathml_of(r"\mathrm{<b>} < \text{&}")


@pytest.mark.parametrize("latex", [r"\href{x}", r"\left(h_{1}", r"\frac{1}", r"\begin{cases} 1 & 2"])
def test_other_latex_is_refused(latex: str) -> None:
    with pytest.raises(ValueError, match="LaTeX"):
        mathml_of(latex)


def test_every_function_has_a_formula() -> None:
    rows = [row for name in typed_names() if (row := function(name)) is not None]
    assert len(rows) > 20
    for row in rows:
        mathml_of(row.latex.format("h_{1}", "h_{2}", "2", joined="h_{1}, 2"))


def test_brackets_and_marks_stay_with_their_formula() -> None:
    square = "<math><msup><mi>y</mi><mn>2</mn></msup></math>"
    assert powers("from E[y^2], and y^2") == f'from <span class="whole">E[{square}],</span> and {square}'
    assert powers("<b>(y^2)") == f'&lt;b&gt;<span class="whole">({square})</span>'


def test_powers_in_words_are_formulas_and_the_rest_is_escaped() -> None:
    assert powers("n = d^1.5 < x") == "n = <math><msup><mi>d</mi><mn>1.5</mn></msup></math> &lt; x"
    assert powers("d^(-(k - 1)/2)") == "<math><msup><mi>d</mi><mtext>−(k − 1)/2</mtext></msup></math>"
    assert powers("d^-g1 a") == "<math><msup><mi>d</mi><mrow><mo>−</mo><mi>g1</mi></mrow></msup></math> a"
    assert powers("kappa^(2p)/n") == "<math><msup><mi>kappa</mi><mtext>2p</mtext></msup></math>/n"
    assert powers("d^alpha") == "<math><msup><mi>d</mi><mi>α</mi></msup></math>"
    assert "<b>" not in powers("d^(<b>)")
    assert powers("alpha_c") == "<math><msub><mi>α</mi><mi>c</mi></msub></math>"
    for plain in ("h1", "reused_batch", "a d", "E[(y - f)^2]", "10^6", "d^(1", "a^b^c"):
        assert "math" not in powers(plain)
    assert "<script>" not in powers("<script>d^2</script>")
    assert "<script>" not in formula(r"\mathrm{<script>}(h)")
