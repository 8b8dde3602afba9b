"""`transformers serve` on a free port of this machine."""

import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

COMMAND = ("transformers", "serve", "--host", "127.0.0.1", "--port", "8000", "--device", "cpu")


@contextmanager
def transformers_server(folder, command=COMMAND):
    """(the address, the process, its log) of a server that works in `folder`, on a port in place of 8000."""
    for needed in ("fastapi", "uvicorn", "openai"):
        pytest.importorskip(needed, reason="transformers[serving] is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program, *words = [port if word == "8000" else word for word in command]
    with (folder / "log").open("w+") as log:
        program = str(Path(sys.executable).with_name(program))
        server = subprocess.Popen([program, *words], stdout=log, stderr=subprocess.STDOUT, cwd=folder)
        try:
            yield f"http://127.0.0.1:{port}", server, log
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def wait(address):
    """The address of the API, as soon as the server answers."""
    url, server, log = address
    limit = time.monotonic() + 120
    while time.monotonic() < limit and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return f"{url}/v1"
        except OSError:
            time.sleep(0.1)
    log.seek(0)
    raise AssertionError(f"transformers serve does not answer: {log.read()[-2000:]}")
