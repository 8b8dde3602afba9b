"""Training of an answerer and a guesser on recorded dialogues, at a size for a laptop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from loquent.core.episode import Episode
from loquent.core.seeding import Key, borrow_generators
from loquent.core.settings import redefault, setting
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.metrics.judges.trainer import Lessons, Trainer, TrainerSettings
from loquent.tasks.dialogue import rows
from loquent.tasks.dialogue.learned.tokens import LEAST_VOCABULARY, Encoding
from loquent.tasks.dialogue.task import ANSWERER, JUDGE, Dialogue

if TYPE_CHECKING:
    from torch import Tensor

Dialog = tuple[Record, tuple[tuple[str, str], ...]]  # the fields of a row, and rounds


@dataclass(frozen=True, kw_only=True)
class SeatSettings(TrainerSettings):
    """How a seat's network is made and trained; an example is a dialogue."""

    layers: int = setting(2, "blocks of the transformer", low=1)
    width: int = setting(64, "numbers of a state", low=1)
    heads: int = setting(4, "heads of attention; width is a multiple of it", low=1)
    slots: int = setting(16, "parts of an image that attention chooses among", low=1)
    vocabulary: int = setting(1000, "the most ids of the tokenizer", low=LEAST_VOCABULARY)
    epochs: int = redefault(TrainerSettings, "epochs", 8)
    minibatch: int = redefault(TrainerSettings, "minibatch", 8)
    learning_rate: float = redefault(TrainerSettings, "learning_rate", 3e-3)
    schedule: str = redefault(TrainerSettings, "schedule", "cosine")
    warmup: float = redefault(TrainerSettings, "warmup", 0.05)


SMALL = SeatSettings()


def recorded_dialogues(task: Dialogue, split: str = "train") -> list[Dialog]:
    """The recorded dialogues of the rows of a split."""
    return [(row.fields, row["dialog"]) for row in task.rows(split) if row["dialog"]]


def played_dialogues(task: Dialogue, episodes: Iterable[Episode]) -> list[Dialog]:
    """The dialogues of episodes, such as those that `loquent collect` wrote.

    Raises:
        BadSetting: an episode is on a row that the task does not have.
    """
    fields_of = {row.id: row.fields for split in rows.load(task.options).values() for row in split}
    found = []
    for episode in episodes:
        if episode.row not in fields_of:
            raise BadSetting(
                f"an episode is on the row {episode.row!r:.80}, which {task.identity} does not have"
            )
        last = episode.turns[-1].observation
        assert last is not None
        found.append((fields_of[episode.row], last.fields["history"]))
    return found


def train_answerer(
    task: Dialogue, dialogues: Sequence[Dialog], folder: Path, settings: SeatSettings = SMALL
) -> dict[str, float]:
    """Train an answerer and write it to a folder, for the agent `dialogue/answerer`.

    Dialogues without a round are left out; they have no answer to learn.

    Returns:
        Means over a tenth of the dialogues, which it was not trained on: `loss`, the cross-entropy of an
        answer in nats, and `accuracy`, the share of answers whose every token is the most likely one.

    Raises:
        BadSetting: there are fewer than 10 dialogues, or the folder is not empty.
        MissingExtra: without the extra "train".
    """
    return _train(ANSWERER, task, [each for each in dialogues if each[1]], folder, settings)


def train_guesser(
    task: Dialogue, dialogues: Sequence[Dialog], folder: Path, settings: SeatSettings = SMALL
) -> dict[str, float]:
    """Train a guesser of images and write it to a folder, for the agent `dialogue/judge`.

    Returns:
        Means over a tenth of the dialogues, which it was not trained on: `loss`, the squared error over all
        rounds, and `last`, that after the last round. Both are shares of the variance of the training images.

    Raises:
        BadSetting: there are fewer than 10 dialogues, or the folder is not empty.
        MissingExtra: without the extra "train".
    """
    return _train(JUDGE, task, dialogues, folder, settings)


def _train(
    role: str, task: Dialogue, dialogues: Sequence[Dialog], folder: Path, settings: SeatSettings
) -> dict[str, float]:
    if len(dialogues) < 10:
        raise BadSetting(
            f"there are {len(dialogues)} dialogues; at least 10 are needed to train and to check"
        )
    if folder.exists() and any(folder.iterdir()):
        raise BadSetting(f"{folder} is not empty; name a new folder")
    from loquent.tasks.dialogue.learned.seats import SEATS

    count = len(dialogues) - len(dialogues) // 10
    import torch  # after the seats, which name the extra that is missing

    from loquent.pretrained import evaluating
    from loquent.tasks.dialogue.learned.networks import Sizes

    encoding = Encoding.make(_texts(dialogues[:count]), settings.vocabulary)
    tokens = [encoding.dialogue(fields["caption"], rounds) for fields, rounds in dialogues]
    images = torch.from_numpy(np.stack([task.image(fields) for fields, _ in dialogues]))
    own = {name: getattr(settings, name) for name in ("layers", "width", "heads", "slots")}
    sizes = Sizes(vocabulary=len(encoding), image=images.shape[1], **own)
    key = Key(settings.seed, ("dialogue", "learned", role))
    with borrow_generators(key.child("weights")):
        seat = SEATS[role].start(sizes, encoding)
    network = seat.network
    network.fit_scale(images[:count])

    def figures(numbers: Sequence[int]) -> dict[str, Tensor]:
        ids, roles = map(torch.from_numpy, encoding.pad([tokens[number] for number in numbers]))
        found: dict[str, Tensor] = network.figures(ids, roles, images[numbers])
        return found

    def measure() -> dict[str, float]:
        held, size = range(count, len(dialogues)), settings.minibatch
        with torch.no_grad(), evaluating(network):
            parts = [figures(held[first : first + size]) for first in range(0, len(held), size)]
        return {name: float(torch.cat([part[name] for part in parts]).mean()) for name in parts[0]}

    trainer = Trainer(network, Lessons(count, lambda some: figures(some)["loss"], measure), settings, key)
    history = trainer.run()
    held_out = measure()
    seat.save(folder, {"figures": held_out, "settings": asdict(settings), "history": history})
    return held_out


def _texts(dialogues: Sequence[Dialog]) -> list[str]:
    """Captions, questions and answers, of which the tokenizer is made."""
    rounds = [text for _, rounds in dialogues for pair in rounds for text in pair]
    return [fields["caption"] for fields, _ in dialogues] + rounds
