"""A step of decoding that torch compiles: `decoding.compile`.

Torch keeps the compiled code in this process. It belongs to the kinds of layers and tensors, not to their
numbers: weights are inputs of each call, so that a step after an update reads the new ones. Torch checks
before each call what the code depends on, and compiles again where that has changed.
"""

from __future__ import annotations

import time
import warnings
from functools import cache
from typing import Any

import torch
from torch import Tensor

from loquent.core.settings import Remark
from loquent.errors import BadSetting
from loquent.models.caches.single import token_step
from loquent.pretrained.pytorch.torch_private import compile_function, failed_compilation, missing_compiler

ADVICE = "set decoding.compile (or evaluation.compile) to false"


class CompiledStep:
    """`token_step` compiled; a remark says how long each compilation took."""

    def __init__(self) -> None:
        self.count = 0  # of compilations
        self._step = compile_function(token_step, self._begin)

    def _begin(self) -> None:
        self.count += 1

    def __call__(self, own: Any, trunk: Any, ids: Tensor, *rest: Any) -> Tensor:
        """The result of `token_step`.

        Raises:
            BadSetting: the compilation failed.
        """
        before, start = self.count, time.perf_counter()
        try:
            states = self._step(own, trunk, ids, *rest)
        except RuntimeError as error:
            why = failed_compilation(error)
            if why is None:
                raise
            raise BadSetting(f"torch cannot compile a step of decoding: {why}; {ADVICE}") from error
        if self.count > before:
            seconds = time.perf_counter() - start
            warnings.warn(
                f"decoding.compile: a step of decoding was compiled in {seconds:.1f} s "
                f"({type(trunk).__name__}, live rows: {len(ids)}); later steps of this process use it",
                Remark,
                stacklevel=2,
            )
        return states


def compiled_step(device: torch.device) -> CompiledStep:
    """The compiled step of this process.

    Raises:
        BadSetting: a compiler is missing.
    """
    missing = missing_compiler(device)
    if missing is not None:
        raise BadSetting(
            f"decoding.compile = true needs {missing}, which is missing; install it, or {ADVICE}"
        )
    return _of_process()


@cache
def _of_process() -> CompiledStep:
    return CompiledStep()
