"""Resuming: which checkpoint a run goes on from, and why one is refused."""

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
    """A checkpoint that cannot be taken back, and why."""

    path: Path
    error: BadCheckpoint


class Resumption:
    """Takes a run back from its folder.

    Args:
        from_older: where the newest checkpoint is refused, take the newest one that is not.
    """

    def __init__(self, keeper: CheckpointKeeper, *, from_older: bool = False) -> None:
        self.keeper, self.from_older = keeper, from_older
        self.trainer, self.folder = keeper.trainer, keeper.folder
        self._refused: list[Refused] = []

    def resume(self) -> bool:
        """Take back the newest checkpoint that is not refused; False where the run has none yet.

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
        """Restore the newest checkpoint that can be; returns the logs up to it."""
        for place in reversed(range(len(paths))):
            try:
                return self._restore(paths[place])
            except BadCheckpoint as error:
                self._refused.append(Refused(paths[place], error))
                if not (self.from_older and place) or isinstance(error, AnotherRun):
                    raise BadCheckpoint(self._refusal(paths[:place])) from error
        raise AssertionError("a run without checkpoints begins again")

    def _restore(self, path: Path) -> dict[str, bytes]:
        """Take back one checkpoint, if all that the run had logged until then is unchanged.

        Returns the logs up to it.

        Raises:
            BadCheckpoint: it is refused. Damaged: it, or what the run had logged, is not what was written.
        """
        state, records = checkpoint.load(path), self.folder.records(path)
        logs = records.check_all(without=(names.TIMINGS,))
        self.keeper.restore(path, state)
        return logs | _timings(records)

    def _check_best(self) -> None:
        """Check the best checkpoint, which the end of the run needs.

        With `from_older` the run goes on without it.
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
                    f"the best checkpoint {path} is refused: {error}. To go on without it, so that "
                    "only a better one or else the newest is evaluated at the end: loquent resume "
                    f"{self.folder.path} --from-older"
                ) from error
            text = f"the best checkpoint {path.name} is refused and left out: {error}"
            warnings.warn(text, Remark, stacklevel=4)
            if path.exists():
                self.folder.checkpoints.set_aside(path)
            stopping.best_update = None

    def _begin_again(self) -> None:
        """Rename the log of a run that was killed before its first checkpoint, and say so."""
        aside = self.folder.logs.set_aside()
        if aside is None:
            return
        why = f"{self.folder.path} has no checkpoint yet, so it begins again from update 1"
        advice = "training.checkpoint_every says how often one is written"
        warnings.warn(f"{why}; what was logged before is in {aside.name} ({advice})", Remark, stacklevel=4)

    def _refusal(self, older: Sequence[Path]) -> str:
        """Why the run cannot go on, and what can be done."""
        text = "; ".join(f"the checkpoint {path} is refused: {error}" for path, error in self._refused)
        if isinstance(self._refused[-1].error, AnotherRun):
            return text
        if not older:
            return (
                f"{text}. There is no older one"
                if len(self._refused) == 1
                else f"{text}. No checkpoint is left"
            )
        others = ", ".join(path.name for path in reversed(older))
        return (
            f"{text}. To go on from an older one ({others}): loquent resume {self.folder.path} --from-older"
        )


def newest_policy(folder: RunFolder) -> Path | None:
    """The policy of the newest whole checkpoint.

    A resumed run builds its model from it, not from the model in the recipe.
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
    """The seconds up to a checkpoint.

    The run is the same without them, so damaged ones are left out with a warning.
    """
    try:
        content = records.check(names.TIMINGS)
    except Damaged as error:
        warnings.warn(f"{error}; the seconds before this are left out", Remark, stacklevel=6)
        return {}
    return {} if content is None else {names.TIMINGS: content}
