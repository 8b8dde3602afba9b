"""The options of the agent `http`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from loquent.core.guards.secret import check_address
from loquent.core.remote.attempts import Connection
from loquent.core.settings import check_ranges, setting
from loquent.core.values import EMPTY, Record, plain
from loquent.errors import BadSetting

CHAT, COMPLETIONS = "chat", "completions"
LENGTHS = ("max_tokens", "max_completion_tokens")
# fields that the agent writes itself
OURS = ("model", "messages", "prompt", "stop", "seed", "temperature", *LENGTHS, "n", "stream")


@dataclass(frozen=True, kw_only=True)
class HttpOptions(Connection):
    """Options of the agent `http`."""

    base_url: str = setting(
        why="the endpoint without its last part, such as http://127.0.0.1:8000/v1", transport=True
    )
    model: str = setting(why="the name of the model at the endpoint")
    api: str = setting(
        CHAT,
        "the protocol: POST base_url/chat/completions, or base_url/completions",
        choices=(CHAT, COMPLETIONS),
    )
    tokenizer: str = setting(
        "",
        "the folder of the served model, so that prompts are exactly those of a local agent; empty: `model`, "
        "if that is an exported folder",
    )
    format: str = setting(
        "auto",
        "how turns become tokens, with a tokenizer; auto: the format of the exported folder, else chat or "
        "plain according to `api`",
        choices=("auto", "plain", "chat", "ilql"),
    )
    temperature: float = setting(1.0, "the sampling temperature at the endpoint", low=0.0)
    max_tokens: int = setting(256, "the most tokens of an answer", low=1)
    length_field: str = setting(
        "max_tokens",
        "the field in which max_tokens is sent; some endpoints require the other name",
        choices=LENGTHS,
    )
    seed: bool = setting(
        True, "send each request a seed from its question's stream; false for endpoints that refuse the field"
    )
    extra: Record = setting(
        EMPTY, "further fields of every request, such as {top_p: 0.9, reasoning_effort: low}"
    )
    max_characters: int = setting(16_384, "the most characters of an answer; the rest is cut", low=1)
    max_bytes: int = setting(
        4_194_304,
        "the most bytes of a response; a longer response counts as an empty answer",
        low=1024,
    )
    nothing: str = setting(
        "(no reply)",
        "the message for an empty observation: the chat protocol requires a text in every message",
    )
    strip: bool = setting(
        True,
        "remove the white space around an answer that must be one of the task's actions; free text stays "
        "unchanged",
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        check_address("base_url", self.base_url, "http://127.0.0.1:8000/v1")
        if not self.model:
            raise BadSetting("model is empty; it must be the name of the model at the endpoint")
        if taken := [name for name in self.extra if name in OURS]:
            raise BadSetting(
                f"extra = {{{taken[0]}: ...}}: the agent writes the field {taken[0]!r} itself; remove it "
                "from extra, and use the agent's option if there is one"
            )
        try:
            json.dumps(plain(self.extra), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise BadSetting(
                f"extra = {plain(self.extra)!r:.200} is not JSON ({error}); it must hold names with texts, "
                "numbers and lists"
            ) from error
