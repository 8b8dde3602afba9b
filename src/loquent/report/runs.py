"""The folder of one run as a report reads it: plain data, and notes on all that cannot be read."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from loquent.core import episode
from loquent.core.episode import Episode
from loquent.core.guards import json_files
from loquent.core.options import read as read_yaml
from loquent.errors import AnotherRun, BadCheckpoint, Damaged, LoquentError
from loquent.files import evaluation_rows, final_evaluation, names, run_remarks
from loquent.files.evaluation_rows import RowValues
from loquent.files.run_folder import RunFolder, Tuning
from loquent.files.run_records import Records
from loquent.report import lines
from loquent.report.diagnosis import Diagnosis, Log, diagnose
from loquent.report.ranges import limits

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
    def evaluation_rows(self) -> list[RowValues]:
        """The values by row of the evaluations in training; none in runs of earlier versions."""
        return self._evaluation_rows[0]

    @cached_property
    def _evaluation_rows(self) -> tuple[list[RowValues], list[str]]:
        try:
            self.records.check(names.EVALUATION_ROWS)
            return evaluation_rows.load(self.folder), []
        except BadCheckpoint as error:
            return [], [f"{error}. It is left out"]

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

    @property
    def tuning(self) -> Tuning | None:
        """What the search for the settings cost; None if they were not searched, or the file is damaged."""
        return self._tuning[0]

    @cached_property
    def _tuning(self) -> tuple[Tuning | None, list[str]]:
        try:
            return self.files.read_tuning(), []
        except BadCheckpoint as error:
            return None, [f"{error}. It is left out"]

    @property
    def decoding(self) -> str:
        """How the policy chooses its answers in evaluation."""
        return final_evaluation.decoding({**self.machine, **self.evaluation})

    @property
    def player(self) -> str:
        """Who plays the episodes that the run learns from; earlier versions did not record it."""
        return str(self.machine.get("player") or "policy")

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
            *self._tuning[1],
            *self._evaluation[1],
            *self._evaluation_rows[1],
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
    def start(self) -> ReportedRun | None:
        """The run that this one starts from, where its settings say or beside it; None if unreadable."""
        path = (self.config.get("model") or {}).get("path")
        for place in (Path(path), self.folder.parent / Path(path).name) if isinstance(path, str) else ():
            with contextlib.suppress(LoquentError, OSError):
                folder = RunFolder.around(place) if path else None
                if folder is not None and folder.path.resolve() != self.folder.resolve():
                    before = ReportedRun(folder.path)
                    before.refuse_other_versions()
                    return before
        return None

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """What the rules of `diagnosis` say of the run, and of the run that it starts from."""
        start = None
        with contextlib.suppress(LoquentError, OSError):
            if self.start is not None:
                start = diagnose(str(self.start.folder), self.start.log)
        return diagnose(str(self.folder), self.log, start)

    @property
    def log(self) -> Log:
        """The log as the rules of a diagnosis read it."""
        evaluations = [self.evaluation] if self.evaluation else []
        return Log(
            lines=self.metrics,
            timings=self.timings,
            config=self.config,
            evaluation=self.evaluation,
            player=str(self.machine.get("player") or ""),
            remarks=[line["remark"] for line in run_remarks.read(self.folder)],
            greatest=lambda key, values: limits(key, values, evaluations)[1],
        )

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


def _fits(config: Any, place: str, kind: type) -> bool:
    """Whether a recipe has a value of a type at a place; at a place with "?" it may also be null."""
    for name in place.rstrip("?").split("."):
        config = config.get(name) if isinstance(config, dict) else None
    return (config is None and place.endswith("?")) or (
        isinstance(config, kind) and not isinstance(config, bool)
    )
