"""`loquent check`: checks the laws of the task contract on any task, or the published files of a task."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.bench.conformance.check import findings
from loquent.cli.grammar.options import OfTask, option
from loquent.core import registry
from loquent.errors import BadSetting
from loquent.training import by_name


@dataclass(frozen=True, kw_only=True)
class Options(OfTask):
    """Options of `loquent check`."""

    examples = ("loquent check my_task:Echo", "loquent check wordle", "loquent check blocks --path DIR")
    path: str | None = option(
        None,
        "DIR",
        "check the published files of the task in this folder instead: their counts, hashes and labels",
    )
    episodes: int = option(20, "N", "episodes per law", low=1)


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Print one line per law and the number of broken laws; the exit code is 1 if a law is broken.

    With --path, no law is checked but the published files of the folder; the exit code is 1 for a problem.
    """
    if options.path is not None:
        return _files(options, Path(options.path))
    task = by_name.task(options.task, options.settings)
    results = findings(task, options.episodes)
    for finding in results:
        print(finding)
    broken = [finding.law for finding in results if finding.problems]
    skipped = [finding.law for finding in results if finding.skipped and not finding.problems]
    kept = len(results) - len(broken) - len(skipped)
    print(
        f"{task.identity}: {kept} law{'s' * (kept != 1)} kept, {len(broken)} broken, "
        f"{len(skipped)} not checked"
    )
    laws = [
        {
            "law": finding.law,
            "says": finding.says,
            "problems": list(finding.problems),
            "looked": finding.looked,
            "skipped": finding.skipped,
        }
        for finding in results
    ]
    return int(bool(broken)), {"task": task.identity, "broken": broken, "not_checked": skipped, "laws": laws}


def _files(options: Options, folder: Path) -> tuple[int, dict[str, Any]]:
    task = by_name.task(options.task, options.settings)
    checks = registry.checks()
    if options.task not in checks:
        raise BadSetting(
            f"--path: the task {options.task!r} has no check of published files; tasks with one: "
            f"{', '.join(sorted(checks))}; leave --path out to check the laws of the task"
        )
    lines, report = registry.import_name(checks[options.task])(folder)
    for line in lines:
        print(line)
    return int(bool(report["problems"])), {"task": task.identity, "path": options.path, **report}
