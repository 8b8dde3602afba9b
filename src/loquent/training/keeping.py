"""The checkpoints that a run keeps: the newest ones and the best one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loquent.errors import Damaged
from loquent.files import names
from loquent.files.machine import parallel
from loquent.files.run_folder import RunFolder
from loquent.rewards import cache
from loquent.training import checkpoint
from loquent.training.trainer import Trainer


class CheckpointKeeper:
    """Writes a trainer's checkpoints into a run's folder and restores them.

    Args:
        keep: the number of newest checkpoints to keep.
    """

    def __init__(self, trainer: Trainer, folder: RunFolder, keep: int) -> None:
        self.trainer, self.folder, self.number = trainer, folder, keep
        self._recorder = folder.recorder()

    def keep(self) -> None:
        """Write a checkpoint of this update and delete the oldest ones; the best is never deleted."""
        trainer, checkpoints = self.trainer, self.folder.checkpoints
        parallel.order("clear")  # a run that is resumed here begins with empty caches in all processes
        cache.clear(trainer.terms)
        trainer.calibrate()
        path = checkpoints.of(trainer.updates)
        if not path.is_dir():
            records = self._recorder.up_to(trainer.updates)
            checkpoint.save(path, trainer.actor.language or trainer.actor, trainer.state(), records)
        best = trainer.stopping.best_update
        checkpoints.name_best(best)
        others = [old for old in checkpoints.all() if best is None or old.name != names.of_update(best)]
        for old in others[: -self.number]:
            checkpoints.remove(old)

    def restore(self, path: Path, state: dict[str, Any]) -> None:
        """Restore the state that was loaded from a checkpoint.

        Raises:
            BadCheckpoint: the state is refused.
            Damaged: the state is of another update than the checkpoint.
        """
        self.trainer.restore(state)
        if self.trainer.updates != names.update_of(path.name):
            text = f"{path} holds the state after update {self.trainer.updates}"
            raise Damaged(f"{text}; it belongs to another folder")
        parallel.order("restore", checkpoint=str(path.resolve()))

    def restore_best(self) -> Path:
        """Restore the best policy, if it is not the newest; returns its checkpoint."""
        trainer = self.trainer
        best = trainer.stopping.best_update
        if best is None or best == trainer.updates:
            return self.folder.checkpoints.of(trainer.updates)
        path = self.folder.checkpoints.of(best)
        parallel.order("restore_policy", checkpoint=str(path.resolve()))
        trainer.restore_policy(checkpoint.load(path))
        return path
