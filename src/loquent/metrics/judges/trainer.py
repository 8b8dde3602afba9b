"""The trainer of small networks: epochs of gradient steps in a keyed order, measured on held-out examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from loquent.core.algorithm import StepSettings
from loquent.core.seeding import Key
from loquent.core.settings import setting
from loquent.errors import BadCheckpoint
from loquent.files import saved_state

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class TrainerSettings(StepSettings):
    """How a network is trained on examples."""

    epochs: int = setting(5, "passes over the training examples", low=1)
    minibatch: int = setting(16, "examples of a gradient step", low=1)
    patience: int = setting(
        0,
        "epochs without a lower held-out loss after which training stops, and the weights of the epoch with "
        "the lowest one are kept; 0: all epochs are made, and the last weights are kept",
        low=0,
    )
    seed: int = setting(0, "the seed of weights, orders and dropout", low=0)


@dataclass(frozen=True)
class Lessons:
    """What a network learns from.

    count: the number of training examples. losses: the losses [n] of training examples, by their numbers.
    held_out: figures on the held-out examples by name, the `loss` among them; measured after each epoch.
    """

    count: int
    losses: Callable[[Sequence[int]], Tensor]
    held_out: Callable[[], Mapping[str, float]]


class Trainer:
    """Trains a network; its state at any step continues to the same weights, bit for bit.

    Args:
        module: the network; it has dropout during a step only.
        key: the stream of orders and dropout.
    """

    def __init__(self, module: nn.Module, lessons: Lessons, settings: TrainerSettings, key: Key) -> None:
        from loquent.pretrained.learning.gradient_step import GradientStep
        from loquent.pretrained.learning.optimization import trainable

        self.module, self.lessons, self.settings = module, lessons, settings
        self.gradient = GradientStep(
            trainable(network=module), settings.for_run(1, lessons.count), key, (module,)
        )
        self.count = settings.steps_of_update(lessons.count)
        """The gradient steps of all epochs."""
        self.per_epoch = self.count // settings.epochs
        self.history: list[dict[str, float]] = []
        """By epoch its number, the mean training loss of its steps, and the held-out figures."""
        self._total = 0.0  # of the losses of this epoch's steps
        self._best: dict[str, Tensor] = {}  # the weights with the lowest held-out loss; with patience only

        @lru_cache(maxsize=1)
        def order(epoch: int) -> list[int]:
            shuffled: list[int] = key.child("order", epoch).generator().permutation(lessons.count).tolist()
            return shuffled

        self._order = order

    def run(self) -> list[dict[str, float]]:
        """Make all steps; returns the history."""
        for _ in self.steps():
            pass
        return self.history

    def steps(self) -> Iterator[int]:
        """Make all steps that are left, and yield the number of each after it."""
        while self.gradient.steps < self.count and not self._is_out_of_patience:
            epoch, place = divmod(self.gradient.steps, self.per_epoch)
            size = self.settings.minibatch
            self._total += self._step(self._order(epoch)[place * size : (place + 1) * size])
            if self.gradient.steps % self.per_epoch == 0:
                self._end_epoch(epoch + 1)
            yield self.gradient.steps
        if self._best:
            self.module.load_state_dict(self._best)

    def _step(self, numbers: list[int]) -> float:
        """One gradient step on some examples; returns their mean loss."""
        from loquent.pretrained.learning.gradient_step import Loss
        from loquent.pretrained.learning.optimization import Means

        def loss(numbers: Sequence[int]) -> Loss:
            each = self.lessons.losses(numbers)
            return Loss(each.sum(), {"loss": each})

        means = Means()
        self.gradient.learn(numbers, loss, means, divisor=len(numbers))
        return means.log_values()["loss"]

    def _end_epoch(self, epoch: int) -> None:
        held_out = {f"held_out_{name}": value for name, value in self.lessons.held_out().items()}
        self.history.append({"epoch": epoch, "loss": self._total / self.per_epoch, **held_out})
        self._total = 0.0
        if self.settings.patience and self._best_epoch == len(self.history) - 1:
            self._best = {name: value.clone() for name, value in self.module.state_dict().items()}

    @property
    def _best_epoch(self) -> int:
        """The number, from 0, of the first epoch with the lowest held-out loss."""
        losses = [entry["held_out_loss"] for entry in self.history]
        return losses.index(min(losses))

    @property
    def _is_out_of_patience(self) -> bool:
        patience = self.settings.patience
        return bool(patience and self.history) and len(self.history) - 1 - self._best_epoch >= patience

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimizer, history and counters."""
        return {
            **self.gradient.state_dict(),
            "total": self._total,
            "history": self.history,
            "weights": dict(self.module.state_dict()),
            "best": self._best,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of `state_dict`; BadCheckpoint if it does not fit the network."""
        self._total = saved_state.number(state, "total")
        self.history = [dict(entry) for entry in saved_state.items(state, "history")]
        self._best = dict(saved_state.part(state, "best"))
        try:
            self.module.load_state_dict(dict(saved_state.part(state, "weights")))
        except (RuntimeError, TypeError) as error:
            raise BadCheckpoint(f"the weights do not fit the network: {error}") from error
        self.gradient.load_state_dict(state)
