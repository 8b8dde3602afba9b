"""The quickstart: the paper's first comparison, small enough for a laptop, from one command.

A language model is trained on reviews (or one is given), then zero-shot, supervised, PPO, NLPO and PPO without KL penalty
are compared from the same start on the same held-out prompts: 2210.01241 table 5, with our numbers.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from loquent import episode, recipe, tables
from loquent.data.ngram import NGram
from loquent.errors import BadCheckpoint, BadSetting
from loquent.recipe import Recipe
from loquent.run import evaluate_language
from loquent.start import load_language, make_task
from loquent.train import train

BASE = "reviews_base"
METHODS = {"supervised": "reviews_supervised", "ppo": "reviews_ppo", "nlpo": "reviews_nlpo", "ppo-no-kl": "reviews_ppo_no_kl"}
COLUMNS = {
    "sentiment": "sentiment/positive",
    "perplexity": "perplexity",
    "judge": "judge/positive",
    "distinct_2": "diversity/distinct-2",
    "words": "diversity/mean_length",
}
DIRECTIONS = {"sentiment": True, "perplexity": False, "judge": True, "distinct_2": True, "words": None}
STAGES = ("base", "zero-shot", *METHODS)


def quickstart(
    out: str | Path,
    *,
    seeds: int = 1,
    overrides: Sequence[str] = (),
    profile: str | None = None,
    progress: bool = True,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Run the comparison into the folder `out` and return its table.

    Args:
        seeds: how often the methods are trained; several give means and deviations.
        overrides: `key.path=value` for every stage, or `STAGE:key.path=value` for one of them (base, ppo, ...).
            With `model.path=...` the base model is that one, and none is trained.

    Returns:
        `rows` (one per method), `seconds` by stage, `n` prompts per row, peak memory in GiB, and the 5-gram model's perplexity.
    """
    folder = Path(out)
    if folder.exists() and any(folder.iterdir()):
        raise BadCheckpoint(f"{folder} is not empty; name a new folder")
    stages = _split(overrides)
    seconds: dict[str, float] = {}
    base = _load(BASE, stages["base"], profile)
    with _timed("base", seconds, say):
        start = base.model.path or str(train(base, folder / "base", progress=progress).folder)
    tested = [_one_seed(folder, seed, start, stages, profile, progress, seconds, say) for seed in range(seeds)]
    rows = tables.over_seeds(tested, "method") if seeds > 1 else tested[0]
    with _timed("5-gram", seconds, say):
        beside = _five_grams(base, start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform != "darwin" else 1 << 30)
    whole = {"rows": rows, "seeds": seeds, "n": base.training.final_episodes, "seconds": seconds, "peak_gib": round(peak, 2), **beside}
    _save(folder, whole)
    say("\n" + tables.markdown(rows, DIRECTIONS))
    say(f"\nperplexity per word on the test texts: 5-gram {beside['five_gram_per_word']:.2f}, language model {beside['model_per_word']:.2f}")
    say(f"{sum(seconds.values()):.0f} seconds, {peak:.1f} GiB; table and sample texts are in {folder}")
    return whole


def _one_seed(
    folder: Path,
    seed: int,
    start: str,
    stages: dict[str, list[str]],
    profile: str | None,
    progress: bool,
    seconds: dict[str, float],
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """All methods from one start with one seed; every evaluation sees the same prompts with the same streams."""
    zero = _load(METHODS["ppo"], [*stages["zero-shot"], f"training.seed={seed}"], profile)
    with _timed("zero-shot", seconds, say):
        language = load_language(start, zero.model.device, zero.model.dtype)
        found = evaluate_language(zero, language, split=zero.training.final_split, episodes=zero.training.final_episodes, seed=seed)
    rows = [_row("zero-shot", found.values)]
    (folder / f"zero-shot-{seed}").mkdir(parents=True, exist_ok=True)
    episode.write(folder / f"zero-shot-{seed}" / "episodes.jsonl", found.episodes)
    for method, name in METHODS.items():
        own = [_setting("model.path", start), *stages[method], f"training.seed={seed}"]
        with _timed(method, seconds, say):
            run = train(_load(name, own, profile), folder / f"{method}-{seed}", progress=progress)
        rows.append(_row(method, run.evaluation["values"]))
    return rows


def _row(method: str, values: Mapping[str, float]) -> dict[str, Any]:
    return {"method": method, **{column: values.get(key) for column, key in COLUMNS.items()}}


def _load(name: str, overrides: Sequence[str], profile: str | None) -> Recipe:
    return recipe.load(name, overrides, profile=profile)


def _setting(name: str, text: str) -> str:
    """An override whose value is this text, whatever YAML would read in it."""
    quoted = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=math.inf)
    return f"{name}={quoted.strip()}"


def _split(overrides: Sequence[str]) -> dict[str, list[str]]:
    """Overrides by stage: those without a stage's name go to all."""
    stages: dict[str, list[str]] = {stage: [] for stage in STAGES}
    for text in overrides:
        stage, colon, rest = text.partition(":")
        if not colon or "=" in stage:
            for own in stages.values():
                own.append(text)
        elif stage in stages:
            stages[stage].append(rest)
        else:
            raise BadSetting(f"the override {text!r} names no stage; known: {', '.join(STAGES)}")
    return stages


def _five_grams(base: Recipe, start: str) -> dict[str, float]:
    """Perplexity per word of whole test texts, under a 5-gram model of the training texts and under the base model."""
    from loquent import pretrained

    task = make_task(base)
    train_texts = [row["prompt"] + row["references"][0] for row in task.rows("train")]
    test_texts = [row["prompt"] + row["references"][0] for row in task.rows("test")][: base.training.final_episodes]
    language = load_language(start, base.model.device, base.model.dtype)
    words = sum(len(text.split()) for text in test_texts)
    total = sum(loss for loss, _ in pretrained.nll(language, [""] * len(test_texts), test_texts))
    ngram = NGram(5).fit(train_texts)
    return {"five_gram_per_word": ngram.perplexity(test_texts), "model_per_word": math.exp(total / words)}


@contextmanager
def _timed(stage: str, seconds: dict[str, float], say: Callable[[str], None]) -> Iterator[None]:
    before = time.perf_counter()
    yield
    spent = time.perf_counter() - before
    seconds[stage] = round(seconds.get(stage, 0.0) + spent, 1)
    say(f"{stage}: {spent:.1f} s")


def _save(folder: Path, whole: dict[str, Any]) -> None:
    (folder / "table.json").write_text(json.dumps(whole, indent=1), encoding="utf-8")
    (folder / "table.md").write_text(tables.markdown(whole["rows"], DIRECTIONS) + "\n", encoding="utf-8")
    (folder / "table.csv").write_text(tables.as_csv(whole["rows"]), encoding="utf-8")
