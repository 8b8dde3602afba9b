"""`loquent serve`: seats of a task over HTTP, on this machine only."""

from __future__ import annotations

import socket
from argparse import Namespace
from typing import Any

from loquent.core import registry
from loquent.errors import BadSetting, MissingExtra
from loquent.training import by_name

HOST = "127.0.0.1"


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Serve until Ctrl-C, and return the address."""
    servers = registry.servers()
    if arguments.task not in servers:
        known = ", ".join(sorted(servers))
        raise BadSetting(f"the task {arguments.task!r:.80} has no server; tasks with one: {known}")
    of_task, of_agent = by_name.split((*arguments.overrides, *arguments.option))
    task = by_name.task(arguments.task, of_task)
    if of_agent and not arguments.agent:
        raise BadSetting(f"{of_agent[0]} is an option of --agent, which is missing; add it or remove this")
    agent = by_name.agent(arguments.agent, task, of_agent) if arguments.agent else None
    try:
        from loquent.files.machine.local_server import serve

        app = registry.import_name(servers[arguments.task])(task, agent)
    except ImportError as error:
        raise MissingExtra("loquent serve", "serve") from error
    listening = _bound(arguments.port)
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
