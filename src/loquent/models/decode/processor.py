"""A perturbation for the `generate` of transformers: a logits processor that draws from the distribution our
own decoding draws from.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor

from loquent.models.decode.cache import Rows, rows_of
from loquent.models.decode.readers import sources
from loquent.models.decoding_settings import Decoding
from loquent.models.support import filter_top_k, filter_top_p
from loquent.models.values.perturb import Perturbation, perturbed_logprob
from loquent.pretrained import context, evaluating


class PerturbedLogits(LogitsProcessor):  # type: ignore[misc]  # transformers has no types
    """Turns the scores of `generate` into the log-probabilities of the perturbed policy: for sampling, greedy
    and beam search.

    Temperature, top-k and top-p are this processor's, since they stand before the perturbation or after it:
    leave those of `generate` at 1.0, 0 and 1.0. Give each call of `generate` a processor of its own; the
    networks that values read run incrementally beside it (the policy's trunk once more where values read its
    own hidden states).

    Args:
        module: the causal model that generates.
        decoding: whose temperature, top_k and top_p apply (nothing but the perturbation by default); greedy
            and beam ignore them.
        attention_mask: the mask of the prompts where they are padded (on the left); None: none is.
    """

    def __init__(
        self,
        module: Any,
        perturbation: Perturbation,
        decoding: Decoding | None = None,
        *,
        attention_mask: Tensor | None = None,
    ) -> None:
        self.perturbation, self.attention_mask = perturbation, attention_mask
        self.decoding = Decoding() if decoding is None else decoding
        target, value, own = sources(perturbation)
        self.trunks = [
            trunk for trunk in (target, value, module.base_model if own else None) if trunk is not None
        ]
        self.target, self.value = (
            module.base_model if target is None else target,
            module.base_model if value is None else value,
        )
        self.rows: dict[int, Rows] = {}
        self.ids: Tensor | None = None

    @torch.no_grad()
    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Log-probabilities [rows, V]; what is -inf stays so."""
        logits = scores if scores.dtype == torch.float64 else scores.float()
        kept = logits > -torch.inf
        if self.perturbation.neutral:
            shift = None
        else:
            with evaluating(*self.trunks, self.perturbation.values):
                read = self._read(input_ids)
            target, value = read[id(self.target)], read[id(self.value)] if self.perturbation.needs_v else None
            shift = self.perturbation.shift(target, value)
        if self.decoding.method != "sample":
            return perturbed_logprob(logits, shift, kept)
        how = self.decoding
        work = (shift.to(logits) if shift is not None and shift.after else logits) / how.temperature
        kept &= filter_top_k(work, how.top_k)
        kept &= filter_top_p(work.masked_fill(~kept, -torch.inf), how.top_p)
        return perturbed_logprob(logits, shift, kept, how.temperature)

    def _read(self, ids: Tensor) -> dict[int, Tensor]:
        """The last hidden states of all trunks: a step on from where the rows stood (beams may have moved),
        else everything anew.
        """
        origin = self._origin(ids)
        if origin is None:
            columns = max(context(trunk) for trunk in self.trunks)
            self.rows = {id(trunk): rows_of(trunk, 0, len(ids), columns, "states") for trunk in self.trunks}
            real = torch.ones_like(ids, dtype=torch.bool)
            if self.attention_mask is not None:
                given = self.attention_mask.to(ids.device).bool()
                given = given.repeat_interleave(
                    len(ids) // len(given), 0
                )  # beams of one prompt stand together
                real[:, : given.shape[1]] = given[:, : ids.shape[1]]
            prompts = [row[seen].tolist() for row, seen in zip(ids, real, strict=True)]
            found = {name: rows.join(prompts) for name, rows in self.rows.items()}
        else:
            moved = not torch.equal(origin, torch.arange(len(ids), device=ids.device))
            for rows in self.rows.values():
                if moved:
                    rows.keep(origin)
            found = {name: rows.step(ids[:, -1]) for name, rows in self.rows.items()}
        self.ids = ids
        return {name: last.states for name, last in found.items()}  # type: ignore[misc]  # transformers has no types

    def _origin(self, ids: Tensor) -> Tensor | None:
        """Which earlier row each row goes on from; None where one goes on from none."""
        before = self.ids
        if before is None or before.shape[0] != ids.shape[0] or before.shape[1] != ids.shape[1] - 1:
            return None
        if torch.equal(before, ids[:, :-1]):
            return torch.arange(len(ids), device=ids.device)
        same = (before[None] == ids[:, None, :-1]).all(-1)
        return same.to(torch.uint8).argmax(1) if bool(same.any(1).all()) else None
