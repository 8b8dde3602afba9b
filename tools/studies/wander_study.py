"""Why runs of PPO on the film reviews differ: repeated runs of each variant, and the sources of their spread.

A variant changes settings of a recipe. Its runs start from four or five base models, with one or two seeds,
and write 1,000 answers to validation prompts. The deviation of their means has a 90% interval (chi-square),
and its variance is split into that of base models, of seeds and of the evaluation (Searle, Casella and
McCulloch 1992, Variance Components, ch. 3.6 and 4). Each variant has a line in docs/results/wander.jsonl.

Run: python -m tools.studies.wander_study FOLDER           (all variants; finished runs in FOLDER stay)
     python -m tools.studies.wander_study FOLDER ppo ...   (these variants)
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "wander.jsonl"
BASES, SEEDS = 5, 2  # each run has a seed of its own
MIDDLE, LAST = slice(8, 12), 5  # updates that a mean is of, and those at the end
METRIC, REWARD = "sentiment/positive", "reward/task"
CURVES = {
    "reward": REWARD,
    "explained": "critic/explained_variance",
    "advantage": "advantage/deviation",
    "norm": "gradient/norm",
    "step": "policy/kl_old",
}
ROUNDED, PAIRS = "decoding.live=64", 1  # a setting of speed: sums in another order
COMMON = (
    "training.evaluate_every=0",
    "training.final_split=validation",
    "training.final_episodes=1000",
    "metrics={sentiment: {}, perplexity: {}}",
)
CRITIC = (
    "model.critic_head=random",
    "algorithm.value_coefficient=0.5",
    "algorithm.critic_learning_rate=none",
)
STEPS = (
    "algorithm.epochs=2",
    "training.episodes=128",
    "algorithm.learning_rate=3.0e-4",
    "algorithm.schedule=constant",
    "algorithm.warmup=0",
)
BEFORE = (*CRITIC, *STEPS)
ALL, FIRST = tuple(range(BASES * SEEDS)), (0, 2, 4, 6)
VARIANTS: dict[str, tuple[str, tuple[str, ...], tuple[int, ...]]] = {
    "ppo": ("reviews_ppo", (), ALL),
    "ppo, as before": ("reviews_ppo", BEFORE, ALL),
    "ppo, floor 0.4": ("reviews_ppo", ("algorithm.floor=0.4",), ALL[:8]),
    "nlpo": ("reviews_nlpo", (), FIRST),
    "ppo-no-kl": ("reviews_ppo_no_kl", (), FIRST),
}
"""The recipe, the settings that differ from it, and the numbers of the runs."""
REPEATED = ("ppo", "ppo, as before")


def spread(values: Sequence[float]) -> dict[str, float]:
    """The deviation of values, and its 90% interval for normal values."""
    from scipy.stats import chi2

    freedom = len(values) - 1
    squares = float(np.var(values, ddof=1)) * freedom
    low, high = (math.sqrt(squares / float(chi2.ppf(p, freedom))) for p in (0.95, 0.05))
    return {"deviation": math.sqrt(squares / freedom), "low": low, "high": high}


def components(values: NDArray[np.float64]) -> dict[str, float]:
    """The deviations that base models, seeds and the evaluation give a run's mean; a negative variance is 0.

    Args:
        values: float64[bases, seeds, rows].
    """
    bases, seeds, rows = values.shape
    means = values.mean(2)
    runs = values.reshape(bases * seeds, rows)
    rest = runs - runs.mean(0) - runs.mean(1, keepdims=True) + runs.mean()
    evaluation = float((rest**2).sum()) / ((len(runs) - 1) * (rows - 1)) / rows
    between = float(means.mean(1).var(ddof=1))
    if seeds == 1:
        variances = {"base and seed": between - evaluation, "evaluation": evaluation}
    else:
        within = float(means.var(1, ddof=1).mean())
        variances = {"base": between - within / seeds, "seed": within - evaluation, "evaluation": evaluation}
    return {name: math.sqrt(max(0.0, variance)) for name, variance in variances.items()}


def by_row(samples: Sequence[float], rows: int) -> list[float]:
    """The mean of each row's answers; an evaluation plays all rows in rounds."""
    return [fmean(samples[row::rows]) for row in range(rows)]


def base(folder: Path, seed: int) -> Path:
    """The base model of a seed, trained at the first call."""
    from loquent.training import recipes

    out = folder / f"base-{seed}"
    trained(recipes.load("reviews_base", [f"training.seed={seed}", "training.final_split=validation"]), out)
    return out


def trained(recipe: Any, folder: Path) -> Any:
    """The run of a recipe in a folder, finished if it is not."""
    from loquent.training.run import load_run
    from loquent.training.train import train

    if (folder / "evaluation.json").exists():
        return load_run(folder)
    return train(recipe, folder, progress=False, resume=(folder / "config.yaml").exists())


def measure(run: Any) -> dict[str, Any]:
    """The figures of a run: its evaluation, and its curves over the updates."""
    evaluation, lines = run.evaluation, [line for line in run.metrics if line["update"]]
    values = evaluation["values"]
    return {
        "sentiment": values[METRIC],
        "perplexity": values["perplexity"],
        "kl": lines[-1]["kl/reference"],
        "rows": by_row(run.files.evaluation_samples()[METRIC], evaluation["rows"]),
        "curves": {name: [line.get(key) for line in lines] for name, key in CURVES.items()},
    }


def summary(runs: Sequence[Mapping[str, Any]], seeds: int) -> dict[str, Any]:
    """The means of a variant's runs, the deviation with its interval and parts, and the mean curves."""
    table = np.array([run["rows"] for run in runs]).reshape(-1, seeds, len(runs[0]["rows"]))
    sentiments = [run["sentiment"] for run in runs]
    rewards = np.array([run["curves"]["reward"] for run in runs])
    curves = {name: np.array([run["curves"][name] for run in runs], float).mean(0) for name in CURVES}
    middle, end = rewards[:, MIDDLE].mean(1), rewards[:, -LAST:].mean(1)
    return {
        **{name: fmean(run[name] for run in runs) for name in ("sentiment", "perplexity", "kl")},
        **spread(sentiments),
        "parts": components(table),
        "explained": float(np.mean(curves["explained"][-LAST:])),
        "sentiments": sentiments,
        "perplexities": [run["perplexity"] for run in runs],
        "curves": {name: np.round(curve, 4).tolist() for name, curve in curves.items()},
        "deviations of reward": np.round(rewards.std(0, ddof=1), 4).tolist(),
        "at the end": float(end.std(ddof=1)),
        "middle and end": float(np.corrcoef(middle, end)[0, 1]),
    }


def one(folder: Path, name: str, number: int, *more: str) -> dict[str, Any]:
    """The figures of one run of a variant, which is trained at the first call, with its seconds."""
    from loquent.training import recipes

    recipe, changes, _ = VARIANTS[name]
    start = base(folder, number // SEEDS)
    settings = [f"model.path={start}", f"training.seed={number}", *COMMON, *changes, *more]
    run = trained(recipes.load(recipe, settings), folder / "-".join([name, str(number), *more]))
    seconds = run.files.evaluation_file.stat().st_mtime - run.files.config.stat().st_mtime
    return {**measure(run), "seconds": seconds}


def study(folder: Path, name: str) -> dict[str, Any]:
    """The line of results of a variant; of those with PAIRS, how far a setting of speed moves a run."""
    recipe, changes, numbers = VARIANTS[name]
    runs = [one(folder, name, number) for number in numbers]
    line = {
        "variant": name,
        "recipe": recipe,
        "set": list(changes),
        **summary(runs, 1 if numbers == FIRST else SEEDS),
    }
    if name in REPEATED:
        again = [one(folder, name, number, ROUNDED) for number in range(PAIRS)]
        line[ROUNDED] = [
            other["sentiment"] - run["sentiment"] for other, run in zip(again, runs[:PAIRS], strict=True)
        ]
    return {**line, "seconds": round(sum(run["seconds"] for run in runs))}


def keep(line: Mapping[str, Any]) -> None:
    """Put a variant's line into the results, in place of its old one."""
    old = RESULTS.read_text("utf-8").splitlines() if RESULTS.exists() else []
    lines = [json.loads(text) for text in old]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    command = f"python -m tools.studies.wander_study runs/wander '{line['variant']}'"
    kept = [one for one in lines if one["variant"] != line["variant"]]
    kept.append({"command": command, "commit": commit, **line})
    RESULTS.write_text("".join(json.dumps(one) + "\n" for one in kept), encoding="utf-8")


def main() -> None:
    """Run the named variants, or all."""
    folder, *names = sys.argv[1:]
    for name in names or VARIANTS:
        keep(study(Path(folder), name))


if __name__ == "__main__":
    main()
