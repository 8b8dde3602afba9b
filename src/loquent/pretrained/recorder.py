"""Records the operations of a model's own code on hidden states.

Only operations that are known to treat every position alone are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

LINEAR, DROPOUT = "linear", "dropout"
SAME = {"contiguous", "clone"}  # operations that change no value
CASTS = {"float", "double", "half", "bfloat16", "to", "type", "type_as"}
# operations on each number, on two numbers, and on the last dimension
OF_EACH = {"tanh", "relu", "gelu", "silu", "sigmoid", "neg", "clamp", "square", "sqrt", "rsqrt"}
OF_TWO = {"add", "sub", "mul", "div", "true_divide", "pow"}
OF_ROW = {"layer_norm", "rms_norm"}
METADATA = {"size", "dim", "ndimension", "is_floating_point", "get_device", "is_contiguous", "__get__"}


class Unrecognised(Exception):
    """An operation between trunk and logits is not known to treat each position alone."""


class Place(NamedTuple):
    """A recorded tensor in the arguments of a step: 0 is the hidden states, n the result of step n - 1."""

    number: int


class Step(NamedTuple):
    """An operation that treats every row of its inputs alone."""

    function: Callable[..., Tensor]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def run(steps: Sequence[Step], inputs: Tensor, first: int = 0) -> Tensor:
    """The result of the last step; `first` is the number of the inputs' place."""
    results, last = {first: inputs}, first
    for last, step in enumerate(steps, first + 1):
        args, kwargs = map_values(
            (step.args, step.kwargs),
            lambda value: results[value.number] if isinstance(value, Place) else value,
        )
        results[last] = step.function(*args, **kwargs)
    return results[last]


class Recorder(TorchFunctionMode):
    """Records the operations on hidden states and on their results.

    It raises `Unrecognised` at the first operation that is not recognised.
    """

    def __init__(self, hidden: Tensor) -> None:
        super().__init__()
        self.numbers, self.alive, self.steps = {id(hidden): 0}, [hidden], list[Step]()
        self.differentiable, self.device = torch.is_grad_enabled(), hidden.device.type
        self.autocast = self._autocast()

    def _autocast(self) -> torch.dtype | None:
        """The type of products under torch's autocast; None if autocast is off."""
        return torch.get_autocast_dtype(self.device) if torch.is_autocast_enabled(self.device) else None

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not any(isinstance(value, Tensor) and id(value) in self.numbers for value in flat((args, kwargs))):
            return function(*args, **kwargs)
        name = getattr(function, "__name__", "")
        if torch.is_grad_enabled() != self.differentiable:
            raise Unrecognised(f"{name} with another gradient mode")
        if self._autocast() != self.autocast:
            raise Unrecognised(f"{name} with another autocast precision")
        if name in METADATA:
            value = function(*args, **kwargs)
            if isinstance(value, Tensor):
                raise Unrecognised(name)
            return value
        if not name.endswith("__") and name.endswith("_"):
            name = name.removesuffix("_")
            self._check_change(args[0])
        if name in SAME or (name == DROPOUT and not _drops(args, kwargs)):
            return args[0]
        if name == "__getitem__" and _columns(args[1]) == slice(None):
            return args[0]
        step = self._step(name, args, kwargs)
        if step is None:
            raise Unrecognised(name)
        # the input itself for an operation in place, or for a cast to the input's own type
        result = function(*args, **kwargs)
        self.alive.append(result)
        self.steps.append(step)
        self.numbers[id(result)] = len(self.steps)
        return result

    def _check_change(self, value: Any) -> None:
        """Refuse a change in place of anything but the result of one step, which all later steps read."""
        number = self.numbers.get(id(value))
        if number is None or (number and self.steps[number - 1].function is Tensor.__getitem__):
            raise Unrecognised("a change in place")

    def _step(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Step | None:
        """The operation for any number of rows, with places for recorded tensors; None if not recognised."""
        if (
            "out" in kwargs
            or kwargs.get("inplace")
            or any(
                isinstance(value, Tensor) and not self._constant(value, name)
                for value in flat((args, kwargs))
            )
        ):
            return None
        args, kwargs = map_values(
            (args, kwargs),
            lambda value: (
                Place(self.numbers[id(value)])
                if isinstance(value, Tensor) and id(value) in self.numbers
                else value
            ),
        )
        if name == LINEAR and isinstance(args[0], Place):
            return Step(F.linear, args, kwargs)
        if name in CASTS:
            return Step(getattr(Tensor, name), args, kwargs)
        if name in OF_EACH:
            # only functions of torch.nn pass `inplace`, here always False
            kwargs = {key: value for key, value in kwargs.items() if key != "inplace"}
            return Step(getattr(F if name in ("gelu", "silu") else torch, name), args, kwargs)
        if name in OF_TWO:
            return Step(getattr(torch, name), args, kwargs)
        if name in OF_ROW and len(args[1]) == 1:
            return Step(getattr(F, name), args, kwargs)
        if name == "__getitem__":
            columns = _columns(args[1])
            return None if columns is None else Step(Tensor.__getitem__, (args[0], (..., columns)), {})
        return None

    def _constant(self, value: Tensor, name: str) -> bool:
        """Whether a tensor is allowed in an operation.

        Allowed are recorded tensors and weights. For operations on numbers a weight must have one row.
        """
        if id(value) in self.numbers:
            return True
        if value.requires_grad and not value.is_leaf:
            return False
        return name not in OF_TWO | OF_EACH or (
            value.dim() <= 2 and value.numel() == (value.shape[-1] if value.dim() else 1)
        )


def same(first: Sequence[Step], second: Sequence[Step]) -> bool:
    """Whether two records have the same operations on the same weights and numbers."""
    left, right = (
        list(flat([(step.function, *step.args, list(step.kwargs), step.kwargs) for step in steps]))
        for steps in (first, second)
    )
    return len(left) == len(right) and all(map(_same, left, right))


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        if left is right:
            return True
        constant = left.is_leaf and not left.requires_grad  # the model's code made it in this call
        alike = left.shape == right.shape and left.dtype == right.dtype
        return constant and alike and bool(torch.equal(left, right))
    return type(left) is type(right) and bool(left == right)


def _drops(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    rate = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
    training = args[2] if len(args) > 2 else kwargs.get("training", kwargs.get("train", True))
    return bool(training and rate > 0)


def _columns(index: Any) -> slice | None:
    """The slice of columns that an index selects of [rows, positions, columns].

    None if the index does not select all rows and positions.
    """
    index = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(part, slice) or part is Ellipsis for part in index):
        return None
    if Ellipsis in index:
        place = index.index(Ellipsis)
        index = index[:place] + (slice(None),) * (4 - len(index)) + index[place + 1 :]
    if len(index) > 3:
        return None
    *rows, columns = index + (slice(None),) * (3 - len(index))
    if not all(map(_is_full, rows)):
        return None
    return slice(None) if _is_full(columns) else columns


def _is_full(part: slice) -> bool:
    return part.start in (None, 0) and part.stop is None and part.step in (None, 1)


def flat(values: Any) -> Iterator[Any]:
    """All values in nested lists, tuples and dicts."""
    if isinstance(values, dict):
        values = values.values()
    elif not isinstance(values, list | tuple) or isinstance(values, Place):
        yield values
        return
    for value in values:
        yield from flat(value)


def map_values(values: Any, function: Callable[[Any], Any]) -> Any:
    """Nested lists, tuples and dicts with the function applied to each value."""
    if isinstance(values, dict):
        return {name: map_values(value, function) for name, value in values.items()}
    if isinstance(values, list | tuple) and not isinstance(values, Place | torch.Size):
        return type(values)(map_values(value, function) for value in values)
    return function(values)
