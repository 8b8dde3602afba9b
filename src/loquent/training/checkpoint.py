"""Checkpoints: all that influences a run's future, as safetensors and JSON, written atomically.

A checkpoint `checkpoints/update-N/` holds `policy/` (an ordinary Hugging Face folder, where the policy is a
language model), `state.safetensors` (every other tensor, by its path), `state.json` (everything else),
`logs.json` (the records of the run's files) and `manifest.json`: size and SHA-256 of each file under a seal,
so that damage is seen before anything is used. Each weight is stored once: the policy's in its folder alone,
and those of the reference, which never change, in `checkpoints/reference-HASH.safetensors` for all
checkpoints. Nothing is pickled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from safetensors.torch import save_file

from loquent import pretrained
from loquent.core.guards import json_files
from loquent.core.values import EMPTY
from loquent.errors import BadCheckpoint, Damaged
from loquent.files import atomic, manifest, names, tensor_tree
from loquent.files.tensor_files import digest_of, read_reference, read_tensors, save_reference
from loquent.pretrained import LanguageModel

POLICY, REFERENCE = (
    "/actor/policy.",
    "/actor/reference.",
)  # begin the paths of both networks' tensors in a trainer's state
REFERENCE_HASH = "reference hash"  # the key in state.json of the digest that names the file of the reference
POLICY_HASH = "policy hash"  # the key in state.json of the digest of the weights that are in policy/ alone


@runtime_checkable
class Saved(Protocol):
    """A policy that is no language model: it writes its own folder, with `config.json` and
    `model.safetensors`.
    """

    def save(self, folder: Path) -> None:
        """Write the folder."""
        ...


def save(
    folder: Path,
    language: LanguageModel | Saved,
    state: Mapping[str, Any],
    records: Mapping[str, Any] = EMPTY,
) -> None:
    """Write a checkpoint atomically: a crash leaves a whole checkpoint or none of that name, never half of
    one.

    Args:
        records: of the run's files, as `Recorder.up_to` gives them.

    Raises:
        BadCheckpoint: it cannot be written, as on a full disk; what was saved before is untouched.
    """
    try:
        with atomic.replacing(folder) as aside:
            _write(aside, folder.parent, language, state, records)
            if folder.exists():
                atomic.remove(folder)
    except (
        Exception
    ) as error:  # writers raise OSError, SafetensorError and, from tokenizers, a bare Exception
        raise BadCheckpoint(
            f"{folder} could not be written ({type(error).__name__}: {error}); the checkpoints "
            "before it are untouched: make room, then go on with `loquent resume "
            f"{folder.parent.parent}`"
        ) from error


def _write(
    aside: Path,
    shared: Path,
    language: LanguageModel | Saved,
    state: Mapping[str, Any],
    records: Mapping[str, Any],
) -> None:
    """Write the files of a checkpoint; `shared` is the folder of the reference's file."""
    aside.mkdir(parents=True)
    policy = aside / names.POLICY
    language.save(policy) if isinstance(language, Saved) else pretrained.save(language, policy)
    tensors: dict[str, torch.Tensor] = {}
    tree = tensor_tree.split(state, "", tensors)
    left_out = _leave_out(tensors, POLICY, _policy(aside))
    if left_out:
        tree[POLICY_HASH] = digest_of(left_out)
    reference = {path: tensors.pop(path) for path in [*tensors] if path.startswith(REFERENCE)}
    if reference:
        tree[REFERENCE_HASH] = save_reference(reference, shared)
    save_file(tensors, aside / names.TENSORS)
    atomic.write_synced(aside / names.STATE, json.dumps(tree, allow_nan=False, indent=1))
    atomic.write_synced(aside / names.LOGS, json.dumps(records, indent=1))
    manifest.seal(aside)


def load(folder: Path, *, reference: bool = True) -> dict[str, Any]:
    """The state that `save` was given; with `reference=False` without the reference, whose file is not read.

    Raises:
        BadCheckpoint: a file is missing, torn, or another than it was; names it.
    """
    try:
        manifest.check(folder)
        tree = read_state(folder)
        reference_hash, policy_hash = tree.pop(REFERENCE_HASH, None), tree.pop(POLICY_HASH, None)
        policy = {POLICY + name: tensor for name, tensor in _policy(folder).items()}
        own = read_tensors(folder / names.TENSORS)
        if policy_hash is not None:
            _check_policy(tree, policy, own, policy_hash)
        if not reference or reference_hash is None:
            shared: dict[str, torch.Tensor] = {}
        else:
            shared = read_reference(folder.parent, reference_hash, REFERENCE_HASH)
        tensors = {**policy, **own, **shared}
        state: dict[str, Any] = tensor_tree.joined(
            tree if reference else tensor_tree.without(tree, REFERENCE), tensors
        )
        return state
    except FileNotFoundError as error:
        raise Damaged(
            f"{folder} is no whole checkpoint: {Path(error.filename or '').name} is missing"
        ) from error
    except (ValueError, KeyError, OSError) as error:
        raise Damaged(f"{folder} is torn: {error}") from error


def read_state(folder: Path) -> dict[str, Any]:
    """The JSON of a checkpoint's state, compared with its manifest."""
    manifest.check(folder, (names.STATE, names.TENSORS))
    return json_files.load_object(folder / names.STATE, f"{folder} is torn", error=Damaged)


def _check_policy(
    tree: Any, policy: Mapping[str, torch.Tensor], own: Mapping[str, torch.Tensor], digest: str
) -> None:
    """ValueError where the policy's folder no longer holds the weights that the state relies on."""
    paths = [path for path in tensor_tree.paths(tree) if path.startswith(POLICY) and path not in own]
    if digest_of({path: policy[path] for path in paths}) != digest:
        raise ValueError(f"{names.POLICY}/ has other weights than those it was saved with")


def _policy(folder: Path) -> dict[str, torch.Tensor]:
    """The weights in a checkpoint's Hugging Face folder, by the name they have there."""
    files = sorted((folder / names.POLICY).glob("*.safetensors"))
    return {name: tensor for file in files for name, tensor in read_tensors(file).items()}


def _leave_out(
    tensors: dict[str, torch.Tensor], prefix: str, saved: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Remove and return the tensors that are saved already under their name, equal bit for bit.

    Others stay: a library may save a tensor in a form of its own.
    """
    left_out: dict[str, torch.Tensor] = {}
    for path in [path for path in tensors if path.startswith(prefix)]:
        other = saved.get(path.removeprefix(prefix))
        if other is not None and digest_of({"": other}) == digest_of({"": tensors[path]}):
            left_out[path] = tensors.pop(path)
    return left_out
