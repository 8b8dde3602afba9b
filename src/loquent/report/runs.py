"""The folders of runs as a report reads them: plain data, in groups of runs that differ only in the seed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from loquent.core import episode, logged
from loquent.core.episode import Episode
from loquent.core.guards import json_files
from loquent.core.options import read as read_yaml
from loquent.core.values import digest, frozen
from loquent.errors import AnotherRun, BadCheckpoint, Damaged, LoquentError
from loquent.files import final_evaluation, names
from loquent.files.run_folder import RunFolder
from loquent.files.run_records import Records
from loquent.report import lines


class Point(NamedTuple):
    """One update of a curve: the mean over n seeds, and one standard deviation below and above it.

    With one seed, `low` and `high` are one standard error away, or equal to the mean.
    """

    update: float
    mean: float
    low: float
    high: float
    n: int


SHAPE: dict[str, type] = {  # the places that config.yaml must have; "?": the value may be null
    "name": str,
    "task.kind": str,
    "algorithm.kind": str,
    "training.seed": int,
    "training.split": str,
    "training.evaluate_split": str,
    "training.evaluate_every": int,
    "rewards?": dict,
    "metrics?": dict,
}


@dataclass(frozen=True)
class ReportedRun:
    """The folder of one run, finished or not.

    A line of a log that the run is writing now is left out.
    """

    folder: Path
    unread: list[str] = field(default_factory=list, compare=False)
    """Notes on episodes that could not be read so far; `notes` has them too."""

    @cached_property
    def files(self) -> RunFolder:
        """The files of the run."""
        return RunFolder(self.folder)

    @cached_property
    def _newest(self) -> tuple[int, Records, list[str]]:
        """The update and the records of the newest checkpoint that has records.

        Also the notes on newer checkpoints without records.
        """
        notes: list[str] = []
        for path in reversed(self.files.checkpoints.all()):
            try:
                return names.update_of(path.name), self.files.records(path), notes
            except BadCheckpoint as error:
                notes.append(
                    f"{path} is passed over, so the run's files are compared with the records of an older "
                    f"checkpoint: {error}"
                )
        return 0, Records(self.folder), notes

    @property
    def records(self) -> Records:
        """The records of the run's files in the newest checkpoint that has them; empty if none has."""
        return self._newest[1]

    @cached_property
    def config(self) -> dict[str, Any]:
        """The recipe with every default written out."""
        file = self.files.config
        config = read_yaml(file, str(file)).bare()
        if not isinstance(config, dict) or not all(
            _fits(config, place, kind) for place, kind in SHAPE.items()
        ):
            raise BadCheckpoint(
                f"{file} was not written by a run: it must hold the recipe with all its sections. Restore "
                "the file that the run wrote"
            )
        self.records.check(file.name)
        if extended := self.files.overrides():
            config["training"]["updates"] = int(extended[0].partition("=")[2])
        return config

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """One object per update, with numbers and nulls only."""
        return self._metrics.lines

    @cached_property
    def timings(self) -> list[dict[str, Any]]:
        """Seconds by stage, one object per update."""
        return [
            {name: value for name, value in line.items() if value is not None} for line in self._timings.lines
        ]

    @property
    def evaluation(self) -> dict[str, Any]:
        """The evaluation at the end; empty if the run has not reached its end, or if the file is damaged.

        A value that cannot be drawn is null.
        """
        return self._evaluation[0]

    @cached_property
    def _evaluation(self) -> tuple[dict[str, Any], list[str]]:
        if not self.files.has_ended:
            return {}, []
        try:
            evaluation = self.files.evaluation()
        except BadCheckpoint as error:
            return {}, [f"{error}. It is left out"]
        values = evaluation["values"]
        drawn = {key: value if lines.drawable(value) else None for key, value in values.items()}
        odd = [key for key, value in values.items() if value is not None and drawn[key] is None]
        return {**evaluation, "values": drawn}, [
            f"{self.files.evaluation_file}: {key:.80} is too large to be drawn; it is left out" for key in odd
        ]

    @property
    def machine(self) -> dict[str, Any]:
        """The machine of the run; empty if the file cannot be read."""
        return self._machine[0]

    @cached_property
    def _machine(self) -> tuple[dict[str, Any], list[str]]:
        file = self.files.machine
        try:
            self.records.check(file.name)
            notes = []
        except Damaged as error:
            notes = [f"{error}. It is shown as it is now"]
        try:
            return json_files.load_object(file, nan="null"), notes
        except BadCheckpoint as error:
            return {}, notes or [f"{error}. It is left out"]

    def refuse_other_versions(self) -> None:
        """Raise AnotherRun if another version of Loquent wrote the run.

        If machine.json is damaged, the version is unknown, and `notes` says so.
        """
        try:
            self.files.check_format()
        except AnotherRun:
            if not self._machine[1]:
                raise
        except BadCheckpoint:
            pass

    @property
    def notes(self) -> list[str]:
        """The notes on what the page leaves out or could not check, with file and line."""
        notes = [
            *self._newest[2],
            *self._metrics.notes,
            *self._timings.notes,
            *self._machine[1],
            *self._evaluation[1],
            *self._evaluations[1],
        ]
        notes += self.unread
        if not self.records and self.files.checkpoints.all():
            notes.append(
                f"{self.folder}: none of its checkpoints has records of the logs, so its files could not be "
                "compared with what the run wrote"
            )
        elif not self.records and self.evaluation:
            notes.append(
                f"{self.folder}: its checkpoints are gone, so its logs could not be compared with what the "
                "run wrote"
            )
        return notes

    @cached_property
    def _metrics(self) -> lines.Read:
        return lines.read(self.files.logs.metrics, self.records)

    @cached_property
    def _timings(self) -> lines.Read:
        return lines.read(self.files.logs.timings, self.records)

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.config["training"]["seed"])

    @cached_property
    def final_episodes(self) -> list[Episode]:
        """The episodes of the evaluation at the end; none if they are damaged."""
        path = self.files.episodes
        try:
            if self.evaluation:
                final_evaluation.check_episodes(self.folder)
        except BadCheckpoint as error:
            self.unread.append(f"{error}. The episodes are left out")
            return []
        return self.episodes(path) if path.is_file() else []

    def episodes(self, path: Path) -> list[Episode]:
        """The episodes of a file of the run; none, with a note, if it cannot be read."""
        try:
            return list(episode.read(path))
        except LoquentError as error:
            self.unread.append(f"{error}. The episodes of {path} are left out")
            return []

    @property
    def evaluations(self) -> dict[int, Path]:
        """The files of episodes of each evaluation in training, by update.

        A file that the run did not write, or that is damaged, is left out.
        """
        return self._evaluations[0]

    @cached_property
    def _evaluations(self) -> tuple[dict[int, Path], list[str]]:
        paths = self.files.evaluations()
        update, records, _ = self._newest
        notes: list[str] = []
        for name in records.evaluations():
            try:
                records.check(name)
            except Damaged as error:
                paths.pop(names.update_of(Path(name).stem), None)
                notes.append(f"{error}. Its episodes are left out")
        unknown = [number for number, path in paths.items() if number <= update and not records.has(path)]
        for number in unknown if records else ():
            path = paths.pop(number)
            notes.append(f"{path} was not written by this run before update {update}; it is left out")
        return paths, notes


@dataclass(frozen=True)
class Group:
    """Runs of one recipe with different seeds."""

    label: str
    runs: tuple[ReportedRun, ...]

    @property
    def seeds(self) -> list[int]:
        """The seeds, in the order of the runs."""
        return [run.seed for run in self.runs]

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
                value = logged.value(line, key)
                if value is not None:
                    values.setdefault(line["update"], []).append(float(value))
                    errors[line["update"]] = float(line.get(f"{key}_error") or 0.0) if single else 0.0
        return [_point(update, values[update], errors[update]) for update in sorted(values)]

    def final(self, key: str) -> tuple[float, float | None, int] | None:
        """A value of the evaluation at the end: the mean, the standard deviation and the number n of seeds.

        Of one run, its standard error in place of the deviation.
        """
        pairs = [
            (logged.value(run.evaluation["values"], key), run.evaluation["errors"].get(key))
            for run in self.runs
            if run.evaluation
        ]
        values = [value for value, _ in pairs if value is not None]
        if not values:
            return None
        if len(values) > 1:
            return statistics.fmean(values), statistics.stdev(values), len(values)
        return values[0], next(error for value, error in pairs if value is not None), 1


def _fits(config: Any, place: str, kind: type) -> bool:
    """Whether a recipe has a value of a type at a place; at a place with "?" it may also be null."""
    for name in place.rstrip("?").split("."):
        config = config.get(name) if isinstance(config, dict) else None
    return (config is None and place.endswith("?")) or (
        isinstance(config, kind) and not isinstance(config, bool)
    )


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
        _join(run, by_recipe.setdefault(_identity(run.config), []))
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


def thinned(points: Sequence[Point], most: int) -> list[Point]:
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


def _identity(config: Mapping[str, Any]) -> str:
    """A digest of a recipe without its name and seed."""
    rest = {name: value for name, value in config.items() if name != "name"}
    training = {name: value for name, value in config["training"].items() if name != "seed"}
    return digest(frozen({**rest, "training": training}), 16)


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
