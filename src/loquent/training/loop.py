"""The training loop: update, evaluate, log, keep checkpoints.

And `train`, which runs a recipe from its start to its end.

The steps of one update are in `trainer.py`.
"""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

from tqdm import tqdm

from loquent import pretrained
from loquent.core import logged
from loquent.core.guards.terminal import line
from loquent.core.seeding import borrowed
from loquent.data.outcomes import SUCCESS
from loquent.errors import BadSetting
from loquent.files import names, trackers
from loquent.files.run_folder import RunFolder
from loquent.machine import parallel
from loquent.machine.identity import machine, source_state
from loquent.recipes import Recipe
from loquent.training import checkpoint
from loquent.training.evaluate import Evaluation, directions, owners
from loquent.training.keeping import CheckpointKeeper
from loquent.training.resuming import Resumption, newest_policy
from loquent.training.run import Run
from loquent.training.trainer import Trainer

SHOWN = ("rollout/success", "rollout/return", "data/return")  # beside the progress bar


class TrainingLoop:
    """A trainer in its folder: it updates, evaluates, logs and keeps checkpoints until the run's end."""

    def __init__(self, trainer: Trainer, keeper: CheckpointKeeper) -> None:
        self.trainer, self.keeper, self.folder = trainer, keeper, keeper.folder
        self.recipe, self.settings = trainer.recipe, trainer.settings
        self._known = logged.table(type(trainer.algorithm))

    def begin(self) -> None:
        """Write the files that a run begins with."""
        trainer = self.trainer
        identity = {
            "fingerprint": self.recipe.fingerprint,
            **machine(trainer.actor.device),
            "rows": trainer.held_out_rows(),
            "source": source_state(),
        }
        recording = None if trainer.recording is None else trainer.recording.as_json()
        self.folder.begin(self.recipe.yaml(), identity, recording)

    def run(self, progress: bool) -> None:
        """Make all updates that are missing, or as many as early stopping allows."""
        trainer = self.trainer
        bar = tqdm(
            total=self.settings.updates,
            initial=trainer.updates,
            desc=line(self.recipe.name),
            unit="update",
            disable=not progress,
        )
        with bar, closing(self._trackers()) as sinks:
            if self.settings.evaluates_first and not trainer.updates:
                self._evaluate_first(sinks)
            while parallel.agreed(trainer.updates < self.settings.updates and not trainer.stopping.stopped):
                logs = self._update(sinks)
                bar.update()
                bar.set_postfix(
                    {name.replace("/", " "): f"{logs[name]:.3f}" for name in SHOWN if name in logs}
                )

    def finish(self) -> None:
        """Write the last checkpoint, then evaluate: the best policy where early stopping kept one, else the
        newest.
        """
        self.keeper.keep()
        chosen = self.keeper.restore_best()
        trainer = self.trainer
        evaluation = trainer.evaluate(self.settings.final_split, self.settings.final_episodes)
        content = {
            "checkpoint": chosen.name,
            **evaluation.as_json(),
            "higher_is_better": directions(trainer.metrics, trainer.weights, evaluation.values),
            "owners": owners(self.recipe.metrics, trainer.metrics, evaluation.values),
        }
        self.folder.write_evaluation(content, evaluation.episodes)

    def _trackers(self) -> trackers.Trackers:
        first = self.trainer.updates + 1
        started = trackers.Started(self.folder.path, self.recipe.name, self.recipe.resolved(), first)
        with borrowed(self.trainer.key.child("trackers")):
            return trackers.Trackers(self.settings.trackers, started)

    def _evaluate_first(self, sinks: trackers.Trackers) -> None:
        """Evaluate before the first update; early stopping does not look at it."""
        self.trainer.seconds = {}
        logs = {"update": 0, "episodes": 0, **self._evaluate()[1]}
        self._log(logs, sinks)

    def _update(self, sinks: trackers.Trackers) -> dict[str, float]:
        """One update, its evaluation where one is due, its lines in the logs, and its checkpoint.

        Returns what is logged.
        """
        trainer, settings = self.trainer, self.settings
        logs = trainer.update()
        improved = False
        if settings.evaluate_every and trainer.updates % settings.evaluate_every == 0:
            evaluation, values = self._evaluate()
            logs |= values
            improved = trainer.stopping.improves(evaluation.values, trainer.updates)
        logged.check(logs, self._known)
        self._log(logs, sinks)
        if improved or (settings.checkpoint_every and trainer.updates % settings.checkpoint_every == 0):
            # after the log: a kill between both leaves a line too many, which resuming cuts off
            self.keeper.keep()
        return logs

    def _evaluate(self) -> tuple[Evaluation, dict[str, float]]:
        """An evaluation in training, whose episodes are written, and what is logged of it."""
        trainer, settings, before = self.trainer, self.settings, time.perf_counter()
        evaluation = trainer.evaluate(settings.evaluate_split, settings.evaluate_episodes, settings.only)
        logs = {f"evaluation/{name}": value for name, value in evaluation.values.items()}
        if SUCCESS in evaluation.errors:
            logs[f"evaluation/{logged.SUCCESS_ERROR}"] = evaluation.errors[SUCCESS]
        trainer.seconds["evaluate"] = round(time.perf_counter() - before, 4)
        self.folder.write_evaluation_episodes(trainer.updates, evaluation.episodes)
        return evaluation, logs

    def _log(self, logs: dict[str, float], sinks: trackers.Trackers) -> None:
        self.folder.logs.append(logs, {"update": self.trainer.updates, **self.trainer.seconds})
        sinks.log(logs)


def train(
    recipe: Recipe, out: str | Path, *, progress: bool = True, resume: bool = False, from_older: bool = False
) -> Run:
    """Train what a recipe describes into the folder `out`, and return the run.

    Args:
        resume: go on from the newest checkpoint, or from the start where the run was stopped before its
            first. The results are the same as without the stop.
        from_older: where the newest checkpoint is refused, go on from the newest one that is not.

    Raises:
        BadCheckpoint: the folder holds another run; or, with `resume`, its newest checkpoint is refused, with
            the reason.
    """
    folder = RunFolder(out)
    if recipe.alone:
        what = (
            f"the recipe {recipe.name} was loaded to be shown: {', '.join(sorted(recipe.alone))} was not "
            "imported"
        )
        raise BadSetting(f"{what}; load it to run it")
    with parallel.joined(pretrained.device(recipe.model.device)):
        if parallel.rank():
            _assist(recipe, folder)
        elif resume:
            _resume(recipe, folder, progress, from_older)
        else:
            _begin(recipe, folder, progress)
    return Run(folder.path, allow_imports=not resume)  # the recipe of a new run is the caller's own


def _begin(recipe: Recipe, folder: RunFolder, progress: bool) -> None:
    """A new run from its start to its end.

    Of several processes the first one, which alone writes and evaluates.
    """
    folder.require_free()
    trackers.need(recipe.training.trackers)
    trainer = Trainer(recipe)  # before the folder is made: a recipe that cannot be built leaves it free
    with folder.alone():
        folder.require_free()
        loop = _loop(trainer, folder)
        loop.begin()
        _complete(loop, progress)


def _resume(recipe: Recipe, folder: RunFolder, progress: bool, from_older: bool) -> None:
    """The rest of a run."""
    trackers.need(recipe.training.trackers)
    with folder.alone():
        loop = _loop(Trainer(recipe, newest_policy(folder)), folder)
        if not Resumption(loop.keeper, from_older=from_older).resume():
            loop.begin()
        _complete(loop, progress)


def _loop(trainer: Trainer, folder: RunFolder) -> TrainingLoop:
    return TrainingLoop(trainer, CheckpointKeeper(trainer, folder, trainer.settings.keep))


def _complete(loop: TrainingLoop, progress: bool) -> None:
    parallel.agreed(loop.trainer.updates)
    loop.run(progress)
    loop.finish()


def _assist(recipe: Recipe, folder: RunFolder) -> None:
    """Another process of the run: it learns in step with the first one."""
    updates = parallel.agreed(0)
    path = folder.checkpoints.of(updates) if updates else None
    trainer = Trainer(recipe, path and path / names.POLICY)
    if path:
        trainer.restore(checkpoint.load(path))
    while parallel.agreed(0):
        trainer.update()
