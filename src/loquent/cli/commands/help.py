"""`loquent help`: prints the commands, the help of one, or a setting's meaning, default, range and source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loquent.cli.grammar.options import CommandOptions, argument
from loquent.cli.grammar.parser import parser, top_parser
from loquent.cli.grammar.summaries import COMMANDS, module
from loquent.errors import UnknownName
from loquent.training import recipes


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """Options of `loquent help`."""

    examples = ("loquent help clip", "loquent help nlpo", "loquent help train")
    setting: str | None = argument(
        "SETTING", "a command, a setting, an algorithm or a task; without it, the commands are listed", None
    )


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Print the commands, or the help of a command and a line for each setting of this name."""
    name = options.setting
    text = top_parser().format_help().rstrip() if name is None else _description(name)
    print(text)
    return 0, {"setting": name, "lines": text.splitlines()}


def _description(name: str) -> str:
    texts = [parser(name, module(name).Options).format_help().rstrip()] if name in COMMANDS else []
    try:
        texts.append(recipes.describe(name))
    except UnknownName:
        if not texts:
            raise
    return "\n\n".join(texts)
