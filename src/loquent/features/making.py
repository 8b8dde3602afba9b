"""A featurizer from settings, as a recipe or `gymnasium.make` gives them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from loquent import registry
from loquent.errors import BadSetting, kind_of
from loquent.features.base import Featurizer
from loquent.fill import Node, fill
from loquent.values import Record, frozen, plain

DEFAULT = "hashed"


def make(settings: Featurizer | Mapping[str, Any] | str | None = None) -> Featurizer:
    """The featurizer of a name, of `{kind: NAME, option: value}`, or of "module:Class" of one's own; hashed n-grams by default.

    Raises:
        BadSetting, UnknownName: no featurizer is named so, or one of its options is unknown or out of range.
    """
    if isinstance(settings, Featurizer):
        return settings
    given = {"kind": settings} if isinstance(settings, str) else dict(settings or {})
    kind = given.pop("kind", DEFAULT)
    if not isinstance(kind, str):
        raise BadSetting(f"features.kind = {kind!r} is {kind_of(kind)}; the name of a featurizer is right")
    made = registry.named("featurizer", kind)
    if not (isinstance(made, type) and issubclass(made, Featurizer) and dataclasses.is_dataclass(made)):
        raise BadSetting(f"features.kind = {kind!r} names {made!r:.80}; a dataclass that is a loquent.features.Featurizer is right")
    built: Featurizer = fill(made, _node(given), f"features {kind}")
    return built


def resolved(settings: Mapping[str, Any]) -> Record:
    """The settings with their kind and every default written out; the same errors as `make`."""
    made = make(settings)
    options = {field.name: getattr(made, field.name) for field in dataclasses.fields(made)}  # type: ignore[arg-type]
    return Record({"kind": settings.get("kind", DEFAULT), **frozen(plain(options))})


def _node(value: Any) -> Node:
    if isinstance(value, Mapping):
        return Node({str(name): _node(item) for name, item in value.items()}, "features", None)
    if isinstance(value, list | tuple):
        return Node([_node(item) for item in value], "features", None)
    return Node(value, "features", None)
