"""Tree targets: the label against a plain loop, their text, their law in d, what is refused."""

from __future__ import annotations

import pickle

import jax.numpy as jnp
import numpy as np
import pytest

import featlab
from featlab.errors import InvalidParameter, InvalidTarget
from featlab.targets import TreeTarget, target, tree_target

LINK, POLYNOMIAL = "tanh(3*h1)", "He2(h1)/2 + He3(h1)/6"
TEXT = "tree(tanh(3*h1), He2(h1)/2 + He3(h1)/6, d^0.5)"


def by_hand(fields: np.ndarray, blocks: int, width: int, signs: str) -> tuple[np.ndarray, np.ndarray]:
    """h* (n, r) and y (n,), sample by sample, block by block, direction by direction."""
    hidden = np.zeros((len(fields), blocks))
    for sample, row in enumerate(fields):
        for block in range(blocks):
            for place in range(width):
                z = row[block * width + place]
                sign = -1.0 if signs == "alternating" and place % 2 else 1.0
                hidden[sample, block] += sign * ((z**2 - 1) / 2 + (z**3 - 3 * z) / 6) / width**0.5
    return hidden, np.tanh(3 * hidden).sum(axis=1) / blocks**0.5


@pytest.mark.parametrize(("blocks", "width", "signs"), [(1, 10, "alternating"), (3, 4, "ones")])
def test_label_is_that_of_a_plain_loop(blocks: int, width: int, signs: str) -> None:
    made = tree_target(LINK, POLYNOMIAL, effective=width, blocks=blocks, signs=signs)
    fields = np.random.default_rng(0).standard_normal((7, blocks * width))
    hidden, label = by_hand(fields, blocks, width, signs)
    assert np.allclose(made.link(fields), label, rtol=0, atol=1e-13)
    assert np.allclose(made.hidden_fields(fields), hidden, rtol=0, atol=1e-13)
    single = jnp.asarray(fields, jnp.float32)
    assert made.link_jax(single).dtype == jnp.float32
    assert np.allclose(made.link_jax(single), label, rtol=0, atol=1e-5)
    assert np.allclose(made.hidden_fields_jax(single), hidden, rtol=0, atol=1e-5)
    other = {"alternating": "ones", "ones": "alternating"}[signs]
    assert not np.allclose(made.link(fields), by_hand(fields, blocks, width, other)[1], atol=1e-2)


def test_law_is_taken_at_a_dimension() -> None:
    law = target(TEXT, noise=0.5)
    assert isinstance(law, TreeTarget)
    assert law == tree_target(LINK, POLYNOMIAL, exponent=0.5, noise=0.5)
    assert (law.at(100).rank, law.at(120).rank, law.at(1).rank) == (10, 10, 1)
    # 1000^(1/3) is 9.999999999999998 in floating point.
    assert target(TEXT.replace("0.5", "1/3")).at(1000).rank == 10
    assert law.at(100) == target(TEXT.replace("d^0.5", "10"), noise=0.5)
    assert law.at(100).at(10**6) == law.at(100)
    with pytest.raises(InvalidTarget, match=r"law in d.*\.at\(dim\)"):
        law.link(np.zeros((3, 1)))


def test_text_parses_back_and_pickles() -> None:
    for made in (
        target(TEXT),
        tree_target("sign(h1)", "He1(h1) + He2(h1)", effective=3, blocks=2, signs="ones", noise=0.1),
    ):
        assert target(made.text, noise=made.noise) == made
        assert hash(target(made.text, noise=made.noise)) == hash(made)
        assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301
    assert target(TEXT) != target(TEXT.replace("0.5", "0.4"))


def test_coefficients_of_the_polynomial() -> None:
    shape = tree_target("h1", "h1**3 + He2(h1)", effective=2).shape
    assert np.allclose(shape.coefficients, [0, 3, 1, 1], rtol=0, atol=1e-12)
    assert shape.degree == 3


def test_small_trees_are_analysed_and_large_ones_refused() -> None:
    """One direction of P = He2 and a link with a jump: y = sign(He2(h1)), which is even: information exponent 2."""
    assert featlab.analyse(target("tree(sign(h1), He2(h1), 1)")).information_exponent == 2
    assert featlab.analyse(target("sign(He2(h1))")).information_exponent == 2
    assert featlab.analyse(target("tree(tanh(h1), He1(h1) + He2(h1), 1)")).information_exponent == 1
    with pytest.raises(InvalidTarget, match=r"16 directions.*featlab.theory.depth"):
        featlab.explain(TEXT.replace("d^0.5", "16"))
    with pytest.raises(InvalidTarget, match=r"law in d.*featlab.theory.depth"):
        featlab.explain(TEXT)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tree(tanh(h1))", "tree(g, P, D)"),
        ("tree(tanh(h1), He2(h1), many)", "'many' is no number"),
        ("tree(tanh(h1), He2(h1), 4, foo=3)", "'foo=3' is no part"),
        ("tree(tanh(h1), h1**2, 4)", "mean 1"),
        ("tree(tanh(h1), tanh(h1), 4)", "polynomial"),
        ("tree(tanh(h1 + h2), He2(h1), 4)", "function of h1 alone"),
        ("tree(tanh(h1), He2(h1) + xi1, 4)", "function of h1 alone"),
        ("tree(foo(h1), He2(h1), 4)", "foo"),
    ],
)
def test_bad_texts_are_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidTarget) as fault:
        target(text)
    assert words in str(fault.value)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"effective": 4, "exponent": 0.5},
        {"effective": 0},
        {"effective": 2.5},
        {"effective": True},
        {"exponent": 0.0},
        {"exponent": 1.5},
        {"effective": 4, "blocks": 0},
        {"effective": 4, "signs": "random"},
        {"effective": 4, "noise": -1.0},
    ],
)
def test_bad_parameters_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        tree_target(LINK, POLYNOMIAL, **options)


@pytest.mark.parametrize("text", ["tree(tanh(h1), He2(h1), 1e9)", "tree(h1, He2(h1), 200, blocks=100)"])
def test_more_directions_than_a_matrix_can_hold_are_refused_with_its_size(text):
    with pytest.raises(InvalidTarget, match=r"would take a matrix of .* bytes; at most 10,000 directions"):
        target(text)


def test_a_law_is_refused_where_it_grows_too_large():
    law = target("tree(tanh(h1), He2(h1), d^0.9)")
    assert law.at(1000).rank == 501
    with pytest.raises(InvalidTarget, match="at most 10,000 directions"):
        law.at(10**9)
