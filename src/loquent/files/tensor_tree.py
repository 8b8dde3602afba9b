"""A state in two parts: a tree of JSON values, and its tensors by their path in the tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

TENSOR = "tensor:"  # the prefix of a JSON string that replaces the tensor of a path


def split(tree: Any, path: str, tensors: dict[str, torch.Tensor]) -> Any:
    """The tree with the path of each tensor in its place.

    The tensors are added to `tensors`, on the CPU. One that is there already shares memory with the tree; a
    copy is made only where two paths would share memory, which no file can hold.
    """
    return _split(tree, path, tensors, set())


def _split(tree: Any, path: str, tensors: dict[str, torch.Tensor], storages: set[int]) -> Any:
    if isinstance(tree, torch.Tensor):
        tensor = tree.detach().contiguous().cpu()
        storage = tensor.untyped_storage()
        if storage.nbytes() != tensor.nbytes or storage.data_ptr() in storages:
            tensor = tensor.clone()
        storages.add(tensor.untyped_storage().data_ptr())
        tensors[path] = tensor
        return TENSOR + path
    if isinstance(tree, Mapping):
        return {str(name): _split(item, f"{path}/{name}", tensors, storages) for name, item in tree.items()}
    if isinstance(tree, list | tuple):
        return [_split(item, f"{path}/{i}", tensors, storages) for i, item in enumerate(tree)]
    return tree


def join(tree: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    """The tree before `split`; KeyError if a tensor is missing."""
    if isinstance(tree, dict):
        return {name: join(item, tensors) for name, item in tree.items()}
    if isinstance(tree, list):
        return [join(item, tensors) for item in tree]
    if isinstance(tree, str) and tree.startswith(TENSOR):
        return tensors[tree.removeprefix(TENSOR)]
    return tree


def paths(tree: Any) -> list[str]:
    """The paths of all tensors that a tree names."""
    if isinstance(tree, dict | list):
        return [path for item in (tree.values() if isinstance(tree, dict) else tree) for path in paths(item)]
    return [tree.removeprefix(TENSOR)] if isinstance(tree, str) and tree.startswith(TENSOR) else []


def without(tree: Any, prefix: str) -> Any:
    """The tree without the tensors whose path begins with `prefix`."""
    if not isinstance(tree, dict):
        return tree
    start = TENSOR + prefix
    return {
        name: without(item, prefix)
        for name, item in tree.items()
        if not (isinstance(item, str) and item.startswith(start))
    }
