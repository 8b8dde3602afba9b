"""Overrides: settings that replace those of a recipe that was read.

A person types them as the text `key.path=value`, which is parsed here, once. Settings of files stay nodes.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loquent.core.options import COMMAND_LINE, PROFILE, SUITE, Node, parse
from loquent.core.safe_yaml import MOST_LEVELS
from loquent.errors import BadSetting, naming

__all__ = ["PROFILE", "Override", "Overrides", "of_file", "override", "path_of"]
WITH_KIND = ("task", "algorithm", "teacher")  # a text here is a kind without options


IDENTIFIERS = re.compile(r"[A-Za-z_][A-Za-z0-9_/-]*(\.[A-Za-z_][A-Za-z0-9_/-]*)*")


@dataclass(frozen=True)
class Override:
    """A setting that replaces that of a recipe: the names of its path, and its value with its place."""

    names: tuple[str, ...]
    node: Node
    file: Path | None = None
    """The file that has the setting; None for a typed setting and for a setting of the recipe's own file."""

    @property
    def path(self) -> str:
        """The path of the setting, with dots."""
        return ".".join(self.names)

    def __str__(self) -> str:
        return f"{self.path}={self.node.bare()!r:.80}"


Overrides = Sequence[str | Override]


def of_file(settings: Mapping[str, Node], file: Path | None = None) -> list[Override]:
    """The settings of a mapping in a file, by their dotted paths.

    Args:
        file: the file, if it is another than the recipe's.

    Raises:
        BadSetting: a key is not a dotted identifier such as `training.updates`.
    """
    for path, node in settings.items():
        if not IDENTIFIERS.fullmatch(path):
            raise BadSetting(
                f"{node.place}: the key {path!r:.80} is not the path of a setting; write names joined by "
                "dots, such as training.updates; other names go into a mapping: `rewards: {module:name: 1}`"
            )
    return [Override(tuple(path.split(".")), node, file) for path, node in settings.items()]


def path_of(item: str | Override) -> str:
    """The path that an override names."""
    return item.path if isinstance(item, Override) else item.partition("=")[0].strip()


def check_list(overrides: object) -> None:
    """Raise BadSetting unless these are several overrides; a single text is a common mistake."""
    if not isinstance(overrides, Sequence) or isinstance(overrides, str | bytes):
        what = naming("overrides", overrides)
    elif wrong := [item for item in overrides if not isinstance(item, str | Override)]:
        what = naming("an override", wrong[0])
    else:
        return
    raise BadSetting(f"{what}; give a list of texts, such as ['training.updates=2']")


def override(root: Node, overrides: Overrides, place: str = COMMAND_LINE) -> Node:
    """Apply overrides to the tree of a recipe, in place, and return it.

    Args:
        place: where overrides that are texts come from, for errors.

    Raises:
        BadSetting: the overrides are no list, a text is not of the form key.path=value, or a path leads
            through a value.
    """
    check_list(overrides)
    for item in overrides:
        read = _typed(item, place) if isinstance(item, str) else item
        *parents, last = read.names
        if len(parents) >= MOST_LEVELS:
            raise BadSetting(
                f"the override {str(item)!r:.80}... names a path of {len(parents) + 1} parts; at most "
                f"{MOST_LEVELS} are allowed"
            )
        section = _section(root, parents, str(item), read.node)
        node, before = copy.deepcopy(read.node), section.get(last)
        if last != "kind" or before is None or before.value != node.value:
            section[last] = node  # an unchanged kind keeps its place in the file
    return root


def _typed(text: str, place: str) -> Override:
    """The override that a person typed as key.path=value."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise BadSetting(f"the override {text!r} is not of the form key.path=value")
    return Override(tuple(path.strip().split(".")), parse(value, place, numbered=False))


def _section(root: Node, parents: Sequence[str], text: str, source: Node) -> dict[str, Node]:
    """The mapping that a path leads to; missing sections are added, with the place of `source`."""
    node = root
    for name in parents:
        section = _mapping(node, text)
        inner = section.setdefault(name, Node({}, source.file, source.line, source.origin))
        if isinstance(inner.value, str) and name in WITH_KIND:
            inner.value = {"kind": Node(inner.value, inner.file, inner.line, inner.origin)}
        node = inner
    return _mapping(node, text)


def _mapping(node: Node, text: str) -> dict[str, Node]:
    if not isinstance(node.value, dict):
        raise BadSetting(f"the override {text!r}: {node.bare()!r} has no settings inside")
    return node.value


def rank(node: Node) -> int:
    """The rank of a setting's place; in this order, each overrides the one before."""
    return {PROFILE: 1, SUITE: 2, COMMAND_LINE: 3}.get(node.source, 0)
