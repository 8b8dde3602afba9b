"""`loquent help`: prints the commands, or the meaning of a setting, its default, range and source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loquent.cli.grammar.options import CommandOptions, argument
from loquent.cli.grammar.parser import top_parser
from loquent.training import recipes


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """Options of `loquent help`."""

    examples = ("loquent help clip", "loquent help nlpo")
    setting: str | None = argument(
        "SETTING", "a setting, an algorithm or a task; without it, the commands are listed", None
    )


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Print the commands, or one line for each setting of this name, and return the lines."""
    name = options.setting
    text = top_parser().format_help().rstrip() if name is None else recipes.describe(name)
    print(text)
    return 0, {"setting": name, "lines": text.splitlines()}
