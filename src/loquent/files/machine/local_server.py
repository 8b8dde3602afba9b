"""A server for programs of this machine: no client can hold it up, and no page in a browser gets in.

A page could reach it under a name of its own that leads to this machine (DNS rebinding), so the name in a
request must be one of this machine.
"""

from __future__ import annotations

import json
import re
import resource
import socket
from typing import Any

import h11
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = (
    10.0  # seconds from the begin of a connection, or the last response, to the end of a request's head
)
MOST_CONNECTIONS = 128
LOCAL = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
ADDRESS = re.compile(r"http://([^/?#]*)(/.*)?", re.IGNORECASE | re.DOTALL)  # a target as for a proxy
OF_BROWSERS = (b"origin", b"sec-fetch-site")


def serve(app: Any, listening: socket.socket) -> None:
    """Serve an ASGI application at a listening socket until Ctrl-C."""
    config = Config(
        _for_programs(app),
        http=_Watched,
        ws="none",
        lifespan="off",
        log_level="error",  # a client's faults are no warnings
        server_header=False,
        proxy_headers=False,
    )
    Server(config).run(sockets=[listening])


def _for_programs(app: Any) -> Any:
    """The application, for requests to this machine's own names that come from no page in a browser."""

    async def respond(scope: Any, receive: Any, send: Any) -> None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        has_one, address = len(hosts) == 1, ADDRESS.fullmatch(scope["path"])
        if address:
            hosts.append(address[1].encode())
            scope = {**scope, "path": address[2] or "/"}
        if not (has_one and all(LOCAL.fullmatch(host.strip()) for host in hosts)):
            why = (
                "the request is to another machine's name; this server has the names localhost and 127.0.0.1"
            )
        elif any(name in OF_BROWSERS for name, _ in scope["headers"]):
            why = "the request comes from a page in a browser; this server answers programs only"
        else:
            await app(scope, receive, send)
            return
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps({"error": why}).encode()})

    return respond


class _Watched(H11Protocol):
    """A connection that ends if no request comes, and gives way to new ones where there are many."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._since = self.loop.time()
        self._watch = self.loop.call_later(PATIENCE, self._check)
        others = [one for one in self.connections if isinstance(one, _Watched) and one is not self]
        waiting = [one for one in others if one._waits()]
        if waiting and len(self.connections) > _most():
            min(waiting, key=lambda one: one._since)._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        if self.cycle is not None:  # the body is malformed, and the application may wait for it
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:  # a response has begun already
            self.transport.close()

    def _waits(self) -> bool:
        """Whether the client has something to do: send a whole request, or read the response."""
        is_answered = self.cycle is None or self.cycle.response_complete or self.cycle.more_body
        return is_answered or self.transport.get_write_buffer_size() > 0

    def _check(self) -> None:
        in_request = self.cycle is not None and not self.cycle.response_complete
        if in_request:  # the application limits the time of its body
            self._since = self.loop.time()
        left = self._since + PATIENCE - self.loop.time()
        if left <= 0:
            self._end()
        else:
            self._watch = self.loop.call_later(left, self._check)

    def _end(self) -> None:
        self.connections.discard(self)
        self.transport.abort()


def _most() -> int:
    """The most connections, fewer where the process may open few files."""
    return min(MOST_CONNECTIONS, max(1, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))
