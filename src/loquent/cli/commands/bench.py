"""`loquent bench`: runs a suite of recipes and prints tables, intervals and verdicts."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from loquent.bench import exports, pages, runner
from loquent.bench import suite as suites
from loquent.bench.evidence import planning
from loquent.errors import BadSetting

UNREAD = ("profile", "seeds", "only", "processes", "overrides")  # arguments that --power does not read


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Run the suite and print its tables; the exit code is 1 if a run failed.

    With --power, nothing is run: the seeds that differences take are printed.
    """
    out = arguments.out or f"runs/{arguments.suite.removesuffix('.yaml').rpartition('/')[2]}"
    if arguments.difference and not arguments.power:
        raise BadSetting(f"--difference {arguments.difference[0]} is read with --power only; add --power")
    if arguments.power:
        _refuse_unread(arguments)
        suite = suites.load(arguments.suite, allow_imports=arguments.allow_imports)
        plans = planning.plan(suite, out, arguments.difference)
        print(planning.markdown(suite, plans), end="")
        return 0, {"suite": suite.name, "tables": plans}
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


def _refuse_unread(arguments: Namespace) -> None:
    """Raise BadSetting if an argument is given that --power does not read."""
    for name in UNREAD:
        if getattr(arguments, name):
            shown = "KEY=VALUE" if name == "overrides" else f"--{name}"
            raise BadSetting(
                f"--power reads no {shown}: the plan is that of all cells of the suite; leave {shown} out, "
                "and name a folder with earlier runs by --out"
            )
