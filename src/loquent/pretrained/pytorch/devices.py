"""Devices and dtypes of networks by name, and the number of threads."""

from __future__ import annotations

import os

import torch

from loquent.errors import BadSetting

DTYPES = ("float32", "float64", "bfloat16", "float16")


def device(name: str = "auto") -> torch.device:
    """The device of a setting; "auto" is CUDA if available, else the CPU.

    Raises:
        BadSetting: the name is unknown, or the machine has no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.partition(":")[0] not in ("cpu", "cuda"):
        raise BadSetting(f"device = {name!r}; it must be 'auto', 'cpu' or 'cuda'")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise BadSetting(f"device = {name!r}, but torch finds no CUDA on this machine; use 'auto' or 'cpu'")
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise BadSetting(f"device = {name!r}; it must be 'auto', 'cpu' or 'cuda'") from error


def dtype(name: str) -> torch.dtype:
    """The floating-point type of a name; BadSetting for a name outside `DTYPES`."""
    if name not in DTYPES:
        raise BadSetting(f"dtype = {name!r}; it must be one of {', '.join(DTYPES)}")
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def exact(kind: torch.dtype) -> torch.dtype:
    """The type for computations on outputs of a network of type `kind`: `kind`, or float32 if wider."""
    return torch.promote_types(kind, torch.float32)


def threads(count: int | None = None) -> int:
    """Set the number of torch's threads to `count` and return the number in use.

    The default is OMP_NUM_THREADS if it is set, else the number of cores of this process. Idle threads sleep
    (OMP_WAIT_POLICY), so a second thread gives 1.3 to 1.6 times the speed if its core is free, and costs
    nothing if it is not.
    """
    if count is None:
        free = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        count = int(os.environ.get("OMP_NUM_THREADS") or free)
    torch.set_num_threads(max(1, count))
    return torch.get_num_threads()
