"""One address that answers JSON with JSON: a request, bounded in time and size, and the ways it can fail."""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from email.message import Message
from typing import IO, Any
from urllib.parse import urlsplit

from loquent.errors import LoquentError

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})  # statuses after which the same request may be answered
CHUNK = 1 << 16  # bytes read at once
SHOWN = 200  # characters of an endpoint's complaint


class Failed(LoquentError):
    """One attempt failed: how, whether another may do better, and after how many seconds the endpoint says."""

    def __init__(self, why: str, again: bool = True, after: str | None = None) -> None:
        super().__init__(why)
        self.again = again
        self.after = float(after) if after and re.fullmatch(r"[0-9]{1,6}", after.strip()) else None


class TooLong(LoquentError):
    """The response is longer than what may be read."""


class Endpoint:
    """An address that is asked by POST.

    Args:
        timeout: seconds without a sign of it, and seconds its response may take once it has begun.
        max_bytes: how much of a response is read.
    """

    def __init__(self, url: str, headers: dict[str, str], timeout: float, max_bytes: int) -> None:
        self.url, self.timeout, self.max_bytes = url, timeout, max_bytes
        self._headers = {"Content-Type": "application/json", **headers}
        handlers = [_Stay(), urllib.request.ProxyHandler({})] if _is_here(url) else [_Stay()]
        self._open = urllib.request.build_opener(*handlers).open

    def post(self, question: Any) -> Any:
        """What it answers, as JSON.

        Raises:
            Failed: no connection, an unwelcome status, too slow, or no JSON. TooLong: the response was not read to its end.
        """
        body = json.dumps(question, ensure_ascii=True).encode("ascii")
        request = urllib.request.Request(self.url, data=body, headers=self._headers, method="POST")
        try:
            with self._open(request, timeout=self.timeout) as response:
                raw = self._bounded(response)
        except urllib.error.HTTPError as error:
            with error:
                raise Failed(f"status {error.code}{_complaint(error)}", error.code in AGAIN, error.headers.get("Retry-After")) from None
        except (OSError, http.client.HTTPException, ValueError) as error:  # no connection, cut off, too slow, nonsense in the head
            reason = getattr(error, "reason", error)
            raise Failed(f"no response ({type(reason).__name__}: {str(reason)[:SHOWN]})") from None
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise Failed(f"status {response.status}, and a response that is not JSON ({str(error)[:SHOWN]})") from None

    def _bounded(self, response: Any) -> bytes:
        until, read = time.monotonic() + self.timeout, bytearray()
        while chunk := response.read1(CHUNK):
            read += chunk
            if len(read) > self.max_bytes:
                raise TooLong(f"a response of more than {self.max_bytes} bytes")
            if time.monotonic() > until:
                raise TimeoutError(f"the response was not complete after {self.timeout:g} seconds")
        return bytes(read)


def shown(said: str) -> str:
    """What an endpoint said, on one line and shortened, behind a colon; "" for nothing."""
    said = " ".join(said.split())
    return f": {said if len(said) <= SHOWN else said[: SHOWN - 3] + '...'}" if said else ""


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which would take the key elsewhere: it is an error that names its status."""

    def redirect_request(self, req: Any, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str) -> None:
        return None


def _is_here(url: str) -> bool:
    """Whether a host is this machine, which no proxy can stand for."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _complaint(error: urllib.error.HTTPError) -> str:
    try:
        return shown(error.read(CHUNK).decode("utf-8", "replace"))
    except (OSError, http.client.HTTPException, ValueError):
        return ""
