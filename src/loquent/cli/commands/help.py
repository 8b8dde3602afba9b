"""`loquent help`: prints the meaning of a setting, its default, range and source."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent import recipes


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print one line for each setting of this name, and return the lines."""
    text = recipes.describe(arguments.setting)
    print(text)
    return 0, {"setting": arguments.setting, "lines": text.splitlines()}
