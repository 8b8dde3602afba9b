"""Logits processors for the `generate` of transformers: what may follow, and a perturbation.

They give the same distribution as our own decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor

from loquent.errors import BadModel
from loquent.models.caches.cache import Rows
from loquent.models.caches.readers import sources as trunks_of
from loquent.models.caches.rows import rows_of
from loquent.models.decode.record import Choices
from loquent.models.decode.sampling import NOT_FINITE
from loquent.models.decoding_settings import Decoding
from loquent.models.tokens.support import filter_top_k, filter_top_p
from loquent.models.values.perturb import Perturbation, perturbed_logprob
from loquent.pretrained import context, evaluating
from loquent.pretrained.encoder_decoders import source_ids


class AllowedLogits:
    """Gives ids that may not follow a score of -inf, and refuses scores that are not finite.

    Args:
        choices: what may follow in each row.
        count: the number of prompts; the beams of a prompt are adjacent rows.
        width: the number of columns of the prompts.
    """

    def __init__(self, choices: Choices, count: int, width: int) -> None:
        self.choices, self.count, self.width = choices, count, width

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """The scores [rows, V]; the only score of a row whose legal words have ended is 0.

        Raises:
            BadModel: a score is not a number, or infinite.
        """
        if bool((scores.isnan() | (scores == torch.inf)).any()):
            raise BadModel(NOT_FINITE)
        if not self.choices.restrict:
            return scores
        beams = len(input_ids) // self.count
        result = torch.full_like(scores, -torch.inf)
        for i, ids in enumerate(input_ids[:, self.width :].tolist()):
            kept = self.choices.after(i // beams, ids)
            if kept is None:
                result[i, self.choices.end[0] if self.choices.end else 0] = 0.0
            else:
                kept = kept.to(scores.device)
                result[i, kept] = scores[i, kept]
        return result


class PerturbedLogits(LogitsProcessor):  # type: ignore[misc]  # transformers has no types
    """Turns the scores of `generate` into the log-probabilities of the perturbed policy.

    It works with sampling, greedy and beam search. Temperature, top-k and top-p belong to this processor,
    because the perturbation must know their order: leave those of `generate` at 1.0, 0 and 1.0. Give each
    call of `generate` a processor of its own. The networks that the values read run incrementally beside
    `generate`; the policy's trunk runs a second time if the values read its hidden states.

    Args:
        module: the causal model that generates.
        decoding: has the temperature, top_k and top_p (by default only the perturbation applies); greedy and
            beam search ignore them.
        attention_mask: the mask of prompts padded on the left; None if no prompt is padded.
        sources: for an encoder-decoder, the ids that the encoder reads for each prompt.
    """

    def __init__(
        self,
        module: Any,
        perturbation: Perturbation,
        decoding: Decoding | None = None,
        *,
        attention_mask: Tensor | None = None,
        sources: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.perturbation, self.attention_mask = perturbation, attention_mask
        self.prefixes = None if sources is None else [source_ids(source) for source in sources]
        self.decoding = Decoding() if decoding is None else decoding
        target, value, reads_policy = trunks_of(perturbation)
        trunks = (target, value, module.base_model if reads_policy else None)
        self.trunks = [trunk for trunk in trunks if trunk is not None]
        self.target = module.base_model if target is None else target
        self.value = module.base_model if value is None else value
        self.rows: dict[int, Rows] = {}
        self.ids: Tensor | None = None

    @torch.no_grad()
    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Log-probabilities [rows, V]; a score of -inf remains -inf."""
        logits = scores if scores.dtype == torch.float64 else scores.float()
        kept = logits > -torch.inf
        if self.perturbation.neutral:
            shift = None
        else:
            with evaluating(*self.trunks, self.perturbation.values):
                states = self._read(input_ids)
            value = states[id(self.value)] if self.perturbation.needs_v else None
            shift = self.perturbation.shift(states[id(self.target)], value)
        decoding = self.decoding
        if decoding.method != "sample":
            return perturbed_logprob(logits, shift, kept)
        work = (shift.to(logits) if shift is not None and shift.after else logits) / decoding.temperature
        kept &= filter_top_k(work, decoding.top_k)
        kept &= filter_top_p(work.masked_fill(~kept, -torch.inf), decoding.top_p)
        return perturbed_logprob(logits, shift, kept, decoding.temperature)

    def _read(self, ids: Tensor) -> dict[int, Tensor]:
        """The last hidden states of all trunks by `id`.

        Rows that continue earlier ones make one step, also after beams have moved. Other rows are read anew.
        """
        origin = self._origin(ids)
        if origin is None:
            columns = max(context(trunk) for trunk in self.trunks)
            self.rows = {id(trunk): rows_of(trunk, 0, len(ids), columns, "states") for trunk in self.trunks}
            real = torch.ones_like(ids, dtype=torch.bool)
            if self.attention_mask is not None:
                mask = self.attention_mask.to(ids.device).bool()
                mask = mask.repeat_interleave(len(ids) // len(mask), 0)  # the beams of a prompt are adjacent
                real[:, : mask.shape[1]] = mask[:, : ids.shape[1]]
            prompts = [row[is_real].tolist() for row, is_real in zip(ids, real, strict=True)]
            if self.prefixes is not None:
                beams = len(ids) // len(self.prefixes)
                prompts = [[*self.prefixes[i // beams], *prompt] for i, prompt in enumerate(prompts)]
            outputs = {trunk: rows.join(prompts) for trunk, rows in self.rows.items()}
        else:
            moved = not torch.equal(origin, torch.arange(len(ids), device=ids.device))
            for rows in self.rows.values():
                if moved:
                    rows.keep(origin)
            outputs = {trunk: rows.step(ids[:, -1]) for trunk, rows in self.rows.items()}
        self.ids = ids
        return {trunk: last.states for trunk, last in outputs.items()}  # type: ignore[misc]  # transformers has no types

    def _origin(self, ids: Tensor) -> Tensor | None:
        """The earlier row that each row continues; None if some row continues none."""
        before = self.ids
        if before is None or before.shape[0] != ids.shape[0] or before.shape[1] != ids.shape[1] - 1:
            return None
        if torch.equal(before, ids[:, :-1]):
            return torch.arange(len(ids), device=ids.device)
        same = (before[None] == ids[:, None, :-1]).all(-1)
        if self.prefixes is not None:  # rows of other prompts may have read the same ids
            prompt = torch.arange(len(ids), device=ids.device) // (len(ids) // len(self.prefixes))
            same &= prompt[None] == prompt[:, None]
        return same.to(torch.uint8).argmax(1) if bool(same.any(1).all()) else None
