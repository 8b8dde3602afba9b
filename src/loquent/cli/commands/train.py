"""`loquent train`: trains what a recipe describes, as one run or as one run per seed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loquent.cli.commands.printing import print_estimate, print_scores
from loquent.cli.grammar.options import Importing, Overriding, argument, option
from loquent.files.run_folder import RunFolder
from loquent.statistics import tables

if TYPE_CHECKING:
    from loquent.training.run import Run


@dataclass(frozen=True, kw_only=True)
class Options(Overriding, Importing):
    """Options of `loquent train`."""

    examples = ("loquent train reviews_ppo model.path=runs/base --out runs/ppo",)
    recipe: str = argument("RECIPE", "a recipe's name (loquent list recipes) or a YAML file")
    out: str | None = option(None, "DIR", "the run's folder (default runs/RECIPE)")
    dry_run: bool = option(
        False, "", "print what the run would need (parameters, memory, disk, time) without training"
    )
    seeds: int | None = option(
        None, "N", "train N runs in DIR/seed-0 and so on, and print means and standard deviations", low=1
    )


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Train, and print the final evaluation, or means and standard deviations over runs."""
    from loquent.bench.seeds import train_seeds
    from loquent.files.machine import launch
    from loquent.training import recipes
    from loquent.training.estimate import estimate
    from loquent.training.train import train

    recipe = recipes.load(
        options.recipe,
        options.overrides,
        profile=options.profile,
        imports="all" if options.allow_imports else "trusted",
    )
    if options.dry_run:
        needs = estimate(recipe).of_seeds(options.seeds or 1)
        print_estimate(needs)
        return 0, {"recipe": recipe.name, "fingerprint": recipe.fingerprint, **needs.as_json()}
    out = Path(options.out or f"runs/{recipe.name}")
    with resumable(out):
        if options.seeds:
            launch.refuse_several(f"--seeds {options.seeds}")
        if launch.assists():
            train(recipe, out)
            return 0, {}
        if options.seeds:
            return 0, report_seeds(out, train_seeds(recipe, out, options.seeds))
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
    from loquent.report import write_report

    evaluation = finished.evaluation
    print_scores(evaluation, short=True)
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
    from loquent.bench.seeds import evaluated_on, over
    from loquent.report import write_report

    rows = over(runs)
    print(tables.of_numbers(rows, {}).markdown())
    print(evaluated_on(runs))
    print(f"their report is {write_report([folder], RunFolder(folder).report)}")
    print(f"the {len(runs)} runs are in {folder}")
    return {"runs": [str(finished.folder) for finished in runs], "rows": rows}
