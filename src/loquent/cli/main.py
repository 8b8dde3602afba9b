"""The command `loquent`: parses a command line and runs the command's file in `commands/`.

Only that file imports the libraries that the command needs. Results go to stdout, progress and errors to
stderr. Exit codes: 0 done, 1 a check failed, 2 an error, 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from loquent.cli.grammar import with_commands
from loquent.core.guards.terminal import guarded
from loquent.core.settings import Remark
from loquent.errors import DEBUG, InputEnded, LoquentError, debugging, listed, naming_extras, nearest

MODULES = {"import": "importing"}  # a Python keyword cannot name a module
ELSEWHERE = "give another path"
PERMIT = "give another path, or change its permissions"
MAKE_ROOM = "free some space, then run the same command again"
REFUSED = {
    errno.EACCES: ("you have no permission to read or write it", PERMIT),
    errno.EPERM: ("you have no permission to change it", PERMIT),
    errno.EROFS: ("its file system is read-only", ELSEWHERE),
    errno.ENOENT: ("there is no such file or folder", "check the spelling, or create its folder"),
    errno.ENOTDIR: ("a part of this path is a file, not a folder", ELSEWHERE),
    errno.EISDIR: ("this is a folder, not a file", "name a file in it"),
    errno.EEXIST: ("a file of this name exists", "give another path, or move the file away"),
    errno.ENAMETOOLONG: ("this name is too long for the file system", "give a shorter one"),
    errno.ENOSPC: ("the disk is full", MAKE_ROOM),
    errno.EDQUOT: ("your disk quota is used up", MAKE_ROOM),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code.

    Control characters in other people's text are escaped before they reach the terminal.
    """
    with guarded():
        arguments = parsed(argv)
        with _debugging(arguments.debug):
            return _run(arguments)


@contextmanager
def _debugging(asked: bool) -> Iterator[None]:
    """Inside, errors show their traceback if it is asked for, also those of your own code."""
    before = os.environ.get(DEBUG)
    if asked:
        os.environ[DEBUG] = "1"
    try:
        yield
    finally:
        if asked and before is None:
            del os.environ[DEBUG]


def _run(arguments: argparse.Namespace) -> int:
    try:
        with _remarks(), naming_extras(f"loquent {arguments.command}"):
            code, result = importlib.import_module(
                f"loquent.cli.commands.{MODULES.get(arguments.command, arguments.command)}"
            ).run(arguments)
        if arguments.json:
            print(json.dumps(result, allow_nan=False))
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:  # the reader of our output is gone, so nothing may be written, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except InputEnded:
        why = f"the input ended before loquent {arguments.command} had played all its games"
        print(f"loquent: {why}, so there is no result", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("loquent: interrupted", file=sys.stderr)
        return 130
    except LoquentError as error:
        return _failed(type(error).__name__, error)
    except OSError as error:
        return _failed(type(error).__name__, refused(error))
    except BaseException as error:  # a tokenizer's Rust may panic on a text, and that is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return _failed("BadModel", f"a tokenizer failed on a text ({str(error)[:200]}); use another model")


def _failed(kind: str, message: object) -> int:
    if debugging():
        traceback.print_exc()
    print(f"{kind}: {_indented(message)}", file=sys.stderr)
    return 2


def _indented(message: object) -> str:
    """The message with its second and later lines indented, so that each looks like part of it."""
    return str(message).rstrip("\n").replace("\n", "\n  ")


def refused(error: OSError) -> str:
    """An error of the operating system: the path, the reason, and what to do."""
    reason, advice = REFUSED.get(error.errno or 0, (error.strerror or str(error), ""))
    paths = [str(path) for path in (error.filename, error.filename2) if path is not None]
    return f"{' -> '.join(paths) + ': ' if paths else ''}{reason}" + (f"; {advice}" if advice else "")


@contextmanager
def _remarks() -> Iterator[None]:
    """Print each remark as one line on stderr; leave other warnings as they are."""
    with warnings.catch_warnings():
        default = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
            if issubclass(category, Remark):
                print(f"Remark: {_indented(message)}", file=sys.stderr)
            else:
                default(message, category, *place, **options)

        warnings.showwarning = show
        yield


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """The parsed arguments of one command line.

    `key=value` settings may also follow options, where argparse alone would refuse them.
    """
    top, commands = with_commands()
    _check_command(top, commands, sys.argv[1:] if argv is None else argv)
    arguments, rest = top.parse_known_args(argv)
    if not hasattr(arguments, "command"):
        top.print_help(sys.stderr)
        raise SystemExit(2)
    files_too = getattr(arguments, "files_behind", False)
    if hasattr(arguments, "overrides") and all(
        (files_too or "=" in text) and not text.startswith("-") for text in rest
    ):
        arguments.overrides += rest
    elif rest:
        top.error(
            f"unrecognized arguments: {' '.join(rest)}; loquent {arguments.command} --help lists "
            "the known ones"
        )
    return arguments


def _check_command(top: argparse.ArgumentParser, commands: list[str], words: Sequence[str]) -> None:
    """End with an error that names the nearest commands if the first word is no command."""
    word = next((word for word in words if word != "--debug"), "-")
    if not word.startswith("-") and word not in commands:
        near = nearest(word, commands)
        hint = f" Did you mean {near!r}?" if near else ""
        known = f"Known: {listed(commands, word)}; loquent --help lists all"
        top.error(f"no command is named {word!r}.{hint} {known}")


if __name__ == "__main__":
    sys.exit(main())
