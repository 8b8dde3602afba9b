"""One address that answers JSON with JSON: a request, bounded in time and size, and the ways it can fail.

Requests run on one event loop in a thread of its own, so that a deadline covers a whole attempt (connection,
head and body) and whoever waits can leave at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import weakref
import zlib
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

from loquent.agents.secret import Secret, without_user
from loquent.core.guards import json_files
from loquent.core.guards.terminal import escaped
from loquent.errors import LoquentError, MissingExtra

AGAIN = frozenset(
    {408, 409, 425, 429, 500, 502, 503, 504, 529}
)  # statuses after which the same request may be answered
TOO_MUCH = frozenset(
    {200, 400, 413, 422, 500}
)  # statuses with which servers say that a prompt is longer than their context
CONTEXT = re.compile(
    r"context[ _]?(length|size|window)|(maximum|max) (model|sequence|input) len|prompt is too long"
    r"|input is too long"
    r"|longer than the (maximum )?(model|context)|too many (input |prompt )?tokens|tokens? .{0,80}exceed"
    r"|too large for model"
    r"|must have less than \d+ tokens|inputs?`? tokens \+ `?max_new_tokens",
    re.IGNORECASE | re.DOTALL,
)
CHUNK = 1 << 16  # bytes of a complaint that are read
SHOWN = 200  # characters of a complaint that are shown
LEAVING = 1.0  # seconds in which a request that is given up closes its connection
T = TypeVar("T")


class Failed(LoquentError):
    """One attempt failed: how, whether another may do better, after how many seconds the endpoint says, and
    its status.

    `context`: the endpoint says that the prompt is longer than its context.
    """

    def __init__(
        self, why: str, again: bool = True, after: str | None = None, status: int = 0, context: bool = False
    ) -> None:
        super().__init__(why)
        self.again, self.status, self.context = again, status, context
        self.after = float(after) if after and re.fullmatch(r"[0-9]{1,6}", after.strip()) else None


class TooLong(LoquentError):
    """The response is longer than what may be read."""


class Endpoint:
    """An address that is asked by POST.

    Connections are kept. No redirect is followed: it would take the key elsewhere.

    Args:
        timeout: seconds for one attempt, from the connection to the last byte of the response.
        max_bytes: how much of a response is read; what is compressed counts as it is when unpacked.
        secret: what is replaced in everything the endpoint says.

    Raises:
        MissingExtra: the library `httpx2` is not installed.
    """

    def __init__(
        self, url: str, headers: dict[str, str], timeout: float, max_bytes: int, secret: Secret
    ) -> None:
        self.url, self.timeout, self.max_bytes, self.secret = url, timeout, max_bytes, secret
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", **headers}
        self._library = _library()
        self._client: Any = None
        self._home: Any = None  # the loop the client lives on; another one in a process that was forked

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine that posts.

        When the waiting thread is interrupted, all its requests are given up at once.
        """
        left = threading.Event()

        async def watched() -> T:
            try:
                return await work
            finally:
                left.set()

        future = asyncio.run_coroutine_threadsafe(watched(), _loop())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            left.wait(LEAVING)
            raise

    async def post(self, question: Any) -> Any:
        """What it answers, as JSON.

        Raises:
            Failed: no connection, an unwelcome status, too slow, or no JSON. TooLong: the response was not
                read to its end.
        """
        body = json.dumps(question, ensure_ascii=True, allow_nan=False).encode("ascii")
        try:
            async with asyncio.timeout(self.timeout):
                status, headers, raw = await self._exchange(body)
        except TimeoutError:
            raise Failed(
                f"no response (TimeoutError: it was not complete after {self.timeout:g} seconds)"
            ) from None
        except TooLong:
            raise
        except (
            Exception
        ) as error:  # no connection, cut off, nonsense in the head: whatever the libraries below make of it
            reason = _root(error)
            raise Failed(f"no response ({type(reason).__name__}{self.shown(str(reason))})") from None
        if not 200 <= status < 300:
            said = _complaint(raw)
            context = (status in TOO_MUCH and CONTEXT.search(said) is not None) or status == 413
            raise Failed(
                f"status {status}{self.shown(said)}",
                status in AGAIN,
                headers.get("Retry-After"),
                status,
                context,
            )
        try:
            return json_files.loads(raw, nan="null")
        except ValueError as error:
            raise Failed(
                f"status {status}, and a response that is not JSON{self.shown(str(error))}"
            ) from None

    def shown(self, said: str) -> str:
        """What the endpoint said, without the key, harmless to a terminal, on one line and shortened, behind
        a colon; "" for nothing.
        """
        said = escaped(" ".join(without_user(self.secret.hidden(said)).split()))
        return f": {said if len(said) <= SHOWN else said[: SHOWN - 3] + '...'}" if said else ""

    async def _exchange(self, body: bytes) -> tuple[int, Any, bytes]:
        async with self._kept().stream("POST", self.url, content=body, headers=self._headers) as response:
            good, raw = 200 <= response.status_code < 300, bytearray()
            limit = self.max_bytes if good else CHUNK
            async for chunk in response.aiter_raw():
                raw += chunk
                if len(raw) > limit:
                    break
            whole = _unpacked(bytes(raw), response.headers.get("Content-Encoding", ""), limit)
            if good and len(whole) > limit:
                raise TooLong(f"a response of more than {self.max_bytes} bytes")
            return response.status_code, response.headers, whole[:limit]

    def _kept(self) -> Any:
        """The client whose connections are kept."""
        here = asyncio.get_running_loop()
        if self._client is None or self._home is not here:
            limits = self._library.Limits(
                max_connections=None, max_keepalive_connections=None, keepalive_expiry=5.0
            )
            proxies = not _is_here(self.url)  # no proxy can stand for this machine
            client = self._library.AsyncClient(
                timeout=None, follow_redirects=False, trust_env=proxies, limits=limits
            )
            self._client, self._home = client, here
            weakref.finalize(self, _close, client, here).atexit = False
        return self._client


def _unpacked(raw: bytes, encoding: str, limit: int) -> bytes:
    """The bytes of a body, at most one more than `limit`; ValueError for a compression that was not asked for
    and is not known.
    """
    if encoding.strip().lower() in ("", "identity"):
        return raw[: limit + 1]
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        raise ValueError(f"the response is compressed by {encoding!r}, which was not asked for")
    try:
        return zlib.decompressobj(wbits=47).decompress(raw, limit + 1)
    except zlib.error as error:
        raise ValueError(f"the response is said to be compressed and is not: {error}") from error


def _complaint(raw: bytes) -> str:
    """What stands in an error's body; of JSON without its escapes, in which a key could hide."""
    try:
        return dumped(json_files.loads(raw, nan="null"))
    except ValueError:
        return raw.decode("utf-8", "replace")


def dumped(said: Any) -> str:
    """A value of JSON as text; "" for nothing."""
    return json.dumps(said, ensure_ascii=False) if said else ""


def _root(error: BaseException) -> BaseException:
    """The error of the system below those of the libraries, where there is one."""
    inner: BaseException | None = error
    found = error
    while inner is not None:
        found = inner if isinstance(inner, OSError) and inner.errno is not None else found
        inner = (
            inner.exceptions[0]
            if isinstance(inner, BaseExceptionGroup)
            else inner.__cause__ or inner.__context__
        )
    return found


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _library() -> Any:
    try:
        import httpx2
    except ImportError as error:
        raise MissingExtra("an agent behind HTTP", "http") from error
    return httpx2


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The loop of all endpoints, in a thread that holds up no exit."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="loquent http", daemon=True).start()
    return loop


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_loop.cache_clear)


def _close(client: Any, loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(lambda: loop.create_task(client.aclose()))
