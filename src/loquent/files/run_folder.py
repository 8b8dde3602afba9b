"""The folder of a run: the paths of all its files, writing them and reading them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from loquent.core import episode, schema
from loquent.core.episode import Episode
from loquent.core.guards import json_files
from loquent.core.settings import check_ranges, setting
from loquent.errors import AnotherRun, BadCheckpoint, BadSetting, Damaged
from loquent.files import atomic, evaluation_rows, final_evaluation, manifest, names, trust
from loquent.files.machine.version import RUN_FORMAT, __version__
from loquent.files.run_checkpoints import RunCheckpoints
from loquent.files.run_logs import RunLogs
from loquent.files.run_records import Recorder, Records, evaluation_files


@dataclass(frozen=True)
class Extension:
    """What `extended.json` holds: the number of updates since the run was extended."""

    updates: int = setting(low=1)


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What the search for a recipe's settings cost: its section `tuning:`, and `tuning.json` of its runs.

    It changes no result of a run. `loquent search` writes it, so that tables and reports can say how much
    tuning a method got.
    """

    trials: int = setting(why="the trials of the search", low=1)
    updates: int = setting(why="the updates of all its runs", low=0)
    episodes: int = setting(why="the episodes of all its runs", low=0)
    seconds: float = setting(why="the time of all its runs", low=0.0)
    metric: str = setting(why="the value that chose the best trial")
    split: str = setting(why="the split on which it was measured; never `test`")
    rows: int = setting(0, "the rows of this split that measured each trial; 0: not recorded", low=0)

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.split == "test":
            raise BadSetting(
                f"Tuning.split = {self.split!r} is the split of final evaluations; settings are never chosen "
                "by it. Search on the split validation"
            )

    def followed_by(self, later: Tuning) -> Tuning:
        """Both searches together, with the metric and the split of the later one."""
        sums = {
            name: getattr(self, name) + getattr(later, name)
            for name in ("trials", "updates", "episodes", "seconds")
        }
        return replace(later, **sums)

    def __str__(self) -> str:
        return f"{self.trials:,} trials, {self.updates:,} updates"

    @property
    def measure(self) -> str:
        """The value that chose the best trial, with the split and the number of its rows."""
        rows = f"{self.rows:,} rows of " if self.rows else ""
        return f"{self.metric} on {rows}the split {self.split}"


class RunFolder:
    """The folder of one run, or a path where a run may begin.

    Nothing is read or written on construction.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.config, self.machine, self.data = (
            self.path / name for name in (names.CONFIG, names.MACHINE, names.DATA)
        )
        self.extended, self.tuning = self.path / names.EXTENDED, self.path / names.TUNING
        self.samples, self.annotations = self.path / names.SAMPLES, self.path / names.ANNOTATIONS
        self.draft = self.path / names.DRAFT
        self.evaluation_file, self.episodes = self.path / names.EVALUATION, self.path / names.EPISODES
        self.report, self.tensorboard = self.path / names.REPORT, self.path / names.TENSORBOARD
        self.suite, self.failure = self.path / names.SUITE, self.path / names.FAILURE
        self.logs = RunLogs(self.path)
        self.checkpoints = RunCheckpoints(self.path / names.CHECKPOINTS)

    @classmethod
    def around(cls, path: Path) -> RunFolder | None:
        """The run of a path, which is a run, one of its checkpoints, or a checkpoint's policy.

        None if the path is of no run.
        """
        above = (path, *path.absolute().parents[:2])
        checkpoints = next((parent for parent in above if parent.name == names.CHECKPOINTS), None)
        folders = [cls(path), *([] if checkpoints is None else [cls(checkpoints.parent)])]
        return next((folder for folder in folders if folder.is_run), None)

    @property
    def is_run(self) -> bool:
        """Whether a run has begun here."""
        return self.config.is_file()

    @property
    def only_begun(self) -> bool:
        """Whether nothing stands here but the first files of a run, which has logged nothing."""
        first = {self.config, self.machine, self.data, self.tuning, self.logs.metrics, self.logs.timings}
        allowed = first | {self.path / f"{names.CONFIG}{trust.MARK}", self.path / names.LOCK}
        logged = not self.logs.metrics.is_file() or self.logs.metrics.stat().st_size
        return set(self.path.iterdir()) <= allowed and not logged

    def require_free(self) -> None:
        """Raise BadCheckpoint if a run has logged something here, or if this cannot be a folder."""
        there = next(path for path in (self.path, *self.path.absolute().parents) if path.exists())
        if not there.is_dir():
            raise BadCheckpoint(f"{there} is a file, so no run can be written to {self.path}; name a folder")
        if self.config.exists() and not self.only_begun:
            advice = f"name another folder, continue it: loquent resume {self.path}, or delete the folder"
            raise BadCheckpoint(f"{self.path} holds a run already; {advice}")

    def require_run(self) -> None:
        """Raise BadCheckpoint if no run has begun here, with the reason."""
        if self.is_run:
            return
        if not self.path.exists():
            raise BadCheckpoint(f"there is no folder {self.path}; name the folder of a run")
        if self.path.is_file():
            raise BadCheckpoint(f"{self.path} is a file; name the folder of a run")
        if seed := self.one_seed():
            what = f"{self.path} is no run but a folder with runs of several seeds"
            raise BadCheckpoint(f"{what}; name one of them: {seed}")
        if inner := min(self.path.glob(f"*/{names.CONFIG}"), default=None):
            raise BadCheckpoint(
                f"{self.path} is no run but a folder with runs; name one of them: {inner.parent}. "
                "To continue a quickstart or a suite, repeat its command: loquent quickstart or loquent "
                "bench, as first given"
            )
        raise BadCheckpoint(f"{self.path} is no run: it has no {names.CONFIG}; name the folder of a run")

    def check_format(self) -> None:
        """Check that this version of Loquent can read the run.

        Raises:
            AnotherRun: another version wrote it.
            Damaged: machine.json, which has the version, cannot be read.
        """
        machine = json_files.load_object(self.machine, "put it back from a copy", error=Damaged, nan="null")
        if machine.get("run_format") != RUN_FORMAT:
            form = json_files.show(machine["run_format"]) if "run_format" in machine else "missing"
            raise AnotherRun(
                f"{self.machine}: run_format is {form}, so another version wrote this run; this version "
                f"of Loquent ({__version__}) reads {RUN_FORMAT} only. Read it with that version, or train it "
                f"again. To use only its model, name a `{names.POLICY}/` in {self.path}"
            )

    def one_seed(self) -> Path | None:
        """The first run in a folder of runs with several seeds; None if there is none."""
        return min(
            (path.parent for path in self.path.glob(f"seed-*/{names.CONFIG}") if path.is_file()), default=None
        )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder for writing.

        The operating system releases the lock when the process ends for any reason.

        Raises:
            BadCheckpoint: another process has the lock.
        """
        from filelock import FileLock, Timeout  # torch brings it

        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / names.LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout as error:
            advice = "wait until it has ended, or stop it first"
            raise BadCheckpoint(f"another process is writing in {self.path} now; {advice}") from error
        try:
            yield
        finally:
            lock.release()

    def begin(self, config: str, machine: Mapping[str, Any], data: Mapping[str, Any] | None = None) -> None:
        """Write the first files of a run. The recipe comes last, because it makes the folder a run.

        Args:
            config: the recipe as YAML, with every default.
            machine: the machine, and the identity of the run.
            data: the recorded episodes that the run learns from, if any.
        """
        self.logs.begin()
        self.data.unlink(missing_ok=True)  # of a run that ended before its first update
        if data is not None:
            atomic.write_json(self.data, data)
        atomic.write_json(self.machine, machine)
        atomic.write_text(self.config, config)
        trust.sign(self.config)

    def write_tuning(self, tuning: Tuning | None) -> None:
        """Write what the search for the settings of the run cost; None: they were not searched."""
        self.tuning.unlink(missing_ok=True)
        if tuning is not None:
            atomic.write_json(self.tuning, asdict(tuning))

    def read_tuning(self) -> Tuning | None:
        """What the search for the settings of the run cost; None: they were not searched.

        Raises:
            BadCheckpoint: the file is not one that `write_tuning` wrote.
        """
        return schema.load(Tuning, self.tuning) if self.tuning.is_file() else None

    def overrides(self) -> list[str]:
        """The settings that were changed since the run began, as `key.path=value` for `config.yaml`.

        Only the number of updates can change (`extend`).

        Raises:
            Damaged: `extended.json` does not hold a number of updates.
        """
        if not self.extended.exists():
            return []
        advice = 'it must be {"updates": N} with N of at least 1; write the number of updates of the run'
        updates = schema.load(Extension, self.extended, advice, error=Damaged).updates
        return [f"training.updates={updates}"]

    def extend(self, updates: int) -> None:
        """Note that the run has this many updates, and delete its evaluation at the end.

        The evaluation goes first: if the process is killed in between, resuming the run makes it again.
        """
        for file in (self.evaluation_file, self.episodes, self.report):
            file.unlink(missing_ok=True)
        atomic.write_json(self.extended, {"updates": updates})

    def recorder(self) -> Recorder:
        """A new recorder of the files that the run writes."""
        return Recorder(self.path)

    def records(self, checkpoint: Path) -> Records:
        """The records of the run's files in a checkpoint; Damaged if the records have changed."""
        return Records.read(self.path, checkpoint)

    def newest_records(self) -> Records:
        """The records in the newest checkpoint with undamaged records; empty if there is none."""
        for checkpoint in reversed(self.checkpoints.all()):
            try:
                return self.records(checkpoint)
            except BadCheckpoint:
                continue
        return Records(self.path)

    def write_evaluation_in_training(
        self, update: int, episodes: Sequence[Episode], values: Mapping[str, Sequence[float | None]]
    ) -> None:
        """Write the episodes of an evaluation in training, and add a line to `evaluation_rows.jsonl`.

        Args:
            values: by key, one number per episode.
        """
        _write_episodes(self.path / names.EVALUATIONS / f"{names.of_update(update)}.jsonl", episodes)
        evaluation_rows.append(self.path, update, [episode.row for episode in episodes], values)

    def evaluations(self) -> dict[int, Path]:
        """The files of episodes of the evaluations in training, by update."""
        files = [self.path / name for name in evaluation_files(self.path, 10**names.DIGITS)]
        return dict(sorted((names.update_of(file.stem), file) for file in files))

    @property
    def has_ended(self) -> bool:
        """Whether the run has ended, so that its last evaluation exists."""
        return final_evaluation.exists(self.path)

    def evaluation(self) -> dict[str, Any]:
        """The evaluation at the end, checked against its seal; BadCheckpoint if it is torn or has changed."""
        return final_evaluation.read(self.path)

    def check_evaluation_episodes(self) -> None:
        """Compare the episodes of the evaluation at the end with their record; Damaged if they differ."""
        final_evaluation.check_episodes(self.path)

    def evaluation_samples(self) -> dict[str, list[float | None]]:
        """One score per episode of the evaluation at the end, by key; see `final_evaluation.samples`."""
        return final_evaluation.samples(self.path)

    def write_evaluation(
        self,
        evaluation: Mapping[str, Any],
        episodes: Sequence[Episode] | None = None,
        samples: Mapping[str, Sequence[float | None]] | None = None,
    ) -> None:
        """Write the episodes of the evaluation at the end, if given, then the evaluation with its seal.

        Args:
            samples: by key, one score per episode.
        """
        if episodes is None:
            content = manifest.add_seal(evaluation)
        else:
            _write_episodes(self.episodes, episodes)
            content = final_evaluation.seal_evaluation(self.path, evaluation, samples or {})
        atomic.write_json(self.evaluation_file, content)


def _write_episodes(path: Path, episodes: Sequence[Episode]) -> None:
    with atomic.replacing(path) as aside:
        episode.write(aside, episodes)
