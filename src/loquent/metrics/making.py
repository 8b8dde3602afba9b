"""Metrics by name: a registered name, or "module:Name" of your own class or factory."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args, get_type_hints

from loquent.core import registry
from loquent.core.metric import EVERYTHING, SHARES, Context, Metric, Range, Traits, range_of
from loquent.data import outcomes
from loquent.errors import BadSetting, BrokenMetric, LoquentError, debugging, place_of
from loquent.metrics.function import COLUMNS, of_function

ALLOWED = (
    "name a function of an answer, a turn, an episode or samples, or a class or function that makes a "
    "loquent.core.metric.Metric of a `context`"
)


def is_factory(thing: Any) -> bool:
    """Whether an imported object makes metrics, as `thing(context, **options)`.

    Otherwise it is a metric, or a function of samples. A factory is a class, or a function whose first
    parameter is called `context`.
    """
    return isinstance(thing, type) or (not isinstance(thing, Metric) and _first(thing) == "context")


def _first(thing: Any) -> str:
    """The name of the first parameter; "" if there is none."""
    try:
        return next(iter(inspect.signature(thing).parameters), "")
    except (TypeError, ValueError):
        return ""


@contextmanager
def blame(name: str) -> Iterator[None]:
    """Turn an error in the code of "module:Name", or of an installed package, into a BrokenMetric.

    The message has the file and the line. With LOQUENT_DEBUG=1 in the environment the error stays as it is.
    """
    try:
        yield
    except LoquentError:
        raise
    except Exception as error:
        place = place_of(error) or (f"{name}: " if ":" in name else "")
        if not place or debugging():
            raise
        reason = "".join(traceback.format_exception_only(error)).strip()
        raise BrokenMetric(f"{place}{reason}; LOQUENT_DEBUG=1 shows the traceback") from error


def declared_trait(name: str, trait: str, default: Any) -> Any:
    """A trait that the class of a registered metric declares; the default if it depends on the options.

    No metric is built. The class is the one that the metric's factory says it returns; if there are several,
    they must agree.
    """
    factory = registry.find("metric", name)
    made = factory if isinstance(factory, type | Metric) else _returned(factory)
    value, *others = [getattr(one, trait, default) for one in get_args(made) or (made,)]
    return default if isinstance(value, property) or any(other != value for other in others) else value


def _returned(factory: Any) -> Any:
    """The annotation of what a factory returns; None if there is none that can be read."""
    try:
        return get_type_hints(factory).get("return")
    except (NameError, AttributeError, TypeError, SyntaxError):  # of names that only type checkers import
        return None


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
    own = Traits(range=declared_trait(name, "range", EVERYTHING), ranges=declared_trait(name, "ranges", {}))
    return range_of(own, key)


def make(name: str, context: Context, options: dict[str, Any], kind: str = "metric") -> Metric:
    """The metric of a registered name, or of "module:Name": a factory's, or that of a plain function.

    Args:
        kind: "reward" for a registered name of a reward, which may make a `rewards.terms.TokenFunction`.

    Raises:
        BadSetting: "module:Name" does not make a metric, or does not take these options.
    """
    factory = registry.resolve(kind, name)
    is_metric = isinstance(factory, Metric) and not isinstance(factory, type)
    if is_metric or _first(factory) in (*COLUMNS, "samples"):
        if options:
            raise BadSetting(f"the metric {name} is a function, which takes no option {', '.join(options)}")
        return factory if is_metric else of_function(factory)
    if not is_factory(factory) or not registry.accepts(factory, context, **options):
        if is_factory(factory) and registry.accepts(factory, context):
            refused = [
                key for key in options if not registry.accepts(factory, context, **{key: options[key]})
            ]
            names = ", ".join(refused or options)
            raise BadSetting(f"the metric {name} takes no option {names}; its code shows its options")
        what = f"{name!r} names {factory!r:.80}, which makes no metric"
        raise BadSetting(f"{what}; {ALLOWED}")
    with blame(name):
        metric: Metric = factory(context, **options)
    if ":" in name and not isinstance(metric, Metric):
        what = f"{name} made {metric!r:.80}, which is no metric"
        raise BadSetting(f"{what}; it must be callable and have `name`, `version` and `higher_is_better`")
    return metric
