"""The identity of a run, which must be the same when it is resumed.

It consists of the recipe, the machine and the rows of the evaluations.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from loquent.core import registry
from loquent.core.guards.json_files import show
from loquent.core.settings import Remark
from loquent.core.task import Task
from loquent.core.values import digest
from loquent.data import content
from loquent.data.pools import held_out
from loquent.errors import AnotherRun, BadSetting, UnknownName
from loquent.training.recipes import Recipe, kinds
from loquent.training.recipes.sections import TrainingSettings

MOST_SHOWN = 8  # differing settings in one error


def all_settings(recipe: Recipe) -> dict[str, Any]:
    """All settings of a recipe that its results depend on, by path."""
    return dict(_paths(recipe.identity))


def settings(recipe: Recipe) -> dict[str, Any]:
    """The settings of a recipe that must be equal, by path.

    The number of updates is left out unless a schedule of the algorithm depends on it, so that a run can be
    extended.
    """
    paths = all_settings(recipe)
    if not recipe.config.spread_over_run():
        del paths["training.updates"]
    return paths


def _paths(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a tree of settings, each with its path; an empty mapping is a leaf."""
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _paths(value, f"{above}{name}.")
        else:
            yield above + name, value


@contextmanager
def naming_split(setting: str, settings: TrainingSettings) -> Iterator[None]:
    """Inside, an unknown split is a BadSetting that names the setting, such as "final_split"."""
    try:
        yield
    except UnknownName as error:
        raise BadSetting(f"training.{setting} = {getattr(settings, setting)!r:.80}: {error}") from None


def held_out_rows(task: Task, settings: TrainingSettings) -> dict[str, str]:
    """A digest of the rows of each evaluation, by split.

    Raises:
        BadSetting: the task has no such split; names the setting.
    """
    with naming_split("final_split", settings):
        rows = {settings.final_split: held_out(task, settings.final_split, settings.final_episodes)}
    if settings.evaluate_every:
        with naming_split("evaluate_split", settings):
            watched = held_out(task, settings.evaluate_split, settings.evaluate_episodes, settings.only)
        rows[settings.evaluate_split] = rows.get(settings.evaluate_split, []) + watched
    values = {
        split: tuple((row.id, row.fields) for chunk in chunks for row in chunk)
        for split, chunks in rows.items()
    }
    return {split: digest(value, 16) for split, value in values.items()}


def data_digest(task: Task, recipe: Recipe | None = None) -> str:
    """A hash of the content of the files that a run reads besides its model and its episodes; "" for none.

    Rows are read from them, and the agents of seats, the teacher, rewards and metrics.
    """
    made = [] if recipe is None else [("agent", recipe.training.teacher), *_scores(recipe)]
    return content.of_task(task, *content.named_by(made))


def _scores(recipe: Recipe) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The kind, the name and the options of all rewards and metrics that are made from options."""
    rewards, metrics = registry.names("reward"), registry.names("metric")
    for name, value in (*recipe.rewards.items(), *recipe.metrics.items()):
        options = value if isinstance(value, Mapping) else {}
        of = options.get("of", name)
        if of in rewards or of in metrics:
            yield "reward" if of in rewards else "metric", {**options, "kind": of}
        for option in options.values():  # the agent of a judge
            if isinstance(option, Mapping) and option.get("kind") in registry.names("agent"):
                yield "agent", option


def compare(saved: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Compare the identity in a saved state with the current one.

    Raises:
        AnotherRun: a part differs; names the part and both values.

    Warns:
        Remark: another number of processes wrote it, so sums are rounded in another way.
    """
    before, processes = (part["machine"].get("processes", 1) for part in (saved, now))
    if before != processes:
        what = f"{before} processes wrote the checkpoint, and {processes} go on"
        warnings.warn(f"{what}; the results are those of {before} but for rounding", Remark, stacklevel=2)
        saved, now = ({**part, "machine": {**part["machine"], "processes": 1}} for part in (saved, now))
    for name, value in now.items():
        if saved.get(name) != value and name == "settings":
            raise AnotherRun(_other_settings(saved.get(name), value))
        if saved.get(name) != value:
            raise AnotherRun(_difference("rows of" if name == "rows" else name, saved.get(name), value))


def differences(saved: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The settings that differ, each with both values; at most 8 of them."""
    paths = [*now, *(path for path in saved if path not in now)]
    texts = [
        f"{path} was {_text(saved, path)} and is {_text(now, path)} now"
        for path in paths
        if _text(saved, path) != _text(now, path)
    ]
    more = f", and {len(texts) - MOST_SHOWN} more" if len(texts) > MOST_SHOWN else ""
    return "; ".join(texts[:MOST_SHOWN]) + more


def _other_settings(saved: Any, now: Mapping[str, Any]) -> str:
    """The refusal of a state with other settings."""
    if not isinstance(saved, Mapping):
        return f"its settings are {show(saved)}; another version of Loquent wrote it: train it again"
    has_model = kinds.starts(now["algorithm.kind"])
    return (
        f"its settings differ: {differences(saved, now)}; a resumed run keeps its settings. To train with "
        f"other settings, start a new run in another folder{', with model.path=RUN' if has_model else ''}"
    )


def _text(settings: Mapping[str, Any], path: str) -> str:
    return show(settings[path]) if path in settings else "absent"


def _difference(name: str, saved: Any, now: Any) -> str:
    if isinstance(now, Mapping) and isinstance(saved, Mapping):
        part = next((part for part in now if saved.get(part) != now[part]), name)
        name, saved, now = (
            (f"{name} {part}" if name == "rows of" else part),
            saved.get(part),
            now.get(part, now),
        )
    hint = "; set OMP_NUM_THREADS" if name == "threads" else ""
    what = f"its {name} was {saved!r} and is {now!r} now"
    return f"{what}; both must be equal, because a resumed run gives the same results, bit for bit{hint}"
