"""The sections `rewards:` and `metrics:` of a recipe: names of what scores, each with its options, checked
where it stands.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from loquent.core import registry
from loquent.core.options import Node, fill, options_of, unknown
from loquent.core.values import EMPTY, Record
from loquent.errors import BadSetting, NotImported


def rewards(node: Node | None, task: str, options: Any) -> Record:
    """Rewards: the task's own with weights.

    Registered rewards and metrics, and Python callables, with weights and options.
    """
    from loquent.rewards.counting import (
        NAMES,
        Counting,
    )  # its room brings metrics, which few recipes need at once

    given = node.mapping("rewards") if node else {}
    try:
        own: Mapping[str, float] = registry.resolve("task", task)(options).spec.rewards if given else {}
    except NotImported:  # any name may be one of its own
        own = {
            name: 1.0
            for name, item in given.items()
            if ":" not in name and (not isinstance(item.value, dict) or item.value.keys() <= {"weight"})
        }
    beside = ("weight", "of", "key", *NAMES)
    known = sorted({*registry.names("reward"), *registry.names("metric"), *own})
    found: dict[str, Any] = {}
    for name, item in given.items():
        inside = dict(item.value) if isinstance(item.value, dict) else {"weight": item}
        head = {key: inside.pop(key) for key in ("weight", "of", "key") if key in inside}
        counts = {key: inside.pop(key) for key in NAMES if key in inside}
        filled = fill(Counting, Node(counts, item.file, item.line), f"rewards.{name}")
        head |= {key: Node(getattr(filled, key), one.file, one.line) for key, one in counts.items()}
        weight = head["weight"].plain() if "weight" in head else 1.0
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
            raise BadSetting(
                f"{head['weight'].place}: rewards.{name}: the weight is {head['weight'].bare()!r}; a "
                "finite number is right"
            )
        of = text(head["of"], f"rewards.{name}.of") if "of" in head else name
        if "key" in head:
            text(head["key"], f"rewards.{name}.key")
        if name in own:
            if inside or head.keys() - {"weight"}:
                raise BadSetting(
                    f"{item.place}: rewards.{name} is the task's own reward, which has a weight "
                    "only; name another term so, with 'of'"
                )
        elif ":" in of:
            function = {"function": Node(of, head.get("of", item).file, head.get("of", item).line)}
            inside = _options("reward", "callable", {**function, **inside}, item, f"rewards.{name}", beside)
            del inside["function"]
        elif of not in known or of in own:
            raise unknown(head.get("of", item), of, known, "rewards")
        else:
            kind = "reward" if of in registry.names("reward") else "metric"
            inside = _options(kind, of, inside, item, f"rewards.{name}", beside)
        bare = {key: value.plain() for key, value in (head | inside).items()}
        found[name] = Record(bare) if isinstance(item.value, dict) else weight
    return Record(found)


def metrics(node: Node | None, task: str, options: Any, rewarded: bool) -> Record:
    """Metrics: names of registered ones, each with options.

    A recipe that rewards texts and names none has `watch`; `metrics: {}` is none.
    """
    try:
        if node is None and rewarded and registry.resolve("task", task)(options).actions is None:
            return Record(watch=EMPTY)
    except NotImported:
        return EMPTY
    found: dict[str, Record] = {}
    for name, item in (node.mapping("metrics") if node else {}).items():
        inside = dict(item.mapping(f"metrics.{name}"))
        head = {"of": inside.pop("of")} if "of" in inside else {}
        of = text(head["of"], f"metrics.{name}.of") if head else name
        if of not in registry.names("metric"):
            raise unknown(head.get("of", item), of, registry.names("metric"), "metrics")
        inside = _options("metric", of, inside, item, f"metrics.{name}", ("of",))
        found[name] = Record({key: value.plain() for key, value in (head | inside).items()})
    return Record(found)


def _options(
    kind: str, of: str, given: dict[str, Node], item: Node, section: str, beside: Sequence[str]
) -> dict[str, Node]:
    """The options given to a registered thing, checked and read by its factory's dataclass where it has
    one.
    """
    try:
        schema = options_of(registry.find(kind, of))
    except BadSetting as error:
        raise BadSetting(f"{item.place}: {error}") from error
    if schema is None:
        return given
    names = [field.name for field in dataclasses.fields(schema)]
    for key, node in given.items():
        if key not in names:
            raise unknown(node, key, (*beside, *names), section)
    filled = fill(schema, Node(given, item.file, item.line), section)
    return {key: Node(getattr(filled, key), node.file, node.line) for key, node in given.items()}


def text(node: Node, what: str) -> str:
    """A name that stands in a recipe.

    Raises:
        BadSetting: it is no text; says what it is and where.
    """
    if not isinstance(node.value, str):
        raise BadSetting(f"{node.place}: {what} = {node.bare()!r} is no name")
    return node.value
