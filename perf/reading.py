"""Benchmarks of reading by asking: the vector environment and `Task.act`, against a batch of games in the way
of the released environment.

Games have 20 commands of a random agent that never stops. The beginnings of games are included.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import measuring
from references.imrc_batch import Batch

from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.tasks.reading.options import Options
from loquent.tasks.reading.task import Reading
from loquent.tasks.reading.vector import ReadingVector

GAMES, STEPS, STOP = 20, 20, 2
BATCHES = {"quick": 3, "tiny": 50, "small": 300}


@dataclass
class Recorded:
    """Batches of games: the row of each game, and at each step the number and the text of each command."""

    rows: list[list[int]] = field(default_factory=list)
    numbers: list[list[list[int]]] = field(default_factory=list)
    texts: list[list[list[str]]] = field(default_factory=list)


SENTENCES = 25  # of a built-in paragraph


def vector(rounds: int, *, size: str = "tiny", sentences: int = SENTENCES) -> dict[str, Any]:
    """Steps a second of `ReadingVector`: 20 games at a time.

    Args:
        sentences: of each paragraph; SQuAD's have 5 on average.
    """
    task = made_task(sentences)
    games, reference = ReadingVector(task, GAMES), Batch(data_of(task))
    recorded = record(task, games, BATCHES[size])
    checked = agreement(games, reference, recorded)
    sides = measuring.alternate(
        lambda: by_vector(games, recorded), lambda: by_batch(reference, recorded), rounds
    )
    return {"checked": checked, **measuring.summary(sides, len(recorded.rows) * GAMES * STEPS, "steps")}


def act(rounds: int, *, size: str = "tiny") -> dict[str, Any]:
    """Steps a second through `Task.act` with text, one game after the other."""
    task = Reading(Options())
    games, reference = ReadingVector(task, GAMES), Batch(data_of(task))
    recorded = record(task, games, BATCHES[size])
    checked = agreement(games, reference, recorded)
    sides = measuring.alternate(
        lambda: by_task(task, recorded), lambda: by_batch(reference, recorded), rounds
    )
    steps = len(recorded.rows) * GAMES * STEPS
    own = statistics.median(processor for _, processor in sides.ours)
    more = {
        "steps_per_processor_second": round(steps / own),
        "steps_per_second_in_the_fastest_round": round(steps / min(wall for wall, _ in sides.ours)),
    }
    return {"checked": checked, **measuring.summary(sides, steps, "steps"), **more}


def made_task(sentences: int) -> Reading:
    """The built-in questions, each paragraph cut to some sentences, one of which has the answer."""
    built_in = Reading(Options())
    if sentences >= SENTENCES:
        return built_in
    samples = []
    for row in built_in.rows("train"):
        game = built_in.game(row)
        places = [i for i, text in enumerate(game.document.answer_words) if game.needles[0] in f" {text} "]
        first = max(0, min(places[0] - 2, SENTENCES - sentences))
        shown = game.document.sentence_texts[first : first + sentences]
        samples.append(Record(id=row.id, sentences=shown, question=row["question"], answers=row["answers"]))
    return Reading(Options(source="samples", samples=tuple(samples)))


def data_of(task: Reading) -> list[Any]:
    """The training rows as the reference has them."""
    games = [task.game(row) for row in task.rows("train")]
    return [(list(game.document.sentences), game.question, list(game.golds)) for game in games]


def record(task: Reading, games: ReadingVector, batches: int) -> Recorded:
    """Games with random commands other than "stop"."""
    numbers = {row.id: i for i, row in enumerate(task.rows("train"))}
    rng, recorded = Key(0, ("commands",)).generator(), Recorded()
    games.reset(seed=0)
    for _ in range(batches):
        games.reset()
        legal = [[i for i in range(3 + len(games.queries(g))) if i != STOP] for g in range(GAMES)]
        words = [games.queries(g) for g in range(GAMES)]
        drawn = [[own[int(rng.integers(len(own)))] for own in legal] for _ in range(STEPS)]
        recorded.rows.append([numbers[games.row(g).id] for g in range(GAMES)])
        recorded.numbers.append(drawn)
        recorded.texts.append(
            [[text_of(n, own) for n, own in zip(step, words, strict=True)] for step in drawn]
        )
    return recorded


def text_of(number: int, queries: Sequence[str]) -> str:
    """The text of a numbered command of easy mode."""
    return ("previous", "next", "stop")[number] if number < 3 else f"ctrl+f {queries[number - 3]}"


def by_vector(games: ReadingVector, recorded: Recorded) -> None:
    """Ours: all batches, by numbers."""
    games.reset(seed=0)
    for batch in recorded.numbers:
        games.reset()
        for numbers in batch:
            games.step(numbers)


def by_task(task: Reading, recorded: Recorded) -> None:
    """Ours: all games, one after the other, by texts."""
    rows = task.rows("train")
    for indices, batch in zip(recorded.rows, recorded.texts, strict=True):
        for place, index in enumerate(indices):
            step = task.start(rows[index], Key(0, (rows[index].id, place)))
            for texts in batch:
                step = task.act(step, texts[place])


def by_batch(reference: Batch, recorded: Recorded) -> None:
    """The reference: all batches, by texts."""
    for indices, batch in zip(recorded.rows, recorded.texts, strict=True):
        reference.reset(indices)
        for texts in batch:
            reference.step(texts)


def agreement(games: ReadingVector, reference: Batch, recorded: Recorded) -> str:
    """That both sides show equal sentences at each step of some batches; AssertionError otherwise."""
    checked = min(len(recorded.rows), 5)
    games.reset(seed=0)
    for indices, numbers, texts in zip(
        recorded.rows[:checked], recorded.numbers, recorded.texts, strict=False
    ):
        games.reset()
        reference.reset(indices)
        for own, commands in zip(numbers, texts, strict=True):
            games.step(own)
            seen, _ = reference.step(commands)
            assert seen == [games.sentence(g) for g in range(GAMES)], (commands, seen)
    steps = checked * STEPS * GAMES
    return f"sentences are equal to the reference's in {steps:,} of {steps:,} steps"
