"""Checkpoints: all that influences a run's future, as safetensors and JSON, written aside and renamed.

A checkpoint `checkpoints/update-N/` holds `policy/` (an ordinary Hugging Face folder, where the policy is a language model),
`state.safetensors` (every other tensor, by its path), `state.json` (everything else), and `manifest.json`: size and SHA-256 of each
file, so that a torn one is seen before anything of it is used. Each weight stands once: the policy's in its folder alone, and those
of the reference, which never change, in `checkpoints/reference-HASH.safetensors` for all checkpoints. Nothing is pickled.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from loquent import manifest, pretrained
from loquent.errors import BadCheckpoint
from loquent.pretrained import LanguageModel
from loquent.settings import Remark

TENSOR = "tensor:"  # a JSON string that begins so stands for the tensor of that path
POLICY, REFERENCE = "/actor/policy.", "/actor/reference."  # where the tensors of both stand in a trainer's state
SEALED = "sealed"  # state.json has it where the folder has a manifest; checkpoints written before there were any have neither
FROZEN = "reference hash"  # the key under which state.json names the file of the reference
LEFT_OUT = "policy hash"  # the key of the hash of those weights that stand in policy/ alone; older checkpoints have none


@runtime_checkable
class Saved(Protocol):
    """A policy that is no language model: it writes its own folder, with `config.json` and `model.safetensors`."""

    def save(self, folder: Path) -> None:
        """Write the folder."""
        ...


def save(folder: Path, language: LanguageModel | Saved, state: Mapping[str, Any]) -> None:
    """Write a checkpoint aside and rename it into place; a crash leaves a whole checkpoint or none of that name, never half of one.

    Raises:
        BadCheckpoint: it cannot be written, as on a full disk; what was saved before is untouched.
    """
    aside = folder.with_name(f".{folder.name}.partial")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        _write(aside, folder.parent, language, state)
        if folder.exists():
            remove(folder)
        os.replace(aside, folder)
        manifest.sync(folder.parent)
    except Exception as error:  # the libraries' writers raise OSError, SafetensorError and, from tokenizers, a bare Exception
        shutil.rmtree(aside, ignore_errors=True)
        raise BadCheckpoint(
            f"{folder} could not be written ({type(error).__name__}: {error}); the checkpoints before it are untouched: "
            f"make room, then go on with `loquent resume {folder.parent.parent}`"
        ) from error
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _write(aside: Path, shared: Path, language: LanguageModel | Saved, state: Mapping[str, Any]) -> None:
    aside.mkdir(parents=True)
    language.save(aside / "policy") if isinstance(language, Saved) else pretrained.save(language, aside / "policy")
    tensors: dict[str, torch.Tensor] = {}
    tree = _split(state, "", tensors)
    left_out = _leave_out(tensors, POLICY, _policy(aside))
    if left_out:
        tree[LEFT_OUT] = _hash(left_out)
    frozen = {path: tensors.pop(path) for path in [*tensors] if path.startswith(REFERENCE)}
    if frozen:
        tree[FROZEN] = _save_once(frozen, shared)
    tree[SEALED] = True
    save_file(tensors, aside / "state.safetensors")
    _write_synced(aside / "state.json", json.dumps(tree, allow_nan=False, indent=1))
    manifest.seal(aside)


def load(folder: Path, *, reference: bool = True) -> dict[str, Any]:
    """The state that `save` was given; with `reference=False` without what belongs to the reference, whose file is not read.

    Raises:
        BadCheckpoint: a file is missing, torn, or another than it was; names it.
    """
    try:
        if (folder / manifest.NAME).exists():
            manifest.check(folder)
        tree = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        if not isinstance(tree, dict):
            raise ValueError("state.json is no JSON object")
        if tree.pop(SEALED, False):
            manifest.holds(folder, ("state.json", "state.safetensors"))
        frozen, left_out = tree.pop(FROZEN, None), tree.pop(LEFT_OUT, None)
        policy = {POLICY + name: tensor for name, tensor in _policy(folder).items()}
        own = _read(folder / "state.safetensors")
        if left_out is not None:
            _check_policy(tree, policy, own, left_out)
        tensors = {**policy, **own, **(_frozen(folder.parent, frozen) if reference else {})}
        state: dict[str, Any] = _joined(tree if reference else _without_reference(tree), tensors)
        return state
    except FileNotFoundError as error:
        raise BadCheckpoint(f"{folder} is no whole checkpoint: {Path(error.filename or '').name} is missing") from error
    except (ValueError, KeyError, SafetensorError) as error:
        raise BadCheckpoint(f"{folder} is torn: {error}") from error


def _check_policy(tree: Any, policy: Mapping[str, torch.Tensor], own: Mapping[str, torch.Tensor], known: str) -> None:
    """ValueError where the policy's folder no longer holds the weights that the state relies on."""
    wanted = [path for path in _named(tree) if path.startswith(POLICY) and path not in own]
    if _hash({path: policy[path] for path in wanted}) != known:
        raise ValueError("policy/ has other weights than those it was saved with")


def _named(tree: Any) -> list[str]:
    """The paths of all tensors that a tree names."""
    if isinstance(tree, dict | list):
        return [path for item in (tree.values() if isinstance(tree, dict) else tree) for path in _named(item)]
    return [tree.removeprefix(TENSOR)] if isinstance(tree, str) and tree.startswith(TENSOR) else []


def _without_reference(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    stands = TENSOR + REFERENCE
    return {name: _without_reference(item) for name, item in tree.items() if not (isinstance(item, str) and item.startswith(stands))}


def _policy(folder: Path) -> dict[str, torch.Tensor]:
    """The weights in a checkpoint's Hugging Face folder, by the name they have there."""
    return {name: tensor for file in sorted((folder / "policy").glob("*.safetensors")) for name, tensor in _read(file).items()}


def _read(file: Path) -> dict[str, torch.Tensor]:
    if not file.is_file():
        raise FileNotFoundError(errno.ENOENT, "no such file", str(file))  # the library's own names no file
    return load_file(file)


def _leave_out(tensors: dict[str, torch.Tensor], prefix: str, saved: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Take out the tensors that are saved already under their name, equal to the bit; others (a library may save in a form of its own) stay."""
    found: dict[str, torch.Tensor] = {}
    for path in [path for path in tensors if path.startswith(prefix)]:
        there = saved.get(path.removeprefix(prefix))
        if there is not None and _hash({"": there}) == _hash({"": tensors[path]}):
            found[path] = tensors.pop(path)
    return found


def _save_once(tensors: dict[str, torch.Tensor], folder: Path) -> str:
    """Write what never changes, under a name made of its own hash, unless it stands there; returns the hash."""
    name = _hash(tensors)
    file = _frozen_file(folder, name)
    if not file.is_file() or not _is_whole(file, name):
        aside = file.with_name(f".{file.name}.partial")
        try:
            save_file(tensors, aside)
            manifest.sync(aside)
            os.replace(aside, file)
        finally:
            aside.unlink(missing_ok=True)
    return name


def _is_whole(file: Path, name: str) -> bool:
    """Whether a file still has the weights it was named for: new checkpoints must not rely on a torn one."""
    try:
        return _hash(_read(file)) == name
    except (OSError, SafetensorError):
        return False


def _frozen(folder: Path, name: str | None) -> dict[str, torch.Tensor]:
    """What `_save_once` wrote; ValueError where it is no longer what it was."""
    if name is None:
        return {}
    tensors = _read(_frozen_file(folder, name))
    if _hash(tensors) != name:
        raise ValueError(f"{_frozen_file(folder, name).name} has other weights than those it was saved with")
    return tensors


def _frozen_file(folder: Path, name: str) -> Path:
    return folder / f"reference-{name}.safetensors"


def _hash(tensors: Mapping[str, torch.Tensor]) -> str:
    found = hashlib.sha256()
    for path in sorted(tensors):
        tensor = tensors[path]
        found.update(json.dumps([path, str(tensor.dtype), list(tensor.shape)]).encode())
        found.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()[:32]


def set_aside(folder: Path) -> None:
    """Rename a refused checkpoint, so that the run can write another of its name; it stays for whoever wants to look at it."""
    aside = folder.with_name(f"{folder.name}.refused")
    shutil.rmtree(aside, ignore_errors=True)
    os.replace(folder, aside)


def sweep(run: Path) -> None:
    """Delete what a kill left of checkpoints that were being written or deleted."""
    for rest in ("partial", "removed"):
        for folder in (run / "checkpoints").glob(f".update-*.{rest}"):
            shutil.rmtree(folder)
    for file in (run / "checkpoints").glob(".reference-*.partial"):
        file.unlink()


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    found = [path for path in (run / "checkpoints").glob("update-*") if path.name.removeprefix("update-").isdigit()]
    return sorted(found, key=lambda path: int(path.name.removeprefix("update-")))


def policy_folder(path: str | Path) -> Path:
    """The Hugging Face folder of a run's best or newest checkpoint, of a checkpoint, or the folder itself.

    Raises:
        BadCheckpoint: there is no model in that folder.
    """
    folder = Path(path)
    if (folder / "config.json").is_file():
        return folder
    if (folder / "policy" / "config.json").is_file():
        return folder / "policy"
    best = folder / "checkpoints" / "best.json"
    if best.is_file():
        chosen = folder / "checkpoints" / _named_best(best) / "policy"
        if chosen.is_dir():
            return chosen
        warnings.warn(f"{best} names {chosen.parent.name}, which is not there; the newest checkpoint is taken", Remark, stacklevel=2)
    found = checkpoints(folder)
    if not found:
        raise BadCheckpoint(_no_model(folder))
    return found[-1] / "policy"


def _no_model(folder: Path) -> str:
    """Why a path gives no model, and what would."""
    if not folder.exists():
        return f"there is no {folder}"
    if (folder / "config.yaml").is_file():
        return f"the run {folder} was stopped before its first checkpoint, so it has no model yet: loquent resume {folder}"
    if runs := sorted(path.name for path in folder.glob("seed-*") if (path / "config.yaml").is_file()):
        return f"{folder} holds runs of several seeds; name one of them: {folder / runs[0]}"
    return f"{folder} holds neither a model (config.json) nor a run's checkpoints/update-N"


def _named_best(file: Path) -> str:
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["checkpoint"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadCheckpoint(
            f"{file} is torn ({error}); `loquent resume {file.parent.parent}` writes it anew, or without it the newest counts"
        ) from error


def remove(folder: Path) -> None:
    """Delete a checkpoint: renamed first, so that a crash leaves no half of one."""
    aside = folder.with_name(f".{folder.name}.removed")
    os.replace(folder, aside)
    shutil.rmtree(aside)


def export(run: str | Path, folder: str | Path) -> Path:
    """Copy a run's best or newest policy into an ordinary Hugging Face folder; returns that folder.

    Raises:
        BadCheckpoint: there is no language model in the run, or the target folder is not empty.
    """
    source, target = policy_folder(run), Path(folder)
    if "model_type" not in json.loads((source / "config.json").read_text(encoding="utf-8")):
        raise BadCheckpoint(f"{run} holds no language model but a network that chooses among actions, in {source}; only language models are exported")
    if target.exists() and any(target.iterdir()):
        raise BadCheckpoint(f"{target} is not empty; name a new folder")
    shutil.copytree(source, target, dirs_exist_ok=True)
    return target


def write_json(path: Path, value: Any) -> None:
    """Write JSON aside and rename it into place; a number that is not finite becomes null."""
    write_aside(path, json.dumps(finite(value), allow_nan=False, indent=1))


def write_aside(path: Path, text: str) -> None:
    """Write a text file aside and rename it, so that no reader ever sees half of it."""
    aside = path.with_name(f".{path.name}.partial")
    _write_synced(aside, text)
    os.replace(aside, path)
    manifest.sync(path.parent)


def append_line(path: Path, value: Any) -> None:
    """Append one JSON object to a JSONL file and wait until it is on disk; a number that is not finite becomes null.

    Raises:
        BadCheckpoint: the disk is full.
    """
    line = memoryview((json.dumps(finite(value), allow_nan=False) + "\n").encode())
    try:
        with path.open("ab", buffering=0) as file:  # unbuffered: what could not be written is not tried again when the file is closed
            while line:
                line = line[file.write(line) :]
            os.fsync(file.fileno())
    except OSError as error:
        raise BadCheckpoint(f"{path} could not be written ({error}); `loquent resume {path.parent}` goes on when there is room") from error


def finite(value: Any) -> Any:
    """The same JSON value with null for every number that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(item) for name, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def _write_synced(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _split(tree: Any, path: str, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(tree, torch.Tensor):
        tensors[path] = tree.detach().contiguous().cpu().clone()
        return TENSOR + path
    if isinstance(tree, Mapping):
        return {str(name): _split(item, f"{path}/{name}", tensors) for name, item in tree.items()}
    if isinstance(tree, list | tuple):
        return [_split(item, f"{path}/{i}", tensors) for i, item in enumerate(tree)]
    return tree


def _joined(tree: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    if isinstance(tree, dict):
        return {name: _joined(item, tensors) for name, item in tree.items()}
    if isinstance(tree, list):
        return [_joined(item, tensors) for item in tree]
    if isinstance(tree, str) and tree.startswith(TENSOR):
        return tensors[tree.removeprefix(TENSOR)]
    return tree


def read_lines(path: Path, *, torn_end: bool = False) -> Iterator[dict[str, Any]]:
    """The lines of a log, each an object with its `update`; BadCheckpoint names a torn one. `torn_end`: a last line cut off by a kill is left out."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                found = json.loads(line, parse_constant=lambda _: None)  # what a hand wrote: a number that is none has no value
                if not isinstance(found, dict) or "update" not in found:
                    raise ValueError("it names no update")
            except ValueError as error:
                if torn_end and not line.endswith(b"\n"):
                    return
                raise BadCheckpoint(f"{path}:{number}: this line is not whole ({error})") from error
            yield found
