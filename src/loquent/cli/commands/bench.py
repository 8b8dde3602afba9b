"""`loquent bench`: runs a suite of recipes and prints tables, intervals and verdicts."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from loquent.cli.commands.printing import in_time
from loquent.cli.grammar.options import Importing, Overriding, argument, option
from loquent.errors import BadSetting, in_words
from loquent.statistics import tables

UNREAD = ("profile", "seeds", "only", "processes", "overrides")  # arguments that --power does not read


@dataclass(frozen=True, kw_only=True)
class Options(Overriding, Importing):
    """Options of `loquent bench`."""

    examples = ("loquent bench imdb-ablations --profile cpu --out runs/ablations",)
    suite: str = argument("SUITE", "a suite's name (loquent list suites) or a YAML file")
    overrides: tuple[str, ...] = argument(
        "[NAME:]key.path=value",
        "settings of all stages and cells, or of the stage or cell NAME",
        (),
        settings=True,
    )
    profile: str | None = option(
        None, "PROFILE", "a size of the suite (default: its first); smoke: two tiny updates of each run"
    )
    seeds: int | None = option(None, "N", "runs of each cell (default: the profile's number)", low=1)
    only: str | None = option(None, "CELL,...", "run only these cells, and the stages they need")
    processes: int | None = option(
        None,
        "P",
        "runs at the same time (default: the profile's number, or as many as cores and memory allow)",
        low=1,
    )
    out: str | None = option(None, "DIR", "the folder for runs and tables (default runs/SUITE)")
    dry_run: bool = option(
        False, "", "run nothing; print what each run and the whole suite would need (time, memory, disk)"
    )
    power: bool = option(
        False,
        "",
        "run nothing; print how many seeds a difference takes, by table, with the deviations of the runs in "
        "--out",
    )
    difference: tuple[str, ...] = option(
        (), "COLUMN=NUMBER", "with --power: a wanted difference of two cells in this column; may be repeated"
    )


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Run the suite and print its tables; the exit code is 1 if a run failed.

    With --power, nothing is run: the seeds that differences take are printed.
    """
    from loquent.bench import exports, pages, runner
    from loquent.files.machine import launch

    out = options.out or f"runs/{options.suite.removesuffix('.yaml').rpartition('/')[2]}"
    if options.difference and not options.power:
        raise BadSetting(f"--difference {options.difference[0]} is read with --power only; add --power")
    if options.power:
        return 0, _power(options, out)
    if options.dry_run:
        return 0, _costs(options, out)
    launch.refuse_several("loquent bench")
    results = runner.bench(options.suite, out, processes=options.processes, **_cells(options))
    print(pages.markdown(results), end="")
    print(f"\nthe tables (table.md, .csv, .json, .html) and all runs are in {out}")
    return 1 if results.failures else 0, {"out": str(out), **exports.as_json(results)}


def _power(options: Options, out: str) -> dict[str, Any]:
    """Print and return how many seeds each difference takes."""
    from loquent.bench import suite as suites
    from loquent.bench.evidence import planning

    _refuse_unread(options)
    suite = suites.load(options.suite, allow_imports=options.allow_imports)
    plans = planning.plan(suite, out, options.difference)
    print(planning.markdown(suite, plans), end="")
    return {"suite": suite.name, "tables": plans}


def _cells(options: Options) -> dict[str, Any]:
    """The arguments that choose the cells of a suite, and say how it goes on."""
    return {
        "profile": options.profile,
        "seeds": options.seeds,
        "overrides": options.overrides,
        "only": [name.strip() for name in options.only.split(",")] if options.only else [],
        "allow_imports": options.allow_imports,
        "say": lambda line: print(line, file=sys.stderr, flush=True),
    }


def _costs(options: Options, out: str) -> dict[str, Any]:
    """Print and return what each stage and cell, and the whole suite, would need."""
    from loquent.bench.costs import costs

    costed = costs(options.suite, out, **_cells(options))
    found = costed.entries
    rows = [
        [each.name, str(each.runs), in_time(each.seconds), in_words(each.peak), in_words(each.disk)]
        if not each.why
        else [each.name, str(each.runs), f"unknown: {each.why}"[:200], "", ""]
        for each in found
    ]
    print(tables.Table(["stage or cell", "runs", "time", "memory at its peak", "disk"], rows).terminal())
    known = [each for each in found if not each.why]
    total = {
        "runs": sum(each.runs for each in known),
        "seconds": sum(each.seconds for each in known),
        "peak": max((each.peak for each in known), default=0),
        "disk": sum(each.disk for each in known),
    }
    print(
        f"the whole suite: {total['runs']} runs, {in_time(total['seconds'])} one after the other, "
        f"{in_words(total['peak'])} of memory at the largest peak, {in_words(total['disk'])} on disk"
    )
    if missing := [each.name for each in found if each.why]:
        print(f"without {', '.join(missing)}, whose cost is unknown")
    if costed.missing:
        print("not on this machine:", *costed.missing, sep="\n  ")
    return {"costs": [each.as_json() for each in found], "total": total, "missing": costed.missing}


def _refuse_unread(options: Options) -> None:
    """Raise BadSetting if an argument is given that --power does not read."""
    for name in UNREAD:
        if getattr(options, name):
            shown = "KEY=VALUE" if name == "overrides" else f"--{name}"
            raise BadSetting(
                f"--power reads no {shown}: the plan is that of all cells of the suite; leave {shown} out, "
                "and name a folder with earlier runs by --out"
            )
