"""Greedy matching of contextual token vectors by cosine, as BERTScore does it (Zhang et al. 2020, arXiv:1904.09675)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pad_sequence

from loquent.pretrained.encoder import Encoder
from loquent.pretrained.networks import groups

HELD = 1 << 27  # numbers of hidden states held at once

Pair = tuple[int, int]


@torch.no_grad()
def match(
    encoder: Encoder, rows: Sequence[Sequence[int]], weights: Sequence[Sequence[float]], pairs: Sequence[Pair], *, token_budget: int = 8192
) -> list[tuple[float, float]]:
    """(precision, recall) of each pair (prediction, reference) of rows of ids, by the last hidden states of `encoder`.

    Precision is the weighted mean over the prediction's tokens of the largest cosine with any token of the reference, markers included;
    recall the same the other way round. Each row is encoded once for all of its pairs, unless they are too many to be held.

    Args:
        weights: for each row one weight per id, which do not sum to 0; only rows that stand in a pair are looked at.
    """
    found: list[tuple[float, float]] = [(0.0, 0.0)] * len(pairs)
    for part in _parts(pairs, [len(row) for row in rows], HELD // encoder.dimension):
        needed = sorted({row for k in part for row in pairs[k]})
        vectors: dict[int, Tensor] = {}
        for group, states in encoder.batches([rows[i] for i in needed], token_budget=token_budget):
            unit = normalize(states if states.dtype == torch.float64 else states.float(), dim=-1)
            vectors.update({needed[i]: one[: len(rows[needed[i]])] for i, one in zip(group, unit, strict=True)})
        for group in groups([max(len(rows[i]) for i in pairs[k]) for k in part], token_budget):
            chosen = [part[k] for k in group]
            scores = _scores(*([(vectors[pairs[k][side]], weights[pairs[k][side]]) for k in chosen] for side in (0, 1)))
            for k, precision, recall in zip(chosen, *scores, strict=True):
                found[k] = (precision, recall)
    return found


def _scores(left: list[tuple[Tensor, Sequence[float]]], right: list[tuple[Tensor, Sequence[float]]]) -> tuple[list[float], list[float]]:
    """Precision and recall of pairs of (vectors of length 1 [tokens, dimension], weights)."""
    a, b = (pad_sequence([vectors for vectors, _ in side], batch_first=True) for side in (left, right))
    p, q = (
        pad_sequence([torch.tensor(weights, dtype=torch.float64, device=a.device) for _, weights in side], batch_first=True) for side in (left, right)
    )
    here, there = (
        torch.arange(vectors.shape[1], device=a.device) < torch.tensor([[len(one)] for one, _ in side], device=a.device)
        for vectors, side in ((a, left), (b, right))
    )
    cosines = torch.bmm(a, b.transpose(1, 2))
    forward = cosines.masked_fill(~there[:, None, :], -torch.inf).amax(2).double().masked_fill(~here, 0)
    backward = cosines.masked_fill(~here[:, :, None], -torch.inf).amax(1).double().masked_fill(~there, 0)
    return ((forward * p).sum(1) / p.sum(1)).tolist(), ((backward * q).sum(1) / q.sum(1)).tolist()


def _parts(pairs: Sequence[Pair], lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """The numbers of pairs in runs whose rows have at most `most` ids together (or one pair)."""
    part: list[int] = []
    seen: set[int] = set()
    held = 0
    for k, pair in enumerate(pairs):
        more = sum(lengths[i] for i in set(pair) - seen)
        if part and held + more > most:
            yield part
            part, seen, held = [], set(), 0
            more = sum(lengths[i] for i in set(pair))
        part.append(k)
        seen.update(pair)
        held += more
    if part:
        yield part
