"""Training of an answerer and a guesser on recorded dialogues.

They have the roles of the answering and the question bot of arXiv:1703.06585, at a size for a laptop: the
answerer chooses one of the most frequent answers, the guesser predicts the features of the image.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from loquent.core.episode import Episode
from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.metrics.judges import layers
from loquent.metrics.judges.layers import Examples, LayersSettings, Network
from loquent.tasks.dialogue import rows
from loquent.tasks.dialogue.learned import texts
from loquent.tasks.dialogue.task import ANSWERER, JUDGE, Dialogue

Dialog = tuple[Record, tuple[tuple[str, str], ...]]  # the fields of a row, and rounds


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
    task: Dialogue, dialogues: Sequence[Dialog], folder: Path, *, answers: int = 200, seed: int = 0
) -> dict[str, float]:
    """Train an answerer and write it to a folder, for the agent `dialogue/answerer`.

    Args:
        answers: the number of most frequent answers that it can give.

    Returns:
        `accuracy`, its share of right answers in a tenth of the dialogues that it was not trained on, and
        `known`, the share of answers there that it can give.

    Raises:
        BadSetting: there are fewer than 10 dialogues. MissingExtra: without the extra "train".
    """
    fit, held = _halves(dialogues)
    counts = Counter(answer for _, rounds in fit for _, answer in rounds)
    known = [answer for answer, _ in counts.most_common(answers)]
    numbers = {answer: number for number, answer in enumerate(known)}

    def examples(part: Sequence[Dialog]) -> tuple[np.ndarray, np.ndarray]:
        pairs = [
            (
                texts.question_features(question, fields["caption"], task.image(fields)),
                numbers.get(answer, -1),
            )
            for fields, rounds in part
            for question, answer in rounds
        ]
        return np.stack([inputs for inputs, _ in pairs]), np.array([number for _, number in pairs])

    inputs, targets = examples(fit)
    training, held_out = Examples(inputs[targets >= 0], targets[targets >= 0]), Examples(*examples(held))
    trained, history = _train(training, held_out, len(known), seed, ANSWERER)
    guessed = trained(held_out.inputs).argmax(1)
    right = held_out.targets
    figures = {"accuracy": float((guessed == right).mean()), "known": float((right >= 0).mean())}
    layers.save(folder, trained, {"role": ANSWERER, "answers": known, "figures": figures, "history": history})
    return figures


def train_guesser(
    task: Dialogue, dialogues: Sequence[Dialog], folder: Path, *, seed: int = 0
) -> dict[str, float]:
    """Train a guesser of images and write it to a folder, for the agent `dialogue/judge`.

    Returns:
        `error`, the mean squared error after the last round in a tenth of the dialogues that it was not
        trained on, and `variance`, the error of the mean of all images there.

    Raises:
        BadSetting: there are fewer than 10 dialogues. MissingExtra: without the extra "train".
    """
    fit, held = _halves(dialogues)
    inputs, targets = [], []
    for fields, rounds in fit:
        for count in range(len(rounds) + 1):
            inputs.append(texts.history_features(fields["caption"], rounds[:count]))
            targets.append(task.image(fields))
    guesses = np.stack([texts.history_features(fields["caption"], rounds) for fields, rounds in held])
    images = np.stack([task.image(fields) for fields, _ in held]).astype(np.float32)
    training, held_out = (
        Examples(np.stack(inputs), np.stack(targets, dtype=np.float32)),
        Examples(guesses, images),
    )
    trained, history = _train(training, held_out, images.shape[1], seed, JUDGE)
    error = float(((trained(guesses) - images) ** 2).mean())
    figures = {"error": error, "variance": float(images.var(axis=0).mean())}
    layers.save(folder, trained, {"role": JUDGE, "figures": figures, "history": history})
    return figures


def answer_number(trained: Network, inputs: np.ndarray) -> int:
    """The number of the answer with the highest output."""
    return int(trained(inputs[None])[0].argmax())


def _halves(dialogues: Sequence[Dialog]) -> tuple[Sequence[Dialog], Sequence[Dialog]]:
    if len(dialogues) < 10:
        raise BadSetting(
            f"there are {len(dialogues)} dialogues; at least 10 are needed to train and to check"
        )
    held = len(dialogues) // 10
    return dialogues[:-held], dialogues[-held:]


def _train(
    training: Examples, held_out: Examples, outputs: int, seed: int, role: str
) -> tuple[Network, list[dict[str, float]]]:
    settings = LayersSettings(seed=seed)
    return layers.train(training, held_out, outputs, settings, Key(seed, ("dialogue", "learned", role)))
