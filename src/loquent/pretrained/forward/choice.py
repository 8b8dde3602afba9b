"""Which of our forward passes serves a network, and what all of them offer."""

from __future__ import annotations

from typing import Any, Protocol

from jaxtyping import Bool, Float, Int64
from torch import Tensor

from loquent.pretrained.forward import gpt2, llama
from loquent.pretrained.forward.parts import Attend, Stores


class Pass(Protocol):
    """A forward pass: a module of this room."""

    def serves(self, module: Any) -> bool:
        """Whether it computes the same function as the module, a language model or its trunk."""
        ...

    def heads(self, trunk: Any) -> list[tuple[int, int]]:
        """For each layer the number of heads that have keys and values, and their width."""
        ...

    def last_hidden(
        self,
        trunk: Any,
        tokens: Int64[Tensor, "B T"],
        at: Int64[Tensor, "B A"] | None = None,
        stores: Stores | None = None,
    ) -> Tensor:
        """The last hidden states [B, T, H] of right-padded rows, or [B, A, H] at the positions `at`.

        Differentiable.
        """
        ...

    def step(
        self, trunk: Any, ids: Int64[Tensor, " n"], places: Int64[Tensor, " n"], attend: Attend
    ) -> Float[Tensor, "n H"]:
        """The last hidden states of one token for each row, at its place in the row, without dropout.

        Args:
            attend: stores the key and the value of a layer and mixes the values that the query may read.
        """
        ...


PASSES: tuple[Pass, ...] = (gpt2, llama)


def pass_of(module: Any) -> Pass | None:
    """The forward pass that serves a language model or its trunk; None if none does."""
    return next((own for own in PASSES if own.serves(module)), None)


def hidden_where(
    own: Pass, trunk: Any, tokens: Int64[Tensor, "B T"], wanted: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T H"]:
    """The last hidden states at the positions `wanted`.

    They may be 0 elsewhere, which saves most of the last layer.
    """
    most = int(wanted.sum(1).max())
    if not 0 < 4 * most < 3 * tokens.shape[1]:
        return own.last_hidden(trunk, tokens)
    at = wanted.byte().argsort(dim=1, descending=True, stable=True)[:, :most]
    states = own.last_hidden(trunk, tokens, at)
    return states.new_zeros(*tokens.shape, states.shape[2]).scatter(
        1, at[:, :, None].expand_as(states), states
    )
