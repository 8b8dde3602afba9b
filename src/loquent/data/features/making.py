"""Featurizers from settings, for recipes and `gymnasium.make`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

from loquent.core import registry
from loquent.core.options import Node, fill
from loquent.core.values import Record, freeze, plain
from loquent.data.features.base import Featurizer
from loquent.errors import BadSetting, naming

DEFAULT = "hashed"


def make(settings: Featurizer | Mapping[str, Any] | str | None = None) -> Featurizer:
    """A featurizer from settings; hashed n-grams by default.

    Args:
        settings: a name, `{kind: NAME, option: value}`, your own "module:Class", or a featurizer.

    Raises:
        BadSetting, UnknownName: there is no such featurizer, or an option is unknown or out of range.
    """
    if isinstance(settings, Featurizer):
        return settings
    options = {"kind": settings} if isinstance(settings, str) else dict(settings or {})
    kind = options.pop("kind", DEFAULT)
    if not isinstance(kind, str):
        raise BadSetting(f"{naming('features.kind', kind)}; it must be the name of a featurizer")
    cls = registry.resolve("featurizer", kind)
    if not (isinstance(cls, type) and issubclass(cls, Featurizer) and dataclasses.is_dataclass(cls)):
        raise BadSetting(
            f"features.kind = {kind!r} names {cls!r:.80}; it must name a dataclass that derives from "
            "loquent.data.features.Featurizer"
        )
    featurizer: Featurizer = fill(cls, _node(options), f"features {kind}")
    return featurizer


def resolve_settings(settings: Mapping[str, Any]) -> Record:
    """The settings with the kind and all defaults filled in; raises the errors of `make`."""
    featurizer = make(settings)
    options = {
        field.name: getattr(featurizer, field.name) for field in dataclasses.fields(cast(Any, featurizer))
    }
    return Record({"kind": settings.get("kind", DEFAULT), **freeze(plain(options))})


def _node(value: Any) -> Node:
    if isinstance(value, Mapping):
        return Node({str(name): _node(item) for name, item in value.items()}, "features", None)
    if isinstance(value, list | tuple):
        return Node([_node(item) for item in value], "features", None)
    return Node(value, "features", None)
