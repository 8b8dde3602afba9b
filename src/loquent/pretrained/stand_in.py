"""A stand-in for the trunk of a causal model, with which the model's own code for its output layer runs
without the trunk.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from loquent.pretrained.recorder import Unrecognised
from loquent.pretrained.torch_private import is_changed, with_child

FLAGS = {
    "use_cache",
    "return_dict",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
}  # no hidden state depends on them


class StandIn:
    """Takes the place of a trunk: gives the hidden states, checks that it is called with the ids and nothing
    else.
    """

    def __init__(self, trunk: nn.Module, hidden: Tensor, ids: Tensor, mask: Tensor) -> None:
        self._trunk, self.hidden, self.ids, self.mask = trunk, hidden, ids, mask
        self.called: list[
            nn.Module
        ] = []  # the module whose place it takes: of a shell the part that the model calls past it

    def __call__(self, *given: Any, **named: Any) -> Output:
        """What the trunk gives, as the models read it."""
        named = {**dict(zip(("input_ids", "attention_mask"), given, strict=False)), **named}
        right = named.pop("input_ids", None) is self.ids and named.pop("attention_mask", None) is self.mask
        if not right or any(value is not None for value in given[2:]):
            raise Unrecognised("the trunk reads something else than the ids")
        for name, value in named.items():
            if not (value is None or (name in FLAGS and isinstance(value, bool)) or self._same(name, value)):
                raise Unrecognised(f"the trunk is given {name}")
        self.called.append(self._trunk)
        return Output(self.hidden)

    def _same(self, name: str, value: Any) -> bool:
        """Whether the trunk does the same without this argument."""
        if name == "logits_to_keep" and value == 0:  # all
            return True
        known = inspect.signature(self._trunk.forward).parameters
        return name in known and not isinstance(value, Tensor) and bool(value == known[name].default)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._trunk, name)
        if not isinstance(value, nn.Module):
            return value
        if is_changed(self._trunk) or not _passes_on(
            self._trunk, name, StandIn(value, self.hidden, self.ids, self.mask)
        ):
            return Part(value)
        inner = StandIn(value, self.hidden, self.ids, self.mask)
        inner.called = self.called
        return inner


class Part:
    """A part of a trunk, of which only attributes may be read."""

    def __init__(self, part: nn.Module) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._part, name)
        return Part(value) if isinstance(value, nn.Module) else value

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Not the output layer's to call."""
        raise Unrecognised("a part of the trunk is called after it")


class Output:
    """What a trunk gives: the hidden states, and None for all else."""

    def __init__(self, hidden: Tensor) -> None:
        self.last_hidden_state = hidden

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)

    def __getitem__(self, index: Any) -> Any:
        return (self.last_hidden_state,)[index]

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Tensor]:
        return iter((self.last_hidden_state,))


def _passes_on(trunk: Any, name: str, inner: StandIn) -> bool:
    """Whether a trunk gives just what this part of it gives, as a shell around a decoder does."""
    try:
        return forward(trunk, name, inner)[0] is inner.hidden
    except Exception:  # as in `head`
        return False


def forward(module: Any, trunk: str, stand_in: StandIn) -> Any:
    """The module's own forward, on a shallow twin of it that has the stand-in as its trunk."""
    twin = with_child(module, trunk, stand_in)
    return type(module).forward(twin, input_ids=stand_in.ids, attention_mask=stand_in.mask, use_cache=False)
