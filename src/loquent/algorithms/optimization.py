"""What all gradient learners share: which parameters learn, AdamW and its state by name, minibatches, means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from loquent import parallel
from loquent.errors import BadCheckpoint, BadSetting, LoquentError
from loquent.seeding import Key

Parameters = dict[str, nn.Parameter]


def trainable(**networks: nn.Module | None) -> Parameters:
    """The parameters of the named networks that require a gradient, by "network.path"; a shared one is listed once."""
    seen: set[int] = set()
    found: Parameters = {}
    for network, module in networks.items():
        for name, parameter in module.named_parameters() if module is not None else ():
            if parameter.requires_grad and id(parameter) not in seen:
                seen.add(id(parameter))
                found[f"{network}.{name}"] = parameter
    return found


def refuse_half_precision(parameters: Parameters) -> None:
    """Raise BadSetting where a parameter that learns has 16 bits: most of its steps would be rounded away, without a sign of it."""
    for name, parameter in parameters.items():
        if torch.finfo(parameter.dtype).bits < 32:
            kind = str(parameter.dtype).removeprefix("torch.")
            raise BadSetting(
                f"model.dtype = {kind!r}: {name} would hardly learn, as small steps are rounded away; float32 is right for learning, "
                "half precision for playing and evaluating"
            )


def adamw(parameters: Parameters, learning_rate: float, weight_decay: float) -> torch.optim.AdamW:
    """AdamW (arXiv:1711.05101) in its fused form where the device has one; vectors (biases, norms) do not decay."""
    matrices = [p for p in parameters.values() if p.dim() > 1]
    vectors = [p for p in parameters.values() if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    fused = all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters.values())
    return torch.optim.AdamW(groups, lr=learning_rate, fused=fused or None)


def state_by_name(optimizer: torch.optim.Optimizer, parameters: Parameters) -> dict[str, dict[str, Tensor]]:
    """The optimizer's tensors by the name of their parameter; empty before the first step. Copies, so later steps change nothing."""
    entries = {name: optimizer.state[p] for name, p in parameters.items() if p in optimizer.state}
    return {name: {key: value.detach().clone() for key, value in entry.items()} for name, entry in entries.items()}


def load_by_name(optimizer: torch.optim.Optimizer, parameters: Parameters, state: Mapping[str, Mapping[str, Tensor]]) -> None:
    """Take back what `state_by_name` gave.

    Raises:
        BadCheckpoint: a parameter has another name or shape than the model's.
    """
    fused = {id(p) for group in optimizer.param_groups if group.get("fused") for p in group["params"]}
    unknown = sorted(set(state) - set(parameters))
    if unknown:
        raise BadCheckpoint(f"the optimizer's state has {unknown[0]!r}, which the model has not; it belongs to another model")
    optimizer.state.clear()
    for name, entry in state.items():
        parameter = parameters[name]
        moments = [value for value in entry.values() if value.dim()]
        if any(value.shape != parameter.shape for value in moments):
            raise BadCheckpoint(f"the optimizer's state of {name!r} has the shape {tuple(moments[0].shape)}, the model's {tuple(parameter.shape)}")
        # The count of steps, a scalar, stays on the CPU but in the fused form: torch.optim.Optimizer.load_state_dict's own rule.
        device = {key: parameter.device if value.dim() or id(parameter) in fused else value.device for key, value in entry.items()}
        optimizer.state[parameter] = {key: value.to(device[key], copy=True) for key, value in entry.items()}


def minibatches(rows: Tensor, size: int, key: Key) -> Iterator[Tensor]:
    """The rows of a batch in a keyed random order, `size` at a time; the last minibatch may be smaller."""
    order = torch.from_numpy(key.generator().permutation(len(rows)))
    yield from rows[order.to(rows.device)].split(size)


def clip_gradients(parameters: Parameters, limit: float | None) -> float:
    """Scale all gradients together down to the norm `limit` (None: leave them); returns the norm they had.

    Raises:
        LoquentError: the norm is not finite; a step would destroy the model.
    """
    gradients = [p.grad for p in parameters.values() if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients)
    if not bool(norm.isfinite()):
        raise LoquentError(f"the norm of the gradient is {float(norm)}: training has diverged; a lower learning_rate may help")
    if limit is not None:
        torch.nn.utils.clip_grads_with_norm_(list(parameters.values()), limit, norm)
    return float(norm)


class Means:
    """Running means over tokens: every minibatch and epoch of an update counts by its tokens."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[Tensor, int]] = {}
        self._greatest: dict[str, float] = {}

    def add(self, **per_token: Tensor) -> None:
        """Count the entries of some tensors, by name; of an empty one the name alone, as processes must know of the same names."""
        for name, values in per_token.items():
            total, count = self._sums.get(name, (torch.zeros((), dtype=torch.float64, device=values.device), 0))
            self._sums[name] = (total + values.detach().double().sum(), count + values.numel())

    def greatest(self, name: str, values: Tensor) -> None:
        """Keep the largest entry seen under a name, instead of the mean."""
        self._greatest[name] = max(float(values.detach().max()), self._greatest.get(name, float("-inf")))

    def logged(self) -> dict[str, float]:
        """The mean (or the largest entry) of everything that was counted, in all processes that learn together; nothing of what is empty."""
        sums = {name: (float(total), count) for name, (total, count) in sorted(self._sums.items())}
        if parallel.size() > 1:
            pairs = parallel.added(torch.tensor(list(sums.values()), dtype=torch.float64))
            sums = {name: (float(total), int(count)) for name, (total, count) in zip(sums, pairs, strict=True)}
        return {name: total / count for name, (total, count) in sums.items() if count} | self._greatest
