"""The support: the set of tokens a policy may choose from, recorded when a token is drawn and replayed when
it is scored.

Tie rule, everywhere: tokens are ranked by descending logit, then by ascending id. Nucleus rule: token i is
dropped iff the mass of the ranks before it exceeds p by more than 1e-6, in float64, so a tie keeps the
crossing token (Holtzman et al., arXiv:1904.09751, eq. 2). `p >= 1`, `k = 0` and `k >= V` are explicit no-ops:
float32 sums pass 1 long before the last token.
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
from loquent.models.trie import Trie, answer_ids, legal_words

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

SLACK = 1e-6  # how far the mass may pass p before a token is dropped
PREFIX = 256  # ranks looked at before a whole sort is paid for
FULL, IDS, BITS = 0, 1, 2  # the forms of one token's set
Index = int | slice | Sequence[int] | NDArray[np.integer] | Tensor


@dataclass(frozen=True, eq=False)
class Support:
    """The kept-token sets of n tokens in order, over a vocabulary of V, each with the temperature it was
    drawn at.

    A set is stored in the smallest of three forms: its size when it is 0..size-1 (a full vocabulary, or one
    without the padded rows of an embedding), sorted ids, or bits (little end first, padded to 32). Arrays are
    read-only by convention.
    """

    vocabulary: int
    words: NDArray[np.uint32]  # the forms, one after the other
    starts: NDArray[np.int64]  # [n + 1]: where each token's words begin
    form: NDArray[np.uint8]  # [n]: FULL, IDS or BITS
    temperature: NDArray[np.float64]  # [n]

    @staticmethod
    def pack(kept: Bool[Tensor, "n V"], temperature: float = 1.0) -> Support:
        """The support of sets given as one bool per token and word of the vocabulary."""
        bools = kept.detach().cpu().numpy()
        n, vocabulary = bools.shape
        counts = bools.sum(1, dtype=np.int64)
        wide = -(-vocabulary // 32)
        last = vocabulary - 1 - bools[:, ::-1].argmax(1) if vocabulary else counts
        form = np.where(
            (counts > 0) & (last + 1 == counts), FULL, np.where(counts <= wide, IDS, BITS)
        ).astype(np.uint8)
        lengths = np.where(form == FULL, 1, np.where(form == IDS, counts, wide))
        starts = _starts(lengths)
        words = np.empty(starts[-1], dtype=np.uint32)
        words[starts[:-1][form == FULL]] = counts[form == FULL]
        listed = form == IDS
        words[np.repeat(listed, lengths)] = np.nonzero(bools[listed])[1]
        packed = np.packbits(bools[form == BITS], axis=1, bitorder="little")
        filled = np.zeros((len(packed), wide * 4), dtype=np.uint8)
        filled[:, : packed.shape[1]] = packed
        words[np.repeat(form == BITS, lengths)] = filled.reshape(-1).view("<u4")
        return Support(vocabulary, words, starts, form, np.full(n, temperature, dtype=np.float64))

    @staticmethod
    def full(n: int, vocabulary: int, temperature: float = 1.0, *, limit: int | None = None) -> Support:
        """The support of n tokens that may be any id (any below `limit`); one number a token."""
        words = np.full(n, vocabulary if limit is None else limit, dtype=np.uint32)
        return Support(
            vocabulary,
            words,
            np.arange(n + 1),
            np.full(n, FULL, dtype=np.uint8),
            np.full(n, temperature, dtype=np.float64),
        )

    @staticmethod
    def listed(ids: Tensor, kept: Bool[Tensor, "n K"], vocabulary: int, temperature: float = 1.0) -> Support:
        """The support of sets given as candidate ids [n, K] in ascending order and which of them are kept."""
        if ids.shape[1] * 32 > vocabulary:  # bits may be smaller: let pack decide
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
        """All tokens of several supports in order; they must be over one vocabulary."""
        parts = list(supports)
        if len({part.vocabulary for part in parts}) != 1:
            raise LoquentError(
                "supports are joined over one vocabulary, not over "
                f"{sorted({part.vocabulary for part in parts}) or 'none'}"
            )
        lengths = np.concatenate([np.diff(part.starts) for part in parts])
        joined = (np.concatenate([getattr(part, name) for part in parts]) for name in ("form", "temperature"))
        form, temperature = joined
        return Support(
            parts[0].vocabulary,
            np.concatenate([part.words for part in parts]),
            _starts(lengths),
            form,
            temperature,
        )

    def __len__(self) -> int:
        return len(self.form)

    @property
    def nbytes(self) -> int:
        """Bytes of storage, all arrays counted."""
        return self.words.nbytes + self.starts.nbytes + self.form.nbytes + self.temperature.nbytes

    @property
    def is_everything(self) -> bool:
        """Whether no token was ever left out and every temperature is 1: the support that need not be
        kept.
        """
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

    def kept(self, index: Index = slice(None), device: torch.device | str = "cpu") -> Bool[Tensor, "m V"]:
        """The sets at `index` as one bool per word of the vocabulary (an integer gives one row)."""
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

    def contains(self, ids: NDArray[np.integer]) -> NDArray[np.bool_]:
        """bool[n]: whether token i's set holds ids[i]."""
        rows = [self.kept(slice(i, i + 1024)).numpy() for i in range(0, len(self), 1024)]
        return np.concatenate(
            [row[np.arange(len(row)), ids[1024 * i : 1024 * i + len(row)]] for i, row in enumerate(rows)]
            or [np.empty(0, np.bool_)]
        )

    def _chosen(self, index: Index) -> NDArray[np.int64]:
        if isinstance(index, Tensor):
            index = index.cpu().numpy()
        if isinstance(index, Sequence) and not len(index):
            return np.empty(0, dtype=np.int64)
        return np.atleast_1d(np.arange(len(self))[index])


def filter_top_k(logits: Float[Tensor, "n V"], k: int) -> Bool[Tensor, "n V"]:
    """True for the k first ranks of each row; ties go to the smaller id. k = 0 and k >= V keep everything."""
    if k == 0 or k >= logits.shape[1]:
        return torch.ones_like(logits, dtype=torch.bool)
    last = logits.topk(k, dim=1).values[:, -1:]
    above, ties = logits > last, logits == last
    room = k - above.sum(1, keepdim=True)
    if bool((ties.sum(1, keepdim=True) > room).any()):
        ties &= ties.cumsum(1) <= room
    return above | ties


def filter_top_p(logits: Float[Tensor, "n V"], p: float, min_keep: int = 1) -> Bool[Tensor, "n V"]:
    """True for the nucleus of each row: ranks until their mass passes p, at least `min_keep` of them. p >= 1
    keeps everything.

    Only the first ranks are looked at where they settle it; rows whose mass is short, or whose last kept
    token may tie with one not looked at, are sorted whole. Both ways give the same set.
    """
    vocabulary = logits.shape[1]
    if p >= 1 or min_keep >= vocabulary:
        return torch.ones_like(logits, dtype=torch.bool)
    total = logits.double().logsumexp(1, keepdim=True)
    if vocabulary <= 2 * PREFIX or min_keep >= PREFIX:
        return _nucleus(logits, total, p, min_keep, vocabulary)[0]
    kept, settled = _nucleus(logits, total, p, min_keep, PREFIX)
    open_rows = (~settled).nonzero()[:, 0]
    if len(open_rows):
        kept[open_rows] = _nucleus(logits[open_rows], total[open_rows], p, min_keep, vocabulary)[0]
    return kept


def _nucleus(logits: Tensor, total: Tensor, p: float, min_keep: int, ranks: int) -> tuple[Tensor, Tensor]:
    """The nucleus found among the first ranks, and for which rows (bool[n]) that is the whole truth."""
    if ranks == logits.shape[1]:
        values, ids = logits.sort(dim=1, descending=True, stable=True)
    else:
        ids = (
            logits.topk(ranks, dim=1).indices.sort(1).values
        )  # ascending ids first: a stable sort then settles ties
        values, order = logits.gather(1, ids).sort(dim=1, descending=True, stable=True)
        ids = ids.gather(1, order)
    mass = (values.double() - total).exp()
    before = mass.cumsum(1).roll(1, 1)
    before[:, 0] = 0.0
    chosen = before <= p + SLACK
    chosen[:, :min_keep] = True
    kept = torch.zeros_like(logits, dtype=torch.bool).scatter_(1, ids, chosen)
    least = values.gather(1, chosen.sum(1, keepdim=True) - 1)[:, 0]
    return kept, least > values[:, -1]


def restricted_logprob(
    logits: Float[Tensor, "n V"],
    kept: Bool[Tensor, "n V"] | None,
    temperature: float | Float[Tensor, "n 1"] = 1.0,
) -> Float[Tensor, "n V"]:
    """log_softmax of logits / temperature over the kept set, -inf outside (NLPO, arXiv:2210.01241, eq. 6).

    None keeps everything.
    """
    if not (isinstance(temperature, float | int) and temperature == 1):
        logits = logits / temperature
    if kept is not None:
        logits = logits.masked_fill(~kept, -torch.inf)
    return logits.log_softmax(-1)


def entropy(logprob: Float[Tensor, "n V"]) -> Float[Tensor, " n"]:
    """The entropy in nats of distributions given as log-probabilities, where -inf counts nothing (and has no
    gradient).
    """
    finite = torch.where(logprob == -torch.inf, 0.0, logprob)
    return -(logprob.exp() * finite).sum(-1)


def _starts(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts
