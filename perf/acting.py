"""Benchmarks of acting with values: ours against the way of the paper's code, on equal networks, heads and
prompts.
"""

from __future__ import annotations

import copy
from typing import Any

import measuring
import torch
import workloads
from references.acting_old_way import OldActor

from loquent.core.seeding import Key
from loquent.models.decode.loop import Decoding, decode
from loquent.models.values.networks import TokenValues
from loquent.models.values.perturb import Perturbation

GAMES, GUESSES, TURN, NEW = 32, 6, 12, 6  # Wordle's: a turn has 12 tokens, an answer 6
ADV_BETA = 16.0


def acting(
    rounds: int, *, size: str = "tiny", way: str = "batched", adv_clip: float | None = None
) -> dict[str, Any]:
    """Games of mixed lengths: the history of 0 to 5 guesses, and an answer to each.

    Values have trunks of their own.
    """
    games = 6 if size == "quick" else GAMES
    prompts = [
        row[: 1 + TURN * (i % GUESSES)]
        for i, row in enumerate(workloads.prompts(size, games, 1 + TURN * GUESSES))
    ]
    module = workloads.network(size)
    perturbation = Perturbation(values_of(module), ADV_BETA, adv_clip)
    other = reference_of(module, perturbation)
    keys = [Key(0, ("row", i)) for i in range(games)]

    def ours(method: str = "sample") -> list[list[int]]:
        how = Decoding(method=method, max_new_tokens=NEW)
        return [
            one.tokens.ids.tolist()
            for one in decode(module, prompts, keys, how, end=(), pad=0, perturbation=perturbation)
        ]

    def reference(greedy: bool = False) -> list[list[int]]:
        return getattr(other, way)(prompts, NEW, greedy)  # type: ignore[no-any-return]

    checked = agreement(other, prompts, ours("greedy"), reference(greedy=True))
    sides = measuring.alternate(ours, reference, rounds)
    return {"checked": checked, **measuring.summary(sides, games * NEW, "tokens")}


def values_of(module: Any) -> TokenValues:
    """Values whose networks differ from the policy and from each other."""
    values = TokenValues.build(module, key=Key(0, ("values",)))
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in values.parameters():
            parameter.add_(0.02 * torch.randn(parameter.shape, generator=random))
    return values


def reference_of(module: Any, perturbation: Perturbation) -> OldActor:
    """The other side, on copies of the same weights."""
    networks = [copy.deepcopy(module) for _ in range(3)]
    networks[1].transformer = copy.deepcopy(perturbation.values.target_trunk)
    networks[2].transformer = copy.deepcopy(perturbation.values.value_trunk)
    heads = copy.deepcopy([*perturbation.values.target_heads, perturbation.values.v_head])
    return OldActor(networks, heads, perturbation.adv_beta, perturbation.adv_clip)


@torch.no_grad()
def agreement(
    other: OldActor, prompts: list[list[int]], ours: list[list[int]], theirs: list[list[int]]
) -> str:
    """That both sides say the same when greedy, but for scores that are equal within rounding.

    Raises:
        AssertionError: they differ where the two tokens' scores do.
    """
    ties = 0
    for prompt, mine, its in zip(prompts, ours, theirs, strict=True):
        if mine != its:
            first = next(i for i, (a, b) in enumerate(zip(mine, its, strict=True)) if a != b)
            ids = torch.tensor([[*prompt, *mine[:first]]])
            scores = other.scores([network(ids, output_hidden_states=True) for network in other.networks])[0]
            apart = float((scores[mine[first]] - scores[its[first]]).abs())
            assert apart < 1e-4 * float(scores.abs().max()), (
                f"greedy answers differ at token {first}, where the scores are {apart} apart"
            )
            ties += 1
    return f"greedy tokens identical in {len(ours) - ties} of {len(ours)} rows" + (
        f", {ties} differ at a tie of scores" * bool(ties)
    )
