"""The networks that are read side by side while rows are under way: the policy, a masking policy, and what
values read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from loquent.models.values.perturb import Perturbation, Shift

if TYPE_CHECKING:
    from loquent.models.decode.cache import Rows
    from loquent.models.decode.last import Last


class Read(NamedTuple):
    """What the networks give at the end of each row: logits of the policy and of the masking policy, [n, V],
    and the hidden states that
    the target heads and V read, [n, H]."""

    logits: Tensor
    masking: Tensor | None
    target: Tensor | None
    value: Tensor | None

    def under(self, above: Read | None) -> Read:
        """These rows under others."""
        if above is None:
            return self
        both = [
            None if old is None or new is None else torch.cat([old, new])
            for old, new in zip(above, self, strict=True)
        ]
        return Read(*both)  # type: ignore[arg-type]  # fields in the order of the tuple

    def shift(self, perturbation: Perturbation | None) -> Shift | None:
        """What a perturbation adds to the logits."""
        return None if perturbation is None else perturbation.shift(self.target, self.value)  # type: ignore[arg-type]  # fields in the order of the tuple


def sources(perturbation: Perturbation | None) -> tuple[nn.Module | None, nn.Module | None, bool]:
    """Whose hidden states a perturbation reads: the target heads' trunk, V's trunk (None: the policy, or
    nobody where nothing is read),
    and whether the policy's own are among them. A trunk that only V reads is left out where V cancels."""
    if perturbation is None:
        return None, None, False
    values = perturbation.values
    target = values.target_trunk if values.target_trunk is not None else values.value_trunk
    value = values.value_trunk if perturbation.needs_v else None
    return target, value, target is None or (perturbation.needs_v and value is None)


class Readers:
    """Rows of all networks that acting reads, one for each network, however many read it.

    Args:
        mask: the masking policy, where it is a model of its own.
        sizes: the most rows, and the most columns.
    """

    def __init__(
        self,
        module: Any,
        pad: int,
        sizes: tuple[int, int],
        mask: Any = None,
        perturbation: Perturbation | None = None,
    ) -> None:
        from loquent.models.decode.cache import (
            rows_of,
        )  # it needs transformers, which takes seconds that reading a recipe has not

        target, value, own = sources(perturbation)
        self.perturbation = perturbation
        self.policy = rows_of(module, pad, *sizes, "both" if own else "logits")
        self.mask = rows_of(mask, pad, *sizes) if mask is not None else None
        self.target = rows_of(target, pad, *sizes, "states") if target is not None else None
        self.value = (
            self.target
            if value is target
            else rows_of(value, pad, *sizes, "states")
            if value is not None
            else None
        )

    def join(self, prompts: Sequence[Sequence[int]]) -> Read:
        """Add rows at the end; what stands at their ends."""
        return self._read(lambda rows: rows.join(prompts))

    def step(self, ids: Tensor) -> Read:
        """Add one id to every row; what stands at the ends of all."""
        return self._read(lambda rows: rows.step(ids))

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at `index`, in that order."""
        for rows in self._different():
            rows.keep(index)

    def _different(self) -> list[Rows]:
        known = {
            id(rows): rows for rows in (self.policy, self.mask, self.target, self.value) if rows is not None
        }
        return list(known.values())

    def _read(self, function: Callable[[Rows], Last]) -> Read:
        found = {id(rows): function(rows) for rows in self._different()}
        logits, own = found[id(self.policy)]
        assert logits is not None
        masking = None if self.mask is None else found[id(self.mask)].logits
        if self.perturbation is None:
            return Read(logits, masking, None, None)
        target = own if self.target is None else found[id(self.target)].states
        value = (
            (own if self.value is None else found[id(self.value)].states)
            if self.perturbation.needs_v
            else None
        )
        return Read(logits, masking, target, value)
