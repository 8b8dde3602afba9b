"""`loquent` commands, each in a process of its own, which a fork server with loaded libraries starts."""

import multiprocessing
import os
import runpy
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

OFFLINE = Path(__file__).with_name("offline")
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        "loquent.training.train",
        "loquent.cli.commands.train",
        "loquent.algorithms.imitation.supervised",
        "loquent.algorithms.policy_gradient.ppo",
        "loquent.algorithms.value_learning.ilql",
        "loquent.tasks.generation.task",
        "transformers.models.gpt2.modeling_gpt2",
        "sklearn.linear_model",
        "tokenizers.trainers",
    ]
)


def loquent(words, folder, *, stdin="", timeout=120, environment=None) -> subprocess.CompletedProcess:
    """Run `loquent WORDS` in `folder`, without a network."""
    with TemporaryDirectory() as place:
        files = [Path(place, name) for name in ("stdin", "stdout", "stderr")]
        files[0].write_text(stdin)
        process = SERVER.Process(
            target=_child, args=(list(words), str(folder), files, {**os.environ, **(environment or {})})
        )
        process.start()
        process.join(timeout)
        code = process.exitcode
        process.kill()
        process.join()
        if code is None:
            raise subprocess.TimeoutExpired(["loquent", *words], timeout)
        return subprocess.CompletedProcess(words, code, files[1].read_text(), files[2].read_text())


def _child(words, folder, files, environment):
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
