"""`loquent train`: trains what a recipe describes, as one run or as one run per seed."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loquent.bench.seeds import evaluated_on, over, train_seeds
from loquent.cli.commands.printed import estimated, scores
from loquent.files.run_folder import RunFolder
from loquent.report import write_report
from loquent.statistics import tables
from loquent.training import recipes
from loquent.training.estimate import estimate
from loquent.training.run import Run
from loquent.training.train import train


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Train, and print the final evaluation, or means and standard deviations over runs."""
    recipe = recipes.load(
        arguments.recipe,
        arguments.overrides,
        profile=arguments.profile,
        imports="all" if arguments.allow_imports else "trusted",
    )
    if arguments.dry_run:
        needs = estimate(recipe).of_seeds(arguments.seeds or 1)
        estimated(needs)
        return 0, {"recipe": recipe.name, "fingerprint": recipe.fingerprint, **needs.as_json()}
    out = Path(arguments.out or f"runs/{recipe.name}")
    with resumable(out):
        if arguments.seeds:
            return 0, report_seeds(out, train_seeds(recipe, out, arguments.seeds))
        return 0, report(train(recipe, out))


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """On Ctrl-C, print the command that continues the run."""
    try:
        yield
    except KeyboardInterrupt:
        if out.is_dir():
            print(f"stopped; to go on: loquent resume {out}", file=sys.stderr)
        raise


def report(finished: Run) -> dict[str, Any]:
    """Print a run's final evaluation, write its report, and return both."""
    evaluation = finished.evaluation
    scores(evaluation, short=True)
    print(f"its report is {write_report([finished.folder], finished.files.report)}")
    print(f"the run is in {finished.folder}")
    return {
        "run": str(finished.folder),
        "fingerprint": finished.recipe.fingerprint,
        "updates": len(finished.metrics),
        "evaluation": evaluation,
    }


def report_seeds(folder: Path, runs: Sequence[Run]) -> dict[str, Any]:
    """Print means and standard deviations over runs, write their report, and return the means."""
    rows = over(runs)
    print(tables.of_numbers(rows, {}).markdown())
    print(evaluated_on(runs))
    print(f"their report is {write_report([folder], RunFolder(folder).report)}")
    print(f"the {len(runs)} runs are in {folder}")
    return {"runs": [str(finished.folder) for finished in runs], "rows": rows}
