"""Scripts that ask about built-in scenes: a careless questioner, a good one, and a fixed list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loquent.core.agent import Question
from loquent.core.settings import check_ranges, setting
from loquent.errors import BrokenAgent
from loquent.tasks.dialogue.players.seats import Player
from loquent.tasks.dialogue.scenes import questions
from loquent.tasks.dialogue.scenes.domains import DOMAINS, OFF_TOPIC
from loquent.tasks.dialogue.scenes.scene import VALUES
from loquent.tasks.dialogue.state import State
from loquent.tasks.dialogue.task import AGENT

# one question for each property of each kind of scene, the kinds in turn
LISTED = tuple(
    domain.properties[number].asked.format(s=domain.subjects[0]) for number in range(2) for domain in DOMAINS
)


@dataclass(frozen=True, kw_only=True)
class CasualOptions:
    """The options of dialogue/casual."""

    yes_no: float = setting(0.6, "the share of yes/no questions about the scene", low=0.0, high=1.0)
    off_topic: float = setting(0.25, "the share of questions about nothing in the scene", low=0.0, high=1.0)

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """The options of dialogue/list."""

    questions: tuple[str, ...] = setting(LISTED, "the questions, in order; the last one is repeated")


class Casual(Player):
    """Asks at random, also what is known already; the questioner of the built-in recordings."""

    Options: ClassVar[type] = CasualOptions
    kind, seats = "dialogue/casual", (AGENT,)

    def text(self, question: Question, state: State) -> str:
        """A question drawn from the scene's questions and those about nothing in it."""
        stream, chosen = question.key.generator(), self.options
        if stream.random() < chosen.off_topic:
            return str(stream.choice(list(OFF_TOPIC)))
        is_check = stream.random() < chosen.yes_no
        texts = [
            text
            for text, asked in questions.question_texts(subject_of(question, state))
            if (asked.value is not None) == is_check
        ]
        return texts[int(stream.integers(len(texts)))]


class Careful(Player):
    """Asks for each property that is neither in the caption nor known from an answer, in order."""

    kind, seats = "dialogue/careful", (AGENT,)

    def text(self, question: Question, state: State) -> str:
        """The next question; the last property again when all are known."""
        asked = questions.unknown(state.caption, [asked for asked, _ in state.history])
        return asked or questions.question_texts(subject_of(question, state))[-VALUES - 1][0]


class List(Player):
    """Asks the same questions in every game."""

    Options: ClassVar[type] = ListOptions
    kind, seats = "dialogue/list", (AGENT,)

    def text(self, question: Question, state: State) -> str:
        """The next question of the list."""
        listed = self.options.questions
        return str(listed[min(len(state.history), len(listed) - 1)])


def subject_of(question: Question, state: State) -> str:
    """The subject that the caption names; BrokenAgent for a caption of another world."""
    stated = questions.captions().get(questions.normalise(state.caption))
    if stated is None:
        raise BrokenAgent(
            f"{question.game}: the caption {state.caption!r:.80} is none of the built-in world; this script "
            "asks about built-in scenes only"
        )
    return stated[0]
