"""New weights for the network of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from loquent.errors import BadModel, list_names
from loquent.files.tensor_files import read_tensors

SHOWN = 3  # differences that an error lists


@torch.no_grad()
def copy_weights(module: Any, weights: Mapping[str, Tensor] | Path) -> None:
    """Copy weights into a module, in place, after all names, shapes and types have been compared.

    Args:
        weights: tensors by the names of `module.state_dict()`, or a folder with safetensors files of them. Of
            a tensor with several names (tied embeddings) any name is enough.

    Raises:
        BadModel: names, shapes or types differ, or a file cannot be read; the module is unchanged.
    """
    tensors = _read(weights) if isinstance(weights, Path) else weights
    own: dict[str, Tensor] = module.state_dict()
    loaded = {own[name].data_ptr() for name in tensors if name in own}
    problems = [
        f"{name} is missing" for name, x in own.items() if name not in tensors and x.data_ptr() not in loaded
    ]
    problems += [f"{name} is unknown" for name in tensors if name not in own]
    for name, new in tensors.items():
        if name in own and (new.shape, new.dtype) != (own[name].shape, own[name].dtype):
            kinds = (f"{tuple(x.shape)} of {str(x.dtype).removeprefix('torch.')}" for x in (new, own[name]))
            problems.append(f"{name} is {' and must be '.join(kinds)}")
    if problems:
        raise BadModel(
            "the weights do not fit the network: "
            f"{list_names(problems[:SHOWN], more=len(problems[SHOWN:]))}; "
            "names, shapes and types must be those of the policy's state dict; give this policy's weights"
        )
    for name, new in tensors.items():
        own[name].copy_(new)


def _read(folder: Path) -> dict[str, Tensor]:
    """The tensors of all safetensors files of a folder."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise BadModel(
            f"{folder} has no safetensors file, which the weights are read from; name another folder"
        )
    try:
        return {name: tensor for file in files for name, tensor in read_tensors(file).items()}
    except ValueError as error:
        raise BadModel(f"{folder}: {error}; write the weights again") from error
