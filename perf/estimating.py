"""Estimated against measured peak memory: learners, shapes, vocabularies, all weights, LoRA and less memory.

Run: python perf/estimating.py [CASE ...]

Each case is a dry run and a run, in processes of their own. A line of JSON says how far the estimate is from
the measured peak, and what memory and processor time the dry run took itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

KINDS = {
    "": (),
    "-lora": ("model.lora.rank=8",),
    "-autocast": ("model.autocast=bfloat16",),
    "-recompute": ("model.recompute=true",),
    "-minibatch": ("algorithm.minibatch=4",),
    "-evaluated": ("training.final_episodes=128",),
}
SHAPES = ("gpt2", "t5", "llama")
SIZES = {
    "": {"vocabulary": 2000, "layers": 4, "width": 384, "heads": 4, "context": 192},
    "-words": {"vocabulary": 152_000, "layers": 2, "width": 64, "heads": 4, "context": 192},
    "-deep-words": {"vocabulary": 152_000, "layers": 16, "width": 384, "heads": 4, "context": 192},
}
RECIPES = {
    **{name: f"reviews_{name}" for name in ("ppo", "a2c", "trpo", "nlpo", "grpo", "rloo", "supervised")},
    "ilql": "wordle_ilql",
}
CASES = {
    f"{name}{'' if shape == 'gpt2' else f'-{shape}'}{size}{kind}": (recipe, f"{shape}{size}", more)
    for name, recipe in RECIPES.items()
    for shape in SHAPES
    for size in SIZES
    for kind, more in KINDS.items()
}
RUN = (
    "training.updates=2", "training.episodes=32", "training.final_episodes=8",
    "training.evaluate_every=0", "training.checkpoint_every=0", "training.stop_metric=",
)  # fmt: skip
REVIEWS = ("task.limit=60", "decoding.max_new_tokens=24", "metrics={diversity: {}}")
FEW = ("training.episodes=8", "algorithm.minibatch=4")  # for large models
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
    recipe, model, more = CASES[case]
    steps = STEPS.get(recipe, ONE_STEP)
    if recipe == "wordle_ilql":
        task: tuple[str, ...] = (f"training.data={base / 'games'}",)
    elif recipe == "reviews_supervised":
        task = (*REVIEWS, "task.text_words=40")
    else:
        task = (*REVIEWS, "rewards={lexicon: 1.0}")
    few = FEW if model.endswith("-deep-words") else ()
    return [*RUN, *task, *steps, *few, f"model.path={base / model}", *more]


def run(*arguments: str) -> None:
    """Train in this process and print what it took."""
    from loquent.training import recipes
    from loquent.training.train import train

    recipe, folder, *settings = arguments
    train(recipes.load(recipe, settings), folder, progress=False)
    print(json.dumps(taken()))


def dry_run(*arguments: str) -> None:
    """Estimate in this process and print the estimate and what it took."""
    from loquent.training import recipes
    from loquent.training.estimate import estimate

    recipe, *settings = arguments
    print(json.dumps({**estimate(recipes.load(recipe, settings)).as_json(), **taken()}))


def taken() -> dict[str, float]:
    """The peak of memory of this process in bytes, and its seconds of processor time."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]  # every process has it
    return {"taken_bytes": peak, "taken_seconds": round(time.process_time(), 1)}


def make_base(folder: Path, name: str) -> None:
    """A model without training, of a shape and a size, in a folder of its name."""
    from loquent import pretrained
    from loquent.core.seeding import Key
    from loquent.pretrained.building import train_tokenizer
    from loquent.pretrained.language import begin, transformers_library

    if (folder / name).is_dir():
        return
    shape, *words = name.split("-", 1)
    size = SIZES["".join(f"-{word}" for word in words)]
    texts = [f"the film number {i} was good and the actor of it was number {i + 1}" for i in range(999)]
    tokenizer = train_tokenizer(texts, 2000, size["context"])
    if shape != "t5":
        begin(tokenizer)
    with tempfile.TemporaryDirectory() as made:
        tokenizer.save_pretrained(made)
        if words:
            widen(Path(made) / "tokenizer.json", size["vocabulary"])
        tokenizer = transformers_library().AutoTokenizer.from_pretrained(made)
    pretrained.save(pretrained.build(tokenizer, shape=shape, key=Key(0), dropout=0.0, **size), folder / name)


def widen(file: Path, words: int) -> None:
    """Add merges to a byte-level BPE until it has so many tokens: pairs of its tokens, in order."""
    content = json.loads(file.read_text(encoding="utf-8"))
    model = content["model"]
    known, first = set(model["vocab"]), [token for token in model["vocab"] if not token.startswith("<")]
    for left, right in product(first, first):
        if len(model["vocab"]) == words:
            break
        if left + right not in known:
            known.add(left + right)
            model["vocab"][left + right] = len(model["vocab"])
            model["merges"].append([left, right])
    file.write_text(json.dumps(content), encoding="utf-8")


def make_games(folder: Path) -> None:
    """Recorded games of Wordle."""
    from loquent.agents.baselines import Random
    from loquent.core import episode, registry
    from loquent.core.rollout.loop import games, play
    from loquent.training import recipes

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
    recipe, model, _ = CASES[case]
    make_base(base, model)
    begun, settings = time.perf_counter(), overrides(case, base)
    found = json.loads(last_line(__file__, "dry", recipe, *settings))
    with tempfile.TemporaryDirectory() as folder:
        real = json.loads(last_line(__file__, "run", recipe, f"{folder}/run", *settings))
    runtime, peak = found["memory"]["runtime"], real["taken_bytes"]
    return {
        "case": case,
        "rows_measured": found["sizes"]["rows_measured"],
        "estimated_megabytes": megabytes(found["peak"]),
        "measured_megabytes": megabytes(peak),
        "ratio": round(found["peak"] / peak, 3),
        "above_runtime_megabytes": megabytes(peak - runtime),
        "estimated_above_runtime_megabytes": megabytes(found["peak"] - runtime),
        "ratio_above_runtime": round((found["peak"] - runtime) / (peak - runtime), 3),
        "parts_megabytes": {name: megabytes(size) for name, size in found["memory"].items()},
        "dry_run_megabytes": megabytes(found["taken_bytes"]),
        "dry_run_processor_seconds": found["taken_seconds"],
        "run_processor_seconds": real["taken_seconds"],
        "seconds": round(time.perf_counter() - begun, 1),
    }


def megabytes(size: int) -> float:
    """Bytes in megabytes."""
    return round(size / 1e6, 1)


def main(names: list[str]) -> None:
    """Measure the named cases, or all."""
    with tempfile.TemporaryDirectory() as folder:
        make_games(base := Path(folder))
        for case in names or CASES:
            print(json.dumps(measured(case, base)), flush=True)


if __name__ == "__main__":
    commands = {"run": run, "dry": dry_run}
    if sys.argv[1:2] and sys.argv[1] in commands:
        commands[sys.argv[1]](*sys.argv[2:])
    else:
        main(sys.argv[1:])
