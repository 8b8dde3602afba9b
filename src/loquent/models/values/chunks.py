"""Functions of a linear layer's outputs, computed for some rows at a time.

Neither the forward nor the backward pass holds all outputs in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from loquent.errors import LoquentError

Columns = tuple[Tensor, ...]
Rows = Callable[[Tensor, slice], Columns]
Function = Callable[[Tensor, slice, tuple[bool, ...]], Columns]


class Product(Protocol):
    """A linear layer: states @ weight.T + bias."""

    @property
    def weight(self) -> Tensor:
        """[V, H]."""
        ...

    @property
    def bias(self) -> Tensor | None:
        """[V]."""
        ...


def map_chunks(
    layer: Product, states: Float[Tensor, "N H"], step: int, function: Function, outputs: int
) -> Columns:
    """The `function` of the layer's outputs, `step` rows at a time.

    The result has first derivatives by the states and the layer's parameters.

    Args:
        function: (rows of outputs, the slice of these rows, which columns are needed) -> columns [rows].
        outputs: the number of columns of `function`.
    """
    return _Chunked.apply(states, layer.weight, layer.bias, step, function, outputs)  # type: ignore[no-any-return, no-untyped-call]  # torch has no types for autograd functions


def sum_chunks(
    layer: Product, states: Float[Tensor, "N H"], step: int, function: Rows
) -> tuple[Float[Tensor, ""], Columns]:
    """The sum over rows of the first column of `function`, and its other columns [N] without gradients.

    The function reads the layer's outputs. The forward pass also computes the gradients, so the outputs are
    computed once; `map_chunks` computes them again in the backward pass. The sum has first derivatives by the
    states and the layer's parameters.
    """
    total, *columns = _Summed.apply(states, layer.weight, layer.bias, step, function)  # type: ignore[no-untyped-call]  # torch has no types for autograd functions
    return total, tuple(columns)


def refuse_second_derivatives() -> None:
    """Raise LoquentError in a backward pass with `create_graph`, which would take gradients for constants."""
    if torch.is_grad_enabled():
        raise LoquentError(
            "log-probabilities and losses that are computed in chunks have no second derivatives; make the "
            "logits with the model itself"
        )


class _Summed(torch.autograd.Function):
    """A sum whose forward pass also computes the gradients; its backward pass scales them."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, step: int, function: Rows
    ) -> Columns:
        gradients = [
            torch.zeros_like(part) if part is not None and needed else None
            for part, needed in zip((states, weight, bias), ctx.needs_input_grad, strict=False)
        ]
        by_states, by_weight, by_bias = gradients
        total = states.new_zeros((), dtype=torch.promote_types(states.dtype, weight.dtype))
        columns = _Columns(len(states))
        for here in _slices(len(states), step) or [slice(0, 0)]:  # without rows the columns are empty
            with torch.enable_grad():
                wide = F.linear(states[here], weight, bias).detach()
                wide.requires_grad_(any(gradient is not None for gradient in gradients))
                first, *rest = function(wide, here)
                part = first.sum()
            total += part.detach()
            columns.write(rest, here)
            if wide.requires_grad:
                (by_wide,) = torch.autograd.grad(part, wide)
                by_wide = by_wide.to(weight.dtype)  # of another type under autocast
                if by_states is not None and by_states.dtype == weight.dtype:
                    torch.mm(by_wide, weight, out=by_states[here])
                elif by_states is not None:
                    by_states[here] = (by_wide @ weight).to(by_states.dtype)
                if by_weight is not None:
                    by_weight.addmm_(by_wide.T, states[here].to(weight.dtype))
                if by_bias is not None:
                    by_bias += by_wide.sum(0)
                del by_wide
            del wide, first, rest, part  # before the next outputs
        ctx.save_for_backward(by_states, by_weight, by_bias)
        ctx.mark_non_differentiable(*columns.whole)
        return total, *columns.whole

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        return *(None if part is None else part.mul_(gradient) for part in ctx.saved_tensors), None, None


class _Chunked(torch.autograd.Function):
    """A function whose backward pass computes the outputs again, chunk by chunk.

    It adds each chunk's part to a single gradient of the weight, in place.
    """

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        step: int,
        function: Function,
        outputs: int,
    ) -> Columns:
        ctx.save_for_backward(states, weight, bias)
        ctx.step, ctx.function = step, function
        ctx.set_materialize_grads(False)
        columns = _Columns(len(states))
        for here in _slices(len(states), step):
            columns.write(function(F.linear(states[here], weight, bias), here, (True,) * outputs), here)
        return tuple(columns.whole)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        states, weight, bias = ctx.saved_tensors
        by_states, by_weight, by_bias = (
            torch.zeros_like(part) if needed else None
            for part, needed in zip((states, weight, bias), ctx.needs_input_grad, strict=False)
        )
        wanted = tuple(gradient is not None for gradient in gradients)
        for here in _slices(len(states), ctx.step):
            with torch.enable_grad():
                wide = F.linear(states[here], weight, bias).detach().requires_grad_()
                columns = ctx.function(wide, here, wanted)
            pairs = [
                (column, gradient[here])
                for column, gradient in zip(columns, gradients, strict=True)
                if gradient is not None
            ]
            (by_wide,) = torch.autograd.grad(
                [column for column, _ in pairs], wide, [gradient for _, gradient in pairs]
            )
            by_wide = by_wide.to(weight.dtype)  # of another type under autocast
            if by_states is not None:
                by_states[here] = (by_wide @ weight).to(by_states.dtype)
            if by_weight is not None:
                by_weight.addmm_(by_wide.T, states[here].to(weight.dtype))
            if by_bias is not None:
                by_bias += by_wide.sum(0)
            del wide, columns, pairs, by_wide  # before the next outputs
        return by_states, by_weight, by_bias, None, None, None


class _Columns:
    """Columns that are written some rows at a time, into tensors that are made at the first write.

    A list of their parts would lie between the memory of chunks, which would not be used again then.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.whole: list[Tensor] = []

    def write(self, parts: Sequence[Tensor], here: slice) -> None:
        """Write the rows `here` of each column, without gradients."""
        self.whole = self.whole or [part.new_empty(self.rows) for part in parts]
        for column, part in zip(self.whole, parts, strict=True):
            column[here] = part.detach()


def _slices(rows: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, rows)) for i in range(0, rows, step)]
