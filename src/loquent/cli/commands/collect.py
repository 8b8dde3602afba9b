"""`loquent collect`: plays many episodes in several processes into one file.

A collection that was stopped continues when the command is run again.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from loquent.core.guards.terminal import line
from loquent.errors import BadSetting
from loquent.training import by_name
from loquent.training.datasets import collection, designed


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Collect episodes, and print and return a summary of the dataset."""
    options = (*arguments.overrides, *arguments.option)
    task = by_name.task(arguments.task, designed.by_owner(options)[""])
    for player in designed.PLAYERS:
        who = getattr(arguments, player) or ""
        if who == "human" or who.endswith("/person"):
            raise BadSetting(
                f"--{player} {who}: a person cannot play a collection; play and keep single episodes with "
                f"loquent play {arguments.task} --save episodes.jsonl"
            )
    plan = collection.Plan(
        task=arguments.task,
        options=options,
        identity=task.identity,
        agent=arguments.agent,
        episodes=arguments.episodes,
        split=arguments.split,
        seed=arguments.seed,
        design=None if arguments.design == designed.GAMES else arguments.design,
        suboptimal=arguments.suboptimal,
        adversary=arguments.adversary,
    )
    plan = replace(
        plan,
        inputs=designed.inputs(
            plan.design or designed.GAMES, designed.read(plan.design or designed.GAMES, plan.players, options)
        ),
    )
    result = collection.collect(
        plan, task, Path(arguments.out), arguments.processes, allow_imports=arguments.allow_imports
    )
    success = f"success {result['success']:.4g}, " if "success" in result else ""
    print(
        f"{result['episodes']} episodes of {task.identity} in {result['file']}; {success}mean return "
        f"{result['return']:.4g}"
    )
    for ended, count in result["ended"].items():
        print(f"  {count} ended: {line(ended)}")
    for kind, part in result.get("kinds", {}).items():
        print(f"  {part['episodes']} {line(kind)}, mean return {part['return']:.4g}")
    return 0, result
