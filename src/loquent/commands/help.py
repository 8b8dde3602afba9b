"""`loquent help`: what a setting means, its default, its range and its source."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent import recipe


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print what is known of a setting; without one, the command's own help."""
    if arguments.setting is None:
        from loquent.cli import parser  # the one look upwards: the grammar belongs to the command line

        parser().print_help()
        return 0, {}
    text = recipe.describe(arguments.setting)
    print(text)
    return 0, {"setting": arguments.setting, "lines": text.splitlines()}
