"""Broken twins of the tracers: each breaks one law, and the words by which `check` must tell it."""

import random
from dataclasses import dataclass, replace

import numpy as np

from helpers.tracers.board import Board
from helpers.tracers.echo import Echo
from helpers.tracers.guess import Guess
from helpers.tracers.interview import Interview
from helpers.tracers.labels import Labels
from helpers.tracers.moves import Moves
from helpers.tracers.odd import NoInfo, SharedRing
from loquent.core.actions import Slots, Texts
from loquent.core.task import Observation, Opening, Outcome, Row, Step
from loquent.core.values import Record


@dataclass(frozen=True, eq=False)
class Unequal:
    low: int


@dataclass
class Thawed:
    low: int


class ListInState(Guess):
    def first(self, row, rng):
        opening = super().first(row, rng)
        return Opening(opening.state.with_(seen=[1]), opening.observation)


class ArrayInFields(Guess):
    def first(self, row, rng):
        opening = super().first(row, rng)
        return Opening(opening.state, Observation("go", Record(image=np.zeros(3))))


class ThawedState(Guess):
    def first(self, row, rng):
        opening = super().first(row, rng)
        return Opening(opening.state.with_(extra=Thawed(0)), opening.observation)


class UnequalState(Guess):
    def first(self, row, rng):
        opening = super().first(row, rng)
        return Opening(opening.state.with_(extra=Unequal(0)), opening.observation)


class MoveIsList(Echo):
    def read(self, state, text):
        return [text]

    def play(self, state, move):
        return super().play(state, move[0])


class Local(Guess):
    def first(self, row, rng):
        @dataclass(frozen=True)
        class Here:
            low: int = 0

        opening = super().first(row, rng)
        return Opening(opening.state.with_(extra=Here()), opening.observation)


class Counts(Guess):
    """Acts differently the second time."""

    calls = 0

    def play(self, state, move):
        Counts.calls += 1
        outcome = super().play(state, move)
        return replace(
            outcome,
            observation=replace(outcome.observation, text=f"{outcome.observation.text}{Counts.calls}"),
        )


class IntTurnsFloat(Echo):
    """Equal by ==, yet not the same: 1 and 1.0 read differently in JSON."""

    coin = random.Random(0)

    def play(self, state, move):
        return replace(super().play(state, move), rewards=Record(same=1 if self.coin.random() < 0.5 else 1.0))


class Floats(Guess):
    """float("9" * 5000) is an infinity and int("٣") a number: odd texts raise in careless rules."""

    def read(self, state, text):
        return int(text)


class Ascii(Echo):
    def read(self, state, text):
        text.encode("utf-8")
        return text


class Unnamed(Guess):
    def play(self, state, move):
        outcome = super().play(state, move)
        return replace(outcome, rewards=Record(bonus=1.0))


class Infinite(Echo):
    def play(self, state, move):
        return replace(super().play(state, move), rewards=Record(same=float("nan")))


class UnnamedReason(Guess):
    spec = replace(Guess.spec, invalid=())


class GoesOn(Guess):
    """Takes answers after the end."""

    def act(self, step, text, stopped="end"):
        return Guess.act(self, replace(step, ended=None), text, stopped)


class Forgets(Guess):
    """Overrides the protocol and forgets the turn limit."""

    def act(self, step, text, stopped="end"):
        outcome = self.play(step.state, self.read(step.state, text))
        if step.ended:
            return Guess.act(self, step, text, stopped)
        return Step(
            outcome.state,
            step.turn + 1,
            outcome.observation,
            outcome.rewards,
            "at last" if step.turn > 20 else None,
        )


class Endless(Guess):
    spec = replace(Guess.spec, turn_limit=None)

    def play(self, state, move):
        return replace(super().play(state, move), ended=None)


class CutsItself(Guess):
    def play(self, state, move):
        return replace(super().play(state, move), ended="cut")


class Autoreset(Guess):
    """Shows the next game's opening at the end of this one."""

    def rows(self, split):
        return tuple(Row(f"{split}:{i}", Record(top=100)) for i in range(3))

    def play(self, state, move):
        outcome = super().play(state, move)
        if outcome.ended or state["turn"] == 7:
            return replace(outcome, observation=Observation("below 100", Record(low=0, high=99)))
        return outcome


class WrongRange(Guess):
    spec = replace(Guess.spec, return_range=(-1.0, 0.0))


class Global(Guess):
    """Draws from Python's own generator."""

    def first(self, row, rng):
        random.random()
        return super().first(row, rng)


class GlobalNumpy(Guess):
    def expert(self, state):
        np.random.rand()  # noqa: NPY002
        return super().expert(state)


class Seeds(Guess):
    """Seeds a global generator: the next draw anywhere is not what it was."""

    def play(self, state, move):
        random.seed(0)
        return super().play(state, move)


class SameIds(Echo):
    def rows(self, split):
        return tuple(Row("one", row.fields) for row in super().rows(split))


class SharedIds(Echo):
    def rows(self, split):
        return super().rows("train")


class FreshRows(Echo):
    calls = 0

    def rows(self, split):
        FreshRows.calls += 1
        return tuple(
            replace(row, fields=row.fields.with_(word=f"w{self.calls}")) for row in super().rows(split)
        )


class RowOfLists(Echo):
    def rows(self, split):
        return tuple(replace(row, fields=row.fields.with_(extra=["a"])) for row in super().rows(split))


class ExpertRaises(Guess):
    def expert(self, state):
        raise ValueError("no idea")


class ExpertInvalid(Guess):
    def expert(self, state):
        return "fifty"


class Remembers(Guess):
    """The first game on a task is easier than those after it."""

    started = 0

    def first(self, row, rng):
        Remembers.started += 1
        return Opening(super().first(row, rng).state, Observation(f"game {Remembers.started}"))


class SecretStream(Guess):
    """Draws from a generator of its own that lives on: what comes depends on who played before."""

    stream = np.random.default_rng(0)

    def first(self, row, rng):
        return Opening(
            super().first(row, rng).state, Observation(f"hint {SecretStream.stream.integers(1000)}")
        )


class RepeatsInstruction(Guess):
    def first(self, row, rng):
        opening = super().first(row, rng)
        return Opening(opening.state, Observation("Find my number. Below 100."))


class TextIsNumber(Guess):
    def play(self, state, move):
        outcome = super().play(state, move)
        return replace(outcome, observation=replace(outcome.observation, text=7))


class SpeaksToItself(Interview):
    def first(self, row, rng):
        opening = super().first(row, rng)
        return Opening(opening.state, replace(opening.observation, seat="task"))


class Dishonest(Board):
    class Actions(Moves):
        def index(self, text, legal=None):
            found = super().index(text, legal)
            return None if found is None else max(0, found - 1)

    actions = Actions()


class DrawsIllegal(Board):
    class Actions(Moves):
        def draw(self, legal, rng):
            return len(self)

    actions = Actions()


class MaskLies(Echo):
    class Actions(Texts):
        def mask(self, legal):
            return ~super().mask(legal)

    actions = Actions(["a", "b", "c"])


class TooFewParts(Board):
    class Actions(Moves):
        parts = (28, 380, 99)

    actions = Actions()


class LegalIsNoMove(Labels):
    def read(self, state, text):
        from loquent.core.task import Invalid

        return Invalid("unknown", text)


class SlotsGuess(Guess):
    """A sound world with slots, for comparison; its twin below mixes them up."""

    actions = Slots(4)

    def first(self, row, rng):
        opening = super().first(row, rng)
        return Opening(opening.state, replace(opening.observation, legal=("1", "2", "3")))

    def play(self, state, move):
        outcome = super().play(state, move)
        return replace(outcome, observation=replace(outcome.observation, legal=("4", "5")))


class SlotsTwice(SlotsGuess):
    def first(self, row, rng):
        opening = super().first(row, rng)
        return Opening(opening.state, replace(opening.observation, legal=("1", "1")))


class Raises(Guess):
    def rows(self, split):
        raise OSError("the file is gone")


class Mutates(Guess):
    """Changes the step it was given, behind the back of frozen values."""

    def play(self, state, move):
        dict.__setitem__(state, "low", -1)
        return Outcome(state, Observation("?", Record(x=1)), Record(guess=-1.0))


@dataclass(frozen=True)
class Twin:
    task: type
    words: str


TWINS = [
    Twin(ListInState, "state.seen is a list"),
    Twin(ArrayInFields, "observation.fields.image is an ndarray"),
    Twin(ThawedState, "a dataclass that is not frozen"),
    Twin(UnequalState, "a step is not equal to itself after"),
    Twin(MoveIsList, "move is a list"),
    Twin(Local, "a step does not survive a pipe"),
    Twin(Counts, "gave another Step"),
    Twin(IntTurnsFloat, "gave another Step"),
    Twin(Floats, "raised ValueError"),
    Twin(Ascii, "raised UnicodeEncodeError"),
    Twin(Unnamed, "the reward bonus = 1.0; a reward must be a finite number with one of these names: guess"),
    Twin(Infinite, "the reward same = nan; a reward must be a finite number"),
    Twin(UnnamedReason, "read returned the reason 'no number'"),
    Twin(GoesOn, "to act after the end raises nothing; it must raise EpisodeOver"),
    Twin(Forgets, "and spec.turn_limit is 8"),
    Twin(Endless, "an episode ran 1,000 turns without an end"),
    Twin(CutsItself, "an episode ended with 'cut', which is not the name of a rule"),
    Twin(Autoreset, "at the end the observation is that of the opening again"),
    Twin(WrongRange, "outside spec.return_range (-1.0, 0.0)"),
    Twin(Global, "a global random generator was touched"),
    Twin(GlobalNumpy, "it was touched by expert"),
    Twin(Seeds, "a global random generator was touched"),
    Twin(SameIds, "twice in the split 'train'"),
    Twin(SharedIds, "occurs in the splits 'train' and 'validation'"),
    Twin(FreshRows, "rows('train') differ from call to call"),
    Twin(RowOfLists, "row train:0.fields.extra is a list"),
    Twin(ExpertRaises, "expert: ValueError: no idea"),
    Twin(ExpertInvalid, "the expert gave 'fifty', which is not a move (no number)"),
    Twin(Remembers, "an episode went differently when other episodes were played beside or before it"),
    Twin(SecretStream, "the same row and key open another episode the second time"),
    Twin(RepeatsInstruction, "an observation repeats spec.instruction"),
    Twin(TextIsNumber, "play returned an observation with the text 7, an int; it must be a str"),
    Twin(SpeaksToItself, "an observation is for the seat 'task'"),
    Twin(Dishonest, "which is the text of"),
    Twin(DrawsIllegal, "draw gave action 1064001, which is not legal"),
    Twin(MaskLies, "mask and contains disagree"),
    Twin(TooFewParts, "do not cover 1,064,001 actions"),
    Twin(LegalIsNoMove, "is not a move (unknown)"),
    Twin(SlotsTwice, "which is the text of 0"),
    Twin(Raises, "OSError: the file is gone"),
    Twin(Mutates, "act changed the step it was given"),
    Twin(SharedRing, "are in an earlier split too"),
    Twin(NoInfo, "which is not a mapping from names"),
]
