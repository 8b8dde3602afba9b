"""The hardware and software of a run; runs are equal to the bit only when all of it is equal."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from loquent.files.machine import parallel
from loquent.files.machine.version import RUN_FORMAT, __version__

LIBRARIES = ("numpy", "transformers", "tokenizers")  # torch names its own build


def machine(device: torch.device) -> dict[str, Any]:
    """What bitwise results depend on: device, threads, CPU capability and versions of libraries."""
    return {
        "run_format": RUN_FORMAT,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "threads": torch.get_num_threads(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "processor": platform.machine(),
        **software(),
        **({"processes": parallel.size()} if parallel.size() > 1 else {}),
    }


def software() -> dict[str, str]:
    """The versions of Loquent and of the libraries that results depend on."""
    libraries = {name: metadata.version(name) for name in LIBRARIES}
    return {"torch": str(torch.__version__), "loquent": __version__, **libraries}


def source_state() -> dict[str, Any] | None:
    """The commit of the checkout that runs, and whether its files are changed; None when installed."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return {
            "commit": commit,
            "changed": bool(_git(root, "status", "--porcelain", "--untracked-files=no")),
        }
    except (OSError, subprocess.SubprocessError):
        return None


def _git(root: Path, *arguments: str) -> str:
    process = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=20
    )
    return process.stdout.strip()
