"""The target: identity, noise, pickling, LaTeX, SymPy and function sources, speed."""

from __future__ import annotations

import pickle
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from scipy import special

import featlab
from featlab.errors import InvalidParameter, InvalidTarget
from featlab.targets import Isotropic, Target, target
from featlab.targets.model import _target_of_text


def test_attributes() -> None:
    made = target("He4(h1) + sign(h1*h2*h3)", noise=0.25)
    assert (made.text, made.rank, made.hidden, made.noise) == ("He4(h1) + sign(h1*h2*h3)", 3, 0, 0.25)
    assert made.degree is None
    assert made.inputs == Isotropic()
    assert made.typed_variables == ("h1", "h2", "h3")
    assert made.latex == r"\mathrm{He}_{4}\left(h_{1}\right) + \operatorname{sign}\left(h_{1} \, h_{2} \, h_{3}\right)"
    h = sympy.symbols("h1:4", real=True)
    assert made.expression == h[0] ** 4 - 6 * h[0] ** 2 + 3 + sympy.sign(h[0] * h[1] * h[2])


@pytest.mark.parametrize(
    ("text", "degree"),
    [("He4(h1)*h2", 5), ("h1*xi1", 2), ("(h1 + h2)**2 - h1**2 - 2*h1*h2 + h1", 2), ("sign(h1)", None),
     ("He2(h1) - h1**2 + h1", 1)],
)  # fmt: skip
def test_degree(text: str, degree: int | None) -> None:
    assert target(text).degree == degree


def test_identity_is_text_and_noise() -> None:
    assert target("h1+h2**2") == target("h2**2 + h1")
    assert hash(target("h1+h2**2")) == hash(target("h2**2 + h1"))
    assert target("h1") != target("h1", noise=0.1)
    assert target("h1") != "h1"


def test_noise_is_a_variance() -> None:
    assert target("h1").noise == 0.0
    made = target("h1", noise=0.5)
    assert target(made) is made
    assert target(made, noise=0).noise == 0.0
    for bad in (-1.0, float("nan"), float("inf"), "1", True):
        with pytest.raises(InvalidParameter, match="noise"):
            target("h1", noise=bad)  # type: ignore[arg-type]


def test_pickle_keeps_what_was_typed() -> None:
    made = target("sign(h2 + h3) + xi1", noise=0.1)
    again: Target = pickle.loads(pickle.dumps(made))  # noqa: S301
    assert again == made
    assert again.remarks == made.remarks
    np.testing.assert_array_equal(again.directions, made.directions)


def test_rank_and_kinks_are_for_functions_only() -> None:
    with pytest.raises(InvalidParameter, match="only for functions"):
        target("h1", rank=1)
    with pytest.raises(InvalidParameter, match="only for functions"):
        target("h1", kinks=[lambda h: h[..., 0]])


@pytest.mark.parametrize(
    "text",
    ["He3(h1)", "sign(h1*h2) + abs(h1)", "max(h1, h2, 0)/(1 + h1**2)", "sqrt(abs(h1))*exp(-h2)",
     "step(h1) + sigmoid(h2)", "clip(h1, -1, 2)", "erf(h1/3) - log(1 + h2**2)", "abs(h1)**-0.25"],
)  # fmt: skip
def test_sympy_expressions_come_back_as_the_same_function(text: str) -> None:
    made = target(text)
    again = target(made.expression)
    fields = np.random.default_rng(0).standard_normal((100, made.rank))
    np.testing.assert_allclose(again.link(fields), made.link(fields), rtol=1e-12, atol=1e-12)


def test_sympy_sources() -> None:
    h1, h2 = sympy.symbols("h1 h2")
    assert target(sympy.Heaviside(h1) + 0.5 * h2).text == "0.5*h2 + step(h1)"
    assert target(h1 + sympy.Symbol("h2", positive=True)).rank == 1
    assert target(sympy.Function("He")(3, h1)).text == "He3(h1)"
    for bad in (sympy.Symbol("x"), sympy.gamma(h1), sympy.oo * h1, sympy.I * h1, h1 > h2, sympy.Integral(h1, h1),
                sympy.Matrix([h1]), sympy.Float("inf") * h1, sympy.zoo, sympy.Symbol("h0")):  # fmt: skip
        with pytest.raises(InvalidTarget):
            target(bad)


LATEX = {
    "h1/(1 + h2**2)": r"\frac{h_{1}}{h_{2}^{2} + 1}",
    "2*h1/3 - 1": r"\frac{2}{3} \, h_{1} - 1",
    "h1**2*exp(-h1**2)": r"h_{1}^{2} \, e^{-h_{1}^{2}}",
    "sqrt(abs(h1)) - xi1": r"\sqrt{\left|h_{1}\right|} - \xi_{1}",
    "(h1 + h2)*h1": r"h_{1} \, \left(h_{1} + h_{2}\right)",
    "max(h1, 1)": r"\max\left(1, h_{1}\right)",
    "step(h1)": r"\mathbf{1}\left\{h_{1} \geq 0\right\}",
    "pi*h1**2": r"\pi \, h_{1}^{2}",
    "floor(h1) + mod(h2, 3)": r"\left\lfloor h_{1} \right\rfloor + h_{2} \bmod 3",
    "where(0 < h1 <= 1 or h2 > h1, 1, 0)": r"\begin{cases} 1 & \text{if } h_{1} < h_{2} \text{ or } h_{1} > 0 "
    r"\text{ and } h_{1} \leq 1 \\ 0 & \text{otherwise} \end{cases}",
}


@pytest.mark.parametrize("text", LATEX)
def test_latex(text: str) -> None:
    assert target(text).latex == LATEX[text]


def soft(h: np.ndarray) -> np.ndarray:
    return np.where(h[..., 0] > 0, special.erf(h[..., 0] + h[..., 1]), 0.0)


def threshold(h: np.ndarray) -> np.ndarray:
    return h[..., 0]


def test_numpy_function() -> None:
    made = target(soft, rank=2, kinks=[threshold], noise=0.1)
    assert (made.text, made.rank, made.hidden, made.degree, made.expression) == ("<soft>", 2, 0, None, None)
    assert made.kinks[0].variables == (0,)
    fields = np.random.default_rng(0).standard_normal((30, 2))
    np.testing.assert_array_equal(made.link(fields), soft(fields))
    expected = np.asarray(soft(fields), dtype=np.float32)
    single = jnp.asarray(fields, dtype=jnp.float32)
    for link in (made.link_jax, jax.jit(made.link_jax), jax.vmap(made.link_jax), jax.jit(jax.vmap(made.link_jax))):
        np.testing.assert_allclose(link(single), expected, rtol=1e-5, atol=1e-6)
    again: Target = pickle.loads(pickle.dumps(made))  # noqa: S301
    assert again == made
    assert target(soft, rank=2) != target(lambda h: soft(h), rank=2)


def test_jax_function_is_exact_in_numpy_and_differentiable_in_jax() -> None:
    made = target(lambda h: jnp.tanh(h[..., 0]) * h[..., 1], rank=2)
    fields = np.random.default_rng(0).standard_normal((30, 2))
    np.testing.assert_allclose(made.link(fields), np.tanh(fields[:, 0]) * fields[:, 1], rtol=1e-14)
    slope = jax.grad(made.link_jax)(jnp.array([0.0, 2.0]))
    np.testing.assert_allclose(slope, [2.0, 0.0], atol=1e-6)


def test_functions_are_reduced_too() -> None:
    made = target(lambda h: np.sin(h[..., 0] + h[..., 2]) + 0 * h[..., 1], rank=3)
    assert made.rank == 1
    np.testing.assert_allclose(np.abs(made.directions), [[0.5**0.5, 0, 0.5**0.5]], atol=1e-9)
    np.testing.assert_allclose(made.link([[1.0]]), np.sin(2**0.5), rtol=1e-12)
    np.testing.assert_allclose(made.link_jax(jnp.ones((1, 1))), np.sin(2**0.5), rtol=1e-6)
    jump = target(lambda h: np.sign(h[..., 0] + h[..., 1]), rank=2, kinks=[lambda h: h[..., 0] + h[..., 1]])
    assert jump.rank == 1
    assert jump.kinks[0].variables == (0,)
    assert target(lambda h: np.tanh(h[..., 0]) + 1e-4 * h[..., 1] ** 2, rank=2).rank == 2


@pytest.mark.parametrize(
    ("function", "rank", "words"),
    [
        (lambda h: 0 * h[..., 0] + 1, 1, "constant"),
        (lambda h: np.exp(h[..., 0] ** 2), 1, "square-integrable"),
        (lambda h: np.log(h[..., 0]), 1, "undefined"),
        (lambda h: h, 2, "maps shape"),
        (lambda h: h[..., 0] * 1j, 1, "complex"),
    ],
)
def test_inadmissible_functions(function: object, rank: int, words: str) -> None:
    with pytest.raises(InvalidTarget, match=words):
        target(function, rank=rank)


def test_a_declared_pole_is_tested() -> None:
    with pytest.raises(InvalidTarget, match="square-integrable"):
        target(lambda h: 1 / (h[..., 0] - 1), rank=1, kinks=[lambda h: h[..., 0] - 1])


def test_a_function_of_several_arrays_is_told_the_form() -> None:
    with pytest.raises(InvalidTarget, match=r"one array of fields \(\.\.\., rank\)"):
        target(lambda a, b: a * b, rank=2)


@pytest.mark.parametrize("rank", [None, 0, 33, 1.5, True])
def test_functions_need_a_rank(rank: object) -> None:
    with pytest.raises(InvalidParameter, match="rank"):
        target(lambda h: h[..., 0], rank=rank)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("sign(h1*h2)+He4( h1 )", "sign(h1*h2) + He4(h1)"),
        ("1+h2*h1 - -h2", "1 + h2*h1 - -h2"),
        ("sum(h[ i ]**2 for  i in 1 .. 3)", "sum(h[i]**2 for i in 1..3)"),
        ("where(not h1>0 and h2<=1,1,-1)", "where(not h1 > 0 and h2 <= 1, 1, -1)"),
        ("maximum(h2,h1)*xi1", "maximum(h2, h1)*xi1"),
        ("2e-3*h1", "2e-3*h1"),
        # Names that mean something else after reduction, or nothing, are not shown.
        ("h2 + h2**2", "h1 + h1**2"),
        ("(h1 + h2)**2", "2*h1**2"),
        ("h2 - h2 + h1", "h1"),
        ("h1*xi2", "h1*xi1"),
    ],
)
def test_a_text_is_shown_as_it_was_typed(typed: str, shown: str) -> None:
    made = target(typed)
    assert made.shown == shown
    assert target(made.shown) == made
    assert pickle.loads(pickle.dumps(made)).shown == shown  # noqa: S301


def test_a_target_that_was_no_text_is_shown_as_its_canonical_text() -> None:
    h1, h2 = sympy.symbols("h1 h2")
    assert target(h2 + h1**2).shown == target(h2 + h1**2).text == "h2 + h1**2"
    assert target(soft, rank=2).shown == "<soft>"


def test_sympy_functions_of_the_language() -> None:
    h1 = sympy.Symbol("h1")
    assert target(sympy.floor(h1) + sympy.Mod(h1, 3) + sympy.atan(h1)).text == "floor(h1) + arctan(h1) + mod(h1, 3)"
    h2 = sympy.Symbol("h2")
    pieces = sympy.Piecewise((h1**2, (h1 > 0) & (h2 <= 1)), (h2, sympy.Or(h1 < -1, h2 > 3)), (0, True))
    assert target(pieces) == target("where(h1 > 0 and h2 <= 1, h1**2, where(h1 < -1 or h2 > 3, h2, 0))")
    made = target("where(h1 > 0.5 or h2 <= 0, h1*h2, floor(h1))")
    fields = np.random.default_rng(0).standard_normal((200, 2))
    np.testing.assert_array_equal(target(made.expression).link(fields), made.link(fields))
    undefined = sympy.Piecewise((h1, h1 > 0))
    for refused in (sympy.Mod(h1, h2), undefined, sympy.Piecewise((h1, sympy.Eq(h1, h2)), (0, True))):
        with pytest.raises(InvalidTarget):
            target(refused)


def test_mass_that_integrals_do_not_reach_is_a_doubt() -> None:
    """For exp(a h1^2) the share of E f^2 beyond 19 is erfc(19 sqrt(1/2 - 2a))."""
    for rate in (0.24, 0.245):
        (doubt,) = target(f"exp({rate}*h1**2)").doubts
        said = float(doubt.split()[1])
        assert said == pytest.approx(special.erfc(19 * (0.5 - 2 * rate) ** 0.5), rel=0.5)
    for text in ("exp(0.2*h1**2)", "He(40, h1)", "h1**20*h2**20", "exp(2*h1)*h2", "abs(h1)**-0.4*abs(h2)**-0.4"):
        assert target(text).doubts == ()


@pytest.mark.parametrize(
    ("text", "square", "mean"),
    [
        ("exp(0.24*h1**2)", 0.04**-0.5, 0.52**-0.5),
        ("exp(0.24*h1**2)*sign(h2)", 0.04**-0.5, 0),
        ("exp(0.22*h1**2)*h2", 0.12**-0.5, 0),
        ("exp(0.2*(h1**2 + h2**2))", 5, 1 / 0.6),
    ],
)
def test_variances_miss_no_more_than_the_doubt_says(text: str, square: float, mean: float) -> None:
    """E exp(2 a h^2) = (1 - 4 a)^(-1/2) and E exp(a h^2) = (1 - 2 a)^(-1/2)."""
    made = target(text)
    allowed = float(made.doubts[0].split()[1]) if made.doubts else 1e-5
    variance = featlab.explain(made).analysis.energies.variance
    assert -allowed * square < variance - (square - mean**2) < 1e-6


def test_a_target_is_cheap() -> None:
    """0.2 s of processor time for the example of the README, after imports; the best of three."""

    def seconds() -> float:
        _target_of_text.cache_clear()
        start = time.process_time()
        target("He4(h1) + sign(h1*h2*h3)")
        return time.process_time() - start

    assert min(seconds() for _ in range(3)) < 0.2


def test_the_same_text_is_reduced_once_and_what_is_shared_cannot_be_changed() -> None:
    one, other = (target("h1 + h2", noise=noise) for noise in (0.1, 0.1))
    assert one is other
    assert target("h1 + h2") is not one
    with pytest.raises(ValueError, match="read-only"):
        one.directions[0, 0] = 2.0
