"""Streams: events in their order, the numbers of the command line, pauses, and an end whoever ends it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

import featlab
from featlab.comparison import predict_and_simulate
from featlab.experiments.text import experiment_from_text
from featlab.explorer import runs
from featlab.explorer.answers import Answers
from featlab.explorer.faults import Fault
from featlab.explorer.streams import Streams, simulation, sweep, until_gone, whole
from featlab.explorer.workers import Workers
from featlab.reports.records import comparison_record
from featlab.reports.run_records import plain, simulation_record
from tests.explorer.standing_in import Client, events, opened, standing_in
from tests.explorer.test_api import checker
from tests.explorer.test_workers import run

REUSE = {"target": "He3(h1)", "learner": "reused-batch", "dim": 200, "samples": 600, "steps": 2, "step_size": 0.2}
RUN = {**REUSE, "start": "orthogonal", "seeds": 3}


@pytest.fixture(scope="module")
def client() -> Any:
    with opened() as client:
        yield client


def told(client: Client, path: str, asked: Any = None, **more: Any) -> list[tuple[str, Any]]:
    """The events of a stream, each held to its schema."""
    answer = client.post(f"/api/v1/{path}", asked, **more)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    check, api = checker(client.app.openapi()), client.app.openapi()
    found = [(name, json.loads(data)) for name, data in events(answer.text)]
    for name, content in found:
        if name in api["x-events"]:
            check(content, name=api["x-events"][name]["$ref"].rpartition("/")[2])
    return found


def test_a_simulation_seed_by_seed(client: Client) -> None:
    found = told(client, "simulate", {"experiment": RUN})
    assert [name for name, _ in found] == ["queued", "started", "seed", "seed", "seed", "agreement", "done"]
    assert found[1][1]["seeds"] == [0, 1, 2]
    whole_run = featlab.simulate(experiment_from_text(RUN))
    for place, (_, content) in enumerate(found[2:5]):
        expected = whole_run.isel(seed=[place])
        for name in ("overlap", "risk"):
            # The same random numbers; sums over seeds side by side are rounded otherwise, in float32.
            np.testing.assert_allclose(
                content["simulation"]["data"][name]["values"], plain(expected[name].values), rtol=1e-4, atol=1e-5
            )
    other = featlab.simulate(experiment_from_text({**RUN, "key": 1})).isel(seed=[0])
    assert np.max(np.abs(other["overlap"].values - found[2][1]["simulation"]["data"]["overlap"]["values"])) > 1e-3


def test_its_agreement_is_that_of_compare(client: Client) -> None:
    (content,) = [content for name, content in told(client, "simulate", {"experiment": RUN}) if name == "agreement"]
    both = predict_and_simulate(experiment_from_text(RUN), sizes=1, progress=False)
    expected = comparison_record(both.comparison)
    assert content["agreement"]["verdict"] == expected["verdict"]
    assert content["agreement"]["points"] == expected["points"]
    assert content["agreement"]["largest_z"] == pytest.approx(expected["largest_z"], rel=1e-2)


def test_a_start_that_is_left_to_chance_is_seen() -> None:
    """Theory then starts where each seed did, as in `featlab compare`."""
    said = {**REUSE, "times": "2", "seeds": 2}
    ask = {"experiment": said}
    records = [runs.simulate({**ask, "seed": seed}, print)["simulation"] for seed in (0, 1)]
    assert records[0]["time"] == [0.0, 2.0]
    found = runs.agreement({**ask, "runs": records}, print)
    assert found["agreement"]["points"] > 0
    assert "seed" in found["prediction"]


def test_what_has_no_theory_is_told() -> None:
    said = {"target": "tanh(h1)", "learner": "sign-sgd", "dim": 20, "times": "0,1", "step_size": "0.1/d"}
    run = runs.simulate({"experiment": RUN, "seed": 0}, print)["simulation"]
    found = runs.agreement({"experiment": said, "runs": [run]}, print)
    assert found["agreement"] is None
    assert "no theory" in found["reason"]


def test_a_dataset_comes_back_from_its_record() -> None:
    dataset = featlab.simulate(experiment_from_text(RUN))
    again = runs.dataset_of(json.loads(json.dumps(simulation_record(dataset))))
    assert {name: dict(dataset[name].sizes) for name in dataset} == {name: dict(again[name].sizes) for name in again}
    np.testing.assert_array_equal(again["overlap"].values.astype(np.float32), dataset["overlap"].values)
    assert again.attrs["dim"] == 200
    assert list(again["step"].values) == list(dataset["step"].values)


@pytest.mark.parametrize(
    ("change", "parameter"), [({"dim": 0}, "dim"), ({"seeds": 1000}, "seeds"), ({"learner": "os:system"}, "learner")]
)
def test_a_refusal_ends_a_stream(client: Client, change: dict[str, Any], parameter: str) -> None:
    found = told(client, "simulate", {"experiment": {**RUN, **change}})
    assert [name for name, _ in found] == ["queued", "error"]
    assert found[-1][1]["error"]["parameter"] == parameter


def test_a_sweep_over_the_ratio(client: Client) -> None:
    found = told(client, "sweep", {"experiment": REUSE | {"start": "orthogonal"}, "ratios": [2, 3], "simulate": 1})
    points = [content for name, content in found if name == "point"]
    assert [(one["samples"], "prediction" in one, "simulation" in one) for one in points] == [
        (400, True, False),
        (400, False, True),
        (600, True, False),
        (600, False, True),
    ]
    expected = simulation_record(featlab.predict(experiment_from_text({**REUSE, "start": "orthogonal"})))
    assert points[2]["prediction"]["data"]["overlap"]["values"] == expected["data"]["overlap"]["values"]
    assert client.post("/api/v1/sweep", {"experiment": {**REUSE, "dim": "x"}, "ratios": [1]}).status_code == 422


def test_a_race_is_watched(client: Client) -> None:
    asked = {"target": "tanh(h1)", "dim": 20, "ratios": [4, 8], "seeds": 2, "entrants": ["sir"], "budget": 60}
    found = told(client, "race", asked)
    names = [name for name, _ in found]
    assert names[:2] == ["queued", "started"]
    assert set(names[2:-1]) == {"standings"}
    assert names[-1] == "done"
    expected = featlab.race("tanh(h1)", dim=20, ratios=[4, 8], seeds=2, entrants=["sir"], progress=False).to_dict()
    got, wanted = (one["entrants"][0]["simulation"]["found"] for one in (found[-1][1]["race"], expected))
    assert got == json.loads(json.dumps(wanted))


def test_data_are_diagnosed(client: Client) -> None:
    draw = np.random.default_rng(0)
    inputs = draw.normal(size=(60, 2))
    csv = "a,b,y\n" + "\n".join(f"{x},{z},{x + 0.1 * z}" for x, z in inputs)
    header = {"content-type": "text/csv; charset=utf-8"}
    found = told(client, "diagnose?label=y&curves=false", body=csv.encode(), headers=header)
    assert {name for name, _ in found} == {"queued", "started", "step", "done"}
    assert found[-1][1]["diagnosis"]["label"] == "y"
    assert "<svg" in found[-1][1]["page"]
    error = told(client, "diagnose?label=nothing", body=csv.encode(), headers=header)[-1][1]["error"]
    assert error["parameter"] == "label"
    assert "/" not in error["message"]  # no path of this machine
    assert client.post("/api/v1/diagnose?label=y", body=b"\xff\xfe", headers=header).status_code == 422


async def _until(stream: AsyncIterator[bytes], name: str) -> dict[str, Any]:
    """The content of the next event of that name."""
    async for text in stream:
        if text.startswith(f"event: {name}\n".encode()):
            return json.loads(text.partition(b"\ndata: ")[2])
    raise AssertionError(f"the stream ended without {name}")


def _fake(monkeypatch: pytest.MonkeyPatch, seeds: int = 5) -> None:
    """A simulation that takes no time, in the place of those that do."""
    monkeypatch.setattr(runs, "estimate", lambda said, emit: {"seconds": 1.0, "seeds": list(range(seeds))})
    monkeypatch.setattr(runs, "simulate", lambda said, emit: {"seed": said["seed"], "simulation": {}})
    monkeypatch.setattr(runs, "agreement", lambda said, emit: {"agreement": None, "reason": "not asked"})


def _streams(work: Callable[[Streams], Any]) -> Any:
    async def inner(workers: Workers) -> Any:
        return await work(Streams(Answers(workers), of_client=2))

    return run(inner, standing_in())


def test_a_pause_holds_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(monkeypatch)

    async def work(streams: Streams) -> None:
        stream = streams.opened("a", "simulate", lambda one: simulation({"experiment": {}}, one))
        told = stream.events()
        await _until(told, "seed")
        streams.find(stream.id).control("pause")
        await _until(told, "paused")
        await asyncio.sleep(0.05)
        workers = streams.answers.workers
        assert all(worker.ask is None for worker in workers.workers)
        assert json.loads(await workers.run("simulate", {"seed": 9}, "b"))["seed"] == 9
        stream.control("resume")
        assert (await _until(told, "done"))["seeds"] == 5
        with pytest.raises(Fault):
            streams.find(stream.id)

    _streams(work)


def test_a_stream_is_cancelled_by_its_id_or_by_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(monkeypatch, seeds=10_000)

    async def work(streams: Streams) -> None:
        first = streams.opened("a", "simulate", lambda one: simulation({"experiment": {}}, one))
        told = first.events()
        await _until(told, "seed")
        first.control("cancel")
        await _until(told, "cancelled")
        second = streams.opened("a", "simulate", lambda one: simulation({"experiment": {"other": 1}}, one))
        told = second.events()
        await _until(told, "seed")
        await told.aclose()  # type: ignore[attr-defined]
        for stream in (first, second):
            with pytest.raises(Fault):
                streams.find(stream.id)
        await asyncio.sleep(0.05)
        assert all(worker.ask is None for worker in streams.answers.workers.workers)

    _streams(work)


def test_streams_are_limited() -> None:
    async def work(streams: Streams) -> None:
        for _ in range(2):
            streams.opened("a", "race", whole("race", {}, None))
        with pytest.raises(Fault) as caught:
            streams.opened("a", "race", whole("race", {}, None))
        assert caught.value.status == 429
        with pytest.raises(Fault, match="cannot be paused"):
            streams.opened("b", "race", whole("race", {}, None)).control("pause")

    _streams(work)


def test_seeds_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """More seeds of the same experiment are the old ones and the new ones."""
    asked: list[int] = []
    _fake(monkeypatch)
    monkeypatch.setattr(runs, "simulate", lambda said, emit: asked.append(said["seed"]) or {"seed": said["seed"]})

    async def work(streams: Streams) -> None:
        said = {"experiment": REUSE, "dim": 200, "ratios": [1.0], "simulate": 2}
        for more in (2, 4):
            stream = streams.opened("a", "sweep", lambda one, more=more: sweep({**said, "simulate": more}, one))
            await _until(stream.events(), "done")

    monkeypatch.setattr("featlab.explorer.questions.predict", lambda said: {"prediction": {}})
    _streams(work)
    assert asked == [0, 1, 2, 3]


def test_an_answer_ends_with_its_client() -> None:
    async def work() -> None:
        stopped = asyncio.Event()

        async def slow() -> bytes:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
            return b""

        async def leaves() -> None:
            await asyncio.sleep(0.01)

        with pytest.raises(Fault, match="left"):
            await until_gone(slow(), leaves)
        assert stopped.is_set()

    asyncio.run(work())
