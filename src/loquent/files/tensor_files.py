"""Files of tensors: those of networks, and the file of the reference, which all checkpoints share.

Errors of reading name the file.
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from loquent.core.guards import json_files
from loquent.files import atomic, names
from loquent.files.run_checkpoints import reference_file

DIGITS = 32  # hexadecimal digits of a digest


def read_tensors(file: Path) -> dict[str, torch.Tensor]:
    """The tensors of a file.

    Raises:
        FileNotFoundError, ValueError: the file is missing or cannot be read. Unlike the library's errors,
            these name the file.
    """
    if not file.is_file():
        raise FileNotFoundError(errno.ENOENT, "no such file", str(file))
    try:
        return load_file(file)
    except (SafetensorError, ValueError, OSError) as error:
        raise ValueError(f"the tensors of {file.name} cannot be read ({error})") from error


def digest_of(tensors: Mapping[str, torch.Tensor]) -> str:
    """A digest of names, dtypes, shapes and bytes."""
    digest = hashlib.sha256()
    for path in sorted(tensors):
        tensor = tensors[path]
        digest.update(json.dumps([path, str(tensor.dtype), list(tensor.shape)]).encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()[:DIGITS]


def save_network(network: torch.nn.Module, content: Mapping[str, Any], folder: Path) -> None:
    """Write `model.safetensors` with a network's tensors, and `config.json` with what the network fits."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: x.detach().cpu().contiguous() for name, x in network.state_dict().items()}
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(dict(content), indent=1), encoding="utf-8")


def save_reference(tensors: dict[str, torch.Tensor], folder: Path) -> str:
    """Write the tensors of the reference, unless an undamaged file of them exists.

    Returns the digest that names the file.
    """
    digest = digest_of(tensors)
    file = reference_file(folder, digest)
    if not file.is_file() or not _is_whole(file, digest):
        with atomic.replacing(file) as aside:
            save_file(tensors, aside)
    return digest


def read_reference(folder: Path, digest: object, key: str) -> dict[str, torch.Tensor]:
    """The tensors that `save_reference` wrote.

    Args:
        digest: the digest that names the file.
        key: the key of the digest, for errors.

    Raises:
        ValueError: the tensors have changed, or `digest` is not a digest.
    """
    if not (isinstance(digest, str) and len(digest) == DIGITS and digest.isalnum()):
        raise ValueError(
            f"{key} is {json_files.show(digest)} in {names.STATE}; it must be {DIGITS} hexadecimal digits"
        )
    file = reference_file(folder, digest)
    tensors = read_tensors(file)
    if digest_of(tensors) != digest:
        raise ValueError(f"{file.name} has other weights than those it was saved with")
    return tensors


def _is_whole(file: Path, digest: str) -> bool:
    """Whether a file has the weights of its name: a new checkpoint must not rely on a torn file."""
    try:
        return digest_of(read_tensors(file)) == digest
    except (OSError, ValueError):
        return False
