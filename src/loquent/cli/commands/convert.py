"""`loquent convert`: converts all or some episodes from one file format into another."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from loquent.cli.commands import weights as reward_weights
from loquent.core.guards.terminal import line
from loquent.core.values import EMPTY
from loquent.data import episodes as files
from loquent.data.filters import filtered
from loquent.errors import BadSetting


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Read, filter and write episodes, and print how many were written."""
    target = Path(arguments.target)
    form = arguments.to or target.suffix[1:]
    if form not in files.FORMS:
        raise BadSetting(
            f"{target}: the format is not known; give a name that ends in .jsonl or .parquet, or --to "
            f"{', --to '.join(files.FORMS)}"
        )
    episodes = list(files.read(arguments.source))
    if not episodes:
        raise BadSetting(f"{arguments.source} holds no episodes")
    tasks = sorted({episode.task for episode in episodes})
    ranked = arguments.top != 1.0 or arguments.bottom != 1.0
    if ranked and len(tasks) > 1:
        raise BadSetting(
            f"{arguments.source} holds episodes of {', '.join(tasks)}: returns of several tasks "
            "cannot be ranked together; convert each task separately"
        )
    needed = ranked or form == files.MINARI
    weights = (
        reward_weights.of_episodes(arguments.weight, episodes, Path(arguments.source), ranked)
        if needed
        else EMPTY
    )
    selected = filtered(episodes, weights, top=arguments.top, bottom=arguments.bottom, kinds=arguments.kind)
    count = files.write(target, selected, form, weights)
    written = sorted({line(episode.task) for episode in selected})
    print(f"{count} of {len(episodes)} episodes of {', '.join(written)} in {target} ({form})")
    return 0, {
        "source": arguments.source,
        "target": str(target),
        "form": form,
        "read": len(episodes),
        "episodes": count,
    }
