"""The policy of a run, in its best checkpoint or else in its newest one; and its export."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

from loquent import pretrained
from loquent.core.guards import json_files
from loquent.core.settings import Remark
from loquent.errors import BadCheckpoint, BadSetting, Damaged
from loquent.files import manifest, names
from loquent.files.run_folder import RunFolder
from loquent.pretrained import lora
from loquent.training import checkpoint

MODEL = "config.json"  # the file that every Hugging Face folder has


def policy_folder(path: str | Path) -> Path:
    """The Hugging Face folder of a run's best or newest checkpoint, of a checkpoint, or the folder itself.

    Raises:
        BadCheckpoint: there is no model in that folder.
        Damaged: a file of the checkpoint is missing or changed.
    """
    folder = Path(path)
    if (folder / MODEL).is_file() or lora.is_adapter(folder):
        return folder
    chosen = folder if has_policy(folder) else best(RunFolder(folder))
    manifest.check(chosen)
    if not has_policy(chosen):
        raise BadCheckpoint(f"{chosen} has no model: {names.POLICY}/{MODEL} is missing; name another one")
    return chosen / names.POLICY


def has_policy(checkpoint: Path) -> bool:
    """Whether a checkpoint has a policy that can be loaded."""
    return (checkpoint / names.POLICY / MODEL).is_file()


def best(run: RunFolder) -> Path:
    """The best checkpoint of a run, as stored in the newest one; without a best one, the newest.

    It is not checked against its manifest.

    Raises:
        BadCheckpoint: the run has no checkpoint, `best.json` or the evaluation is torn, or the best
            checkpoint is missing.

    Warns:
        Remark: `best.json` names another checkpoint.
    """
    checkpoints = run.checkpoints.all()
    if not checkpoints:
        raise BadCheckpoint(_no_model(run))
    newest = checkpoints[-1]
    counters = checkpoint.read_state(newest).get("counters")
    update = counters.get("best_update") if isinstance(counters, dict) else None
    chosen = newest if update is None else run.checkpoints.of(update)
    if chosen not in checkpoints:
        missing = f"{chosen}, the best checkpoint of the run, is missing"
        raise Damaged(f"{missing}; to use the newest one, name {newest}")
    noted = run.checkpoints.noted_best()
    if noted not in (None, chosen.name):
        note = f"{run.checkpoints.note} names {noted}"
        why = f"the newest checkpoint {newest.name} names {chosen.name}, which is used"
        advice = f"`loquent resume {run.path}` corrects the note"
        warnings.warn(f"{note}; {why}; {advice}", Remark, stacklevel=3)
    if run.has_ended:
        evaluated = run.evaluation().get("checkpoint", chosen.name)
        if evaluated != chosen.name:
            what = f"{run.evaluation_file} evaluates the checkpoint {json_files.show(evaluated)}"
            raise Damaged(f"{what}; it must be the best or newest checkpoint, {chosen}")
    return chosen


def export(run: str | Path, folder: str | Path, *, adapter: bool = False) -> Path:
    """Copy a run's best or newest policy into an ordinary Hugging Face folder; returns that folder.

    Adapters are merged into the weights of their model.

    Args:
        adapter: copy the adapters alone, in peft's form. The model's config is left out, because transformers
            looks for the model's weights beside it.

    Raises:
        BadCheckpoint: there is no language model in the run, or the target folder is not empty.
    """
    source, target = policy_folder(run), Path(folder)
    if not lora.is_adapter(source) and "model_type" not in json_files.load_object(source / MODEL):
        what = f"{run} has a network that chooses among actions, in {source}, and no language model"
        raise BadCheckpoint(f"{what}; only language models are exported")
    if target.exists() and any(target.iterdir()):
        raise BadCheckpoint(f"{target} is not empty; name a new folder")
    if lora.is_adapter(source) and not adapter:
        language = pretrained.load(source, device="cpu", dtype=lora.dtype_of(source))
        lora.merge(language.module)
        pretrained.save(language, target)
    elif adapter and not lora.is_adapter(source):
        raise BadSetting(
            f"{run} has no adapters, because its recipe has model.lora.rank = 0; export it without --adapter"
        )
    else:
        left = shutil.ignore_patterns(MODEL) if adapter else None
        shutil.copytree(source, target, ignore=left, dirs_exist_ok=True)
    return target


def _no_model(run: RunFolder) -> str:
    """Why a path has no model, and what to name instead."""
    if not run.path.exists():
        return f"there is no {run.path}; name the folder of a run or of a model"
    if run.is_run:
        why = "was stopped before its first checkpoint, so it has no model yet"
        return f"the run {run.path} {why}; continue it with: loquent resume {run.path}"
    if seed := run.one_seed():
        return f"{run.path} has runs of several seeds; name one of them: {seed}"
    return f"{run.path} has neither a model ({MODEL}) nor a run's {names.CHECKPOINTS}/{names.UPDATE}N"
