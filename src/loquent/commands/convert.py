"""`loquent convert`: episodes from one form on disk into another, all of them or a part."""

from __future__ import annotations

import math
import re
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loquent import registry
from loquent.data import episodes as files
from loquent.data.filters import filtered
from loquent.episode import Episode
from loquent.errors import BadSetting, nearest
from loquent.values import EMPTY, Record

IDENTITY = re.compile(r"(.+)-v[0-9]+(#[0-9a-f]+)?")


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Read, filter and write, and say what was written."""
    target = Path(arguments.target)
    form = arguments.to or target.suffix[1:]
    if form not in files.FORMS:
        raise BadSetting(f"{target}: --to {', --to '.join(files.FORMS)} says in which form; names that end in .jsonl or .parquet say it themselves")
    found = list(files.read(arguments.source))
    if not found:
        raise BadSetting(f"{arguments.source} holds no episodes")
    tasks = sorted({one.task for one in found})
    part = arguments.top != 1.0 or arguments.bottom != 1.0
    if part and len(tasks) > 1:
        raise BadSetting(
            f"{arguments.source} holds episodes of {', '.join(tasks)}: returns of several tasks cannot be ranked together; convert them apart"
        )
    weights = _weights(arguments.weight, found) if part or form == files.MINARI else EMPTY
    kept = filtered(found, weights, top=arguments.top, bottom=arguments.bottom, kinds=arguments.kind)
    count = files.write(target, kept, form, weights)
    print(f"{count} of {len(found)} episodes of {', '.join(sorted({one.task for one in kept}))} in {target} ({form})")
    return 0, {"source": arguments.source, "target": str(target), "form": form, "read": len(found), "episodes": count}


def _weights(said: Sequence[str], episodes: Sequence[Episode]) -> Record:
    """Weights as said, else those of the one registered task that all the episodes are of."""
    if said:
        weights = dict(map(_weight, said))
        known = sorted({name for one in episodes for turn in one.turns for name in turn.rewards})
        for name in weights:
            if name not in known:
                close = f" Nearest: {near}." if (near := nearest(name, known)) else ""
                raise BadSetting(f"--weight {name}: no episode has a reward of that name.{close} Known: {', '.join(known) or 'none'}")
        return Record(weights)
    identities = sorted({one.task for one in episodes})
    names = {match[1] for identity in identities if (match := IDENTITY.fullmatch(identity))}
    if len(names) == 1 and (name := names.pop()) in registry.names("task"):
        spec = getattr(registry.find("task", name), "spec", None)  # some tasks have one only once their options are known
        if spec is not None and spec.rewards:
            own: Record = spec.rewards
            return own
    raise BadSetting(f"returns of {', '.join(identities)} need the weights of rewards: --weight NAME=NUMBER for each that counts")


def _weight(said: str) -> tuple[str, float]:
    name, equals, number = said.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not equals or not name or not math.isfinite(weight):
        raise BadSetting(f"--weight {said}: NAME=NUMBER is right")
    return name, weight
