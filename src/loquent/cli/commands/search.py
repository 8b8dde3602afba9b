"""`loquent search`: searches settings of a recipe, and writes the recipe of the best trial."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loquent.cli.commands.train import resumable
from loquent.cli.grammar.options import REQUIRED, Importing, Overriding, Seeded, argument, option
from loquent.core.settings import Remark

if TYPE_CHECKING:
    from loquent.bench.search.results import Results


@dataclass(frozen=True, kw_only=True)
class Options(Overriding, Seeded, Importing):
    """Options of `loquent search`."""

    examples = (
        "loquent search reviews_ppo model.path=runs/base algorithm.learning_rate=log:1e-5:1e-3 "
        "algorithm.clip=0.1,0.2 --trials 12 --rungs 5,15 --on reward/sentiment",
        "loquent search wordle_ilql algorithm.tau=0.7,0.8,0.9 --seeds 3 --on return",
    )
    recipe: str = argument("RECIPE", "a recipe's name (loquent list recipes) or a YAML file")
    overrides: tuple[str, ...] = argument(
        "key.path=VALUES",
        "settings to search: choices a,b,c, a range LOW:HIGH or log:LOW:HIGH, with integers where the "
        "setting is one; a single value is that of all trials",
        settings=True,
    )
    on: str = option(
        REQUIRED, "METRIC", "the value of evaluations on the validation split that chooses the best trial"
    )
    trials: int | None = option(
        None, "N", "the number of trials (default: all points of a space without real numbers)", low=1
    )
    sampler: str = option(
        "random",
        "",
        "random: each setting by itself, no point twice; tpe: Optuna proposes each trial after the earlier "
        "ones (loquent[search])",
        choices=("random", "tpe"),
    )
    seeds: int = option(1, "N", "runs of each trial; its value is their mean", low=1)
    rungs: str = option(
        "", "N,...", "successive halving: after so many updates only the best trials go on (default: none)"
    )
    keep: float = option(0.5, "SHARE", "the share of trials that goes on from a rung", low=0.0, high=1.0)
    processes: int | None = option(
        None, "P", "runs at the same time (default: as many as cores and memory allow)", low=1
    )
    out: str | None = option(None, "DIR", "the folder of the search (default runs/search-RECIPE)")


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Search, or go on with the search in the folder; print all trials and the best one's command."""
    from loquent.bench.search.planning import plan
    from loquent.bench.search.search import search
    from loquent.bench.search.space import split
    from loquent.files.machine import launch
    from loquent.training import recipes

    launch.refuse_several("loquent search")
    common = split(options.overrides)[1]
    with warnings.catch_warnings():  # each trial ends with an evaluation on this split
        warnings.filterwarnings("ignore", r".*training\.evaluate_split = .* has no effect", Remark)
        recipe = recipes.load(
            options.recipe,
            common,
            profile=options.profile,
            imports="all" if options.allow_imports else "trusted",
        )
    planned = plan(
        recipe,
        [text for text in options.overrides if text not in common],
        on=options.on,
        trials=options.trials,
        sampler=options.sampler,
        seed=options.seed,
        seeds=options.seeds,
        rungs=options.rungs,
        keep=options.keep,
    )
    out = Path(options.out or f"runs/search-{recipe.name}")
    with resumable(out):
        results = search(
            recipe,
            planned,
            out,
            processes=options.processes,
            allow_imports=options.allow_imports,
            say=to_stderr,
        )
        return report_search(results)


def to_stderr(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)


def report_search(results: Results) -> tuple[int, dict[str, Any]]:
    """Print a search that has ended, and return it; the exit code is 1 if all trials failed."""
    from loquent.bench.search.page import summary
    from loquent.bench.search.search import BEST, PAGE

    print(results.table().markdown())
    print(f"\n{summary(results)}")
    print(f"its page is {results.folder / PAGE}")
    if results.best is None:
        print("all trials failed, so there is no best one")
        return 1, results.as_json()
    print(f"to train trial {results.best}: loquent train {results.folder / BEST} --out runs/best")
    return 0, results.as_json()
