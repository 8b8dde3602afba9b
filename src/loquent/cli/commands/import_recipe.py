"""`loquent import`: converts another library's settings into a recipe and reports what is missing."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from loquent.convert import rl4lms
from loquent.errors import BadSetting
from loquent.files import atomic


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Write the recipe, and list each key of the file on stderr.

    A key is listed with its setting, or with the reason why it has none.
    """
    recipe = rl4lms.convert(arguments.file, accept_changes=arguments.accept_changes)
    out = Path(arguments.out or f"{recipe.name}.yaml")
    if out.exists():
        raise BadSetting(f"{out} exists already; name another file with --out")
    for note in recipe.notes:
        print(f"{note.place} {note.text}", file=sys.stderr)
    atomic.write_text(out, recipe.text)
    taken = sum(bool(note.target) for note in recipe.notes)
    print(
        f"{taken} keys taken over, {len(recipe.reported)} remarks (also in the recipe's comments); "
        f"the recipe is in {out}"
    )
    for note in recipe.changed:
        print(f"changed: {note.text}")
    for note in recipe.missing:
        print(f"missing: {note.text}")
    kinds = {
        "changed": [note.key for note in recipe.changed],
        "missing": [note.key for note in recipe.missing],
    }
    return 0, {"recipe": str(out), "taken": taken, **kinds, "notes": [asdict(note) for note in recipe.notes]}
