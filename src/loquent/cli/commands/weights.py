"""The weights of the rewards of recorded episodes: from the command line, from the run or collection they are
of, or from their task.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from loquent.core import registry
from loquent.core.episode import Episode
from loquent.core.guards import trust
from loquent.core.options import Node, fill, parse, read
from loquent.core.task import Task
from loquent.core.values import EMPTY, Record
from loquent.datasets.collection import PLAN
from loquent.datasets.designed import by_owner
from loquent.errors import BadSetting, LoquentError, nearest
from loquent.files import names
from loquent.rewards.counting import RAW

IDENTITY = re.compile(r"(.+)-v[0-9]+(#[0-9a-f]+)?")


def of_episodes(given: Sequence[str], episodes: Sequence[Episode], source: Path, ranked: bool) -> Record:
    """The weights of the command line, else those of the run that the episodes are of, else those of their
    task.
    """
    earned = sorted(
        {name for one in episodes for turn in one.turns for name in turn.rewards if not name.endswith(RAW)}
    )
    if given:
        weights = dict(map(_weight, given))
        for name in weights:
            if name not in earned and name.removesuffix(RAW) not in earned:
                close = f" Nearest: {near}." if (near := nearest(name, earned)) else ""
                raise BadSetting(
                    f"--weight {name}: no episode has a reward of that name.{close} Known: "
                    f"{', '.join(earned) or 'none'}"
                )
        return Record(weights)
    if not earned:
        if ranked:
            raise BadSetting(
                f"{source}: no episode has a reward, so there is no best and no worst share; --top "
                "and --bottom need rewards"
            )
        return EMPTY
    identities = sorted({one.task for one in episodes})
    own = _of_run(source) or _of_collection(identities, source) or _of_task(identities, source)
    if any(own.get(name) for name in earned):
        return own
    raise BadSetting(
        f"{source}: the weights of the rewards of {', '.join(identities)} are not known here: they "
        "stand neither in a run's config.yaml or a collection's collect.json beside the episodes, "
        "nor are they those of a registered task with its default options. Name those that count, "
        f"as in --weight {earned[0]}=1; rewards of these episodes: {', '.join(earned)}"
    )


def _of_run(source: Path) -> Record:
    """The weights that a run's recipe gives its rewards.

    None where the folder is no run's, or its recipe has no rewards.
    """
    return _weights(_beside(source, names.CONFIG).get("rewards"), "rewards")


def _of_collection(identities: Sequence[str], source: Path) -> Record:
    """The weights that a collection wrote down beside its episodes; none where these are of another task."""
    plan = _beside(source, PLAN)
    identity = plan.get("identity")
    return (
        _weights(plan.get("weights"), "weights")
        if identity is not None and identities == [identity.value]
        else EMPTY
    )


def _weights(section: Node | None, called: str) -> Record:
    weights: dict[str, float] = {}
    for name, node in section.mapping(called).items() if section is not None else ():
        weight = node.value.get("weight") if isinstance(node.value, dict) else node
        value = 1.0 if weight is None else weight.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise BadSetting(
                f"{node.place}: {called}.{name}: the weight is {value!r}; a finite number is right"
            )
        weights[name] = value
    return Record(weights)


def _of_task(identities: Sequence[str], source: Path) -> Record:
    """The weights of the one registered task that all the episodes are of, built with the options that stand
    beside them, or with its defaults.

    The options may choose another reward, so the task that is built must be the very one that was played.
    Nothing is imported by a name that stands in a file.
    """
    names = {match[1] if (match := IDENTITY.fullmatch(identity)) else "" for identity in identities}
    name = names.pop()
    if names or name not in registry.names("task"):
        return EMPTY
    task = registry.find("task", name)
    if (spec := getattr(task, "spec", None)) is not None:  # the same for all options
        own: Record = spec.rewards
        return own
    for options in (_options(source), {}):
        made = _built(task, options)
        if made is not None and identities == [made.identity]:
            return made.spec.rewards
    return EMPTY


def _options(source: Path) -> dict[str, Node]:
    """The options of the task as a run's or a collection's folder has them."""
    run = _beside(source, names.CONFIG).get("task")
    if run is not None and isinstance(run.value, dict):
        return {name: node for name, node in run.value.items() if name != "kind"}
    plan = _beside(source, PLAN).get("options")
    given = plan.bare() if plan is not None else []
    texts = by_owner([str(text) for text in given])[""] if isinstance(given, list) else []
    return {name: parse(value, PLAN) for name, _, value in (text.partition("=") for text in texts)}


def _built(task: type[Task], options: dict[str, Node]) -> Task | None:
    """The task with these options; None where they are not its options, or one of them names code."""
    whole = Node(options, PLAN, None)
    try:
        with registry.refuse_imports(reach.name for reach in trust.reaches(whole)):
            return task(fill(task.Options, whole, "task"))
    except LoquentError:
        return None


def _beside(source: Path, name: str) -> dict[str, Node]:
    file = (source if source.is_dir() else source.parent) / name
    if not file.is_file():
        return {}
    inside: dict[str, Node] = read(file).mapping(str(file))
    return inside


def _weight(said: str) -> tuple[str, float]:
    name, equals, number = said.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not equals or not name or not math.isfinite(weight):
        raise BadSetting(f"--weight {said}: NAME=NUMBER is right")
    return name, weight
