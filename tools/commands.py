"""The page docs/commands.md: every command with its options. `python -m tools.commands` writes it anew."""

from dataclasses import Field
from pathlib import Path
from typing import Any

from loquent.cli.grammar.options import CommandOptions
from loquent.cli.grammar.parser import arguments, help_text, label, value_text
from loquent.cli.grammar.summaries import COMMANDS, sentence
from loquent.cli.main import module

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"
HEAD = """# The options of every command

`--help` after a command prints its options in your terminal. [The command line](command-line.md) says what
the commands are for. A typed value is checked like a setting of a recipe: a wrong value ends the command with
exit code 2 before it does anything.

<!-- given: 0.5 0.95 0.999 1.0 -->

Every command takes:
"""


def page() -> str:
    """The text of the page."""
    sections = (section(name, module(name).Options) for name in COMMANDS)
    return "\n".join([HEAD + "\n" + _rows(CommandOptions), *sections])


def section(name: str, options: type[CommandOptions]) -> str:
    """A command: what it does, examples, and a table of its options."""
    examples = "\n".join(options.examples)
    return f"## {name}\n\n{sentence(name)}\n\n```text\n{examples}\n```\n\n{_rows(options)}"


def _rows(options: type[CommandOptions]) -> str:
    """The table of the options; those of every command stand above the sections alone."""
    shared = () if options is CommandOptions else arguments(CommandOptions)
    names = {field.name for field in shared}
    rows = [
        f"| `{_typed(field)}` | {_cell(help_text(field))} |"
        for field in arguments(options)
        if field.name not in names
    ]
    return "\n".join(["| typed | what it means |", "|---|---|", *rows, ""])


def _typed(field: Field[Any]) -> str:
    """A field as it is typed, with what stands for its value."""
    value = value_text(field)
    words = (value,) if field.metadata.get("positional") else (label(field), value)
    return _cell(" ".join(filter(None, words)))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
