"""The quickstart: the first comparison of the paper (arXiv:2210.01241, table 5), small enough for a laptop.

A language model is trained on reviews, for each seed anew, unless a model is named. Then zero-shot,
supervised, PPO, NLPO and PPO without KL penalty start from the model of their seed and are compared on the
same held-out prompts. The runs are those of
`suites/quickstart.yaml`. This module adds a short table, and a 5-gram model as a baseline.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from loquent.bench import crew, jobs, runner
from loquent.bench import suite as suites
from loquent.bench.evidence.outcome import Outcome
from loquent.bench.jobs import Plan
from loquent.bench.ngram import NGram
from loquent.bench.schema.suite_schema import Suite
from loquent.core.guards import json_files
from loquent.errors import BadCheckpoint, LoquentError
from loquent.files import atomic, final_evaluation
from loquent.statistics import tables
from loquent.training import recipes
from loquent.training.recipes import Recipe
from loquent.training.start import load_language, make_task

BASE = "base"
RECORDED = Path(__file__).with_name("quickstart_spread.json")  # tools/studies/quickstart_page.py writes it
ONE_RUN = (
    "One run has one base model and one seed: it shows what these methods do, and not how far another base "
    "or seed moves the numbers; `--seeds 5` does."
)


def quickstart(
    out: str | Path,
    *,
    seeds: int = 1,
    overrides: Sequence[str] = (),
    profile: str | None = None,
    processes: int = 0,
    progress: bool = True,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Run the comparison into the folder `out` and return its table.

    The next call with the same arguments continues a stopped one. Every run has one thread, so the numbers do
    not depend on `processes` or on the number of cores.

    Args:
        seeds: the number of base models, and of runs of each method, one from each base model; with several,
            the table has means and deviations.
        overrides: `key.path=value` for every stage, or `STAGE:key.path=value` for one of them (base, ppo,
            ...). With `model.path=...` that model is the base model, and none is trained.
        processes: the number of runs made at once; 0 for as many as cores and memory allow.
        say: called with each line of progress and with the table.

    Returns:
        `rows` (one per method), `seconds` by stage, `evaluated` with the `episodes` (also `n`) and the `rows`
        of the task that each run was evaluated by, `decoding` by method, `processes`, `wall_seconds` (of this
        call), peak memory in GiB (at most: the sum of all processes' peaks), and the perplexities of the
        5-gram model and of the base models (their mean), and the number of `bases` that were trained.

    Raises:
        BadCheckpoint: `out` holds something else, or a run of other settings.
        LoquentError: a run failed; the error names it and gives the reason.
    """
    begin, folder = time.perf_counter(), Path(out)
    suite = suites.load("quickstart")
    begun = any((folder / name).is_dir() for name in (BASE, *(f"{cell}-0" for cell in suite.cells)))
    if not begun and folder.exists() and any(folder.iterdir()):
        raise BadCheckpoint(f"{folder} is not empty and holds no quickstart; name a new folder")
    base = recipes.load(
        suite.stages[BASE].recipe, jobs.by_entry(overrides, list(suite.entries))[BASE], profile=profile
    )
    if base.model.path:
        suite = suites.with_model(suite, BASE, base.model.path)
    workers = crew.cores(processes)
    plan, outcomes = runner.runs(
        suite,
        folder,
        profile=profile,
        seeds=seeds,
        overrides=overrides,
        processes=workers,
        threads=1,
        progress=progress,
        say=say,
    )
    seconds = _seconds(plan, outcomes)
    tested = [
        [_row(suite, cell, outcomes[keys[seed]].evaluation or {}) for cell, keys in plan.cells.items()]
        for seed in range(seeds)
    ]
    rows = tables.over_seeds(tested, "method") if seeds > 1 else tested[0]
    start = time.perf_counter()
    bases = [str(job.folder) for job in plan.jobs if job.name == BASE]
    per_word = perplexities(base, bases or [base.model.path])
    seconds["5-gram"] = round(time.perf_counter() - start, 1)
    table = {
        "rows": rows,
        "seeds": seeds,
        "bases": len(bases),
        "n": base.training.final_episodes,
        "evaluated": {"episodes": base.training.final_episodes, "rows": _rows(outcomes)},
        "decoding": {
            cell: final_evaluation.decoding(outcomes[keys[0]].evaluation or {})
            for cell, keys in plan.cells.items()
        },
        "seconds": seconds,
        "wall_seconds": round(time.perf_counter() - begin, 1),
        "processes": workers,
        "peak_gib": crew.peak(min(workers, len(plan.jobs))),
        **per_word,
    }
    if seeds == 1:
        own = bool(overrides) or profile is not None
        table["one_run"] = one_run({} if own else json_files.load_object(RECORDED))
    directions = {name: column.higher for name, column in suite.columns.items()}
    _save(folder, table, directions)
    say("\n" + tables.of_numbers(rows, directions).markdown())
    say(f"\n{_evaluated(table)}")
    say(
        "\nperplexity per word on the test texts: "
        f"5-gram {per_word['five_gram_per_word']:.2f}, "
        f"language model {per_word['model_per_word']:.2f}"
    )
    say(
        f"{table['wall_seconds']:.0f} seconds, {sum(seconds.values()):.0f} of all runs; "
        f"processes: {workers}, at most {table['peak_gib']:.1f} GiB; table and sample texts are in {folder}"
    )
    return table


def _seconds(plan: Plan, outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    """The seconds of each stage, over its seeds; raises LoquentError if a run failed."""
    seconds: dict[str, float] = {}
    for job in plan.jobs:
        outcome = outcomes[job.key]
        if outcome.failure:
            raise LoquentError(f"{job.folder}: {outcome.failure}")
        seconds[job.name] = round(seconds.get(job.name, 0.0) + outcome.seconds, 1)
    return seconds


def one_run(recorded: Mapping[str, Any]) -> str:
    """What one run shows, with the deviations of recorded pairs of base model and seed if there are any.

    Args:
        recorded: the number of `pairs`, and the `deviations` of sentiment by method; or nothing.
    """
    if not recorded.get("deviations"):
        return ONE_RUN
    deviations = ", ".join(f"{value:.3f} ({method})" for method, value in recorded["deviations"].items())
    return (
        f"{ONE_RUN} Over {recorded['pairs']} recorded pairs of base and seed, the standard deviation of "
        f"sentiment was {deviations}; on another processor or at another commit it may be larger."
    )


def _evaluated(table: Mapping[str, Any]) -> str:
    """The sizes and the decoding of the evaluations, and what the numbers show, as sentences."""
    starts = "each from its own base model" if table["bases"] else "all from the given model"
    spread = f"; ± is the standard deviation over seeds, {starts}" if table["seeds"] > 1 else ""
    size = final_evaluation.size({"n": table["n"], **table["evaluated"]})
    decoding = final_evaluation.decoding_note(table["decoding"].items())
    return f"Each run was evaluated by {size}{spread}. {decoding} {table.get('one_run', '')}".rstrip()


def _rows(outcomes: Mapping[str, Outcome]) -> int:
    """The largest number of rows of the task that a run was evaluated by."""
    return max(outcome.played.count for outcome in outcomes.values() if outcome.played is not None)


def _row(suite: Suite, method: str, evaluation: Mapping[str, Any]) -> dict[str, Any]:
    values = evaluation.get("values", {})
    return {"method": method, **{name: values.get(column.metric) for name, column in suite.columns.items()}}


def perplexities(base: Recipe, folders: Sequence[str]) -> dict[str, float]:
    """Perplexity per word of the test texts: of a 5-gram model of the training texts, and of base models.

    That of the base models is their mean.
    """
    from loquent import pretrained

    task = make_task(base)
    train_texts = [row["prompt"] + row["references"][0] for row in task.rows("train")]
    test_rows = list(task.rows("test"))[: base.training.final_episodes]
    test_texts = [row["prompt"] + row["references"][0] for row in test_rows]
    words = sum(len(text.split()) for text in test_texts)
    models = []
    for folder in folders:
        language = load_language(folder, base.model.device, base.model.dtype)
        total = sum(loss for loss, _ in pretrained.nll(language, [""] * len(test_texts), test_texts))
        models.append(math.exp(total / words))
    ngram = NGram(5).fit(train_texts)
    return {"five_gram_per_word": ngram.perplexity(test_texts), "model_per_word": fmean(models)}


def _save(folder: Path, table: dict[str, Any], directions: Mapping[str, bool | None]) -> None:
    atomic.write_text(folder / "table.json", json.dumps(table, indent=1))
    text = f"{tables.of_numbers(table['rows'], directions).markdown()}\n\n{_evaluated(table)}\n"
    atomic.write_text(folder / "table.md", text)
    atomic.write_text(folder / "table.csv", tables.as_csv(table["rows"]))
