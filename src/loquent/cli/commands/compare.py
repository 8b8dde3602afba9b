"""`loquent compare`: compares runs, models, agents and endpoints on the same rows of a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.cli.grammar.options import Importing, Seeded, argument, option


@dataclass(frozen=True, kw_only=True)
class Options(Seeded, Importing):
    """Options of `loquent compare`."""

    examples = (
        "loquent compare runs/base runs/ppo --out compared.html",
        "loquent compare my-model runs/ppo runs/ppo/checkpoints/update-4 evaluation.method=greedy",
        "loquent compare random expert --recipe wordle_ppo --episodes 50",
    )
    players: tuple[str, ...] = argument(
        "PLAYER",
        "folders of runs, checkpoints or models, agents by name, or {kind: http, base_url: URL, "
        "model: NAME}; the others are compared with the first. Words key.path=value replace settings of "
        "evaluation, metrics, rewards or task",
    )
    recipe: str | None = option(
        None,
        "RECIPE",
        "the rows, rewards and metrics: a recipe's name, a YAML file or a run (default: the first run)",
    )
    split: str = option("test", "SPLIT", "the split to take rows from")
    episodes: int = option(200, "N", "episodes that each player plays", low=1)
    out: str | None = option(None, "FILE", "write a page with the tables and the answers side by side")


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Play the rows, print a table for each later player, and return all numbers."""
    from loquent.bench.comparison.contrasts import compare

    words = {
        word: "=" in word and not word.startswith("{") and not Path(word).exists() for word in options.players
    }
    comparison = compare(
        *(word for word, is_setting in words.items() if not is_setting),
        recipe=options.recipe,
        overrides=[word for word, is_setting in words.items() if is_setting],
        split=options.split,
        episodes=options.episodes,
        seed=options.seed,
        allow_imports=options.allow_imports,
    )
    print(comparison)
    result = comparison.as_json()
    if options.out:
        page = comparison.save(options.out)
        print(f"\nthe answers side by side are in {page}; any browser opens it")
        result["page"] = str(page)
    return 0, result
