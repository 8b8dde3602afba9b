"""Metrics by name: a registered name, or "module:Name" of your own class or factory."""

from __future__ import annotations

import inspect
from typing import Any

from loquent.core import registry
from loquent.core.metric import Context, Metric
from loquent.errors import BadSetting

ALLOWED = "name a class or function that makes a loquent.core.metric.Metric of a loquent.core.metric.Context"


def is_factory(thing: Any) -> bool:
    """Whether an imported object makes metrics, as `thing(context, **options)`.

    Otherwise it is the function of a reward, which takes predictions, references, prompts and rows.
    """
    if isinstance(thing, type):
        return True
    return registry.accepts(thing, Context()) and not registry.accepts(thing, [], [], [], [])


def make(name: str, context: Context, options: dict[str, Any]) -> Metric:
    """The metric of a registered name, or of "module:Name".

    Raises:
        BadSetting: "module:Name" does not make a metric, or does not take these options.
    """
    factory = registry.resolve("metric", name)
    if ":" not in name:
        metric: Metric = factory(context, **options)
        return metric
    if inspect.isbuiltin(factory) or not registry.accepts(factory, context, **options):
        if not inspect.isbuiltin(factory) and registry.accepts(factory, context):
            refused = [
                key for key in options if not registry.accepts(factory, context, **{key: options[key]})
            ]
            names = ", ".join(refused or options)
            raise BadSetting(f"the metric {name} takes no option {names}; its code shows its options")
        what = f"{name!r} names {factory!r:.80}, which makes no metric (a reward's function is none)"
        raise BadSetting(f"{what}; {ALLOWED}")
    metric = factory(context, **options)
    if not isinstance(metric, Metric):
        what = f"{name} made {metric!r:.80}, which is no metric"
        raise BadSetting(f"{what}; it must be callable and have `name`, `version` and `higher_is_better`")
    return metric
