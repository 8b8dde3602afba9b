"""`loquent` commands, each in a process of its own, which a fork server with loaded libraries starts."""

import multiprocessing
import os
import runpy
import signal
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
    return Command(["loquent", *words], folder, stdin, environment).ended(timeout)


class Command:
    """`loquent WORDS` or `FILE.py WORDS` in `folder`; `ended` gives what it printed."""

    def __init__(self, words, folder, stdin="", environment=None, *, network=False):
        self.words, self.place = words, TemporaryDirectory()
        self.files = [Path(self.place.name, name) for name in ("stdin", "stdout", "stderr")]
        self.files[0].write_text(stdin)
        words, environment = list(map(str, words)), {**os.environ, **(environment or {})}
        self.process = process(_child, words, str(folder), self.files, network, environment, PATH)
        self.process.start()

    def ended(self, timeout=120):
        """Wait for the end."""
        self.process.join(timeout)
        code = self.process.exitcode
        self.process.kill()
        self.process.join()
        if code is None:
            raise subprocess.TimeoutExpired(self.words, timeout)
        texts = [file.read_text() for file in self.files[1:]]
        self.place.cleanup()
        return subprocess.CompletedProcess(self.words, code, *texts)


def _child(words, folder, files, network, environment, path):
    for number, file in enumerate(files):
        with file.open("rb" if number == 0 else "ab") as opened:
            os.dup2(opened.fileno(), number)
    sys.stdin = os.fdopen(0, closefd=False)
    if not network:
        runpy.run_path(str(OFFLINE / "sitecustomize.py"))
    run(words, folder, environment, path)


def run(words, folder, environment, path):
    """Run a command in this process, which its words, environment and path then belong to."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs do not hear it
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv, sys.path[:] = words, path
    if words[0] != "loquent":
        sys.path.insert(0, str(Path(words[0]).parent))
        runpy.run_path(words[0], run_name="__main__")
        return
    from loquent.cli import main as cli

    sys.exit(cli.main())
