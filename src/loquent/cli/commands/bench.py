"""`loquent bench`: runs a suite of recipes and prints tables, intervals and verdicts."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from loquent.bench import exports, pages, runner


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Run the suite and print its tables; the exit code is 1 if a run failed."""
    out = arguments.out or f"runs/{arguments.suite.removesuffix('.yaml').rpartition('/')[2]}"
    results = runner.bench(
        arguments.suite,
        out,
        profile=arguments.profile,
        seeds=arguments.seeds,
        overrides=arguments.overrides,
        only=[name.strip() for name in arguments.only.split(",")] if arguments.only else (),
        processes=arguments.processes,
        allow_imports=arguments.allow_imports,
        say=lambda line: print(line, file=sys.stderr, flush=True),
    )
    print(pages.markdown(results), end="")
    print(f"\nthe tables (table.md, .csv, .json, .html) and all runs are in {out}")
    return 1 if results.failures else 0, {"out": str(out), **exports.as_json(results)}
