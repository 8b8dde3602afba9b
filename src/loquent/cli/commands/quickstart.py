"""`loquent quickstart`: trains and compares five methods on the built-in reviews."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from loquent.bench import quickstart


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Run the comparison, which prints each stage and its table when they are ready."""
    try:
        return 0, quickstart.quickstart(
            arguments.out,
            seeds=arguments.seeds,
            overrides=arguments.overrides,
            profile=arguments.profile,
            processes=arguments.processes,
        )
    except KeyboardInterrupt:
        print("stopped; to go on, repeat the same command", file=sys.stderr)
        raise
