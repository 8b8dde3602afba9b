"""The memory of a network from its config alone, compared with free memory before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from loquent.errors import BadModel, NotEnoughMemory, in_words, is_memory_error
from loquent.files.machine import memory
from loquent.pretrained.folder import counts_layers, new_network

SMALL = 1 << 30  # bytes; a network that needs less by a coarse upper bound is not estimated
PACKED = 8  # bytes in memory for a stored byte, at most: float64 of int8
DEEP = 64  # layers; of a deeper network a few layers are built, and the others are counted
ROWS = ("vocab", "position", "n_ctx")  # names of numbers of rows, which are multiplied by one width
NO_SIZE = ("_id", "_ids", "length", "labels", "seed", "window", "distance", "theta", "version")


def check(
    kind: Any,
    config: Any,
    place: str | Path,
    dtype: torch.dtype,
    device: torch.device,
    stored: int | None = None,
) -> None:
    """Refuse a network that needs more memory than is free, or far more than its weights have.

    Args:
        kind: an automatic class of transformers, or a class that is built from a config.
        config: the network's config.
        place: the file or the setting that gives it, for the error.
        stored: bytes of the weights that are loaded into it; None if there are none.

    Raises:
        BadModel: the weights have less than an eighth of what the network needs.
        NotEnoughMemory: the message names the largest sizes, the memory they need, and the free memory.
    """
    sizes = list(_sizes(config.to_dict()))
    if _most(sizes) * dtype.itemsize < SMALL:
        return
    free = memory.free(device)
    if free is None:
        return
    need = _least(config) * dtype.itemsize
    if need <= free:
        need = bytes_needed(kind, config, dtype, free)
    if need > free:
        raise NotEnoughMemory(
            f"{place}: {_named(sizes)}: a network of these sizes needs {in_words(need)} in "
            f"{str(dtype).removeprefix('torch.')}, and {in_words(free)} are free. Choose a smaller model; if "
            "a size is wrong, correct it"
        )
    if stored is not None and need > SMALL + PACKED * stored:
        raise BadModel(
            f"{place}: {_named(sizes)}: a network of these sizes needs {in_words(need)}, but the weights "
            f"have only {in_words(stored)}; they do not belong together. Get the model again"
        )


def bytes_needed(kind: Any, config: Any, dtype: torch.dtype, free: int) -> int:
    """The bytes of the parameters and buffers of a network, which is built without memory for them."""
    deep = {name: value for name, value in config.to_dict().items() if _is_deep(name, value)}
    if not deep:
        return _bytes(kind, config, dtype, free)
    try:
        base = _bytes(kind, _with(config, dict.fromkeys(deep, 1)), dtype, free)
        total = base
        for name, layers in deep.items():
            two = _bytes(kind, _with(config, {**dict.fromkeys(deep, 1), name: 2}), dtype, free)
            total += (layers - 1) * (two - base)
    except Exception:  # a config whose other entries do not allow fewer layers
        return _bytes(kind, config, dtype, free)
    return total


def _bytes(kind: Any, config: Any, dtype: torch.dtype, free: int) -> int:
    try:
        with torch.device("meta"):
            network = new_network(kind, config)
    except Exception as error:  # a config that fits no network, which loading will say
        return free + 1 if is_memory_error(error) else 0
    parameters = sum(tensor.numel() for tensor in network.parameters()) * dtype.itemsize
    return parameters + sum(tensor.nbytes for tensor in network.buffers())


def _with(config: Any, layers: dict[str, int]) -> Any:
    """The config with other numbers of layers."""
    fields = {name: value for name, value in config.to_dict().items() if name != "layer_types"}
    return type(config).from_dict({**fields, **layers})


def _is_deep(name: str, value: Any) -> bool:
    return counts_layers(name) and "expert" not in name and type(value) is int and value > DEEP


def _least(config: Any) -> int:
    """The fewest parameters of any network with these sizes: one square layer, and one row a token."""
    text = config.get_text_config()
    width = getattr(text, "hidden_size", None) or 0
    rows = getattr(text, "vocab_size", None) or 0
    narrow = getattr(text, "embedding_size", None) or width
    return int(width * width + rows * min(width, narrow)) if type(width) is type(rows) is int else 0


def _most(sizes: list[tuple[str, int]]) -> int:
    """A coarse upper bound of the parameters."""
    rows = sum(value for name, value in sizes if _counts_rows(name))
    layers = max(1, sum(value for name, value in sizes if counts_layers(name) and "expert" not in name))
    experts = math.prod(max(1, value) for name, value in sizes if "expert" in name)
    width = max(
        (value for name, value in sizes if not _counts_rows(name) and not counts_layers(name)), default=1
    )
    return (rows + 64 * layers * experts * width) * width


def _sizes(entries: Any, depth: int = 0) -> Iterator[tuple[str, int]]:
    """The integers of a config by name, also those of its parts, but ids and limits."""
    for name, value in entries.items():
        if (
            isinstance(value, dict)
            and depth < 3
            and name not in ("id2label", "label2id", "task_specific_params")
        ):
            yield from _sizes(value, depth + 1)
        elif (
            type(value) is int and value > 0 and not any(name.endswith(end) or end in name for end in NO_SIZE)
        ):
            yield name, value


def _counts_rows(name: str) -> bool:
    return any(part in name for part in ROWS)


def _named(sizes: list[tuple[str, int]]) -> str:
    """The largest number of rows, of layers, and of anything else."""
    groups = (
        [size for size in sizes if _counts_rows(size[0])],
        [size for size in sizes if counts_layers(size[0])],
        [size for size in sizes if not _counts_rows(size[0]) and not counts_layers(size[0])],
    )
    largest = [max(group, key=lambda size: size[1]) for group in groups if group]
    return ", ".join(f"{name} = {value:,}" for name, value in sorted(largest, key=lambda size: -size[1]))
