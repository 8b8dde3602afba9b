"""Decoding: one batched loop on the model's cache.

Finished rows leave the batch, and waiting prompts take their place. The tokens of a row depend on its key and
its logits alone, never on the number of live rows or on the order in which they finish.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from loquent.core.seeding import Key
from loquent.errors import BadModel, BadSetting
from loquent.models.caches.readers import Read, Readers, sources
from loquent.models.decode.beam import beam_search
from loquent.models.decode.record import Request, Stop, TokenRecord
from loquent.models.decode.sampling import Choice, choose
from loquent.models.decoding_settings import Decoding
from loquent.models.engine import Drawn, Nucleus
from loquent.models.tokens.support import Trie, filter_top_k, filter_top_p
from loquent.models.values.perturb import Perturbation
from loquent.pretrained import context, evaluating
from loquent.pretrained.encoder_decoders import is_pair, limits, sides
from loquent.pretrained.footprint import products

__all__ = ["Decoding", "decode"]


@torch.inference_mode()
def decode(
    module: Any,
    prompts: Sequence[Sequence[int]],
    keys: Sequence[Key],
    decoding: Decoding,
    *,
    end: Collection[int],
    pad: int,
    stop: Sequence[Stop | None] | None = None,
    allowed: Sequence[Trie | None] | None = None,
    nucleus: Nucleus | None = None,
    perturbation: Perturbation | None = None,
    vocabulary: int | None = None,
) -> list[Drawn]:
    """One answer for each prompt, in order, without dropout; the modules' modes are restored.

    Args:
        module: a Hugging Face causal model.
        prompts: ids of any length; no prompt is empty.
        keys: the random stream of each row; a row uses `key.child("decode")`, one uniform number per token.
        end: ids that end an answer; the drawn one is the last token of the answer, which stopped by "end".
        stop: for each row None, or a function of the answer's ids so far; the answer stops by "stop" when the
            function is true.
        allowed: for each row None, or the trie of the legal answers.
        perturbation: values that perturb the policy; `drawn_logprob` is then that of the perturbed policy. A
            neutral perturbation is not computed.
        vocabulary: ids from this number on are never drawn; a model may have more embeddings than its
            tokenizer has ids.

    Raises:
        BadModel: a prompt is empty, has unknown ids or leaves no room in the context; logits are not finite;
            or the models do not fit together.
    """
    rows = module.get_input_embeddings().weight.shape[0]
    _check(module, prompts, keys, decoding, rows)
    if nucleus is not None and nucleus.keeps_all(rows):
        nucleus = None
    if perturbation is not None and perturbation.vocabulary != rows:
        raise BadModel(
            f"the values have {perturbation.vocabulary} tokens and the model {rows}; both must have "
            "the same tokenizer; load values that were trained with this model"
        )
    if perturbation is not None and perturbation.neutral:
        perturbation = None
    request = Request(
        module=module,
        prompts=prompts,
        keys=keys,
        decoding=decoding,
        end=frozenset(end),
        pad=pad,
        stop=[None] * len(prompts) if stop is None else stop,
        allowed=[None] * len(prompts) if allowed is None else allowed,
        nucleus=nucleus,
        perturbation=perturbation,
        vocabulary=vocabulary,
    )
    with products(module):
        return _answers(request)


def _answers(request: Request) -> list[Drawn]:
    """The answers of a checked request, by sampling, greedily or by beam search."""
    # imported here because it needs transformers, whose import takes seconds
    from loquent.models.caches.attention import fast_single_queries

    module, decoding, nucleus = request.module, request.decoding, request.nucleus
    perturbation = request.perturbation
    modules = [module, *([nucleus.model] if nucleus and nucleus.model is not None else [])]
    trunks = [part for part in sources(perturbation)[:2] if part is not None]
    heads = [perturbation.values] if perturbation is not None else []
    is_beam = decoding.method == "beam"
    with evaluating(*modules, *heads), fast_single_queries(*(() if is_beam else modules + trunks)):
        if not is_beam:
            return _Loop(request).run()
        if nucleus is not None:
            raise BadSetting(
                "decoding.method = 'beam' has no masking policy; it must be 'greedy' or 'sample' with a "
                "nucleus; evaluate with one of them"
            )
        greedy = None
        if perturbation is not None and decoding.beams > 1:
            greedy = _Loop(replace(request, decoding=replace(decoding, method="greedy"))).run()
        return beam_search(request, greedy)


class _Loop:
    """The state of decoding.

    `live[i]` is the prompt of row i of the caches, and `done[i]` whether its answer has ended.
    """

    def __init__(self, request: Request) -> None:
        self.prompts, self.decoding, self.nucleus = request.prompts, request.decoding, request.nucleus
        self.stop, self.allowed, self.perturbation = request.stop, request.allowed, request.perturbation
        self.end, self.pad, self.limit = sorted(request.end), request.pad, request.vocabulary
        self.device = request.module.device
        count, new = len(request.prompts), request.decoding.max_new_tokens
        self.readers = Readers(
            request.module,
            request.pad,
            (min(request.decoding.live, count), max(map(len, request.prompts), default=1) + new - 1),
            request.nucleus.model if request.nucleus else None,
            request.perturbation,
            compiles=request.decoding.compile,
        )
        self.uniform = np.zeros((count, new))
        if request.decoding.method == "sample":
            for row, key in zip(self.uniform, request.keys, strict=True):
                row[:] = key.child("decode").generator().random(new)
        self.waiting = deque(range(count))
        self.live, self.done = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
        self.nodes: list[Any] = [trie.root if trie else None for trie in request.allowed]
        self.record = TokenRecord(count, new)

    def run(self) -> list[Drawn]:
        """Decode until no row is live and no prompt waits."""
        read = self._admit(None)
        while read is not None:
            choice = self._choose(read)
            ids = choice.ids.cpu().numpy()
            self.record.write(self.live, ~self.done, ids, choice)
            self._finish(ids)
            kept = self._drop()
            following = torch.from_numpy(np.where(self.done, self.pad, ids[kept])).to(self.device)
            read = self._admit(self.readers.step(following) if len(kept) else None)
        return self.record.answers()

    def _admit(self, read: Read | None) -> Read | None:
        """Add waiting prompts if at least an eighth of the rows is free, so that they are read together."""
        room = self.decoding.live - len(self.live)
        if not self.waiting or (len(self.live) and room < max(1, self.decoding.live // 8)):
            return read
        new = [self.waiting.popleft() for _ in range(min(room, len(self.waiting)))]
        self.live = np.concatenate([self.live, new]).astype(np.int64)
        self.done = np.concatenate([self.done, np.zeros(len(new), dtype=bool)])
        return self.readers.join([self.prompts[i] for i in new]).appended_to(read)

    def _choose(self, read: Read) -> Choice:
        """One token for each live row."""
        logits, decoding, count = read.logits, self.decoding, self.record.count[self.live]
        banned = self._banned(logits, count)
        if self.nucleus is not None:
            banned = self._masked(logits if read.masking is None else read.masking, banned)
        shift = read.shift(self.perturbation)
        if decoding.method == "greedy":
            return choose(logits, None, banned=banned, limit=self.limit, shift=shift)
        column = np.minimum(count, decoding.max_new_tokens - 1)
        return choose(
            logits,
            torch.from_numpy(self.uniform[self.live, column]).to(self.device),
            temperature=decoding.temperature,
            top_k=decoding.top_k,
            top_p=decoding.top_p,
            banned=banned,
            limit=self.limit,
            shift=shift,
        )

    def _banned(self, logits: Tensor, count: np.ndarray) -> Tensor | None:
        """The tokens that the minimum length and the legal words forbid; None if they forbid nothing."""
        has_trie = np.array([self.allowed[row] is not None for row in self.live.tolist()], dtype=bool)
        restricted = np.flatnonzero(has_trie & ~self.done)
        too_short = np.flatnonzero((count < self.decoding.min_new_tokens) & ~self.done & ~has_trie)
        if not len(restricted) and not (len(too_short) and self.end):
            return None
        banned = torch.zeros(logits.shape, dtype=torch.bool)
        banned[torch.from_numpy(too_short)[:, None], torch.tensor(self.end, dtype=torch.long)] = True
        for i in restricted.tolist():
            row = int(self.live[i])
            trie = self.allowed[row]
            assert trie is not None  # `restricted` are rows with a trie
            banned[i] = True
            banned[i, torch.from_numpy(trie.next_ids(self.nodes[row]))] = False
        return banned.to(logits.device)

    def _masked(self, logits: Tensor, banned: Tensor | None) -> Tensor:
        """The banned tokens and those that the masking policy masks.

        The nucleus is taken among the possible tokens, so it is never empty.
        """
        assert self.nucleus is not None
        work = logits.double() if logits.dtype == torch.float64 else logits.float()
        impossible = torch.zeros_like(work, dtype=torch.bool) if banned is None else banned.clone()
        impossible[:, self.limit if self.limit is not None else work.shape[1] :] = True
        work = work.masked_fill(impossible, -torch.inf)
        kept = filter_top_p(work, self.nucleus.top_p, self.nucleus.min_keep) & filter_top_k(
            work, self.nucleus.top_k
        )
        kept[:, list(self.nucleus.always)] = True
        return ~kept | impossible

    def _finish(self, ids: np.ndarray) -> None:
        """Note which rows end with the ids just written, and the reason."""
        count, ended = self.record.count[self.live], np.isin(ids, self.end)
        is_full = count >= self.decoding.max_new_tokens
        for i in np.flatnonzero(~self.done):
            row = int(self.live[i])
            trie, stop = self.allowed[row], self.stop[row]
            if trie is not None:
                self.nodes[row] = trie.step(self.nodes[row], int(ids[i]))
                ended[i] |= not len(trie.next_ids(self.nodes[row]))
            if ended[i]:
                reason = "end"
            elif stop and stop(self.record.ids_so_far(row)):
                reason = "stop"
            elif is_full[i]:
                reason = "length"
            else:
                continue
            self.record.stopped[row] = reason
            self.done[i] = True

    def _drop(self) -> np.ndarray:
        """Drop the ended rows if they are at least an eighth of the batch.

        Returns the old places of the remaining rows, in their new order.
        """
        if self.done.sum() < max(1, len(self.live) // 8):
            return np.arange(len(self.live))
        kept = _without_gaps(self.done)
        self.readers.keep(torch.from_numpy(kept).to(self.device))
        self.live, self.done = self.live[kept], self.done[kept]
        return kept


def _without_gaps(done: np.ndarray) -> np.ndarray:
    """The places of the running rows; the last of them fill the gaps, so that few rows move.

    Running rows 1011 give 0, 3, 2.
    """
    running = np.flatnonzero(~done)
    kept = np.arange(len(running))
    gaps = np.flatnonzero(done[: len(running)])
    kept[gaps] = running[len(running) - len(gaps) :][::-1]
    return kept


def _check(
    module: Any, prompts: Sequence[Sequence[int]], keys: Sequence[Key], decoding: Decoding, rows: int
) -> None:
    """Raise an error unless the prompts, the keys, the settings and the model fit together."""
    if len(prompts) != len(keys):
        raise BadSetting(
            f"{len(prompts)} prompts and {len(keys)} keys do not match; there must be one key for each "
            "prompt; pass as many keys as prompts"
        )
    # the model never reads the last drawn token
    longest, room = context(module), context(module) - decoding.max_new_tokens + 1
    paired = is_pair(module)
    if paired:
        room, longest = limits(module)
        room = room if decoding.max_new_tokens <= longest else 0
    for number, prompt in enumerate(prompts):
        ids: Sequence[int] = prompt
        if paired:
            ids, first = sides(prompt)
            if not ids or not first or prompt[-1] < 0:
                raise BadModel(
                    f"prompt {number} has {len(ids)} ids for the encoder and {len(first)} for the decoder; "
                    "each side needs at least one; write it with the format of the model"
                )
        if not len(ids):
            raise BadModel(f"prompt {number} is empty; it must have a start token; write it with a format")
        if len(ids) > room:
            raise BadModel(
                f"prompt {number} has {len(ids)} tokens; with max_new_tokens = "
                f"{decoding.max_new_tokens} the model's context of {longest} takes at most {room}; "
                "shorten the prompt or lower max_new_tokens"
            )
        if min(ids) < 0 or max(ids) >= rows:
            raise BadModel(
                f"prompt {number} has an id outside 0..{rows - 1}, the model's vocabulary; use the model's "
                "tokenizer"
            )
