"""Runs in groups that differ only in the seed, theirs and that of the runs that they start from.

Their curves are means over the seeds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, NamedTuple

from loquent.core import log_keys
from loquent.core.values import digest, freeze
from loquent.errors import BadCheckpoint
from loquent.files import names
from loquent.files.run_folder import RunFolder
from loquent.report.runs import ReportedRun

AXES = ("update", "episodes", "tokens")


class Point(NamedTuple):
    """One update of a curve: the mean over n seeds, and one standard deviation below and above it.

    With one seed, `low` and `high` are one standard error away, or equal to the mean.
    """

    update: float
    mean: float
    low: float
    high: float
    n: int


class Progress(NamedTuple):
    """How far a group was at each update: by axis, one value per update of `updates`.

    Values never fall. An axis that a run did not log is missing.
    """

    updates: tuple[float, ...]
    axes: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Group:
    """Runs of one recipe with different seeds."""

    label: str
    runs: tuple[ReportedRun, ...]

    @property
    def seeds(self) -> list[int]:
        """The seeds, in the order of the runs."""
        return [run.seed for run in self.runs]

    @property
    def decoding(self) -> str:
        """How the policies choose their answers in evaluation."""
        return "; ".join(dict.fromkeys(run.decoding for run in self.runs))

    @cached_property
    def progress(self) -> Progress:
        """The episodes and the action tokens learned from so far, as means over the seeds, by update."""
        runs = [_progress(run.metrics) for run in self.runs]
        updates = sorted({update for run in runs for update in run["update"]})
        axes = {
            axis: tuple(
                accumulate(
                    (
                        statistics.fmean(run[axis][update] for run in runs if update in run[axis])
                        for update in updates
                    ),
                    max,
                )
            )
            for axis in AXES
            if all(axis in run for run in runs)
        }
        return Progress(tuple(updates), axes)

    def curve(self, key: str) -> list[Point]:
        """The means of a logged key over the seeds that have it, by update; empty if it was never logged.

        Seeds may end at different updates: `n` is the number of seeds in a mean, and means of different n
        must not be joined by a line. The band of a single run is the standard error that it logged under
        `KEY_error`.
        """
        values: dict[int, list[float]] = {}
        errors: dict[int, float] = {}
        single = len(self.runs) == 1
        for run in self.runs:
            for line in run.metrics:
                value = log_keys.value(line, key)
                if value is not None:
                    values.setdefault(line["update"], []).append(float(value))
                    errors[line["update"]] = float(line.get(f"{key}_error") or 0.0) if single else 0.0
        return [_point(update, values[update], errors[update]) for update in sorted(values)]

    def final(self, key: str) -> tuple[float, float | None, int] | None:
        """A value of the evaluation at the end: the mean, the standard deviation and the number n of seeds.

        Of one run, its standard error in place of the deviation.
        """
        pairs = [
            (log_keys.value(run.evaluation["values"], key), run.evaluation["errors"].get(key))
            for run in self.runs
            if run.evaluation
        ]
        values = [value for value, _ in pairs if value is not None]
        if not values:
            return None
        if len(values) > 1:
            return statistics.fmean(values), statistics.stdev(values), len(values)
        return values[0], next(error for value, error in pairs if value is not None), 1


def read(paths: Sequence[str | Path]) -> list[Group]:
    """Read the runs in some folders (of a run, or of several runs), in groups of one recipe.

    If a recipe has two runs with the same seed, the second one begins another group.

    Raises:
        BadCheckpoint: a folder holds no run, or a run without a complete config.yaml.
        AnotherRun: another version of Loquent wrote a run.
    """
    runs = [run for path in paths for run in _runs(Path(path))]
    for run in runs:
        run.refuse_other_versions()
    by_recipe: dict[str, list[list[ReportedRun]]] = {}
    for run in {run.folder.resolve(): run for run in runs}.values():
        _join(run, by_recipe.setdefault(_identity(run), []))
    groups = [group for same_recipe in by_recipe.values() for group in same_recipe]
    return [Group(label, tuple(group)) for label, group in zip(_labels(groups), groups, strict=True)]


def _join(run: ReportedRun, groups: list[list[ReportedRun]]) -> None:
    """Put a run into a group of its recipe that does not have its seed, or into a new group.

    A group of runs in the same folder is preferred.
    """
    free = [group for group in groups if run.seed not in [other.seed for other in group]]
    if not free:
        groups.append([run])
        return
    folder = run.folder.resolve().parent
    next((group for group in free if group[0].folder.resolve().parent == folder), free[0]).append(run)


def bound_bands(points: Sequence[Point], ends: tuple[float, float]) -> list[Point]:
    """The points, whose bands end at the least and the greatest possible mean."""
    least, greatest = ends
    return [point._replace(low=max(point.low, least), high=min(point.high, greatest)) for point in points]


def thin_curve(points: Sequence[Point], most: int) -> list[Point]:
    """The points of a curve, averaged over neighbouring updates if there are more than `most`."""
    size = math.ceil(len(points) / most)
    if size < 2:
        return list(points)
    alike = [list(run) for _, run in groupby(points, key=lambda point: point.n)]
    return [_together(run[i : i + size]) for run in alike for i in range(0, len(run), size)]


def _runs(path: Path) -> list[ReportedRun]:
    """The run in a folder, or the runs in its subfolders."""
    if RunFolder(path).is_run:
        return [ReportedRun(path)]
    folders = sorted(
        (file.parent for file in path.glob(f"*/{names.CONFIG}")),
        key=lambda folder: (len(folder.name), folder.name),
    )
    if not folders:
        raise BadCheckpoint(
            f"{path} is no run: neither this folder nor a folder in it has a {names.CONFIG}. Name the folder "
            "that `loquent train` wrote"
        )
    return [ReportedRun(folder) for folder in folders]


def _identity(run: ReportedRun) -> str:
    """A digest of a run's recipe and of those of the runs that it starts from, without names and seeds."""
    parts, seen, before = [], set[Path](), run
    while before.folder.resolve() not in seen:
        seen.add(before.folder.resolve())
        rest = _without(before.config, "name")
        parts.append(rest | {"training": _without(rest["training"], "seed")})
        if before.start is None:
            break
        inside = Path(rest["model"]["path"]).parts[-3:]  # perhaps of one of its checkpoints
        inside = inside[inside.index(names.CHECKPOINTS) :] if names.CHECKPOINTS in inside else ()
        parts[-1] |= {"model": {**rest["model"], "path": inside}}
        before = before.start
    return digest(freeze(parts), 16)


def _without(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key != name}


def _labels(groups: Sequence[Sequence[ReportedRun]]) -> list[str]:
    """The names of the recipes; for equal names, so much of the folder's path as makes them differ."""
    folders = [group[0].folder.resolve() for group in groups]
    parents = [
        folder.parent if folder.name == f"seed-{group[0].seed}" else folder
        for folder, group in zip(folders, groups, strict=True)
    ]
    places = [
        folder if parents.count(place) > 1 else place for folder, place in zip(folders, parents, strict=True)
    ]
    depth = [0] * len(groups)
    while True:
        labels = [
            "/".join(place.parts[-n:]) if n else str(group[0].config["name"])
            for n, place, group in zip(depth, places, groups, strict=True)
        ]
        equal = [
            i for i, label in enumerate(labels) if labels.count(label) > 1 and depth[i] < len(places[i].parts)
        ]
        if not equal:
            return labels
        for i in equal:
            depth[i] += 1


def _together(points: Sequence[Point]) -> Point:
    update, mean, low, high, _ = (statistics.fmean(column) for column in zip(*points, strict=True))
    return Point(update, mean, low, high, points[0].n)


def _point(update: int, values: Sequence[float], error: float) -> Point:
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) if len(values) > 1 else error
    return Point(update, mean, mean - spread, mean + spread, len(values))


def _progress(lines: Sequence[Mapping[str, Any]]) -> dict[str, dict[float, float]]:
    """By axis, the value at each update of a run; the axis `tokens` is the running sum of action tokens.

    An update adds its episodes times their mean action tokens. An axis is left out if a line does not have
    its values.
    """
    found: dict[str, dict[float, float]] = {axis: {} for axis in AXES}
    tokens = before = 0.0
    for line in lines:
        update, episodes = line["update"], line.get("episodes")
        found["update"][update] = update
        if episodes is None:
            continue
        mean = line.get("rollout/tokens", line.get("data/tokens"))
        found["episodes"][update] = episodes
        if mean is not None or episodes == before:
            tokens += (mean or 0.0) * (episodes - before)
            found["tokens"][update] = tokens
        before = episodes
    return {axis: column for axis, column in found.items() if len(column) == len(lines)}
