"""Who is answered, and who is not: names, origins, tokens, sizes, and thousands of requests that nobody would send."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from featlab.explorer.app import create_app
from featlab.explorer.guard import COOKIE, Guard
from tests.explorer.standing_in import Client, answered, dumps, opened, scope_of, standing_in
from tests.targets.test_language import HOSTILE

PATHS = (
    "parse",
    "analyse",
    "link",
    "predict",
    "take-home",
    "page",
    "simulate",
    "sweep",
    "race",
    "diagnose",
    "jobs/x/pause",
)
HEALTH = "/api/v1/health"


def status(client: Client, headers: dict[str, str], path: str = HEALTH) -> int:
    return client.get(path, headers=headers).status_code


@pytest.fixture(scope="module")
def client() -> Any:
    with opened() as client:
        yield client


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST", "127.0.0.1"])
def test_its_own_names(client: Client, host: str) -> None:
    assert status(client, {"host": host}) == 200
    assert status(client, {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}) == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "", "a b", "127.0.0.1:x", "192.168.0.1"],
)
def test_a_name_that_points_here_is_not_ours(client: Client, host: str) -> None:
    """DNS rebinding: the name of a page elsewhere is let point to this machine."""
    assert status(client, {"host": host}) == 403
    assert status(client, {"host": host}, "/") == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8765", "http://127.0.0.1:1", ""])
def test_another_page_may_not_ask(client: Client, origin: str) -> None:
    assert status(client, {"origin": origin}) == 403


def test_a_browser_that_says_where_it_comes_from(client: Client) -> None:
    assert status(client, {"sec-fetch-site": "cross-site"}) == 403
    assert status(client, {"sec-fetch-site": "same-site"}) == 403
    assert status(client, {"sec-fetch-site": "none"}) == 200
    assert client.get("/docs", headers={"sec-fetch-site": "cross-site"}).status_code == 200  # a link may lead here


def test_every_answer_has_the_policy(client: Client) -> None:
    for answer in (
        client.get(HEALTH),
        client.get("/nothing"),
        client.get("/docs"),
        client.get("/", headers={"host": "x"}),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "script-src 'self';" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_without_a_token_nothing() -> None:
    with opened(host="0.0.0.0", token="secret") as client:
        here = {"host": "192.168.0.7:8765"}
        for path in ("/", HEALTH, "/docs", "/openapi.json", "/static/index.html"):
            assert status(client, here, path) == 401
        assert status(client, here | {"authorization": "Bearer wrong"}) == 401
        assert status(client, here | {"cookie": f"{COOKIE}=wrong"}) == 401
        assert status(client, here | {"authorization": "Bearer sécret"}) == 401
        assert status(client, here, HEALTH + "?token=secret") == 401  # addresses are logged: of the page only
        assert status(client, here, "/?token=wrong") == 401
        assert status(client, here | {"authorization": "Bearer secret"}) == 200
        assert status(client, {"host": "evil.example", "authorization": "Bearer secret"}) == 403
        opening = client.get("/?a=b&token=secret", headers=here)
        assert opening.status_code == 303
        assert opening.headers["location"] == "/?a=b"
        cookie = opening.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=Strict"} <= {part.strip() for part in cookie.split(";")}
        assert status(client, here | {"cookie": cookie.partition(";")[0]}) == 200


def test_sizes_are_bounded(client: Client) -> None:
    assert client.post("/api/v1/parse", body=b"x" * 70_000).status_code == 413
    assert client.post("/api/v1/parse", body=b"{}", headers={"content-length": "9" * 30}).status_code == 413
    assert client.post("/api/v1/parse", body=b"{}", headers={"content-length": "-1"}).status_code == 400
    assert client.get(HEALTH + "?" + "a" * 9000).status_code == 414
    assert client.post("/api/v1/parse", {"text": "h1 + " * 500}).status_code == 422
    assert client.post("/api/v1/diagnose?label=y", body=b"a" * (16 * 2**20 + 1)).status_code == 413
    assert client.post("/api/v1/diagnose?label=y", body=b"a,y\n1,2").status_code == 415
    big = {"target": "h1", "learner": "online-sgd", "dim": 10} | {f"x{k}": 1 for k in range(100)}
    assert client.post("/api/v1/predict", {"experiment": big}).status_code == 422
    assert client.post("/api/v1/link", {"target": "h1", "axes": ["h1"], "resolution": 10**6}).status_code == 422


def test_a_body_that_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("featlab.explorer.guard._BODY_SECONDS", 0.01)
    sent: list[Any] = []

    async def never() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("it was let in")

    asyncio.run(Guard(app)(scope_of("/api/v1/parse"), never, send))
    assert sent[0]["status"] == 408


def test_no_websockets() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    app = create_app(standing_in())
    asyncio.run(app({**scope_of("/api/v1/parse"), "type": "websocket"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def _value(draw: random.Random, depth: int = 0) -> Any:
    """Anything that JSON can say, and what Python's JSON says beyond it."""
    texts = [*HOSTILE.values(), "", "h1", "\ud800", "\x00", "é" * 50, "1e999", "antigravity:Fly", "a" * 3000]
    plain = [None, True, 0, -1, 10**30, 0.5, float("nan"), float("inf"), draw.choice(texts), draw.choice(texts)]
    if depth > 2 or draw.random() < 0.7:
        return draw.choice(plain)
    if draw.random() < 0.5:
        return [_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {draw.choice(["target", "text", "dim", "x", "\ud800"]): _value(draw, depth + 1) for _ in range(3)}


def _body(draw: random.Random) -> bytes:
    """Random bytes, broken JSON, or an object with the names of requests and any values."""
    kind = draw.random()
    if kind < 0.15:
        return draw.randbytes(draw.randrange(60))
    names = ("text", "target", "noise", "axes", "fixed", "experiment", "what", "ratios", "dim", "resolution", "spike")
    content: Any = {name: _value(draw) for name in draw.sample(names, draw.randrange(1, 5))}
    if kind < 0.6:
        experiment = {name: _value(draw) for name in draw.sample(("dim", "times", "width", "step_size", "seeds"), 2)}
        content = {"experiment": {"target": "h1", "learner": "online-sgd", **experiment}}
    text = json.dumps(content).encode("ascii")
    return text[: draw.randrange(len(text))] if kind > 0.95 else text


def _header(draw: random.Random) -> tuple[bytes, bytes]:
    names = [b"host", b"origin", b"content-type", b"content-length", b"cookie", b"authorization", b"x-featlab-client"]
    names += [b"sec-fetch-site", b"accept", b"range", b"if-none-match", b"transfer-encoding", b"x-forwarded-host"]
    values = [
        b"",
        b"127.0.0.1:8765",
        b"application/json",
        b"text/csv",
        b"\xff\xfe",
        b"a" * 500,
        b"5",
        b"-1",
        b'"',
        b";=,",
    ]
    return draw.choice(names), draw.choice([*values, draw.randbytes(8)])


def test_thousands_of_requests_that_nobody_would_send() -> None:
    """Whatever comes, it is answered: refused with a status from 400 to 499 and the record of a refusal, or, where it
    happens to be a question, with its answer. Nothing is a fault of the server."""
    draw, app, counts = random.Random(5), create_app(standing_in()), {}
    refusals = {"kind", "message", "parameter", "columns", "suggestions"}

    async def all_of_them() -> None:
        async with app.router.lifespan_context(app):
            for _ in range(3000):
                path = f"/api/v1/{draw.choice(PATHS)}"
                # Long work has tests of its own; here streams are asked with what no stream takes.
                long = path.endswith(("simulate", "sweep", "race", "diagnose"))
                body = draw.randbytes(30) if long else _body(draw)
                headers = [_header(draw) for _ in range(draw.choice((0, 0, 1, 2)))]
                method = draw.choice(("POST",) * 8 + ("GET", "PUT", "TRACE"))
                answer = await answered(
                    app, scope_of(path, method, headers, draw.choice((b"", b"label=y", b"%ff=%00"))), body
                )
                counts[answer.status_code] = counts.get(answer.status_code, 0) + 1
                assert answer.status_code == 200 or 400 <= answer.status_code < 500, (path, body, answer.text)
                if answer.status_code != 200:
                    assert set(answer.json()["error"]) == refusals

    asyncio.run(all_of_them())
    assert {400, 403, 404, 405, 415, 422} <= set(counts)
    assert counts[422] > 500  # not only the envelopes are looked at


def test_the_stated_media_type_is_needed(client: Client) -> None:
    """A form of another page cannot send JSON as JSON."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = client.post("/api/v1/parse", body=dumps({"text": "h1"}), headers={"content-type": kind})
        assert answer.status_code == 422
