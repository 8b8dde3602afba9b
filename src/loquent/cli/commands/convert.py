"""`loquent convert`: converts all or some episodes from one file format into another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.cli.commands import weights as reward_weights
from loquent.cli.grammar.options import CommandOptions, argument, option
from loquent.core.guards.terminal import line
from loquent.core.values import EMPTY
from loquent.data import episodes as files
from loquent.data.filters import filter_episodes
from loquent.errors import BadSetting


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    """Options of `loquent convert`."""

    examples = (
        "loquent convert data/wordle wordle.parquet",
        "loquent convert data/wordle best.jsonl --top 0.1",
        "loquent convert wordle.parquet minari/wordle-v0 --to minari",
    )
    source: str = argument(
        "SOURCE", "a collection's folder, a .jsonl or .parquet file, or a folder of datasets or Minari"
    )
    target: str = argument(
        "TARGET", "a new file or folder; a name that ends in .jsonl or .parquet chooses the format"
    )
    to: str | None = option(
        None, "", "the format of TARGET, if its name does not choose it", choices=tuple(files.FORMS)
    )
    top: float = option(
        1.0, "SHARE", "keep this share of the episodes with the highest returns", low=0, high=1
    )
    bottom: float = option(
        1.0, "SHARE", "keep this share with the lowest returns; applied before --top", low=0, high=1
    )
    kind: tuple[str, ...] = option(
        (), "KIND", "keep episodes of this kind (expert, adversarial, ...); may be repeated"
    )
    weight: tuple[str, ...] = option(
        (), "NAME=NUMBER", "the weight of a reward (default: the weights of the run, or of the task)"
    )


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Read, filter and write episodes, and print how many were written."""
    target = Path(options.target)
    form = options.to or target.suffix[1:]
    if form not in files.FORMS:
        raise BadSetting(
            f"{target}: the format is not known; give a name that ends in .jsonl or .parquet, or --to "
            f"{', --to '.join(files.FORMS)}"
        )
    episodes = list(files.read(options.source))
    if not episodes:
        raise BadSetting(f"{options.source} holds no episodes")
    tasks = sorted({episode.task for episode in episodes})
    ranked = options.top != 1.0 or options.bottom != 1.0
    if ranked and len(tasks) > 1:
        raise BadSetting(
            f"{options.source} holds episodes of {', '.join(tasks)}: returns of several tasks "
            "cannot be ranked together; convert each task separately"
        )
    needed = ranked or form == files.MINARI
    weights = (
        reward_weights.of_episodes(options.weight, episodes, Path(options.source), ranked)
        if needed
        else EMPTY
    )
    selected = filter_episodes(episodes, weights, top=options.top, bottom=options.bottom, kinds=options.kind)
    count = files.write(target, selected, form, weights)
    written = sorted({line(episode.task) for episode in selected})
    print(f"{count} of {len(episodes)} episodes of {', '.join(written)} in {target} ({form})")
    return 0, {
        "source": options.source,
        "target": str(target),
        "form": form,
        "read": len(episodes),
        "episodes": count,
    }
