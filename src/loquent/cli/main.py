"""The command `loquent`: reads a command line and runs the command's module in `commands/`.

Only that module is imported, and its `run` imports the libraries that the command needs. Results go to
stdout, progress and errors to stderr. Exit codes: 0 done, 1 a check failed, 2 an error, 130 interrupted.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from loquent.cli.grammar.options import CommandOptions
from loquent.cli.grammar.parser import read, top_parser
from loquent.cli.grammar.summaries import COMMANDS, module
from loquent.core.guards.terminal import guard_streams
from loquent.core.settings import indent, printing_remarks
from loquent.errors import DEBUG, InputEnded, LoquentError, debugging, list_names, naming_extras, nearest

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
    with guard_streams():
        options = parse_command(argv)
        with _debugging(options.debug):
            return _run(options)


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


def _run(options: CommandOptions) -> int:
    try:
        with printing_remarks(), naming_extras(f"loquent {options.command}"):
            code, result = module(options.command).run(options)
        if options.json:
            print(json.dumps(result, allow_nan=False))
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:  # the reader of our output is gone, so nothing may be written, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except InputEnded:
        why = f"the input ended before loquent {options.command} had played all its games"
        print(f"loquent: {why}, so there is no result", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("loquent: interrupted", file=sys.stderr)
        return 130
    except LoquentError as error:
        return _failed(type(error).__name__, error)
    except OSError as error:
        return _failed(type(error).__name__, describe_os_error(error))
    except BaseException as error:  # a tokenizer's Rust may panic on a text, and that is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return _failed("BadModel", f"a tokenizer failed on a text ({str(error)[:200]}); use another model")


def _failed(kind: str, message: object) -> int:
    if debugging():
        traceback.print_exc()
    print(f"{kind}: {indent(message)}", file=sys.stderr)
    return 2


def describe_os_error(error: OSError) -> str:
    """An error of the operating system: the path, the reason, and what to do."""
    reason, advice = REFUSED.get(error.errno or 0, (error.strerror or str(error), ""))
    paths = [str(path) for path in (error.filename, error.filename2) if path is not None]
    return f"{' -> '.join(paths) + ': ' if paths else ''}{reason}" + (f"; {advice}" if advice else "")


def parse_command(argv: Sequence[str] | None = None) -> CommandOptions:
    """The options of one command line; ends the program with exit code 2 if it is wrong."""
    words = list(sys.argv[1:] if argv is None else argv)
    place = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    top = top_parser()
    before = top.parse_args(words[:place])
    if place == len(words):
        top.print_help(sys.stderr)
        raise SystemExit(2)
    command = words[place]
    if command not in COMMANDS:
        near = nearest(command, COMMANDS)
        hint = f" Did you mean {near!r}?" if near else ""
        known = f"Known: {list_names(COMMANDS, command)}; loquent --help lists all"
        top.error(f"no command is named {command!r}.{hint} {known}")
    options: CommandOptions = read(command, module(command).Options, words[place + 1 :])
    return replace(options, debug=options.debug or before.debug)


if __name__ == "__main__":
    sys.exit(main())
