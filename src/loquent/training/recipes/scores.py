"""The sections `rewards:` and `metrics:` of a recipe: names of rewards and metrics with checked options."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from loquent.core import registry
from loquent.core.options import Node, fill, options_of, unknown
from loquent.core.values import EMPTY, Record
from loquent.errors import BadSetting, NotImported


def rewards(node: Node | None, task: str, options: Any) -> Record:
    """The section `rewards:`: the task's own rewards with weights, and other terms with weights and options.

    A term is a registered reward or metric, or a Python callable as "module:Name".

    Raises:
        BadSetting: an unknown name or a bad value, with its place.
    """
    terms = node.mapping("rewards") if node else {}
    own = _own_rewards(terms, task, options)
    known = sorted({*registry.names("reward"), *registry.names("metric"), *own})
    return Record({name: _term(name, item, own, known) for name, item in terms.items()})


def _own_rewards(terms: Mapping[str, Node], task: str, options: Any) -> Collection[str]:
    """The names of the task's own rewards.

    If the task is not imported, each term that has only a weight may be one.
    """
    try:
        rewards: Mapping[str, float] = registry.resolve("task", task)(options).spec.rewards if terms else {}
    except NotImported:
        return [
            name
            for name, item in terms.items()
            if ":" not in name and (not isinstance(item.value, dict) or item.value.keys() <= {"weight"})
        ]
    return rewards


def _term(name: str, item: Node, own: Collection[str], known: Sequence[str]) -> Any:
    """A term with its options checked: a weight, or a Record where the recipe has a mapping."""
    from loquent.rewards.counting import NAMES, Counting  # its room imports metrics, which few recipes need

    section = f"rewards.{name}"
    inside = dict(item.value) if isinstance(item.value, dict) else {"weight": item}
    head = {key: inside.pop(key) for key in ("weight", "of", "key") if key in inside}
    counts = {key: inside.pop(key) for key in NAMES if key in inside}
    counting = fill(Counting, Node(counts, item.file, item.line), section)
    head |= {key: Node(getattr(counting, key), node.file, node.line) for key, node in counts.items()}
    weight = _weight(head.get("weight"), section)
    of = text(head["of"], f"{section}.of") if "of" in head else name
    if "key" in head:
        text(head["key"], f"{section}.key")
    place = head.get("of", item)
    others = ("weight", "of", "key", *NAMES)
    if name in own:
        if inside or head.keys() - {"weight"}:
            raise BadSetting(
                f"{item.place}: {section} is the task's own reward, which has only a weight; give another "
                "term another name, with 'of'"
            )
    elif ":" in of:
        inside = _checked_code(Node(of, place.file, place.line), inside, item, section, others)
    elif of not in known or of in own:
        raise unknown(place, of, known, "rewards")
    else:
        kind = "reward" if of in registry.names("reward") else "metric"
        inside = _checked(kind, of, inside, item, section, others)
    values = {key: node.plain() for key, node in (head | inside).items()}
    return Record(values) if isinstance(item.value, dict) else weight


def _weight(node: Node | None, section: str) -> float:
    """The weight of a term; 1 without one."""
    if node is None:
        return 1.0
    weight = node.plain()
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
        raise BadSetting(f"{node.place}: {section}: the weight must be a finite number, got {node.bare()!r}")
    return weight


def metrics(node: Node | None, task: str, options: Any, rewarded: bool) -> Record:
    """The section `metrics:`: names of registered metrics or own ones as "module:Name", each with options.

    A recipe without the section that rewards texts has the metric `watch`; `metrics: {}` has no metrics.

    Raises:
        BadSetting: an unknown name or a bad value, with its place.
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
        if registry.is_import_name(of):
            inside = _checked_own(of, inside, item, f"metrics.{name}", ("of",))
        elif of not in registry.names("metric"):
            raise unknown(head.get("of", item), of, registry.names("metric"), "metrics")
        else:
            inside = _checked("metric", of, inside, item, f"metrics.{name}", ("of",))
        found[name] = Record({key: value.plain() for key, value in (head | inside).items()})
    return Record(found)


def _checked(
    kind: str, of: str, nodes: dict[str, Node], item: Node, section: str, others: Sequence[str]
) -> dict[str, Node]:
    """The options of a registered reward or metric, read and checked by its dataclass if it has one.

    Args:
        others: keys that the section may have beside the options, for errors.
    """
    try:
        schema = options_of(registry.find(kind, of))
    except BadSetting as error:
        raise BadSetting(f"{item.place}: {error}") from error
    return nodes if schema is None else _filled(schema, nodes, item, section, others)


def _checked_code(
    of: Node, nodes: dict[str, Node], item: Node, section: str, others: Sequence[str]
) -> dict[str, Node]:
    """The options of a reward "module:Name": those of a metric that it makes, or `per` of a function."""
    from loquent.metrics.making import is_factory  # its room imports metrics, which few recipes need

    name = str(of.value)
    try:
        if nodes.keys() - {"per"} and is_factory(registry.import_name(name)):
            return _checked_own(name, nodes, item, section, others)
    except NotImported:
        return nodes
    except BadSetting as error:
        raise BadSetting(f"{item.place}: {section}: {error}") from error
    checked = _checked("reward", "callable", {"function": of, **nodes}, item, section, others)
    return {key: node for key, node in checked.items() if key != "function"}


def _checked_own(
    of: str, nodes: dict[str, Node], item: Node, section: str, others: Sequence[str]
) -> dict[str, Node]:
    """The options of an own metric, "module:Name", as `_checked`.

    Without options the metric is not imported; if it may not be imported, its options stay as they are.
    """
    if not nodes:
        return nodes
    try:
        schema = options_of(registry.import_name(of))
    except NotImported:
        return nodes
    except BadSetting as error:
        raise BadSetting(f"{item.place}: {section}: {error}") from error
    return nodes if schema is None else _filled(schema, nodes, item, section, others)


def _filled(
    schema: type, nodes: dict[str, Node], item: Node, section: str, others: Sequence[str]
) -> dict[str, Node]:
    """The options, read and checked by their dataclass."""
    names = [field.name for field in dataclasses.fields(schema)]
    for key, node in nodes.items():
        if key not in names:
            raise unknown(node, key, (*others, *names), section)
    options = fill(schema, Node(nodes, item.file, item.line), section)
    return {key: Node(getattr(options, key), node.file, node.line) for key, node in nodes.items()}


def text(node: Node, setting: str) -> str:
    """The name that a setting of a recipe holds.

    Raises:
        BadSetting: the value is not text; the error gives its place.
    """
    if not isinstance(node.value, str):
        raise BadSetting(f"{node.place}: {setting} = {node.bare()!r} is not text; give a name")
    return node.value
