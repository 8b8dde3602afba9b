"""Records the operations of a model's own code on hidden states, as far as each is known to treat every
position alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

LINEAR, DROPOUT = "linear", "dropout"
SAME = {"contiguous", "clone"}  # operations that change no number
CASTS = {"float", "double", "half", "bfloat16", "to", "type", "type_as"}
OF_EACH = {
    "tanh",
    "relu",
    "gelu",
    "silu",
    "sigmoid",
    "neg",
    "clamp",
    "square",
    "sqrt",
    "rsqrt",
}  # of each number alone
OF_TWO = {"add", "sub", "mul", "div", "true_divide", "pow"}  # of two numbers
OF_ROW = {"layer_norm", "rms_norm"}  # of the last dimension
METADATA = {"size", "dim", "ndimension", "is_floating_point", "get_device", "is_contiguous", "__get__"}


class Unrecognised(Exception):
    """The model does something between its trunk and its logits that is not known to treat each position
    alone.
    """


class Place(NamedTuple):
    """In the arguments of a step: 0 stands for the hidden states, n for the result of step n - 1."""

    number: int


class Step(NamedTuple):
    """One operation, which treats every row of its inputs alone."""

    function: Callable[..., Tensor]
    given: tuple[Any, ...]
    named: dict[str, Any]


def run(steps: Sequence[Step], inputs: Tensor, first: int = 0) -> Tensor:
    """The result of the last step; `first` is the place of the inputs."""
    found, last = {first: inputs}, first
    for last, step in enumerate(steps, first + 1):
        given, named = mapped(
            (step.given, step.named), lambda value: found[value.number] if isinstance(value, Place) else value
        )
        found[last] = step.function(*given, **named)
    return found[last]


class Recorder(TorchFunctionMode):
    """Records the operations on hidden states and on what is made of them.

    Raises at the first that is not recognised.
    """

    def __init__(self, hidden: Tensor) -> None:
        super().__init__()
        self.known, self.alive, self.steps = {id(hidden): 0}, [hidden], list[Step]()
        self.differentiable, self.device = torch.is_grad_enabled(), hidden.device.type
        self.autocast = self._autocast()

    def _autocast(self) -> torch.dtype | None:
        """The type in which products are computed by torch's autocast, where it is on."""
        return torch.get_autocast_dtype(self.device) if torch.is_autocast_enabled(self.device) else None

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not any(isinstance(value, Tensor) and id(value) in self.known for value in flat((args, kwargs))):
            return function(*args, **kwargs)
        name = getattr(function, "__name__", "")
        if torch.is_grad_enabled() != self.differentiable:
            raise Unrecognised(f"{name} without a gradient, or with one of its own")
        if self._autocast() != self.autocast:
            raise Unrecognised(f"{name} in a precision of its own")
        if name in METADATA:
            found = function(*args, **kwargs)
            if isinstance(found, Tensor):
                raise Unrecognised(name)
            return found
        if not name.endswith("__") and name.endswith("_"):
            name = name.removesuffix("_")
            self._may_change(args[0])
        if name in SAME or (name == DROPOUT and not _drops(args, kwargs)):
            return args[0]
        if name == "__getitem__" and _columns(args[1]) == slice(None):
            return args[0]
        step = self._step(name, args, kwargs)
        if step is None:
            raise Unrecognised(name)
        result = function(
            *args, **kwargs
        )  # the input itself where it works in place, or casts to the type that the input has
        self.alive.append(result)
        self.steps.append(step)
        self.known[id(result)] = len(self.steps)
        return result

    def _may_change(self, value: Any) -> None:
        """Raise where an operation in place would change more than the result of one step, which all later
        steps read.
        """
        number = self.known.get(id(value))
        if number is None or (number and self.steps[number - 1].function is Tensor.__getitem__):
            raise Unrecognised("a change in place")

    def _step(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Step | None:
        """The operation on rows of any number, with places for what was recorded before.

        None where it is not recognised.
        """
        if (
            "out" in kwargs
            or kwargs.get("inplace")
            or any(
                isinstance(value, Tensor) and not self._constant(value, name)
                for value in flat((args, kwargs))
            )
        ):
            return None
        given, named = mapped(
            (args, kwargs),
            lambda value: (
                Place(self.known[id(value)])
                if isinstance(value, Tensor) and id(value) in self.known
                else value
            ),
        )
        if name == LINEAR and isinstance(given[0], Place):
            return Step(F.linear, given, named)
        if name in CASTS:
            return Step(getattr(Tensor, name), given, named)
        if name in OF_EACH:
            named = {
                key: value for key, value in named.items() if key != "inplace"
            }  # functions of nn alone say that it is not
            return Step(getattr(F, name) if name in ("gelu", "silu") else getattr(torch, name), given, named)
        if name in OF_TWO:
            return Step(getattr(torch, name), given, named)
        if name in OF_ROW and len(args[1]) == 1:
            return Step(getattr(F, name), given, named)
        if name == "__getitem__":
            columns = _columns(args[1])
            return None if columns is None else Step(Tensor.__getitem__, (given[0], (..., columns)), {})
        return None

    def _constant(self, value: Tensor, name: str) -> bool:
        """Whether a tensor may stand in an operation: recorded, or a weight itself, of one row where the
        operation takes numbers.
        """
        if id(value) in self.known:
            return True
        if value.requires_grad and not value.is_leaf:
            return False
        return name not in OF_TWO | OF_EACH or (
            value.dim() <= 2 and value.numel() == (value.shape[-1] if value.dim() else 1)
        )


def same(first: Sequence[Step], second: Sequence[Step]) -> bool:
    """Whether two records are of the same operations on the same weights and numbers."""
    one, other = (
        list(flat([(step.function, *step.given, list(step.named), step.named) for step in steps]))
        for steps in (first, second)
    )
    return len(one) == len(other) and all(map(_same, one, other))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        made_anew = (
            one.is_leaf and not one.requires_grad and one.shape == other.shape and one.dtype == other.dtype
        )
        return one is other or (made_anew and bool(torch.equal(one, other)))
    return type(one) is type(other) and bool(one == other)


def _drops(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    rate = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
    training = args[2] if len(args) > 2 else kwargs.get("training", kwargs.get("train", True))
    return bool(training and rate > 0)


def _columns(index: Any) -> slice | None:
    """The slice of columns that an index of [rows, positions, columns] takes.

    None where it takes anything but whole rows.
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
    if not all(map(_whole, rows)):
        return None
    return slice(None) if _whole(columns) else columns


def _whole(part: slice) -> bool:
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


def mapped(values: Any, function: Callable[[Any], Any]) -> Any:
    """Nested lists, tuples and dicts with the function of each value in it."""
    if isinstance(values, dict):
        return {name: mapped(value, function) for name, value in values.items()}
    if isinstance(values, list | tuple) and not isinstance(values, Place | torch.Size):
        return type(values)(mapped(value, function) for value in values)
    return function(values)
