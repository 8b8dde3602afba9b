"""Greedy matching of contextual token vectors by cosine: BERTScore (Zhang et al. 2020, arXiv:1904.09675)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pad_sequence

from loquent.pretrained.encoder import Encoder
from loquent.pretrained.networks import groups

STATES = 1 << 27  # the most numbers of hidden states in memory at once

Pair = tuple[int, int]


@torch.no_grad()
def match(
    encoder: Encoder,
    rows: Sequence[Sequence[int]],
    weights: Sequence[Sequence[float]],
    pairs: Sequence[Pair],
    *,
    token_budget: int = 8192,
) -> list[tuple[float, float]]:
    """(precision, recall) of each pair (prediction, reference), by the encoder's last hidden states.

    Precision is the weighted mean over the prediction's tokens of the largest cosine with any token of the
    reference, special tokens included. Recall exchanges prediction and reference. Each row is encoded once
    for all its pairs, as far as memory allows.

    Args:
        rows: the ids of texts.
        weights: for each row in a pair one weight per id, with a sum other than 0.
        pairs: indices into `rows`.
    """
    scores: list[tuple[float, float]] = [(0.0, 0.0)] * len(pairs)
    for part in _parts(pairs, [len(row) for row in rows], STATES // encoder.dimension):
        needed = sorted({row for k in part for row in pairs[k]})
        vectors: dict[int, Tensor] = {}
        for group, states in encoder.batches([rows[i] for i in needed], token_budget=token_budget):
            unit = normalize(states if states.dtype == torch.float64 else states.float(), dim=-1)
            vectors.update(
                {needed[i]: row[: len(rows[needed[i]])] for i, row in zip(group, unit, strict=True)}
            )
        for group in groups([max(len(rows[i]) for i in pairs[k]) for k in part], token_budget):
            chosen = [part[k] for k in group]
            sides = ([(vectors[pairs[k][side]], weights[pairs[k][side]]) for k in chosen] for side in (0, 1))
            for k, precision, recall in zip(chosen, *_scores(*sides), strict=True):
                scores[k] = (precision, recall)
    return scores


def _scores(
    left: list[tuple[Tensor, Sequence[float]]], right: list[tuple[Tensor, Sequence[float]]]
) -> tuple[list[float], list[float]]:
    """Precision and recall of pairs of (unit vectors [tokens, dimension], weights)."""
    a, b = (pad_sequence([vectors for vectors, _ in side], batch_first=True) for side in (left, right))
    p, q = (
        pad_sequence(
            [torch.tensor(weights, dtype=torch.float64, device=a.device) for _, weights in side],
            batch_first=True,
        )
        for side in (left, right)
    )
    left_real, right_real = (
        torch.arange(vectors.shape[1], device=a.device)
        < torch.tensor([[len(row)] for row, _ in side], device=a.device)
        for vectors, side in ((a, left), (b, right))
    )
    cosines = torch.bmm(a, b.transpose(1, 2))
    forward = (
        cosines.masked_fill(~right_real[:, None, :], -torch.inf).amax(2).double().masked_fill(~left_real, 0)
    )
    backward = (
        cosines.masked_fill(~left_real[:, :, None], -torch.inf).amax(1).double().masked_fill(~right_real, 0)
    )
    return ((forward * p).sum(1) / p.sum(1)).tolist(), ((backward * q).sum(1) / q.sum(1)).tolist()


def _parts(pairs: Sequence[Pair], lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Groups of consecutive indices of pairs.

    The rows of a group have at most `most` ids, or the group is one pair.
    """
    part: list[int] = []
    included: set[int] = set()
    total = 0
    for k, pair in enumerate(pairs):
        more = sum(lengths[i] for i in set(pair) - included)
        if part and total + more > most:
            yield part
            part, included, total = [], set(), 0
            more = sum(lengths[i] for i in set(pair))
        part.append(k)
        included.update(pair)
        total += more
    if part:
        yield part
