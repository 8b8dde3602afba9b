"""An agent behind HTTP: any endpoint that speaks OpenAI's chat or completions, asked about many games at once.

Nothing an endpoint says can crash a run: an answer without text is "", one that is too long is cut. An endpoint that fails is asked
again, some times and after growing pauses; then the error names its address and what it said.
"""

from __future__ import annotations

import json
import os
import re
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar
from urllib.parse import urlsplit

from loquent.agent import Answer, Asked
from loquent.agents.endpoint import Endpoint, Failed, TooLong, shown
from loquent.errors import BadSetting, BrokenAgent
from loquent.seeding import Key
from loquent.settings import Remark, check_ranges, setting
from loquent.task import Task

LONGEST_PAUSE = 60.0  # seconds, whatever the endpoint asks for
MOST_STOPS = 4  # the protocol takes no more
PRINTABLE = re.compile(r"[\x21-\x7e]+")
LONE = re.compile("[\ud800-\udfff]")  # half of a character, which no endpoint takes


@dataclass(frozen=True, kw_only=True)
class HttpOptions:
    """What the agent `http` may be told."""

    base_url: str = setting(why="the endpoint without its last part, as http://127.0.0.1:8000/v1")
    model: str = setting(why="the model's name, as the endpoint knows it")
    api: str = setting("chat", "which protocol it speaks: POST base_url/chat/completions, or base_url/completions", choices=("chat", "completions"))
    api_key_variable: str = setting("", "the environment variable that holds the key; empty: none is sent. A key never stands in a setting")
    temperature: float = setting(1.0, "the endpoint's own temperature", low=0.0)
    max_tokens: int = setting(256, "tokens an answer may have", low=1)
    max_characters: int = setting(16_384, "characters after which an answer is cut, whatever the endpoint sends", low=1)
    max_bytes: int = setting(4_194_304, "bytes of a response that are read; a longer one is an answer cut before its first character", low=1024)
    timeout: float = setting(60.0, "seconds without a sign of the endpoint, and seconds its response may take once it has begun", low=0.01)
    retries: int = setting(4, "further attempts after a failed one", low=0, high=100)
    pause: float = setting(1.0, "seconds before the second attempt; doubled before each further one, to 60 at most, and shortened by chance", low=0.0)
    concurrency: int = setting(8, "questions under way at once", low=1, high=1024)
    nothing: str = setting("(no reply)", "what a chat model is told where the task says nothing: the protocol wants a text in every message")
    strip: bool = setting(True, "take the white space around an answer away: chat models end and begin with it")

    def __post_init__(self) -> None:
        check_ranges(self)
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
            raise BadSetting(f"base_url = {self.base_url!r}: an address such as http://127.0.0.1:8000/v1 is right, without user, query and fragment")
        if not self.model:
            raise BadSetting("model is empty; the model's name is right, as the endpoint knows it")


class Http:
    """Answers with the texts of an endpoint. Each question is one request with all that its seat has read and said.

    A request's `seed` is drawn from the question's own stream; whether equal seeds give equal answers is up to the endpoint.

    Raises:
        BadSetting: an option is none, or the environment has no usable key.
    """

    Options: ClassVar[type] = HttpOptions

    def __init__(self, task: Task | None, options: HttpOptions) -> None:
        self.options = options
        self.name = f"http/{options.model}"
        headers = {"User-Agent": "loquent", **_authorization(options.api_key_variable)}
        url = options.base_url.rstrip("/") + ("/chat/completions" if options.api == "chat" else "/completions")
        self.endpoint = Endpoint(url, headers, options.timeout, options.max_bytes)

    def answer(self, asked: Sequence[Asked]) -> list[Answer]:
        """One answer per question, in order.

        Raises:
            BrokenAgent: the endpoint refused a question, or failed at every attempt; names its address and status.
        """
        pool, over = ThreadPoolExecutor(min(self.options.concurrency, max(len(asked), 1))), threading.Event()
        try:
            return list(pool.map(lambda one: self._ask(one, over), asked))
        finally:  # after an error, or Ctrl-C, no question waits for another attempt
            over.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, asked: Asked, over: threading.Event) -> Answer:
        question, tried = self._question(asked), 0
        while True:
            try:
                return self._read(self.endpoint.post(question), asked.observation.stop)
            except TooLong as error:
                warnings.warn(f"{self.name} (game {asked.game}): {error} was not read to its end; it counts as an empty answer", Remark, stacklevel=2)
                return Answer("", "length")
            except Failed as error:
                tried += 1
                if not error.again or tried > self.options.retries or over.wait(self._pause(tried, error, asked.key)):
                    times = f"{tried} times" if tried > 1 else "once"
                    raise BrokenAgent(f"{self.name} was asked {times} (game {asked.game}) and failed: {self.endpoint.url}: {error}") from None

    def _question(self, asked: Asked) -> dict[str, Any]:
        options, seat = self.options, asked.observation.seat
        common = {"model": options.model, "temperature": options.temperature, "max_tokens": options.max_tokens, "seed": asked.key.integer(31)}
        if stop := [text for text in asked.observation.stop if text][:MOST_STOPS]:
            common["stop"] = stop
        said = [(turn.seat == seat, LONE.sub("\ufffd", turn.text)) for turn in asked.turns]
        instruction = LONE.sub("\ufffd", asked.instruction)
        if options.api == "completions":
            texts = [text for text in (instruction, *(text for _, text in said)) if text]
            return {**common, "prompt": "".join(text if text.endswith("\n") else text + "\n" for text in texts)}
        messages = [{"role": "system", "content": instruction}] if instruction else []
        for own, turns in groupby(said, key=lambda turn: turn[0]):
            text = "\n".join(text for _, text in turns if text)
            messages.append({"role": "assistant" if own else "user", "content": text or options.nothing})
        return {**common, "messages": messages}

    def _read(self, response: Any, stop: tuple[str, ...]) -> Answer:
        choices = response.get("choices") if isinstance(response, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            said = response.get("error") if isinstance(response, dict) else None
            raise Failed(f"status 200, and a response without choices{shown(json.dumps(said)) if said else ''}")
        first = choices[0]
        message = first.get("message")
        text = first.get("text") if self.options.api == "completions" else message.get("content") if isinstance(message, dict) else None
        text = text if isinstance(text, str) else ""  # a refusal, a call of a tool, or nothing at all
        places = [place for string in stop if string and (place := text.find(string)) >= 0]
        text = text[: min(places)] if places else text
        cut = len(text) > self.options.max_characters or (first.get("finish_reason") == "length" and not places)
        text = text[: self.options.max_characters]
        return Answer(text.strip() if self.options.strip else text, "length" if cut else "stop" if places else "end")

    def _pause(self, tried: int, failed: Failed, key: Key) -> float:
        """Seconds before another attempt: what the endpoint asked for; or pauses that double, shortened by chance so that not all end at once."""
        if failed.after is not None:
            return min(failed.after, LONGEST_PAUSE)
        longest = min(self.options.pause * 2 ** min(tried - 1, 30), LONGEST_PAUSE)
        return longest * (1 - 0.5 * float(key.child("attempt", tried).generator().random()))


def _authorization(variable: str) -> dict[str, str]:
    if not variable:
        return {}
    key = os.environ.get(variable, "").strip()
    if not PRINTABLE.fullmatch(key):
        raise BadSetting(f"api_key_variable = {variable!r}: this environment variable {'holds something that is no key' if key else 'is not set'}")
    return {"Authorization": f"Bearer {key}"}
