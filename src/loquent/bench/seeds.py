"""One recipe with several seeds: a run each in a folder of its own, and the means and deviations over
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from loquent import recipes
from loquent.core import logged
from loquent.core.guards import json_files, trust
from loquent.errors import BadCheckpoint
from loquent.files import atomic, names, saved_state
from loquent.files.run_folder import RunFolder
from loquent.recipes import Recipe
from loquent.statistics import tables
from loquent.training.run import Run
from loquent.training.train import train

PLAN, RECIPE = "seeds.json", "recipe.yaml"


def train_seeds(whole: Recipe, out: str | Path, seeds: int, *, progress: bool = True) -> list[Run]:
    """Train a recipe with `seeds` seeds, counted from its own, into `out/seed-N`; writes the table over them.

    Raises:
        BadCheckpoint: the folder holds a run, or runs, already.
    """
    folder = Path(out)
    for name in (names.CONFIG, PLAN):
        if (folder / name).exists():
            raise BadCheckpoint(
                f"{folder} holds runs already; name another folder, or go on with them: loquent "
                f"resume {folder}"
            )
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write_text(folder / RECIPE, whole.yaml())
    trust.sign(folder / RECIPE)
    first = whole.training.seed
    atomic.write_json(folder / PLAN, {"seeds": list(range(first, first + seeds))})
    return resume_seeds(folder, progress=progress, allow_imports=True)  # the recipe is the caller's


def resume_seeds(
    folder: Path, *, progress: bool = True, from_older: bool = False, allow_imports: bool = False
) -> list[Run]:
    """Train what is missing of several runs, go on with what was stopped, and write the table over all of
    them.

    Args:
        allow_imports: import code that the recipe names wherever the folder lies; otherwise as
            `loquent.core.guards.trust` says.
    """
    whole = recipes.load(folder / RECIPE, imports="all" if allow_imports else "trusted")
    runs = []
    for seed in _seeds(folder / PLAN):
        own, out = whole.replace(f"training.seed={seed}"), folder / f"seed-{seed}"
        if not RunFolder(out).evaluation_file.is_file():
            train(own, out, progress=progress, resume=RunFolder(out).is_run, from_older=from_older)
        runs.append(Run(out, allow_imports))
    rows = over(runs)
    atomic.write_json(folder / "table.json", {"runs": [run.folder.name for run in runs], "rows": rows})
    atomic.write_text(folder / "table.md", tables.markdown(rows, {}) + "\n")
    atomic.write_text(folder / "table.csv", tables.as_csv(rows))
    return runs


def _seeds(file: Path) -> list[int]:
    advice = 'it holds {"seeds": [0, 1]}, the numbers of the folders seed-N'
    seeds = json_files.load_object(file, advice).get("seeds")
    numbers = seeds if isinstance(seeds, list) else []
    if (
        not numbers
        or not all(type(seed) is int and 0 <= seed <= saved_state.MOST for seed in numbers)
        or len(set(numbers)) < len(numbers)
    ):
        raise BadCheckpoint(
            f"{file}: seeds is {json_files.shown(seeds)}; different whole numbers of at least 0 are "
            f"right: {advice}"
        )
    return numbers


def over(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One row for each evaluated value: its mean over the runs that have it, the deviation beside it (with
    two or more), each run's own.
    """
    found = [run.evaluation for run in runs]
    directions = {key: higher for one in found for key, higher in one["higher_is_better"].items()}
    rows = []
    for key, higher in directions.items():
        column = [logged.value(one["values"], key) for one in found]
        present = [value for value in column if value is not None]
        spread = {"mean/sd": stdev(present)} if len(present) > 1 else {"mean/sd": None}
        own = {run.folder.name: value for run, value in zip(runs, column, strict=True)}
        rows.append(
            {
                "value": key + tables.ARROWS[higher],
                "mean": mean(present) if present else None,
                **spread,
                **own,
                "n": len(present),
            }
        )
    return rows
