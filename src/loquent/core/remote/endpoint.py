"""An address that answers with JSON: requests with limits of time and size, and their failures.

Requests run on one event loop in its own thread. So a deadline covers a whole attempt (connection, head and
body), and a waiting thread can be interrupted at once.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import threading
import weakref
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlencode

from loquent.core.guards import json_files
from loquent.core.guards.secret import from_environment, without_user
from loquent.core.guards.terminal import escape_text
from loquent.core.remote.attempts import Attempts, Connection, Failed, TooLong
from loquent.core.seeding import Key
from loquent.errors import BrokenAgent, MissingExtra

# statuses after which the same request may succeed
AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
# statuses with which servers report that a prompt is longer than their context
TOO_MUCH = frozenset({200, 400, 413, 422, 500})
CONTEXT = re.compile(
    r"context[ _]?(length|size|window)|(maximum|max) (model|sequence|input) len|prompt is too long"
    r"|input is too long"
    r"|longer than the (maximum )?(model|context)|too many (input |prompt )?tokens|tokens? .{0,80}exceed"
    r"|too large for model"
    r"|must have less than \d+ tokens|inputs?`? tokens \+ `?max_new_tokens",
    re.IGNORECASE | re.DOTALL,
)
CHUNK = 1 << 16  # the most bytes that are read of an error message
SHOWN = 200  # the most characters that are shown of an error message
LEAVING = 1.0  # seconds within which a cancelled request closes its connection
THREAD = "loquent http"
LOGS = ("httpx2", "httpcore2.connection", "httpcore2.http11")  # the libraries' own
S = TypeVar("S")
T = TypeVar("T")


class Endpoint:
    """An address for POST requests.

    Connections are kept open. Redirects are not followed and the environment's proxies are not used, because
    they would send the key to another address. The key is replaced in all that comes from the address.

    Args:
        connection: how the address is reached.

    Raises:
        BadSetting: the environment has no usable key.
        MissingExtra: the library `httpx2` is not installed.
    """

    def __init__(self, url: str, connection: Connection) -> None:
        self.url, self.connection = url, connection
        self.secret = from_environment(connection.api_key_variable)
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "loquent", **self.secret.headers}
        self._library = _library()
        self._client: Any = None
        self._home: Any = None  # the event loop of the client; a forked process has another loop

    def each(self, ask: Callable[[S], Coroutine[Any, Any, T]], items: Sequence[S]) -> list[T]:
        """The results of `ask` for all items, in order; at most `concurrency` run at a time.

        After an error or Ctrl-C all others are cancelled, so that no request is repeated.
        """
        return self.wait(_together(ask, items, self.connection.concurrency))

    async def asked(self, send: Callable[[], Awaitable[T]], key: Key, who: str) -> T:
        """The result of `send`, which is repeated while it fails and may succeed another time.

        Args:
            key: the stream of the pauses.
            who: who asks and where, for the error.

        Raises:
            BrokenAgent: the last attempt failed, or the response is longer than the limit.
        """
        attempts = Attempts(self.connection, key, who)
        while True:
            try:
                return await send()
            except Failed as error:
                await attempts.after(error)
            except TooLong as error:
                raise BrokenAgent(f"{who} sent {error}; raise max_bytes") from None

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine that sends requests.

        An interrupt of the waiting thread cancels all these requests at once.
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

    async def post(self, body: Any) -> Any:
        """The endpoint's answer to a JSON value, as a JSON value.

        The key is hidden in all its texts, and NaN and the infinities are null.

        Raises:
            Failed: there is no connection, the status is an error, the time is over, or the response is not
                JSON.
            TooLong: the response is longer than `max_bytes`.
        """
        return await self._sent(
            json.dumps(body, ensure_ascii=True, allow_nan=False).encode("ascii"), "application/json"
        )

    async def post_form(self, fields: Mapping[str, str]) -> Any:
        """The endpoint's answer to the fields of a form, as a JSON value; raises like `post`."""
        return await self._sent(
            urlencode(fields, errors="backslashreplace").encode("ascii"), "application/x-www-form-urlencoded"
        )

    async def _sent(self, content: bytes, kind: str) -> Any:
        try:
            async with asyncio.timeout(self.connection.timeout):
                status, headers, raw = await self._exchange(content, kind)
        except TimeoutError:
            raise Failed(
                f"no response (TimeoutError: it was not complete after {self.connection.timeout:g} seconds)"
            ) from None
        except TooLong:
            raise
        except Exception as error:  # of the libraries below: no connection, a cut response, an invalid head
            reason = _root(error)
            raise Failed(f"no response ({type(reason).__name__}{self.quote_text(str(reason))})") from None
        if not 200 <= status < 300:
            message = _error_text(raw)
            context = (status in TOO_MUCH and CONTEXT.search(message) is not None) or status == 413
            raise Failed(
                f"status {status}{self.quote_text(message)}",
                status in AGAIN,
                headers.get("Retry-After"),
                status,
                context,
            )
        try:
            return self.secret.hide(json_files.loads(raw, nan="null"))
        except ValueError as error:
            raise Failed(
                f"status {status}, and a response that is not JSON{self.quote_text(str(error))}"
            ) from None

    def quote_text(self, text: str) -> str:
        """A text of the endpoint after a colon, for errors; "" for an empty text.

        The text is on one line, without the key, without control characters, and shortened.
        """
        text = escape_text(" ".join(without_user(self.secret.hide(text)).split()))
        return f": {text if len(text) <= SHOWN else text[: SHOWN - 3] + '...'}" if text else ""

    async def _exchange(self, content: bytes, kind: str) -> tuple[int, Any, bytes]:
        headers = {"Content-Type": kind, **self._headers}
        async with self._open_client().stream("POST", self.url, content=content, headers=headers) as response:
            good, raw = 200 <= response.status_code < 300, bytearray()
            limit = self.connection.max_bytes if good else CHUNK
            async for chunk in response.aiter_raw():
                raw += chunk
                if len(raw) > limit:
                    break
            unpacked = _unpacked(bytes(raw), response.headers.get("Content-Encoding", ""), limit)
            is_cut = len(raw) > limit or len(unpacked) > limit
            if good and is_cut:
                raise TooLong(f"a response of more than {self.connection.max_bytes} bytes")
            if is_cut:  # the start of a key may stand at the cut
                unpacked = unpacked[: max(0, limit - self.secret.longest)]
            return response.status_code, response.headers, unpacked

    def _open_client(self) -> Any:
        """The client of this process, which keeps connections open."""
        here = asyncio.get_running_loop()
        if self._client is None or self._home is not here:
            limits = self._library.Limits(
                max_connections=None, max_keepalive_connections=None, keepalive_expiry=5.0
            )
            # without the environment there are no proxies and no .netrc, but its certificates count
            certificates = self._library.create_ssl_context() if self.url.startswith("https:") else True
            client = self._library.AsyncClient(
                timeout=None, follow_redirects=False, trust_env=False, limits=limits, verify=certificates
            )
            self._client, self._home = client, here
            weakref.finalize(self, _close, client, here).atexit = False
        return self._client


async def _together(ask: Callable[[S], Coroutine[Any, Any, T]], items: Sequence[S], most: int) -> list[T]:
    room = asyncio.Semaphore(most)

    async def bounded(item: S) -> T:
        async with room:
            return await ask(item)

    tasks = [asyncio.ensure_future(bounded(item)) for item in items]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _unpacked(raw: bytes, encoding: str, limit: int) -> bytes:
    """The decompressed bytes of a body, at most `limit` + 1; ValueError for an unknown compression."""
    if encoding.strip().lower() in ("", "identity"):
        return raw[: limit + 1]
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        raise ValueError(f"the response is compressed by {encoding!r}, which was not requested")
    try:
        return zlib.decompressobj(wbits=47).decompress(raw, limit + 1)
    except zlib.error as error:
        raise ValueError(f"the response claims a compression that it does not have: {error}") from error


def _error_text(raw: bytes) -> str:
    """The text of an error's body; JSON is written without escapes, which could hide a key."""
    try:
        return dump_value(json_files.loads(raw, nan="null"))
    except ValueError:
        return raw.decode("utf-8", "replace")


def dump_value(value: Any) -> str:
    """A JSON value as text; "" for an empty value."""
    return json.dumps(value, ensure_ascii=False) if value else ""


def _root(error: BaseException) -> BaseException:
    """The operating system's error that caused an error of a library, if there is one."""
    inner: BaseException | None = error
    root = error
    while inner is not None:
        root = inner if isinstance(inner, OSError) and inner.errno is not None else root
        inner = (
            inner.exceptions[0]
            if isinstance(inner, BaseExceptionGroup)
            else inner.__cause__ or inner.__context__
        )
    return root


def _library() -> Any:
    try:
        import httpx2
    except ImportError as error:
        raise MissingExtra("an endpoint over HTTP", "http") from error
    return httpx2


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop of all endpoints, in a daemon thread, which does not delay the exit."""
    for name in LOGS:
        logging.getLogger(name).addFilter(_is_of_others)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name=THREAD, daemon=True).start()
    return loop


def _is_of_others(record: logging.LogRecord) -> bool:
    """Whether a record is not of an endpoint; theirs quote what the address sent, in which a key may be."""
    return record.threadName != THREAD


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_loop.cache_clear)


def _close(client: Any, loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(lambda: loop.create_task(client.aclose()))
