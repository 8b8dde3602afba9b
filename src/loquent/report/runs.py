"""What a report reads: the folders of runs, as plain data, put into groups of runs that differ in their seed
alone.
"""

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
    """One update of a curve: the mean over seeds and a standard deviation below and above it (of one seed: a
    standard error, or nothing).
    """

    update: float
    mean: float
    low: float
    high: float
    n: int


SHAPE: dict[str, type] = {
    "name": str, "task.kind": str, "algorithm.kind": str, "training.seed": int, "training.split": str,
    "training.evaluate_split": str,
    "training.evaluate_every": int, "rewards?": dict, "metrics?": dict,
}  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """One run's folder, finished or not; a line that is being written is left out."""

    folder: Path
    unread: list[str] = field(default_factory=list, compare=False)
    """What could not be read of episodes so far, in words; `notes` has it too."""

    @cached_property
    def files(self) -> RunFolder:
        """The files of the run."""
        return RunFolder(self.folder)

    @cached_property
    def _newest(self) -> tuple[int, Records, list[str]]:
        """The update and the records of the newest checkpoint that has them, and the newer checkpoints
        without them, in words.
        """
        notes: list[str] = []
        for path in reversed(self.files.checkpoints.all()):
            try:
                return names.update_of(path.name), self.files.records(path), notes
            except BadCheckpoint as error:
                notes.append(
                    f"{path} is passed over, so the run's files are compared with what an older "
                    f"checkpoint knows: {error}"
                )
        return 0, Records(self.folder), notes

    @property
    def known(self) -> Records:
        """The records of the run's files in the newest checkpoint that has them; empty where none has."""
        return self._newest[1]

    @cached_property
    def config(self) -> dict[str, Any]:
        """The recipe with every default written out."""
        file = self.files.config
        found = read_yaml(file, str(file)).bare()
        if not isinstance(found, dict) or not all(_fits(found, place, kind) for place, kind in SHAPE.items()):
            raise BadCheckpoint(f"{file} is not what a run writes; the recipe with all its sections is right")
        self.known.check(file.name)
        return found

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
        """The evaluation at the end; empty where the run has not come to it, or it is damaged.

        What cannot be drawn is null.
        """
        return self._evaluation[0]

    @cached_property
    def _evaluation(self) -> tuple[dict[str, Any], list[str]]:
        if not self.files.has_ended:
            return {}, []
        try:
            found = self.files.evaluation()
        except BadCheckpoint as error:
            return {}, [f"{error}. It is left out"]
        drawn = {key: value if lines.drawable(value) else None for key, value in found["values"].items()}
        odd = [key for key, value in found["values"].items() if value is not None and drawn[key] is None]
        return {**found, "values": drawn}, [
            f"{self.files.evaluation_file}: {key:.80} is too large to be drawn; it is left out" for key in odd
        ]

    @property
    def machine(self) -> dict[str, Any]:
        """What the run was made on; empty where the file cannot be read."""
        return self._machine[0]

    @cached_property
    def _machine(self) -> tuple[dict[str, Any], list[str]]:
        file = self.files.machine
        try:
            self.known.check(file.name)
            notes = []
        except Damaged as error:
            notes = [f"{error}. It is shown as it is now"]
        try:
            return json_files.load_object(file, nan="null"), notes
        except BadCheckpoint as error:
            return {}, notes or [f"{error}. It is left out"]

    def refuse_other_versions(self) -> None:
        """Raise AnotherRun where another version of Loquent wrote the run.

        A damaged machine.json, which cannot tell, is noted.
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
        """What the page leaves out or cannot vouch for, with file and line."""
        found = [
            *self._newest[2],
            *self._metrics.notes,
            *self._timings.notes,
            *self._machine[1],
            *self._evaluation[1],
            *self._evaluations[1],
        ]
        found += self.unread
        if not self.known and self.files.checkpoints.all():
            found.append(
                f"{self.folder}: none of its checkpoints knows what was logged, so nothing tells "
                "whether its files are as they were written"
            )
        elif not self.known and self.evaluation:
            found.append(
                f"{self.folder}: its checkpoints are gone, so nothing tells whether its logs are as "
                "they were written"
            )
        return found

    @cached_property
    def _metrics(self) -> lines.Read:
        return lines.read(self.files.logs.metrics, self.known)

    @cached_property
    def _timings(self) -> lines.Read:
        return lines.read(self.files.logs.timings, self.known)

    @property
    def seed(self) -> int:
        """The seed it is made with."""
        return int(self.config["training"]["seed"])

    @cached_property
    def final_episodes(self) -> list[Episode]:
        """The episodes of the evaluation at the end; none where they are damaged."""
        path = self.files.episodes
        try:
            if self.evaluation:
                final_evaluation.check_episodes(self.folder)
        except BadCheckpoint as error:
            self.unread.append(f"{error}. The episodes are left out")
            return []
        return self.episodes(path) if path.is_file() else []

    def episodes(self, path: Path) -> list[Episode]:
        """The episodes of a file of the run; none, with a note, where it cannot be read."""
        try:
            return list(episode.read(path))
        except LoquentError as error:
            self.unread.append(f"{error}. The episodes of {path} are left out")
            return []

    @property
    def evaluations(self) -> dict[int, Path]:
        """The episodes of each evaluation in training, by update, without those that are not what the run
        wrote.
        """
        return self._evaluations[0]

    @cached_property
    def _evaluations(self) -> tuple[dict[int, Path], list[str]]:
        found = self.files.evaluations()
        update, known, _ = self._newest
        notes: list[str] = []
        for name in known.evaluations():
            try:
                known.check(name)
            except Damaged as error:
                found.pop(names.update_of(Path(name).stem), None)
                notes.append(f"{error}. Its episodes are left out")
        for number in [
            number for number, path in found.items() if known and number <= update and not known.has(path)
        ]:
            notes.append(
                f"{found.pop(number)} was not written by this run before update {update}; it is left out"
            )
        return found, notes


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
        """The means of a logged key over the seeds that have it, update by update.

        Empty where it was never logged.

        Seeds may end at different updates: `n` says how many are in a mean, and means of different n must not
        be joined by a line. The band of a single run is the standard error that it logged beside the key,
        under `KEY_error`.
        """
        columns: dict[int, list[float]] = {}
        errors: dict[int, float] = {}
        for run in self.runs:
            for line in run.metrics:
                value = logged.value(line, key)
                if value is not None:
                    columns.setdefault(line["update"], []).append(float(value))
                    errors[line["update"]] = (
                        float(line.get(f"{key}_error") or 0.0) if len(self.runs) == 1 else 0.0
                    )
        return [_point(update, columns[update], errors[update]) for update in sorted(columns)]

    def final(self, key: str) -> tuple[float, float | None, int] | None:
        """A value of the last evaluation: its mean over the seeds, the deviation over them (of one run: its
        standard error), and n.
        """
        found = [
            (logged.value(run.evaluation["values"], key), run.evaluation["errors"].get(key))
            for run in self.runs
            if run.evaluation
        ]
        values = [value for value, _ in found if value is not None]
        if not values:
            return None
        if len(values) > 1:
            return statistics.fmean(values), statistics.stdev(values), len(values)
        return values[0], next(error for value, error in found if value is not None), 1


def _fits(config: Any, place: str, kind: type) -> bool:
    """Whether a recipe has a value of a kind at a place, and where it may be null, that or none."""
    for name in place.rstrip("?").split("."):
        config = config.get(name) if isinstance(config, dict) else None
    return (config is None and place.endswith("?")) or (
        isinstance(config, kind) and not isinstance(config, bool)
    )


def read(paths: Sequence[str | Path]) -> list[Group]:
    """The runs in some folders (of a run, or of several) in groups.

    One with a recipe and a seed that are there already begins another.

    Raises:
        BadCheckpoint: a folder holds no run, or one without a whole config.yaml. AnotherRun: another version
            of Loquent wrote it.
    """
    seen = [run for path in paths for run in _runs(Path(path))]
    for run in seen:
        run.refuse_other_versions()
    together: dict[str, list[list[Seen]]] = {}
    for run in {one.folder.resolve(): one for one in seen}.values():
        _join(run, together.setdefault(_identity(run.config), []))
    groups = [runs for several in together.values() for runs in several]
    return [Group(label, tuple(runs)) for label, runs in zip(_labels(groups), groups, strict=True)]


def _join(run: Seen, groups: list[list[Seen]]) -> None:
    """Put a run into the group of one recipe that has not its seed, rather that of its own folder.

    Or into a new one.
    """
    free = [group for group in groups if run.seed not in [one.seed for one in group]]
    if not free:
        groups.append([run])
    else:
        next(
            (group for group in free if group[0].folder.resolve().parent == run.folder.resolve().parent),
            free[0],
        ).append(run)


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many points: means over neighbouring updates where there are more."""
    size = math.ceil(len(points) / most)
    if size < 2:
        return list(points)
    alike = [list(run) for _, run in groupby(points, key=lambda point: point.n)]
    return [_together(run[i : i + size]) for run in alike for i in range(0, len(run), size)]


def _runs(path: Path) -> list[Seen]:
    if RunFolder(path).is_run:
        return [Seen(path)]
    inside = sorted(
        (file.parent for file in path.glob(f"*/{names.CONFIG}")),
        key=lambda folder: (len(folder.name), folder.name),
    )
    if not inside:
        raise BadCheckpoint(f"{path} is no run: it has no {names.CONFIG}, and no folder in it has one")
    return [Seen(folder) for folder in inside]


def _identity(config: Mapping[str, Any]) -> str:
    """A recipe but for its name and seed."""
    rest = {name: value for name, value in config.items() if name != "name"}
    return digest(
        frozen(
            {
                **rest,
                "training": {name: value for name, value in config["training"].items() if name != "seed"},
            }
        ),
        16,
    )


def _labels(groups: Sequence[Sequence[Seen]]) -> list[str]:
    """Recipes' names where they differ, else folders', with as much of the path as makes them differ."""
    folders = [runs[0].folder.resolve() for runs in groups]
    over = [
        folder.parent if folder.name == f"seed-{runs[0].seed}" else folder
        for folder, runs in zip(folders, groups, strict=True)
    ]
    places = [folder if over.count(place) > 1 else place for folder, place in zip(folders, over, strict=True)]
    depth = [0] * len(groups)
    while True:
        labels = [
            "/".join(place.parts[-n:]) if n else str(runs[0].config["name"])
            for n, place, runs in zip(depth, places, groups, strict=True)
        ]
        again = [
            i for i, label in enumerate(labels) if labels.count(label) > 1 and depth[i] < len(places[i].parts)
        ]
        if not again:
            return labels
        for i in again:
            depth[i] += 1


def _together(chunk: Sequence[Point]) -> Point:
    update, mean, low, high, _ = (statistics.fmean(column) for column in zip(*chunk, strict=True))
    return Point(update, mean, low, high, chunk[0].n)


def _point(update: int, values: Sequence[float], error: float) -> Point:
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) if len(values) > 1 else error
    return Point(update, mean, mean - spread, mean + spread, len(values))
