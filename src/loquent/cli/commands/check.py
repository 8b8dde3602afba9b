"""`loquent check`: the laws of the contract, on any task."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from loquent.conformance.check import findings
from loquent.training import by_name


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Print one line per law, and how many are broken; exit code 1 where any is."""
    task = by_name.task(arguments.task, (*arguments.overrides, *arguments.option))
    found = findings(task, arguments.episodes)
    for finding in found:
        print(finding)
    broken = [finding.law for finding in found if finding.problems]
    skipped = [finding.law for finding in found if finding.skipped and not finding.problems]
    print(
        f"{task.identity}: {len(found) - len(broken) - len(skipped)} laws kept, {len(broken)} "
        f"broken, {len(skipped)} not checked"
    )
    laws = [
        {
            "law": one.law,
            "says": one.says,
            "problems": list(one.problems),
            "looked": one.looked,
            "skipped": one.skipped,
        }
        for one in found
    ]
    return int(bool(broken)), {"task": task.identity, "broken": broken, "not_checked": skipped, "laws": laws}
