"""The designs one by one: identities that any matrix X satisfies, accuracy in float32, and which one is chosen."""

from __future__ import annotations

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.simulation.designs import chunks, one_neuron, virtual
from featlab.simulation.designs.choose import Demand, DoesNotFit, choose
from featlab.simulation.designs.dense import Dense, Streamed
from featlab.simulation.designs.dice import Dice
from featlab.simulation.designs.one_neuron import ReusedByOne
from featlab.simulation.designs.virtual import FreshVirtual, ReusedVirtual
from featlab.simulation.random import fold, normal, root_key

KEY = root_key(11)
ACCURACY = 1e-4


def first(batch):
    return jax.tree.map(lambda part: part[0], batch)


def conversation(design, queries):
    """Ask X and X^T in turn, each question depending on the answers before; return all of it and the batch."""
    forward, backward = jax.jit(design.forward), jax.jit(design.backward)
    batch = first(jax.jit(design.draw)(KEY))
    weights = jax.jit(design.gaussian_rows, static_argnums=1)(fold(KEY, 1), design.width) / design.dim**0.5
    said = []
    for _ in range(queries):
        fields, batch = forward(batch, weights)
        duals = jnp.tanh(fields) + 0.1 * fields**2
        pull, batch = backward(batch, duals)
        said.append((weights, fields, duals, pull))
        weights = 0.9 * weights + 0.5 * pull / jnp.linalg.norm(pull, axis=1, keepdims=True)
    return said, batch


def adjoint_error(said):
    """The largest violation of <D, X W> = <D^T X, W> over all pairs of questions, relative to |D| |X W|."""
    weights, fields, duals, pulls = (
        np.concatenate([np.asarray(part.T if tall else part) for part in parts])
        for parts, tall in zip(zip(*said, strict=True), (0, 1, 1, 0), strict=True)
    )
    scale = np.linalg.norm(duals, axis=1)[:, None] * np.linalg.norm(fields, axis=1)
    return np.max(np.abs(duals @ fields.T - pulls @ weights.T) / scale)


def repeat_errors(design, said, batch):
    """The first question asked once more at the end, of X and of X^T: how far the answers are from the first ones."""
    weights, fields, duals, pull = said[0]
    again, batch = jax.jit(design.forward)(batch, weights)
    pulled, _ = jax.jit(design.backward)(batch, duals)
    return [float(jnp.linalg.norm(new - old) / jnp.linalg.norm(old)) for new, old in ((again, fields), (pulled, pull))]


@pytest.mark.parametrize("kind", [Dice, ReusedVirtual])
def test_sixty_questions_at_a_hundred_thousand_dimensions_stay_consistent(kind):
    design = kind(dim=10**5, known=2, width=1, rows=50_000, uses=31)
    said, batch = conversation(design, 30)
    assert adjoint_error(said) < ACCURACY
    assert max(repeat_errors(design, said, batch)) < ACCURACY
    for table in (batch.left, batch.right) if kind is Dice else (batch.asked,):
        used = np.asarray(table)[np.any(np.asarray(table) != 0, axis=1)]
        assert np.max(np.abs(used @ used.T - np.eye(len(used)))) < ACCURACY


@pytest.mark.parametrize("kind", [Dense, Streamed, Dice, ReusedVirtual])
def test_any_design_answers_like_a_matrix(kind):
    more = {} if kind in (Dense, Streamed) else {"uses": 5}
    design = kind(dim=300, known=2, width=3, rows=200, **more)
    said, batch = conversation(design, 4)
    assert adjoint_error(said) < 1e-5
    assert max(repeat_errors(design, said, batch)) < 1e-5


BY_ONE = {"dim": 300, "known": 2, "width": 1, "rows": 200, "uses": 5}


@functools.cache
def by_one():
    return conversation(ReusedByOne(**BY_ONE), 4)


def test_one_neuron_on_a_gpu_is_answered_like_by_a_matrix():
    said, batch = by_one()
    assert adjoint_error(said) < 1e-5
    assert max(repeat_errors(ReusedByOne(**BY_ONE), said, batch)) < 1e-5
    asked = np.asarray(batch.asked)[:4]
    np.testing.assert_allclose(asked @ asked.T, np.eye(4), atol=2e-6)
    assert not np.any(np.asarray(batch.asked)[4:])


def test_one_neuron_on_a_gpu_is_told_what_it_is_told_on_a_cpu():
    """The same key gives the same numbers; another question is far away."""
    said, _ = by_one()
    expected, _ = conversation(ReusedVirtual(**BY_ONE), 4)
    for answers, others in zip(said, expected, strict=True):
        for one, other in zip(answers, others, strict=True):
            np.testing.assert_allclose(one, other, atol=2e-6 * float(jnp.max(jnp.abs(other))))
    assert np.max(np.abs(said[3][3] - said[2][3])) > 1e-2 * np.max(np.abs(said[3][3]))


def test_one_neuron_that_asks_again_leaves_no_new_direction():
    """What is left is rounding, and would point anywhere: a zero row, and questions after it are answered."""
    design, (said, batch) = ReusedByOne(**BY_ONE), by_one()
    backward = jax.jit(design.backward)
    _, batch = backward(batch, said[2][2])
    assert not np.any(np.asarray(batch.asked)[4])
    pull, _ = backward(by_one()[1], said[2][2] + 1e-3 * said[3][2])
    np.testing.assert_allclose(pull[:, :7], (said[2][3] + 1e-3 * said[3][3])[:, :7], atol=1e-5 * np.max(said[2][3]))


def test_control_coordinates_that_forget_what_was_asked_break_the_identity(monkeypatch):
    monkeypatch.setattr(one_neuron, "_mixed", lambda numbers, matrix: 0 * numbers)
    said, _ = conversation(ReusedByOne(**BY_ONE), 4)
    assert adjoint_error(said) > 1e-3


def test_tables_for_one_neuron_are_read_once_on_a_gpu_alone(monkeypatch):
    one = Demand(dim=1000, known=1, width=1, rows=3000, uses=10)
    assert type(choose(one, True, "virtual").design) is ReusedVirtual
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    for demand, kind in (
        (one, ReusedByOne),
        (replace(one, width=2), ReusedVirtual),
        (replace(one, uses=33), ReusedVirtual),
    ):
        design = choose(demand, True, "virtual", memory=10**9).design
        assert type(design) is kind
        assert design.bytes_per_seed() == ReusedVirtual(1000, 1, demand.width, 3000, uses=demand.uses).bytes_per_seed()


def test_control_unprojected_noise_breaks_the_identity(monkeypatch):
    """New coordinates that ignore the answers already given: found at once by the same identity."""
    monkeypatch.setattr(virtual, "off", lambda basis, block: block)
    said, _ = conversation(ReusedVirtual(dim=300, known=2, width=3, rows=200, uses=5), 4)
    assert adjoint_error(said) > 1e-3


@pytest.mark.parametrize("kind", [Dice, ReusedVirtual])
def test_a_repeated_row_is_no_trouble(kind):
    """Mirror-image neurons ask the same question twice in one block."""
    design = kind(dim=100, known=1, width=4, rows=80, uses=3)
    batch, forward = first(jax.jit(design.draw)(KEY)), jax.jit(design.forward)
    rows = jax.jit(design.gaussian_rows, static_argnums=1)(KEY, 2)
    fields, batch = forward(batch, jnp.concatenate([rows, rows]))
    duals = fields * jnp.array([1.0, 1.0, -1.0, -1.0])
    pull, batch = jax.jit(design.backward)(batch, duals)
    assert float(jnp.max(jnp.abs(pull[:2] + pull[2:]))) < 1e-4 * float(jnp.max(jnp.abs(pull)))
    again, _ = forward(batch, jnp.concatenate([pull[:2], pull[:2]]) / 100)
    assert np.all(np.isfinite(again))


def test_streamed_is_dense(monkeypatch):
    """The same key makes the same X, also when the last chunk is not full."""
    monkeypatch.setattr(chunks, "_CHUNK_NUMBERS", 7 * 40)
    dense, streamed = (kind(dim=40, known=2, width=3, rows=31) for kind in (Dense, Streamed))
    assert streamed.chunks == 5
    weights, duals = jax.jit(lambda: (dense.gaussian_rows(fold(KEY, 1), 3), normal(fold(KEY, 2), (31, 3))))()

    @functools.partial(jax.jit, static_argnums=0)
    def answers(design, key):
        batch = first(design.draw(key))
        return (
            design.forward(batch, weights)[0],
            design.backward(batch, duals)[0],
            design.target_fields(batch)[0],
            design.squared_norms(batch),
        )

    for left, right in zip(answers(dense, KEY), answers(streamed, KEY), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5)
    stored, other = (np.asarray(first(jax.jit(dense.draw)(key))) for key in (KEY, fold(KEY, 5)))
    chunk = jax.jit(streamed.chunk)
    streams = np.concatenate([chunk(KEY, index) for index in range(5)])[:31]
    np.testing.assert_allclose(stored, streams, rtol=1e-5, atol=1e-5)
    assert not np.allclose(stored, other, atol=0.1)


def test_rebasing_keeps_every_product():
    design = FreshVirtual(dim=100, known=2, width=3, rows=10)
    weights = normal(KEY, (3, design.frame))
    rebased = design.rebase(weights)
    np.testing.assert_allclose(rebased @ rebased.T, weights @ weights.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(rebased[:, :2], weights[:, :2])
    assert np.all(np.asarray(rebased[:, 5:]) == 0)


def test_auto_takes_the_least_work_that_fits():
    large = Demand(dim=10**9, known=1, width=1, rows=1)
    assert choose(large, True).kind == "virtual"
    assert choose(Demand(dim=50, known=1, width=1, rows=9, stored=True), True).kind == "dense"
    assert choose(Demand(dim=3, known=1, width=2, rows=5, uses=2), True).kind == "dense"
    crowded = Demand(dim=20_000, known=1, width=8, rows=30, uses=40)  # more questions than rows: no frame for it
    assert choose(crowded, True).kind == "dense"
    assert choose(crowded, True, memory=choose(crowded, True).bytes_per_seed - 1).kind == "streamed"


def test_what_does_not_fit_is_refused_with_its_size():
    demand = Demand(dim=10**6, known=1, width=1, rows=3 * 10**6, uses=10)
    with pytest.raises(DoesNotFit, match="48,000,0") as caught:
        choose(demand, True, "dense", memory=10**9)
    assert caught.value.needed > 4.8e13
    assert caught.value.available == 10**9
    assert choose(demand, True, "virtual", memory=10**9).seeds_at_once >= 1
    assert caught.value.fitting == ("virtual", "streamed")


def test_a_refusal_recommends_only_what_fits():
    demand = Demand(dim=10**6, known=1, width=1, rows=3 * 10**6, uses=10)
    for kind in ("auto", "virtual", "streamed", "dense"):
        with pytest.raises(DoesNotFit, match="it fits on no design; take fewer samples") as caught:
            choose(demand, True, kind, memory=10**3)
        assert "design='" not in str(caught.value)
    least = choose(demand, True, "virtual", memory=10**12).bytes_per_seed
    with pytest.raises(DoesNotFit) as caught:
        choose(demand, True, "virtual", memory=least - 1)
    assert "virtual" not in caught.value.fitting


@pytest.mark.parametrize(
    ("demand", "kind", "name"),
    [
        (Demand(dim=5, known=2, width=2, rows=9), "virtual", "dim"),
        (Demand(dim=50, known=2, width=2, rows=5, uses=3), "virtual", "samples"),
        (Demand(dim=6, known=2, width=2, rows=50, uses=3), "dice", "dim"),
        (Demand(dim=60, known=2, width=2, rows=1), "dice", "samples"),
        (Demand(dim=60, known=2, width=2, rows=9, normed=True), "dice", "design"),
        (Demand(dim=60, known=2, width=2, rows=9), "sparse", "design"),
        (Demand(dim=60, known=2, width=2, rows=9, stored=True), "virtual", "design"),
    ],
)
def test_a_design_that_cannot_serve_says_so(demand, kind, name):
    with pytest.raises(InvalidParameter) as caught:
        choose(demand, True, kind)
    assert caught.value.name == name
