"""Adam for the network: dense parameters, and rows of query heads of which a batch reads a few."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.errors import BadCheckpoint, LoquentError
from loquent.files import saved_state
from loquent.models.asking.network import Network
from loquent.pretrained.learning.optimization import Parameters, adamw, load_by_name, state_by_name


class Adam:
    """Adam without weight decay; of rows with a sparse gradient, only those read are changed.

    The moments of such rows change only in the steps that read them (as in `torch.optim.SparseAdam`).
    """

    def __init__(self, network: Network, parameters: Parameters, learning_rate: float) -> None:
        sparse = {id(parameter) for parameter in network.sparse()}
        self.parameters = parameters
        self.dense = {name: p for name, p in parameters.items() if id(p) not in sparse}
        self.rows = {name: p for name, p in parameters.items() if id(p) in sparse}
        self.optimizer = adamw(self.dense, learning_rate, 0.0)
        self.lazy = torch.optim.SparseAdam(list(self.rows.values()), learning_rate) if self.rows else None

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the next steps."""
        for optimizer in (self.optimizer, self.lazy):
            for group in optimizer.param_groups if optimizer is not None else ():
                group["lr"] = rate

    def step(self, loss: Float[Tensor, ""], limit: float | None) -> float:
        """One step on a loss, with its gradient cut to a norm of `limit`; returns the norm before.

        Raises:
            LoquentError: the loss or the norm is not finite.
        """
        if not math.isfinite(float(loss.detach())):
            raise LoquentError(
                f"the loss is {float(loss.detach())}: training has diverged; try a lower learning_rate"
            )
        for parameter in self.parameters.values():
            parameter.grad = None
        loss.backward()
        gradients = [p.grad for p in self.dense.values() if p.grad is not None]
        for parameter in self.rows.values():
            if parameter.grad is not None:
                parameter.grad = parameter.grad.coalesce()
                gradients.append(parameter.grad.values())
        norm = float(torch.nn.utils.get_total_norm(gradients))
        if not math.isfinite(norm):
            raise LoquentError(
                f"the norm of the gradient is {norm}: training has diverged; try a lower learning_rate"
            )
        if limit is not None and norm > limit:
            for gradient in gradients:
                gradient.mul_(limit / norm)
        self.optimizer.step()
        if self.lazy is not None and any(p.grad is not None for p in self.rows.values()):
            self.lazy.step()
        return norm

    def state_dict(self) -> dict[str, Any]:
        """The moments and counts of steps, by the names of the parameters."""
        rows = {
            name: {
                key: value.clone() if isinstance(value, Tensor) else value
                for key, value in self.lazy.state[p].items()
            }
            for name, p in self.rows.items()
            if self.lazy is not None and p in self.lazy.state
        }
        return {"dense": state_by_name(self.optimizer, self.dense), "rows": rows}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it is of other parameters."""
        load_by_name(self.optimizer, self.dense, saved_state.part(state, "dense"))
        rows = saved_state.part(state, "rows")
        if self.lazy is not None:
            self.lazy.state.clear()
        for name, entry in rows.items():
            parameter = self.rows.get(name)
            moments = [entry.get(key) for key in ("exp_avg", "exp_avg_sq")]
            fits = parameter is not None and all(
                isinstance(m, Tensor) and m.shape == parameter.shape and bool(m.isfinite().all())
                for m in moments
            )
            if not fits or self.lazy is None or parameter is None:
                raise BadCheckpoint(
                    f"the optimizer's state of {name!r} fits no parameter; resume with the run's settings"
                )
            self.lazy.state[parameter] = {
                "step": saved_state.count(entry, "step"),
                "exp_avg": moments[0].to(parameter.device, copy=True),
                "exp_avg_sq": moments[1].to(parameter.device, copy=True),
            }
