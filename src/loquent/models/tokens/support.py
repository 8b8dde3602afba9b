"""The support: the set of tokens that a policy may choose from.

It is recorded when a token is drawn, and used again when the token is scored.

Tie rule: tokens are ranked by descending logit, then by ascending id. Nucleus rule: token i is dropped iff
the mass of the ranks before it exceeds p by more than 1e-6, in float64, so a tie keeps the crossing token
(Holtzman et al., arXiv:1904.09751, eq. 2). `p >= 1`, `k = 0` and `k >= V` filter nothing by an explicit rule,
because float32 sums exceed 1 long before the last token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from loquent.errors import LoquentError
from loquent.models.tokens.trie import Trie, answer_ids, legal_words

__all__ = [
    "Support",
    "Trie",
    "answer_ids",
    "entropy",
    "filter_top_k",
    "filter_top_p",
    "legal_words",
    "restricted_logprob",
]

SLACK = 1e-6  # how far the mass may exceed p before a token is dropped
PREFIX = 256  # ranks examined before a row is sorted completely
WIDE = 4096  # from so many tokens on, buckets of logits replace the complete sort
BUCKETS, NATS = 4096, 32.0  # the buckets, and the range of logits below the largest that they divide
CLEAR = 3e-10  # a mass nearer to p is compared after a complete sort; as `sampling.SLACK`
FULL, IDS, BITS = 0, 1, 2  # the forms of one token's set
Index = int | slice | Sequence[int] | NDArray[np.integer] | Tensor


@dataclass(frozen=True, eq=False)
class Support:
    """The sets that n tokens were drawn from, over a vocabulary of V, with their temperatures.

    A set is stored in the smallest of three forms: its size if it is 0..size-1 (a full vocabulary, or one
    without the padded rows of an embedding), sorted ids, or bits (little-endian, padded to 32). Arrays are
    read-only by convention.
    """

    vocabulary: int
    words: NDArray[np.uint32]  # the stored sets, concatenated
    starts: NDArray[np.int64]  # [n + 1]: where each token's set begins in `words`
    form: NDArray[np.uint8]  # [n]: FULL, IDS or BITS
    temperature: NDArray[np.float64]  # [n]

    @staticmethod
    def pack(kept: Bool[Tensor, "n V"], temperature: float = 1.0) -> Support:
        """The support of sets in dense form: one bool per token and id."""
        bools = kept.detach().cpu().numpy()
        n, vocabulary = bools.shape
        counts = bools.sum(1, dtype=np.int64)
        width = -(-vocabulary // 32)
        last = vocabulary - 1 - bools[:, ::-1].argmax(1) if vocabulary else counts
        form = np.where(
            (counts > 0) & (last + 1 == counts), FULL, np.where(counts <= width, IDS, BITS)
        ).astype(np.uint8)
        lengths = np.where(form == FULL, 1, np.where(form == IDS, counts, width))
        starts = _starts(lengths)
        words = np.empty(starts[-1], dtype=np.uint32)
        words[starts[:-1][form == FULL]] = counts[form == FULL]
        listed = form == IDS
        words[np.repeat(listed, lengths)] = np.nonzero(bools[listed])[1]
        packed = np.packbits(bools[form == BITS], axis=1, bitorder="little")
        filled = np.zeros((len(packed), width * 4), dtype=np.uint8)
        filled[:, : packed.shape[1]] = packed
        words[np.repeat(form == BITS, lengths)] = filled.reshape(-1).view("<u4")
        return Support(vocabulary, words, starts, form, np.full(n, temperature, dtype=np.float64))

    @staticmethod
    def full(n: int, vocabulary: int, temperature: float = 1.0, *, limit: int | None = None) -> Support:
        """The support of n tokens drawn from all ids (or all ids below `limit`); one number per token."""
        words = np.full(n, vocabulary if limit is None else limit, dtype=np.uint32)
        return Support(
            vocabulary,
            words,
            np.arange(n + 1),
            np.full(n, FULL, dtype=np.uint8),
            np.full(n, temperature, dtype=np.float64),
        )

    @staticmethod
    def from_candidates(
        ids: Tensor, kept: Bool[Tensor, "n K"], vocabulary: int, temperature: float = 1.0
    ) -> Support:
        """The support of sets in the form of candidate ids [n, K], ascending, and which of them are kept."""
        if ids.shape[1] * 32 > vocabulary:  # bits may be smaller, so `pack` chooses the form
            dense = torch.zeros(len(ids), vocabulary, dtype=torch.bool, device=ids.device)
            return Support.pack(dense.scatter_(1, ids, kept), temperature)
        bools = kept.cpu().numpy()
        words = ids.cpu().numpy()[bools].astype(np.uint32)
        form = np.full(len(bools), IDS, dtype=np.uint8)
        return Support(
            vocabulary, words, _starts(bools.sum(1)), form, np.full(len(bools), temperature, dtype=np.float64)
        )

    @staticmethod
    def cat(supports: Iterable[Support]) -> Support:
        """All tokens of several supports in order.

        Raises:
            LoquentError: the supports have different vocabularies, or there are none.
        """
        parts = list(supports)
        vocabularies = sorted({part.vocabulary for part in parts})
        if len(vocabularies) != 1:
            raise LoquentError(
                f"supports over vocabularies of {vocabularies or 'no'} tokens cannot be joined; all must "
                "have one vocabulary; score each model's tokens apart"
            )
        lengths = np.concatenate([np.diff(part.starts) for part in parts])
        return Support(
            parts[0].vocabulary,
            np.concatenate([part.words for part in parts]),
            _starts(lengths),
            np.concatenate([part.form for part in parts]),
            np.concatenate([part.temperature for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.form)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        return self.words.nbytes + self.starts.nbytes + self.form.nbytes + self.temperature.nbytes

    @property
    def is_everything(self) -> bool:
        """Whether the support keeps every token at temperature 1, so that it need not be stored."""
        full = (self.form == FULL).all() and (self.words == self.vocabulary).all()
        return bool(full and (self.temperature == 1.0).all())

    def take(self, index: Index) -> Support:
        """The tokens at `index` (an integer, a slice, integers or bools), in that order."""
        chosen = self._chosen(index)
        lengths = (self.starts[1:] - self.starts[:-1])[chosen]
        starts = _starts(lengths)
        source = np.arange(starts[-1]) + np.repeat(self.starts[:-1][chosen] - starts[:-1], lengths)
        return Support(
            self.vocabulary, self.words[source], starts, self.form[chosen], self.temperature[chosen]
        )

    def dense_mask(
        self, index: Index = slice(None), device: torch.device | str = "cpu"
    ) -> Bool[Tensor, "m V"]:
        """The sets at `index` in dense form: one bool per id (an integer gives one row)."""
        part = self.take(index)
        bools = np.zeros((len(part), self.vocabulary), dtype=np.bool_)
        full = np.flatnonzero(part.form == FULL)
        for limit in np.unique(part.words[part.starts[:-1][full]]):
            bools[full[part.words[part.starts[:-1][full]] == limit], :limit] = True
        lengths = np.diff(part.starts)
        listed = part.form == IDS
        rows = np.repeat(np.arange(len(part)), np.where(listed, lengths, 0))
        bools[rows, part.words[np.repeat(listed, lengths)]] = True
        bits = part.form == BITS
        packed = (
            part.words[np.repeat(bits, lengths)]
            .astype("<u4", copy=False)
            .view(np.uint8)
            .reshape(int(bits.sum()), -(-self.vocabulary // 32) * 4)
        )
        if len(packed):
            bools[bits] = np.unpackbits(packed, axis=1, bitorder="little", count=self.vocabulary).view(
                np.bool_
            )
        return torch.from_numpy(bools).to(device)

    def _chosen(self, index: Index) -> NDArray[np.int64]:
        if isinstance(index, Tensor):
            index = index.cpu().numpy()
        if isinstance(index, Sequence) and not len(index):
            return np.empty(0, dtype=np.int64)
        return np.atleast_1d(np.arange(len(self))[index])


def filter_top_k(logits: Float[Tensor, "n V"], k: int) -> Bool[Tensor, "n V"]:
    """True for the k first ranks of each row; of ties the smaller id. k = 0 and k >= V keep all tokens."""
    if k == 0 or k >= logits.shape[1]:
        return torch.ones_like(logits, dtype=torch.bool)
    last = logits.topk(k, dim=1).values[:, -1:]
    above, ties = logits > last, logits == last
    room = k - above.sum(1, keepdim=True)
    if bool((ties.sum(1, keepdim=True) > room).any()):
        ties &= ties.cumsum(1) <= room
    return above | ties


def filter_top_p(logits: Float[Tensor, "n V"], p: float, min_keep: int = 1) -> Bool[Tensor, "n V"]:
    """True for the nucleus of each row: ranks until their mass passes p, but at least `min_keep`.

    p >= 1 keeps all tokens. The first ranks are examined alone where they suffice. A row is sorted completely
    if the mass of these ranks is below p, or if the last kept token may tie with a later one. Both ways give
    the same set.
    """
    vocabulary = logits.shape[1]
    if p >= 1 or min_keep >= vocabulary:
        return torch.ones_like(logits, dtype=torch.bool)
    if vocabulary >= WIDE and logits.device.type == "cpu":
        # few rows at a time, so that their numbers in float64 stay in a cache
        return torch.cat([_wide_nucleus(rows, p, min_keep) for rows in logits.split(4)])
    total = logits.double().logsumexp(1, keepdim=True)
    if vocabulary <= 2 * PREFIX or min_keep >= PREFIX:
        return _nucleus(logits, total, p, min_keep, vocabulary)[0]
    kept, complete = _nucleus(logits, total, p, min_keep, PREFIX)
    incomplete = (~complete).nonzero()[:, 0]
    if len(incomplete):
        kept[incomplete] = _nucleus(logits[incomplete], total[incomplete], p, min_keep, vocabulary)[0]
    return kept


def _wide_nucleus(logits: Tensor, p: float, min_keep: int) -> Tensor:
    """The nucleus of rows with many tokens, by the masses of buckets of logits.

    Only the bucket in which the mass passes p is sorted. A row is sorted completely if the order of additions
    could decide, if the nucleus is smaller than `min_keep`, or if a logit is not finite but -inf.
    """
    wide = logits.double()
    total = wide.logsumexp(1, keepdim=True)
    mass = (wide - total).exp_()
    top = logits.amax(1, keepdim=True)
    finite = torch.isfinite(top)
    below = torch.where(finite, top, 0.0) - logits
    bucket = below.mul_(BUCKETS / NATS).nan_to_num_(0.0).clamp_(0, BUCKETS - 1).long()
    sums = mass.new_zeros(len(logits), BUCKETS).scatter_add_(1, bucket, mass)
    after = sums.cumsum(1)
    before = after - sums
    crossing = ((before <= p + SLACK).sum(1, keepdim=True) - 1).clamp_min(0)
    kept = bucket < crossing
    rows, columns = (bucket == crossing).nonzero(as_tuple=True)
    place = torch.arange(len(rows)) - torch.searchsorted(rows, rows)  # among the row's entries
    shape = len(logits), int(place.max()) + 1 if len(place) else 1
    values = logits.new_full(shape, -torch.inf).index_put_((rows, place), logits[rows, columns])
    order = values.sort(dim=1, descending=True, stable=True).indices
    masses = mass.new_zeros(shape).index_put_((rows, place), mass[rows, columns]).gather(1, order)
    ranks_before = before.gather(1, crossing) + masses.cumsum(1) - masses
    chosen = torch.zeros(shape, dtype=torch.bool).scatter_(1, order, ranks_before <= p + SLACK)
    kept[rows, columns] = chosen[rows, place]
    edges = torch.cat([ranks_before, after.gather(1, crossing)], 1)
    clear = ((edges - p - SLACK).abs() > CLEAR).all(1) & (kept.sum(1) >= min_keep) & finite[:, 0]
    unclear = (~clear).nonzero()[:, 0]
    if len(unclear):
        kept[unclear] = _nucleus(logits[unclear], total[unclear], p, min_keep, logits.shape[1])[0]
    return kept


def _nucleus(logits: Tensor, total: Tensor, p: float, min_keep: int, ranks: int) -> tuple[Tensor, Tensor]:
    """The nucleus among the first ranks, and the rows (bool[n]) for which it is the complete nucleus."""
    if ranks == logits.shape[1]:
        values, ids = logits.sort(dim=1, descending=True, stable=True)
    else:  # ascending ids first: a stable sort then gives ties to the smaller id
        ids = logits.topk(ranks, dim=1).indices.sort(1).values
        values, order = logits.gather(1, ids).sort(dim=1, descending=True, stable=True)
        ids = ids.gather(1, order)
    mass = (values.double() - total).exp()
    before = mass.cumsum(1).roll(1, 1)
    before[:, 0] = 0.0
    chosen = before <= p + SLACK
    chosen[:, :min_keep] = True
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter_(1, ids, chosen)
    lowest = values.gather(1, chosen.sum(1, keepdim=True) - 1)[:, 0]
    return kept, lowest > values[:, -1]


def restricted_logprob(
    logits: Float[Tensor, "n V"],
    kept: Bool[Tensor, "n V"] | None,
    temperature: float | Float[Tensor, "n 1"] = 1.0,
) -> Float[Tensor, "n V"]:
    """log_softmax of logits / temperature over the kept set, -inf outside (NLPO, arXiv:2210.01241, eq. 6).

    `kept` None keeps all tokens.
    """
    if not (isinstance(temperature, float | int) and temperature == 1):
        logits = logits / temperature
    if kept is not None:
        logits = logits.masked_fill(~kept, -torch.inf)
    return logits.log_softmax(-1)


def entropy(logprob: Float[Tensor, "n V"]) -> Float[Tensor, " n"]:
    """The entropy in nats of log-probabilities; -inf adds nothing and has no gradient."""
    finite = torch.where(logprob == -torch.inf, 0.0, logprob)
    return -(logprob.exp() * finite).sum(-1)


def _starts(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where each stored set begins, and the end of the last one."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts
