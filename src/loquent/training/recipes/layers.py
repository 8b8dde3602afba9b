"""Recipes in layers: a file that changes another one (`base`), and settings by size (`profiles`).

    base: lower                               # a recipe beside this file
    algorithm: {kind: ppo}
    profiles: {cpu: {training.updates: 12}}   # --profile cpu

A section of the file replaces single settings of the base's section. A section with another `kind` replaces
the whole section. Profiles of the base apply first.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from loquent.core.options import PROFILE, read
from loquent.core.safe_yaml import Node
from loquent.errors import BadSetting, UnknownName
from loquent.training.recipes.overrides import Override, of_file

BASE, PROFILES, METHODS = "base", "profiles", "methods"


def whole(root: Node, path: Path) -> Node:
    """The tree of a recipe over the trees of its bases; raises as `bases`."""
    return functools.reduce(over, bases(root, path).values())


def bases(root: Node, path: Path) -> dict[str, Node]:
    """The trees of a file's bases and of the file, by the names of the files, the lowest first.

    Raises:
        BadSetting: a base does not exist, or the bases form a circle.
    """
    layers = {path.stem: root}
    above = root
    while (node := above.mapping("a recipe").pop(BASE, None)) is not None:
        file = path.parent / f"{node.value}.yaml"
        if not isinstance(node.value, str) or Path(node.value).name != node.value or not file.is_file():
            raise BadSetting(
                f"{node.place}: base must be the name of a recipe in the folder of this file, without .yaml, "
                f"got {node.bare()!r}"
            )
        if node.value in layers:
            raise BadSetting(f"{node.place}: base = {node.value!r} leads in a circle; remove a base")
        above = read(file)
        layers = {node.value: above, **layers}
    return layers


def files(path: Path) -> list[Path]:
    """A recipe's file and the files of its bases; raises as `bases`."""
    others = [path.parent / f"{name}.yaml" for name in bases(read(path), path) if name != path.stem]
    return [path, *others]


def profile(root: Node, name: str | None) -> list[Override]:
    """Take the profiles out of a recipe's tree; returns the overrides of the named profile.

    "smoke" is a profile of every recipe, and has no overrides here.

    Raises:
        UnknownName: the recipe has no such profile. BadSetting: a profile is no mapping of settings.
    """
    node = root.mapping("a recipe").pop(PROFILES, None)
    found = {key: inner.mapping(f"{PROFILES}.{key}") for key, inner in _inside(node).items()}
    if name is not None and name != "smoke" and (not isinstance(name, str) or name not in found):
        raise UnknownName("profile of this recipe", name, [*found, "smoke"])
    return of_file({path: node.of(PROFILE) for path, node in found.get(name or "", {}).items()})


def names(root: Node) -> Sequence[str]:
    """The profiles of a recipe's tree."""
    return tuple(_inside(root.mapping("a recipe").get(PROFILES)))


def _inside(node: Node | None) -> dict[str, Node]:
    return {} if node is None else node.mapping(PROFILES)


def over(below: Node, above: Node) -> Node:
    """The tree `above` over the tree `below`."""
    sections = dict(below.mapping("a recipe"))
    for name, node in above.mapping("a recipe").items():
        old = sections.get(name)
        if name in (PROFILES, METHODS) and old is not None:
            merge = _later if name == PROFILES else over
            inner = dict(old.mapping(name))
            for key, settings in node.mapping(name).items():
                inner[key] = merge(inner[key], settings) if key in inner else settings
            sections[name] = Node(inner, node.file, node.line)
        else:
            sections[name] = _merged(old, node)
    return Node(sections, above.file, above.line)


def _later(old: Node, new: Node) -> Node:
    """The settings of a profile behind those of the profile below, which are applied first."""
    above = new.mapping(PROFILES)
    below = {path: node for path, node in old.mapping(PROFILES).items() if path not in above}
    return Node({**below, **above}, new.file, new.line)


def _merged(old: Node | None, new: Node) -> Node:
    if old is None or not isinstance(old.value, dict) or not isinstance(new.value, dict):
        return new
    kinds = [node.value.get("kind") for node in (old, new)]
    if kinds[1] is not None and (kinds[0] is None or kinds[0].value != kinds[1].value):
        return new
    below = old.value
    if "preset" in {**old.value, **new.value}:  # settings stand in the order of their layers
        below = {name: node for name, node in old.value.items() if name not in new.value}
    return Node({**below, **new.value}, new.file, new.line)
