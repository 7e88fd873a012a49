"""The true rank: redundant directions are found, removed and said; real ones never are."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.targets import target


@pytest.mark.parametrize(
    ("text", "rank", "reduced"),
    [
        ("h1 + h2", 1, "sqrt(2)*h1"),
        ("h1 - h1 + h2", 1, "h1"),
        ("h2", 1, "h1"),
        ("h1*h3", 2, "h1*h2"),
        ("h1 + h2 + (h1 + h2)**2", 1, "2*h1**2 + sqrt(2)*h1"),
        ("sign(h1)**2*h2", 1, "h1"),
        ("abs(sign(h1))*h2 + h3*step(h1**2)", 1, None),
        ("relu(h1) - relu(-h1) + h2", 1, None),
        ("max(h1, h2) + min(h1, h2)", 1, "sqrt(2)*h1"),
        ("max(h1, h2) - min(h1, h2)", 1, None),
        ("sign(h1 + h2)", 1, "sign(h1)"),
        ("sign(h1 - 2*h2)*(h1 - 2*h2)**2", 1, None),
        ("sign(h1 + h2)*h1", 2, "h1*sign(h1 + h2)"),
        ("sign(h1) + sign(h2)", 2, "sign(h1) + sign(h2)"),
        ("step(h1 + h2 + h3 - 1)", 1, None),
        ("tanh(1e6*(h1 + h2))", 1, None),
        ("tanh(1e6*h1) + tanh(1e6*h2)", 2, None),
        ("h1*h2*h3 + h2*h3*h4", 3, "sqrt(2)*h1*h2*h3"),
        ("(h1 + h2)*h3", 2, "sqrt(2)*h1*h2"),
        ("(h1 + h2)*(h1 - h2)", 2, "(h1 + h2)*(h1 - h2)"),
        ("He2(h1) + He2(h2) + 2*h1*h2", 1, "2*h1**2 - 2"),
        ("He3(h1) - h1**3 + 3*h1 + h2", 1, "h1"),
        ("sin(h1)**2 + cos(h1)**2 + h2", 1, None),
        ("sqrt(2)*h1 + h2", 1, "sqrt(3)*h1"),
        ("0.3*h1 + 0.7*h2 + 1", 1, "0.1*sqrt(58)*h1 + 1"),
        ("h1 + 1e-9*h2**2", 2, None),
        ("He12(h1) + h2", 2, None),
        ("He(30, h1) + h2", 2, None),
        ("step(h1 - 4) + h2", 2, None),
        ("h1 + exp(-(h2 - 7)**2)", 2, None),
        ("h1*h2*h3*h4*h5*h6*h7*h8*h9", 9, None),
        ("tanh(h1 + h2 + h3) + h4*(h1 + h2 + h3)", 2, None),
        ("pi*h1 + e*h2", 1, None),
        ("0.123456*h1 + 0.98765*h2", 1, None),
        ("sign(h1 + pi*h2)*(h1 + pi*h2)**2 + h3", 2, None),
        ("sign(abs(1/h1))*h2", 1, "h1"),
        ("tanh(pi*h1 + h2)*(h3 - h1)", 2, None),
    ],
)
def test_rank(text: str, rank: int, reduced: str | None) -> None:
    made = target(text)
    assert made.rank == rank
    if reduced is not None:
        assert made.text == reduced
    np.testing.assert_allclose(made.directions @ made.directions.T, np.eye(rank), atol=1e-12)
    assert made.directions.shape == (rank, len(made.typed_variables))


def test_noise_inside_the_link_is_reduced_but_never_counted() -> None:
    made = target("h1*xi1 + xi2 + xi3 + 0*xi4")
    assert (made.rank, made.hidden) == (1, 2)
    assert made.text == "h1*xi1 + sqrt(2)*xi2"
    assert target("h1 + xi1").rank == 1
    assert target("h1 + xi1 - xi1").hidden == 0
    assert target("h2 + xi7").names == ["h1", "xi1"]


def test_remarks_say_what_was_reduced() -> None:
    assert target("h1 + h2").remarks == (
        "the target varies along 1 of the 2 directions that were typed",
        "h1 here stands for 0.7071*h1 + 0.7071*h2",
    )
    assert target("h1 - h1 + h2").remarks == (
        "h1 does not matter: the target does not depend on it",
        "h1 here stands for h2",
    )
    assert target("h1*h2").remarks == ()


def test_directions_without_a_closed_form_are_decimals() -> None:
    """Coefficients are right to 1e-14 and the text stays short enough to be typed."""
    for text, at_one in (
        ("pi*h1 + e*h2", np.hypot(np.pi, np.e)),
        ("0.123456*h1 + 0.98765*h2", np.hypot(0.123456, 0.98765)),
        ("sign(h1 + pi*h2)*(h1 + pi*h2)**2", 1 + np.pi**2),
    ):
        made = target(text)
        np.testing.assert_allclose(made.link([1.0]), at_one, rtol=1e-14)
        assert len(made.text) < 40


def test_a_random_rotation_is_undone() -> None:
    """tanh(u) + u v^2 written in three variables whose third combination is missing has rank 2, with the right span."""
    rng = np.random.default_rng(8)
    u, v, w = np.linalg.qr(rng.standard_normal((3, 3)))[0].round(4)
    linear = ["(" + " + ".join(f"({c})*h{k + 1}" for k, c in enumerate(row)) + ")" for row in (u, v, w)]
    made = target(f"tanh({linear[0]}) + {linear[0]}*{linear[1]}**2")
    assert made.rank == 2
    span = np.linalg.qr(np.array([u, v]).T)[0]
    np.testing.assert_allclose(made.directions @ span @ span.T, made.directions, atol=1e-9)
    assert target(f"tanh({linear[0]}) + {linear[1]}*{linear[2]}").rank == 3


@pytest.mark.parametrize("size", [1e-2, 1e-5, 1e-8])
def test_small_dependence_is_kept(size: float) -> None:
    """Negative control of the reduction: a weak second direction is a direction."""
    assert target(f"tanh(h1 + h2) + {size:.8f}*sin(h1)").rank == 2
    assert target(f"sign(h1 + h2) + {size:.8f}*sign(h1)").rank == 2
