"""Which scores of metrics are rewarded, under whatever name and with a default written out or not.

The watch for reward hacking needs this to tell whether a metric measures what is rewarded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loquent.core import registry
from loquent.core.metric import Metric, traits
from loquent.core.options import options_of
from loquent.core.values import Record, freeze
from loquent.rewards.counting import NAMES
from loquent.rewards.terms import Term

OTHERS = ("weight", "of", "key", "function", "per", *NAMES)  # settings of a term, not of its metric


@dataclass(frozen=True)
class Quantity:
    """A score: its registered name or "module:Name", all its options, and its key.

    A reward without a key stands for all scores of its metric.
    """

    of: str
    options: Record
    key: str

    def part_of(self, rewarded: Quantity) -> bool:
        """Whether this score is rewarded by the other quantity."""
        return (self.of, self.options) == (rewarded.of, rewarded.options) and rewarded.key in ("", self.key)


def rewarded_keys(
    rewards: Mapping[str, Any],
    terms: Iterable[Any],
    metrics: Mapping[str, Any],
    built: Sequence[Metric],
    values: Iterable[str] = (),
) -> list[str]:
    """The keys of metrics whose scores a reward pays for.

    Args:
        rewards: the recipe's rewards, and `terms` what `compose.build` made of them.
        metrics: the recipe's metrics, and `built` what `build_metrics` made of them, in this order.
        values: the keys that were measured. A metric that declares no keys has those with its name.
    """
    inside = [
        quantity("reward", term.name, rewards[term.name], term.key, term.metric)
        for term in terms
        if isinstance(term, Term)
    ]
    keys = []
    for (name, options), metric in zip(metrics.items(), built, strict=True):
        of = dict(options or {}).get("of", name)
        begin = f"{metric.name}/"
        for key in traits(metric).keys or [key for key in values if f"{key}/".startswith(begin)]:
            bare = key if of == name else key.removeprefix(f"{name}/")
            score = quantity("metric", name, options, bare, metric, key)
            if any(score.part_of(reward) for reward in inside):
                keys.append(key)
    return keys


def quantity(kind: str, name: str, settings: Any, key: str, metric: Any, place: str = "") -> Quantity:
    """The quantity of a score of a recipe, under one name if it has several.

    Args:
        kind: "reward", whose name may be the name of a metric too, or "metric".
        name: the name in the recipe, and `settings` what the recipe says of it.
        key: the key of the score, or "" for all.
        metric: the metric, which says which penalty its score is; `place` is its key, if it is another.
    """
    options = dict(settings) if isinstance(settings, Mapping) else {}
    of = options.get("of", name)
    if of == "callable":
        of = options["function"]
    options = {option: value for option, value in options.items() if option not in OTHERS}
    penalty = traits(metric).penalties.get(place or key or metric.name)
    if penalty is not None:
        kind, key = "reward", ""
        of, options = penalty[0], dict(penalty[1])
    known = of in registry.names(kind)
    schema = options_of(registry.resolve(kind if known else "metric", of))
    fields = dataclasses.fields(schema) if schema else ()
    defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    execution = {field.name for field in fields if field.metadata.get("execution")}
    chosen = {name: freeze(value) for name, value in (defaults | options).items() if name not in execution}
    return Quantity(of, Record(chosen), key)
