"""Metrics by name: a registered name, or "module:Name" of your own class or factory."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, get_type_hints

from loquent.core import registry
from loquent.core.metric import EVERYTHING, SHARES, Context, Metric, Range
from loquent.data import outcomes
from loquent.errors import BadSetting
from loquent.metrics.function import of_function

ALLOWED = (
    "name a function of an answer, a turn or an episode, or a class or function that makes a "
    "loquent.core.metric.Metric of a `context`"
)


def is_factory(thing: Any) -> bool:
    """Whether an imported object makes metrics, as `thing(context, **options)`.

    Otherwise it is a metric, or a function of samples. A factory is a class, or a function whose first
    parameter is called `context`.
    """
    if isinstance(thing, type):
        return True
    if isinstance(thing, Metric):
        return False
    try:
        return next(iter(inspect.signature(thing).parameters), "") == "context"
    except (TypeError, ValueError):
        return False


def declared(name: str, trait: str, default: Any) -> Any:
    """A trait that the class of a registered metric declares; the default if it depends on the options.

    No metric is built. The class is the one that the metric's factory says it returns.
    """
    factory = registry.find("metric", name)
    made = factory if isinstance(factory, type) else get_type_hints(factory).get("return")
    value = getattr(made, trait, default)
    return default if isinstance(value, property) else value


def declared_range(key: str) -> Range:
    """The range of an evaluated value by its key: a share of episodes, or a value of a registered metric.

    It is infinite if the key begins with no name of a metric.
    """
    if outcomes.is_share(key):
        return SHARES
    names = [name for name in registry.names("metric") if f"{key}/".startswith((f"{name}/", f"{name}-"))]
    if not names:
        return EVERYTHING
    name = max(names, key=len)
    whole: Range = declared(name, "range", EVERYTHING)
    own: Mapping[str, Range] = declared(name, "ranges", {})
    return own.get(key, whole)


def make(name: str, context: Context, options: dict[str, Any], kind: str = "metric") -> Metric:
    """The metric of a registered name, or of "module:Name": a factory's, or that of a plain function.

    Args:
        kind: "reward" for a registered name of a reward, which may make a `rewards.terms.TokenFunction`.

    Raises:
        BadSetting: "module:Name" does not make a metric, or does not take these options.
    """
    factory = registry.resolve(kind, name)
    if callable(factory) and not is_factory(factory):
        if options:
            raise BadSetting(f"the metric {name} is a function, which takes no option {', '.join(options)}")
        return factory if isinstance(factory, Metric) else of_function(factory)
    if not is_factory(factory) or not registry.accepts(factory, context, **options):
        if is_factory(factory) and registry.accepts(factory, context):
            refused = [
                key for key in options if not registry.accepts(factory, context, **{key: options[key]})
            ]
            names = ", ".join(refused or options)
            raise BadSetting(f"the metric {name} takes no option {names}; its code shows its options")
        what = f"{name!r} names {factory!r:.80}, which makes no metric"
        raise BadSetting(f"{what}; {ALLOWED}")
    metric: Metric = factory(context, **options)
    if ":" in name and not isinstance(metric, Metric):
        what = f"{name} made {metric!r:.80}, which is no metric"
        raise BadSetting(f"{what}; it must be callable and have `name`, `version` and `higher_is_better`")
    return metric
