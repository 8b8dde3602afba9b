"""`loquent check`: checks the laws of the task contract on any task."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent.conformance.check import findings
from loquent.training import by_name


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print one line per law and the number of broken laws; the exit code is 1 if a law is broken."""
    task = by_name.task(arguments.task, (*arguments.overrides, *arguments.option))
    results = findings(task, arguments.episodes)
    for finding in results:
        print(finding)
    broken = [finding.law for finding in results if finding.problems]
    skipped = [finding.law for finding in results if finding.skipped and not finding.problems]
    print(
        f"{task.identity}: {len(results) - len(broken) - len(skipped)} laws kept, {len(broken)} "
        f"broken, {len(skipped)} not checked"
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
