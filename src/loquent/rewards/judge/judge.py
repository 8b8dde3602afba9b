"""The reward and metric `llm_judge`: the score that a language model gives an answer.

An answer that the judge does not score is unjudged: the judge failed at every attempt, its reply has no
verdict, or the budget is spent. Learners leave such answers out, and means are over the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from loquent.core.agent import LEARNING, Answer, Attempting, Question, make
from loquent.core.episode import TASK, Turn
from loquent.core.metric import Context, Measured, Range, Samples
from loquent.core.options import takes, without_transport
from loquent.core.seeding import Key
from loquent.core.settings import Remark
from loquent.core.task import Observation
from loquent.core.values import digest
from loquent.data import content
from loquent.errors import BadSetting, BrokenAgent
from loquent.metrics.shared_parts import with_means
from loquent.rewards.judge import questions
from loquent.rewards.judge.options import AUTO, NONE, SCALE, JudgeOptions
from loquent.rewards.judge.replies import Replies

NAME = "llm_judge"
REQUESTS, TOKENS = "requests", "tokens"
TOGETHER = 256  # questions after whose replies the cache is written
SPENT = "the budget is spent"
NO_VERDICT = "the reply has no verdict"


@dataclass(eq=False)
class Judge:
    """Per sample the judge's score: a rating, or in pairs the mean of a win (1), a tie (0.5) and a loss (0).

    None for a pair without a reference, and for an unjudged sample.

    Args:
        identity: the judge and the content of its files, for the cache.
    """

    agent: Attempting
    options: JudgeOptions
    identity: str
    replies: Replies
    spent: dict[str, int] = field(default_factory=lambda: {REQUESTS: 0, TOKENS: 0})
    problems: set[str] = field(default_factory=set, repr=False)
    name: ClassVar[str] = NAME
    keys: ClassVar[tuple[str, ...]] = (NAME,)
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    fallible: ClassVar[bool] = True

    @property
    def range(self) -> Range:
        """The scale, or 0 to 1 for pairs."""
        return (self.options.low, self.options.high) if self.options.form == SCALE else (0.0, 1.0)

    def __call__(self, samples: Samples) -> Measured:
        """Score the predictions after their prompts; each distinct question is asked once."""
        asked = [
            self._questions(*sample)
            for sample in zip(samples.prompts, samples.references, samples.predictions, strict=True)
        ]
        replies = self._ask(list(dict.fromkeys(text for own in asked for text in own)))
        scores = [self._score([replies[text] for text in own]) for own in asked]
        failed = frozenset(i for i, own in enumerate(asked) if own and scores[i] is None)
        if failed:
            first = asked[min(failed)]
            self._remark(len(failed), len(samples), [replies[text] for text in first])
        measured = with_means({self.name: scores})
        return Measured(measured.samples, measured.corpus, failed)

    def _questions(self, prompt: str, references: Sequence[str], answer: str) -> tuple[str, ...]:
        """The questions about an answer: one, or two in the form of pairs; () if it cannot be asked about."""
        reference, options = (references[0] if references else ""), self.options
        if options.form == SCALE:
            return (questions.scale(options, prompt, reference if options.reference else "", answer),)
        if not reference:
            return ()
        return (
            questions.pair(options, prompt, answer, reference),
            questions.pair(options, prompt, reference, answer),
        )

    def _score(self, replies: Sequence[str | BrokenAgent]) -> float | None:
        values = [self._value(reply) for reply in replies if isinstance(reply, str)]
        verdicts = [value for value in values if value is not None]
        if not verdicts or len(verdicts) < len(replies):
            return None
        return verdicts[0] if self.options.form == SCALE else (verdicts[0] + 1.0 - verdicts[1]) / 2

    def _ask(self, texts: Sequence[str]) -> dict[str, str | BrokenAgent]:
        """The reply to each question, or why there is none."""
        keys = {text: digest((self.identity, text), 64) for text in texts}
        kept = self.replies.find(list(keys.values()))
        results: dict[str, str | BrokenAgent] = {
            text: kept[key]
            for text, key in keys.items()
            if key in kept and self._value(kept[key]) is not None
        }
        new = [text for text in texts if text not in results]
        while new:
            count = min(len(new), self._allowed())
            if not count:
                return results | {text: BrokenAgent(f"{self.agent.name}: {SPENT}") for text in new}
            part, new = new[:count], new[count:]
            answers = self._attempt([self._question(text, keys[text]) for text in part])
            fresh = dict(zip(part, answers, strict=True))
            results |= fresh
            self.replies.keep({keys[text]: reply for text, reply in fresh.items() if isinstance(reply, str)})
        return results

    def _allowed(self) -> int:
        """The most questions to ask at once within the budget."""
        requests, tokens = self.options.most_requests, self.options.most_tokens
        if tokens and self.spent[TOKENS] >= tokens:
            return 0
        most = self.agent.concurrency if tokens else TOGETHER  # tokens are known after the replies
        return min(most, requests - self.spent[REQUESTS]) if requests else most

    def _attempt(self, asked: Sequence[Question]) -> list[str | BrokenAgent]:
        before = self.agent.tokens
        answers = self.agent.attempt(asked)
        self.spent[REQUESTS] += len(asked)
        self.spent[TOKENS] += self.agent.tokens - before
        return [self._read(answer) for answer in answers]

    def _read(self, answer: Answer | BrokenAgent) -> str | BrokenAgent:
        """The text of a reply with a verdict; other replies are not kept, and may be asked for again."""
        if isinstance(answer, BrokenAgent):
            return answer
        if self._value(answer.text) is None:
            return BrokenAgent(f"{self.agent.name}: {NO_VERDICT}: {answer.text[-80:]!r}")
        return answer.text

    def _value(self, reply: str) -> float | None:
        """The verdict of a reply."""
        if self.options.form == SCALE:
            return questions.rating(self.options, reply)
        return questions.preference(reply)

    def _question(self, text: str, key: str) -> Question:
        turn = Turn(TASK, text, to=LEARNING)
        return Question(key[:12], (turn,), Observation(text), Key(0, ("judge", key)))

    def _remark(self, failed: int, samples: int, replies: Sequence[str | BrokenAgent]) -> None:
        """Say the first failure of a run, and the end of its budget; later failures are only counted."""
        error = next(reply for reply in replies if isinstance(reply, BrokenAgent))
        kind = SPENT if SPENT in str(error) else ""
        if kind not in self.problems:
            self.problems.add(kind)
            line = f"{self.name}: {failed} of {samples} answers were not judged; the first: {error}"
            warnings.warn(line, Remark, stacklevel=3)


@takes(JudgeOptions, NAME)
def llm_judge(context: Context, options: JudgeOptions) -> Judge:
    """A language model's rating of the answer. Needs loquent[http] and an endpoint, or a model's folder.

    In the form of pairs it is a comparison with the reference.

    Raises:
        BadSetting: the judge cannot be made, cannot fail question by question, or the cache is no folder.
    """
    agent: Any = make(options.judge, context.task, place=f"{NAME}.judge")
    if not isinstance(agent, Attempting):
        raise BadSetting(
            f"{NAME}.judge: the agent {agent.name} cannot judge, as it has no `attempt`; use kind: http or "
            "kind: folder"
        )
    folder = {AUTO: context.cache / "judge", NONE: None}.get(options.cache, Path(options.cache))
    if agent.receiver:
        more = ", its prompt and its reference" if options.reads_reference else " and its prompt"
        where = "are not kept" if folder is None else f"are kept in {folder}"
        line = f"{NAME} sends each answer{more} to {agent.receiver}; replies {where}"
        warnings.warn(line, Remark, stacklevel=3)
    identity = digest(
        (without_transport(options.judge), content.of(*content.named_by([("agent", options.judge)])))
    )
    return Judge(agent, options, identity, Replies(folder))
