"""From the dataclass of a command's options to its parser, and from typed words to an instance."""

from __future__ import annotations

import argparse
import textwrap
import typing
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

from loquent.cli.grammar.options import CommandOptions
from loquent.cli.grammar.summaries import overview, sentence
from loquent.core.options import COMMAND_LINE, Node, coerce
from loquent.core.settings import range_text
from loquent.errors import BadSetting
from loquent.files.machine.version import __version__

WIDTH = 74  # columns of a line of text, with indentation and a backslash at most 80

Chosen = TypeVar("Chosen", bound=CommandOptions)


def top_parser() -> argparse.ArgumentParser:
    """The parser of what precedes a command; its help is the overview of the commands."""
    top = argparse.ArgumentParser(
        prog="loquent",
        usage="loquent [-h] [--version] [--debug] COMMAND ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Reinforcement learning on language: write a task once, play it with any agent.",
        epilog=overview(),
    )
    top.add_argument("--version", action="version", version=f"loquent {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return top


def parser(command: str, options: type[CommandOptions]) -> argparse.ArgumentParser:
    """The parser of a command: an argument for each field of its options."""
    made = argparse.ArgumentParser(
        prog=f"loquent {command}",
        description=_wrapped(sentence(command), "\n"),
        epilog="\n  ".join(("example:", *(_wrapped(each, " \\\n      ") for each in options.examples))),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
    )
    hints = typing.get_type_hints(options)
    for field in arguments(options):
        _add(made, field, hints[field.name])
    return made


def _wrapped(text: str, end: str) -> str:
    """A text in lines of at most 78 columns with what ends them; a word in quotes may have no blank there."""
    return end.join(textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False))


def arguments(options: type[CommandOptions]) -> list[Field[Any]]:
    """The fields that can be typed, in the order of the help: arguments, then options.

    Fields of the command itself come before those that several commands have in common. An argument of any
    number of words comes after the other arguments.
    """
    owner = {
        name: number
        for number, base in reversed(list(enumerate(options.__mro__)))
        for name in vars(base).get("__annotations__", ())
    }
    typed = [field for field in fields(options) if "shown" in field.metadata]

    def place(field: Field[Any]) -> tuple[bool, bool, int]:
        positional = "positional" in field.metadata
        return not positional, positional and _is_many(field), owner[field.name]

    return sorted(typed, key=place)


def read(command: str, options: type[Chosen], words: Sequence[str]) -> Chosen:
    """The options of a command from its typed words; ends the program with exit code 2 if they are wrong."""
    made = parser(command, options)
    given, rest = made.parse_known_args(words)
    rest = rest[1:] if rest[:1] == ["--"] else rest  # argparse keeps it before words that it does not know
    values = vars(given)
    many = next((f for f in fields(options) if f.metadata.get("positional") and _is_many(f)), None)
    if many is not None and all(_belongs(word, many) for word in rest):
        values[many.name] = [*values.get(many.name, ()), *rest]
    elif rest:
        made.error(f"unrecognized arguments: {' '.join(rest)}; loquent {command} --help lists the known ones")
    hints = typing.get_type_hints(options)
    try:
        checked = {
            field.name: coerce(
                _node(values[field.name], hints[field.name]), hints[field.name], field, label(field)
            )
            for field in fields(options)
            if field.name in values
        }
        return options(command=command, **checked)
    except BadSetting as error:
        made.error(str(error).removeprefix(f"{COMMAND_LINE}: "))


def label(field: Field[Any]) -> str:
    """How a field is typed: `--max-new-tokens`, or RECIPE for an argument."""
    if field.metadata.get("positional"):
        return str(field.metadata["shown"] or field.name.upper())
    return "--" + field.name.replace("_", "-")


def help_text(field: Field[Any]) -> str:
    """What a field means, with its range of two ends and with its default if that is a number or a text."""
    shows = isinstance(field.default, str | int | float) and not isinstance(field.default, bool)
    notes = [range_text(field)] if field.metadata["high"] is not None else []
    notes += [f"default {field.default}"] if shows else []
    return str(field.metadata["why"]) + (f" ({'; '.join(notes)})" if notes else "")


def value_text(field: Field[Any]) -> str | None:
    """What stands for the value of a field in the help: N, or {percentile,bca}; None for a flag."""
    choices = field.metadata["choices"]
    return field.metadata["shown"] or (f"{{{','.join(choices)}}}" if choices else None)


def _add(made: argparse.ArgumentParser, field: Field[Any], hint: Any) -> None:
    """Add the argument of a field."""
    text = help_text(field).replace("%", "%%")
    required = field.default is MISSING
    if hint is bool:
        made.add_argument(label(field), action="store_true", help=text)
    elif not field.metadata.get("positional"):
        made.add_argument(
            label(field),
            action="append" if _is_many(field) else "store",
            metavar=value_text(field),
            required=required,
            help=text,
        )
    else:
        number = ("+" if required else "*") if _is_many(field) else None if required else "?"
        made.add_argument(
            field.name, nargs=number, metavar=value_text(field), default=argparse.SUPPRESS, help=text
        )


def _is_many(field: Field[Any]) -> bool:
    return str(field.type).startswith("tuple")


def _belongs(word: str, field: Field[Any]) -> bool:
    """Whether a word after the options belongs to this argument of any number of words."""
    return not word.startswith("-") and ("=" in word or not field.metadata["settings"])


def _node(value: Any, hint: Any) -> Node:
    """A typed value: a number if its field holds numbers, otherwise the text as it is."""
    if isinstance(value, list):
        return Node(tuple(value), COMMAND_LINE, None)
    kinds = (hint, *typing.get_args(hint))
    number = int if int in kinds else float if float in kinds else None
    try:
        return Node(value if number is None else number(value), COMMAND_LINE, None)
    except ValueError:
        return Node(value, COMMAND_LINE, None)
