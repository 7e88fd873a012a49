"""Formulas of pages: every target has one that is well formed, and powers within words become formulas."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import featlab
from featlab.reports.mathml import formula, powers
from featlab.targets.functions import function, typed_names


def read(latex: str) -> str:
    """The formula as its elements with brackets, such as msup(mrow(h)mrow(2))."""

    def told(element: ElementTree.Element) -> str:
        inside = (element.text or "") + "".join(map(told, element))
        return inside if element.tag in ("mi", "mn", "mo", "mtext", "math") else f"{element.tag}({inside})"

    return told(ElementTree.fromstring(str(formula(latex)))).replace("mrow", "")


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"h_{1}", "(msub(h(1)))"),
        (r"h_{1}^{2}", "(msup(msub(h(1))(2)))"),
        (r"\frac{h_{1}}{2} - 3", "(mfrac((msub(h(1)))(2))−3)"),
        (r"\sqrt{\left|h_{2}\right|}", "(msqrt((|msub(h(2))|)))"),
        (r"\mathrm{He}_{3}\left(h_{1}\right)", "(msub(He(3))(msub(h(1))))"),
        (
            r"\begin{cases} 1 & \text{if } h_{1} < 0 \\ 2 & \text{otherwise} \end{cases}",
            "(({mtable(mtr(mtd((1))mtd((if msub(h(1))<0)))mtr(mtd((2))mtd((otherwise))))))",
        ),
    ],
)
def test_latex(latex: str, expected: str) -> None:
    assert read(latex) == expected


def test_every_target_and_every_function_has_a_formula() -> None:
    for entry in featlab.catalogue.values():
        ElementTree.fromstring(str(formula(featlab.target(entry.text).latex)))
    for name in typed_names():
        row = function(name)
        if row is not None:  # a root is a power
            assert "a" in read(row.latex.format("a", "b", "c", joined="a, b")), name


def test_a_command_that_is_not_known_would_be_noticed() -> None:
    with pytest.raises(ValueError, match="oint"):
        formula(r"\oint h")


def test_powers_in_words_are_formulas_and_the_rest_is_escaped() -> None:
    assert powers("n = d^1.5 < x") == "n = <math><msup><mi>d</mi><mn>1.5</mn></msup></math> &lt; x"
    assert powers("alpha_c") == "<math><msub><mi>α</mi><mi>c</mi></msub></math>"
    for plain in ("h1", "reused_batch", "a d", "E[(y - f)^2]", "10^6"):
        assert "math" not in powers(plain)
    assert "<script>" not in powers("<script>d^2</script>")
    assert "<script>" not in formula(r"\mathrm{<script>}(h)")
