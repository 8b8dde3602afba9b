"""A language model as an agent: a format writes the prompts, and all answers are decoded together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from loquent.core.agent import Answer, Question, before_first
from loquent.core.episode import Episode
from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.models.actor import Actor
from loquent.models.choose.best_of import BestOf
from loquent.models.decode.transfer import engine_for, engine_of
from loquent.models.decoding_settings import OURS, Decoding
from loquent.models.engine import Ask, Engine, Nucleus, draw, refuse
from loquent.models.format.names import Format, Plain
from loquent.models.tokens.room import Limits
from loquent.models.tokens.rows import answer_row
from loquent.models.tokens.support import Trie, legal_words
from loquent.models.values.perturb import Perturbation, best_of_kl
from loquent.pretrained import context, prompt_room


class LanguageModelAgent:
    """Answers with a causal model.

    The agent has no state of an episode: an answer depends only on the question, its key and the model.

    If the observation has stop strings, the answer's text ends before the first of them. The answer's tokens
    are all drawn tokens. With `decoding.legal` a trie over the legal texts allows only the task's legal
    actions, word for word, in states that ask for an action.

    Args:
        module: a Hugging Face causal model.
        format: writes turns as token ids; only ids of its tokenizer are drawn.
        decoding: how answers are drawn; `Decoding()` by default.
        nucleus: NLPO's masking policy, or None.
        engine: who draws the tokens; by default a new engine, which `decoding.engine` names.
        perturbation: values that perturb the policy, or None.
        best_of: the number of candidates for each answer, and the score that chooses among them; None: one
            candidate.

    Raises:
        BadSetting: the answers' length leaves no room for a prompt in the model's context, or all candidates
            of an answer would be the same.
        EngineCannot: the engine cannot draw with these settings.
    """

    def __init__(
        self,
        module: Any,
        format: Format,
        decoding: Decoding | None = None,
        nucleus: Nucleus | None = None,
        *,
        engine: Engine | None = None,
        perturbation: Perturbation | None = None,
        best_of: BestOf | None = None,
        name: str = "language model",
    ) -> None:
        self.module, self.format, self.name = module, format, name
        self.nucleus = nucleus
        self.perturbation, self.best_of = perturbation, best_of
        self.decoding = Decoding() if decoding is None else decoding
        if best_of is not None and best_of.number > 1 and self.decoding.method != "sample":
            raise BadSetting(
                f"the best of {best_of.number} answers with method = {self.decoding.method!r}: all are the "
                "same; use method = 'sample', which draws different answers"
            )
        new = self.decoding.max_new_tokens
        self.room = prompt_room(module, new)
        if self.room < 1:
            raise BadSetting(
                f"max_new_tokens = {new} leaves no room for a prompt in the model's "
                f"context of {new + self.room}; it must be less than the context"
            )
        self.room = min(self.room, self.decoding.max_prompt_tokens or self.room)
        self.engine = engine_of(self.decoding.engine, module, format) if engine is None else engine
        self.settings = Ask((), Key(0), self.decoding, nucleus=nucleus, perturbation=perturbation)
        refuse(self.engine, self.settings.wants)

    @classmethod
    def of(cls, actor: Actor, evaluating: bool, version: int = 0, **choice: Any) -> Self:
        """The agent of an actor, with the decoding of collection or of evaluation.

        Args:
            version: the number of the actor's update; 0 if nobody counts.
            choice: further arguments, such as `nucleus` and `name`.
        """
        decoding = actor.evaluation if evaluating else actor.decoding
        return cls(
            actor.policy, actor.format, decoding, engine=engine_for(actor, decoding, version), **choice
        )

    @property
    def kl_of_choice(self) -> float | None:
        """An upper bound on the KL that the choice of the best of n answers adds, in nats.

        None without values and without a choice.
        """
        if self.perturbation is None and self.best_of is None:
            return None
        return best_of_kl(1 if self.best_of is None else self.best_of.number)

    @property
    def decoding_text(self) -> str:
        """The decoding settings, with what else shapes the choice of an answer."""
        parts = [self.decoding.text]
        if self.nucleus is not None:
            parts.append("inside the mask of the masking policy")
        if self.perturbation is not None and not self.perturbation.neutral:
            parts.append(f"perturbed by values with adv_beta {self.perturbation.adv_beta:g}")
        if self.best_of is not None and self.best_of.number > 1:
            parts.append(f"best of {self.best_of.number}")
        if self.decoding.legal:
            parts.append("legal actions only")
        if self.decoding.engine != OURS:
            parts.append(f"drawn by {self.decoding.engine}")
        return ", ".join(parts)

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question, in order, without dropout."""
        asks, cuts = [], []
        for question in asked:
            observation = question.observation
            ids, first = self.format.prompt(
                question.instruction,
                question.turns,
                observation.seat,
                self.room,
                self.decoding.truncation_side,
            )
            cuts.append(first)
            asks.append(
                replace(
                    self.settings,
                    ids=ids,
                    key=question.key,
                    stop=observation.stop,
                    legal=self._words(question),
                    game=question.game,
                )
            )
        number = 1 if self.best_of is None else self.best_of.number
        more = [replace(ask, key=ask.key.child("candidate", i)) for i in range(1, number) for ask in asks]
        drawn = draw(self.engine, asks + more)
        if self.best_of is not None:
            candidates = [drawn[i :: len(asked)] for i in range(len(asked))]
            drawn = self.best_of.choose([ask.ids for ask in asks], candidates)
        answers = []
        for ask, first, answer in zip(asks, cuts, drawn, strict=True):
            text = self.format.text(answer.tokens.ids.tolist(), ask.ids)
            answers.append(Answer(before_first(text, ask.stop), answer.stopped, answer.tokens, first))
        return answers

    def answer_rows(self, answers: Sequence[tuple[Episode, str]]) -> list[tuple[list[int], int]] | None:
        """The rows of texts in the place of the last answers of episodes, as in `metric.Context`."""
        if isinstance(self.format, Plain):
            return None
        limits = Limits(context(self.module), self.room, self.decoding.truncation_side, cuts_answers=True)
        return [answer_row(self.format, *answer, limits) for answer in answers]

    def _words(self, question: Question) -> Trie | None:
        """The trie of the legal texts; None if any text may be drawn.

        Raises:
            BadSetting: a legal text is longer than an answer may be.
        """
        actions, legal = question.actions, question.observation.legal
        if not self.decoding.legal or actions is None or actions.asks_text(legal):
            return None
        words, most = legal_words(self.format, actions, legal), self.decoding.max_new_tokens
        if words.depth > most:
            raise BadSetting(
                f"max_new_tokens = {most} with legal = true: the longest legal action has {words.depth} "
                f"tokens with its end marker, and must fit; set max_new_tokens to at least {words.depth}"
            )
        return words
