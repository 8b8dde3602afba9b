"""Reading by asking (iMRC): find the sentences that answer a question, then stop.

Observation  at first the question and one sentence of the paragraph; then the sentence at the new place.
Action       "previous", "next", "ctrl+f QUERY", "stop"; in hard mode only the last two. Any other text costs
             a step. With an answer phase, the last text of the agent is its answer to the question.
Memory       the last K different sentences. Observing a sentence again changes nothing.
Reward       sufficient: 1 when the game halts and the memory holds a right answer, else 0. With an answer
             phase, f1 and em of the answer. invalid: -1 for each invalid command (weight 0 by default).
Ends         "stopped" or "budget" (after 20 commands); both are rules, so nothing is bootstrapped.
Rows         `context`, `places`, `tokenised`, `question`, `answers`, `starts`: built-in paragraphs, SQuAD,
             NewsQA, or samples.
Paper        arXiv:1908.10449.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from loquent.core.actions import ActionSet, Legal
from loquent.core.seeding import Key
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, TaskSpec
from loquent.core.values import EMPTY, Record
from loquent.data.annotated.rows import Rows, RowsTask
from loquent.tasks.reading import games, measures, oracle, rows, scores, terminal
from loquent.tasks.reading import options as settings
from loquent.tasks.reading.actions import Slots, Vocabulary
from loquent.tasks.reading.commands import (
    HARD,
    INVALID,
    NEXT,
    NOT_A_COMMAND,
    NOT_ALLOWED,
    NOT_IN_HARD_MODE,
    SEARCH,
    STOP,
    Command,
    parse,
)
from loquent.tasks.reading.corpus import stopwords
from loquent.tasks.reading.corpus.documents import Document, document
from loquent.tasks.reading.corpus.tokens import Span
from loquent.tasks.reading.games import Game
from loquent.tasks.reading.options import ANY, QUESTION, QUESTION_MEMORY, VOCABULARY
from loquent.tasks.reading.search.backends import backend
from loquent.tasks.reading.state import State

STOPPED, BUDGET = "stopped", "budget"
Context = tuple[str, tuple[Span, ...], bool]  # a paragraph: its text, its places, whether it is tokenised
ANSWER = "answer"  # the verb of a move in the answer phase
WRONG = Record(invalid=-1.0)
NOW_ANSWER = "Answer the question.\n"
NOT_FOUND = "not found\n"
LISTED = {
    "easy": "previous, next, ctrl+f QUERY (go to the next sentence with this word), stop",
    "hard": "ctrl+f QUERY (go to the next sentence with this word), stop",
}
ALLOWED = {
    QUESTION: "A query is a word of the question. ",
    QUESTION_MEMORY: "A query is a word of the question or of the last sentences. ",
}


class Reading(RowsTask):
    """Find the sentences that answer a question.

    Example:
        >>> task = Reading()
        >>> step = task.start(task.rows("train")[0], Key(0))
        >>> task.act(step, "stop").ended
        'stopped'
    """

    Options = settings.Options
    options: settings.Options
    views: ClassVar[Mapping[str, str]] = {
        "dict": "loquent.tasks.reading.views:fields",
        "ids": "loquent.tasks.reading.views:ids",
        "ansi": "loquent.tasks.reading.terminal:render",
    }
    vector_view: ClassVar[str] = "loquent.tasks.reading.views:MemoryView"
    stop: ClassVar[str] = STOP
    stop_rewards: ClassVar[Record] = Record(sufficient=1.0)

    def __init__(self, options: settings.Options | None = None) -> None:
        super().__init__(options)
        chosen = self.options
        self.spec = _spec(chosen)
        self.find = backend(chosen.search)
        self.stop_words = stopwords.read(chosen.stop_words) if chosen.stop_words else None
        self._rows = Rows(self.spec.id, partial(rows.load, chosen), rows.check)
        self._train: tuple[frozenset[str], tuple[Context, ...]] | None = None
        self.actions: ActionSet | None = None
        if chosen.queries in (QUESTION, QUESTION_MEMORY):
            self.actions = Slots(chosen.mode, chosen.slots)
        elif chosen.queries == VOCABULARY:
            words = rows.query_words(self.rows("train"), chosen.splitter, chosen.vocabulary, self.stop_words)
            self.actions = Vocabulary(chosen.mode, words)
        self._plain = Slots(chosen.mode, chosen.slots).plain
        # read at every step
        self._steps, self._slots, self._source = chosen.steps, chosen.memory, chosen.queries
        self._exposed, self._revealed = chosen.expose_found, chosen.reveal_position
        self._asks = chosen.queries in (QUESTION, QUESTION_MEMORY)

    def game(self, row: Row) -> Game:
        """The game of a row, without distractors."""
        chosen = self.options
        return games.game(
            row.fields, chosen.splitter, chosen.match, self._plain, chosen.slots, self.stop_words
        )

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the question and a sentence; draw the distractors and the first sentence, where asked to."""
        game = self.game(row)
        if self.options.distractors:
            game = self._distracted(row, game, rng)
        cursor = 0
        if self.options.start == "random":
            cursor = int(rng.draw(0, "start").integers(len(game.document.ranges)))
        state = State(game, cursor, (game.document.first_equal[cursor],))
        return Opening(state, self._observe(state, f"Question: {game.asked}\n{self._sentence(state)}"))

    def read(self, state: State, text: str) -> Command | Invalid:
        """The command of `commands.parse`; once the game has halted, the text is the answer."""
        if state.ended:
            return Command(ANSWER, text.strip())
        command = parse(text)
        if type(command) is str:
            return Invalid(command, text)
        assert isinstance(command, Command)
        verb = command.verb
        if verb == SEARCH:
            if self._asks and command.text in state.game.queries:  # the usual case
                return command
            return command if self._allowed(state, command.text) else Invalid(NOT_ALLOWED, text)
        if verb == STOP:
            return command if not command.text or self.options.answer_phase else Invalid(NOT_A_COMMAND, text)
        return command if self.options.mode != HARD else Invalid(NOT_IN_HARD_MODE, text)

    def play(self, state: State, move: Command | Invalid) -> Outcome:
        """Move the cursor and put the sentence into memory, or halt, or take the answer."""
        if state.ended:
            assert isinstance(move, Command)
            return self._answered(state, move.text, EMPTY)
        used = state.used + 1
        if isinstance(move, Invalid):
            after, text, rewards = _moved(state, used), f"{move.why}\n", WRONG
        elif move.verb == STOP:
            return self._halted(_moved(state, used), STOPPED, "", EMPTY, move.text)
        else:
            after, rewards = self._go(state, move, used), EMPTY
            if self._exposed and after.last is not None and not after.last[0]:
                text = NOT_FOUND
            elif self._revealed:
                text = self._sentence(after)
            else:
                text = state.game.document.lines[after.cursor]
        if used >= self._steps:
            return self._halted(after, BUDGET, text, rewards)
        return Outcome(after, self._observe(after, text), rewards)

    def _go(self, state: State, move: Command, used: int) -> State:
        """The state after previous, next or a search."""
        game, cursor, memory = state.game, state.cursor, state.memory
        document, searched, hits, last = game.document, state.searched, state.hits, None
        if move.verb == SEARCH:
            cursor, found, wrapped = self.find(document, cursor, move.text)
            searched, hits, last = (*searched, move.text), hits + found, (found, wrapped)
        else:
            cursor = (cursor + (1 if move.verb == NEXT else -1)) % len(document.ranges)
        number = document.first_equal[cursor]
        if number not in memory:
            memory = (*memory, number)[-self._slots :]
        return State(game, cursor, memory, used, searched, hits, last)

    def _halted(self, state: State, why: str, text: str, rewards: Record, answer: str = "") -> Outcome:
        """The outcome when the agent stops or has no command left: the reward for the memory."""
        rewards = rewards.with_(sufficient=float(self.sufficient(state)))
        halted = state._replace(ended=why)
        if not self.options.answer_phase:
            return Outcome(halted, self._observe(halted, text), rewards, why)
        if answer:
            return self._answered(halted, answer, rewards)
        return Outcome(halted, self._observe(halted, text + NOW_ANSWER), rewards)

    def _answered(self, state: State, answer: str, rewards: Record) -> Outcome:
        after = state._replace(answer=answer)
        f1, em = games.score(state.game, answer)
        rewards = rewards.with_(f1=f1, em=em)
        return Outcome(after, self._observe(after, ""), rewards, state.ended)

    def score(self, row: Row, answer: str) -> tuple[float, float]:
        """F1 and exact match of an answer to a row's question (`games.score`)."""
        return games.score(self.game(row), answer)

    def sufficient(self, state: State) -> bool:
        """Whether the memory of a state holds a right answer."""
        normalised = state.game.document.answer_words
        memory = [normalised[i] for i in state.memory]
        return scores.sufficient(state.game.needles, memory, self.options.match)

    def goal(self, row: Row, observation: Observation) -> bool:
        """Whether the memory of an observation holds a right answer."""
        memory = map(scores.sentence_words, observation.fields["memory"])
        return scores.sufficient(self.game(row).needles, memory, self.options.match)

    def queries(self, state: State) -> tuple[str, ...]:
        """The queries that are legal in a state; with any text or a vocabulary, those of the question."""
        if self.options.queries != QUESTION_MEMORY:
            return state.game.queries
        sentences = state.game.document.sentences
        return games.with_memory(state.game, [sentences[i] for i in state.memory])

    def expert(self, state: State) -> str:
        """The first command of a shortest way to a sufficient memory, then "stop" and a right answer."""
        return oracle.command(self, state)

    def solution(self, state: State) -> str | None:
        """The right answers."""
        return " | ".join(dict.fromkeys(state.game.golds))

    def render_ansi(self, observation: Observation) -> str:
        """The question, and the memory with the current sentence."""
        return terminal.render_ansi(observation)

    def info(self, state: State, ended: str | None) -> dict[str, Any]:
        """Further keys of `info`: the cursor, and whether the last search found its query and wrapped."""
        found, wrapped = state.last or (None, None)
        facts = {"cursor": state.cursor, "found": found, "wrapped": wrapped}
        return facts if ended is None else {**facts, "golds": state.game.golds}

    def measure(self, ended: Sequence[tuple[Row, Observation]]) -> Record:
        """Over a corpus: the scores of `measures.summary` of which larger is better."""
        return measures.better_when_larger(measures.summary(ended, self.options.steps, self.score))

    def _observe(self, state: State, text: str) -> Observation:
        """The observation of a state: `text` is what is new."""
        game, last = state.game, state.last
        sentences, queries, source = game.document.sentences, game.queries, self._source
        legal: Legal = game.legal if source == QUESTION else None
        if source == QUESTION_MEMORY:
            queries = self.queries(state)
            legal = games.searches(self._plain, queries, self.options.slots)
        fields = Record(
            question=game.question,
            queries=queries,
            sentence=sentences[state.cursor],
            memory=tuple([sentences[i] for i in state.memory]),
            searched=state.searched,
            left=self._steps - state.used,
            found=last[0] if last is not None and self._exposed else None,
        )
        if state.ended:
            fields = fields.with_(
                ended=state.ended,
                sufficient=self.sufficient(state),
                searches=len(state.searched),
                hits=state.hits,
                answer=state.answer,
            )
            if self.options.answer_phase and self.actions is not None:
                legal = ()
        return Observation(text, fields, legal)

    def _sentence(self, state: State) -> str:
        return self.line(state.game.document, state.cursor)

    def line(self, document: Document, cursor: int) -> str:
        """The text of an observation that shows a sentence."""
        if self._revealed:
            return f"{cursor + 1}/{len(document.lines)} {document.lines[cursor]}"
        return document.lines[cursor]

    def _allowed(self, state: State, query: str) -> bool:
        """Whether a query, or each word of a query of several words, is legal."""
        source = self._source
        if source == ANY or query in state.game.queries:
            return source != VOCABULARY or self.known(query)
        if source == VOCABULARY:
            return all(map(self.known, query.split()))
        known = self.queries(state)
        return all(part in known for part in query.split())

    def words(self) -> tuple[str, ...]:
        """The tokens of the training paragraphs and questions in lower case, in order of their first use."""
        return rows.all_words(self.rows("train"), self.options.splitter)

    def spans(self, row: Row, observation: Observation) -> list[tuple[int, int]]:
        """Where right answers to a row's question stand among the tokens of an observation's memory.

        Half-open ranges in order, as `scores.spans`, whatever `match` is.
        """
        golds = games.golds(row.fields, self.game(row).document)
        return scores.spans(scores.needles(golds, "token"), observation.fields["memory"])

    def known(self, word: str) -> bool:
        """Whether a word is in the vocabulary of queries."""
        return isinstance(self.actions, Vocabulary) and word in self.actions.numbers

    def _distracted(self, row: Row, game: Game, rng: Key) -> Game:
        """A training row's game with the sentences of other training paragraphs inserted."""
        if self._train is None:
            training = self.rows("train")
            paragraphs = dict.fromkeys((row["context"], row["places"], row["tokenised"]) for row in training)
            self._train = frozenset(row.id for row in training), tuple(paragraphs)
        ids, contexts = self._train
        if row.id not in ids:
            return game
        stream, count = rng.draw(0, "distractors"), self.options.distractors
        drawn = stream.choice(len(contexts), size=min(count + 1, len(contexts)), replace=False).tolist()
        others = [contexts[i] for i in drawn if contexts[i][0] != row["context"]][:count]
        return games.with_distractors(game, [self._document(context) for context in others], stream)

    def _document(self, context: Context) -> Document:
        return document(*context, self.options.splitter)


def _moved(state: State, used: int) -> State:
    """The state after a command that moves nothing."""
    return State(state.game, state.cursor, state.memory, used, state.searched, state.hits)


def _spec(chosen: settings.Options) -> TaskSpec:
    weights = {"sufficient": float(chosen.reward == "sufficient"), "invalid": chosen.invalid_penalty}
    if chosen.answer_phase:
        weights |= {"f1": float(chosen.reward == "f1"), "em": 0.0}
    instruction = (
        f"Find the sentence that answers the question. Commands: {LISTED[chosen.mode]}. "
        f"{ALLOWED.get(chosen.queries, '')}Stop when the last {chosen.memory} sentences hold the answer; "
        f"you have {chosen.steps} commands."
    )
    return TaskSpec(
        id="reading",
        instruction=instruction if chosen.instruct else "",
        rewards=Record(weights),
        invalid=INVALID,
        return_range=(-chosen.invalid_penalty * chosen.steps, 1.0),
        ranges=Record(score=(0.0, 1.0)),
        paper="arXiv:1908.10449",
        licences=("Apache-2.0",) if chosen.source == "builtin" else (),
    )
