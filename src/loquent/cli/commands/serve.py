"""`loquent serve`: seats of a task over HTTP, on this machine only."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any

from loquent.cli.grammar.options import OfTask, option
from loquent.core import registry
from loquent.errors import BadSetting, MissingExtra
from loquent.training import by_name

HOST = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Options(OfTask):
    """Options of `loquent serve`."""

    examples = ("loquent serve dialogue --port 5000",)
    agent: str | None = option(None, "NAME", "the agent that acts (default: one of the task's)")
    port: int = option(5000, "N", "the port; 0: a free one", low=0, high=65_535)


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Serve until Ctrl-C, and return the address."""
    servers = registry.servers()
    if options.task not in servers:
        known = ", ".join(sorted(servers))
        raise BadSetting(f"the task {options.task!r:.80} has no server; tasks with one: {known}")
    of_task, of_agent = by_name.split(options.settings)
    task = by_name.task(options.task, of_task)
    if of_agent and not options.agent:
        raise BadSetting(f"{of_agent[0]} is an option of --agent, which is missing; add it or remove this")
    agent = by_name.agent(options.agent, task, of_agent) if options.agent else None
    try:
        from loquent.files.machine.local_server import serve

        app = registry.import_name(servers[options.task])(task, agent)
    except ImportError as error:
        raise MissingExtra("loquent serve", "serve") from error
    listening = _bound(options.port)
    address = f"http://{HOST}:{listening.getsockname()[1]}"
    print(f"{task.identity} is served at {address}; Ctrl-C stops it", flush=True)
    serve(app, listening)
    return 0, {"task": task.identity, "address": address}


def _bound(port: int) -> socket.socket:
    """A listening socket at a port of the loopback address; 0: a free port."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise BadSetting(
            f"--port {port}: the port cannot be used ({error.strerror}); choose another one"
        ) from error
    return listening
