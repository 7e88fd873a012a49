"""The language: what it accepts, and how it refuses everything else: with a column, a reason, and at once."""

from __future__ import annotations

import time

import pytest

from featlab.errors import InvalidTarget
from featlab.targets import target
from featlab.targets.canonical import canonical
from featlab.targets.language import parse
from featlab.targets.printing import text_of


def canonical_text(text: str) -> str:
    return text_of(canonical(parse(text)))


@pytest.mark.parametrize(
    ("typed", "canonical_form"),
    [
        ("He4(h1)+sign(h1*h2*h3)", "He4(h1) + sign(h1*h2*h3)"),
        ("sign(h1 + 0.5*xi1)", "sign(2*h1 + xi1)"),
        ("  h1 ", "h1"),
        ("h1-h1+h2", "h2"),
        ("--h1", "h1"),
        ("-h1**2", "-h1**2"),
        ("2**-2*h1", "0.25*h1"),
        ("He(14, h1)", "He(14, h1)"),
        ("He(3, h1)", "He3(h1)"),
        ("He1(h1) + He(0, h2)", "h1 + 1"),
        ("He3(-h1)", "-He3(h1)"),
        ("He2(-h1)", "He2(h1)"),
        ("sqrt(h1**2)", "abs(h1)"),
        ("sqrt(8)*h1", "2*sqrt(2)*h1"),
        ("(4*abs(h1))**0.5", "2*sqrt(abs(h1))"),
        ("abs(h1)**-0.25", "abs(h1)**(-0.25)"),
        ("abs(-3*h1)", "3*abs(h1)"),
        ("relu(-2*h1 + 4)", "2*relu(2 - h1)"),
        ("sign(h1)**3", "sign(h1)"),
        ("sign(h1)*sign(h1)*h2", "h2"),
        ("abs(h1)**4", "h1**4"),
        ("tanh(-h1) + cos(-h2)", "cos(h2) - tanh(h1)"),
        ("e**h1 * exp(h1)", "exp(2*h1)"),
        ("log(exp(h1))", "h1"),
        ("2**h1", "2**h1"),
        ("max(h1, 1, max(h2, 2))", "max(2, h1, h2)"),
        ("max(h1, h1)", "h1"),
        (
            "max(h1, h2, h3, h4, h5, h6, h7, h8, max(h9, xi1, xi2))",
            "max(h1, h2, h3, h4, h5, h6, h7, h8, max(h9, xi1, xi2))",
        ),
        ("h1/3", "h1/3"),
        ("2*h1/(1 + h2**2)/3", "2*h1/3/(h2**2 + 1)"),
        ("1e-3*h1", "0.001*h1"),
        (".5*h1", "0.5*h1"),
        ("pi*h1 + e", "pi*h1 + e"),
        ("tanh(0) + h1 + cos(0) + log(1)", "h1 + 1"),
        ("0*h1", "0"),
    ],
)
def test_accepted_forms(typed: str, canonical_form: str) -> None:
    assert canonical_text(typed) == canonical_form
    assert canonical_text(canonical_form) == canonical_form


@pytest.mark.parametrize(
    ("text", "column", "reason", "suggestion"),
    [
        ("h1 + foo(h2)", 6, "unknown function 'foo'", "known functions"),
        ("rellu(h1)", 1, "unknown function 'rellu'", "did you mean 'relu'?"),
        ("h1 + Relu(h1)", 6, "unknown function", "did you mean 'relu'?"),
        ("heaviside(h1)", 1, "unknown function", "did you mean 'step'?"),
        ("ln(h1)", 1, "unknown function", "did you mean 'log'?"),
        ("h3(h1)", 1, "unknown function", "direction, not a function"),
        ("H3(h1)", 1, "unknown function", "He1..He12"),
        ("x1 + h1", 1, "unknown name 'x1'", "h1..h32"),
        ("h1*z2", 4, "unknown name 'z2'", "h1..h32"),
        ("h0", 1, "unknown name", "h1..h32"),
        ("h33", 1, "unknown name", "h1..h32"),
        ("xi10 + h1", 1, "unknown name", "xi1..xi9"),
        ("relu + h1", 1, "relu is a function", "relu(h1)"),
        ("(h1 + (h2", 7, "never closed", ")"),
        ("h1 + h2)", 8, "closes nothing", "remove"),
        ("h1^2", 3, "'^'", "**"),
        ("2h1", 2, "operator is missing", "2*h1"),
        ("2(h1)", 2, "operator is missing", "*"),
        ("h1 h2", 4, "operator is missing", "*"),
        ("h1.real", 3, "attribute", None),
        ("relu(h1)(h2)", 9, "cannot be called", None),
        ("'h1'", 1, "strings", None),
        ("h1[0]", 3, "square brackets", "round"),
        ("h1 < h2", 4, "comparisons", "step"),
        ("|h1|", 1, "'|'", "abs"),
        ("y = h1", 3, "equation", "right-hand side"),
        ("h1, h2", 3, "comma", "one expression"),
        ("h1 +", 5, "not an expression", None),
        ("h1 * / h2", 6, "not an expression", None),
        ("relu()", 1, "relu takes 1 argument, not 0", None),
        ("tanh(h1, h2)", 1, "tanh takes 1 argument, not 2", None),
        ("max(h1)", 1, "max takes 2 to 9 arguments, not 1", None),
        ("clip(h1, 1)", 1, "clip takes 3 arguments, not 2", None),
        ("He13(h1)", 1, "He13", "He(k, x)"),
        ("He(41, h1)", 4, "0 to 40", None),
        ("He(h1, 2)", 4, "0 to 40", "number itself"),
        ("1e999*h1", 1, "out of range", None),
        ("h1 + 1e-200", 6, "out of range", None),
        ("1j*h1", 2, "complex", None),
        ("h1 + h2**41", 10, "beyond the limit of 40", "lower the power"),
        ("h1**(9**9)", 6, "beyond the limit of 40", None),
        ("h1 + 9**9**9**9", 9, "too large", None),
        ("h2 + h1/0", 9, "division by zero", None),
        ("h1/(2 - 2)", 5, "division by zero", None),
        ("h1 + 0**-1", 6, "division by zero", None),
        ("h1\n+ h2", 3, "one line", None),
        ("h1 # note", 4, "comments", None),
        ("", 1, "empty", "He3"),
        ("   ", 1, "empty", None),
        ("ｈ1", 1, "ASCII", None),
        ("h１", 2, "ASCII", None),
        ("h1 + α", 6, "ASCII", None),
        ("h1\x00", 3, "NUL", None),
    ],
)  # fmt: skip
def test_refusals_say_where_why_and_what_to_do(text: str, column: int, reason: str, suggestion: str | None) -> None:
    with pytest.raises(InvalidTarget) as caught:
        target(text)
    assert caught.value.column == column
    assert reason in caught.value.reason
    if suggestion is not None:
        assert suggestion in (caught.value.suggestion or "")
    assert f"column {column}" in str(caught.value)


HOSTILE = {
    "import": "__import__('os').system('echo broken')",
    "import without strings": "__import__(os)",
    "class ladder": "().__class__.__bases__[0].__subclasses__()",
    "dunder name": "__builtins__",
    "attribute of a call": "relu(h1).__class__",
    "attribute of a number": "1 .real",
    "eval": "eval(h1)",
    "lambda": "(lambda: h1)()",
    "call of a call": "relu(h1)(h1)",
    "string": '"h1"',
    "bytes": "b'h1'",
    "f-string": "f'{h1}'",
    "list comprehension": "[h1 for h1 in (1, 2)]",
    "generator": "(h1 for h1 in h2)",
    "dict": "{h1: h2}",
    "walrus": "(h1 := 2)",
    "conditional": "h1 if h2 else h3",
    "boolean": "h1 and h2",
    "not": "not h1",
    "comparison": "h1 == h2",
    "star": "max(*h1)",
    "double star": "max(**h1)",
    "keyword": "relu(x=h1)",
    "none": "None",
    "ellipsis": "...",
    "true": "True",
    "hexadecimal": "0x10*h1",
    "underscored number": "1_000*h1",
    "octal": "0777*h1",
    "huge power": "h1**1000000000",
    "tower": "9**9**9**9",
    "tower of brackets": "((((9**40)**40)**40)**40)*h1",
    "hidden power": "(((2*relu(h1))**40)**40)**40",
    "huge integer": "9" * 1500 + "*h1",
    "huge number": "1e999*h1",
    "tiny number": "1e-999*h1",
    "nested exponentials": "exp(exp(exp(1000)))*h1",
    "overflowing exponentials": "exp(exp(h1))",
    "nested polynomials": "He(40, He(40, h1))",
    "degree": "(h1 + h2)**40*h3**2",
    "not a number": "nan*h1",
    "infinity": "inf*h1",
    "division by zero": "h1/0",
    "division by hidden zero": "h1/(h2 - h2)",
    "zero to a negative power": "0**-0.5*h1",
    "imaginary": "sqrt(-1)*h1",
    "1e5 characters": "h1+" * 33333 + "h1",
    "1e5 spaces": " " * 10**5 + "h1",
    "1e5 brackets": "(" * 10**5,
    "5000 brackets": "(" * 5000 + "h1" + ")" * 5000,
    "300 brackets": "(" * 300 + "h1" + ")" * 300,
    "deep calls": "relu(" * 41 + "h1" + ")" * 41,
    "many signs": "-" * 1500 + "h1",
    "many powers": "2**" * 300 + "h1",
    "many terms": "h1" + "+h1" * 600,
    "unicode digit": "h\u0661",
    "compatibility letter": "\u210e1",
    "fullwidth call": "\uff45\uff58\uff45\uff43(h1)",
    "zero width space": "h1\u200b",
    "right to left": "\u202eh1",
    "backslash": "h1 \\ + h2",
    "semicolon": "h1; import os",
    "decorator": "@h1",
    "await": "await h1",
    "surrogate": "h1\ud800",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_refused_at_once(text: str) -> None:
    target("h1")  # imports are not part of the time
    start = time.process_time()
    with pytest.raises(InvalidTarget) as caught:
        target(text)
    assert time.process_time() - start < 1.0
    assert caught.value.reason
    assert len(str(caught.value)) < 500


def test_longest_sums_are_accepted() -> None:
    """Limits are on depth and length, not on the number of terms of a reasonable sum."""
    text = " + ".join(f"{k}*h{k % 9 + 1}**{k % 5 + 1}" for k in range(1, 41))
    assert target(text).rank == 9


def test_only_texts_expressions_and_functions() -> None:
    with pytest.raises(InvalidTarget, match="not int"):
        target(3)
