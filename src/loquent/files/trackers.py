"""Trackers: where a run's log goes beside `metrics.jsonl`, which is always written and is the one that
counts.

Thin sinks for libraries that one may have: TensorBoard writes into the run's folder, trackio into its own
local database, Weights & Biases to where its settings say (`WANDB_MODE=offline` keeps it here). None of them
can change a run or end it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
import warnings
from collections.abc import Callable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

from loquent.core.values import digest
from loquent.errors import BadSetting, MissingExtra, nearest
from loquent.files import names

PROJECT = "loquent"


class Started(NamedTuple):
    """What a sink is told when a run begins or goes on; `first` is the next update it will be given."""

    folder: Path
    name: str
    config: Mapping[str, Any]
    first: int

    @property
    def id(self) -> str:
        """A name of this run alone, the same when it is resumed."""
        return f"{self.name}-{digest((str(self.folder.resolve()), json.dumps(self.config, sort_keys=True)))}"


class TensorBoard:
    """Event files in `RUN/tensorboard`; a resumed run writes over what it had written after its
    checkpoint.
    """

    def __init__(self, run: Started) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(run.folder / names.TENSORBOARD), purge_step=run.first)
        if run.first == 1:
            self._writer.add_text("recipe", f"```\n{json.dumps(run.config, indent=1)}\n```", 0)

    def log(self, update: int, values: Mapping[str, float]) -> None:
        """Write one update."""
        for key, value in values.items():
            self._writer.add_scalar(key, value, update)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


class Trackio:
    """A run of the project "loquent" in trackio's database on this machine; `trackio show` draws it."""

    def __init__(self, run: Started) -> None:
        import trackio
        from trackio.sqlite_storage import SQLiteStorage

        self._last: int | None = SQLiteStorage.get_max_step_for_run(PROJECT, run.id)
        with contextlib.redirect_stdout(sys.stderr):  # it greets; stdout is for results
            self._run = trackio.init(
                project=PROJECT,
                name=run.id,
                config=dict(run.config),
                resume="allow",
                embed=False,
                auto_log_gpu=False,
                auto_log_cpu=False,
            )

    def log(self, update: int, values: Mapping[str, float]) -> None:
        """Hand over one update, unless the database has it from before the run was resumed: it would stand
        there twice.
        """
        if self._last is None or update > self._last:
            self._run.log(dict(values), step=update)

    def close(self) -> None:
        """Wait until all is written."""
        import trackio

        with contextlib.redirect_stdout(sys.stderr):
            finish: Callable[[], None] = trackio.finish
            finish()  # the run's own `finish` would be called again, and speak again, when the process ends


class WeightsAndBiases:
    """A run of the project "loquent" under an id of its own, taken up again when the run is resumed."""

    def __init__(self, run: Started) -> None:
        import wandb

        with contextlib.redirect_stdout(sys.stderr):
            self._run = wandb.init(
                project=PROJECT,
                name=run.name,
                id=run.id,
                dir=str(run.folder),
                config=dict(run.config),
                resume="allow",
            )

    def log(self, update: int, values: Mapping[str, float]) -> None:
        """Hand over one update; what it has seen of that update before it leaves out itself."""
        self._run.log(dict(values), step=update)

    def close(self) -> None:
        """Wait until all is handed over."""
        with contextlib.redirect_stdout(sys.stderr):
            self._run.finish()


SINKS: dict[str, Any] = {"tensorboard": TensorBoard, "trackio": Trackio, "wandb": WeightsAndBiases}


def check(names: tuple[str, ...]) -> None:
    """Raise BadSetting where a tracker has another name than those there are."""
    for name in names:
        if name not in SINKS:
            near = nearest(name, SINKS)
            raise BadSetting(
                f"training.trackers: {name!r} is no tracker{f'; nearest: {near}' if near else ''}; "
                f"known: {', '.join(SINKS)}"
            )


def need(names: tuple[str, ...]) -> None:
    """Raise MissingExtra where a tracker's library is not installed: before the run begins, not after its
    first update.
    """
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise MissingExtra(f"the tracker {name!r}", name)


class Trackers:
    """The sinks of one run.

    One that fails is left out from then on, with a warning: a run does not end because of it.
    """

    def __init__(self, names: tuple[str, ...], run: Started) -> None:
        self._sinks: dict[str, Any] = {}
        for name in names:
            with self._guarded(name):
                self._sinks[name] = SINKS[name](run)

    def log(self, line: Mapping[str, Any]) -> None:
        """Hand one line of the log to every sink, without what is no number."""
        values = {
            key: float(value)
            for key, value in line.items()
            if key != "update" and isinstance(value, Real) and value == value
        }
        for name, sink in list(self._sinks.items()):
            with self._guarded(name):
                sink.log(line["update"], values)

    def close(self) -> None:
        """Close every sink."""
        for name, sink in list(self._sinks.items()):
            with self._guarded(name):
                sink.close()

    @contextlib.contextmanager
    def _guarded(self, name: str) -> Any:
        try:
            yield
        except Exception as error:  # a foreign library, and often a network, which may raise anything
            self._sinks.pop(name, None)
            warnings.warn(
                f"the tracker {name} fails and is left out ({type(error).__name__}: {error}); "
                f"{names.METRICS} has everything",
                stacklevel=4,
            )
