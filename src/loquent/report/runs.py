"""What a report reads: the folders of runs, as plain data, put into groups of runs that differ in their seed alone."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from loquent import checkpoint, episode
from loquent.episode import Episode
from loquent.errors import BadCheckpoint
from loquent.fill import parse
from loquent.values import digest, frozen


class Point(NamedTuple):
    """One update of a curve: the mean over seeds and a standard deviation below and above it (the mean where there is one seed)."""

    update: float
    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Seen:
    """One run's folder, finished or not; a line that is being written is left out."""

    folder: Path

    @cached_property
    def config(self) -> dict[str, Any]:
        """The recipe with every default written out."""
        file = self.folder / "config.yaml"
        found = parse(file.read_text(encoding="utf-8"), str(file)).bare()
        if not isinstance(found, dict) or not {"name", "training", "task", "algorithm"} <= found.keys():
            raise BadCheckpoint(f"{file} is not what a run writes; the recipe with all its sections is right")
        return found

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """One object per update."""
        return list(checkpoint.read_lines(self.folder / "metrics.jsonl", torn_end=True))

    @cached_property
    def timings(self) -> list[dict[str, Any]]:
        """Seconds by stage, one object per update."""
        return list(checkpoint.read_lines(self.folder / "timings.jsonl", torn_end=True))

    @cached_property
    def evaluation(self) -> dict[str, Any]:
        """The evaluation at the end; empty where the run has not come to it."""
        return _json(self.folder / "evaluation.json")

    @cached_property
    def machine(self) -> dict[str, Any]:
        """What the run was made on."""
        return _json(self.folder / "machine.json")

    @property
    def seed(self) -> int:
        """The seed it is made with."""
        return int(self.config["training"]["seed"])

    @property
    def final_episodes(self) -> list[Episode]:
        """The episodes of the evaluation at the end."""
        path = self.folder / "episodes.jsonl"
        return list(episode.read(path)) if path.is_file() else []

    def evaluations(self) -> dict[int, Path]:
        """The episodes of each evaluation in training, by update."""
        found = {path.stem.removeprefix("update-"): path for path in (self.folder / "episodes").glob("update-*.jsonl")}
        return {int(number): found[number] for number in sorted(filter(str.isdigit, found), key=int)}


@dataclass(frozen=True)
class Group:
    """Runs of one recipe with different seeds."""

    label: str
    runs: tuple[Seen, ...]

    @property
    def seeds(self) -> list[int]:
        """The seeds, in the order of the runs."""
        return [run.seed for run in self.runs]

    def curve(self, key: str) -> list[Point]:
        """The means of a logged key over the seeds that have it, update by update; empty where it was never logged.

        Seeds may end at different updates: `n` says how many are in a mean, and means of different n must not be joined by a line.
        """
        columns: dict[int, list[float]] = {}
        for run in self.runs:
            for line in run.metrics:
                if line.get(key) is not None:
                    columns.setdefault(line["update"], []).append(float(line[key]))
        return [_point(update, columns[update]) for update in sorted(columns)]

    def final(self, key: str) -> tuple[float, float | None, int] | None:
        """A value of the last evaluation: its mean over the seeds, the deviation over them (of one run: its standard error), and n."""
        found = [(run.evaluation["values"].get(key), run.evaluation["errors"].get(key)) for run in self.runs if run.evaluation]
        values = [value for value, _ in found if value is not None]
        if not values:
            return None
        if len(values) > 1:
            return statistics.fmean(values), statistics.stdev(values), len(values)
        return values[0], next(error for value, error in found if value is not None), 1


def _json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; empty where there is no file. BadCheckpoint where it is torn."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda _: None)
        if not isinstance(found, dict):
            raise ValueError("it is no JSON object")
    except ValueError as error:
        raise BadCheckpoint(f"{path} is torn ({error})") from error
    return found


def read(paths: Sequence[str | Path]) -> list[Group]:
    """The runs in some folders (of a run, or of several) in groups; one with a recipe and a seed that are there already begins another.

    Raises:
        BadCheckpoint: a folder holds no run.
    """
    seen = [run for path in paths for run in _runs(Path(path))]
    together: dict[str, list[list[Seen]]] = {}
    for run in {one.folder.resolve(): one for one in seen}.values():
        _join(run, together.setdefault(_identity(run.config), []))
    groups = [runs for several in together.values() for runs in several]
    return [Group(label, tuple(runs)) for label, runs in zip(_labels(groups), groups, strict=True)]


def _join(run: Seen, groups: list[list[Seen]]) -> None:
    """Put a run into the group of one recipe that has not its seed, rather that of its own folder; or into a new one."""
    free = [group for group in groups if run.seed not in [one.seed for one in group]]
    if not free:
        groups.append([run])
    else:
        next((group for group in free if group[0].folder.resolve().parent == run.folder.resolve().parent), free[0]).append(run)


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many points: means over neighbouring updates where there are more."""
    size = math.ceil(len(points) / most)
    if size < 2:
        return list(points)
    alike = [list(run) for _, run in groupby(points, key=lambda point: point.n)]
    return [_together(run[i : i + size]) for run in alike for i in range(0, len(run), size)]


def _runs(path: Path) -> list[Seen]:
    if (path / "config.yaml").is_file():
        return [Seen(path)]
    inside = sorted((found.parent for found in path.glob("*/config.yaml")), key=lambda folder: (len(folder.name), folder.name))
    if not inside:
        raise BadCheckpoint(f"{path} is no run: it has no config.yaml, and no folder in it has one")
    return [Seen(folder) for folder in inside]


def _identity(config: Mapping[str, Any]) -> str:
    """A recipe but for its name and seed."""
    rest = {name: value for name, value in config.items() if name != "name"}
    return digest(frozen({**rest, "training": {name: value for name, value in config["training"].items() if name != "seed"}}), 16)


def _labels(groups: Sequence[Sequence[Seen]]) -> list[str]:
    """Recipes' names where they differ, else folders', with as much of the path as makes them differ."""
    folders = [runs[0].folder.resolve() for runs in groups]
    over = [folder.parent if folder.name == f"seed-{runs[0].seed}" else folder for folder, runs in zip(folders, groups, strict=True)]
    places = [folder if over.count(place) > 1 else place for folder, place in zip(folders, over, strict=True)]
    depth = [0] * len(groups)
    while True:
        labels = ["/".join(place.parts[-n:]) if n else str(runs[0].config["name"]) for n, place, runs in zip(depth, places, groups, strict=True)]
        again = [i for i, label in enumerate(labels) if labels.count(label) > 1 and depth[i] < len(places[i].parts)]
        if not again:
            return labels
        for i in again:
            depth[i] += 1


def _together(chunk: Sequence[Point]) -> Point:
    update, mean, low, high, _ = (statistics.fmean(column) for column in zip(*chunk, strict=True))
    return Point(update, mean, low, high, chunk[0].n)


def _point(update: int, values: Sequence[float]) -> Point:
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return Point(update, mean, mean - spread, mean + spread, len(values))
