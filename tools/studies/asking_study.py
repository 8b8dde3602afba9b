"""What the mean of the weights of several checkpoints of QA-DQN does on the rows of a run.

    python -m tools.studies.asking_study RUN --updates 64,68,72 --split train --rows 400 --added 0,0.01
    python -m tools.studies.asking_study RUN --updates 64,68,72 --added 0.01 --answers

RUN is the folder of a run of `reading_dqn` that kept these checkpoints. `--added` are numbers that are added
to the value of `stop`: one is chosen on rows of train, and all rows of test are played with it. For each
number a line of JSON is printed: the share of sufficient memories with its standard error, the mean number
of commands (the answer is none), the share of games that stopped, and with `--answers` F1, exact match and
the F1 of games with a sufficient memory. Lines 13 and 14 of `docs/results/reading.jsonl` name their commands.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from loquent.core.seeding import Key
from loquent.core.task import Row, Step, Task
from loquent.tasks.reading.network.actor import AskingActor
from loquent.training import checkpoint, recipes
from loquent.training.trainer import Trainer

TOGETHER = 64
"""Games whose commands are chosen in one forward pass."""


def mean_of(states: Sequence[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The mean of the weights; tensors that are no floating-point numbers are those of the last state."""
    last = states[-1]
    return {
        name: sum(state[name] for state in states) / len(states) if tensor.is_floating_point() else tensor
        for name, tensor in last.items()
    }


def chosen_rows(task: Task, split: str, count: int | None) -> list[Row]:
    """All rows of a split, or as many, drawn without replacement with the seed 0."""
    rows = list(task.rows(split))
    if count is None:
        return rows
    return [rows[place] for place in np.random.default_rng(0).permutation(len(rows))[:count]]


def played(
    task: Task, actor: AskingActor, rows: Sequence[Row], added: float
) -> tuple[list[Step], np.ndarray]:
    """The last steps of the games before the answer, each with the best command, and their commands."""
    steps = [task.start(row, Key(0)) for row in rows]
    commands = np.zeros(len(rows))
    stop = task.actions.plain.index("stop")
    live = list(range(len(rows)))
    while live:
        left = []
        for start in range(0, len(live), TOGETHER):
            part = live[start : start + TOGETHER]
            scores = actor.scores([actor.inputs.situation(steps[game].observation) for game in part])
            scores = scores.numpy().copy()
            scores[:, stop] += added
            for game, action in zip(part, scores.argmax(1), strict=True):
                text = task.actions.text(int(action), steps[game].observation.legal)
                steps[game] = task.act(steps[game], text)
                commands[game] += 1
                if "ended" not in steps[game].observation.fields:
                    left.append(game)
        live = left
    return steps, commands


def figures(
    task: Task, actor: AskingActor, rows: Sequence[Row], added: float, answers: bool
) -> dict[str, float]:
    """The figures of all rows."""
    steps, commands = played(task, actor, rows, added)
    fields = [step.observation.fields for step in steps]
    sufficient = np.array([float(found["sufficient"]) for found in fields])
    measured = {
        "sufficient": sufficient.mean(),
        "error": sufficient.std(ddof=1) / len(rows) ** 0.5,
        "commands": commands.mean(),
        "stopped": np.mean([found["ended"] == "stopped" for found in fields]),
    }
    if answers:
        rewards = []
        for start in range(0, len(rows), TOGETHER):
            part = steps[start : start + TOGETHER]
            texts = actor.answers([step.observation for step in part])
            rewards += [task.act(step, text).rewards for step, text in zip(part, texts, strict=True)]
        f1 = np.array([reward["f1"] for reward in rewards])
        exact = np.mean([reward["em"] for reward in rewards])
        measured |= {"f1": f1.mean(), "em": exact, "f1_info": f1[sufficient > 0].mean()}
    return {name: round(float(value), 4) for name, value in measured.items()}


def numbers(kind: type) -> Any:
    """A reader of numbers with commas between them."""
    return lambda text: [kind(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="the folder of the run")
    parser.add_argument(
        "--updates", type=numbers(int), required=True, help="updates with a checkpoint: 64,68,72"
    )
    parser.add_argument("--split", default="test")
    parser.add_argument("--rows", type=int, help="how many rows are drawn; all without it")
    parser.add_argument("--added", type=numbers(float), default=[0.0], help="numbers: 0,0.01,0.02")
    parser.add_argument("--answers", action="store_true", help="play the answer phase, too")
    asked = parser.parse_args()
    trainer = Trainer(recipes.load(asked.run / "config.yaml"))
    task, actor = trainer.task, trainer.actor
    folders = [asked.run / "checkpoints" / f"update-{update}" for update in asked.updates]
    actor.load_state_dict(mean_of([checkpoint.load(folder)["actor"] for folder in folders]))
    actor.policy.eval()
    rows = chosen_rows(task, asked.split, asked.rows)
    for added in asked.added:
        found = figures(task, actor, rows, added, asked.answers)
        print(json.dumps({"split": asked.split, "rows": len(rows), "added": added, **found}), flush=True)


if __name__ == "__main__":
    main()
