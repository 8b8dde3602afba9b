"""`loquent evaluate`: evaluates a run on its own task and metrics, or any agent on any task."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from loquent.cli.commands.printing import print_scores
from loquent.cli.grammar.options import KEY_VALUE, SETTINGS, Importing, Seeded, argument, option
from loquent.errors import BadSetting
from loquent.files.run_folder import RunFolder
from loquent.training import by_name


@dataclass(frozen=True, kw_only=True)
class Options(Seeded, Importing):
    """Options of `loquent evaluate`."""

    examples = (
        "loquent evaluate runs/ppo --episodes 500",
        'loquent evaluate runs/ppo evaluation.temperature=0.5 "metrics={rouge: {}}" --save evaluated/cooler',
        "loquent evaluate random --task wordle task.limit=100",
    )
    who: str = argument("WHO", "a run's folder, a model's folder, or an agent's name")
    overrides: tuple[str, ...] = argument(
        SETTINGS,
        "of a run: settings of evaluation, metrics, rewards, task or acting that replace its own; with "
        "--task: options as after --option",
        (),
        settings=True,
    )
    task: str | None = option(None, "TASK", "the task, if WHO is not a run or another task is wanted")
    save: str | None = option(None, "FOLDER", "write evaluation.json and episodes.jsonl there")
    split: str = option("test", "SPLIT", "the split to take rows from")
    episodes: int = option(200, "N", "episodes to play", low=1)
    option: tuple[str, ...] = option((), "KEY=VALUE", KEY_VALUE)


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Play held-out rows, print the scores and return them."""
    save = _free(options.save)
    settings: dict[str, Any] = {"split": options.split, "episodes": options.episodes, "seed": options.seed}
    if options.task is None:
        if options.option:
            raise BadSetting(
                f"--option {options.option[0]} needs --task; a run is evaluated on the task it was trained on"
            )
        by_name.require_run(options.who)
        from loquent.training.policies import policy_folder
        from loquent.training.run import load_run  # a run needs torch, a scripted agent does not

        finished = load_run(options.who, allow_imports=options.allow_imports)
        at_end = finished.files.evaluation_file.is_file()
        print(
            f"with {policy_folder(finished.folder).parent}"
            + ("" if at_end else "; the run has not come to its end")
        )
        evaluation = finished.evaluate(**settings, overrides=options.overrides)
    else:
        from loquent.training.evaluate import evaluate_agent

        of_task, of_agent = by_name.split([*options.option, *options.overrides])
        task = by_name.task(options.task, of_task)
        evaluation = evaluate_agent(
            task, by_name.agent(options.who, task, of_agent, allow_imports=options.allow_imports), **settings
        )
    result = evaluation.as_json()
    result["values"] = {
        name: None if math.isnan(value) else value for name, value in evaluation.values.items()
    }
    print_scores(result)
    if save is not None:
        save.path.mkdir(parents=True, exist_ok=True)
        save.write_evaluation(result, evaluation.episodes)
        print(f"the evaluation and its episodes are in {save.path}")
    return 0, {"who": options.who, **result}


def _free(folder: str | None) -> RunFolder | None:
    """The folder to save into; BadSetting if it holds a run or an evaluation already."""
    if folder is None:
        return None
    files = RunFolder(folder)
    for file in (files.config, files.evaluation_file, files.episodes):
        if file.exists():
            raise BadSetting(f"--save {folder}: {file} exists already; name a new folder")
    return files
