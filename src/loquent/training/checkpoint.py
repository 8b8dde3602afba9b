"""Checkpoints: all that influences the future of a run, as safetensors and JSON, written atomically.

A checkpoint is a folder `checkpoints/update-N/` with these files:

policy/             an ordinary Hugging Face folder, if the policy is a language model; of a policy with
                    adapters only these, in peft's form.
state.safetensors   every other tensor, by its path.
state.json          everything else.
logs.json           the records of the run's files.
manifest.json       size and SHA-256 of each file, and a seal, so that damage is detected on loading.

Each weight is stored once: the policy's in its folder, and the reference's, which never change, in
`checkpoints/reference-HASH.safetensors` for all checkpoints. Nothing is pickled.
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
from loquent.pretrained import LanguageModel, lora

# the prefixes of the paths of both networks' tensors in a trainer's state
POLICY, REFERENCE = "/actor/policy.", "/actor/reference."
REFERENCE_HASH = "reference hash"  # the key in state.json of the digest that names the file of the reference
POLICY_HASH = "policy hash"  # the key in state.json of the digest of the weights that are only in policy/


@runtime_checkable
class Saved(Protocol):
    """A policy that is no language model, and writes its own folder.

    The folder has `config.json` and `model.safetensors`.
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
    """Write a checkpoint atomically: a crash never leaves a part of it under its name.

    Args:
        records: the records of the run's files, from `Recorder.up_to`.

    Raises:
        BadCheckpoint: it cannot be written, for example on a full disk; earlier checkpoints are unchanged.
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
    """The state that `save` wrote; with `reference=False` without the reference, whose file is not read.

    Raises:
        BadCheckpoint: a file is missing, torn or changed; names it.
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
        state: dict[str, Any] = tensor_tree.join(
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
    """The JSON of a checkpoint's state, checked against its manifest."""
    manifest.check(folder, (names.STATE, names.TENSORS))
    return json_files.load_object(folder / names.STATE, f"{folder} is torn", error=Damaged)


def _check_policy(
    tree: Any, policy: Mapping[str, torch.Tensor], own: Mapping[str, torch.Tensor], digest: str
) -> None:
    """Raise ValueError if the policy's folder has other weights than those the state was saved with."""
    paths = [path for path in tensor_tree.paths(tree) if path.startswith(POLICY) and path not in own]
    if digest_of({path: policy[path] for path in paths}) != digest:
        raise ValueError(f"{names.POLICY}/ has other weights than those it was saved with")


def _policy(folder: Path) -> dict[str, torch.Tensor]:
    """The weights in a checkpoint's Hugging Face folder, by their names there."""
    files = sorted((folder / names.POLICY).glob("*.safetensors"))
    return {lora.own_name(name): tensor for file in files for name, tensor in read_tensors(file).items()}


def _leave_out(
    tensors: dict[str, torch.Tensor], prefix: str, saved: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Remove and return the tensors that are already saved under their name with the same bits.

    Other tensors stay: a library may save a tensor in another form.
    """
    left_out: dict[str, torch.Tensor] = {}
    for path in [path for path in tensors if path.startswith(prefix)]:
        other = saved.get(path.removeprefix(prefix))
        if other is not None and digest_of({"": other}) == digest_of({"": tensors[path]}):
            left_out[path] = tensors.pop(path)
    return left_out
