"""A command's parser, and the arguments that several commands have in common."""

from __future__ import annotations

import argparse
from typing import Any

from loquent.cli.grammar.numbers import seed

OPTION = "an option of the task as key=value, or of the agent as agent.key=value; may be repeated"


def command(commands: Any, name: str, summary: str, *examples: str) -> argparse.ArgumentParser:
    """Add a command with its summary and its example lines, and return its parser."""
    lines = "\n  ".join(examples)
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n  {lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
    )  # the default would replace a --debug before the command
    parser.set_defaults(command=name)
    return parser


def allow_imports(parser: argparse.ArgumentParser, source: str) -> None:
    """Add `--allow-imports`; `source` is what the file belongs to that may name code."""
    parser.add_argument(
        "--allow-imports",
        action="store_true",
        help=f"import the code that the file of {source} names, even if the file lies outside the current "
        "folder (docs/running-others-recipes.md)",
    )


def overrides(parser: argparse.ArgumentParser) -> None:
    """Add settings that replace those of a recipe."""
    parser.add_argument(
        "overrides",
        nargs="*",
        default=[],  # without a default argparse calls an argument of any number required
        metavar="key.path=value",
        help="settings that replace the recipe's",
    )


def profile(parser: argparse.ArgumentParser) -> None:
    """Add `--profile`."""
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help="smoke: two tiny updates, to check that everything runs; or a profile of the recipe",
    )


def options(
    parser: argparse.ArgumentParser, summary: str = "options of the task, or agent.key=value of the agent"
) -> None:
    """Add options of a task, which may also follow `--option`."""
    parser.add_argument("overrides", nargs="*", metavar="task.key=value", help=summary)
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help=OPTION)


def task(parser: argparse.ArgumentParser) -> None:
    """Add a task with its options, a split and a seed."""
    parser.add_argument("task", metavar="TASK", help="a task's name (loquent list tasks) or module:Class")
    options(parser)
    parser.add_argument("--split", default="train", help="the split to take rows from (default train)")
    parser.add_argument("--seed", type=seed, default=0, help="the seed of the episodes (default 0)")
