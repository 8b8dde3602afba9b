"""`loquent help`: prints the commands, or the meaning of a setting, its default, range and source."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent.cli.grammar import parser
from loquent.training import recipes


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print the commands, or one line for each setting of this name, and return the lines."""
    name = arguments.setting
    text = parser().format_help().rstrip() if name is None else recipes.describe(name)
    print(text)
    return 0, {"setting": name, "lines": text.splitlines()}
