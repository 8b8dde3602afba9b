"""The gradient step: the one way from a loss to changed parameters.

A learner gives a minibatch, its division into forward passes, and the loss of a pass as a sum. The gradient
is the sum over all passes and processes, divided by one number. So it depends neither on the size of a pass
nor on the number of processes, except for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import Tensor, nn

from loquent.core.algorithm import StepSettings, step_size
from loquent.core.seeding import Key, borrow_generators
from loquent.files import saved_state
from loquent.files.machine import parallel
from loquent.pretrained import dropping
from loquent.pretrained.learning.optimization import (
    Means,
    Parameters,
    clip_gradients,
    load_by_name,
    make_optimizer,
    state_by_name,
    take_step,
)


@dataclass(frozen=True)
class Loss:
    """The loss of one forward pass."""

    total: Tensor
    """The sum over the pass, a scalar; the divisor of the step is not applied."""
    logged: Mapping[str, Tensor]
    """Numbers to log, by key."""


Rows = TypeVar("Rows")
Logged = Sequence[Mapping[str, Tensor]]


class Stepping:
    """A learner whose state is its gradient step and the number of its updates."""

    gradient: GradientStep
    updates: int

    def state_dict(self) -> dict[str, Any]:
        """The optimizer, its tensors by parameter name, and counters."""
        return {**self.gradient.state_dict(), "updates": self.updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it belongs to another model."""
        self.gradient.load_state_dict(state)
        self.updates = saved_state.count(state, "updates")


class GradientStep:
    """The optimizer of some parameters, its schedule, and the count of its steps.

    Args:
        parameters: the parameters that learn, by name.
        settings: optimizer, learning rate and its schedule, weight decay and clipping; `own_rates` for the
            parameters of networks with another learning rate.
        key: the stream that dropout draws from; each step has its own child.
        modules: networks that are in training mode, with dropout, during a step.
    """

    def __init__(
        self,
        parameters: Parameters,
        settings: StepSettings,
        key: Key,
        modules: Sequence[nn.Module] = (),
    ) -> None:
        self.parameters, self.settings, self.key, self.modules = parameters, settings, key, tuple(modules)
        self.rates = {"": settings, **settings.own_rates}
        self.optimizer = make_optimizer(parameters, settings)
        self.changes_parameters = True  # a dry run makes no step, so that the optimizer allocates nothing
        self.steps = 0

    @property
    def rate(self) -> float:
        """The learning rate of the last step; before the first step, that of the first."""
        return self.rate_of("")

    def rate_of(self, network: str) -> float:
        """The learning rate of a network's parameters, as `rate`."""
        return step_size(max(0, self.steps - 1), self.rates.get(network, self.settings))

    def learn(
        self,
        minibatch: Rows,
        loss: Callable[[Rows], Loss],
        means: Means,
        *,
        passes: Callable[[Rows], Iterable[Rows]] | None = None,
        divisor: float = 1.0,
        veto: Callable[[Logged], bool] | None = None,
    ) -> float | None:
        """Take one step on a minibatch; returns the norm of its gradient before clipping.

        Args:
            minibatch: what `parallel.own` can divide among the processes that learn together.
            loss: the loss of one pass, as a sum.
            means: receives the logged values, if the step is taken.
            passes: divides the rows of this process into forward passes; by default one, none without rows.
            divisor: what the sum over the whole minibatch is divided by, in all processes.
            veto: reads the logged values of the passes; if it returns true, no step is taken, and the result
                is None.

        Raises:
            LoquentError: the norm of the gradient is not finite; the parameters are unchanged.
        """
        own: Any = parallel.own(minibatch)
        self.optimizer.zero_grad(set_to_none=True)
        logged = []
        with self._training():
            for rows in passes(own) if passes else [own] * (len(own) > 0):
                measured = loss(rows)
                (measured.total / divisor).backward()
                logged.append({name: value.detach() for name, value in measured.logged.items()})
        if veto is not None and veto(logged):
            return None
        parallel.add_gradients(self.parameters.values())
        norm = clip_gradients(self.parameters, self.settings.max_grad_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = step_size(self.steps, self.rates[group["network"]])
        if self.changes_parameters:
            take_step(self.optimizer)
        self.steps += 1
        for values in logged:
            means.add(**values)
        return norm

    @contextmanager
    def _training(self) -> Iterator[None]:
        """The networks in training mode, with the dropout of this step and this process."""
        if not self.modules:
            yield
            return
        process = [parallel.rank()] if parallel.size() > 1 else []
        key = self.key.child("dropout", self.steps, *process)
        with ExitStack() as stack:
            for module in self.modules:
                module.train()
                stack.callback(module.eval)
            stack.enter_context(borrow_generators(key))
            stack.enter_context(dropping(key.child("own")))
            yield

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's tensors by parameter name, and the number of steps."""
        return {"optimizer": state_by_name(self.optimizer, self.parameters), "steps": self.steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it belongs to another model."""
        load_by_name(self.optimizer, self.parameters, saved_state.part(state, "optimizer"))
        self.steps = saved_state.count(state, "steps")
