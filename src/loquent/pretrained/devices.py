"""Where networks run and in which type: devices and dtypes by name, and how many threads."""

from __future__ import annotations

import os

import torch

from loquent.errors import BadSetting

DTYPES = ("float32", "float64", "bfloat16", "float16")


def device(name: str = "auto") -> torch.device:
    """The device a setting stands for: "auto" is CUDA where present, else the CPU.

    Raises:
        BadSetting: no such device, or it is not on this machine.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.partition(":")[0] not in ("cpu", "cuda"):
        raise BadSetting(f"device = {name!r} is none of 'auto', 'cpu', 'cuda'")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise BadSetting(f"device = {name!r}, but torch finds no CUDA here; 'auto' takes what there is")
    try:
        return torch.device(name)
    except RuntimeError as error:
        raise BadSetting(f"device = {name!r} is none of 'auto', 'cpu', 'cuda'") from error


def dtype(name: str) -> torch.dtype:
    """The floating-point type of a name; BadSetting for any other than float32, float64, bfloat16 and float16."""
    if name not in DTYPES:
        raise BadSetting(f"dtype = {name!r} is none of {', '.join(DTYPES)}")
    return getattr(torch, name)  # type: ignore[no-any-return]


def threads(count: int | None = None) -> int:
    """Let torch use `count` threads and return the number in use.

    By default OMP_NUM_THREADS where it is set, else the cores this process may run on: with waiting threads that do not spin
    (see above) a second thread gives 1.3 to 1.6 times the speed when its core is free, and costs nothing when it is not.
    """
    if count is None:
        free = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        count = int(os.environ.get("OMP_NUM_THREADS") or free)
    torch.set_num_threads(max(1, count))
    return torch.get_num_threads()
