"""The addresses of the API: each puts what it is asked to a worker, and passes on the answer."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from featlab import __version__
from featlab.errors import FeatlabError, InvalidParameter
from featlab.explorer import schema
from featlab.explorer.answers import Answers
from featlab.explorer.estimates import Estimates
from featlab.explorer.faults import Fault, encoded, refusal
from featlab.explorer.streams import Streams, Work, simulation, sweep, until_gone, whole
from featlab.learners.fields import read_whole

_CLIENT = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EVENTS = "text/event-stream"
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": schema.Refused} for status in (400, 401, 403, 413, 415, 422, 429, 503)
}
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events, each a name and a JSON object.", "content": {_EVENTS: {"schema": {"type": "string"}}}}
}

router = APIRouter(prefix="/api/v1", responses=_REFUSALS)


@router.get("/health", response_model=schema.Health)
async def health(request: Request) -> Response:
    """Whether the server is there, and since which start."""
    return _json(encoded({"version": __version__, "started": request.app.state.started}))


@router.post("/parse", response_model=schema.Parsed)
async def parse(request: Request, asked: schema.Parse) -> Response:
    """What a text means: its canonical form, its formula, its directions."""
    return await _answer(request, "parse", asked)


@router.get("/catalogue", response_model=schema.Catalogue)
async def catalogue(request: Request) -> Response:
    """The targets of the literature."""
    return await _answer(request, "catalogue")


@router.get("/learners", response_model=schema.Learners)
async def learners(request: Request) -> Response:
    """The learners, and their fields."""
    return await _answer(request, "learners")


@router.get("/exhibits", response_model=schema.Exhibits)
async def exhibits(request: Request) -> Response:
    """The exhibits, and of each an experiment to open."""
    return await _answer(request, "exhibits")


@router.post("/analyse", response_model=schema.Analysed)
async def analyse(request: Request, asked: schema.Analyse) -> Response:
    """What can be learned of a target: what `featlab explain --json` prints, and more."""
    return await _answer(request, "analyse", asked)


@router.post("/link", response_model=schema.Linked)
async def link(request: Request, asked: schema.Link) -> Response:
    """The link along one direction, or over two."""
    return await _answer(request, "link", asked)


@router.post("/predict", response_model=schema.Predicted)
async def predict(request: Request, asked: schema.Predict) -> Response:
    """What theory says of an experiment: what `featlab predict --json` prints. A draft is for a slider that moves."""
    begun: list[float] = []
    answer = await _answer(request, "predict", asked, lambda: begun.append(time.monotonic()))
    if begun and not asked.draft:
        estimates: Estimates = request.app.state.estimates
        estimates.learn(asked.experiment, time.monotonic() - begun[0])
    return answer


@router.post("/estimate", response_model=schema.Estimated)
async def estimate(request: Request, asked: schema.Question) -> Response:
    """About how many seconds a prediction takes, by a count and by what was measured here before."""
    estimates: Estimates = request.app.state.estimates
    return _json(encoded({"seconds": estimates.seconds(asked.experiment)}))


@router.post("/take-home", response_model=schema.TakenHome)
async def take_home(request: Request, asked: schema.TakeHome) -> Response:
    """The command line, the Python and the JSON that do the same."""
    return await _answer(request, "take-home", asked)


@router.post("/page", response_class=HTMLResponse)
async def page(request: Request, asked: schema.Analyse) -> Response:
    """The self-contained page of `featlab explain`, to be saved."""
    answer = json.loads(bytes((await _answer(request, "page", asked)).body))
    headers = {"content-disposition": 'attachment; filename="explanation.html"', "cache-control": "no-store"}
    return HTMLResponse(answer["page"], headers=headers)


@router.post("/simulate", response_class=StreamingResponse, responses=_STREAM)
async def simulate(request: Request, asked: schema.Question) -> Response:
    """A stream: every seed of a simulation as it is done, then its agreement with theory."""
    return _stream(request, "simulate", partial(simulation, asked.model_dump()))


@router.post("/sweep", response_class=StreamingResponse, responses=_STREAM)
async def sweep_ratios(request: Request, asked: schema.Sweep) -> Response:
    """A stream: theory, and seeds if asked for, at several n/d."""
    dim = asked.experiment.get("dim")
    try:
        whole_dim = read_whole("dim", str(dim))
        if not 1 <= whole_dim <= 10**15:
            raise InvalidParameter("dim", dim, "the dimension of the inputs, such as 1e6")
    except FeatlabError as fault:
        raise refusal(fault) from fault
    return _stream(request, "sweep", partial(sweep, {**asked.model_dump(), "dim": whole_dim}))


@router.post("/race", response_class=StreamingResponse, responses=_STREAM)
async def race(request: Request, asked: schema.Race) -> Response:
    """A stream: who finds a target first, so far and in the end."""
    return _stream(request, "race", whole("race", asked.model_dump(), asked.budget))


@router.post("/diagnose", response_class=StreamingResponse, responses=_STREAM)
async def diagnose(
    request: Request,
    label: Annotated[schema.Name, Query()],
    curves: bool = True,
    seed: Annotated[int, Query(ge=0, lt=2**32)] = 0,
) -> Response:
    """A stream: what theory says of a CSV, which is the body."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "text/csv":
        raise Fault(415, "type", "a CSV is expected, with the content-type text/csv")
    try:
        csv = (await request.body()).decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise Fault(422, "value", f"the CSV is not UTF-8: {fault.reason} at byte {fault.start}") from fault
    said = {"csv": csv, "label": label, "curves": curves, "seed": seed}
    return _stream(request, "diagnose", whole("diagnose", said, None))


@router.post("/jobs/{id}/{what}", response_model=schema.Controlled)
async def control(request: Request, id: schema.Name, what: Literal["pause", "resume", "cancel"]) -> Response:
    """Pause, resume or cancel the work of an open stream."""
    streams: Streams = request.app.state.streams
    streams.find(id).control(what)
    return _json(encoded({"job": id}))


async def _answer(
    request: Request, task: str, asked: schema.Asked | None = None, begun: Callable[[], None] | None = None
) -> Response:
    """The answer of a task; the work ends if the client leaves before. `begun` is called if a worker begins it."""
    answers: Answers = request.app.state.answers
    said = {} if asked is None else asked.model_dump()
    known = answers.known(task, said)
    if known is not None:
        return _json(known)
    work = answers.to(task, said, _client(request), begun)
    return _json(await until_gone(work, partial(_gone, request)))


def _stream(request: Request, task: str, work: Work) -> Response:
    streams: Streams = request.app.state.streams
    events = streams.opened(_client(request), task, work).events()
    return StreamingResponse(events, media_type=_EVENTS, headers={"cache-control": "no-store"})


async def _gone(request: Request) -> None:
    """Wait until the client leaves; its body was read already."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _client(request: Request) -> str:
    named = request.headers.get("x-featlab-client", "")
    address = "" if request.client is None else request.client.host
    return f"{address} {named}" if _CLIENT.fullmatch(named) else address


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})
