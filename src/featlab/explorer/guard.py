"""Who may ask, and how much: everything that is refused before anybody looks at what is asked.

A page elsewhere can make a browser send requests to this machine. It cannot make it send our Host with our Origin, nor,
by a name that it lets point here, any Host that we know; so both are looked at. A server that others can reach asks for
its token, too.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlencode

from featlab.explorer.faults import Fault

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
COOKIE = "featlab_token"
ANYWHERE = ("0.0.0.0", "::")  # nosec B104 - what a person may give as --host, not what is listened on
_BODY_BYTES, _CSV_BYTES, _ADDRESS_BYTES = 64 * 2**10, 16 * 2**20, 8 * 2**10
_CSV = "/api/v1/diagnose"
_BODY_SECONDS = 20.0
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?")
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


class Guard:
    """Middleware around the application.

    Args:
        app: what is guarded.
        host: where the server listens: a loopback address, or one that others can reach.
        token: what every request must bring; None, nothing.
    """

    def __init__(self, app: App, host: str = "127.0.0.1", token: str | None = None) -> None:
        self._app, self._host, self._token = app, host, token
        self._names = {*LOOPBACK, host.lower()} | ({socket.gethostname().lower()} if host not in LOOPBACK else set())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            headers = _headers(scope)
            if await self._opened_by_token(scope, headers, send):
                return
            self._check(scope, headers)
            body = await _body(scope, headers, receive)
        except Fault as fault:
            await _refuse(fault, send)
            return
        await self._app(scope, _replayed(body, receive), _guarded(send))

    def _check(self, scope: Scope, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        found = _HOST.fullmatch(host)
        if found is None or not self._is_ours(found[1].strip("[]").lower()):
            raise Fault(403, "host", f"got the Host {host[:80]!r}, expected the address that the server was opened at")
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host.lower()}":
            raise Fault(403, "origin", f"got the Origin {origin[:80]!r}, expected the server's own page")
        if scope["path"].startswith("/api/") and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise Fault(403, "origin", "only the server's own page may ask")
        if self._token is not None and not any(map(self._is_token, _tokens(headers))):
            raise Fault(401, "token", "this server needs its token: open the address that it printed, token included")

    def _is_ours(self, name: str) -> bool:
        if name in self._names:
            return True
        if self._host not in ANYWHERE:
            return False
        try:
            ip_address(name)
        except ValueError:
            return False
        return True  # no page elsewhere has a number of this machine as its name

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), (self._token or "").encode())

    async def _opened_by_token(self, scope: Scope, headers: dict[str, str], send: Send) -> bool:
        """Whether the page was asked for with the token in its address: then it is a cookie from now on."""
        if self._token is None or scope["path"] != "/" or scope["method"] != "GET":
            return False
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if not any(name == "token" and self._is_token(value) for name, value in query):
            return False
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        cookie = f"{COOKIE}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        location = "/" + (f"?{rest}" if rest else "")
        sent = [(b"location", location.encode("ascii")), (b"set-cookie", cookie.encode("ascii"))]
        await _guarded(send)({"type": "http.response.start", "status": 303, "headers": sent})
        await send({"type": "http.response.body", "body": b""})
        return True


def _headers(scope: Scope) -> dict[str, str]:
    """By name; those that decide may be there once only."""
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > _ADDRESS_BYTES:
        raise Fault(414, "size", f"an address of at most {_ADDRESS_BYTES:,} bytes is expected")
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in found and key in ("host", "origin", "content-length", "authorization", "content-type"):
            raise Fault(400, "header", f"got the header {key} twice")
        found[key] = value.decode("latin-1")
    return found


def _tokens(headers: dict[str, str]) -> list[str]:
    """What a request brings as a token: in its header, or as a cookie."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    found = [given.strip()] if scheme.lower() == "bearer" else []
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        cookie = None
    return found if cookie is None else [*found, cookie.value]


async def _body(scope: Scope, headers: dict[str, str], receive: Receive) -> bytes:
    """The whole body, if it is not too long and comes in time."""
    most = _CSV_BYTES if scope["path"] == _CSV else _BODY_BYTES
    too_long = Fault(413, "size", f"a body of at most {most:,} bytes is expected")
    said = headers.get("content-length", "0")
    if not said.isascii() or not said.isdecimal():
        raise Fault(400, "header", f"got the content-length {said[:40]!r}, expected a number")
    if len(said) > 12 or int(said) > most:
        raise too_long
    parts, size = [], 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise Fault(400, "gone", "the client has left")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise too_long
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Fault(408, "time", f"the body did not come within {_BODY_SECONDS:g} s") from None


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body at once, then whatever else is heard of the client: that it left."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again


def _guarded(send: Send) -> Send:
    """With the headers that every answer has."""

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            added = [(name.encode("ascii"), value.encode("ascii")) for name, value in _HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return with_headers


async def _refuse(fault: Fault, send: Send) -> None:
    body = fault.body
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode("ascii"))]
    await _guarded(send)({"type": "http.response.start", "status": fault.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
