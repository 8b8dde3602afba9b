"""The network of QA-DQN as learners of turns ask for it: inputs, actions, answers and replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from loquent.core.episode import Episode
from loquent.core.seeding import Key, borrow_generators
from loquent.core.task import Observation, Row, Task
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.pretrained.learning.turn_network import Head, TurnNetwork
from loquent.tasks.reading.network.answers import Answers
from loquent.tasks.reading.network.inputs import Asking, Inputs, Situation
from loquent.tasks.reading.network.network import Network, log_probabilities, values
from loquent.tasks.reading.network.pointer import best_spans
from loquent.tasks.reading.network.settings import NetworkSettings
from loquent.tasks.reading.network.texts import Situations

REWARD = "sufficient"  # what a stop earns


class AskingActor(TurnNetwork):
    """The network of a task with commands and queries, its inputs, and its answers.

    Raises:
        BadSetting: the task is none that `inputs.Asking` describes.
    """

    Settings: ClassVar[type] = NetworkSettings
    dropout: ClassVar[bool] = True
    head_modules = ("heads",)
    inputs: Inputs
    policy: Network

    def __init__(self, task: Task, settings: NetworkSettings, key: Key, head: Head) -> None:
        self.task, self.settings, self.head = task, settings, head
        self.inputs = Inputs(task, settings)
        self.actions = self.inputs.actions
        with borrow_generators(key.child("network")):
            self.policy = Network(self.inputs, head)
        self.policy.eval()

    @classmethod
    def learns_besides(cls, settings: NetworkSettings) -> bool:
        """Whether the pointers learn."""
        return settings.answers > 0

    @property
    def signature(self) -> dict[str, Any]:
        """What a saved network must fit: its commands, its words and its shape."""
        return {
            "commands": self.inputs.plain + 1,
            "queries": self.inputs.slots,
            "inputs": self.inputs.identity,
            "encoder": self.settings.encoder,
            "shape": self.shape,
        }

    @torch.no_grad()
    def scores(self, situations: Sequence[Situation]) -> Float[Tensor, "N B"]:
        """f32[N, B] on the CPU: Q of the actions, or of a policy their log-probabilities.

        -inf for illegal ones. B is the number of plain commands and the most queries of a situation.
        """
        scores = self.policy(self.inputs.batch(situations).to(self.device))
        flat = log_probabilities(scores) if self.head.critic else values(scores, self.settings.combine)
        return flat.cpu()

    def choose(
        self, observations: Sequence[Observation], uniform: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        """The number of a legal action for each observation; without `uniform` the best action."""
        scores = self.scores([self.inputs.situation(observation) for observation in observations])
        if uniform is None:
            return scores.argmax(1).numpy()
        reached = scores.double().exp().numpy().cumsum(1)
        drawn = (uniform * reached[:, -1:] >= reached).sum(1)
        last = np.isfinite(scores.numpy()).cumsum(1).argmax(1)  # rounding must not reach an illegal action
        return np.minimum(drawn, last)

    def explore(self, observation: Observation, uniform: float) -> int:
        """A legal command at random; no array has the size of the vocabulary."""
        count = self.inputs.plain + self.inputs.count(self.inputs.situation(observation))
        return int(uniform * count)

    def values(self, module: nn.Module, batch: Sequence[Situation]) -> Float[Tensor, "N B"]:
        """Q of the actions, -inf for illegal ones."""
        return values(module(self.inputs.batch(batch).to(self.device)), self.settings.combine)

    def distribution(
        self, features: Mapping[str, Tensor], legality: Any
    ) -> tuple[Float[Tensor, "N B"], Float[Tensor, " N"]]:
        """The log-probabilities of the actions, and the values of the states."""
        scores = self.policy(self.inputs.of_arrays(features).to(self.device))
        return log_probabilities(scores), scores.value

    def state_values(self, features: Mapping[str, Tensor]) -> Float[Tensor, " N"]:
        """The values of states."""
        return self.policy(self.inputs.of_arrays(features).to(self.device)).value

    def store(self) -> Situations:
        """A replay keeps the numbers of texts."""
        return Situations(self.inputs)

    def auxiliary(self, key: Key) -> Answers:
        """The pointers learn to answer."""
        return Answers(self.task, self.inputs, self.policy, key)

    def check_rewards(self, weights: Record) -> None:
        """Raise BadSetting if `every_stop` would learn a reward that does not count."""
        if self.settings.every_stop and not weights.get(REWARD):
            raise BadSetting(
                f"every_stop = true learns the reward `{REWARD}`, which does not count here; "
                "set every_stop to false"
            )

    def known_endings(
        self, episode: Episode, row: Row, weights: Record
    ) -> list[tuple[Observation, int, float]]:
        """With `every_stop`, a stop in each situation: it earns the reward if the memory has an answer."""
        task: Any = self.task
        assert isinstance(task, Asking)
        if not self.settings.every_stop:
            return []
        stops, observation = [], None
        for turn in episode.turns:
            if turn.observation is not None:
                observation = turn.observation
            elif observation is not None and not self.actions.asks_text(observation.legal):
                stop = self.actions.index("stop", observation.legal)
                assert stop is not None
                stops.append((observation, stop, weights[REWARD] * bool(task.spans(row, observation))))
        return stops

    @torch.no_grad()
    def answers(self, observations: Sequence[Observation]) -> list[str]:
        """The answer to the question of each observation: a range of the tokens of its memory."""
        read = [self.inputs.situation(observation) for observation in observations]
        situations = [Situation(each.question, each.memory, "") for each in read]  # as the pointer learned
        batch = self.inputs.batch(situations).to(self.device)
        spans = best_spans(*self.policy.point(batch), self.settings.longest_answer).tolist()
        texts = []
        for situation, (start, end) in zip(situations, spans, strict=True):
            tokens, cut = " ".join(situation.memory).split(" "), self.inputs.cut(situation.memory)
            texts.append(" ".join(tokens[cut + start : cut + end]))
        return texts
