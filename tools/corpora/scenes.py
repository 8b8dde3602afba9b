"""The built-in rows: 9,000 different scenes with captions, split by content."""

from __future__ import annotations

from functools import cache

from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.sources import Splits
from loquent.tasks.dialogue.scenes.domains import DOMAIN_OF
from loquent.tasks.dialogue.scenes.scene import PROPERTIES, VALUES, Scene

SIZES = {"train": 4000, "validation": 4000, "test": 1000}


@cache
def splits() -> Splits:
    """The rows of each split. A row has a caption, and the scene: `subject` and `values`."""
    subjects = tuple(DOMAIN_OF)
    stream = Key(0, ("dialogue", "scenes")).generator()
    order = stream.permutation(len(subjects) * VALUES**PROPERTIES).tolist()
    stated = stream.integers(PROPERTIES, size=len(order)).tolist()
    found: Splits = {}
    for split, size in SIZES.items():
        numbers, order = order[:size], order[size:]
        facts, stated = stated[:size], stated[size:]
        found[split] = tuple(
            _row(split, i, _scene(subjects, number), facts[i]) for i, number in enumerate(numbers)
        )
    return found


def _scene(subjects: tuple[str, ...], number: int) -> Scene:
    subject, rest = divmod(number, VALUES**PROPERTIES)
    return Scene(subjects[subject], tuple(rest // VALUES**i % VALUES for i in range(PROPERTIES)))


def _row(split: str, number: int, scene: Scene, stated: int) -> Row:
    return Row(
        f"{split}-{number}",
        Record(
            caption=scene.caption(stated),
            dialog=(),
            file=split,
            image=number,
            subject=scene.subject,
            values=scene.values,
        ),
    )
