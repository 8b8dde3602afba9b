"""Shared parts of gradient learners: trainable parameters, optimizers and their state, minibatches, means."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from loquent.core.algorithm import StepSettings
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.errors import BadCheckpoint, LoquentError
from loquent.files.machine import parallel

Parameters = dict[str, nn.Parameter]


def trainable(**networks: nn.Module | None) -> Parameters:
    """Parameters of the named networks that require a gradient, by "network.path".

    Shared ones are listed once.
    """
    listed: set[int] = set()
    parameters: Parameters = {}
    for network, module in networks.items():
        for name, parameter in module.named_parameters() if module is not None else ():
            if parameter.requires_grad and id(parameter) not in listed:
                listed.add(id(parameter))
                parameters[f"{network}.{name}"] = parameter
    return parameters


class Rounded(torch.optim.Optimizer):
    """An optimizer for parameters of 16 bits, with float32 copies (arXiv:1710.03740 sec. 3.1).

    `take_step` updates the copies and rounds the parameters from them. Without copies, rounding would undo
    most steps. A class derives from it and from the optimizer. It has no `step` of its own: torch then calls
    the hooks of others twice.
    """

    def __init__(self, groups: list[dict[str, Any]], **options: Any) -> None:
        parameters = [p for group in groups for p in group["params"]]
        self.copies = {
            p: p.detach().to(torch.float32).requires_grad_()
            for p in parameters
            if torch.finfo(p.dtype).bits < 32
        }
        super().__init__(
            [{**group, "params": [self.copies.get(p, p) for p in group["params"]]} for group in groups],
            **options,
        )

    @torch.no_grad()
    def take_gradients(self) -> None:
        """Give the copies the gradients of their parameters."""
        for parameter, exact in self.copies.items():
            exact.grad = None if parameter.grad is None else parameter.grad.to(torch.float32)

    @torch.no_grad()
    def round(self) -> None:
        """Round the parameters with a gradient from their copies."""
        for parameter, exact in self.copies.items():
            if exact.grad is not None:
                parameter.copy_(exact)
                exact.grad = None

    @torch.no_grad()
    def refresh(self) -> None:
        """Reset the copies to the parameters, after weights were loaded into these."""
        for parameter, exact in self.copies.items():
            exact.copy_(parameter)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of the parameters."""
        super().zero_grad(set_to_none)
        for parameter in self.copies:
            parameter.grad = None


class RoundedAdamW(Rounded, torch.optim.AdamW):
    """AdamW for parameters of 16 bits."""


class RoundedRMSprop(Rounded, torch.optim.RMSprop):
    """RMSprop for parameters of 16 bits."""


class RoundedSGD(Rounded, torch.optim.SGD):
    """Gradient descent for parameters of 16 bits."""


def take_step(optimizer: torch.optim.Optimizer) -> None:
    """One step, the only way to step an optimizer of this module.

    AdamW changes, of a parameter with a sparse gradient, only the rows in it and their moments. These rows
    come after the other parameters. Their step is that of `torch.optim.SparseAdam`, without weight decay.
    """
    if isinstance(optimizer, Rounded):
        optimizer.take_gradients()
    if isinstance(optimizer, torch.optim.AdamW):
        _step_adamw(optimizer)
    else:
        optimizer.step()
    if isinstance(optimizer, Rounded):
        optimizer.round()


def _step_adamw(optimizer: torch.optim.AdamW) -> None:
    listed = [(group, p) for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    sparse = [(group, p, p.grad.coalesce()) for group, p in listed if p.grad.is_sparse]
    for _, parameter, _ in sparse:
        parameter.grad = None
    optimizer.step()
    for group, parameter, gradient in sparse:
        parameter.grad = gradient
        _change_rows(optimizer, group, parameter, gradient)


@torch.no_grad()
def _change_rows(
    optimizer: torch.optim.AdamW, group: dict[str, Any], parameter: Tensor, sparse: Tensor
) -> None:
    """Change the rows of a parameter that its sparse gradient has."""
    rows, gradient = sparse.indices()[0], sparse.values()
    state, (first, second) = optimizer.state[parameter], group["betas"]
    if not state:
        state["step"] = torch.zeros((), device=parameter.device if group["fused"] else "cpu")
        state |= {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
    state["step"] += 1
    step = int(state["step"])
    mean, square = state["exp_avg"][rows], state["exp_avg_sq"][rows]
    mean += (gradient - mean) * (1 - first)
    square += (gradient**2 - square) * (1 - second)
    state["exp_avg"][rows], state["exp_avg_sq"][rows] = mean, square
    size = group["lr"] * math.sqrt(1 - second**step) / (1 - first**step)
    parameter[rows] -= size * (mean / (square.sqrt() + group["eps"]))


def make_optimizer(parameters: Parameters, settings: StepSettings) -> torch.optim.Optimizer:
    """The optimizer that the settings name.

    Each group has the name of its network, if the settings have a rate for that network, or "".
    """
    networks = tuple(settings.own_rates)
    if settings.optimizer == "adamw":
        return adamw(parameters, settings.learning_rate, settings.weight_decay, networks)
    return {"rmsprop": rmsprop, "sgd": sgd}[settings.optimizer](parameters, settings.learning_rate, networks)


def _groups(parameters: Parameters, networks: tuple[str, ...]) -> list[dict[str, Any]]:
    """The parameters of each named network, and before them those of all others, whose name is ""."""
    groups: dict[str, list[nn.Parameter]] = {network: [] for network in ("", *networks)}
    for name, parameter in parameters.items():
        network = name.partition(".")[0]
        groups[network if network in networks else ""].append(parameter)
    return [{"network": network, "params": listed} for network, listed in groups.items()]


def adamw(
    parameters: Parameters, learning_rate: float, weight_decay: float, networks: tuple[str, ...] = ()
) -> torch.optim.AdamW:
    """AdamW (arXiv:1711.05101), fused where the device supports it; `take_step` steps it.

    Vectors (biases, norms) have no weight decay.
    """
    groups = [
        {**group, "params": [p for p in group["params"] if (p.dim() > 1) == decays], "weight_decay": decay}
        for group in _groups(parameters, networks)
        for decays, decay in ((True, weight_decay), (False, 0.0))
    ]
    fused = all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters.values())
    kind = RoundedAdamW if _has_16_bits(parameters) else torch.optim.AdamW
    return kind(groups, lr=learning_rate, fused=fused or None)


def rmsprop(
    parameters: Parameters, learning_rate: float, networks: tuple[str, ...] = ()
) -> torch.optim.RMSprop:
    """RMSprop as in stable-baselines3's A2C: α = 0.99, ε = 1e-5, no momentum and no weight decay."""
    kind = RoundedRMSprop if _has_16_bits(parameters) else torch.optim.RMSprop
    return kind(_groups(parameters, networks), lr=learning_rate, alpha=0.99, eps=1e-5)


def sgd(parameters: Parameters, learning_rate: float, networks: tuple[str, ...] = ()) -> torch.optim.SGD:
    """Plain stochastic gradient descent, without momentum and without weight decay."""
    kind = RoundedSGD if _has_16_bits(parameters) else torch.optim.SGD
    return kind(_groups(parameters, networks), lr=learning_rate)


def _has_16_bits(parameters: Parameters) -> bool:
    """Whether a parameter has 16 bits; a remark warns of float16, which loses small gradients."""
    if any(p.dtype == torch.float16 for p in parameters.values()):
        why = "gradients below 6e-8 are lost; use bfloat16 or float32 for learning"
        warnings.warn(f"model.dtype = 'float16': {why}", Remark, stacklevel=4)
    return any(torch.finfo(p.dtype).bits < 32 for p in parameters.values())


def exact_copies(optimizer: torch.optim.Optimizer) -> dict[Tensor, Tensor]:
    """The float32 copies that an optimizer keeps of parameters of 16 bits; empty where it keeps none."""
    return optimizer.copies if isinstance(optimizer, Rounded) else {}


def state_by_name(optimizer: torch.optim.Optimizer, parameters: Parameters) -> dict[str, dict[str, Tensor]]:
    """Copies of the optimizer's tensors, by the name of their parameter; empty before the first step.

    Parameters of 16 bits also have `exact`, the float32 copy that they are rounded from.
    """
    copies = exact_copies(optimizer)
    stepped = {name: copies.get(p, p) for name, p in parameters.items()}
    entries = {name: dict(optimizer.state[p]) for name, p in stepped.items() if p in optimizer.state}
    for name, entry in entries.items():
        if parameters[name] in copies:
            entry["exact"] = stepped[name]
    return {
        name: {key: value.detach().clone() for key, value in entry.items()} for name, entry in entries.items()
    }


def load_by_name(
    optimizer: torch.optim.Optimizer, parameters: Parameters, state: Mapping[str, Mapping[str, Tensor]]
) -> None:
    """Restore a state from `state_by_name`, after the weights are loaded.

    A float32 copy that the state lacks is made from its parameter.

    Raises:
        BadCheckpoint: the name or shape of a parameter differs from the model's, or its moments are invalid.
    """
    fused = {id(p) for group in optimizer.param_groups if group.get("fused") for p in group["params"]}
    unknown = sorted(set(state) - set(parameters))
    if unknown:
        problem = (
            f"the optimizer's state has {unknown[0]!r}, which the model does not have, so it belongs to "
            "another model"
        )
        raise BadCheckpoint(f"{problem}; resume with the model of the run")
    copies = exact_copies(optimizer)
    optimizer.state.clear()
    if isinstance(optimizer, Rounded):
        optimizer.refresh()
    for name, entry in state.items():
        parameter = parameters[name]
        _check_moments(name, entry, optimizer, rounded=parameter in copies)
        moments = [value for value in entry.values() if value.dim()]
        if any(value.shape != parameter.shape for value in moments):
            problem = f"the optimizer's state of {name!r} has the shape {tuple(moments[0].shape)}"
            raise BadCheckpoint(
                f"{problem}; the parameter has {tuple(parameter.shape)}; resume with the model of the run"
            )
        # The step count, a scalar, is on the CPU unless the optimizer is fused, as in
        # torch.optim.Optimizer.load_state_dict.
        on_device = id(copies.get(parameter, parameter)) in fused
        device = {
            key: parameter.device if value.dim() or on_device else value.device
            for key, value in entry.items()
        }
        tensors = {key: value.to(device[key], copy=True) for key, value in entry.items()}
        if parameter in copies:
            with torch.no_grad():
                copies[parameter].copy_(tensors.pop("exact"))
        optimizer.state[copies.get(parameter, parameter)] = tensors


def _check_moments(name: str, entry: Any, optimizer: torch.optim.Optimizer, rounded: bool) -> None:
    """Check that a parameter's state is the optimizer's: a step count, and the moments of AdamW or RMSprop.

    If `rounded`, the state has a float32 copy too.

    Raises:
        BadCheckpoint: a tensor is missing, unknown or out of range.
    """
    moments = ("square_avg",) if isinstance(optimizer, torch.optim.RMSprop) else ("exp_avg", "exp_avg_sq")
    parts = {"step", *moments}
    if isinstance(entry, Mapping) and parts <= entry.keys() and rounded != ("exact" in entry):
        raise BadCheckpoint(
            f"the optimizer's state of {name!r} is for another model.dtype; resume with the dtype of the run"
        )
    if not isinstance(entry, Mapping) or entry.keys() - {"exact"} != parts:
        kind = "RMSprop" if isinstance(optimizer, torch.optim.RMSprop) else "AdamW"
        raise BadCheckpoint(
            f"the optimizer's state of {name!r} is not that of {kind}; it must have step, "
            f"{' and '.join(moments)}"
        )
    for part, value in entry.items():
        if not isinstance(value, Tensor) or bool(value.isnan().any()):
            raise BadCheckpoint(
                f"{part} of the optimizer's state of {name!r} must be a tensor of numbers without NaN"
            )
    squares = moments[-1]
    if entry["step"].dim() or float(entry["step"]) < 0 or bool((entry[squares] < 0).any()):
        raise BadCheckpoint(
            f"the optimizer's state of {name!r} is out of range; step must be one number, and step "
            f"and {squares} at least 0"
        )


def minibatches(rows: Tensor, size: int, key: Key) -> Iterator[Tensor]:
    """Minibatches of `size` rows in a random order from the key; the last one may be smaller."""
    order = torch.from_numpy(key.generator().permutation(len(rows)))
    yield from rows[order.to(rows.device)].split(size)


def clip_gradients(parameters: Parameters, limit: float | None) -> float:
    """Scale all gradients to a joint norm of at most `limit` (None: no limit); returns the norm before.

    Raises:
        LoquentError: the norm is not finite; a step would make the parameters invalid.
    """
    gradients = []
    for parameter in (p for p in parameters.values() if p.grad is not None):
        gradient: Any = parameter.grad
        if gradient.is_sparse:
            parameter.grad = gradient = gradient.coalesce()
            gradient = gradient.values()
        gradients.append(gradient.to(torch.promote_types(parameter.dtype, torch.float32)))
    norm = torch.nn.utils.get_total_norm(gradients)
    if not bool(norm.isfinite()):
        raise LoquentError(
            f"the norm of the gradient is {float(norm)}: training has diverged; try a lower learning_rate"
        )
    if limit is not None:
        torch.nn.utils.clip_grads_with_norm_(list(parameters.values()), limit, norm)
    return float(norm)


class Means:
    """Means over the tokens of all minibatches and epochs of an update."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[Tensor, int]] = {}
        self._greatest: dict[str, float] = {}

    def add(self, **per_token: Tensor) -> None:
        """Add the entries of tensors, by name."""
        for name, values in per_token.items():
            total, count = self._sums.get(
                name, (torch.zeros((), dtype=torch.float64, device=values.device), 0)
            )
            self._sums[name] = (total + values.detach().double().sum(), count + values.numel())

    def greatest(self, name: str, values: Tensor) -> None:
        """Track the largest entry under a name instead of the mean."""
        self._greatest[name] = max(float(values.detach().max()), self._greatest.get(name, float("-inf")))

    def log_values(self) -> dict[str, float]:
        """The mean or the largest entry by name, over all processes that learn together.

        Empty names are left out.
        """
        sums = {name: (float(total), count) for name, (total, count) in self._sums.items()}
        greatest = self._greatest
        if parallel.size() > 1:
            names, of_greatest = parallel.all_names(sums), parallel.all_names(greatest)
            own = torch.tensor([sums.get(name, (0.0, 0)) for name in names], dtype=torch.float64)
            largest = torch.tensor([greatest.get(n, -math.inf) for n in of_greatest], dtype=torch.float64)
            pairs = parallel.sum_all(own).tolist()
            sums = {name: (total, int(count)) for name, (total, count) in zip(names, pairs, strict=True)}
            greatest = dict(zip(of_greatest, parallel.greatest_of_all(largest).tolist(), strict=True))
        return {name: total / count for name, (total, count) in sorted(sums.items()) if count} | greatest
