"""An agent behind HTTP: an endpoint of OpenAI's chat or completions protocol, with parallel requests.

A malformed answer does not end a run: an answer without text is "", and a longer answer is cut. After a
failure the agent repeats the request several times, after growing pauses. Then it raises an error with the
address and the endpoint's message.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from loquent.agents import prompts
from loquent.agents.exact import Exact
from loquent.agents.http_options import CHAT, HttpOptions
from loquent.core.agent import Answer, Question
from loquent.core.episode import Turn
from loquent.core.remote.attempts import Attempts, Failed, TooLong
from loquent.core.remote.endpoint import CONTEXT, Endpoint, dump_value
from loquent.core.settings import Remark
from loquent.core.task import Task
from loquent.core.values import plain
from loquent.errors import BrokenAgent
from loquent.models.export_note import NOTE

MOST_STOPS = 4  # the most stop strings that the protocol allows
REMEMBERED = 4096  # the most episodes for which the dropped turns are remembered
SAMPLING = ("top_p", "top_k", "min_p")  # further fields of a request that shape its sampling
MOST_TOKENS = 10**9  # of one request; an endpoint that reports more is not believed
T = TypeVar("T")
NO_IDS = frozenset({400, 415, 422})  # statuses of a server that takes no token ids as a prompt


class Http:
    """Answers with the texts of an endpoint.

    Each question is one request with all observations and answers of its seat.

    The question's own stream draws the `seed` of its request; the endpoint decides whether equal seeds give
    equal answers. If the endpoint reports that a prompt is longer than its context, the agent omits the
    oldest turns, like a local agent, and counts them in `Answer.dropped`.

    Raises:
        BadSetting: an option is invalid, or the environment has no usable key.
        MissingExtra: a library is not installed.
    """

    Options: ClassVar[type] = HttpOptions

    def __init__(self, task: Task | None, options: HttpOptions) -> None:
        self.options = options
        self.name = f"http/{options.model}"
        url = options.base_url.rstrip("/") + ("/chat/completions" if options.api == CHAT else "/completions")
        self.endpoint = Endpoint(url, options)
        exported = (Path(options.model) / NOTE).is_file()
        folder = options.tokenizer or (options.model if exported else "")
        self.exact = Exact(folder, options.format, options.api, options.max_tokens) if folder else None
        self.tokens, self.concurrency = 0, options.concurrency
        self._refused: OrderedDict[tuple[str, str], tuple[tuple[Turn, ...], int]] = OrderedDict()
        self._remarks: list[str] = []

    @property
    def receiver(self) -> str:
        """The address and the model that questions are sent to."""
        return f"{self.endpoint.url} (model {self.options.model})"

    @property
    def decoding_text(self) -> str:
        """The sampling that is asked of the endpoint."""
        further = [f"{name} {value}" for name, value in self.options.extra.items() if name in SAMPLING]
        return ", ".join(["sampled by an endpoint", f"temperature {self.options.temperature:g}", *further])

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question, in order. Ctrl-C ends it at once.

        Raises:
            BrokenAgent: the endpoint refused a question, or failed at every attempt; the error has its
                address and status.
        """
        return self._each(self._ask, asked)

    def attempt(self, questions: Sequence[Question]) -> list[Answer | BrokenAgent]:
        """One answer per question, or its error; Ctrl-C ends it at once.

        A prompt that is known to be longer than the context is an error, and is not sent.
        """
        return self._each(self._try, questions)

    def _each(self, ask: Callable[[Question], Coroutine[Any, Any, T]], asked: Sequence[Question]) -> list[T]:
        try:
            return self.endpoint.each(ask, asked)
        finally:
            while self._remarks:
                warnings.warn(self._remarks.pop(0), Remark, stacklevel=3)

    async def _try(self, question: Question) -> Answer | BrokenAgent:
        try:
            if self.exact is not None:
                prompts.check_fits(self.exact.format, question, self.exact.room, self.name)
            return await self._ask(question)
        except BrokenAgent as error:
            return error

    async def _ask(self, question: Question) -> Answer:
        first = self._first(question)
        who = f"{self.name} (game {question.game}): {self.endpoint.url}"
        attempts = Attempts(self.options, question.key, who)
        while True:
            body, stops = self._question(question, first)
            try:
                response = await self.endpoint.post(body)
                text, stopped = self._read(response, question, stops)
                self.tokens += _tokens(response, body)
                return Answer(text, stopped, dropped=first)
            except TooLong as error:
                self._remarks.append(
                    f"{self.name} (game {question.game}): {error} was not read to its end; it counts as an "
                    "empty answer"
                )
                return Answer("", "length", dropped=first)
            except Failed as error:
                if error.context:
                    shorter = prompts.next_first(question.turns, question.observation.seat, first)
                    if shorter is None:
                        raise attempts.final_error(error) from None
                    first = self._drop(question, shorter)
                elif (
                    isinstance(body.get("prompt"), list) and error.status in NO_IDS and self.exact is not None
                ):
                    self.exact.as_text = True
                else:
                    await attempts.after(error)

    def _first(self, question: Question) -> int:
        """The first turn that is written.

        Histories with more turns were too long before, or do not fit into the known context.
        """
        turns, first = self._refused.get((question.game, question.observation.seat), ((), 0))
        first = first if question.turns[: len(turns)] == turns else 0
        return first if self.exact is None else self.exact.first(question, first)

    def _drop(self, question: Question, first: int) -> int:
        """Remember that the turns before `first` do not fit.

        So the endpoint need not refuse the episode's next question for the same reason.
        """
        if not self._refused:
            self._remarks.append(
                f"{self.name} (game {question.game}): the context is full; the oldest turns are left out, as "
                "by a local agent"
            )
        self._refused[question.game, question.observation.seat] = question.turns, first
        while len(self._refused) > REMEMBERED:
            self._refused.popitem(last=False)
        return first

    def _question(self, question: Question, first: int) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The body of a request, and the stop strings of its answer."""
        options, exact = self.options, self.exact
        body: dict[str, Any] = {
            **plain(options.extra),
            "model": options.model,
            "temperature": options.temperature,
        }
        body[options.length_field] = options.max_tokens
        if options.seed:
            body["seed"] = question.key.integer(31)
        stops = [prompts.clean(text) for text in question.observation.stop if text]
        if options.api == CHAT:
            body["messages"] = (
                prompts.messages(question, first, options.nothing)
                if exact is None
                else exact.messages(question, first)
            )
            if exact is not None and (tools := exact.tools(question, first)):
                body["tools"] = tools
            if exact is not None and exact.format.variables:
                body["chat_template_kwargs"] = dict(exact.format.variables)
        else:
            body["prompt"] = prompts.text(question, first) if exact is None else exact.prompt(question, first)
        if exact is not None:
            stops += exact.ends
        elif options.api != CHAT:
            stops += prompts.line_stops(question.actions, question.observation.legal)
        stops = list(dict.fromkeys(stops))
        if stops:
            body["stop"] = stops[:MOST_STOPS]
        return body, tuple(stops)

    def _read(self, response: Any, question: Question, stops: tuple[str, ...]) -> tuple[str, Any]:
        """The text of an answer, and the reason why it stopped."""
        choices = response.get("choices") if isinstance(response, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            error = dump_value(response.get("error")) if isinstance(response, dict) else ""
            context = CONTEXT.search(error) is not None
            raise Failed(
                f"status 200, and a response without choices{self.endpoint.quote_text(error)}",
                status=200,
                context=context,
            )
        options, first = self.options, choices[0]
        message = first.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        content = content if options.api == CHAT else first.get("text")
        # a refusal, a call of a tool, or nothing gives no text
        text = content if isinstance(content, str) else ""
        places = [(place, string) for string in stops if (place := text.find(string)) >= 0]
        own = first.get("stop_reason")  # some servers name the stop string at which they stopped
        ended = min(places)[1] if places else own if isinstance(own, str) else ""
        text = text[: min(places)[0]] if places else text
        cut = len(text) > options.max_characters or (first.get("finish_reason") == "length" and not places)
        text = text[: options.max_characters]
        if self.exact is not None:
            text = self.exact.answer_text(text)
        elif options.strip and question.actions is not None:
            text = text.strip()
        return text, "length" if cut else "stop" if ended in question.observation.stop and ended else "end"


def _tokens(response: Any, body: Any) -> int:
    """The tokens of a request by its response; if it does not say, the bytes of both, which are more."""
    usage = response.get("usage") if isinstance(response, dict) else None
    count = usage.get("total_tokens") if isinstance(usage, dict) else None
    if isinstance(count, int) and not isinstance(count, bool) and 0 < count < MOST_TOKENS:
        return count
    return len(dump_value(body).encode("utf-8", "replace")) + len(
        dump_value(response).encode("utf-8", "replace")
    )
