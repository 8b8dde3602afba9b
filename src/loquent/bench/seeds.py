"""Train one recipe with several seeds, each in its own folder, and compute means and deviations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from loquent.core import log_keys, schema
from loquent.core.guards.json_files import show
from loquent.errors import BadCheckpoint
from loquent.files import atomic, final_evaluation, names, saved_state, trust
from loquent.files.run_folder import RunFolder
from loquent.statistics import tables
from loquent.training import recipes
from loquent.training.recipes import Recipe
from loquent.training.run import Run
from loquent.training.train import train

PLAN, RECIPE = "seeds.json", "recipe.yaml"


def train_seeds(recipe: Recipe, out: str | Path, seeds: int, *, progress: bool = True) -> list[Run]:
    """Train a recipe with several seeds into `out/seed-N`, and write the table over them.

    Args:
        seeds: the number of seeds; the first is the recipe's own, and each next one is larger by 1.

    Raises:
        BadCheckpoint: the folder already holds runs.
    """
    folder = Path(out)
    if any((folder / name).exists() for name in (names.CONFIG, PLAN)):
        raise BadCheckpoint(
            f"{folder} already holds runs; name another folder, or continue them: loquent resume {folder}"
        )
    if other := RunFolder(folder).one_seed():  # no plan of seeds has it, so nobody has checked its recipe
        raise BadCheckpoint(f"{folder} already holds runs, such as {other}; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write_text(folder / RECIPE, recipe.yaml())
    trust.sign(folder / RECIPE)
    first = recipe.training.seed
    atomic.write_json(folder / PLAN, {"seeds": list(range(first, first + seeds))})
    return resume_seeds(folder, progress=progress, allow_imports=True)  # the caller made the recipe


def resume_seeds(
    folder: Path, *, progress: bool = True, from_older: bool = False, allow_imports: bool = False
) -> list[Run]:
    """Continue the runs of several seeds, train the missing ones, and write the table over all.

    Args:
        from_older: continue from an older checkpoint if the newest is refused.
        allow_imports: import the code that the recipe names, wherever the folder lies; otherwise
            `loquent.files.trust` decides.
    """
    recipe = recipes.load(folder / RECIPE, imports="all" if allow_imports else "trusted")
    runs = []
    for seed in _seeds(folder / PLAN):
        out = folder / f"seed-{seed}"
        begun = RunFolder(out).is_run  # it may have been extended
        own = Run(out, allow_imports).recipe if begun else recipe.replace(f"training.seed={seed}")
        if not RunFolder(out).evaluation_file.is_file():
            train(own, out, progress=progress, resume=begun, from_older=from_older)
        runs.append(Run(out, allow_imports))
    rows = over(runs)
    evaluated = [{"run": run.folder.name, **_size(run.evaluation)} for run in runs]
    content = {"runs": [run.folder.name for run in runs], "rows": rows, "evaluated": evaluated}
    atomic.write_json(folder / "table.json", content)
    atomic.write_text(
        folder / "table.md", f"{tables.of_numbers(rows, {}).markdown()}\n\n{evaluated_on(runs)}\n"
    )
    atomic.write_text(folder / "table.csv", tables.as_csv(rows))
    return runs


@dataclass(frozen=True)
class _Plan:
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        right = all(0 <= seed <= saved_state.MOST for seed in self.seeds)
        if not self.seeds or not right or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(
                f"seeds must be a list of different integers of at least 0, got {show(list(self.seeds))}"
            )


def _seeds(file: Path) -> tuple[int, ...]:
    advice = 'write {"seeds": [0, 1]}, with the numbers of the folders seed-N'
    return schema.load(_Plan, file, advice).seeds


def evaluated_on(runs: Sequence[Run]) -> str:
    """The split, the episodes, the rows and the decoding of the evaluations behind a table, as sentences.

    A last sentence names the updates of each run where they differ.
    """
    sizes = dict.fromkeys(
        f"{final_evaluation.size(run.evaluation)} of {run.evaluation['split']}" for run in runs
    )
    updates = {run.folder.name: run.recipe.training.updates for run in runs}
    longer = ", ".join(f"{name} {count}" for name, count in updates.items())
    differ = (
        f" The runs have different numbers of updates: {longer}." if len(set(updates.values())) > 1 else ""
    )
    decoding = final_evaluation.decoding_note(
        (run.folder.name, final_evaluation.decoding(run.evaluation)) for run in runs
    )
    starts = " and ".join(sorted({run.recipe.model.path for run in runs} - {""}))
    spread = "± is the standard deviation over seeds" + (
        f"; all seeds start from {starts}, and ± leaves out what another start would change" if starts else ""
    )
    return f"Each run was evaluated by {' or '.join(sizes)}; {spread}. {decoding}{differ}"


def _size(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """The split, the episodes, the rows and the decoding of an evaluation; None: it is not recorded."""
    kept = {name: evaluation.get(name) for name in ("rows", "decoding")}
    return {"split": evaluation["split"], "episodes": evaluation["n"], **kept}


def over(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One row for each evaluated value: mean, standard deviation, the value of each run, and n.

    Runs without the value are left out; n counts the others. One run has no deviation.
    """
    evaluations = [run.evaluation for run in runs]
    directions = {
        key: higher for evaluation in evaluations for key, higher in evaluation["higher_is_better"].items()
    }
    rows = []
    for key, higher in directions.items():
        column = [log_keys.value(evaluation["values"], key) for evaluation in evaluations]
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
