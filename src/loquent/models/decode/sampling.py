"""The choice of one token for each row, greedily or by sampling.

Sampling inverts the cumulative distribution at a uniform number. The sum runs in float64 over the kept ids in
ascending order, and the last kept id takes the remainder. So a token depends only on the row's logits and its
uniform number.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from loquent.errors import BadModel
from loquent.models.tokens.support import Support, filter_top_k, filter_top_p
from loquent.models.values.perturb import Shift

WIDE = 4096  # from so many columns on, rows are summed by blocks
BLOCK = 256  # columns of a block
# 2^20 * 2^-53 bounds the relative rounding error of a sum of 2^20 numbers in float64; it is twice as much and
# more, because the total and the sum up to a column are rounded
SLACK = 3e-10
NOT_FINITE = (
    "no token can be chosen: the logits of the model, or the values it is perturbed by, are not finite, or "
    "every token is banned; all must be finite, and one token allowed; lower the learning rate, or check the "
    "legal words"
)


@dataclass(frozen=True)
class Choice:
    """The chosen tokens of n rows."""

    ids: Int[Tensor, " n"]
    drawn_logprob: Float[Tensor, " n"]  # in the support, float64
    policy_logprob: Float[Tensor, " n"]  # in the full softmax, float64
    support: Support


def choose(
    logits: Float[Tensor, "n V"],
    uniform: Float[Tensor, " n"] | None,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    banned: Bool[Tensor, "n V"] | None = None,
    limit: int | None = None,
    shift: Shift | None = None,
) -> Choice:
    """Choose one id per row; the order of filters is bans, temperature, top-k, top-p.

    Args:
        uniform: numbers in [0, 1), float64; None takes the most probable id (the smallest of equals).
        banned: True where an id may not be chosen.
        limit: ids from this number on are never chosen (padded rows of an embedding).
        shift: is added to the logits, before the filters if `shift.after` is true, else after them.
            `policy_logprob` remains that of the unshifted logits.

    Raises:
        BadModel: a logit is not finite, or every token of a row is banned.
    """
    logits = logits if logits.dtype == torch.float64 else logits.float()
    vocabulary = logits.shape[1]
    limit = vocabulary if limit is None else min(limit, vocabulary)
    work = logits[:, :limit]
    if banned is not None:
        work = work.masked_fill(banned[:, :limit], -torch.inf)
    if shift is not None and shift.after:
        work = shift.to(work)
    if temperature != 1:
        work = work / temperature
    if 0 < top_k < limit:
        values, columns = _first_ranks(work, top_k)
    else:
        values, columns = work, None
    kept = filter_top_p(values, top_p) if top_p < 1 else None
    if banned is not None:
        possible = values > -torch.inf
        kept = possible if kept is None else kept & possible
    if kept is not None:
        values = values.masked_fill(~kept, -torch.inf)
    if shift is not None and not shift.after:
        values = shift.to(values, columns)
    place, drawn = _pick(values, uniform)
    ids = place if columns is None else columns.gather(1, place[:, None])[:, 0]
    is_filtered = columns is not None or kept is not None or limit < vocabulary
    if is_filtered or temperature != 1 or shift is not None:
        policy = logits.gather(1, ids[:, None])[:, 0].double() - _logsumexp(logits).double()
    else:
        policy = drawn
    if not bool((torch.isfinite(drawn) & torch.isfinite(policy)).all()):
        raise BadModel(NOT_FINITE)
    return Choice(ids, drawn, policy, _support(len(ids), kept, columns, vocabulary, limit, temperature))


def _logsumexp(logits: Tensor) -> Tensor:
    """The logsumexp of each row; few wide rows at a time, so that they stay in a cache."""
    if logits.shape[1] < WIDE or logits.device.type != "cpu":
        return logits.logsumexp(1)
    return torch.cat([part.logsumexp(1) for part in logits.split(4)])


def _first_ranks(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The values and columns of the k first ranks, columns ascending; of ties the smaller column."""
    top, columns = values.topk(k + 1, dim=1)  # one more shows whether the last rank is a tie
    columns = columns[:, :k]
    if bool((top[:, k - 1] == top[:, k]).any()):
        columns = filter_top_k(values, k).nonzero()[:, 1].view(-1, k)
    columns = columns.sort(1).values
    return values.gather(1, columns), columns


def _pick(values: Tensor, uniform: Tensor | None) -> tuple[Tensor, Tensor]:
    """The chosen column of each row, and its log-probability among the finite values."""
    maximum = values.amax(1, keepdim=True)  # `max` is ten times slower, because it finds the places too
    mass = (values - maximum).exp_()  # in the precision of the logits; the sums are float64
    if mass.shape[1] >= WIDE and mass.device.type == "cpu":
        place, total = _by_blocks(mass, uniform)
    elif uniform is None:
        place, total = None, mass.sum(1, dtype=torch.float64)
    else:
        place, total = _inverted(mass, uniform)
    if place is None:
        place = values.argmax(1)
    chosen = values.gather(1, place[:, None]) - maximum
    return place, chosen[:, 0].double() - total.log()


def _inverted(mass: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
    """The column at which the sum of masses passes uniform · total, and the total, of each row."""
    sums = mass.cumsum(1, dtype=torch.float64)
    total = sums[:, -1].contiguous()
    last = torch.searchsorted(sums, total[:, None])  # the last id with a probability above 0
    inverted = torch.searchsorted(sums, (uniform * total)[:, None], right=True)
    return torch.minimum(inverted, last)[:, 0].clamp_max(mass.shape[1] - 1), total


def _by_blocks(mass: Tensor, uniform: Tensor | None) -> tuple[Tensor | None, Tensor]:
    """The result of `_inverted`, by the sums of blocks; without uniform numbers the totals alone.

    Only the block that holds the chosen column is summed entry by entry. A row whose number is so near to the
    boundary of two columns that the order of additions could decide is summed completely.
    """
    rows, columns = mass.shape
    blocks = -(-columns // BLOCK)
    sums = torch.empty(rows, blocks, dtype=torch.float64)
    wide = torch.zeros(2, blocks * BLOCK, dtype=torch.float64)  # two rows in float64 fit into a cache
    for i in range(0, rows, 2):
        part = wide[: min(2, rows - i)]
        part[:, :columns] = mass[i : i + 2]
        torch.sum(part.view(len(part), blocks, BLOCK), 2, out=sums[i : i + 2])
    before = sums.cumsum(1)
    total = before[:, -1].contiguous()
    if uniform is None:
        return None, total
    wanted = (uniform * total)[:, None]
    block = torch.searchsorted(before, wanted, right=True).clamp_max(blocks - 1)
    inside = block * BLOCK + torch.arange(BLOCK)
    entries = mass.gather(1, inside.clamp_max(columns - 1)).double()
    start = before.gather(1, block) - sums.gather(1, block)
    ends = start + entries.cumsum(1)
    place = torch.searchsorted(ends, wanted, right=True).clamp_max(BLOCK - 1)
    end = ends.gather(1, place)
    slack = SLACK * total[:, None]
    clear = (wanted < end - slack) & (wanted > end - entries.gather(1, place) + slack)
    chosen = inside.gather(1, place)[:, 0]
    unclear = (~clear[:, 0]).nonzero()[:, 0]
    if len(unclear):
        chosen[unclear] = _inverted(mass[unclear], uniform[unclear])[0]
    return chosen, total


def _support(
    n: int, kept: Tensor | None, columns: Tensor | None, vocabulary: int, limit: int, temperature: float
) -> Support:
    """The support of n tokens, drawn from the kept ones among `columns` (None: all below `limit`)."""
    if columns is not None:
        in_columns = torch.ones_like(columns, dtype=torch.bool) if kept is None else kept
        return Support.from_candidates(columns, in_columns, vocabulary, temperature)
    if kept is None:
        return Support.full(n, vocabulary, temperature, limit=limit)
    return Support.pack(torch.nn.functional.pad(kept, (0, vocabulary - limit)), temperature)
