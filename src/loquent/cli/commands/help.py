"""`loquent help`: what a setting means, its default, its range and its source."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent import recipes


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print what is known of a setting."""
    text = recipes.describe(arguments.setting)
    print(text)
    return 0, {"setting": arguments.setting, "lines": text.splitlines()}
