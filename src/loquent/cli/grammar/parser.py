"""The parser of the whole command line."""

from __future__ import annotations

import argparse

from loquent.cli.grammar import episodes, names, runs, scores, studies, training
from loquent.machine.version import __version__


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line. It builds no task and imports no heavy library."""
    return with_commands()[0]


def with_commands() -> tuple[argparse.ArgumentParser, list[str]]:
    """The parser of the whole command line, and the names of the commands."""
    top = argparse.ArgumentParser(
        prog="loquent",
        description="Reinforcement learning on language: write a task once, play it with any agent.",
    )
    top.add_argument("--version", action="version", version=f"loquent {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    for group in (training, runs, episodes, scores, studies, names):
        group.add(commands)
    return top, list(commands.choices)
