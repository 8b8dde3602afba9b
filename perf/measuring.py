"""Two ways of doing the same work, timed in alternating rounds of one process, and what the machine could do
meanwhile.
"""

from __future__ import annotations

import math
import platform
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from loquent.pretrained.pytorch import devices


@dataclass
class Sides:
    """Seconds of ours and of the reference, round by round: of the wall clock, and of this process's
    processor time.
    """

    ours: list[tuple[float, float]] = field(default_factory=list)
    reference: list[tuple[float, float]] = field(default_factory=list)

    def ratios(self, clock: int = 0) -> list[float]:
        """How many times faster ours was, one number a round; clock 0 is the wall's, 1 the processor's."""
        return [other[clock] / mine[clock] for mine, other in zip(self.ours, self.reference, strict=True)]


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds one call takes, by the wall clock and in processor time.

    A GPU has done all before and all of it after.
    """
    synchronize()
    wall, own = time.perf_counter(), time.process_time()
    work()
    synchronize()
    return time.perf_counter() - wall, time.process_time() - own


def synchronize() -> None:
    """Wait for the GPU, where one is in use: calls to it return before it has done anything."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def mixed(device: str, dtype: str) -> AbstractContextManager[Any]:
    """Both sides of a learning benchmark in half precision: weights stay float32, products are made in
    `dtype`; nothing for float32.
    """
    return (
        nullcontext()
        if dtype == "float32"
        else torch.autocast(torch.device(device).type, devices.dtype(dtype))
    )


def alternate(ours: Callable[[], Any], reference: Callable[[], Any], rounds: int, warm: int = 1) -> Sides:
    """Time both sides once a round, the side that goes first changing from round to round.

    `warm` rounds before are not counted.
    """
    sides = Sides()
    for number in range(-warm, rounds):
        pairs = [(ours, sides.ours), (reference, sides.reference)]
        for work, seconds in pairs if number % 2 else reversed(pairs):
            taken = timed(work)
            if number >= 0:
                seconds.append(taken)
    return sides


def interval(values: list[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """An interval for the median by order statistics: (low, high, its true coverage).

    Few values give the whole range and less coverage.
    """
    ordered, n = sorted(values), len(values)

    def coverage(k: int) -> float:  # that the median lies between the k-th smallest and the k-th largest
        return 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n

    k = max((k for k in range(1, n // 2 + 1) if coverage(k) >= confidence), default=1)
    return ordered[k - 1], ordered[n - k], coverage(k)


def limits(seconds: float = 0.3, device: str = "cpu", dtype: str = "float32") -> dict[str, float]:
    """What the device gives (a CPU on this many threads), the best of a few tries: a matrix product in
    GFLOP/s, reading memory in GB/s.
    """
    made = {"device": device, "dtype": devices.dtype(dtype)}
    left, right = torch.randn(1024, 1024, **made), torch.randn(1024, 1024, **made)
    large = torch.ones(1 << 26, device=device)  # 256 MB: far more than any cache
    product = min(_repeated(lambda: left @ right, seconds))
    reading = min(_repeated(large.sum, seconds))
    return {
        "matrix_gflops": round(2 * 1024**3 / product / 1e9, 1),
        "memory_gb_per_s": round(4 * large.numel() / reading / 1e9, 1),
    }


def _repeated(work: Callable[[], Any], seconds: float) -> list[float]:
    work()
    taken: list[float] = []
    while sum(taken) < seconds or len(taken) < 3:
        taken.append(timed(work)[0])
    return taken


def summary(sides: Sides, work: int, unit: str) -> dict[str, Any]:
    """The figures of a comparison, of `work` units a round: throughput of both sides, the median ratio and
    its interval.
    """
    ratios = sides.ratios()
    low, high, covered = interval(ratios)
    mine, other = (
        statistics.median(wall for wall, _ in seconds) for seconds in (sides.ours, sides.reference)
    )
    return {
        f"{unit}_per_second": round(work / mine, 2),
        f"reference_{unit}_per_second": round(work / other, 2),
        "ratio": round(statistics.median(ratios), 3),
        "low": round(low, 3),
        "high": round(high, 3),
        "coverage": round(covered, 3),
        "ratio_of_processor_time": round(statistics.median(sides.ratios(1)), 3),
        "rounds": [round(ratio, 3) for ratio in ratios],
    }


def machine(device: str = "cpu") -> dict[str, Any]:
    """What a figure depends on beside the code."""
    return {
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "processor": platform.machine(),
    }
