"""The command `loquent`: parses a line and hands it to one file of `commands/`, which alone imports what it
needs.

Results go to stdout, progress and errors to stderr. Exit codes: 0 done, 1 a check found something, 2 an
error, 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from loquent.cli.grammar import parser
from loquent.core.guards.terminal import guarded
from loquent.core.settings import Remark
from loquent.errors import LoquentError, MissingExtra

EXTRAS = dict.fromkeys(
    ("torch", "transformers", "tokenizers", "safetensors", "sklearn", "jaxtyping"), "train"
) | {
    "datasets": "hub",
    "httpx2": "http",
    "pyarrow": "parquet",
    "minari": "minari",
    "h5py": "minari",
    "stable_baselines3": "sb3",
    "sb3_contrib": "sb3",
    "sacrebleu": "metrics",
    "rouge_score": "metrics",
    "nltk": "metrics",
    "scipy": "metrics",
}
MODULES = {"import": "import_recipe"}  # a keyword of Python's cannot be a module's name
REFUSED = {
    errno.EACCES: ("this user may not read or write it", "name another place, or change its permissions"),
    errno.EPERM: ("this user may not change it", "name another place, or change its permissions"),
    errno.EROFS: ("it stands on a file system that can only be read", "name another place"),
    errno.ENOENT: (
        "there is no such file or folder",
        "check the spelling, or make the folder it should stand in",
    ),
    errno.ENOTDIR: ("a part of this path is a file, not a folder", "name another place"),
    errno.EISDIR: ("this is a folder, and a file is wanted", "name a file in it"),
    errno.EEXIST: ("there is a file of this name already", "name another place, or move it away"),
    errno.ENAMETOOLONG: ("this name is longer than the file system takes", "name a shorter one"),
    errno.ENOSPC: ("the disk is full", "make room, and give the same command again"),
    errno.EDQUOT: ("this user's share of the disk is full", "make room, and give the same command again"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code.

    Nothing that others wrote reaches the terminal unescaped.
    """
    with guarded():
        return _run(parsed(argv))


def _run(arguments: argparse.Namespace) -> int:
    try:
        with _remarks():
            code, result = importlib.import_module(
                f"loquent.cli.commands.{MODULES.get(arguments.command, arguments.command)}"
            ).run(arguments)
        if arguments.json:
            print(json.dumps(result, allow_nan=False))
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:  # the reader of our output has gone; nothing is left to say, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("loquent: interrupted", file=sys.stderr)
        return 130
    except LoquentError as error:
        return _failed(type(error).__name__, error)
    except OSError as error:
        return _failed(type(error).__name__, refused(error))
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        return _failed("MissingExtra", MissingExtra(f"loquent {arguments.command}", extra))


def _failed(kind: str, says: object) -> int:
    print(f"{kind}: {_indented(says)}", file=sys.stderr)
    return 2


def _indented(says: object) -> str:
    """A message whose further lines cannot be taken for messages of their own."""
    return str(says).rstrip("\n").replace("\n", "\n  ")


def refused(error: OSError) -> str:
    """What the system refused, at which path, and what to do about it."""
    what, right = REFUSED.get(error.errno or 0, (error.strerror or str(error), ""))
    paths = [str(path) for path in (error.filename, error.filename2) if path is not None]
    return f"{' -> '.join(paths) + ': ' if paths else ''}{what}" + (f"; {right}" if right else "")


@contextmanager
def _remarks() -> Iterator[None]:
    """Remarks go to stderr as one line each; all other warnings as they are."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, Remark):
                print(f"Remark: {_indented(message)}", file=sys.stderr)
            else:
                usual(message, category, *place, **more)

        warnings.showwarning = show
        yield


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments of one line.

    `key=value` settings may also stand behind options, where argparse alone would refuse them.
    """
    top = parser()
    arguments, rest = top.parse_known_args(argv)
    if not hasattr(arguments, "command"):
        top.print_help(sys.stderr)
        raise SystemExit(2)
    loose = getattr(arguments, "files_behind", False)
    if hasattr(arguments, "overrides") and all(
        (loose or "=" in text) and not text.startswith("-") for text in rest
    ):
        arguments.overrides += rest
    elif rest:
        top.error(
            f"unrecognized arguments: {' '.join(rest)}; loquent {arguments.command} --help shows "
            "what is known"
        )
    return arguments


if __name__ == "__main__":
    sys.exit(main())
