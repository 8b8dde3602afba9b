"""How the settings of each cell were found, and which checkpoint of its runs is evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from loquent.core.options import Node
from loquent.core.values import EMPTY, plain
from loquent.files.run_folder import Tuning
from loquent.statistics.tables import Table
from loquent.training.recipes import Recipe

BY_HAND, NOT_TRAINED = "by hand, not searched", "nothing is trained"
HEADS = ("cells", "settings", "trials", "updates", "seconds", "chosen by", "checkpoint")


@dataclass(frozen=True)
class Care:
    """How the settings of a cell were found.

    Attributes:
        tuning: what the search for the settings cost; None if they were set by hand.
        trained: whether the cell's runs learn.
        checkpoint: the checkpoint that is evaluated, in a few words.
        changed: the settings of the best trial that the cell does not have, by key.path.
    """

    tuning: Tuning | None = None
    trained: bool = True
    checkpoint: str = ""
    changed: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """All fields by name."""
        return asdict(self)

    def cells(self) -> list[str]:
        """The cells of a table with `HEADS`, without the first one."""
        cost = ["–"] * 4
        if self.trained and (own := self.tuning) is not None:
            cost = [f"{own.trials:,}", f"{own.updates:,}", f"{own.seconds:,.0f}", own.measure]
        found = f"searched, then changed: {', '.join(self.changed)}" if self.changed else "searched"
        settings = NOT_TRAINED if not self.trained else BY_HAND if self.tuning is None else found
        return [settings, *cost, self.checkpoint or "–"]


def care(recipe: Recipe, is_agent: bool, best: Mapping[str, Node] = EMPTY) -> Care:
    """How the settings of a run were found; an agent that plays in place of a model has none.

    Args:
        is_agent: whether an agent plays.
        best: the settings of the best trial, by key.path.
    """
    training = recipe.training
    if is_agent or not training.updates:
        return Care(None if is_agent else recipe.tuning, trained=False)
    measure = (
        f"the best {training.stop_metric} of {training.evaluate_episodes} episodes of the split "
        f"{training.evaluate_split}"
    )
    resolved = recipe.resolve()
    changed = tuple(path for path, node in best.items() if _at(resolved, path) != plain(node.plain()))
    checkpoint = measure if training.stop_metric else "the last update"
    return Care(recipe.tuning, checkpoint=checkpoint, changed=changed)


def _at(settings: Mapping[str, Any], path: str) -> Any:
    """The setting at a key.path; None if there is none."""
    found: Any = settings
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def summary(cells: Mapping[str, Care]) -> str:
    """What was searched, in a sentence or two."""
    if not any(own.tuning for own in cells.values()):
        return "No settings of this suite were searched: all were set by hand."
    return (
        "A search compares trials on rows of the named split, never on the rows of the final evaluation; "
        "updates and seconds are those of all its trials. Settings without a search were set by hand."
    )


def table(cells: Mapping[str, Care]) -> Table:
    """One line for all cells that have the same care."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, own in cells.items():
        names.setdefault(tuple(own.cells()), []).append(name)
    return Table(HEADS, [[", ".join(of), *own] for own, of in names.items()])
