"""`loquent check`: checks the laws of the task contract on any task, or the published files of a task."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from loquent.bench.conformance.check import findings
from loquent.core import registry
from loquent.errors import BadSetting
from loquent.training import by_name


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print one line per law and the number of broken laws; the exit code is 1 if a law is broken.

    With --path, no law is checked but the published files of the folder; the exit code is 1 for a problem.
    """
    if arguments.path is not None:
        return _files(arguments)
    task = by_name.task(arguments.task, (*arguments.overrides, *arguments.option))
    results = findings(task, arguments.episodes)
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


def _files(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    task = by_name.task(arguments.task, (*arguments.overrides, *arguments.option))
    checks = registry.checks()
    if arguments.task not in checks:
        raise BadSetting(
            f"--path: the task {arguments.task!r} has no check of published files; tasks with one: "
            f"{', '.join(sorted(checks))}; leave --path out to check the laws of the task"
        )
    lines, report = registry.import_name(checks[arguments.task])(Path(arguments.path))
    for line in lines:
        print(line)
    return int(bool(report["problems"])), {"task": task.identity, "path": arguments.path, **report}
