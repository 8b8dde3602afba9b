"""A stand-in for the trunk of a causal model, with which the model's output layer runs alone."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from loquent.pretrained.encoder_decoders import encoder_output
from loquent.pretrained.pytorch.torch_private import is_changed, with_child
from loquent.pretrained.recorder import Unrecognised

# arguments of a trunk on which its hidden states do not depend
FLAGS = {"use_cache", "return_dict", "output_attentions", "output_hidden_states", "output_router_logits"}


class StandIn:
    """A replacement of a trunk that returns given hidden states.

    It checks that the model passes only the ids and their mask to the trunk.
    """

    def __init__(self, trunk: nn.Module, hidden: Tensor, ids: Tensor, mask: Tensor) -> None:
        self._trunk, self.hidden, self.ids, self.mask = trunk, hidden, ids, mask
        # the replaced module of each call; if a model calls an inner part of the trunk, that part
        self.called: list[nn.Module] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Output:
        """The output of the trunk, in the form that models read."""
        kwargs = {**dict(zip(("input_ids", "attention_mask"), args, strict=False)), **kwargs}
        expected = kwargs.pop("input_ids", None) is self.ids
        expected = kwargs.pop("attention_mask", None) is self.mask and expected
        if not expected or any(value is not None for value in args[2:]):
            raise Unrecognised("the trunk reads other inputs than the ids")
        for name, value in kwargs.items():
            flag = name in FLAGS and isinstance(value, bool)
            if not (value is None or flag or self._has_no_effect(name, value)):
                raise Unrecognised(f"the trunk reads the argument {name}")
        self.called.append(self._trunk)
        return Output(self.hidden)

    def _has_no_effect(self, name: str, value: Any) -> bool:
        """Whether the trunk returns the same without this argument."""
        if name == "logits_to_keep" and value == 0:  # 0 means all
            return True
        parameters = inspect.signature(self._trunk.forward).parameters
        if name not in parameters or isinstance(value, Tensor):
            return False
        return bool(value == parameters[name].default)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._trunk, name)
        if not isinstance(value, nn.Module):
            return value
        probe = StandIn(value, self.hidden, self.ids, self.mask)
        if is_changed(self._trunk) or not _passes_on(self._trunk, name, probe):
            return Part(value)
        inner = StandIn(value, self.hidden, self.ids, self.mask)
        inner.called = self.called
        return inner


class DecoderStandIn(StandIn):
    """A replacement of the decoder of an encoder-decoder, or of its trunk.

    It checks that the model passes only the decoder's ids and the encoder's states (here `mask`).
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Output:
        """The output of the decoder, in the form that models read."""
        passed = {**{str(number): value for number, value in enumerate(args)}, **kwargs}
        for name, value in passed.items():
            if value is None or isinstance(value, bool) or value is self.ids or value is self.mask:
                continue
            if not (isinstance(value, Sequence | Mapping) and self._from_encoder(value)):
                raise Unrecognised(f"the decoder reads the argument {name}")
        if not any(value is self.ids for value in passed.values()):
            raise Unrecognised("the decoder does not read the ids")
        self.called.append(self._trunk)
        return Output(self.hidden)

    def _from_encoder(self, value: Any) -> bool:
        parts = value.values() if isinstance(value, Mapping) else value
        return all(part is self.mask for part in parts)


class Part:
    """A part of a trunk. Its attributes may be read, but it may not be called."""

    def __init__(self, part: nn.Module) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._part, name)
        return Part(value) if isinstance(value, nn.Module) else value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse the call, because the output layer would then include a part of the trunk."""
        raise Unrecognised("the model calls a part of the trunk after the trunk")


class Output:
    """The output of a trunk: the hidden states, and None for all other fields."""

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
    """Whether a trunk returns the output of this part unchanged, like a wrapper around a decoder."""
    try:
        return forward(trunk, name, inner)[0] is inner.hidden
    except Exception:  # a model's own code may raise anything, as in `head`
        return False


def forward(module: Any, trunk: str, stand_in: StandIn) -> Any:
    """Run the module's own forward on a shallow copy of it, with the stand-in as its trunk."""
    twin = with_child(module, trunk, stand_in)
    if isinstance(stand_in, DecoderStandIn):
        inputs = {"encoder_outputs": encoder_output(stand_in.mask), "decoder_input_ids": stand_in.ids}
        return type(module).forward(twin, **inputs, use_cache=False)
    return type(module).forward(twin, input_ids=stand_in.ids, attention_mask=stand_in.mask, use_cache=False)
