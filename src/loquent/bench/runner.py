"""Run a suite and write its tables in one call; the next call continues an interrupted one."""

from __future__ import annotations

import dataclasses
import json
import platform
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from loquent.bench import crew, exports, jobs, outside, pages, results
from loquent.bench import suite as suites
from loquent.bench.evidence import leaderboard
from loquent.bench.evidence.outcome import Outcome
from loquent.bench.jobs import Job, Plan
from loquent.bench.results import Results
from loquent.bench.schema.sets import SetJob
from loquent.bench.schema.suite_schema import Suite
from loquent.core.guards import json_files
from loquent.errors import BadCheckpoint
from loquent.files import atomic
from loquent.files.machine.version import __version__
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
    """Run a suite into the folder `out` and write its tables there.

    The files are table.md, table.csv, verdicts.csv, table.json and table.html, and curves.csv if the suite
    has figures. They are written again after every run, so an interrupted call leaves the tables of its
    finished runs. A suite with claims over tasks also has leaderboard.json and leaderboard.md. The tables
    name failed runs. The next call repeats failed runs, but no finished ones. Cells with equal settings share
    a run.

    Args:
        suite: a name, a YAML file, or a `Suite`.
        profile: a profile of the suite, the first by default; every suite has "smoke".
        seeds: the number of runs of every cell; the profile's numbers by default.
        overrides: `key.path=value` for all stages and cells, or `NAME:key.path=value` for one of them; `NAME`
            may contain *.
        only: the names of the cells to make, with the jobs that they need; those of the profile by default.
        processes: the number of runs made at once; the profile's number by default, 0 for as many as
            cores and memory allow (`crew.cores`).
        say: called with each line of progress.
        allow_imports: accept files of suites and recipes that name code, wherever they lie; otherwise
            `loquent.files.trust` decides.

    Raises:
        UnknownName, BadSetting: the suite or a setting is wrong, or what the profile needs from outside is
            not here.
        BadCheckpoint: `out` holds a run of other settings; the error names its folder.
        BadSetting: the leaderboard in `out` is no valid one.
    """
    loaded = suite if isinstance(suite, Suite) else suites.load(suite, allow_imports=allow_imports)
    results.check(loaded)
    leaderboard.read(Path(out) / leaderboard.FILE, loaded)
    name, size = loaded.profile(profile)
    chosen = loaded.selection(name, only)
    shown = suites.only(loaded, chosen) if chosen else loaded
    count = seeds or size.seeds
    workers = crew.cores(size.processes if processes is None else processes)
    start = time.perf_counter()
    origin = _origin(suite, name, None if size.fewer and not seeds else count, overrides, only)

    def write_results(plan: Plan, outcomes: Mapping[str, Outcome]) -> Results:
        machine = {
            "processes": workers,
            "threads": sorted({outcome.threads for outcome in outcomes.values() if outcome.threads}),
            "wall_seconds": round(time.perf_counter() - start, 1),
            "peak_gib": crew.peak(min(workers, len(plan.jobs))),
            "python": platform.python_version(),
            "cpu": platform.machine(),
        }
        collected = results.collect(shown, name, count, plan, outcomes)
        collected = dataclasses.replace(collected, machine=machine, origin=origin)
        write(Path(out), collected)
        return collected

    plan, outcomes = runs(
        loaded,
        out,
        profile=name,
        seeds=seeds,
        overrides=overrides,
        only=chosen,
        processes=workers,
        say=say,
        after_run=write_results,
    )
    return write_results(plan, outcomes)


def _origin(
    suite: str | Path | Suite, profile: str, seeds: int | None, overrides: Sequence[str], only: Sequence[str]
) -> dict[str, str]:
    """The command that repeats the tables, the commit it runs at (or the version) and the date."""
    from loquent.files.machine.identity import source_state

    name = suite.name if isinstance(suite, Suite) else str(suite)
    chosen = ["--only", ",".join(only)] if only else []
    runs = ["--seeds", str(seeds)] if seeds else []
    words = ["loquent", "bench", name, "--profile", profile, *runs, *chosen, *overrides]
    commit = f"version {__version__}"
    if source := source_state():
        commit = source["commit"][:8] + " with changes" * source["changed"]
    return {"command": shlex.join(words), "commit": commit, "date": time.strftime("%Y-%m-%d", time.gmtime())}


def runs(
    suite: Suite,
    out: str | Path,
    *,
    profile: str | None,
    seeds: int | None,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    processes: int = 1,
    threads: int = 0,
    progress: bool = False,
    say: Callable[[str], None] = print,
    after_run: Callable[[Plan, Mapping[str, Outcome]], object] | None = None,
) -> tuple[Plan, dict[str, Outcome]]:
    """Make the jobs of a suite that are not finished; returns the plan and every outcome by its key.

    Args:
        threads: the number of torch's threads in every run; 0 for a share of the cores.
        after_run: called with the plan and all outcomes so far after every job that is made.

    Raises:
        UnknownName, BadSetting, BadCheckpoint: see `bench`.
    """
    name, _ = suite.profile(profile)
    by_entry = jobs.by_entry(overrides, list(suite.entries), list(suite.data))
    plan = jobs.plan(suite, Path(out), name, seeds, by_entry, only)
    if RunFolder(out).config.exists():
        raise BadCheckpoint(
            f"{out} holds a run; name another folder for the suite, in which every run has its own folder"
        )
    outside.check(plan, suite.profile(name)[1])
    Path(out).mkdir(parents=True, exist_ok=True)
    outcomes: dict[str, Outcome] = {}

    def report(job: Job | SetJob, outcome: Outcome) -> None:
        outcomes[job.key] = outcome
        say(f"{len(outcomes)}/{len(plan.jobs)} {job.title}: {_progress(outcome)}")
        if after_run is not None and outcome.fresh:
            after_run(plan, outcomes)

    return plan, crew.run(plan.jobs, processes, report, threads_each=threads, progress=progress)


def write(folder: Path, collected: Results) -> None:
    """Write the results as Markdown, CSV (cells, verdicts and curves), JSON and HTML.

    A suite with claims over tasks also has a leaderboard, whose entries of others are kept.
    """
    suite, whole = collected.suite, collected.suite.whole or collected.suite
    if whole.tallies and collected.share == 1:
        file = folder / leaderboard.FILE
        found = leaderboard.ours(suite, collected.profile, collected.rows)
        entries = leaderboard.merge_entries(leaderboard.read(file, whole), found)
        content = leaderboard.as_json(suite, entries)
        atomic.write_text(file, json.dumps(content, allow_nan=False, indent=1))
        page = leaderboard.markdown(entries, suite, collected.profile)
        atomic.write_text(folder / leaderboard.PAGE, page)
    for name, text in (
        ("table.md", pages.markdown(collected)),
        ("table.csv", exports.as_csv(collected)),
        ("verdicts.csv", exports.verdicts_csv(collected)),
        *((("curves.csv", exports.curves_csv(collected)),) if collected.suite.figures else ()),
        ("table.json", json.dumps(json_files.finite(exports.as_json(collected)), allow_nan=False, indent=1)),
        ("table.html", pages.html(collected)),
    ):
        atomic.write_text(folder / name, text)


def _progress(outcome: Outcome) -> str:
    """An outcome in a few words."""
    made = f"{outcome.seconds:.1f} s" if outcome.fresh else "found"
    text = f"failed: {outcome.failure}" if outcome.failure else made
    return f"{text}; {outcome.note}" if outcome.note else text
