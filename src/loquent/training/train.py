"""`train`: run a recipe from its start to its end, or resume it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loquent import pretrained
from loquent.core.settings import noting_remarks
from loquent.core.values import Record
from loquent.errors import AnotherRun, BadSetting, naming_memory
from loquent.files import trackers
from loquent.files.machine import identity, parallel
from loquent.files.run_folder import RunFolder
from loquent.files.run_remarks import RunRemarks
from loquent.rewards import cache
from loquent.training import checkpoint, extending
from loquent.training.estimates import needs
from loquent.training.keeping import CheckpointKeeper
from loquent.training.loop import TrainingLoop
from loquent.training.recipes import Recipe
from loquent.training.resuming import Resumption, newest_policy
from loquent.training.run import Run
from loquent.training.trainer import Trainer


def train(
    recipe: Recipe, out: str | Path, *, progress: bool = True, resume: bool = False, from_older: bool = False
) -> Run:
    """Train what a recipe describes in the folder `out`, and return the run.

    Args:
        resume: continue from the newest checkpoint, or from the start if the run has no checkpoint yet. The
            results are the same as of a run that was never stopped. A recipe with more updates extends the
            run.
        from_older: if the newest checkpoint is refused, continue from the newest one that is valid.

    Raises:
        BadCheckpoint: the folder has another run; or, with `resume`, its newest checkpoint is refused, with
            the reason.
        NotEnoughMemory: the run needs clearly more memory than is free, or memory runs out.
        BadSetting: with `resume`, the run cannot have this number of updates, with the reason.
    """
    folder = RunFolder(out)
    if recipe.alone:
        what = f"the recipe {recipe.name} was loaded for display, without importing"
        raise BadSetting(f"{what} {', '.join(sorted(recipe.alone))}; load it with imports to run it")
    remarks = RunRemarks(recipe.remarks)
    with (
        noting_remarks(remarks.add),
        naming_memory(f"training {recipe.name}", needs.to_lower(recipe)),
        parallel.process_group(pretrained.device(recipe.model.device), recipe.parallel.patience),
    ):
        if parallel.rank():
            _assist(recipe)
        elif resume:
            _resume(recipe, folder, remarks, progress, from_older)
        else:
            _begin(recipe, folder, remarks, progress)
    return Run(folder.path, allow_imports=not resume)  # the caller chose the recipe of a new run


def _begin(recipe: Recipe, folder: RunFolder, remarks: RunRemarks, progress: bool) -> None:
    """Train a new run to its end.

    With several processes this is the first one; it alone writes.
    """
    folder.require_free()
    trackers.need(recipe.training.trackers)
    trainer = _build(recipe)  # before the folder is made: a recipe that cannot be built leaves it free
    needs.check(trainer)
    with folder.alone():
        folder.require_free()
        loop = _loop(trainer, folder, remarks)
        loop.begin()
        _complete(loop, progress)


def _resume(recipe: Recipe, folder: RunFolder, remarks: RunRemarks, progress: bool, from_older: bool) -> None:
    """Train the rest of a run, and the updates that the recipe adds to it.

    The folder notes an extension only after its checkpoint was accepted, so a refusal changes no file.
    """
    trackers.need(recipe.training.trackers)
    with folder.alone():
        trainer = _build(recipe, newest_policy(folder))
        needs.check(trainer)
        loop = _loop(trainer, folder, remarks)
        if Resumption(loop.keeper, from_older=from_older).resume():
            extending.extend(folder, recipe)
            remarks.begin(folder.path, trainer.updates)
        else:
            loop.begin()
        _complete(loop, progress)


def _loop(trainer: Trainer, folder: RunFolder, remarks: RunRemarks) -> TrainingLoop:
    return TrainingLoop(trainer, CheckpointKeeper(trainer, folder, trainer.settings.keep), remarks)


def _complete(loop: TrainingLoop, progress: bool) -> None:
    loop.run(progress)
    loop.finish()
    parallel.order("end")


def _build(recipe: Recipe, policy: Path | None = None) -> Trainer:
    """The trainer of the first process, while the others build theirs."""
    parallel.order("build", policy=policy and str(policy.resolve()), run=_of_process(recipe))
    trainer = Trainer(recipe, policy)
    parallel.order("data", digest=trainer.data)
    return trainer


def _of_process(recipe: Recipe) -> dict[str, Any]:
    """What must be equal in all processes of a run."""
    return {"recipe": recipe.fingerprint, **identity.software()}


def _assist(recipe: Recipe) -> None:
    """Do what the first process of the run orders, in another one.

    Raises:
        AnotherRun: this process has another recipe, or other versions of libraries.
    """
    order = parallel.next_order()
    own = _of_process(recipe)
    if other := [name for name, value in own.items() if order["run"].get(name) != value]:
        raise AnotherRun(
            f"process {parallel.rank()} has {other[0]} = {own[other[0]]!r}, and process 0 has "
            f"{order['run'].get(other[0])!r}; start all processes with the same recipe and environment"
        )
    trainer = Trainer(recipe, order["policy"] and Path(order["policy"]))
    while (order := parallel.next_order())["what"] != "end":
        match order:
            case {"what": "data", "digest": digest} if digest != trainer.data:
                raise AnotherRun(
                    f"process {parallel.rank()} reads other files than process 0: their digests are "
                    f"{trainer.data} and {digest}; give all processes the same data"
                )
            case {"what": "clear"}:
                cache.clear(trainer.terms)
            case {"what": "update"}:
                trainer.update()
            case {"what": "calibrate"}:
                trainer.choose_on_held_out()
            case {"what": "play", "split": split, "episodes": episodes, "only": only}:
                trainer.play_held_out(split, episodes, Record(only))
            case {"what": "restore", "checkpoint": path}:
                trainer.restore(checkpoint.load(Path(path)))
            case {"what": "restore_policy", "checkpoint": path}:
                trainer.restore_policy(checkpoint.load(Path(path)))
