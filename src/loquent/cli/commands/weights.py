"""The weights of the rewards of recorded episodes.

They come from the command line, from the run or collection of the episodes, or from their task.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from loquent.core import registry
from loquent.core.episode import Episode
from loquent.core.options import Node, fill, parse, read
from loquent.core.task import Task
from loquent.core.values import EMPTY, Record
from loquent.errors import BadSetting, LoquentError, nearest
from loquent.files import names, trust
from loquent.rewards.counting import RAW, is_reward
from loquent.training.datasets.collection import PLAN
from loquent.training.datasets.designs import by_owner

IDENTITY = re.compile(r"(.+)-v[0-9]+(#[0-9a-f]+)?")


def of_episodes(texts: Sequence[str], episodes: Sequence[Episode], source: Path, ranked: bool) -> Record:
    """The weights of the command line, or of the run or collection of the episodes, or of their task.

    Args:
        texts: NAME=NUMBER from the command line.
        source: the file or folder of the episodes.
        ranked: whether the episodes will be ranked by return, which needs rewards.

    Raises:
        BadSetting: a name that no episode has, no rewards to rank by, or weights that are not known.
    """
    earned = sorted(
        {
            name
            for episode in episodes
            for turn in episode.turns
            for name in turn.rewards
            if is_reward(name, turn.rewards)
        }
    )
    if texts:
        return _typed(texts, earned)
    if not earned:
        if ranked:
            raise BadSetting(
                f"{source}: no episode has a reward, so the episodes have no order; leave out --top and "
                "--bottom"
            )
        return EMPTY
    identities = sorted({episode.task for episode in episodes})
    own = _of_run(source) or _of_collection(identities, source) or _of_task(identities, source)
    if any(own.get(name) for name in earned):
        return own
    raise BadSetting(
        f"{source}: the weights of the rewards of {', '.join(identities)} are not known: there is no run's "
        "config.yaml or collection's collect.json with weights beside the episodes, and no registered task "
        f"with these options. Name the rewards that count, as in --weight {earned[0]}=1; rewards of these "
        f"episodes: {', '.join(earned)}"
    )


def _typed(texts: Sequence[str], earned: Sequence[str]) -> Record:
    """The weights of the command line.

    Raises:
        BadSetting: a text is not NAME=NUMBER, or no episode has the reward.
    """
    weights = dict(map(_weight, texts))
    for name in weights:
        if name not in earned and name.removesuffix(RAW) not in earned:
            near = nearest(name, earned)
            hint = f" Nearest: {near}." if near else ""
            raise BadSetting(
                f"--weight {name}: no episode has a reward of that name.{hint} Known: "
                f"{', '.join(earned) or 'none'}"
            )
    return Record(weights)


def _of_run(source: Path) -> Record:
    """The weights in a run's recipe; empty if the folder is not a run's or the recipe has no rewards."""
    return _weights(_beside(source, names.CONFIG).get("rewards"), "rewards")


def _of_collection(identities: Sequence[str], source: Path) -> Record:
    """The weights that a collection stored beside its episodes; empty if these are of another task."""
    plan = _beside(source, PLAN)
    identity = plan.get("identity")
    return (
        _weights(plan.get("weights"), "weights")
        if identity is not None and identities == [identity.value]
        else EMPTY
    )


def _weights(section: Node | None, title: str) -> Record:
    weights: dict[str, float] = {}
    for name, node in section.mapping(title).items() if section is not None else ():
        weight = node.value.get("weight") if isinstance(node.value, dict) else node
        value = 1.0 if weight is None else weight.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise BadSetting(
                f"{node.place}: {title}.{name}: the weight must be a finite number, got {value!r}"
            )
        weights[name] = value
    return Record(weights)


def _of_task(identities: Sequence[str], source: Path) -> Record:
    """The weights of the registered task that all episodes were played on; empty if it is not known.

    The task is built with the options stored beside the episodes, or with its defaults. Options can change
    the rewards, so the task must have the identity that the episodes name. No code that a file names is
    imported.
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
        built = _built(task, options)
        if built is not None and identities == [built.identity]:
            return built.spec.rewards
    return EMPTY


def _options(source: Path) -> dict[str, Node]:
    """The options of the task that a run or a collection stored."""
    run = _beside(source, names.CONFIG).get("task")
    if run is not None and isinstance(run.value, dict):
        return {name: node for name, node in run.value.items() if name != "kind"}
    plan = _beside(source, PLAN).get("options")
    stored = plan.bare() if plan is not None else []
    texts = by_owner([str(text) for text in stored])[""] if isinstance(stored, list) else []
    return {name: parse(value, PLAN) for name, _, value in (text.partition("=") for text in texts)}


def _built(task: type[Task], options: dict[str, Node]) -> Task | None:
    """The task with these options; None if the options are wrong for it or name code."""
    section = Node(options, PLAN, None)
    try:
        with registry.refuse_imports(reach.name for reach in trust.reaches(section)):
            return task(fill(task.Options, section, "task"))
    except LoquentError:
        return None


def _beside(source: Path, name: str) -> dict[str, Node]:
    """The YAML file of this name in the folder of the episodes; empty if there is none."""
    file = (source if source.is_dir() else source.parent) / name
    if not file.is_file():
        return {}
    nodes: dict[str, Node] = read(file).mapping(str(file))
    return nodes


def _weight(text: str) -> tuple[str, float]:
    name, equals, number = text.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not equals or not name or not math.isfinite(weight):
        raise BadSetting(f"--weight {text} is not of the form NAME=NUMBER with a finite number")
    return name, weight
