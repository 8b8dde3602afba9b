"""Turns with the actions of a teacher, as cloning keeps them over all rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from loquent.files import saved_state
from loquent.models.tokens.turns import TurnBatch
from loquent.models.turns.turn_scores import Legality
from loquent.pretrained.learning.turn_network import TurnNetwork

OPTIONAL = ("numbers", "goal")  # tensors that not every network needs


@dataclass(frozen=True, eq=False)
class TaughtTurns:
    """N turns as tensors on the CPU. The turns of an episode are neighbours, in order.

    `masks` has the legal actions as bits, u8[N, ceil(n / 8)]: of all actions, or for larger sets of each part
    of the taught action. It is empty where the network reads the legal actions in the features. `widths`
    has the n of each mask.
    """

    features: dict[str, Tensor]
    choice: Int[Tensor, " N"]  # the number of the teacher's action
    episode: Int[Tensor, " N"]
    masks: tuple[Tensor, ...]
    widths: tuple[int, ...]
    numbers: Int[Tensor, "N K"] | None = None  # of the parts, where the masks are those of parts
    goal: Float[Tensor, " N"] | None = None  # whether the goal holds, for a network with a stop head

    @classmethod
    def of(cls, network: TurnNetwork, batch: TurnBatch) -> Self:
        """The turns of a batch whose `choice` is the teacher's."""
        legality, turns = network.legality(batch), batch.to_torch()
        masks: Sequence[Tensor] = ()
        numbers = None
        if isinstance(legality, Legality):
            numbers = None if legality.numbers is None else legality.numbers.cpu()
            masks = legality.parts if legality.actions is None else (legality.actions,)
        return cls(
            features=turns.features,
            choice=turns.choice,
            episode=turns.episode,
            masks=tuple(_packed(mask) for mask in masks),
            widths=tuple(mask.shape[1] for mask in masks),
            numbers=numbers,
            goal=turns.goal,
        )

    def __len__(self) -> int:
        return len(self.choice)

    @property
    def nbytes(self) -> int:
        """The bytes of all tensors."""
        return sum(tensor.nbytes for tensor in self._tensors().values())

    def take(self, rows: Tensor) -> TaughtTurns:
        """The turns with these numbers."""
        return self._with({name: tensor[rows] for name, tensor in self._tensors().items()})

    def join(self, later: TaughtTurns) -> TaughtTurns:
        """These turns and later ones, whose episodes are numbered on."""
        more = later._tensors() | {"episode": later.episode + int(self.episode[-1]) + 1}
        return self._with({name: torch.cat([own, more[name]]) for name, own in self._tensors().items()})

    def legality(self, network: TurnNetwork) -> Any:
        """The legal actions on the network's device, as `TurnNetwork.legality` gives them."""
        device = network.device
        if not self.masks:
            return network.legality(self)
        masks = [_unpacked(*each).to(device) for each in zip(self.masks, self.widths, strict=True)]
        if self.numbers is None:
            return Legality(masks[0])
        return Legality(None, tuple(masks), self.numbers.to(device))

    def state_dict(self) -> dict[str, Any]:
        """The tensors in the order of their names, and the names."""
        tensors = self._tensors()
        return {"names": list(tensors), "tensors": list(tensors.values()), "widths": list(self.widths)}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """The turns of a `state_dict`; BadCheckpoint if its tensors do not fit together."""
        names, values = saved_state.items(state, "names"), saved_state.items(state, "tensors")
        tensors: dict[str, Tensor] = dict(zip(names, values, strict=True))
        widths = tuple(int(width) for width in saved_state.items(state, "widths"))
        masks = tuple(tensors[name] for name in tensors if name.startswith("mask "))
        if len({len(tensor) for tensor in tensors.values()}) != 1 or len(masks) != len(widths):
            raise saved_state.wrong("names", names, "tensors with one row for each turn, one for each width")
        features = {name[9:]: x for name, x in tensors.items() if name.startswith("features ")}
        return cls(
            features, tensors["choice"], tensors["episode"], masks, widths, *map(tensors.get, OPTIONAL)
        )

    def _tensors(self) -> dict[str, Tensor]:
        optional = {name: getattr(self, name) for name in OPTIONAL}
        return {
            **{f"features {name}": tensor for name, tensor in self.features.items()},
            "choice": self.choice,
            "episode": self.episode,
            **{f"mask {k}": mask for k, mask in enumerate(self.masks)},
            **{name: tensor for name, tensor in optional.items() if tensor is not None},
        }

    def _with(self, tensors: Mapping[str, Tensor]) -> TaughtTurns:
        return TaughtTurns(
            {name: tensors[f"features {name}"] for name in self.features},
            tensors["choice"],
            tensors["episode"],
            tuple(tensors[f"mask {k}"] for k in range(len(self.masks))),
            self.widths,
            *map(tensors.get, OPTIONAL),
        )


def _packed(mask: Bool[Tensor, "N n"]) -> Tensor:
    return torch.from_numpy(np.packbits(mask.cpu().numpy(), axis=1))


def _unpacked(bits: Tensor, width: int) -> Bool[Tensor, "N n"]:
    return torch.from_numpy(np.unpackbits(bits.numpy(), axis=1, count=width).astype(np.bool_))
