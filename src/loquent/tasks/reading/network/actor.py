"""The network of QA-DQN as learners of turns ask for it: inputs, actions, answers and replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from loquent.core.seeding import Key, borrow_generators
from loquent.core.task import Observation, Task
from loquent.pretrained.learning.turn_network import Head, TurnNetwork
from loquent.tasks.reading.network.answers import Answers
from loquent.tasks.reading.network.inputs import Inputs, Situation
from loquent.tasks.reading.network.network import Network, log_probabilities, values, without_stop
from loquent.tasks.reading.network.pointer import best_spans
from loquent.tasks.reading.network.settings import NetworkSettings
from loquent.tasks.reading.network.texts import Situations


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

    def scores(self, situations: Sequence[Situation]) -> Float[Tensor, "N B"]:
        """f32[N, B] on the CPU: Q of the actions, or of a policy their log-probabilities.

        -inf for illegal ones. B is the number of plain commands and the most queries of a situation.
        """
        return self._read(situations)[0]

    @torch.no_grad()
    def _read(self, situations: Sequence[Situation]) -> tuple[Float[Tensor, "N B"], Tensor | None]:
        """`scores`, without `stop` if a head decides on it; and P(the goal holds), f64[N]."""
        scores = self.policy(self.inputs.batch(situations).to(self.device))
        flat = log_probabilities(scores) if self.head.critic else values(scores, self.settings.combine)
        likely = None if scores.goal is None else scores.goal.double().sigmoid().cpu()
        return without_stop(flat.cpu(), self.stop), likely

    def propose(
        self, observations: Sequence[Observation], uniform: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
        """The number of a legal action for each observation, and P(the goal holds)."""
        scores, goal = self._read([self.inputs.situation(observation) for observation in observations])
        likely = None if goal is None else goal.numpy()
        if uniform is None or not self.head.critic:
            return scores.argmax(1).numpy(), likely
        reached = scores.double().exp().numpy().cumsum(1)
        drawn = (uniform[:, :1] * reached[:, -1:] >= reached).sum(1)
        last = np.isfinite(scores.numpy()).cumsum(1).argmax(1)  # rounding must not reach an illegal action
        return np.minimum(drawn, last), likely

    def explore(self, observation: Observation, uniform: float) -> int:
        """A legal command at random; no array has the size of the vocabulary."""
        count = self.inputs.plain + self.inputs.count(self.inputs.situation(observation))
        return int(uniform * count)

    def values(self, module: nn.Module, batch: Sequence[Situation]) -> Float[Tensor, "N B"]:
        """Q of the actions, -inf for illegal ones."""
        return self.values_and_goal(module, batch)[0]

    def values_and_goal(
        self, module: nn.Module, batch: Sequence[Situation]
    ) -> tuple[Float[Tensor, "N B"], Float[Tensor, " N"] | None]:
        """`values`, and the logits of P(the goal holds)."""
        scores = module(self.inputs.batch(batch).to(self.device))
        return values(scores, self.settings.combine), scores.goal

    def distribution(
        self, features: Mapping[str, Tensor], legality: Tensor | None
    ) -> tuple[Float[Tensor, "N B"], Float[Tensor, " N"]]:
        """The log-probabilities of the actions, and the values of the states."""
        return self.distribution_and_goal(features, legality)[:2]

    def distribution_and_goal(
        self, features: Mapping[str, Tensor], legality: Tensor | None
    ) -> tuple[Float[Tensor, "N B"], Float[Tensor, " N"], Float[Tensor, " N"] | None]:
        """`distribution`, and the logits of P(the goal holds)."""
        scores = self.policy(self.inputs.of_arrays(features).to(self.device))
        chosen = log_probabilities(scores)
        if self.stop is not None:
            chosen = without_stop(chosen, self.stop, legality).log_softmax(1)
        return chosen, scores.value, scores.goal

    @property
    def legend(self) -> list[str]:
        """The words of the lexicon, in the order of their numbers."""
        return self.inputs.lexicon.spelled

    def renumber(self, features: Mapping[str, Tensor], legend: Sequence[str]) -> dict[str, Tensor]:
        """Saved arrays with the numbers of this lexicon."""
        numbers = torch.from_numpy(self.inputs.lexicon.numbers(legend[1:]))
        return {name: x if name == "left" else numbers[x.long()] for name, x in features.items()}

    def legality(self, batch: Any) -> Tensor | None:
        """With a stop head the turns in which it stopped, bool[N]; the rest is in the features."""
        return None if self.stop is None else torch.as_tensor(batch.choice == self.stop, device=self.device)

    def state_values(self, features: Mapping[str, Tensor]) -> Float[Tensor, " N"]:
        """The values of states."""
        return self.policy(self.inputs.of_arrays(features).to(self.device)).value

    def store(self) -> Situations:
        """A replay keeps the numbers of texts."""
        return Situations(self.inputs)

    def auxiliary(self, key: Key) -> Answers:
        """The pointers learn to answer."""
        return Answers(self.task, self.inputs, self.policy, key)

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
