"""Resuming: which checkpoint a run continues from, and why a checkpoint is refused."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from loquent.core.settings import Remark
from loquent.errors import AnotherRun, BadCheckpoint, Damaged
from loquent.files import manifest, names, saved_state
from loquent.files.run_folder import RunFolder
from loquent.files.run_records import Records
from loquent.training import checkpoint
from loquent.training.keeping import CheckpointKeeper
from loquent.training.policies import has_policy


class Refused(NamedTuple):
    """A checkpoint that cannot be restored, and why."""

    path: Path
    error: BadCheckpoint


class Resumption:
    """Restores a run from its folder.

    Args:
        from_older: if the newest checkpoint is refused, restore the newest one that is valid.
    """

    def __init__(self, keeper: CheckpointKeeper, *, from_older: bool = False) -> None:
        self.keeper, self.from_older = keeper, from_older
        self.trainer, self.folder = keeper.trainer, keeper.folder
        self._refused: list[Refused] = []

    def resume(self) -> bool:
        """Restore the newest checkpoint, or with `from_older` the newest valid one.

        Returns False if the run has no checkpoint yet.

        Raises:
            BadCheckpoint: it is refused, or all are; with the reason of each.
        """
        checkpoints = self.folder.checkpoints
        checkpoints.sweep()
        paths = checkpoints.all()
        if not paths:
            self._begin_again()
            return False
        logs = self._restore_newest(paths)
        for refused in self._refused:
            warnings.warn(
                f"{refused.path.name} is refused and left out: {refused.error}", Remark, stacklevel=3
            )
        self._check_best()
        for refused in self._refused:
            checkpoints.set_aside(refused.path)
        checkpoints.name_best(self.trainer.stopping.best_update)
        self.folder.logs.cut(logs)
        return True

    def _restore_newest(self, paths: Sequence[Path]) -> dict[str, bytes]:
        """Restore the newest checkpoint that is not refused; returns the logs up to it."""
        for place in reversed(range(len(paths))):
            try:
                return self._restore(paths[place])
            except BadCheckpoint as error:
                self._refused.append(Refused(paths[place], error))
                if not (self.from_older and place) or isinstance(error, AnotherRun):
                    raise BadCheckpoint(self._refusal(paths[:place])) from error
        raise AssertionError("`resume` has found a checkpoint")

    def _restore(self, path: Path) -> dict[str, bytes]:
        """Restore one checkpoint, if the logs of the run up to it are unchanged; returns these logs.

        Raises:
            BadCheckpoint: it is refused.
            Damaged: the checkpoint or a log has changed.
        """
        state, records = checkpoint.load(path), self.folder.records(path)
        logs = records.check_all(without=(names.TIMINGS,))
        self.keeper.restore(path, state)
        return logs | _timings(records)

    def _check_best(self) -> None:
        """Check the best checkpoint, which is evaluated at the end of the run.

        With `from_older` the run continues without it if it is refused.
        """
        stopping = self.trainer.stopping
        if stopping.best_update in (None, self.trainer.updates):
            return
        update = stopping.best_update
        path = self.folder.checkpoints.of(update)
        try:
            counters = saved_state.part(checkpoint.load(path, reference=False), "counters")
            saved_state.count(counters, "updates", update, least=update)
        except BadCheckpoint as error:
            if not self.from_older:
                raise BadCheckpoint(
                    f"the best checkpoint {path} is refused: {error}. To continue without it: loquent resume "
                    f"{self.folder.path} --from-older; the run then evaluates a later best one, or else the "
                    "newest, at its end"
                ) from error
            text = f"the best checkpoint {path.name} is refused and left out: {error}"
            warnings.warn(text, Remark, stacklevel=4)
            if path.exists():
                self.folder.checkpoints.set_aside(path)
            stopping.best_update = None

    def _begin_again(self) -> None:
        """Rename the log of a run that was killed before its first checkpoint, with a warning."""
        aside = self.folder.logs.set_aside()
        if aside is None:
            return
        what = f"{self.folder.path} has no checkpoint yet, so it begins again from update 1"
        advice = "set training.checkpoint_every to write checkpoints more often"
        warnings.warn(f"{what}; the earlier log is in {aside.name}; {advice}", Remark, stacklevel=4)

    def _refusal(self, older: Sequence[Path]) -> str:
        """Why the run cannot continue, and what to do."""
        text = "; ".join(f"the checkpoint {path} is refused: {error}" for path, error in self._refused)
        if isinstance(self._refused[-1].error, AnotherRun):
            return text
        if not older:
            rest = "There is no older one" if len(self._refused) == 1 else "No checkpoint is left"
            return f"{text}. {rest}"
        others = ", ".join(path.name for path in reversed(older))
        command = f"loquent resume {self.folder.path} --from-older"
        return f"{text}. To continue from an older one ({others}): {command}"


def newest_policy(folder: RunFolder) -> Path | None:
    """The folder of the policy in the newest undamaged checkpoint; None without one.

    A resumed run builds its model from this folder, not from the model in the recipe.
    """
    for path in reversed(folder.checkpoints.all()):
        try:
            manifest.check(path)
        except (BadCheckpoint, OSError, ValueError):
            continue
        if has_policy(path):
            return path / names.POLICY
    return None


def _timings(records: Records) -> dict[str, bytes]:
    """The log of seconds up to a checkpoint.

    The results do not depend on it, so a damaged log is left out with a warning.
    """
    try:
        content = records.check(names.TIMINGS)
    except Damaged as error:
        warnings.warn(f"{error}; the seconds before this are left out", Remark, stacklevel=6)
        return {}
    return {} if content is None else {names.TIMINGS: content}
