"""What a run would need: bytes and seconds by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from loquent.files.machine import memory
from loquent.files.machine.memory import rss
from loquent.training.recipes import Recipe


class Measurable(Protocol):
    """What an estimate measures of a trainer."""

    recipe: Recipe
    actor: Any
    algorithm: Any
    experience: Any
    settings: Any

    def update(self) -> dict[str, float]:
        """Make one update."""
        ...

    def evaluate(self, split: str, episodes: int) -> Any:
        """Evaluate the policy."""
        ...

    def state(self) -> dict[str, Any]:
        """All that a checkpoint keeps."""
        ...


@dataclass(frozen=True)
class Estimate:
    """What a run would need: bytes and seconds by part.

    `peak` is the largest memory at one time, `disk["at_most"]` the most bytes on disk.
    """

    parameters: Mapping[str, int]
    memory: Mapping[str, int]
    peak: int
    disk: Mapping[str, int]
    seconds: Mapping[str, float]
    total_seconds: float
    sizes: Mapping[str, int]
    device: str
    free: int | None
    """The memory that this process has and can get now; None if unknown."""

    def of_seeds(self, seeds: int) -> Estimate:
        """What runs with several seeds, one after the other, would need.

        The memory is that of one run; the time and the checkpoints that stay are those of all runs.
        """
        finished = self.disk["checkpoints"] * (seeds - 1)  # of all runs before the last one
        disk = {"checkpoints": self.disk["checkpoints"] * seeds, "at_most": finished + self.disk["at_most"]}
        return replace(
            self,
            disk={**self.disk, **disk},
            seconds={name: value * seeds for name, value in self.seconds.items()},
            total_seconds=self.total_seconds * seeds,
            sizes={**self.sizes, "seeds": seeds},
        )

    def as_json(self) -> dict[str, Any]:
        """All fields by name, as JSON can hold them."""
        return {
            name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(self).items()
        }


def free(device: torch.device) -> int | None:
    """The memory of a device that this process has and can get now."""
    more = memory.free(device)
    return None if more is None else more + (rss() if device.type == "cpu" else torch.cuda.memory_reserved())


def checkpoints(recipe: Recipe) -> tuple[int, int]:
    """The number of checkpoints at the end, and the largest number at one time.

    A new checkpoint is written before the oldest one is removed.
    """
    settings, updates = recipe.training, recipe.training.last_update
    written = 1 + (updates // settings.checkpoint_every if settings.checkpoint_every else 0)
    if settings.checkpoint_every and updates % settings.checkpoint_every == 0:
        written -= 1  # the last checkpoint is one of these
    if settings.stop_metric and settings.evaluate_every:
        written += updates // settings.evaluate_every
    at_end = min(max(1, written), settings.keep + bool(settings.stop_metric))
    return at_end, min(max(1, written), at_end + 1)
