"""Six learners on two synthetic tasks with tiny models, three seeds each: the study of docs/learners.md.

The tasks are those of RL4LMs' smoke tests: to count upwards, and to write a date. A model is first trained on
texts that hold unsorted numbers, or seldom a date; then each learner continues from it.

Run: python -m tools.studies.learning_study              (writes docs/results/learning.jsonl and the curves)
     python -m tools.studies.learning_study gpt2 dates   (only these shapes and tasks)
     python -m tools.studies.learning_study page         (draws the curves from the results)
"""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import loquent
from tools.studies.learning_page import draw_all

DOCS = Path(__file__).resolve().parents[2] / "docs"
RESULTS = DOCS / "results" / "learning.jsonl"
SHAPES = ("gpt2", "t5")
SEEDS = (0, 1, 2)
EVERY, EPISODES, TESTED = 5, 64, 300
NAMES = ("ada", "ben", "cleo", "dan", "eva", "finn", "gus", "hana")
TARGET = 0.5
"""The largest wanted KL to the start, in nats per token; beta adapts to it where a learner can."""

ACTOR_CRITIC = {"gamma": 1.0, "lam": 0.95, "beta": 0.02, "kl_target": TARGET}
STEPS = {"learning_rate": 2e-3, "epochs": 2, "minibatch": 16}
LEARNERS: dict[str, dict[str, Any]] = {
    "ppo": {**ACTOR_CRITIC, **STEPS},
    "nlpo": {**ACTOR_CRITIC, **STEPS, "learning_rate": 1e-3, "top_p": 0.95, "mu": 5},
    "a2c": {**ACTOR_CRITIC, "optimizer": "adamw", "learning_rate": 4e-3, "normalize_advantages": True},
    "trpo": {**ACTOR_CRITIC, "radius": 0.03, "critic_epochs": 2, "learning_rate": 2e-3},
    "grpo": {**STEPS, "beta": 0.02},
    "rloo": {**STEPS, "beta": 0.02},
}
CHANGED: dict[tuple[str, str, str], tuple[Mapping[str, Any], int]] = {
    ("t5", "increasing_numbers", "a2c"): ({}, 50),
    ("t5", "dates", "a2c"): ({"learning_rate": 2e-3}, 20),
}
"""Other settings, and updates, of a shape, task and learner; docs/learners.md says why."""
COMPARED = ("grpo", "rloo")
PHASES = ("collect", "score", "learn")


def numbers(draw: random.Random) -> str:
    """A name, a colon, and twelve numbers below 100; half of the steps go up by 1 to 4."""
    number, counted = draw.randrange(50), []
    for _ in range(12):
        counted.append(str(number))
        number = (number + draw.randrange(1, 5)) % 100 if draw.random() < 0.5 else draw.randrange(100)
    return f"{draw.choice(NAMES)} counts : " + " ".join(counted)


def dates(draw: random.Random) -> str:
    """A sentence that names a day in one of three forms, of which one in five is a date."""
    year, month, day = draw.randrange(1900, 2000), draw.randrange(1, 13), draw.randrange(1, 29)
    kind = draw.random()
    when = (
        f"on {year}-{month:02}-{day:02}"
        if kind < 0.2
        else f"in {year}"
        if kind < 0.6
        else f"in month {month}"
    )
    return f"{draw.choice(NAMES)} and {draw.choice(NAMES)} met {when} at home ."


TASKS: dict[str, dict[str, Any]] = {
    "increasing_numbers": {"text": numbers, "prompt_words": 3, "tokens": 24, "updates": 40},
    "dates": {"text": dates, "prompt_words": 4, "tokens": 16, "updates": 15},
}


def recipe(name: str, task: str, folder: Path, **sections: Any) -> Any:
    """A recipe on the texts of a task."""
    from loquent.training import recipes

    shape = TASKS[task]
    content = {
        "task": {
            "kind": "generation",
            "source": "path",
            "path": str(folder / task),
            "prompt_words": shape["prompt_words"],
            "horizon": "terminal",
        },
        "decoding": {"max_new_tokens": shape["tokens"], "live": 128},
        "metrics": {task: {}},
        **sections,
    }
    file = folder / f"{name}.yaml"
    file.write_text(json.dumps(content), encoding="utf-8")
    return recipes.load(file)


def write_texts(folder: Path) -> None:
    """The texts of both tasks, by split."""
    for task, shape in TASKS.items():
        (folder / task).mkdir()
        for split, count in (("train", 2000), ("validation", 100), ("test", 300)):
            draw = random.Random(f"{task}/{split}")
            lines = [json.dumps({"text": shape["text"](draw)}) for _ in range(count)]
            (folder / task / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def base(shape: str, task: str, folder: Path) -> Path:
    """The folder of the model that all learners start from."""
    out = folder / f"base-{shape}-{task}"
    sizes = {"shape": shape, "layers": 1, "width": 64, "heads": 2, "context": 64, "vocabulary": 400}
    loquent.train(
        recipe(
            out.name,
            task,
            folder,
            model={**sizes, "dropout": 0.0, "critic": "none", "reference": "none"},
            algorithm={"kind": "supervised", "learn_on": "all", "learning_rate": 5e-3, "minibatch": 16},
            training={"updates": 400, "episodes": 16, "evaluate_every": 0, "checkpoint_every": 0,
                      "final_episodes": 10},
        ),
        out,
        progress=False,
    )  # fmt: skip
    return out


def recipe_of(learner: str, shape: str, task: str, start: Path, seed: int, folder: Path) -> Any:
    """The recipe of a learner's run."""
    compared = learner in COMPARED
    changed, updates = CHANGED.get((shape, task, learner), ({}, TASKS[task]["updates"]))
    return recipe(
        "run",
        task,
        folder,
        model={"path": str(start), "critic": "none" if compared else "network", "reference": "copy"},
        rewards={task: 1.0},
        algorithm={"kind": learner, **LEARNERS[learner], **changed},
        training={"seed": seed, "updates": updates, "episodes": EPISODES, "answers": 8 if compared else 1,
                  "evaluate_every": EVERY, "evaluate_first": True, "evaluate_episodes": 100,
                  "checkpoint_every": 0, "final_episodes": TESTED},
    )  # fmt: skip


def trained(made: Any, folder: Path) -> Any:
    """A finished run of a recipe."""
    return loquent.train(made, Path(tempfile.mkdtemp(dir=folder)) / "run", progress=False)


def outcome(run: Any, task: str) -> dict[str, Any]:
    """The figures of one run: reward on test prompts with its error, cost, KL, and the curve."""
    logs = run.metrics
    learned = [line for line in logs if line["update"]]
    timings = [json.loads(line) for line in run.files.logs.timings.read_text("utf-8").splitlines()]
    key = f"reward/{task}"
    shown = f"evaluation/{key}"
    return {
        "reward": run.evaluation["values"][key],
        "error": run.evaluation["errors"].get(key, 0.0),  # no error: all answers have the same reward
        "tokens": round(sum(line["rollout/tokens"] * EPISODES for line in learned)),
        "seconds": round(sum(spent.get(part, 0) for spent in timings for part in PHASES), 1),
        "kl": learned[-1]["kl/reference"] if learned else 0.0,
        "curve": [[line["update"], line[shown]] for line in logs if shown in line],
    }  # fmt: skip


def summary(runs: Sequence[Mapping[str, Any]], start: Mapping[str, Any]) -> dict[str, Any]:
    """The summary of a learner's seeds beside the start."""
    gains = [run["reward"] - start["reward"] for run in runs]
    errors = [math.hypot(run["error"], start["error"]) for run in runs]
    return {
        "reward": fmean(run["reward"] for run in runs),
        "deviation": stdev(run["reward"] for run in runs) if len(runs) > 1 else 0.0,
        "least_gain_in_errors": min(g / e if e else math.inf for g, e in zip(gains, errors, strict=True)),
        "kl": fmean(run["kl"] for run in runs),
        "updates": runs[0]["curve"][-1][0],
        "tokens": round(fmean(run["tokens"] for run in runs)),
        "runs": list(runs),
    }


def seconds_an_update(made: Any) -> float:
    """The processor seconds of one update, from a run of five."""
    from loquent.training.trainer import Trainer

    trainer = Trainer(made)
    trainer.update()
    before = time.process_time()
    for _ in range(4):
        trainer.update()
    return (time.process_time() - before) / 4


def study(shape: str, task: str, learners: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[str, Any]]:
    """The start, and each learner's summary, by name."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_texts(folder)
        model = base(shape, task, folder)
        still = recipe_of("ppo", shape, task, model, 0, folder).replace("training.updates=0")
        start = outcome(trained(still, folder), task)
        yield "start", {"reward": start["reward"], "error": start["error"]}
        for learner in learners:
            recipes = [recipe_of(learner, shape, task, model, seed, folder) for seed in seeds]
            found = summary([outcome(trained(made, folder), task) for made in recipes], start)
            yield learner, {**found, "processor_seconds": seconds_an_update(recipes[0])}


def main() -> None:
    """Run the study or the named parts of it, and write the results and the curves."""
    names = sys.argv[1:]
    shapes, tasks, learners = (
        [name for name in every if name in names] or list(every) for every in (SHAPES, TASKS, LEARNERS)
    )
    for shape in shapes if names != ["page"] else ():
        for task in tasks:
            begun = time.perf_counter()
            for name, found in study(shape, task, learners, SEEDS):
                keep(shape, task, name, found, time.perf_counter() - begun)
                sys.stdout.write(f"{shape} {task} {name} {found['reward']:.3f}\n")
                sys.stdout.flush()
    draw_all(records())


def records() -> list[dict[str, Any]]:
    """The kept results, one for each shape and task."""
    if not RESULTS.exists():
        return []
    return [json.loads(text) for text in RESULTS.read_text("utf-8").splitlines()]


def keep(shape: str, task: str, name: str, found: Mapping[str, Any], seconds: float) -> None:
    """Add the start or a learner to the results, with command, commit and the seconds so far."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    every = records()
    new = {
        "command": f"python -m tools.studies.learning_study {shape} {task}",
        "shape": shape,
        "task": task,
    }
    record = next((old for old in every if (old["shape"], old["task"]) == (shape, task)), None)
    if record is None:
        every.append(record := {**new, "learners": {}})
    record |= {"commit": commit.stdout.strip(), "seconds": round(seconds, 1)}
    record["learners"][name] = found
    RESULTS.write_text("".join(json.dumps(one) + "\n" for one in every), encoding="utf-8")


if __name__ == "__main__":
    main()
