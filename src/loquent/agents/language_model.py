"""A language model as an agent: questions become prompts by the format, answers are decoded together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loquent.core.agent import Answer, Question
from loquent.errors import BadSetting
from loquent.models.choose.best_of import BestOf
from loquent.models.decode.loop import Decoding, Nucleus, decode
from loquent.models.format.names import Format
from loquent.models.support import Trie, legal_words
from loquent.models.values.perturb import Perturbation, best_of_kl
from loquent.pretrained import context


class LanguageModelAgent:
    """Answers with a causal model.

    It keeps no game's state: what it says depends on the question, its key and the model alone.

    Where the observation has stop strings, the answer's text is what stands before the first of them; its
    tokens are all that were drawn. With `legal_only` a task's action set is said word for word, and nothing
    else can be (a trie over its legal texts).

    Args:
        module: a Hugging Face causal model.
        format: how turns are written; its tokenizer's ids are the only ones ever drawn.
        decoding: how answers are made; `Decoding()` by default.
        nucleus: NLPO's masking policy, or None.
        perturbation: values that the policy is perturbed by, or None.
        best_of: how many answers are drawn for each one given, and by which score the best is taken; None:
            the one drawn is given.

    Raises:
        BadSetting: the answers' length leaves no room for a prompt in the model's context, or several answers
            to one question would all be the same.
    """

    def __init__(
        self,
        module: Any,
        format: Format,
        decoding: Decoding | None = None,
        nucleus: Nucleus | None = None,
        *,
        perturbation: Perturbation | None = None,
        best_of: BestOf | None = None,
        name: str = "language model",
        legal_only: bool = False,
    ) -> None:
        self.module, self.format, self.nucleus, self.name, self.legal_only = (
            module,
            format,
            nucleus,
            name,
            legal_only,
        )
        self.perturbation, self.best_of = perturbation, best_of
        self.decoding = Decoding() if decoding is None else decoding
        if best_of is not None and best_of.number > 1 and self.decoding.method != "sample":
            raise BadSetting(
                f"the best of {best_of.number} answers with method = {self.decoding.method!r}: all "
                "are the same; 'sample' draws them"
            )
        self.room = context(module) - self.decoding.max_new_tokens
        if self.room < 1:
            raise BadSetting(
                f"max_new_tokens = {self.decoding.max_new_tokens} leaves no room for a prompt in the "
                f"model's context of {context(module)}"
            )
        self.room = min(self.room, self.decoding.max_prompt_tokens or self.room)

    @property
    def kl_of_choice(self) -> float | None:
        """What choosing the best of n adds to the KL of an answer to the policy, in nats, at most.

        None for an agent that is its policy.
        """
        if self.perturbation is None and self.best_of is None:
            return None
        return best_of_kl(1 if self.best_of is None else self.best_of.number)

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question, in order; the model's dropout is off meanwhile."""
        written = [
            self.format.prompt(one.instruction, one.turns, one.observation.seat, self.room) for one in asked
        ]
        prompts, dropped = [prompt for prompt, _ in written], [first for _, first in written]
        number = 1 if self.best_of is None else self.best_of.number
        stop = [self._stop(one.observation.stop, prompt) for one, prompt in zip(asked, prompts, strict=True)]
        drawn = decode(
            self.module,
            prompts * number,
            [one.key.child("candidate", i) if i else one.key for i in range(number) for one in asked],
            self.decoding,
            end=self.format.end,
            pad=self.format.pad,
            stop=stop * number,
            allowed=[self._words(one) for one in asked] * number,
            nucleus=self.nucleus,
            perturbation=self.perturbation,
            vocabulary=self.format.vocabulary,
        )
        if self.best_of is not None:
            drawn = self.best_of.choose(prompts, [drawn[i :: len(asked)] for i in range(len(asked))])
        answers = []
        for one, prompt, first, said in zip(asked, prompts, dropped, drawn, strict=True):
            text = self.format.text(said.tokens.ids.tolist(), prompt)
            answers.append(Answer(before_first(text, one.observation.stop), said.stopped, said.tokens, first))
        return answers

    def _stop(self, strings: tuple[str, ...], prompt: Sequence[int]) -> Callable[[list[int]], bool] | None:
        """Whether the newest id completed a stop string: each of its bytes takes one id at most, so only the
        last ids are read.
        """
        if not any(strings):
            return None
        longest = max(len(string.encode("utf-8", "replace")) for string in strings) + 4

        def said(ids: list[int]) -> bool:
            text = self.format.text(ids[-longest:], ids[:-longest] or prompt)
            return any(string in text for string in strings if string)

        return said

    def _words(self, one: Question) -> Trie | None:
        if not self.legal_only or one.actions is None:
            return None
        return legal_words(self.format, one.actions, one.observation.legal)


def before_first(text: str, strings: Sequence[str]) -> str:
    """The text up to the first place where any of the strings stands; all of it where none does."""
    places = [place for string in strings if string and (place := text.find(string)) >= 0]
    return text[: min(places)] if places else text
