"""This tree against an earlier commit: `python perf/versions.py NAME --before FOLDER` with its checkout.

Each side runs in a process of its own with the same workload, and both take turns. Their draws must be equal,
and their numbers and gradients equal within 1e-5, before a time counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
HERE = Path(__file__).resolve().parent
WITHIN = 1e-5


class Side:
    """A process that runs a workload with the package of one checkout."""

    def __init__(self, root: Path, name: str) -> None:
        command = [sys.executable, str(HERE / "versions.py"), name, "--serve"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(HERE)])}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def round(self) -> dict[str, Any]:
        """One run of the workload: its processor time, and what it computed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


def serve(name: str) -> None:
    """Run the workload once for each line of the input."""
    import resource
    import time

    import torch
    import version_work

    torch.set_num_threads(1)
    answers, sys.stdout = sys.stdout, sys.stderr
    work: Callable[[], dict[str, Any]] = version_work.WORK[name]()
    for _ in sys.stdin:
        wall, own = time.perf_counter(), time.process_time()
        found = work()
        taken = {"processor": time.process_time() - own, "seconds": time.perf_counter() - wall}
        taken["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        answers.write(json.dumps({**taken, **found}) + "\n")
        answers.flush()


def compared(ours: dict[str, Any], before: dict[str, Any]) -> float:
    """The largest difference of the numbers, and of the gradient as a share of its largest entry.

    Raises:
        AssertionError: draws, numbers or gradients differ, or there are no numbers to compare.
    """
    assert ours["draws"] == before["draws"], "the draws differ"
    assert ours["numbers"], "the workload has no numbers to compare"
    pairs = zip(ours["numbers"], before["numbers"], strict=True)
    worst = max(abs(a - b) / max(1.0, abs(b)) for a, b in pairs)
    largest = max(map(abs, before.get("gradient", ())), default=0.0)
    for a, b in zip(ours.get("gradient", ()), before.get("gradient", ()), strict=True):
        worst = max(worst, abs(a - b) / largest if largest else abs(a))
    assert worst < WITHIN, f"the numbers differ by {worst}"
    return worst


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two checkouts; the last line printed is the JSON of the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--before", type=Path, help="a checkout of the earlier commit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.serve:
        serve(given.name)
        return 0
    if given.before is None:
        parser.error("--before is missing; it must be a checkout of the earlier commit")
    sides = Side(HERE.parent, given.name), Side(given.before, given.name)
    worst, rounds = 0.0, []
    for number in range(-1, given.rounds):
        order = sides if number % 2 else sides[::-1]
        results = {id(side): side.round() for side in order}
        pair = [results[id(side)] for side in sides]
        worst = max(worst, compared(*pair))
        if number >= 0:
            rounds.append(pair)
    ratios = [before["processor"] / ours["processor"] for ours, before in rounds]
    print(
        json.dumps(
            {
                "name": given.name,
                "ratio_of_processor_time": round(statistics.median(ratios), 3),
                "rounds": [round(ratio, 3) for ratio in ratios],
                "processor_seconds": [
                    round(statistics.median(pair[side]["processor"] for pair in rounds), 3) for side in (0, 1)
                ],
                "peak_mb": [round(max(pair[side]["peak_mb"] for pair in rounds)) for side in (0, 1)],
                "rise_mb": [round(max(pair[side].get("rise_mb", 0) for pair in rounds)) for side in (0, 1)],
                "largest_difference": worst,
            }
        )
    )
    for side in sides:
        side.process.stdin.close()  # type: ignore[union-attr]  # it is a pipe
        side.process.wait()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
