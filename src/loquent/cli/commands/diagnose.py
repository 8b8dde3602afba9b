"""`loquent diagnose`: says what the logs of runs show to be wrong, the likely cause, and a setting to try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loquent.cli.grammar.options import CommandOptions, argument


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """Options of `loquent diagnose`."""

    examples = (
        "loquent diagnose runs/grpo",
        "loquent diagnose runs --json",
    )
    runs: tuple[str, ...] = argument("RUN", "a run's folder, finished or not, or a folder of runs")


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Print the diagnosis of each run, unless JSON is asked for, and return all of them."""
    from loquent.report.groups import read

    found = [each.diagnosis for group in read(options.runs) for each in group.runs]
    if not options.json:
        print("\n\n".join(diagnosis.text() for diagnosis in found))
    return 0, {"runs": [diagnosis.as_json() for diagnosis in found]}
