"""`loquent evaluate`: evaluates a run on its own task and metrics, or any agent on any task."""

from __future__ import annotations

import math
from argparse import Namespace
from typing import Any

from loquent.cli.commands.printed import scores
from loquent.errors import BadSetting
from loquent.files.run_folder import RunFolder
from loquent.training import by_name


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Play held-out rows, print the scores and return them."""
    save = _free(arguments.save)
    settings = {"split": arguments.split, "episodes": arguments.episodes, "seed": arguments.seed}
    if arguments.task is None:
        if arguments.option:
            raise BadSetting(
                f"--option {arguments.option[0]} needs --task; a run is evaluated on the task it was "
                "trained on"
            )
        by_name.require_run(arguments.who)
        from loquent.training.policies import policy_folder
        from loquent.training.run import load_run  # a run needs torch, a scripted agent does not

        finished = load_run(arguments.who, allow_imports=arguments.allow_imports)
        at_end = finished.files.evaluation_file.is_file()
        print(
            f"with {policy_folder(finished.folder).parent}"
            + ("" if at_end else "; the run has not come to its end")
        )
        evaluation = finished.evaluate(**settings, overrides=arguments.overrides)
    else:
        from loquent.training.evaluate import evaluate_agent

        of_task, of_agent = by_name.split([*arguments.option, *arguments.overrides])
        task = by_name.task(arguments.task, of_task)
        evaluation = evaluate_agent(
            task,
            by_name.agent(arguments.who, task, of_agent, allow_imports=arguments.allow_imports),
            **settings,
        )
    result = evaluation.as_json()
    result["values"] = {
        name: None if math.isnan(value) else value for name, value in evaluation.values.items()
    }
    scores(result)
    if save is not None:
        save.path.mkdir(parents=True, exist_ok=True)
        save.write_evaluation(result, evaluation.episodes)
        print(f"the evaluation and its episodes are in {save.path}")
    return 0, {"who": arguments.who, **result}


def _free(folder: str | None) -> RunFolder | None:
    """The folder to save into; BadSetting if it holds a run or an evaluation already."""
    if folder is None:
        return None
    files = RunFolder(folder)
    for file in (files.config, files.evaluation_file, files.episodes):
        if file.exists():
            raise BadSetting(f"--save {folder}: {file} exists already; name a new folder")
    return files
