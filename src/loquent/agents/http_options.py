"""The options of the agent `http`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from loquent.agents.secret import bare
from loquent.core.settings import check_ranges, setting
from loquent.core.values import EMPTY, Record, plain
from loquent.errors import BadSetting

CHAT, COMPLETIONS = "chat", "completions"
LENGTHS = ("max_tokens", "max_completion_tokens")
OURS = (
    "model",
    "messages",
    "prompt",
    "stop",
    "seed",
    "temperature",
    *LENGTHS,
    "n",
    "stream",
)  # fields that have an option, or one right value


@dataclass(frozen=True, kw_only=True)
class HttpOptions:
    """What the agent `http` may be told."""

    base_url: str = setting(
        why="the endpoint without its last part, as http://127.0.0.1:8000/v1", transport=True
    )
    model: str = setting(why="the model's name, as the endpoint knows it")
    api: str = setting(
        CHAT,
        "which protocol it speaks: POST base_url/chat/completions, or base_url/completions",
        choices=(CHAT, COMPLETIONS),
    )
    tokenizer: str = setting(
        "",
        "the folder of the served model, so that prompts are exactly those of a local agent; empty: "
        "`model`, where that is an exported folder",
    )
    format: str = setting(
        "auto",
        "how turns become tokens, with a tokenizer; auto: as the exported folder says, else chat or "
        "plain as `api` has it",
        choices=("auto", "plain", "chat", "ilql"),
    )
    api_key_variable: str = setting(
        "",
        "the environment variable that holds the key; empty: none is sent. A key never stands in a setting",
        transport=True,
    )
    temperature: float = setting(1.0, "the endpoint's own temperature", low=0.0)
    max_tokens: int = setting(256, "tokens an answer may have", low=1)
    length_field: str = setting(
        "max_tokens",
        "the field in which max_tokens is sent: some endpoints want another name",
        choices=LENGTHS,
    )
    seed: bool = setting(
        True, "send each request a seed from its question's stream; false for endpoints that refuse the field"
    )
    extra: Record = setting(
        EMPTY, "further fields of every request's body, as {top_p: 0.9, reasoning_effort: low}"
    )
    max_characters: int = setting(
        16_384, "characters after which an answer is cut, whatever the endpoint sends", low=1
    )
    max_bytes: int = setting(
        4_194_304,
        "bytes of a response that are read; a longer one is an answer cut before its first character",
        low=1024,
    )
    timeout: float = setting(
        60.0,
        "seconds for one attempt, from the connection to the last byte of the response",
        low=0.01,
        transport=True,
    )
    retries: int = setting(4, "further attempts after a failed one", low=0, high=100, transport=True)
    pause: float = setting(
        1.0,
        "seconds before the second attempt; doubled before each further one, to 60 at most, and "
        "shortened by chance",
        low=0.0,
        transport=True,
    )
    concurrency: int = setting(8, "questions under way at once", low=1, high=1024, transport=True)
    nothing: str = setting(
        "(no reply)",
        "what a chat model is told where the task says nothing: the protocol wants a text in every message",
    )
    strip: bool = setting(
        True,
        "take away the white space around an answer that must be one of the task's actions; free "
        "text stays as it is",
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        try:
            parts = urlsplit(self.base_url)
            right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
            right = right and not (parts.username or parts.password or parts.query or parts.fragment)
        except ValueError:  # brackets that do not close, a port that is no number
            right = False
        if not right:
            where = (
                "an address such as http://127.0.0.1:8000/v1 is right, without user, password, query "
                "and fragment"
            )
            raise BadSetting(
                f"base_url = {bare(self.base_url)!r}: {where}; a key is named by api_key_variable"
            )
        if not self.model:
            raise BadSetting("model is empty; the model's name is right, as the endpoint knows it")
        if taken := [name for name in self.extra if name in OURS]:
            raise BadSetting(
                f"extra = {{{taken[0]}: ...}}: the agent writes the field {taken[0]!r} itself; an "
                "option of that name sets it, if any does"
            )
        try:
            json.dumps(plain(self.extra), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise BadSetting(
                f"extra = {plain(self.extra)!r:.200} is not JSON ({error}); names with texts, "
                "numbers and lists are right"
            ) from error
