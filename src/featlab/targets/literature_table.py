"""The classified targets of the catalogue: exponents, verdict, stages, giant steps and sample costs of each.

alpha of the easy stages: 1/2 for phase retrieval; pi^2/4 for the two-parity; 0.593751 for h1*h2 (density K0(|y|)/pi);
the others by quadrature of 1/alpha = top eigenvalue of E[G M G], G(y) = E[z z^T - I | y].
"""

from __future__ import annotations

from math import pi

from featlab.targets.literature import CatalogueEntry, SampleCosts, Stage, easy, hard, trivial

_TWO_PARITY = pi**2 / 4
_VERDICTS = {"trivial": "TRIVIAL", "easy": "EASY", "hard": "HARD"}


def _row(
    name: str,
    text: str,
    exponents: tuple[int, int],
    stages: list[Stage],
    giant_steps: list[int],
    costs: list[str],
    citations: str,
    words: str,
    coordinate_leap: int | None = None,
) -> CatalogueEntry:
    """One row; exponents are (information exponent, leap), and the verdict is that of the hardest stage."""
    hardest = max(stages, key=lambda stage: stage.exponent)
    return CatalogueEntry(
        name=name,
        text=text,
        words=words,
        citations=tuple(citations.split()),
        rank=sum(stage.dimension for stage in stages),
        information_exponent=exponents[0],
        leap=exponents[1],
        coordinate_leap=coordinate_leap,
        generative_exponent=hardest.exponent,
        verdict=_VERDICTS[hardest.kind],
        alpha_c=stages[0].alpha,
        stages=tuple(stages),
        giant_steps=tuple(giant_steps),
        costs=SampleCosts(*costs),
    )


_LINEAR = ["d", "d", "d", "d"]  # one-pass SGD, CSQ bound, SQ bound, batch reuse
_LOGARITHMIC = ["d log d", "d", "d", "d log d"]

TABLE: tuple[CatalogueEntry, ...] = (
    _row(
        "tanh", "tanh(h1)", (1, 1), [trivial(1)], [1], [*_LINEAR, "d", "none"], "benarous2021 ba2022",
        "a smooth activation as link: learned by everything, exactly by no fixed features", 1,
    ),
    _row(
        "relu", "relu(h1)", (1, 1), [trivial(1)], [1], [*_LINEAR, "d", "none"], "benarous2021 ba2022",
        "the teacher of the weight-spike picture", 1,
    ),
    _row(
        "sign", "sign(h1)", (1, 1), [trivial(1)], [1], [*_LINEAR, "d", "none"], "benarous2021",
        "the perceptron", 1,
    ),
    _row(
        "absolute-value", "abs(h1)", (2, 2), [easy(0.5, 1)], [], [*_LOGARITHMIC, "d^2", "none"],
        "defilippis2025 troiani2024", "real phase retrieval: no linear part, threshold 1/2", 2,
    ),
    _row(
        "phase-retrieval", "h1**2", (2, 2), [easy(0.5, 1)], [], [*_LOGARITHMIC, "d^2", "d^2"],
        "defilippis2025 troiani2024", "real phase retrieval with intensities: threshold 1/2", 2,
    ),
    _row(
        "He3", "He3(h1)", (3, 3), [trivial(1)], [], ["d^2", "d^1.5", "d", "d", "d^3", "d^3"],
        "damian2024 dandi2024 lee2024", "hard for one-pass SGD, trivial once samples are used twice", 3,
    ),
    _row(
        "He4", "He4(h1)", (4, 4), [easy(0.64485, 1)], [], ["d^3", "d^2", "d", "d log d", "d^4", "d^4"],
        "damian2024 dandi2024 lee2024", "an even polynomial: generative exponent 2", 4,
    ),
    _row(
        "generative-four", "h1**2*exp(-h1**2)", (4, 4), [hard(4, 1)], [], ["d^3", "d^2", "d^2", "d^3", "d^4", "none"],
        "damian2024 arnaboldi2024", "generative exponent exactly 4: no transformation of the label helps", 4,
    ),
    _row(
        "two-parity", "sign(h1*h2)", (2, 2), [easy(_TWO_PARITY, 2)], [], [*_LOGARITHMIC, "d^2", "none"],
        "troiani2024 defilippis2025", "both directions at once, at alpha = pi^2/4", 2,
    ),
    _row(
        "product-two", "h1*h2", (2, 2), [easy(0.593751, 2)], [], [*_LOGARITHMIC, "d^2", "d^2"],
        "defilippis2025", "a saddle; threshold 0.59375", 2,
    ),
    _row(
        "product-three", "h1*h2*h3", (3, 3), [easy(2.56518, 3)], [], ["d^2", "d^1.5", "d", "d log d", "d^3", "d^3"],
        "defilippis2025 arnaboldi2024", "leap 3, yet easy: the size of the label tells about the squares", 3,
    ),
    _row(
        "three-parity", "sign(h1*h2*h3)", (3, 3), [hard(3, 3)], [], ["d^2", "d^1.5", "d^1.5", "d^2", "d^3", "none"],
        "troiani2024 damian2025", "hard: nothing of fewer than three directions shows in the label", 3,
    ),
    _row(
        "linear-and-absolute", "h1 + abs(h2)", (1, 2), [trivial(1), easy(0.5, 1)], [1], [*_LOGARITHMIC, "d", "none"],
        "troiani2024 dandi2023", "the linear direction first, the even one after it", 2,
    ),
    _row(
        "staircase-quadratic", "h1 + 2*h2 + h1*h2 + 3*h2**2", (1, 1), [trivial(2)], [1, 2], [*_LINEAR, "d", "d^2"],
        "troiani2024 dandi2023", "w1 + 2 w2 in the first step, everything in the second", 1,
    ),
    _row(
        "opposite-teachers", "h1 + He2(h1) + h2 - He2(h2)", (1, 1), [trivial(2)], [1, 2], [*_LINEAR, "d", "d^2"],
        "dandi2023", "w1 + w2 makes w1 - w2 linear: a staircase of two giant steps", 1,
    ),
    _row(
        "equal-teachers", "h1 + He2(h1) + h2 + He2(h2)", (1, 2), [trivial(1), easy(0.5, 1)], [1],
        [*_LOGARITHMIC, "d", "d^2"], "dandi2023", "equal teachers: giant steps stop at w1 + w2", 1,
    ),
    _row(
        "shared-factor", "h1 + h1*h2 + h1*h3", (1, 1), [trivial(2)], [1, 2], [*_LINEAR, "d", "d^2"],
        "dandi2023", "only w1 and w2 + w3 matter", 1,
    ),
    _row(
        "independent-factors", "h1 + h1*h2 + He3(h1)*h3", (1, 1), [trivial(3)], [1, 3], [*_LINEAR, "d", "d^4"],
        "dandi2023", "H1 and H3 are independent: both other directions in the second step", 1,
    ),
    _row(
        "long-staircase", "h1 + He3(h1)*h2 + He3(h2)*h3", (1, 1), [trivial(3)], [1, 2, 3], [*_LINEAR, "d", "d^4"],
        "dandi2023 abbe2022", "one direction per giant step", 1,
    ),
    _row(
        "grand-staircase-square", "h1**2 + sign(h1*h2*h3)", (2, 2), [easy(0.575166, 1), easy(_TWO_PARITY, 2)], [],
        [*_LOGARITHMIC, "d^2", "none"], "troiani2024 arnaboldi2024",
        "h1 at alpha = 0.575, then the other two as a two-parity at pi^2/4", 2,
    ),
    _row(
        "grand-staircase", "He4(h1) + sign(h1*h2*h3)", (3, 3), [easy(None, 1), easy(_TWO_PARITY, 2)], [],
        ["d^2", "d^1.5", "d", "d log d", "d^3", "none"], "troiani2024 arnaboldi2024",
        "three degrees at once for one-pass SGD; with reused samples h1 first, then a two-parity", 3,
    ),
    _row(
        "monomial-staircase", "h1 + h1*h2 + h1*h2*h3 + h1*h2*h3*h4", (1, 1), [trivial(4)], [1, 2, 3, 4],
        [*_LINEAR, "d", "d^4"], "abbe2022 abbe2023", "the merged staircase: one new variable per term", 1,
    ),
)  # fmt: skip
