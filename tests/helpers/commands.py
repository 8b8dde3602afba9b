"""`loquent` commands, each in a process of its own, which a fork server with loaded libraries starts."""

import multiprocessing
import os
import runpy
import subprocess
import sys
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from tempfile import TemporaryDirectory

OFFLINE = Path(__file__).with_name("offline")
PATH = list(sys.path)  # before tests add folders of their own
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["helpers.preloaded"])


def process(target, *arguments):
    """A process that the fork server starts; the server starts with the first."""
    _start()
    return _SERVER.Process(target=target, args=arguments)


@cache
def _start():
    """The server preloads by PYTHONPATH alone."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), before]))
    forkserver.ensure_running()
    del os.environ["PYTHONPATH"]
    if before is not None:
        os.environ["PYTHONPATH"] = before


def loquent(words, folder, *, stdin="", timeout=120, environment=None) -> subprocess.CompletedProcess:
    """Run `loquent WORDS` in `folder`, without a network."""
    with TemporaryDirectory() as place:
        files = [Path(place, name) for name in ("stdin", "stdout", "stderr")]
        files[0].write_text(stdin)
        child = process(_child, list(words), str(folder), files, {**os.environ, **(environment or {})}, PATH)
        child.start()
        child.join(timeout)
        code = child.exitcode
        child.kill()
        child.join()
        if code is None:
            raise subprocess.TimeoutExpired(["loquent", *words], timeout)
        return subprocess.CompletedProcess(words, code, files[1].read_text(), files[2].read_text())


def _child(words, folder, files, environment, path):
    sys.path[:] = path
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, path in enumerate(files):
        with path.open("rb" if number == 0 else "ab") as file:
            os.dup2(file.fileno(), number)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.argv = ["loquent", *words]
    runpy.run_path(str(OFFLINE / "sitecustomize.py"))
    from loquent.cli import main as cli

    sys.exit(cli.main())
