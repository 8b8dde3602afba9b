"""`loquent convert`: episodes from one form on disk into another, all of them or a part."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from loquent.cli.commands import weights as known
from loquent.core.guards.terminal import line
from loquent.core.values import EMPTY
from loquent.data import episodes as files
from loquent.data.filters import filtered
from loquent.errors import BadSetting


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Read, filter and write, and say what was written."""
    target = Path(arguments.target)
    form = arguments.to or target.suffix[1:]
    if form not in files.FORMS:
        raise BadSetting(
            f"{target}: --to {', --to '.join(files.FORMS)} says in which form; names that end in "
            ".jsonl or .parquet say it themselves"
        )
    found = list(files.read(arguments.source))
    if not found:
        raise BadSetting(f"{arguments.source} holds no episodes")
    tasks = sorted({one.task for one in found})
    part = arguments.top != 1.0 or arguments.bottom != 1.0
    if part and len(tasks) > 1:
        raise BadSetting(
            f"{arguments.source} holds episodes of {', '.join(tasks)}: returns of several tasks "
            "cannot be ranked together; convert them apart"
        )
    needed = part or form == files.MINARI
    weights = known.of_episodes(arguments.weight, found, Path(arguments.source), part) if needed else EMPTY
    kept = filtered(found, weights, top=arguments.top, bottom=arguments.bottom, kinds=arguments.kind)
    count = files.write(target, kept, form, weights)
    print(
        f"{count} of {len(found)} episodes of {', '.join(sorted({line(one.task) for one in kept}))} "
        f"in {target} ({form})"
    )
    return 0, {
        "source": arguments.source,
        "target": str(target),
        "form": form,
        "read": len(found),
        "episodes": count,
    }
