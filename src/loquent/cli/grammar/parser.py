"""The parser of the whole command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping

from loquent.cli.grammar import episodes, names, runs, scores, studies, training
from loquent.files.machine.version import __version__

EVERYBODY = ("train", "evaluate", "play", "report", "list", "show", "bench", "check", "export")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line. It builds no task and imports no heavy library."""
    return with_commands()[0]


def with_commands() -> tuple[argparse.ArgumentParser, list[str]]:
    """The parser of the whole command line, and the names of the commands."""
    top = argparse.ArgumentParser(
        prog="loquent",
        usage="loquent [-h] [--version] [--debug] COMMAND ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Reinforcement learning on language: write a task once, play it with any agent.",
    )
    top.add_argument("--version", action="version", version=f"loquent {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = top.add_subparsers(prog="loquent", metavar="COMMAND", help=argparse.SUPPRESS)
    for group in (training, runs, episodes, scores, studies, names):
        group.add(commands)
    top.epilog = _overview(commands.choices)
    return top, list(commands.choices)


def _overview(commands: Mapping[str, argparse.ArgumentParser]) -> str:
    """The commands in two groups, a line each."""
    rest = [name for name in commands if name not in EVERYBODY]
    what = {name: re.split("[:;(]", str(commands[name].description))[0].rstrip(". ") for name in commands}
    return "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name:<12}{what[name]}" for name in names)])
        for title, names in (("what everybody needs", EVERYBODY), ("the rest", rest))
    )
