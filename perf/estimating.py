"""Estimated against measured peak memory: learners, GPT-2 and T5 shapes, all weights, LoRA and less memory.

Run: python perf/estimating.py [CASE ...]

Each case is a dry run and a run, in processes of their own. A line of JSON says how far the estimate is from
the measured peak.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

KINDS = {
    "": (),
    "-lora": ("model.lora.rank=8",),
    "-autocast": ("model.autocast=bfloat16",),
    "-recompute": ("model.recompute=true",),
}
SHAPES = ("gpt2", "t5")
CASES = {
    f"{name}{'' if shape == 'gpt2' else '-' + shape}{suffix}": (recipe, shape, more)
    for name, recipe in {
        **{name: f"reviews_{name}" for name in ("ppo", "a2c", "trpo", "nlpo", "grpo", "rloo", "supervised")},
        "ilql": "wordle_ilql",
    }.items()
    for shape in SHAPES
    for suffix, more in KINDS.items()
}
RUN = (
    "training.updates=2", "training.episodes=32", "training.final_episodes=8",
    "training.evaluate_every=0", "training.checkpoint_every=0", "training.stop_metric=",
)  # fmt: skip
REVIEWS = ("task.limit=60", "decoding.max_new_tokens=24", "metrics={diversity: {}}")
ONE_STEP = ("algorithm.epochs=1", "algorithm.minibatch=32")
STEPS = {
    "reviews_a2c": (),
    "reviews_trpo": (
        "algorithm.critic_minibatch=32",
        "algorithm.critic_epochs=1",
        "algorithm.conjugate_steps=3",
    ),
}


def overrides(case: str, base: Path) -> list[str]:
    """The settings of a case: two updates of 32 episodes, and minibatches of all episodes."""
    recipe, shape, more = CASES[case]
    steps = STEPS.get(recipe, ONE_STEP)
    if recipe == "wordle_ilql":
        task: tuple[str, ...] = (f"training.data={base / 'games'}",)
    elif recipe == "reviews_supervised":
        task = (*REVIEWS, "task.text_words=40")
    else:
        task = (*REVIEWS, "rewards={lexicon: 1.0}")
    return [*RUN, *task, *steps, f"model.path={base / shape}", *more]


def run(*arguments: str) -> None:
    """Train in this process and print its peak of memory in bytes."""
    from loquent.training import recipes
    from loquent.training.train import train

    recipe, folder, *settings = arguments
    train(recipes.load(recipe, settings), folder, progress=False)
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    print(int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024)  # type: ignore[index]  # every process has it


def make_bases(folder: Path) -> None:
    """Models of four blocks of width 384 without training, a folder for each shape, and games of Wordle."""
    from loquent import pretrained
    from loquent.agents.scripted import Random
    from loquent.core import episode, registry
    from loquent.core.rollout.loop import games, play
    from loquent.core.seeding import Key
    from loquent.training import recipes

    texts = [f"the film number {i} was good and the actor of it was number {i + 1}" for i in range(999)]
    sizes = {"vocabulary": 2000, "layers": 4, "width": 384, "heads": 4, "context": 192}
    for shape in SHAPES:
        made = pretrained.build(texts, shape=shape, key=Key(0), dropout=0.0, **sizes)
        pretrained.save(made, folder / shape)
    recipe = recipes.load("wordle_ilql")
    task = registry.find("task", recipe.task)(recipe.options)
    (folder / "games").mkdir()
    queue = games(task.rows("train"), each=2)
    episode.write(folder / "games" / "episodes.jsonl", play(task, queue, Random(task), seed=1))


def last_line(*words: str) -> str:
    """The last line that a Python process prints."""
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=True, env=os.environ
    )
    return done.stdout.strip().splitlines()[-1]


def measured(case: str, base: Path) -> dict[str, Any]:
    """The estimate and the measured peak of a case, in megabytes, and their ratio."""
    begun, settings = time.perf_counter(), overrides(case, base)
    recipe = CASES[case][0]
    found = json.loads(last_line("-m", "loquent.cli.main", "train", recipe, *settings, "--dry-run", "--json"))
    with tempfile.TemporaryDirectory() as folder:
        peak = int(last_line(__file__, "run", recipe, f"{folder}/run", *settings))
    runtime = found["memory"]["runtime"]
    return {
        "case": case,
        "rows_measured": found["sizes"]["rows_measured"],
        "estimated_megabytes": round(found["peak"] / 1e6, 1),
        "measured_megabytes": round(peak / 1e6, 1),
        "ratio": round(found["peak"] / peak, 3),
        "above_runtime_megabytes": round((peak - runtime) / 1e6, 1),
        "estimated_above_runtime_megabytes": round((found["peak"] - runtime) / 1e6, 1),
        "seconds": round(time.perf_counter() - begun, 1),
    }


def main(names: list[str]) -> None:
    """Measure the named cases, or all."""
    with tempfile.TemporaryDirectory() as folder:
        make_bases(base := Path(folder))
        for case in names or CASES:
            print(json.dumps(measured(case, base)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(*sys.argv[2:])
    else:
        main(sys.argv[1:])
