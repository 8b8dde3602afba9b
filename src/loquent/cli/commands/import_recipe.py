"""`loquent import`: another library's settings as a recipe, with a report of what has no counterpart."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from loquent.convert import rl4lms
from loquent.errors import BadSetting


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Write the recipe.

    Every key of the file is listed on stderr, with its setting or the reason why it has none.
    """
    found = rl4lms.convert(arguments.file, accept_changes=arguments.accept_changes)
    out = Path(arguments.out or f"{found.name}.yaml")
    if out.exists():
        raise BadSetting(f"{out} is there already; name another file with --out")
    for note in found.notes:
        print(f"{note.place} {note.text}", file=sys.stderr)
    out.write_text(found.text, encoding="utf-8")
    taken = sum(bool(note.target) for note in found.notes)
    print(
        f"{taken} keys taken over, {len(found.reported)} remarks (also in the recipe's comments); "
        f"the recipe is in {out}"
    )
    for note in found.changed:
        print(f"changed: {note.text}")
    for note in found.missing:
        print(f"missing: {note.text}")
    kinds = {"changed": [note.key for note in found.changed], "missing": [note.key for note in found.missing]}
    return 0, {"recipe": str(out), "taken": taken, **kinds, "notes": [asdict(note) for note in found.notes]}
