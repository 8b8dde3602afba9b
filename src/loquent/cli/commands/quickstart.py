"""`loquent quickstart`: trains and compares five methods on the built-in reviews."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from loquent.cli.grammar.options import REQUIRED, Overriding, option


@dataclass(frozen=True, kw_only=True)
class Options(Overriding):
    """Options of `loquent quickstart`."""

    examples = ("loquent quickstart --out runs/quickstart",)
    out: str = option(REQUIRED, "DIR", "the folder for the runs and the table")
    seeds: int = option(
        1,
        "N",
        "base models, and runs of each method, one from each; from 2 on, means and deviations are printed",
        low=1,
    )
    processes: int | None = option(
        None,
        "P",
        "runs at the same time (default: as many as cores and memory allow); the numbers are the same",
        low=1,
    )


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Run the comparison, which prints each stage and its table when they are ready."""
    from loquent.bench import quickstart

    try:
        return 0, quickstart.quickstart(
            options.out,
            seeds=options.seeds,
            overrides=options.overrides,
            profile=options.profile,
            processes=options.processes or 0,
        )
    except KeyboardInterrupt:
        print("stopped; to go on, repeat the same command", file=sys.stderr)
        raise
