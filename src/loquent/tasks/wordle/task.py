"""Wordle: find a hidden five-letter word in six guesses.

Sees    the marks of the last guess (g in place, y anywhere in the word, b absent); no letter counting (rule "ilql"; "official" counts).
        Or, told as letters, the guess again: a letter in place in upper case, one elsewhere in lower case, "-" for an absent one.
Says    one word. Anything but five letters a-z costs the turn and gets no marks; five letters outside the list are a guess, unless
        `guesses` allows those of a list only.
Earns   guess: 0 for the right word, -1 for any other; so -(k-1) when solved at guess k, -6 when never.
Ends    "solved" or "out of turns"; both are rules, so nothing is bootstrapped.
Rows    the secrets, a list of our own (738 words) or a file; every split has the same secrets under ids of its own.
Paper   arXiv:2206.11871, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from loquent.actions import Texts
from loquent.errors import UnknownName
from loquent.seeding import Key
from loquent.settings import check_ranges, setting
from loquent.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.tasks.wordle import rows as words
from loquent.tasks.wordle.lexicon import lexicon
from loquent.tasks.wordle.marks import Board, letters
from loquent.tasks.wordle.terminal import coloured
from loquent.values import Record

GUESSES = 6
ANY = "any"
GOAL = "Find the hidden five-letter word in six guesses."
NO_WORD, NOT_LISTED = "not five letters a-z", "not in the list of guesses"
WRONG, RIGHT = Record(guess=-1.0), Record(guess=0.0)
EXPLAINED = {
    "marks": "After each guess: g in place, y elsewhere in the word, b not in it.",
    "letters": "After each guess its letters: in upper case in place, in lower case elsewhere in the word, - not in it.",
}


@dataclass(frozen=True, kw_only=True)
class WordleOptions:
    """What `task:` may hold when it is wordle."""

    words: str = setting(words.BUILTIN, "the word list: 'builtin', or a file with one word a line")
    limit: int = setting(0, "play with so many words of the list, drawn once; 0: all", low=0)
    guesses: str = setting("any", "what is a guess: 'any' five letters, the 'words' of the list alone, or also those of a file with one word a line")
    rule: str = setting("ilql", "how letters are marked: without counting them, or as the newspaper does", choices=("ilql", "official"))
    feedback: str = setting(
        "marks",
        "how a guess is answered: bgybb, or its letters (G in place, g elsewhere, - absent), which a small model learns to read sooner",
        choices=("marks", "letters"),
    )
    instruct: bool = setting(True, "tell the rules before the first guess; a small model that is taught by games needs no telling")
    secret: str = setting("row", "the row's word, or one drawn anew each turn among those that fit the marks", choices=("row", "redrawn"))

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class State:
    """A game: what was guessed and told, how many turns were used, and the secret or the key that draws it."""

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
        return_range=(-6.0, 0.0),
        paper="arXiv:2206.11871",
        licences=("Apache-2.0 (the built-in words)",),
    )

    def __init__(self, options: WordleOptions | None = None) -> None:
        super().__init__(options)
        explained = f"{GOAL} {EXPLAINED[self.options.feedback]}"
        self.spec = replace(self.spec, instruction=explained if self.options.instruct else "")
        self.words = words.read(self.options.words, self.options.limit)
        self.lexicon = lexicon(self.words, self.options.rule)
        listed = self.options.guesses in (ANY, "words")
        self.actions: Texts = Texts(self.words if listed else sorted({*self.words, *words.read(self.options.guesses)}))
        self._rows: dict[str, tuple[Row, ...]] = {}

    def rows(self, split: str) -> tuple[Row, ...]:
        """One row per secret, in the order of the list."""
        if split not in self.spec.splits:
            raise UnknownName(f"split of {self.spec.id}", split, self.spec.splits)
        if split not in self._rows:
            self._rows[split] = words.rows(self.words, split)
        return self._rows[split]

    def first(self, row: Row, rng: Key) -> Opening:
        """An empty board."""
        redrawn = self.options.secret == "redrawn"
        state = State((), 0, None if redrawn else row["secret"], rng if redrawn else None)
        return Opening(state, _seen(state, ""))

    def read(self, state: State | None, text: str) -> str | Invalid:
        """The guess: exactly five letters a-z, nothing around them, and in the list of guesses where there is one."""
        if not words.WORD.fullmatch(text):
            return Invalid(NO_WORD, text)
        return text if self.options.guesses == ANY or self.actions.index(text) is not None else Invalid(NOT_LISTED, text)

    def play(self, state: State, move: str | Invalid) -> Outcome:
        """Mark the guess; an invalid one leaves the board and gets no marks."""
        if isinstance(move, Invalid):
            after = State(state.board, state.turn + 1, state.secret, state.key)
            return Outcome(after, _seen(after, ""), WRONG)
        secret = self._secret(state)
        told = self.lexicon.told(move, secret)
        after = State((*state.board, (move, told)), state.turn + 1, state.secret, state.key)
        shown = told if self.options.feedback == "marks" else letters(move, told)
        if move == secret:
            return Outcome(after, _seen(after, shown + "\n"), RIGHT, "solved")
        return Outcome(after, _seen(after, shown + "\n"), WRONG)

    def expert(self, state: State) -> str:
        """The word that fits all marks and whose own marks would tell most; the first in the list among equals."""
        return self.words[self.lexicon.best(state.board)[0]]

    def coloured(self, observation: Observation) -> str:
        """The board in colours."""
        return coloured(observation.fields["board"], observation.fields["left"])

    def _secret(self, state: State) -> str:
        if state.secret is not None:
            return state.secret
        assert state.key is not None
        fitting = self.lexicon.fits(state.board)
        return self.words[fitting[state.key.draw(state.turn, "secret").integers(len(fitting))]]


def _seen(state: State, text: str) -> Observation:
    return Observation(text, Record(board=state.board, left=GUESSES - state.turn))
