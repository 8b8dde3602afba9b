"""The networks that decoding reads together: the policy, a masking policy, and the trunks of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from loquent.models.values.perturb import Perturbation, Shift

if TYPE_CHECKING:
    from loquent.models.caches.cache import Rows
    from loquent.models.caches.last import Last


class Read(NamedTuple):
    """The outputs of the networks at the last token of each row."""

    logits: Tensor  # of the policy, [n, V]
    masking: Tensor | None  # logits of the masking policy, [n, V]
    target: Tensor | None  # hidden states that the target heads read, [n, H]
    value: Tensor | None  # hidden states that V reads, [n, H]

    def appended_to(self, earlier: Read | None) -> Read:
        """These rows after the earlier ones."""
        if earlier is None:
            return self
        joined = [
            None if old is None or new is None else torch.cat([old, new])
            for old, new in zip(earlier, self, strict=True)
        ]
        return Read(*joined)  # type: ignore[arg-type]  # fields in the order of the tuple

    def shift(self, perturbation: Perturbation | None) -> Shift | None:
        """The shift that a perturbation adds to the logits."""
        return None if perturbation is None else perturbation.shift(self.target, self.value)  # type: ignore[arg-type]  # fields in the order of the tuple


def sources(perturbation: Perturbation | None) -> tuple[nn.Module | None, nn.Module | None, bool]:
    """The networks whose hidden states a perturbation reads.

    They are the trunk of the target heads, the trunk of V, and whether the policy's own states are read. A
    trunk is None if it is the policy's or if nothing reads it. V's trunk is None if V cancels.
    """
    if perturbation is None:
        return None, None, False
    values = perturbation.values
    target = values.target_trunk if values.target_trunk is not None else values.value_trunk
    value = values.value_trunk if perturbation.needs_v else None
    return target, value, target is None or (perturbation.needs_v and value is None)


class Readers:
    """The live rows of all networks that decoding reads; each network is read once per step.

    Args:
        sizes: the most rows and the most columns.
        mask: the masking policy, if it is a model of its own.
        compiles: whether torch compiles the steps of all networks.
    """

    def __init__(
        self,
        module: Any,
        pad: int,
        sizes: tuple[int, int],
        mask: Any = None,
        perturbation: Perturbation | None = None,
        *,
        compiles: bool = False,
    ) -> None:
        # imported here because it needs transformers, whose import takes seconds
        from loquent.models.caches import rows

        rows_of = partial(rows.rows_of, compiles=compiles)
        target, value, reads_policy = sources(perturbation)
        self.perturbation = perturbation
        self.policy = rows_of(module, pad, *sizes, "both" if reads_policy else "logits")
        self.mask = rows_of(mask, pad, *sizes) if mask is not None else None
        self.target = rows_of(target, pad, *sizes, "states") if target is not None else None
        if value is target:
            self.value = self.target
        else:
            self.value = rows_of(value, pad, *sizes, "states") if value is not None else None

    def join(self, prompts: Sequence[Sequence[int]]) -> Read:
        """Add rows; the result is at the last tokens of the new rows."""
        return self._read(lambda rows: rows.join(prompts))

    def step(self, ids: Tensor) -> Read:
        """Add one id to every row; the result is at the last tokens of all rows."""
        return self._read(lambda rows: rows.step(ids))

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at `index`, in that order."""
        for rows in self._different():
            rows.keep(index)

    def _different(self) -> list[Rows]:
        """The rows of each network, once."""
        all_rows = (self.policy, self.mask, self.target, self.value)
        return list({id(rows): rows for rows in all_rows if rows is not None}.values())

    def _read(self, function: Callable[[Rows], Last]) -> Read:
        """The outputs of all networks after a function of their rows."""
        outputs = {id(rows): function(rows) for rows in self._different()}
        logits, policy_states = outputs[id(self.policy)]
        assert logits is not None
        masking = None if self.mask is None else outputs[id(self.mask)].logits
        if self.perturbation is None:
            return Read(logits, masking, None, None)
        target = policy_states if self.target is None else outputs[id(self.target)].states
        value = None
        if self.perturbation.needs_v:
            value = policy_states if self.value is None else outputs[id(self.value)].states
        return Read(logits, masking, target, value)
