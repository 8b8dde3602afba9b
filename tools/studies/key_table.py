"""What becomes of each key of RL4LMs' files, as a table: value there, setting and value here, remark.

python -m tools.studies.key_table FILE.yml ... > table.md
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import yaml

from loquent.cli.convert import rl4lms
from loquent.training import recipes

SAME = "(same in Loquent)"


class Line(NamedTuple):
    key: str
    value: object  # in the file
    settings: dict  # the values in the recipe, by name
    remark: str
    kind: str  # "", "changed" or "missing"


def leaves(tree, key=""):
    """Each value of a file that holds no further ones, by its key."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for name, item in items:
        yield from leaves(item, f"{key}[{name}]" if isinstance(tree, list) else f"{key}.{name}".lstrip("."))
    if not items:
        yield key, tree


def within(key, above):
    return key == above or key.startswith((f"{above}.", f"{above}["))


def setting(recipe, name):
    """The value of a setting of a recipe by its dotted name; KeyError if it has none."""
    value = recipe
    for part in name.split("."):
        value = value[part]
    return value


def table(file):
    """A line for each key of a file, in order, then one for each remark on a key that the file lacks."""
    found = rl4lms.convert(file, accept_changes=True)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "made.yaml"
        page.write_text(found.text)
        recipe = recipes.load(page).resolve()
    keys = dict(leaves(yaml.safe_load(Path(file).read_text())))
    lines = []
    for key, value in keys.items():
        notes = [note for note in found.notes if within(key, note.key) and ":" in note.place]
        assert len(notes) == 1, (file, key, notes)
        lines.append(_line(key, value, notes[0], recipe))
    others = [note for note in found.notes if ":" not in note.place]
    return lines + [_line(note.key, "(not set)", note, recipe) for note in others]


def _line(key, value, note, recipe):
    names = [] if note.target in ("", SAME) else note.target.split(", ")
    settings = {name: setting(recipe, name) for name in names if note.kind != "missing"}
    return Line(key, value, settings, note.why or note.target * (note.target == SAME), note.kind)


def main(files):
    for file in map(Path, files):
        print(f"\n## {file.parent.name}/{file.name}\n\n| key | there | here | remark |\n|---|---|---|---|")
        for key, value, settings, remark, kind in table(file):
            here = "; ".join(f"{name} = {item!r}" for name, item in settings.items())
            print(f"| {key} | {value!r} | {here} | {kind.upper()} {remark} |")


if __name__ == "__main__":
    main(sys.argv[1:])
