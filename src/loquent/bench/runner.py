"""A benchmark from one call: plan, run, read off, write. Called again it goes on where it stopped."""

from __future__ import annotations

import dataclasses
import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from loquent.bench import crew, html, jobs, pages, results
from loquent.bench import suite as suites
from loquent.bench.jobs import Job, Plan
from loquent.bench.results import Results
from loquent.bench.sets import SetJob
from loquent.bench.suite import Suite
from loquent.bench.work import Outcome
from loquent.core.guards import json_files
from loquent.errors import BadCheckpoint
from loquent.files import atomic
from loquent.files.run_folder import RunFolder


def bench(
    suite: str | Path | Suite,
    out: str | Path,
    *,
    profile: str | None = None,
    seeds: int | None = None,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    processes: int | None = None,
    say: Callable[[str], None] = print,
    allow_imports: bool = False,
) -> Results:
    """Run a suite into the folder `out` and write its tables there: table.md, table.csv, verdicts.csv,
    table.json and table.html, and curves.csv where the suite has figures.

    They are written after every run that is made, so that what is done is there whatever ends the call. A run
    that failed is in them, and is tried again by the next call; the others are not made again. What several
    cells have in common is made once.

    Args:
        suite: a name, a YAML file, or a `Suite`.
        profile: one of the suite's, its first by default; "smoke" every suite has.
        seeds: runs of every cell; the profile's number by default.
        overrides: `key.path=value` for all stages and cells, or `NAME:key.path=value` for one of them; `NAME`
            may have * in it.
        only: the cells to make, by name, with what they start from; all by default.
        processes: runs made at once; the profile's number by default, 0 for one on each core.
        allow_imports: take files of suites and recipes that name code wherever they lie; otherwise as
            `loquent.core.guards.trust` says.

    Raises:
        UnknownName, BadSetting: the suite or a setting is wrong. BadCheckpoint: `out` holds a run of other
            settings; names its folder.
    """
    whole = suite if isinstance(suite, Suite) else suites.load(suite, allow_imports=allow_imports)
    results.check(whole)
    shown = suites.only(whole, only) if only else whole
    name, size = whole.profile(profile)
    count, at_once, before = (
        seeds or size.seeds,
        crew.cores(size.processes if processes is None else processes),
        time.perf_counter(),
    )

    def written(plan: Plan, outcomes: Mapping[str, Outcome]) -> Results:
        machine = {
            "processes": at_once,
            "threads": sorted({outcome.threads for outcome in outcomes.values() if outcome.threads}),
            "wall_seconds": round(time.perf_counter() - before, 1),
            "python": platform.python_version(),
            "cpu": platform.machine(),
        }
        found = dataclasses.replace(results.collect(shown, name, count, plan, outcomes), machine=machine)
        write(Path(out), found)
        return found

    return written(
        *runs(
            whole,
            out,
            profile=name,
            seeds=count,
            overrides=overrides,
            only=only,
            processes=at_once,
            say=say,
            each=written,
        )
    )


def runs(
    suite: Suite,
    out: str | Path,
    *,
    profile: str | None,
    seeds: int,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    processes: int = 1,
    progress: bool = False,
    say: Callable[[str], None] = print,
    each: Callable[[Plan, Mapping[str, Outcome]], object] | None = None,
) -> tuple[Plan, dict[str, Outcome]]:
    """The runs of a suite in the folder `out`, made or found there: the plan, and every run's outcome by its
    key. Raises as `bench`.

    Args:
        each: told of the outcomes there are after every run that is made.
    """
    name, _ = suite.profile(profile)
    plan = jobs.plan(
        suite, Path(out), name, seeds, jobs.by_entry(overrides, list(suite.entries), list(suite.data)), only
    )
    if RunFolder(out).config.exists():
        raise BadCheckpoint(
            f"{out} holds a run; name another folder for the suite, in which every run has a folder "
            "of its own"
        )
    Path(out).mkdir(parents=True, exist_ok=True)
    tell, known = _teller(len(plan.jobs), say), dict[str, Outcome]()

    def told(job: Job | SetJob, outcome: Outcome) -> None:
        tell(job, outcome)
        known[job.key] = outcome
        if each is not None and outcome.fresh:
            each(plan, known)

    return plan, crew.run(plan.jobs, processes, told, progress=progress)


def write(folder: Path, found: Results) -> None:
    """The results as Markdown, CSV (the cells, and the verdicts), JSON and HTML."""
    for name, text in (
        ("table.md", pages.markdown(found)),
        ("table.csv", pages.as_csv(found)),
        ("verdicts.csv", pages.verdicts_csv(found)),
        *((("curves.csv", pages.curves_csv(found)),) if found.suite.figures else ()),
        ("table.json", json.dumps(json_files.finite(pages.as_json(found)), allow_nan=False, indent=1)),
        ("table.html", html.page(found)),
    ):
        atomic.write_text(folder / name, text)


def _teller(total: int, say: Callable[[str], None]) -> crew.Say:
    told = 0

    def tell(job: Job | SetJob, outcome: Outcome) -> None:
        nonlocal told
        told += 1
        what = (
            f"failed: {outcome.failure}"
            if outcome.failure
            else f"{outcome.seconds:.1f} s"
            if outcome.fresh
            else "found"
        )
        say(f"{told}/{total} {job.title}: {what}" + (f"; {outcome.note}" if outcome.note else ""))

    return tell
