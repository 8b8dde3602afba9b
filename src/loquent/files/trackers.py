"""Trackers: libraries that get a copy of a run's log. `metrics.jsonl` is always written too.

TensorBoard writes into the run's folder, trackio into its own local database, and Weights & Biases where its
settings say (`WANDB_MODE=offline` keeps the log on this machine). A tracker can neither change a run nor end
it.
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
    """A run that begins or continues, for a tracker; `first` is the first update that it will log."""

    folder: Path
    name: str
    config: Mapping[str, Any]
    first: int

    @property
    def id(self) -> str:
        """A unique name of this run, which is the same when the run is resumed."""
        return f"{self.name}-{digest((str(self.folder.resolve()), json.dumps(self.config, sort_keys=True)))}"


class TensorBoard:
    """Event files in `RUN/tensorboard`; a resumed run overwrites the values after its checkpoint."""

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
    """A run of the project "loquent" in trackio's database on this machine; `trackio show` plots it."""

    def __init__(self, run: Started) -> None:
        import trackio
        from trackio.sqlite_storage import SQLiteStorage

        self._last: int | None = SQLiteStorage.get_max_step_for_run(PROJECT, run.id)
        with contextlib.redirect_stdout(sys.stderr):  # trackio prints a greeting; stdout is for results
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
        """Log one update, unless the database already has it from before the run was resumed."""
        if self._last is None or update > self._last:
            self._run.log(dict(values), step=update)

    def close(self) -> None:
        """Wait until everything is written."""
        import trackio

        with contextlib.redirect_stdout(sys.stderr):
            finish: Callable[[], None] = trackio.finish
            finish()  # the run's own `finish` would be called, and print, again when the process ends


class WeightsAndBiases:
    """A run of the project "loquent" with its own id, which is continued when the run is resumed."""

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
        """Log one update; the library ignores an update that it already has."""
        self._run.log(dict(values), step=update)

    def close(self) -> None:
        """Wait until everything is sent."""
        with contextlib.redirect_stdout(sys.stderr):
            self._run.finish()


SINKS: dict[str, Any] = {"tensorboard": TensorBoard, "trackio": Trackio, "wandb": WeightsAndBiases}


def check(names: tuple[str, ...]) -> None:
    """Raise BadSetting for an unknown tracker."""
    for name in names:
        if name not in SINKS:
            near = nearest(name, SINKS)
            raise BadSetting(
                f"training.trackers: {name!r} is no tracker{f'; nearest: {near}' if near else ''}; "
                f"known: {', '.join(SINKS)}"
            )


def need(names: tuple[str, ...]) -> None:
    """Raise MissingExtra if a tracker's library is not installed; it is called before the run begins."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise MissingExtra(f"the tracker {name!r}", name)


class Trackers:
    """The trackers of one run.

    A tracker that fails is left out from then on, with a warning; the run continues.
    """

    def __init__(self, names: tuple[str, ...], run: Started) -> None:
        self._sinks: dict[str, Any] = {}
        for name in names:
            with self._guarded(name):
                self._sinks[name] = SINKS[name](run)

    def log(self, line: Mapping[str, Any]) -> None:
        """Log one line in every tracker, without values that are not numbers."""
        values = {
            key: float(value)
            for key, value in line.items()
            if key != "update" and isinstance(value, Real) and value == value
        }
        for name, sink in list(self._sinks.items()):
            with self._guarded(name):
                sink.log(line["update"], values)

    def close(self) -> None:
        """Close every tracker."""
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
