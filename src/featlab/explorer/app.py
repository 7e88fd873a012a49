"""The application: the page, its API, the page of the API, all guarded; workers live as long as it does."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException

from featlab import __version__
from featlab.explorer.answers import Answers
from featlab.explorer.estimates import Estimates
from featlab.explorer.faults import Fault
from featlab.explorer.guard import Guard
from featlab.explorer.reference import reference
from featlab.explorer.routes import router
from featlab.explorer.schema import EVENTS
from featlab.explorer.streams import Streams
from featlab.explorer.workers import Workers

STATIC = Path(__file__).parent / "static"


def create_app(workers: Workers, *, host: str = "127.0.0.1", token: str | None = None) -> FastAPI:
    """The application of a server that listens at `host`; with a token, nobody is answered without it."""

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        workers.open()
        yield
        await workers.close()

    about = "Everything that the explorer's page asks. Answers have more keys than are described here."
    app = FastAPI(
        title="featlab explorer", version=__version__, description=about, lifespan=life, docs_url=None, redoc_url=None
    )
    app.state.answers = Answers(workers)
    app.state.streams = Streams(app.state.answers)
    app.state.estimates = Estimates()
    app.state.started = secrets.token_hex(8)
    app.add_exception_handler(Fault, _fault)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.include_router(router)
    app.add_api_route("/", _page, include_in_schema=False)
    app.add_api_route("/docs", _reference, include_in_schema=False)
    app.mount("/static", _Static(directory=STATIC, check_dir=False))
    app.add_middleware(Guard, host=host, token=token)
    app.openapi = partial(_described, app)  # type: ignore[method-assign]
    return app


def _described(app: FastAPI) -> dict[str, Any]:
    """OpenAPI's description, with the events of streams, which it has no place for, among the schemas."""
    if app.openapi_schema is None:
        api = FastAPI.openapi(app)
        place = "#/components/schemas/{model}"
        models: list[tuple[Any, Literal["validation"]]] = [(model, "validation") for model in EVENTS.values()]
        named, definitions = models_json_schema(models, ref_template=place)
        api["components"]["schemas"] |= definitions["$defs"]
        api["x-events"] = {name: named[model, "validation"] for name, model in EVENTS.items()}
    assert app.openapi_schema is not None
    return app.openapi_schema


class _Static(StaticFiles):
    """Files of the page; a browser asks whether they have changed, as after an upgrade."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["cache-control"] = "no-cache"
        return response


async def _page() -> Response:
    return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})


async def _reference(request: Request) -> Response:
    return HTMLResponse(reference(request.app.openapi()))


async def _fault(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, Fault)
    return Response(fault.body, fault.status, media_type="application/json")


async def _http(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    return await _fault(request, Fault(fault.status_code, "request", str(fault.detail)))


async def _invalid(request: Request, fault: Exception) -> Response:
    """The first of what is wrong with a request, in a sentence."""
    assert isinstance(fault, RequestValidationError)
    first = fault.errors()[0]
    place = [str(part) for part in first["loc"][1:]]
    if first["type"] == "json_invalid":
        return await _fault(request, Fault(400, "json", "the body is not JSON"))
    where = ".".join(place) or "the body"
    return await _fault(request, Fault(422, "value", f"{where}: {first['msg']}", parameter=place[0] if place else None))
