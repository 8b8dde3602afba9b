"""KTO: the policy learns from answers that are desirable or not, each alone (arXiv:2402.01306).

The reference point z is an estimate of KL(π, π_ref) on answers to other rows: within a minibatch each prompt
is followed by the answer of another one. It has no gradient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient.episode_groups import episodes_of
from loquent.algorithms.policy_gradient.on_policy import of
from loquent.algorithms.preference import losses
from loquent.algorithms.preference.learner import LossOfPart, PreferenceConfig, PreferenceLearner, log_ratios
from loquent.algorithms.preference.pairs import Units, pairs_of, returns_of
from loquent.algorithms.presets import PRESETS
from loquent.core.settings import redefault, setting
from loquent.core.values import Record
from loquent.models.actor import Actor
from loquent.models.format.base import HEAD
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained.learning.gradient_step import Loss

LOGGED = logged_keys.BUILT_IN["kto"]


@dataclass(frozen=True, kw_only=True)
class Config(PreferenceConfig):
    """Settings of `kto`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["kto"]
    threshold: float | None = setting(
        None,
        "an answer with a return above it is desirable, the others are not; none: of each row the best "
        "answer is desirable, the worst is not, and others do not count",
    )
    beta: float = redefault(
        PreferenceConfig,
        "beta",
        0.1,
        source="2402.01306; TRL",
        why="β: how strongly the policy stays near the reference",
    )
    desirable_weight: float = setting(
        1.0, "λ_D, the weight of desirable answers", source="2402.01306 eq. 7", low=0.0
    )
    undesirable_weight: float = setting(
        1.0,
        "λ_U, the weight of the others; the source advises λ_D n_D / (λ_U n_U) between 1 and 4/3",
        source="2402.01306 eq. 8",
        low=0.0,
    )


class KTO(PreferenceLearner):
    """Kahneman-Tversky optimisation of the policy of an `Actor`."""

    Config: ClassVar[type] = Config
    name = "kto"
    per_step = (
        "preference/loss",
        "preference/kl",
        "preference/chosen",
        "preference/rejected",
        "preference/desirable",
        "gradient/norm",
    )

    @property
    def least_recorded(self) -> int:
        """1 with a threshold, which decides about each answer alone."""
        return self.least_answers if self.config.threshold is None else 1

    def units(self, batch: TokenBatch) -> Units:
        """The answers of a batch, each with its label."""
        episodes = episodes_of(batch)
        returns = returns_of(batch, episodes)
        if self.config.threshold is not None:
            members = torch.arange(len(returns), device=returns.device)
            return Units(batch, members[:, None], returns > self.config.threshold)
        members = pairs_of(returns, episodes.group).T
        chosen = torch.zeros_like(members, dtype=torch.bool)
        chosen[0] = True
        return Units(batch, members.reshape(-1, 1), chosen.flatten())

    def remark(self, batch: TokenBatch) -> str:
        """That all answers are of one kind, with their number and returns."""
        desirable = self.units(batch).desirable
        assert desirable is not None
        good = int(desirable.sum())
        if self.config.threshold is None or 0 < good < len(desirable):
            return ""
        kind, other = ("desirable", "undesirable") if good else ("undesirable", "desirable")
        low, high = returns_of(batch, episodes_of(batch)).aminmax()
        return (
            f"all {len(desirable)} answers are {kind}, and none is {other} (algorithm.threshold = "
            f"{self.config.threshold}, returns from {low:g} to {high:g}); KTO is made for both kinds: add "
            f"{other} answers, or set a threshold between the returns"
        )

    def loss(self, model: Actor, minibatch: Units) -> LossOfPart:
        """The sum of `losses.kto_loss` over the answers of a part."""
        config, kl = self.config, estimated_kl(model, minibatch, self.config.token_budget)

        def of_part(part: Units) -> Loss:
            ratios = log_ratios(model, part)[:, 0]
            desirable = part.desirable
            assert desirable is not None
            loss = losses.kto_loss(
                ratios,
                desirable,
                kl,
                beta=config.beta,
                desirable_weight=config.desirable_weight,
                undesirable_weight=config.undesirable_weight,
            )
            rewards = config.beta * ratios.detach()
            logged = {
                "preference/loss": loss,
                "preference/kl": torch.full_like(loss, kl),
                "preference/chosen": rewards[desirable],
                "preference/rejected": rewards[~desirable],
                "preference/desirable": desirable.double(),
            }
            return Loss(loss.sum(), logged)

        return of_part


def estimated_kl(model: Actor, minibatch: Units, token_budget: int) -> float:
    """z of arXiv:2402.01306 eq. 7: max(0, the mean of log π - log π_ref over answers to other rows)."""
    batch = swap_answers(minibatch, model.context).to(model.device)
    scored = score(model, batch, token_budget=token_budget)
    columns = scored.policy_logprob, scored.reference_logprob
    policy, reference = (of(column, scored.is_action).double().sum() for column in columns)
    return max(0.0, float(policy - reference) / len(minibatch))


def swap_answers(minibatch: Units, longest: int) -> TokenBatch:
    """Each row's tokens before its first answer, followed by another row's tokens from its first answer on.

    The other row is a fixed number of rows before it, in the order of the units: the least number with the
    fewest answers to the same row of the task. A row has at most `longest` tokens and keeps its start.
    """
    batch = minibatch.batch
    rows = _in_order(minibatch)
    heads = batch.is_action.to(torch.int8).argmax(1)
    ends = batch.real.sum(1)
    group = batch.group
    assert group is not None
    shifts = range(1, len(rows)) or (0,)
    same = [int((group[rows] == group[rows.roll(shift)]).sum()) for shift in shifts]
    others = rows.roll(shifts[same.index(min(same))])
    pairs = [
        (
            torch.cat([batch.tokens[row, : heads[row]], batch.tokens[other, heads[other] : ends[other]]]),
            torch.cat(
                [
                    torch.zeros(int(heads[row]), dtype=torch.bool, device=rows.device),
                    batch.is_action[other, heads[other] : ends[other]],
                ]
            ),
        )
        for row, other in zip(rows.tolist(), others.tolist(), strict=True)
    ]
    width = min(longest, max(len(tokens) for tokens, _ in pairs))
    tokens = batch.tokens.new_zeros(len(pairs), width)
    real, is_action = (torch.zeros_like(tokens, dtype=torch.bool) for _ in range(2))
    for i, (own, actions) in enumerate(pairs):
        length = min(len(own), width)
        tokens[i, :length], is_action[i, :length] = own[:length], actions[:length]
        real[i, :length] = True
    return TokenBatch(
        tokens=tokens,
        real=real,
        is_action=is_action,
        turn=torch.full_like(tokens, HEAD),
        reward=batch.reward.new_zeros(tokens.shape),
        ended=torch.ones(len(tokens), dtype=torch.bool, device=tokens.device),
        episode=torch.arange(len(tokens), device=tokens.device),
    )


def _in_order(minibatch: Units) -> Tensor:
    """The rows of a minibatch in the order of its units."""
    number = episodes_of(minibatch.batch).number
    return torch.cat([(number == member).nonzero().flatten() for member in minibatch.members[:, 0]])
