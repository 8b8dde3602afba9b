"""A server for remote seats: an answerer and a judge over HTTP, by `protocol.py`.

It holds no client's state: every request has the whole dialogue, so clients may come and go, and a server
that is started again gives the same responses.
"""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qsl

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from loquent.core.agent import make
from loquent.core.task import Task
from loquent.errors import BadRow, BadSetting, LoquentError
from loquent.tasks.dialogue.game import protocol
from loquent.tasks.dialogue.serving.seats import Seats
from loquent.tasks.dialogue.task import Dialogue

MOST_BYTES = 4 << 20  # of a request
PATIENCE = 30.0  # seconds for a request to arrive
FORM = "application/x-www-form-urlencoded"


class Refused(Exception):
    """A request that the server does not answer: a status and the reason."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def app(task: Task, asker: Any = None, patience: float = PATIENCE) -> FastAPI:
    """The server of a dialogue task: its answerer and its judge, and an agent that asks.

    Args:
        task: a task `dialogue` whose answerer and judge are agents of this process.
        asker: the agent of `fetch_q_bot_response`; by default `dialogue/careful`.
        patience: seconds within which a request must arrive.

    Raises:
        BadSetting: an agent is not one that a server can use.
    """
    if not isinstance(task, Dialogue):
        raise BadSetting(f"the server answers dialogues, not {task.identity}; choose the task dialogue")
    seats = Seats(task, make("dialogue/careful", task) if asker is None else asker)
    served = FastAPI(title="loquent dialogue", docs_url=None, redoc_url=None, openapi_url=None)
    for path in protocol.PATHS:
        served.add_api_route(f"/{path}", _route(seats, path, patience), methods=["POST"])
    return served


def _route(seats: Seats, path: str, patience: float) -> Any:
    async def respond(request: Request) -> JSONResponse:
        try:
            fields = _fields(request, await _body(request, patience))
            return JSONResponse(await run_in_threadpool(seats.respond, path, fields))
        except Refused as refused:
            return JSONResponse({"error": str(refused)}, refused.status)
        except (BadRow, BadSetting) as error:
            return JSONResponse({"error": str(error)}, 422)
        except LoquentError as error:
            return JSONResponse({"error": str(error)}, 500)

    return respond


async def _body(request: Request, patience: float) -> bytes:
    found = bytearray()
    try:
        async with asyncio.timeout(patience):
            async for chunk in request.stream():
                found += chunk
                if len(found) > MOST_BYTES:
                    raise Refused(413, f"the request has more than {MOST_BYTES:,} bytes")
    except TimeoutError:
        raise Refused(408, f"the request was not complete after {patience:g} seconds") from None
    except ClientDisconnect:
        raise Refused(400, "the client left before its request was complete") from None
    return bytes(found)


def _fields(request: Request, body: bytes) -> dict[str, str]:
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != FORM:
        raise Refused(415, f"the content type is {kind!r:.60}; it must be {FORM}")
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=16, errors="strict")
    except ValueError as error:
        raise Refused(422, f"the body is not a form ({error})") from None
    return dict(pairs)
