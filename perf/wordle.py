"""Benchmarks of Wordle: steps through `Task.act`, and the moves of the most informative player, against
letter flags.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import measuring
from references import letter_flags

from loquent.core.agent import make
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.core.task import Task
from loquent.tasks.wordle.lexicon import Lexicon
from loquent.tasks.wordle.rows import read
from loquent.tasks.wordle.task import Wordle, WordleOptions

WORDS, RULE = 2315, "ilql"
Recorded = list[tuple[str, list[str]]]  # the secret, and what was said


def made_words(number: int) -> tuple[str, ...]:
    """Words as they might be: each letter is drawn from those that stand at its place in the built-in list,
    and that list is among them.
    """
    known = read("builtin", min(number, 738))
    rng, words = Key(0, ("words",)).generator(), set(known)
    while len(words) < number:
        words.add("".join(known[rng.integers(len(known))][i] for i in range(5)))
    return tuple(sorted(words))


def made_task(words: tuple[str, ...], **options: str) -> Wordle:
    """The task on these words."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "words.txt"
        file.write_text("\n".join(words))
        return Wordle(WordleOptions(words=str(file), rule=RULE, **options))


def act(rounds: int, *, size: str = "tiny") -> dict[str, Any]:
    """Steps a second through `Task.act` with text, the beginnings of games included.

    The reference's cache is empty in each round.
    """
    number, of_ours, of_reference = (60, 20, 4) if size == "quick" else (WORDS, 2000, 12)
    words = made_words(number)
    task, redrawn = made_task(words), made_task(words, secret="redrawn")
    recorded = record(task, of_ours)
    few = recorded[:: max(1, len(recorded) // of_reference)][:of_reference]
    checked = agreement(task, few)
    mine, theirs = steps(recorded), steps(few)
    sides = measuring.alternate(lambda: replay(task, recorded), lambda: by_flags(words, few), rounds)
    scaled = measuring.Sides(
        sides.ours, [(wall * mine / theirs, own * mine / theirs) for wall, own in sides.reference]
    )
    with_draws = statistics.median(measuring.timed(lambda: replay(redrawn, recorded))[0] for _ in range(3))
    table = statistics.median(measuring.timed(lambda: Lexicon(words, RULE).codes)[0] for _ in range(3))
    more = {
        "words": number,
        "timed_steps": mine,
        "timed_reference_steps": theirs,
        "table_seconds": round(table, 4),
    }
    more["steps_per_second_redrawn"] = round(mine / with_draws)
    return {"checked": checked, **measuring.summary(scaled, mine, "steps"), **more}


def optimal(rounds: int, *, size: str = "tiny") -> dict[str, Any]:
    """The first move, the table and all its parts made anew each time, and later moves.

    The reference values some of the first guesses.
    """
    number, guesses, played = (60, 2, 3) if size == "quick" else (WORDS, 8, 300)
    words = made_words(number)
    lexicon = Lexicon(words, RULE)
    some = [words[i] for i in Key(0, ("guesses",)).generator().permutation(number)[:guesses]]
    checked = same_information(lexicon, some)
    sides = measuring.alternate(
        lambda: Lexicon(words, RULE).best(()),
        lambda: [letter_flags.information(words, guess) for guess in some],
        rounds,
    )
    share = number / guesses
    scaled = measuring.Sides(sides.ours, [(wall * share, own * share) for wall, own in sides.reference])
    later = later_moves(made_task(words), played)
    more = {"words": number, "timed_reference_guesses": guesses, "of_reference_guesses": number}
    more |= {
        name: round(statistics.median(took[i] for took in sides.ours), 5)
        for i, name in enumerate(("first_move_seconds", "first_move_processor"))
    }
    more |= {
        "later_moves": len(later),
        "later_move_seconds": round(statistics.median(later), 6),
        "slowest_later_move_seconds": round(max(later), 6),
    }
    bounds = (("first_move_seconds", 0.2), ("slowest_later_move_seconds", 0.002))
    more |= {"bounds": [(name, more[name], most) for name, most in bounds]}
    return {"checked": checked, **measuring.summary(scaled, 1, "steps"), **more}


def record(task: Task, number: int) -> Recorded:
    """Games of a player that keeps to the marks half of the time."""
    rows = task.rows("train")
    queue = [game for i in range(-(-number // len(rows))) for game in games(rows, first=i)][:number]
    ended = play(task, queue, make("wordle/half", task), seed=0)
    return [(one.row.removeprefix("train:"), [turn.text for turn in one.answers()]) for one in ended]


def steps(recorded: Recorded) -> int:
    """How many guesses were made."""
    return sum(len(said) for _, said in recorded)


def replay(task: Wordle, recorded: Recorded) -> None:
    """Ours: what was said, again; a redrawn secret may be met earlier."""
    rows = {row["secret"]: row for row in task.rows("train")}
    for number, (secret, said) in enumerate(recorded):
        step = task.start(rows[secret], Key(0, (number,)))
        for text in said:
            if step.ended is None:
                step = task.act(step, text)


def by_flags(words: tuple[str, ...], recorded: Recorded) -> None:
    """The reference: what was said, again."""
    vocabulary = letter_flags.Vocabulary(words)
    for secret, said in recorded:
        game = letter_flags.Environment(vocabulary)
        for text in said:
            game.step(text, secret)


def agreement(task: Wordle, recorded: Recorded) -> str:
    """Compare marks, rewards, ends and the words that still fit, step by step.

    Raises:
        AssertionError: they differ.
    """
    vocabulary = letter_flags.Vocabulary(task.words)
    for secret, said in recorded:
        game, step = (
            letter_flags.Environment(vocabulary),
            task.start(task.row("train", f"train:{secret}"), Key(0)),
        )
        for text in said:
            rows, reward, over = game.step(text, secret)
            step = task.act(step, text)
            board = step.observation.fields["board"]
            assert rows == [told for _, told in board], f"marks differ: {rows}, {board}"
            assert (reward, over) == (step.rewards["guess"], step.ended is not None), (
                f"rewards or ends differ at {text}"
            )
            left = [task.words[i] for i in task.lexicon.fits(board)]
            assert left == vocabulary.filtered(game.state), f"fitting words differ after {board}"
    return (
        f"marks, rewards, ends and fitting words equal in all {steps(recorded)} steps of {len(recorded)} "
        "games"
    )


def same_information(lexicon: Lexicon, guesses: list[str]) -> str:
    """Compare what first guesses tell; AssertionError where it differs."""
    from loquent.tasks.wordle.lexicon import information

    told = information(lexicon.patterns.table(guesses))
    for mine, guess in zip(told.tolist(), guesses, strict=True):
        other = letter_flags.information(lexicon.words, guess)
        assert abs(mine - other) < 1e-9, f"{guess} tells {mine} nats here and {other} there"
    return f"information equal to 1e-9 nats for {len(guesses)} guesses"


def later_moves(task: Wordle, played: int) -> list[float]:
    """Seconds of processor time of each move after the first in games by the most informative player.

    A board met before is not counted again.
    """
    lexicon, seconds, met = task.lexicon, [], set()
    for secret in task.words[:: max(1, len(task.words) // played)]:
        board: tuple[tuple[str, str], ...] = ()
        while not (board and board[-1][0] == secret) and len(board) < 6:
            before = time.process_time()
            guess = task.words[lexicon.best(board)[0]]
            if board and board not in met:
                seconds.append(time.process_time() - before)
                met.add(board)
            board = (*board, (guess, lexicon.marks(guess, secret)))
    return seconds
