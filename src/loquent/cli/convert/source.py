"""A YAML file that accounts for every key: each becomes a setting of the recipe, or a note says why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from loquent.cli.convert.tables import WHY, Row
from loquent.core.options import Node
from loquent.core.values import EMPTY
from loquent.errors import BadSetting, nearest

NO_DEFAULT = object()
CHANGED, MISSING = "changed", "missing"  # kinds of notes
LARGE = 1e12  # the largest number that the conversion calculates with
NAMES = {
    int: "whole number",
    float: "number",
    bool: "true or false",
    str: "text",
    list: "list",
    dict: "mapping",
}
KINDS = {kind.__name__: kind for kind in NAMES}


@dataclass(frozen=True)
class Note:
    """One key: its place in the file, and its setting in the recipe (`target`), a remark (`why`), or both.

    `kind` is CHANGED where the recipe is another experiment than the file, MISSING where the user has to give
    a value before the recipe can be trained, and empty otherwise.
    """

    place: str
    key: str
    target: str = ""
    why: str = ""
    kind: str = ""

    @property
    def text(self) -> str:
        """The note as one line."""
        target = f" -> {self.target}" if self.target else ""
        why = f": {self.why}" if self.why else ""
        return f"{self.key}{target}{why}"


@dataclass
class Source:
    """The tree of a file, the notes on its keys, and the keys that have a note (`noted`)."""

    root: Node
    notes: list[Note] = field(default_factory=list)
    noted: set[str] = field(default_factory=set)

    def node(self, key: str) -> Node | None:
        """The node at a dotted key (`a.b[0].c` goes into the first item of a list), or None.

        Raises:
            BadSetting: a part of the way is not a mapping.
        """
        node, path = self.root, ""
        for part in key.replace("[", ".[").split("."):
            if part.startswith("["):
                node = node.value[int(part[1:-1])]
            elif part in (items := node.mapping(path or "the file")):
                node = items[part]
            else:
                return None
            path += part if part.startswith("[") or not path else f".{part}"
        return node

    def place(self, key: str) -> str:
        """The file and line of a key; the file alone if it does not have the key."""
        node = self.node(key)
        return node.place if node else self.root.file

    def get(self, key: str, kind: type, default: Any = NO_DEFAULT, low: float | None = None) -> Any:
        """The value at a key, of type `kind`; the default if the key is missing or empty.

        Raises:
            BadSetting: the value has another type (names file and line), a key without a default has no
                value, or a number with a bound `low` does not lie in [`low`, 10^12].
        """
        node = self.node(key)
        value = None if node is None else node.value
        if value is None:
            if default is NO_DEFAULT:
                raise BadSetting(f"{self.root.file}: {key} is missing")
            return default
        assert node is not None
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind in (int, float) and isinstance(value, bool)):
            article = "" if kind is bool else "a "
            raise BadSetting(f"{node.place}: {key} must be {article}{NAMES[kind]}, got {node.bare()!r:.200}")
        if low is not None and isinstance(value, int | float) and not low <= float(value) <= LARGE:
            raise BadSetting(
                f"{node.place}: {key} must be a finite {NAMES[kind]} in [{low:g}, {LARGE:g}], got {value!r}"
            )
        return value

    def settings(
        self, section: str, rows: Mapping[str, Row], target: str, defaults: Mapping[str, Any] = EMPTY
    ) -> dict[str, Any]:
        """The settings of `target` that the keys of a section become, with a note on each.

        Args:
            defaults: those that differ from the rows' own.
        """
        values: dict[str, Any] = {}
        for name, row in rows.items():
            default = NO_DEFAULT if row.required else defaults.get(name, row.default)
            value = self.get(f"{section}.{name}", KINDS[row.type], default, row.low)
            if value is not None or not row.optional:
                values[row.to] = value
                self.note_taken(f"{section}.{name}", f"{target}.{row.to}", row.why if value else "")
        return values

    def note_taken(self, key: str, target: str, why: str = "") -> None:
        """Note that a key has become the setting `target`; no note if it is not in the file."""
        self._note(key, target, why)

    def same(self, key: str) -> None:
        """Note that a key asks for what Loquent does in any case."""
        self._note(key, "(same in Loquent)", "")

    def note_left(self, key: str, why: str = "") -> None:
        """Note why a key, with all keys inside it, has no counterpart; no note if it is not in the file."""
        self._note(key, "", why or WHY[key])

    def note_change(self, key: str, why: str = "") -> None:
        """Note that the recipe departs from a key, so that it is another experiment."""
        self._note(key, "", why or WHY[key], CHANGED)

    def missing(self, key: str, target: str, why: str) -> None:
        """Note what the user has to give before the recipe can be trained."""
        self._note(key, target, why, MISSING)

    def remark(self, key: str, why: str, kind: str = "") -> None:
        """Add a note on a key that the file does not have."""
        self.notes.append(Note(self.root.file, key, "", why, kind))

    def _note(self, key: str, target: str, why: str, kind: str = "") -> None:
        node = self.node(key)
        if node is not None and key not in self.noted:
            self.noted |= {key, *(path for path, _ in leaves(node, key))}
            self.notes.append(Note(node.place, key, target, why, kind))

    def rest(self, known: Callable[[str], tuple[str, ...]]) -> None:
        """Report every key that has no note yet; an empty section says nothing.

        Args:
            known: gives the keys that a section may have, for the hint at the nearest one.
        """
        for key, node in leaves(self.root, ""):
            if key not in self.noted and not any(
                key.startswith((f"{section}.", f"{section}[")) for section in self.noted
            ):
                section, _, name = key.rpartition(".")
                if node.value in (None, {}, []) and name in known(section):
                    self.same(key)
                    continue
                near = nearest(name, known(section))
                hint = f" (nearest: {near})" if near else ""
                self.notes.append(Note(node.place, key, "", f"the library reads no such key{hint}"))


def leaves(node: Node, key: str) -> Iterator[tuple[str, Node]]:
    """All keys inside a node that hold no further keys, as dotted paths; items of a list by number."""
    items: dict[str, Node] = node.value if isinstance(node.value, dict) else {}
    if isinstance(node.value, list):
        items = {f"[{number}]": item for number, item in enumerate(node.value)}
    for name, item in items.items():
        yield from leaves(item, f"{key}{name}" if name.startswith("[") or not key else f"{key}.{name}")
    if not items and key:
        yield key, node
