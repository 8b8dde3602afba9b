"""Overrides: `key.path=value` replaces one setting of a recipe that was read."""

from __future__ import annotations

from collections.abc import Sequence

from loquent.core.guards.safe_yaml import MOST_LEVELS
from loquent.core.options import COMMAND_LINE, Node, parse
from loquent.errors import BadSetting

PROFILE = "profile"  # the place of settings that come from a profile
WITH_KIND = ("task", "algorithm", "teacher")  # a text here is a kind without options


def override(root: Node, overrides: Sequence[str], place: str = COMMAND_LINE) -> Node:
    """Apply overrides to the tree of a recipe, in place, and return it.

    Args:
        place: where the overrides come from, for errors.

    Raises:
        BadSetting: a text is not of the form key.path=value, or its path leads through a value.
    """
    for text in overrides:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise BadSetting(f"the override {text!r} is not of the form key.path=value")
        *parents, last = path.strip().split(".")
        if len(parents) >= MOST_LEVELS:
            raise BadSetting(
                f"the override {text!r:.80}... names a path of {len(parents) + 1} parts; at most "
                f"{MOST_LEVELS} are allowed"
            )
        section = _section(root, parents, text, place)
        node, before = parse(value, place, numbered=False), section.get(last)
        if last != "kind" or before is None or before.value != node.value:
            section[last] = node  # an unchanged kind keeps its place in the file
    return root


def _section(root: Node, parents: Sequence[str], text: str, place: str) -> dict[str, Node]:
    """The mapping that a path leads to; missing sections are added."""
    node = root
    for name in parents:
        section = _mapping(node, text)
        inner = section.setdefault(name, Node({}, place, None))
        if isinstance(inner.value, str) and name in WITH_KIND:
            inner.value = {"kind": Node(inner.value, inner.file, inner.line)}
        node = inner
    return _mapping(node, text)


def _mapping(node: Node, text: str) -> dict[str, Node]:
    if not isinstance(node.value, dict):
        raise BadSetting(f"the override {text!r}: {node.bare()!r} has no settings inside")
    return node.value
