"""The private names of torch, which Loquent uses in this module alone.

Torch has no public names for them. They exist in torch >= 2.6, the lower bound in pyproject.toml, and were
checked with torch 2.13. `tests/test_private_names.py` fails when one of them changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn


def children(module: nn.Module) -> Mapping[str, nn.Module | None]:
    """The direct submodules of a module by name, as registered: a module under two names occurs twice."""
    return module._modules


def with_child(module: nn.Module, name: str, child: Any) -> Any:
    """A shallow copy of a module, made without its constructor, in which `child` has the name `name`."""
    copied: Any = object.__new__(type(module))
    copied.__dict__.update(module.__dict__)
    copied.__dict__["_modules"] = {**module._modules, name: child}
    return copied


def is_changed(module: nn.Module) -> bool:
    """Whether a module has hooks or a replaced `forward`."""
    return bool(
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
        or "forward" in vars(module)
    )


def version(tensors: Iterable[Tensor]) -> int:
    """A number that grows with every change in place of the tensors, such as an optimizer's step.

    A change through `.data` is not counted.
    """
    return sum(tensor._version for tensor in tensors)


def is_dropout(module: nn.Module) -> bool:
    """Whether a module is a dropout layer of any kind, with the rate `p`."""
    return isinstance(module, nn.modules.dropout._DropoutNd)


def lerp_(values: Sequence[Tensor], targets: Sequence[Tensor], rate: float) -> None:
    """Move each tensor by `rate` towards its target, in place: x <- x + rate (target - x)."""
    torch._foreach_lerp_(list(values), list(targets), rate)


def compile_function(function: Callable[..., Tensor], begins: Callable[[], None]) -> Callable[..., Tensor]:
    """A function compiled by torch's inductor, for all sizes at once where torch can.

    It calls `begins` each time a graph is compiled. torch compiles again where a guard fails, and beyond its
    limit of compilations it calls the function itself.
    """
    from torch._inductor.compile_fx import compile_fx

    def backend(graph: Any, inputs: Any) -> Any:
        begins()
        return compile_fx(graph, inputs)

    done: Callable[..., Tensor] = torch.compile(function, backend=backend, dynamic=True)
    return done


def failed_compilation(error: RuntimeError) -> str | None:
    """Why torch's compiler gave up, in a line; None for other errors, such as full memory."""
    from torch._dynamo.exc import BackendCompilerFailed, TorchDynamoException

    if not isinstance(error, TorchDynamoException):
        return None
    cause = error.inner_exception if isinstance(error, BackendCompilerFailed) else error
    return f"{type(cause).__name__}: {cause}".strip().partition("\n")[0]


def missing_compiler(device: torch.device) -> str | None:
    """What torch's inductor needs for a device and does not find; None if nothing is missing."""
    if device.type != "cpu":
        from torch.utils._triton import has_triton

        return None if has_triton() else f"Triton, with support for {device.type}"
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        return "a C++ compiler (g++, or the program that the environment variable CXX names)"
    return None
