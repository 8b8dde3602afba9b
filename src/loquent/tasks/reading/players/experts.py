"""Policies to compare with: they gather sentences by a fixed rule, and a reader answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.core.agent import Answer, Question
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Observation, Task
from loquent.data.sources import limit_rows
from loquent.errors import BadSetting, LoquentError
from loquent.tasks.reading import oracle
from loquent.tasks.reading.actions import Vocabulary
from loquent.tasks.reading.commands import COMMANDS, NEXT, SEARCH, STOP, text_of
from loquent.tasks.reading.corpus.stopwords import queries
from loquent.tasks.reading.players import readers, scripts
from loquent.tasks.reading.state import State
from loquent.tasks.reading.task import Reading

READER = "who answers after the game halts: overlap, or a function module:name(question, sentences)"


@dataclass(frozen=True, kw_only=True)
class Reads:
    """The options of every policy."""

    reader: str = setting("overlap", READER)

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class Searches(Reads):
    """The options of the policies that search for words of the question."""

    searches: int = setting(6, "the number of searches before it stops; 0: one for each word", low=0)


@dataclass(frozen=True, kw_only=True)
class ScriptOptions(Reads):
    """The options of reading/script."""

    commands: tuple[str, ...] = setting(
        (), "the commands: previous, next, ctrl+f #1 (the first word of the question); empty: the best script"
    )
    length: int = setting(4, "the most commands of the best script", low=0, high=5)


class Policy(ABC):
    """An agent that gathers sentences by a rule. A subclass defines `command`."""

    Options: ClassVar[type] = Reads
    kind: ClassVar[str]

    def __init__(self, task: Task, options: Any = None) -> None:
        self.name = self.kind
        if not isinstance(task, Reading):
            raise LoquentError(f"{self.name} plays reading, not {task.identity}; choose the task reading")
        self.task, self.options = task, self.Options() if options is None else options
        self.reader = readers.reader(self.options.reader)

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One command per question; after the game halts, the reader's answer."""
        return [Answer(self._text(question)) for question in asked]

    def _text(self, question: Question) -> str:
        if "ended" in question.observation.fields:
            return self.answer_question(question)
        number = sum(turn.seat == question.observation.seat for turn in question.turns)
        return self.command(question, number)

    @abstractmethod
    def command(self, question: Question, number: int) -> str:
        """The command with a number, from 0, of a game."""

    def answer_question(self, question: Question) -> str:
        """The answer, from the sentences in memory."""
        fields = question.observation.fields
        return self.reader(fields["question"], fields["memory"])

    def words(self, observation: Observation) -> tuple[str, ...]:
        """The words of the question that may be queries."""
        words = queries(observation.fields["question"].split(" "), self.task.stop_words)
        limited = self.task.options.queries == "vocabulary"
        return tuple(word for word in words if self.task.known(word)) if limited else words


class Stop(Policy):
    """Stops at once."""

    kind = "reading/stop"

    def command(self, question: Question, number: int) -> str:
        return STOP


class Random(Policy):
    """Draws a command of the mode uniformly, and for a search one of the legal queries."""

    kind = "reading/random"

    def command(self, question: Question, number: int) -> str:
        rng = question.key.generator()
        words = question.observation.fields["queries"]
        if isinstance(self.task.actions, Vocabulary):
            words = self.task.actions.words
        verbs = [verb for verb in COMMANDS[self.task.options.mode] if words or verb != SEARCH]
        verb = verbs[int(rng.integers(len(verbs)))]
        return text_of(verb, words[int(rng.integers(len(words)))]) if verb == SEARCH else verb


class ReadAll(Policy):
    """Goes to the next sentence until the budget is used.

    Raises:
        BadSetting: the mode is hard, where there is no next.
    """

    kind = "reading/read_all"

    def __init__(self, task: Task, options: Any = None) -> None:
        super().__init__(task, options)
        if NEXT not in COMMANDS[self.task.options.mode]:
            raise BadSetting(f"{self.kind} needs mode=easy; hard mode has no command {NEXT!r}")

    def command(self, question: Question, number: int) -> str:
        return NEXT


class WordsInOrder(Policy):
    """Searches for the words of the question in order, again from the first after the last, then stops."""

    kind = "reading/words_in_order"
    Options: ClassVar[type] = Searches

    def command(self, question: Question, number: int) -> str:
        words = self.order_words(question.observation)
        if not words or number >= (self.options.searches or len(words)):
            return STOP
        return text_of(SEARCH, words[number % len(words)])

    def order_words(self, observation: Observation) -> Sequence[str]:
        """The words in the order of their searches."""
        return self.words(observation)


class WordsAtRandom(Policy):
    """Searches for random words of the question, then stops."""

    kind, Options = "reading/words_at_random", Searches

    def command(self, question: Question, number: int) -> str:
        words = self.words(question.observation)
        if not words or number >= (self.options.searches or len(words)):
            return STOP
        return text_of(SEARCH, words[int(question.key.generator().integers(len(words)))])


class Script(Policy):
    """Gives the same commands in every game, then stops.

    Without `commands`, it is the best script on training rows (`scripts.best`). A search for a word that the
    question does not have is left out.
    """

    kind, Options = "reading/script", ScriptOptions

    def __init__(self, task: Task, options: Any = None) -> None:
        super().__init__(task, options)
        allowed = scripts.alphabet(self.task.options.mode)
        for command in self.options.commands:
            scripts.resolve_command(command, ())
            if not command.startswith(SEARCH) and command not in allowed:
                raise BadSetting(f"{self.kind}: {command!r} is not in {self.task.options.mode} mode")
        self.commands = self.options.commands
        if not self.commands and self.options.length:
            chosen = limit_rows(self.task.rows("train"), scripts.ROWS)
            self.commands = scripts.best(self.task, chosen, self.options.length) if chosen else ()

    def command(self, question: Question, number: int) -> str:
        words = queries(question.observation.fields["question"].split(" "), self.task.stop_words)
        texts = [
            text for command in self.commands if (text := scripts.resolve_command(command, words)) is not None
        ]
        return texts[number] if number < len(texts) else STOP


class Oracle(Policy):
    """Reads the whole document and makes the fewest searches for words of the question; then it stops.

    It answers right if the memory holds the answer. It stops at once where no searches lead to the answer.
    """

    kind = "reading/oracle"

    def command(self, question: Question, number: int) -> str:
        assert isinstance(question.state, State)
        way = oracle.shortest(self.task, question.state, (SEARCH, STOP))
        return way[0] if way else STOP

    def answer_question(self, question: Question) -> str:
        """A right answer if the memory holds one, else the reader's."""
        assert isinstance(question.state, State)
        answers = question.state.game.answers
        return answers[0] if self.task.sufficient(question.state) else super().answer_question(question)


class FullDocument(Policy):
    """Stops at once and answers from the whole document: what its reader gains from all sentences."""

    kind = "reading/full_document"

    def command(self, question: Question, number: int) -> str:
        return STOP

    def answer_question(self, question: Question) -> str:
        """The reader's answer from all sentences."""
        assert isinstance(question.state, State)
        return self.reader(question.observation.fields["question"], question.state.game.document.sentences)
