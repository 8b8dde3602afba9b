"""Learners from preferences and learners from rewards at equal episodes: the last study of docs/learners.md.

All learners start from one base model of the built-in film reviews, and the built-in judge is the reward. DPO
and KTO learn from recorded answers of the base model, whose preferences the judge makes; the others play. A
learning rate is chosen for each learner on validation prompts, with seed 0: of those with a KL of at most
`TARGET` from the base model, the one with the highest score of the judge. Only the chosen rate plays test
prompts.

Run: python -m tools.studies.preference_study       (writes docs/results/preferences.jsonl)

Runs are kept in the folder that the environment variable LOQUENT_STUDY names, by default runs/preferences. A
second call takes those that are finished and resumes one that is not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from tools.studies.wander_study import CRITIC, STEPS

DOCS = Path(__file__).resolve().parents[2] / "docs"
RESULTS = DOCS / "results" / "preferences.jsonl"
FOLDER = Path(os.environ.get("LOQUENT_STUDY", "runs/preferences"))
SEEDS = (0, 1, 2)
ANSWERS, EPISODES, UPDATES, TESTED, VALIDATED = 4, 128, 8, 200, 100
"""Recorded answers to a row; episodes of an update; episodes of evaluations."""
RATES = (1e-4, 2e-4, 3e-4, 1e-3)
TARGET = 0.5
"""The largest KL from the base model of a chosen run, in nats per token."""
LEARNERS: dict[str, tuple[str, ...]] = {
    "ppo": ("reviews_ppo", *CRITIC, *STEPS, "algorithm.beta=0.02", "algorithm.kl_target=0.5"),
    "grpo": ("reviews_grpo", "algorithm.beta=0.02"),
    "reinforced_self_training": ("reviews_rest",),
    "online_dpo": ("reviews_online_dpo", "algorithm.beta=0.1"),
    "dpo": ("reviews_dpo",),
    "kto": ("reviews_kto",),
    "kto, pairs": ("reviews_kto", "algorithm.threshold=none"),
}
"""The recipe of each learner, and settings that differ from it: those of the other studies of the page."""
RECORDED = ("dpo", "kto", "kto, pairs")
SCORE = "judge/positive"
COLUMNS = {SCORE: "judge", "sentiment/positive": "sentiment", "perplexity": "perplexity"}
SMALL = (
    "rewards={judge: 1.0}",
    "metrics={judge: {}, sentiment: {}, perplexity: {}}",
    "training.evaluate_every=0",
    "training.checkpoint_every=0",
    f"training.updates={UPDATES}",
    f"training.episodes={EPISODES}",
)


def finished(made: Any, folder: Path) -> Path:
    """The folder of a recipe's finished run, which is made or resumed if need be."""
    from loquent.training.train import train

    if not (folder / "evaluation.json").exists():
        train(made, folder, progress=False, resume=folder.exists())
    return folder


def answers(model: Path, seed: int) -> Path:
    """The folder with recorded answers of the base model, `ANSWERS` to each row."""
    from loquent.cli.main import main as loquent

    out = FOLDER / f"answers-{seed}"
    command = [
        *("collect", "generation", "source=builtin", "prompt_words=24", "--agent", str(model)),
        *("--episodes", str(UPDATES * EPISODES), f"design.answers={ANSWERS}"),
        *("--seed", str(seed), "--out", str(out)),
    ]
    if loquent(command):
        raise SystemExit(f"loquent {' '.join(command)} failed")
    return out


def run(model: Path, learner: str, rate: float, seed: int, split: str) -> dict[str, Any]:
    """The figures of a learner's run, and the judge's score on each row; "start" learns nothing.

    They are kept beside the runs, with the processor seconds that the run took.
    """
    name = f"{learner.replace(', ', '-')}-{rate:g}-{split}-{seed}"
    file = FOLDER / f"{name}.json"
    if not file.exists():
        begun = time.process_time()
        made = recipe(model, learner, rate, seed, split)
        found = outcome(finished(made, FOLDER / name), model)
        file.write_text(json.dumps({**found, "seconds": time.process_time() - begun}), encoding="utf-8")
    kept: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return kept


def recipe(model: Path, learner: str, rate: float, seed: int, split: str) -> Any:
    """The recipe of a learner's run."""
    from loquent.training import recipes

    name, *own = LEARNERS.get(learner, ("reviews_ppo", "training.updates=0"))
    if learner in LEARNERS:
        own.append(f"algorithm.learning_rate={rate}")
    if learner in RECORDED:
        own.append(f"training.data=[{answers(model, seed)}]")
    count = TESTED if split == "test" else VALIDATED
    where = (f"model.path={model}", f"training.seed={seed}", f"training.final_split={split}")
    return recipes.load(name, [*SMALL, *where, f"training.final_episodes={count}", *own])


def outcome(folder: Path, model: Path) -> dict[str, Any]:
    """The values of a run's evaluation, its KL from the base model, and the score on each row."""
    from loquent.bench.evidence import episode_scores
    from loquent.training.run import load_run

    done = load_run(folder)
    played = episode_scores.read(done.files, done.recipe, done.evaluation)
    rows = None if played is None else played.by_row(SCORE)
    if rows is None:
        raise SystemExit(f"{folder} has no {SCORE} for each row")
    values = {name: done.evaluation["values"][key] for key, name in COLUMNS.items()}
    return {**values, "kl": divergence(done, load_run(model)), "by_row": rows}


def divergence(done: Any, base: Any) -> float:
    """The mean of log policy - log base over the tokens of a run's evaluated answers, in nats."""
    import torch

    from loquent.core.values import EMPTY
    from loquent.models.score.tokens import action_scores
    from loquent.models.tokens.batch import token_batch

    agent = done.agent()
    batch = token_batch(done.episodes(), agent.format, EMPTY, max_length=agent.module.config.n_positions)
    with torch.no_grad():
        policy, start = (
            action_scores(module, batch, support=False, entropy=False).policy
            for module in (agent.module, base.agent().module)
        )
    return float((policy - start).double().mean())


def of_learner(model: Path, learner: str) -> dict[str, Any]:
    """The trials of a learner on validation prompts, the chosen rate, and its runs on test prompts."""
    trials = {}
    for trial in RATES if learner in LEARNERS else ():
        found = run(model, learner, trial, 0, "validation")
        trials[f"{trial:g}"] = {"judge": found["judge"], "kl": found["kl"]}
    allowed = {rate: one["judge"] for rate, one in trials.items() if one["kl"] <= TARGET}
    rate = float(max(allowed, key=allowed.__getitem__, default=RATES[0])) if trials else 0.0
    runs = [run(model, learner, rate, seed, "test") for seed in SEEDS]
    return {"rate": rate, "trials": trials, "runs": runs}


def table_of(runs: Sequence[Mapping[str, Any]]) -> Any:
    """The scores of runs: float64[seeds, rows]."""
    from loquent.bench.evidence.rows import shared_rows, table

    cells = {seed: one["by_row"] for seed, one in enumerate(runs)}
    return table(cells, shared_rows(cells))


def compared(found: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The differences over seeds and rows: from the start, from PPO, and of online DPO from DPO."""
    from loquent.bench.evidence.verdicts import decide
    from loquent.statistics import comparing, two_way

    others = [name for name in found if name not in ("start", "ppo")]
    pairs = [("start", name) for name in ("ppo", *others)] + [("ppo", name) for name in others]
    pairs.append(("dpo", "online_dpo"))
    tables = {name: table_of(one["runs"]) for name, one in found.items()}
    differences = [two_way.difference(tables[low], tables[high]) for low, high in pairs]
    corrected = comparing.holm([1.0 if one.p is None else one.p for one in differences])
    words = {"holds": "better", "contradicted": "worse"}
    lines: dict[str, dict[str, Any]] = {name: {} for name in found}
    for (low, high), one, p in zip(pairs, differences, corrected, strict=True):
        verdict = decide(p, one.mean > 0)
        line = {"difference": one.mean, "error": one.error, "p": p, "verdict": words.get(verdict, verdict)}
        lines[high][f"from {low}"] = line
    return lines


def summary(one: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a learner: means over seeds, and the interval of the score over rows."""
    from loquent.statistics.intervals import interval

    over = interval(table_of(one["runs"]).mean(0).tolist())
    runs = [{name: value for name, value in run.items() if name != "by_row"} for run in one["runs"]]
    means = {name: fmean(run[name] for run in runs) for name in (*COLUMNS.values(), "kl")}
    deviation = stdev(run["judge"] for run in runs)
    record = {"rate": one["rate"], "trials": one["trials"], **means, "deviation": deviation}
    return record | {"low": over.low, "high": over.high, "runs": runs}


def main() -> None:
    """Run what is missing of the study, and write the results."""
    from loquent.training import recipes

    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    model = finished(recipes.load("reviews_base"), FOLDER / "base")
    found = {}
    for name in ("start", *LEARNERS):
        found[name] = of_learner(model, name)
        scores = [f"{one['judge']:.3f}" for one in found[name]["runs"]]
        sys.stdout.write(f"{name} {found[name]['trials']} {' '.join(scores)}\n")
        sys.stdout.flush()
    steps = compared(found)
    record = {
        "command": "python -m tools.studies.preference_study",
        "commit": commit.stdout.strip(),
        "seconds": round(
            sum(json.loads(file.read_text("utf-8"))["seconds"] for file in FOLDER.glob("*.json"))
        ),
        "episodes": UPDATES * EPISODES,
        "seeds": len(SEEDS),
        "tested": TESTED,
        "validated": VALIDATED,
        "learners": {name: summary(one) | steps[name] for name, one in found.items()},
    }
    RESULTS.write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
