"""A YAML file of which every key is accounted for: taken over into the recipe, or reported with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from loquent.core.options import Node
from loquent.errors import BadSetting, nearest

NO_DEFAULT = object()
CHANGED, MISSING = "changed", "missing"  # kinds of notes
LARGE = 1e12  # of a number that is calculated with
NAMES = {
    int: "whole number",
    float: "number",
    bool: "true or false",
    str: "text",
    list: "list",
    dict: "mapping",
}


@dataclass(frozen=True)
class Note:
    """One key: where it stands, and its setting here (`target`) or why it has none (`why`), or both.

    `kind` is CHANGED where the recipe is another experiment than the file, MISSING where the user has to give
    something before it can be trained, and empty otherwise.
    """

    place: str
    key: str
    target: str = ""
    why: str = ""
    kind: str = ""

    @property
    def text(self) -> str:
        """The note as one line."""
        return (
            f"{self.key}"
            + (f" -> {self.target}" if self.target else "")
            + (f": {self.why}" if self.why else "")
        )


@dataclass
class Source:
    """The tree, and what is known of its keys so far."""

    root: Node
    notes: list[Note] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def node(self, key: str) -> Node | None:
        """What stands under a dotted key (`a.b[0].c` for the first of a list), or None.

        Raises:
            BadSetting: something on the way is no mapping.
        """
        here, path = self.root, ""
        for part in key.replace("[", ".[").split("."):
            if part.startswith("["):
                here = here.value[int(part[1:-1])]
            elif part in (inside := here.mapping(path or "the file")):
                here = inside[part]
            else:
                return None
            path += part if part.startswith("[") or not path else f".{part}"
        return here

    def get(self, key: str, kind: type, default: Any = NO_DEFAULT, low: float | None = None) -> Any:
        """The value under a key, of this type; the default where there is none, or where it is empty.

        Raises:
            BadSetting: another type (names file and line), no value where there is no default, or a number
                that is calculated with and does not lie in [`low`, 10^12].
        """
        found = self.node(key)
        value = None if found is None else found.value
        if value is None:
            if default is NO_DEFAULT:
                raise BadSetting(f"{self.root.file}: {key} is missing")
            return default
        assert found is not None
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind in (int, float) and isinstance(value, bool)):
            raise BadSetting(f"{found.place}: {key} = {found.bare()!r:.200}; a {NAMES[kind]} is right")
        if low is not None and isinstance(value, int | float) and not low <= float(value) <= LARGE:
            raise BadSetting(
                f"{found.place}: {key} = {value!r}; a finite {NAMES[kind]} in [{low:g}, {LARGE:g}] is right"
            )
        return value

    def taken(self, key: str, target: str, why: str = "") -> None:
        """Note that a key has become a setting; nothing where the file does not have it."""
        self._note(key, target, why)

    def same(self, key: str) -> None:
        """Note that a key says what is so here anyway."""
        self._note(key, "(as here)", "")

    def left(self, key: str, why: str) -> None:
        """Note why a key, or all inside it, has no counterpart; nothing where the file does not have it."""
        self._note(key, "", why)

    def changed(self, key: str, why: str, target: str = "") -> None:
        """Note that a key says something that the recipe does otherwise, so that it is another experiment."""
        self._note(key, target, why, CHANGED)

    def missing(self, key: str, target: str, why: str) -> None:
        """Note what the user has to give before the recipe can be trained."""
        self._note(key, target, why, MISSING)

    def remark(self, key: str, why: str, kind: str = "") -> None:
        """A remark that belongs to no key of the file."""
        self.notes.append(Note(self.root.file, key, "", why, kind))

    def _note(self, key: str, target: str, why: str, kind: str = "") -> None:
        found = self.node(key)
        if found is not None and key not in self.seen:
            self.seen |= {key, *(path for path, _ in leaves(found, key))}
            self.notes.append(Note(found.place, key, target, why, kind))

    def rest(self, known: Callable[[str], list[str]]) -> None:
        """Report every key that nothing has been said of.

        `known(section)` lists the keys a section may have.
        """
        for key, node in leaves(self.root, ""):
            if key not in self.seen and not any(
                key.startswith(f"{above}.") or key.startswith(f"{above}[") for above in self.seen
            ):
                section, _, name = key.rpartition(".")
                near = nearest(name, known(section))
                self.notes.append(
                    Note(
                        node.place,
                        key,
                        "",
                        "the library reads no such key" + (f" (nearest: {near})" if near else ""),
                    )
                )


def leaves(node: Node, key: str) -> Iterator[tuple[str, Node]]:
    """All keys inside that hold no further keys, as dotted paths; those in lists by number."""
    inside: dict[str, Node] = node.value if isinstance(node.value, dict) else {}
    if isinstance(node.value, list):
        inside = {f"[{number}]": item for number, item in enumerate(node.value)}
    for name, item in inside.items():
        yield from leaves(item, f"{key}{name}" if name.startswith("[") or not key else f"{key}.{name}")
    if not inside and key:
        yield key, node
