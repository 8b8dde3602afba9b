"""One recipe with several seeds: a run each in a folder of its own, and the means and deviations over them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from loquent import checkpoint, recipe, tables
from loquent.errors import BadCheckpoint
from loquent.recipe import Recipe
from loquent.run import Run
from loquent.train import train

PLAN = "seeds.json"


def train_seeds(whole: Recipe, out: str | Path, seeds: int, *, progress: bool = True) -> list[Run]:
    """Train a recipe with `seeds` seeds, counted from its own, into `out/seed-N`; writes the table over them.

    Raises:
        BadCheckpoint: the folder holds a run, or runs, already.
    """
    folder = Path(out)
    for name in ("config.yaml", PLAN):
        if (folder / name).exists():
            raise BadCheckpoint(f"{folder} holds runs already; name another folder, or go on with them: loquent resume {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint.write_aside(folder / "recipe.yaml", whole.yaml())
    first = whole.training.seed
    checkpoint.write_json(folder / PLAN, {"seeds": list(range(first, first + seeds))})
    return resume_seeds(folder, progress=progress)


def resume_seeds(folder: Path, *, progress: bool = True, from_older: bool = False) -> list[Run]:
    """Train what is missing of several runs, go on with what was stopped, and write the table over all of them."""
    whole = recipe.load(folder / "recipe.yaml")
    runs = []
    for seed in json.loads((folder / PLAN).read_text(encoding="utf-8"))["seeds"]:
        own, out = whole.replace(f"training.seed={seed}"), folder / f"seed-{seed}"
        if not (out / "evaluation.json").is_file():
            train(own, out, progress=progress, resume=(out / "config.yaml").is_file(), from_older=from_older)
        runs.append(Run(out))
    rows = over(runs)
    checkpoint.write_json(folder / "table.json", {"runs": [run.folder.name for run in runs], "rows": rows})
    checkpoint.write_aside(folder / "table.md", tables.markdown(rows, {}) + "\n")
    checkpoint.write_aside(folder / "table.csv", tables.as_csv(rows))
    return runs


def over(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One row for each evaluated value: its mean over the runs that have it, the deviation beside it (with two or more), each run's own."""
    found = [run.evaluation for run in runs]
    directions = {key: higher for one in found for key, higher in one["higher_is_better"].items()}
    rows = []
    for key, higher in directions.items():
        column = [one["values"].get(key) for one in found]
        present = [value for value in column if value is not None]
        spread = {"mean/sd": stdev(present)} if len(present) > 1 else {"mean/sd": None}
        own = {run.folder.name: value for run, value in zip(runs, column, strict=True)}
        rows.append({"value": key + tables.ARROWS[higher], "mean": mean(present) if present else None, **spread, **own, "n": len(present)})
    return rows
