"""The only reader of YAML in the package; the text may be hostile.

Only the tags of plain values are accepted, and everything that can grow has a bound. Without bounds a file of
350 bytes can stand for gigabytes (aliases of aliases), refer to itself, or nest deeper than Python recurses.
`parse` reads events, not objects, so it checks each bound before it spends memory. Every failure is a
`BadSetting` that names the file and the line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from loquent.core.values import Record, plain
from loquent.errors import BadSetting

MOST_BYTES = 2**20  # of a file; also of all texts in it, where each alias counts as its text
MOST_NODES = 50_000  # values, lists and mappings, where each alias counts as its value
MOST_LEVELS = 32  # of nested lists and mappings
MOST_NUMBER = 100  # characters of a number
LARGEST = 2**63 - 1  # of an integer, and its negative
TAG = "tag:yaml.org,2002:"
SCALARS = ("str", "int", "float", "bool", "null")
TAGS = (*SCALARS, "seq", "map")


@dataclass
class Node:
    """A piece of YAML with its place: a scalar, a list of nodes or a dict of nodes."""

    value: Any
    file: str
    line: int | None
    origin: str = ""
    """What the setting comes from, if it differs from `file`: a profile of the file, for example."""

    @property
    def source(self) -> str:
        """The origin, or the file."""
        return self.origin or self.file

    @property
    def is_override(self) -> bool:
        """Whether the setting was typed, or comes from a profile or a suite."""
        return self.line is None or bool(self.origin)

    @property
    def place(self) -> str:
        """`file:line`, or "command line"."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def of(self, origin: str) -> Node:
        """The node with this origin, and all nodes inside it."""
        value = self.value
        if type(value) is dict:
            value = {name: node.of(origin) for name, node in value.items()}
        elif isinstance(value, list):
            value = [node.of(origin) for node in value]
        return Node(value, self.file, self.line, origin)

    def mapping(self, what: str) -> dict[str, Node]:
        """The nodes of a mapping by name; BadSetting when the node is something else."""
        if self.value is None:
            return {}
        if type(self.value) is not dict:  # a Record is a value, not a mapping of nodes
            raise BadSetting(f"{self.place}: {what} must hold names and values, got {self.bare()!r:.200}")
        return self.value

    def plain(self) -> Any:
        """The value as Records, tuples and scalars."""
        if type(self.value) is dict:
            return Record({name: node.plain() for name, node in self.value.items()})
        if isinstance(self.value, list):
            return tuple(node.plain() for node in self.value)
        return self.value

    def bare(self) -> Any:
        """The value as dicts, lists and scalars, for error messages."""
        return plain(self.plain())


def read(path: Path, shown: str | None = None) -> Node:
    """Parse a YAML file.

    Args:
        shown: the file's name in error messages; by default its name without the folder.

    Raises:
        BadSetting: as from `parse`; also when the file is too large or is not UTF-8 text.
        OSError: the system cannot read the file.
    """
    name = path.name if shown is None else shown
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise BadSetting(
            f"{name}: the file has more than {MOST_BYTES:,} bytes, which is too large for settings; "
            "keep data in separate files"
        )
    try:
        return parse(content.decode("utf-8"), name)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadSetting(
            f"{name}:{line}: byte 0x{content[error.start]:02x} is not UTF-8; write the file as UTF-8 text"
        ) from error


def own(path: Path) -> Any:
    """The values of a YAML file of the package itself, which is read without places and bounds."""
    return yaml.load(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def parse(text: str, file: str, *, numbered: bool = True) -> Node:
    """Parse one YAML document of plain values.

    Args:
        file: the name of the text in error messages.
        numbered: whether errors give line numbers; False for a value from the command line.

    Raises:
        BadSetting: the text is not YAML, has an unknown tag, has a key that is repeated or is not a text, or
            exceeds a bound of this module.
    """
    return _parse(text, file, numbered).of("")  # a copy, since readers take a tree apart


@lru_cache(128)
def _parse(text: str, file: str, numbered: bool) -> Node:
    """The tree of a text; the runs of a suite read the same recipes again and again."""
    builder = _Builder(file, numbered)
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise builder.error(
            None, f"the text has more than {MOST_BYTES:,} bytes, which is too large for settings"
        )
    loader = yaml.SafeLoader("")  # resolves tags and reads scalars
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            builder.take(event, loader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        place = Node(None, file, line if numbered else None).place
        raise BadSetting(
            f"{place}: {chr(error.character)!a} is not allowed in YAML: {error.reason}; write it "
            "as an escape, in double quotes"
        ) from error
    except yaml.MarkedYAMLError as error:
        raise builder.error(error.problem_mark, f"this is not YAML: {error.problem}") from error
    except (ValueError, OverflowError) as error:  # an escape or a version that Python cannot hold
        if isinstance(error, BadSetting):
            raise
        raise builder.error(builder.mark, f"this is not YAML: {error}") from error
    if builder.root is None:
        return Node({} if numbered else None, file, 1 if numbered else None)
    return builder.root


@dataclass
class _Open:
    """A list or mapping whose end has not been read."""

    node: Node
    mark: Any
    anchor: str | None
    key: str | None = None  # in a mapping: the key whose value comes next
    line: int | None = None  # of that key


@dataclass
class _Builder:
    """Builds nodes from parser events and checks the bounds."""

    file: str
    numbered: bool
    root: Node | None = None
    mark: Any = None
    open: list[_Open] = field(default_factory=list)
    # None: the end of its value has not been read
    anchors: dict[str, Node | None] = field(default_factory=dict)
    nodes: int = 0
    letters: int = 0
    documents: int = 0

    def error(self, mark: Any, why: str) -> BadSetting:
        """The error for a place (`mark`) of the parser."""
        return BadSetting(f"{Node(None, self.file, self.line(mark)).place}: {why}")

    def line(self, mark: Any) -> int | None:
        """The line of a mark, from 1; None when lines are not numbered."""
        return mark.line + 1 if mark is not None and self.numbered else None

    def take(self, event: Any, loader: yaml.SafeLoader) -> None:
        """Process the next event of the parser."""
        self.mark = event.start_mark
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise self.error(
                    self.mark, "a second document begins here; only one is allowed: remove the line ---"
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = self.open.pop()
            if ended.anchor is not None:
                self.anchors[ended.anchor] = ended.node
            self._put(ended.node, ended.mark)
        elif isinstance(event, yaml.AliasEvent):
            self._put(self._alias(event.anchor), self.mark, alias=True)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event)
        elif isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event, loader)
            if event.anchor is not None:
                self.anchors[event.anchor] = node
            self._put(node, self.mark)

    def _begin(self, event: Any) -> None:
        kind = "map" if isinstance(event, yaml.MappingStartEvent) else "seq"
        if self.open and self._wants_key():
            raise self.error(
                self.mark, f"a {'mapping' if kind == 'map' else 'list'} cannot be a key; use a text"
            )
        if event.tag not in (None, "!", TAG + kind):
            raise self._tag(event.tag)
        self._count(self.mark, len(self.open) + 1)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        value: Any = {} if kind == "map" else []
        self.open.append(_Open(Node(value, self.file, self.line(self.mark)), self.mark, event.anchor))

    def _wants_key(self) -> bool:
        return type(self.open[-1].node.value) is dict and self.open[-1].key is None

    def _put(self, node: Node, mark: Any, alias: bool = False) -> None:
        """Add a complete node to the list or mapping it belongs to."""
        if not self.open:
            self.root = node
            return
        outer = self.open[-1]
        if isinstance(outer.node.value, list):
            outer.node.value.append(node)
        elif outer.key is None:
            if alias:
                raise self.error(mark, "an alias cannot be a key; use a text")
            outer.key, outer.line = node.value, self.line(mark)
            if outer.key in outer.node.value:
                raise self.error(mark, f"{outer.key!r:.200} is repeated in this mapping; keep one of them")
        else:
            outer.node.value[outer.key] = Node(node.value, self.file, outer.line)
            outer.key = None

    def _scalar(self, event: Any, loader: yaml.SafeLoader) -> Node:
        """The node of a scalar, or of a key with its text."""
        self._count(self.mark, len(self.open), len(event.value))
        tag = event.tag
        if tag is None or tag == "!":
            tag = loader.resolve(
                yaml.ScalarNode, event.value, event.implicit if tag is None else (False, True)
            )  # type: ignore[no-untyped-call]  # PyYAML has no types here
            tag = tag if tag in (TAG + name for name in SCALARS) else TAG + "str"  # a date is text
        elif tag not in (TAG + name for name in SCALARS):
            raise self._tag(tag)
        line = self.line(self.mark)
        if self.open and self._wants_key():
            return Node(event.value, self.file, line)
        value = self._value(tag, event.value, loader)
        quoted = event.style is not None  # a quoted number is text
        return Node(value if quoted else number(value), self.file, line)

    def _value(self, tag: str, text: str, loader: yaml.SafeLoader) -> Any:
        kind = tag.removeprefix(TAG)
        if kind in ("int", "float") and len(text) > MOST_NUMBER:
            raise self.error(
                self.mark,
                f"a number of {len(text)} characters; at most {MOST_NUMBER} are allowed. Put it in quotes "
                "to make it a text",
            )
        try:
            value = loader.construct_object(yaml.ScalarNode(tag, text, self.mark, self.mark))
        except (ValueError, KeyError, IndexError, yaml.YAMLError) as error:
            raise self.error(
                self.mark, f"{text!r:.200} is not of the type {kind}; put it in quotes to make it a text"
            ) from error
        if kind == "int" and abs(value) > LARGEST:
            raise self.error(self.mark, f"an integer must be in [-{LARGEST}, {LARGEST}], got {text}")
        return value

    def _alias(self, anchor: str | None) -> Node:
        if anchor is None or anchor not in self.anchors:
            raise self.error(self.mark, f"*{anchor:.200} has no &{anchor:.200} before it")
        node = self.anchors[anchor]
        if node is None:
            raise self.error(
                self.mark,
                f"*{anchor:.200} refers to a value that contains it; write the value itself",
            )
        return self._copied(node, len(self.open))

    def _copied(self, node: Node, levels: int) -> Node:
        """A copy of an alias's value, which counts again towards the bounds."""
        inside = isinstance(node.value, dict | list)
        self._count(self.mark, levels + inside, len(node.value) if isinstance(node.value, str) else 0)
        value = node.value
        if isinstance(value, dict):
            value = {key: self._copied(item, levels + 1) for key, item in value.items()}
            self.letters += sum(map(len, value))
        elif isinstance(value, list):
            value = [self._copied(item, levels + 1) for item in value]
        return Node(value, node.file, node.line)

    def _count(self, mark: Any, levels: int, letters: int = 0) -> None:
        self.nodes += 1
        self.letters += letters
        if levels > MOST_LEVELS:
            raise self.error(mark, f"lists and mappings are nested deeper than {MOST_LEVELS} levels")
        if self.nodes > MOST_NODES:
            raise self.error(
                mark, f"there are more than {MOST_NODES:,} values, counting each alias as its value"
            )
        if self.letters > MOST_BYTES:
            raise self.error(
                mark,
                f"the texts have more than {MOST_BYTES:,} letters, counting each alias as its text",
            )

    def _tag(self, tag: str) -> BadSetting:
        known = ", ".join(f"!!{name}" for name in TAGS)
        shown = "!!" + tag.removeprefix(TAG) if tag.startswith(TAG) else tag
        return self.error(
            self.mark,
            f"the tag {shown!r:.200} is not allowed here; allowed tags: {known}. Plain values need no tag",
        )


def number(value: Any) -> Any:
    """The float for a text such as 1e-5, which YAML 1.1 reads as a string; other values are unchanged."""
    if (
        isinstance(value, str)
        and value[:1] in "+-.0123456789"
        and "e" in value.lower()
        and len(value) <= MOST_NUMBER
    ):
        try:
            return float(value)
        except ValueError:
            return value
    return value


class _Dumper(yaml.SafeDumper):
    """A dumper that quotes every text which `parse` would read as a number."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(TAG + "str", text, style=None if isinstance(number(text), str) else '"')


_Dumper.add_representer(str, _represent_text)


def dump(value: Any) -> str:
    """Dicts, lists and scalars as YAML; `parse` reads back equal values."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=120)
    return text
