"""Wordle: find a hidden five-letter word in six guesses.

Observation  the marks of the last guess: g for a letter in place, y for a letter elsewhere in the word, b for
             an absent letter. The rule "ilql" does not count letters, "official" does. With
             feedback="letters", the guess itself: a letter in place in upper case, a letter elsewhere in
             lower case, "-" for an absent letter. With feedback="pairs", each letter with its mark.
Action       one word. Anything but five letters a-z costs the turn and gets no marks. Five letters outside
             the list are a guess, unless `guesses` allows only the words of a list.
Reward       guess: 0 for the right word, -1 for any other; so the return is -(k-1) when solved at guess k,
             and -6 when not solved.
Ends         "solved" or "out of turns"; both are rules, so nothing is bootstrapped.
Rows         the secrets: a built-in list of 738 words, or a file. Every split has the same secrets under its
             own ids.
Paper        arXiv:2206.11871, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from loquent.core.actions import Texts
from loquent.core.seeding import Key
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.errors import UnknownName
from loquent.tasks.wordle import rows as words
from loquent.tasks.wordle.lexicon import lexicon
from loquent.tasks.wordle.marks import Board, letters, pairs
from loquent.tasks.wordle.terminal import render_ansi

GUESSES = 6
ANY = "any"
SOLVED = "solved"
GOAL = "Find the hidden five-letter word in six guesses."
NO_WORD, NOT_LISTED = "not five letters a-z", "not in the list of guesses"
WRONG, RIGHT = Record(guess=-1.0), Record(guess=0.0)
EXPLAINED = {
    "marks": "After each guess: g in place, y elsewhere in the word, b not in it.",
    "letters": "After each guess its letters: in upper case in place, in lower case elsewhere in the word, - "
    "not in it.",
    "pairs": "After each guess each letter with a mark: g in place, y elsewhere in the word, b not in it.",
}
WRITTEN = {"marks": lambda guess, marks: marks, "letters": letters, "pairs": pairs}


@dataclass(frozen=True, kw_only=True)
class WordleOptions:
    """The settings under `task:` for Wordle."""

    words: str = setting(
        words.BUILTIN, "the word list: 'builtin', or a file with one word per line", file=True
    )
    limit: int = setting(0, "the number of words of the list to use, drawn once; 0: all", low=0)
    guesses: str = setting(
        "any",
        "valid guesses: 'any' five letters, only the 'words' of the list, or the list and a file "
        "with one word per line",
        file=True,
    )
    rule: str = setting(
        "ilql",
        "how letters are marked: 'ilql' does not count them; 'official' does, as the newspaper",
        choices=("ilql", "official"),
    )
    feedback: str = setting(
        "marks",
        "marks: bgybb; letters: G in place, g elsewhere, - absent; pairs: each letter with its mark, cb rg",
        choices=("marks", "letters", "pairs"),
    )
    instruct: bool = setting(
        True, "state the rules before the first guess; a small model trained on episodes does not need them"
    )
    secret: str = setting(
        "row",
        "row: the row's word; redrawn: in each turn a random word that fits the marks",
        choices=("row", "redrawn"),
    )

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class State:
    """An episode: guesses with marks, the number of used turns, and the secret or the key that draws it."""

    board: Board
    turn: int
    secret: str | None
    key: Key | None


class Wordle(Task):
    """Find a hidden five-letter word in six guesses."""

    Options = WordleOptions
    spec = TaskSpec(
        id="wordle",
        instruction=f"{GOAL} {EXPLAINED['marks']}",
        rewards=Record(guess=1.0),
        invalid=(NO_WORD, NOT_LISTED),
        turn_limit=GUESSES,
        success=(SOLVED,),
        return_range=(-6.0, 0.0),
        paper="arXiv:2206.11871",
        licences=("Apache-2.0 (the built-in words)",),
        shared_rows="a player may know the list of words",
    )

    def __init__(self, options: WordleOptions | None = None) -> None:
        super().__init__(options)
        explained = f"{GOAL} {EXPLAINED[self.options.feedback]}"
        self.spec = replace(self.spec, instruction=explained if self.options.instruct else "")
        self.words = words.read(self.options.words, self.options.limit)
        self.lexicon = lexicon(self.words, self.options.rule)
        listed = self.options.guesses in (ANY, "words")
        self.actions: Texts = Texts(
            self.words if listed else sorted({*self.words, *words.read(self.options.guesses)})
        )
        self._rows: dict[str, tuple[Row, ...]] = {}

    def rows(self, split: str) -> tuple[Row, ...]:
        """One row per secret, in the order of the list; UnknownName for an unknown split."""
        if split not in self.spec.splits:
            raise UnknownName(f"split of {self.spec.id}", split, self.spec.splits)
        if split not in self._rows:
            self._rows[split] = words.rows(self.words, split)
        return self._rows[split]

    def first(self, row: Row, rng: Key) -> Opening:
        """Start with an empty board."""
        redrawn = self.options.secret == "redrawn"
        state = State((), 0, None if redrawn else row["secret"], rng if redrawn else None)
        return Opening(state, _observation(state, ""))

    def read(self, state: State | None, text: str) -> str | Invalid:
        """The guess: exactly five letters a-z; with a list of guesses, a word of it."""
        if not words.WORD.fullmatch(text):
            return Invalid(NO_WORD, text)
        return (
            text
            if self.options.guesses == ANY or self.actions.index(text) is not None
            else Invalid(NOT_LISTED, text)
        )

    def play(self, state: State, move: str | Invalid) -> Outcome:
        """Mark the guess; an invalid guess costs the turn and gets no marks."""
        if isinstance(move, Invalid):
            after = State(state.board, state.turn + 1, state.secret, state.key)
            return Outcome(after, _observation(after, ""), WRONG)
        secret = self._secret(state)
        marks = self.lexicon.marks(move, secret)
        after = State((*state.board, (move, marks)), state.turn + 1, state.secret, state.key)
        feedback = WRITTEN[self.options.feedback](move, marks)
        if move == secret:
            return Outcome(after, _observation(after, feedback + "\n"), RIGHT, SOLVED)
        return Outcome(after, _observation(after, feedback + "\n"), WRONG)

    def expert(self, state: State) -> str:
        """The fitting word with the most informative marks; the first in the list among equals."""
        return self.words[self.lexicon.best(state.board)[0]]

    def solution(self, state: State) -> str | None:
        """The secret; with secret="redrawn" the only fitting word, or None where several fit."""
        if state.secret is not None:
            return state.secret
        fitting = self.lexicon.fits(state.board)
        return self.words[fitting[0]] if len(fitting) == 1 else None

    def render_ansi(self, observation: Observation) -> str:
        """The board in colours."""
        return render_ansi(observation.fields["board"], observation.fields["left"])

    def _secret(self, state: State) -> str:
        if state.secret is not None:
            return state.secret
        assert state.key is not None
        fitting = self.lexicon.fits(state.board)
        return self.words[fitting[state.key.draw(state.turn, "secret").integers(len(fitting))]]


def _observation(state: State, text: str) -> Observation:
    return Observation(text, Record(board=state.board, left=GUESSES - state.turn))
