"""Turns with what a policy gradient needs: legal actions, log-probabilities, values, advantages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from loquent.errors import LoquentError
from loquent.models.tokens.turns import NO_ACTION, TurnBatch
from loquent.models.turns.parts import Dense, Path, Tree, masked_log_softmax
from loquent.pretrained.learning.turn_network import TurnNetwork

PASS = 1024  # turns in one forward pass without gradients


@dataclass(frozen=True, eq=False)
class Legality:
    """The legal actions of N turns as tensors, and the numbers of the actions that were taken.

    Either `actions` bool[N, n], or for sets without a mask `parts`, bool[N, P_k] for each part, after the
    first k numbers of the action. `numbers` i64[N, K] has -1 for parts that the action leaves out.
    """

    actions: Tensor | None
    parts: tuple[Tensor, ...] = ()
    numbers: Tensor | None = None

    def take(self, rows: Tensor) -> Legality:
        """The legal actions of these turns."""
        return Legality(
            None if self.actions is None else self.actions[rows],
            tuple(part[rows] for part in self.parts),
            None if self.numbers is None else self.numbers[rows],
        )


@dataclass(frozen=True, eq=False)
class ScoredTurns:
    """N turns as tensors. The turns of an episode are neighbours, in order."""

    features: dict[str, Tensor]
    choice: Tensor  # i64[N]
    reward: Tensor  # f32[N]
    ended: Tensor  # bool[N]: by a rule after this turn
    episode: Tensor  # i64[N]
    legality: Legality | Tensor | None  # what `TurnNetwork.legality` gives
    logprob: Tensor  # f32[N]: of the choice, by the policy that played, however the choice came about
    value: Tensor  # f32[N]: of the observation before the choice
    bootstrap: Tensor  # f32[N]: the value after the last turn of an episode that has not ended; else 0
    advantage: Tensor | None = None
    target: Tensor | None = None
    goal: Tensor | None = None  # f32[N]: whether the goal holds, for a network with a stop head

    def __len__(self) -> int:
        return len(self.choice)

    def take(self, rows: Tensor) -> ScoredTurns:
        """The turns with these numbers."""
        changed: dict[str, Any] = {
            field.name: getattr(self, field.name)[rows]
            for field in fields(self)
            if isinstance(getattr(self, field.name), Tensor)
        }
        changed["features"] = {name: array[rows] for name, array in self.features.items()}
        if isinstance(self.legality, Legality):
            changed["legality"] = self.legality.take(rows)
        return replace(self, **changed)


def distribution(logits: tuple[Tensor, ...], legality: Legality, tree: Tree | None) -> Dense | Path:
    """The distribution over legal actions of a network's logits.

    Args:
        logits: one f[N, n] of actions, or f[N, P_k] for each part.
        tree: of the parts, where the logits are those of parts and the set has a mask.
    """
    if legality.actions is None:
        parts = tuple(
            masked_log_softmax(part, legal) for part, legal in zip(logits, legality.parts, strict=True)
        )
        assert legality.numbers is not None
        return Path(parts, legality.numbers)
    if tree is None:
        return Dense(masked_log_softmax(logits[0], legality.actions))
    return Dense(tree.log_probabilities(logits, legality.actions))


def logprob_of(chosen: Dense | Path, choice: Tensor) -> Tensor:
    """f[N]: the log-probability of one action each; a `Path` has that of its own actions."""
    return chosen.of(choice) if isinstance(chosen, Dense) else chosen.of_action()


def policy_of(
    network: TurnNetwork, features: Mapping[str, Tensor], legality: Legality | None
) -> tuple[Dense | Path, Tensor]:
    """The distribution of a network over the legal actions of N turns, and the values f[N]."""
    return outputs_of(network, features, legality)[:2]


def outputs_of(
    network: TurnNetwork, features: Mapping[str, Tensor], legality: Legality | Tensor | None
) -> tuple[Dense | Path, Tensor, Tensor | None]:
    """As `policy_of`, and the logits f[N] of P(the goal holds); None without a stop head."""
    chosen, value, goal = network.distribution_and_goal(features, legality)
    return Dense(chosen) if isinstance(chosen, Tensor) else chosen, value, goal


@torch.no_grad()
def score(network: TurnNetwork, batch: TurnBatch) -> ScoredTurns:
    """The turns with legal actions, log-probabilities and values, all by the network as it is now.

    Raises:
        LoquentError: an answer is not an action of the set.
    """
    if (batch.choice == NO_ACTION).any():
        raise LoquentError(
            f"{int((batch.choice == NO_ACTION).sum())} of {len(batch)} answers are not actions of "
            f"{network.task.identity}, so they have no probability; set algorithm.legal to true"
        )
    legality, turns = network.legality(batch), batch.to_torch(network.device)
    logprobs, values = [], []
    for rows in torch.arange(len(batch), device=network.device).split(PASS):
        of_rows = None if legality is None else legality.take(rows)
        chosen, value = policy_of(network, {name: x[rows] for name, x in turns.features.items()}, of_rows)
        logprobs.append(logprob_of(chosen, turns.choice[rows]))
        values.append(value)
    return ScoredTurns(
        features=turns.features,
        choice=turns.choice,
        reward=turns.reward,
        ended=turns.ended,
        episode=turns.episode,
        legality=legality,
        logprob=torch.cat(logprobs),
        value=torch.cat(values),
        bootstrap=_bootstrap(network, turns),
        goal=turns.goal,
    )


def _bootstrap(network: TurnNetwork, turns: TurnBatch) -> Tensor:
    """f[N]: the value of what follows the last turn of each episode that has not ended; else 0."""
    last = torch.ones_like(turns.ended)
    last[:-1] = turns.episode[1:] != turns.episode[:-1]
    values = torch.zeros_like(turns.reward)
    for rows in (last & ~turns.ended).nonzero()[:, 0].split(PASS):
        if len(rows):
            features = {name: x[rows] for name, x in turns.next_features.items()}
            values[rows] = network.state_values(features)
    return values
