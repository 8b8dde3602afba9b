"""`loquent train`: what a recipe describes, into a run's folder, or with several seeds into a folder of
runs.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loquent import recipes
from loquent.bench.seeds import over, train_seeds
from loquent.cli.commands.printed import estimated, scores
from loquent.estimate.language_models import estimate
from loquent.files.run_folder import RunFolder
from loquent.report import write_report
from loquent.statistics import tables
from loquent.training.run import Run
from loquent.training.train import train


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Train, and print the evaluation at the end of the run, or means and deviations over runs."""
    whole = recipes.load(
        arguments.recipe,
        arguments.overrides,
        profile=arguments.profile,
        imports="all" if arguments.allow_imports else "trusted",
    )
    if arguments.dry_run:
        found = estimate(whole).of_seeds(arguments.seeds or 1)
        estimated(found)
        return 0, {"recipe": whole.name, "fingerprint": whole.fingerprint, **found.as_json()}
    out = Path(arguments.out or f"runs/{whole.name}")
    with resumable(out):
        if arguments.seeds:
            return 0, report_seeds(out, train_seeds(whole, out, arguments.seeds))
        return 0, report(train(whole, out))


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Say on Ctrl-C how a run is gone on with."""
    try:
        yield
    except KeyboardInterrupt:
        if out.is_dir():
            print(f"stopped; to go on: loquent resume {out}", file=sys.stderr)
        raise


def report(finished: Run) -> dict[str, Any]:
    """Print what a run reached, write its page, and return it."""
    evaluation = finished.evaluation
    scores(evaluation)
    print(f"its report is {write_report([finished.folder], finished.files.report)}")
    print(f"the run is in {finished.folder}")
    return {
        "run": str(finished.folder),
        "fingerprint": finished.recipe.fingerprint,
        "updates": len(finished.metrics),
        "evaluation": evaluation,
    }


def report_seeds(folder: Path, runs: Sequence[Run]) -> dict[str, Any]:
    """Print means and deviations over runs, write their page, and return them."""
    rows = over(runs)
    print(tables.markdown(rows, {}))
    print(f"their report is {write_report([folder], RunFolder(folder).report)}")
    print(f"the {len(runs)} runs are in {folder}")
    return {"runs": [str(one.folder) for one in runs], "rows": rows}
