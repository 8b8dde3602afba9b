"""Decoding: one batched loop on the model's cache.

Finished rows leave the batch, waiting prompts take their place.

A row's draws depend on its key and its logits alone, never on how many rows are live or in which order they
finish.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from loquent.core.episode import Tokens
from loquent.core.seeding import Key
from loquent.errors import BadModel, BadSetting
from loquent.models.decode.beam import beam_search
from loquent.models.decode.drawn import Drawn
from loquent.models.decode.readers import Read, Readers, sources
from loquent.models.decode.sampling import Choice, choose
from loquent.models.decoding_settings import Decoding
from loquent.models.support import Support, Trie, filter_top_k, filter_top_p
from loquent.models.values.perturb import Perturbation
from loquent.pretrained import context, evaluating

__all__ = ["Decoding", "Drawn", "Nucleus", "decode"]

Stop = Callable[[list[int]], bool]


@dataclass(frozen=True)
class Nucleus:
    """NLPO's masking policy (arXiv:2210.01241, section 4.2): only tokens in its nucleus may be drawn.

    `model` None masks by the policy itself. `always` ids are never masked (but a minimum length or legal
    words may forbid them). With `top_p >= 1` and no `top_k` it does nothing, and its model is not run.
    """

    model: nn.Module | None = None
    top_p: float = 1.0
    top_k: int = 0
    min_keep: int = 1
    always: tuple[int, ...] = ()

    def keeps_all(self, vocabulary: int) -> bool:
        """Whether nothing is ever masked."""
        return self.top_p >= 1 and (self.top_k == 0 or self.top_k >= vocabulary)


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
    """One answer for each prompt, in order, with dropout off; the module's modes are given back.

    Args:
        module: a Hugging Face causal model.
        prompts: ids, none empty, of any lengths.
        keys: the stream of each row; a row uses `key.child("decode")`, one uniform a token.
        end: ids that end an answer (the one drawn is its last token, stopped "end").
        stop: for each row None or a function of the answer's ids so far; True ends it (stopped "stop").
        allowed: for each row None or the trie of what may be said.
        perturbation: values that the policy is perturbed by; `drawn_logprob` is then that of the perturbed
            policy. A neutral one is not run.
        vocabulary: ids from here on are never drawn (a model may have more rows than the tokenizer has
            words).

    Raises:
        BadModel: a prompt is empty, has unknown ids or leaves no room in the context; logits are not finite;
            the models do not fit.
    """
    from loquent.models.decode.cache import (
        quick_steps,
    )  # it needs transformers, which takes seconds that reading a recipe has not

    rows = module.get_input_embeddings().weight.shape[0]
    _check(module, prompts, keys, decoding, rows)
    stop = stop if stop is not None else [None] * len(prompts)
    allowed = allowed if allowed is not None else [None] * len(prompts)
    if nucleus is not None and nucleus.keeps_all(rows):
        nucleus = None
    if perturbation is not None and perturbation.vocabulary != rows:
        raise BadModel(
            f"the values speak of {perturbation.vocabulary} tokens and the model of {rows}; they are "
            "not of one tokenizer"
        )
    if perturbation is not None and perturbation.neutral:
        perturbation = None
    modules = [module, *([nucleus.model] if nucleus and nucleus.model is not None else [])]
    trunks = [part for part in sources(perturbation)[:2] if part is not None]
    heads = [perturbation.values] if perturbation is not None else []
    with evaluating(*modules, *heads), quick_steps(*(modules + trunks if decoding.method != "beam" else ())):

        def loop(how: Decoding) -> list[Drawn]:
            return _Loop(
                module,
                prompts,
                keys,
                how,
                frozenset(end),
                pad,
                stop,
                allowed,
                nucleus,
                perturbation,
                vocabulary,
            ).run()

        if decoding.method != "beam":
            return loop(decoding)
        if nucleus is not None:
            raise BadSetting(
                "beam search has no masking policy; evaluate with method = 'greedy' or 'sample', or "
                "without the nucleus"
            )
        greedy = (
            loop(replace(decoding, method="greedy"))
            if perturbation is not None and decoding.beams > 1
            else None
        )
        given: dict[str, Any] = {
            "stop": stop,
            "allowed": allowed,
            "vocabulary": vocabulary,
            "perturbation": perturbation,
            "greedy": greedy,
        }
        return beam_search(module, prompts, decoding, end=end, pad=pad, **given)


class _Loop:
    """The rows under way: `live[i]` is the prompt that row i of the caches belongs to, `done[i]` whether it
    has ended.
    """

    def __init__(
        self,
        module: Any,
        prompts: Sequence[Sequence[int]],
        keys: Sequence[Key],
        decoding: Decoding,
        end: frozenset[int],
        pad: int,
        stop: Sequence[Stop | None],
        allowed: Sequence[Trie | None],
        nucleus: Nucleus | None,
        perturbation: Perturbation | None,
        vocabulary: int | None,
    ) -> None:
        self.prompts, self.decoding, self.stop, self.allowed, self.nucleus = (
            prompts,
            decoding,
            stop,
            allowed,
            nucleus,
        )
        self.end, self.pad, self.limit, self.device = sorted(end), pad, vocabulary, module.device
        self.perturbation = perturbation
        sizes = (
            min(decoding.live, len(prompts)),
            max(map(len, prompts), default=1) + decoding.max_new_tokens - 1,
        )
        self.readers = Readers(module, pad, sizes, nucleus.model if nucleus else None, perturbation)
        self.uniform = np.zeros((len(prompts), decoding.max_new_tokens))
        if decoding.method == "sample":
            for row, key in zip(self.uniform, keys, strict=True):
                row[:] = key.child("decode").generator().random(decoding.max_new_tokens)
        self.waiting = deque(range(len(prompts)))
        self.live, self.done = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
        self.nodes: list[Any] = [trie.root if trie else None for trie in allowed]
        self.record = _Record(len(prompts), decoding.max_new_tokens)

    def run(self) -> list[Drawn]:
        """Until no row is under way and no prompt waits."""
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
        """Let waiting prompts in where there is room (an eighth of the rows at least, so that prompts are
        read together).
        """
        room = self.decoding.live - len(self.live)
        if not self.waiting or (len(self.live) and room < max(1, self.decoding.live // 8)):
            return read
        new = [self.waiting.popleft() for _ in range(min(room, len(self.waiting)))]
        self.live = np.concatenate([self.live, new]).astype(np.int64)
        self.done = np.concatenate([self.done, np.zeros(len(new), dtype=bool)])
        return self.readers.join([self.prompts[i] for i in new]).under(read)

    def _choose(self, read: Read) -> Choice:
        logits, how, count = read.logits, self.decoding, self.record.count[self.live]
        banned = self._banned(logits, count)
        if self.nucleus is not None:
            banned = self._masked(logits if read.masking is None else read.masking, banned)
        further: dict[str, Any] = {
            "banned": banned,
            "limit": self.limit,
            "shift": read.shift(self.perturbation),
        }
        if how.method == "greedy":
            return choose(logits, None, **further)
        uniform = torch.from_numpy(self.uniform[self.live, np.minimum(count, how.max_new_tokens - 1)]).to(
            self.device
        )
        return choose(
            logits, uniform, temperature=how.temperature, top_k=how.top_k, top_p=how.top_p, **further
        )

    def _banned(self, logits: Tensor, count: np.ndarray) -> Tensor | None:
        """What the minimum length and legal words forbid; None where they forbid nothing."""
        words = [
            i
            for i, row in enumerate(self.live.tolist())
            if self.allowed[row] is not None and not self.done[i]
        ]
        young = np.flatnonzero((count < self.decoding.min_new_tokens) & ~self.done)
        young = (
            young[[self.allowed[row] is None for row in self.live[young].tolist()]] if len(young) else young
        )
        if not words and not (len(young) and self.end):
            return None
        banned = torch.zeros(logits.shape, dtype=torch.bool)
        banned[torch.from_numpy(young)[:, None], torch.tensor(self.end, dtype=torch.long)] = True
        for i in words:
            row = int(self.live[i])
            trie = self.allowed[row]
            assert trie is not None  # `words` are the rows that have a trie
            banned[i] = True
            banned[i, torch.from_numpy(trie.allowed(self.nodes[row]))] = False
        return banned.to(logits.device)

    def _masked(self, logits: Tensor, banned: Tensor | None) -> Tensor:
        """What the masking policy forbids beside that: its nucleus is taken among what is possible, so it is
        never empty.
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
        """Note which rows end with the ids just written, and why."""
        count, ended = self.record.count[self.live], np.isin(ids, self.end)
        out = count >= self.decoding.max_new_tokens
        for i in np.flatnonzero(~self.done):
            row = int(self.live[i])
            trie, stop = self.allowed[row], self.stop[row]
            if trie is not None:
                self.nodes[row] = trie.step(self.nodes[row], int(ids[i]))
                ended[i] |= not len(trie.allowed(self.nodes[row]))
            why = (
                "end"
                if ended[i]
                else "stop"
                if stop and stop(self.record.said(row))
                else "length"
                if out[i]
                else None
            )
            if why:
                self.record.stopped[row] = why
                self.done[i] = True

    def _drop(self) -> np.ndarray:
        """Drop ended rows once they are an eighth of the batch.

        Returns the places that were kept, in their new order.
        """
        everyone = np.arange(len(self.live))
        if self.done.sum() < max(1, len(self.live) // 8):
            return everyone
        kept = _closed(self.done)
        self.readers.keep(torch.from_numpy(kept).to(self.device))
        self.live, self.done = self.live[kept], self.done[kept]
        return kept


def _closed(done: np.ndarray) -> np.ndarray:
    """The places of rows not done, where the last of them fill the gaps, so that few rows move: 1011 gives 0,
    3, 2.
    """
    going = np.flatnonzero(~done)
    kept = np.arange(len(going))
    gaps = np.flatnonzero(done[: len(going)])
    kept[gaps] = going[len(going) - len(gaps) :][::-1]
    return kept


@dataclass
class _Record:
    """All that was drawn, [prompts, max_new_tokens].

    `place` is where a token's support lies in the supports in a row.
    """

    prompts: int
    longest: int
    supports: list[Support] = field(default_factory=list)
    written: int = 0

    def __post_init__(self) -> None:
        shape = (self.prompts, self.longest)
        self.ids, self.place = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        self.drawn, self.policy = np.zeros(shape), np.zeros(shape)
        self.count = np.zeros(self.prompts, dtype=np.int64)
        self.stopped = ["length"] * self.prompts

    def write(self, live: np.ndarray, running: np.ndarray, ids: np.ndarray, choice: Choice) -> None:
        """One token for each running row."""
        rows = live[running]
        column = self.count[rows]
        self.ids[rows, column] = ids[running]
        self.drawn[rows, column] = choice.drawn_logprob.cpu().numpy()[running]
        self.policy[rows, column] = choice.policy_logprob.cpu().numpy()[running]
        self.place[rows, column] = self.written + np.flatnonzero(running)
        self.count[rows] += 1
        self.supports.append(choice.support)
        self.written += len(live)

    def said(self, row: int) -> list[int]:
        """The ids of one answer so far."""
        ids: list[int] = self.ids[row, : self.count[row]].tolist()
        return ids

    def answers(self) -> list[Drawn]:
        """All answers in order; a support that leaves nothing out is None."""
        everything = Support.cat(self.supports) if self.supports else None
        found = []
        for row in range(self.prompts):
            n = self.count[row]
            support = everything.take(self.place[row, :n]) if everything is not None else None
            kept = None if support is None or support.is_everything else support
            tokens = Tokens(
                self.ids[row, :n].copy(), self.drawn[row, :n].copy(), self.policy[row, :n].copy(), kept
            )
            found.append(Drawn(tokens, self.stopped[row]))  # type: ignore[arg-type]  # every finished row has its reason
        return found


def _check(
    module: Any, prompts: Sequence[Sequence[int]], keys: Sequence[Key], decoding: Decoding, rows: int
) -> None:
    if len(prompts) != len(keys):
        raise BadSetting(f"{len(prompts)} prompts and {len(keys)} keys; one key for each prompt is right")
    room = context(module) - decoding.max_new_tokens + 1  # the last token drawn is never read
    for number, prompt in enumerate(prompts):
        if not len(prompt):
            raise BadModel(f"prompt {number} is empty; a row begins with a start token")
        if len(prompt) > room:
            raise BadModel(
                f"prompt {number} has {len(prompt)} tokens; with max_new_tokens = "
                f"{decoding.max_new_tokens} the model's context of {context(module)} takes at most "
                f"{room}"
            )
        if min(prompt) < 0 or max(prompt) >= rows:
            raise BadModel(f"prompt {number} has an id outside 0..{rows - 1}, the model's vocabulary")
