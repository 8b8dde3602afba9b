"""The actor of learners that choose among a task's actions: its networks, its inputs and its actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from loquent.core.seeding import Key, borrowed
from loquent.core.task import Observation, Task
from loquent.errors import BadSetting, LoquentError
from loquent.files.tensor_files import save_network
from loquent.models.tokens.turns import NO_ACTION, TurnBatch
from loquent.models.turns import encoders
from loquent.models.turns.inputs import Inputs
from loquent.models.turns.parts import FEW, Dense, Tree, drawn, is_dense, legal_parts, masked
from loquent.models.turns.scored import Legality, ScoredTurns, distribution, joined, logprob_of
from loquent.models.turns.settings import NetworkSettings
from loquent.pretrained.pytorch import devices

PASS = 1024  # turns in one forward pass without gradients


class Network(nn.Module):
    """An encoder with the heads of a policy and of a value function.

    `sizes` are the numbers of logits: one for all actions, or one for each part.
    """

    def __init__(self, inputs: Inputs, sizes: Sequence[int]) -> None:
        super().__init__()
        settings = inputs.settings
        self.encoder = encoders.build(inputs)
        self.own = encoders.build(inputs) if settings.critic == "network" else None  # the critic's encoder
        self.policy_hidden, self.value_hidden, widths = encoders.hidden(self.encoder)
        self.policy, self.value = nn.Linear(widths[0], sum(sizes)), nn.Linear(widths[1], 1)
        self.sizes, self.bounded = list(sizes), settings.value == "tanh"
        for head, gain in ((self.policy, 0.01), (self.value, 1.0)):
            nn.init.orthogonal_(head.weight, gain)
            nn.init.zeros_(head.bias)

    def forward(self, features: Mapping[str, Tensor]) -> tuple[tuple[Tensor, ...], Float[Tensor, " N"]]:
        """The logits, f[N, size] for each of `sizes`, and the values."""
        state = self.encoder(features)
        logits = self.policy(self.policy_hidden(state)).split(self.sizes, 1)
        other = state if self.own is None else self.own(features)
        value = self.value(self.value_hidden(other))[:, 0]
        return logits, value.tanh() if self.bounded else value


class TurnActor:
    """The network of a task, with the inputs that it reads and the actions that it chooses among.

    Raises:
        BadSetting: the task has no actions, or the settings do not fit it.
    """

    language: None = None  # it has no language model

    def __init__(self, name: str, task: Task, settings: NetworkSettings, key: Key) -> None:
        if task.actions is None:
            raise BadSetting(
                f"algorithm.kind = {name!r} chooses among actions, but {task.identity} takes free text; use "
                "a task with actions"
            )
        self.task, self.actions, self.settings = task, task.actions, settings
        self.inputs = Inputs(task, settings)
        self.dense, count = is_dense(self.actions), len(self.actions)
        by_parts = settings.choose == "parts" or (settings.choose == "auto" and count > FEW)
        if not self.dense and not by_parts:
            raise BadSetting(
                f"choose = {settings.choose!r} with {count:,} actions; a larger set than 100,000 needs "
                "choose = 'parts'"
            )
        self.tree = Tree(self.actions) if self.dense and by_parts else None
        sizes = self.actions.parts if by_parts else (count,)
        with borrowed(key.child("network")):
            self.policy = Network(self.inputs, sizes).to(devices.device(settings.device))
        self.policy.eval()
        self._warm = False

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return self.policy.value.weight.device

    @property
    def described(self) -> dict[str, Any]:
        """What a saved network must fit: its inputs, its actions and its shape."""
        few = self.dense and len(self.actions) <= FEW
        names = [self.actions.text(i) for i in range(len(self.actions))] if few and self._named else []
        shape = {name: list(tensor.shape) for name, tensor in self.policy.state_dict().items()}
        return {
            "actions": len(self.actions),
            "names": names,
            "parts": list(self.policy.sizes),
            "inputs": self.inputs.identity,
            "network": self.settings.network,
            "shape": shape,
        }

    def warm(self) -> None:
        """Encode the sentences of all rows in fixed batches, so that a resumed run has equal vectors."""
        if not self._warm and self.inputs.batched:
            for split in self.task.spec.splits:
                self.inputs.warm(self.task, self.task.rows(split))
        self._warm = True

    def save(self, folder: FilePath) -> None:
        """Write `model.safetensors`, and `config.json` with what the network fits."""
        save_network(self.policy, {"task": self.task.identity, **self.described}, folder)

    def state_dict(self) -> dict[str, Tensor]:
        """The tensors of the network."""
        return {f"policy.{name}": x.detach().clone() for name, x in self.policy.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Restore a state from `state_dict`."""
        self.policy.load_state_dict({name.removeprefix("policy."): x for name, x in state.items()})

    @torch.no_grad()
    def choose(
        self, observations: Sequence[Observation], uniform: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        """The number of a legal action for each observation.

        Args:
            uniform: f64[N, draws] in [0, 1), which draw the actions; None takes the most probable number of
                the action, or of each part in turn.
        """
        arrays = [self.inputs(observation) for observation in observations]
        features = {name: np.stack([array[name] for array in arrays]) for name in arrays[0]}
        logits, _ = self.policy(
            {name: torch.as_tensor(x, device=self.device) for name, x in features.items()}
        )
        if not self.dense:
            return self._walk(logits, observations, uniform)
        legality = Legality(self._mask([observation.legal for observation in observations]))
        chosen = distribution(logits, legality, self.tree)
        assert isinstance(chosen, Dense)
        return chosen.best() if uniform is None else chosen.draw(uniform[:, 0])

    @property
    def draws(self) -> int:
        """The uniform numbers that one action needs."""
        return 1 if self.dense else len(self.actions.parts)

    @torch.no_grad()
    def score(self, batch: TurnBatch) -> ScoredTurns:
        """The turns with legal actions, log-probabilities and values, all by the network as it is now.

        Raises:
            LoquentError: an answer is not an action of the set.
        """
        if (batch.choice == NO_ACTION).any():
            raise LoquentError(
                f"{int((batch.choice == NO_ACTION).sum())} of {len(batch)} answers are not actions of "
                f"{self.task.identity}, so they have no probability; set algorithm.legal to true"
            )
        legality = self._legality(batch)
        turns, device = batch.to_torch(self.device), self.device
        logprobs, values = [], []
        for rows in self._passes(len(batch)):
            logits, value = self.policy({name: x[rows] for name, x in turns.features.items()})
            chosen = distribution(logits, legality.take(rows), self.tree)
            logprobs.append(logprob_of(chosen, turns.choice[rows]))
            values.append(value)
        return ScoredTurns(
            features=turns.features,
            choice=turns.choice,
            reward=turns.reward,
            ended=turns.ended,
            episode=turns.episode,
            legality=legality,
            logprob=joined(logprobs, device),
            value=joined(values, device),
            bootstrap=self._bootstrap(turns),
        )

    def _bootstrap(self, turns: Any) -> Float[Tensor, " N"]:
        last = torch.ones_like(turns.ended)
        last[:-1] = turns.episode[1:] != turns.episode[:-1]
        values = torch.zeros_like(turns.reward)
        open_ended = (last & ~turns.ended).nonzero()[:, 0]
        for rows in open_ended.split(PASS):
            if len(rows):
                values[rows] = self.policy({name: x[rows] for name, x in turns.next_features.items()})[1]
        return values

    def _legality(self, batch: TurnBatch) -> Legality:
        if self.dense:
            return Legality(self._mask(batch.legal))
        numbers = np.full((len(batch), len(self.actions.parts)), -1, dtype=np.int64)
        for row, choice in enumerate(batch.choice.tolist()):
            own = self.actions.split(choice)
            numbers[row, : len(own)] = own
        parts = legal_parts(self.actions, batch.legal, numbers, obey=self.settings.legal)
        device = self.device
        return Legality(
            None,
            tuple(torch.as_tensor(part, device=device) for part in parts),
            torch.as_tensor(numbers, device=device),
        )

    def _mask(self, legal: Sequence[Any]) -> Tensor:
        if not self.settings.legal:
            return torch.ones((len(legal), len(self.actions)), dtype=torch.bool, device=self.device)
        mask = np.stack([self.actions.mask(value) for value in legal])
        if not mask.any(1).all():
            raise LoquentError(
                f"an observation of {self.task.identity} has no legal action, so none can be chosen; correct "
                "the task"
            )
        return torch.as_tensor(mask, device=self.device)

    def _walk(
        self,
        logits: Sequence[Tensor],
        observations: Sequence[Observation],
        uniform: NDArray[np.float64] | None,
    ) -> NDArray[np.int64]:
        """Choose the numbers of each action, part by part."""
        numbers: list[list[int]] = [[] for _ in observations]
        for k, part in enumerate(logits):
            masks = [
                self.actions.following(observation.legal, own)
                for observation, own in zip(observations, numbers, strict=True)
            ]
            rows = [i for i, mask in enumerate(masks) if len(mask)]
            if not rows:
                break
            legal = np.stack([masks[i] if self.settings.legal else np.ones_like(masks[i]) for i in rows])
            if not legal.any(1).all():
                raise LoquentError(
                    f"an observation of {self.task.identity} has no legal action, so none can be chosen; "
                    "correct the task"
                )
            scores = masked(part[rows], torch.as_tensor(legal, device=self.device)).double().cpu().numpy()
            values = scores.argmax(1) if uniform is None else drawn(scores, uniform[rows, k])
            for i, value in zip(rows, values.tolist(), strict=True):
                numbers[i].append(value)
        return np.array([self.actions.join(own) for own in numbers], dtype=np.int64)

    def _passes(self, count: int) -> Iterator[Tensor]:
        yield from torch.arange(count, device=self.device).split(PASS)

    @property
    def _named(self) -> bool:
        """Whether the texts of the actions are known without an episode."""
        from loquent.core.actions import Slots

        return not isinstance(self.actions, Slots)
