"""What the folder of a reward model says: its objective, whether it reads prompts, and the mean of r."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loquent.core import schema
from loquent.core.guards import json_files
from loquent.errors import BadModel
from loquent.metrics.judges import card

KIND = "reward_model"
EARLIER = "reward.json"  # the note of folders without a card, which are read too
BRADLEY_TERRY, GOOD_BAD = "bradley_terry", "good_bad"
LABELS = {BRADLEY_TERRY: ("reward",), GOOD_BAD: ("bad", "good")}
ADVICE = "name a folder that `loquent reward` wrote; other classifiers: the metric `classifier`"


@dataclass(frozen=True)
class Note:
    """What the folder of a reward model says: the objective, whether it reads prompts, and the mean of r."""

    objective: Literal["bradley_terry", "good_bad"]
    include_prompt: bool
    mean: float


def is_reward_model(folder: Path) -> bool:
    """Whether the folder has the note of a reward model, whole or damaged."""
    return any((folder / name).is_file() for name in (card.CARD, EARLIER))


def read_note(folder: Path) -> Note:
    """The note of a folder; BadModel if it has none, or another program's."""
    if (folder / EARLIER).is_file() and not (folder / card.CARD).is_file():
        place, content = folder / EARLIER, json_files.load_object(folder / EARLIER, ADVICE, error=BadModel)
    else:
        place, content = folder / card.CARD, card.read(folder, KIND, ADVICE, error=BadModel)
    try:
        return schema.read(Note, content, extra=True)
    except ValueError as error:
        raise BadModel(f"{place}: {error}; {ADVICE}") from None


def check_files(folder: Path) -> None:
    """Compare the files of a reward model with its card; BadModel if one is missing or changed."""
    if (folder / card.CARD).is_file():
        card.check(folder, card.read(folder, KIND, ADVICE, error=BadModel), ADVICE, error=BadModel)
