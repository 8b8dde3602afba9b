"""The checkpoint of a judge in training: one file, so that it is old or new but never torn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from loquent.core.guards import json_files
from loquent.errors import AnotherRun, BadCheckpoint
from loquent.files import atomic, tensor_tree

FILE, STATE = "checkpoint.safetensors", "state"


def write(folder: Path, state: Mapping[str, Any]) -> None:
    """Write a tree of JSON values and tensors."""
    tensors: dict[str, torch.Tensor] = {}
    text = json.dumps(tensor_tree.split(state, "", tensors), allow_nan=False)
    folder.mkdir(parents=True, exist_ok=True)
    with atomic.replacing(folder / FILE) as aside:
        save_file(tensors, aside, metadata={STATE: text})


def read(folder: Path, of: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tree of the checkpoint in a folder; None if there is no checkpoint.

    Args:
        of: entries that must be equal: the settings, the data and the machine.

    Raises:
        BadCheckpoint: the file cannot be read. AnotherRun: an entry of `of` differs.
    """
    file = folder / FILE
    if not file.is_file():
        return None
    advice = f"delete {folder} to train anew"
    try:
        with safe_open(file, framework="pt") as saved:
            tree = json_files.loads((saved.metadata() or {}).get(STATE, ""))
            names = list(saved.keys())
            state: dict[str, Any] = tensor_tree.join(tree, {name: saved.get_tensor(name) for name in names})
        differing = [name for name in of if json_files.loads(json.dumps(of[name])) != state[name]]
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadCheckpoint(f"{file} cannot be read ({error}); {advice}") from error
    if differing:
        name = differing[0]
        old, new = state[name], json_files.loads(json.dumps(of[name]))
        keys = [key for key in new if old.get(key) != new[key]] if isinstance(new, dict) else []
        what = (
            "; ".join(f"{key} was {old.get(key)!r} and is {new[key]!r}" for key in keys[:3]) or "it changed"
        )
        raise AnotherRun(f"{file} is of other {name}: {what}; {advice}, or name another folder")
    return state
