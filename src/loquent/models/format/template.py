"""Rendering of a tokenizer's chat template in a process of its own.

A chat template is an untrusted program, so its time, memory and output are limited. A usual template takes a
tenth of a second, once per process.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files, limited
from loquent.errors import BadModel

WORKER = Path(__file__).with_name("template_worker.py")
CHARACTERS = 1 << 17  # of a template; five times the longest template of known models
SECONDS = 3  # of processor time
MEMORY = 1 << 29  # bytes of address space
LONGEST = 1 << 17  # characters that a template may write around messages
ALLOWED = (
    "A chat template must be Jinja that writes a few messages at once; use format: plain, or a model "
    "with another template"
)

Messages = Sequence[dict[str, str]]


class TemplateRefuses(BadModel):
    """A chat template raised an error on a conversation, for instance on a system message."""


def render(tokenizer: Any, conversations: Sequence[tuple[Messages, bool]]) -> list[str | TemplateRefuses]:
    """The text of each conversation, as `apply_chat_template` writes it; or the template's refusal.

    Args:
        conversations: pairs of messages and of whether the template asks for an answer after them.

    Raises:
        BadModel: there is no template, it is not a text, it needs too much time or memory, or it writes too
            much.
    """
    template = _template(tokenizer)
    longest = LONGEST + 8 * max(
        (sum(len(message["content"]) for message in messages) for messages, _ in conversations), default=0
    )
    job = {
        "template": template,
        "names": tokenizer.special_tokens_map,
        "conversations": [[list(messages), ask] for messages, ask in conversations],
    }
    seconds = SECONDS + len(conversations) // 50
    try:
        results = _rendered(json.dumps({**job, "longest": longest}, default=str), seconds)
    except limited.Failed as reason:
        raise BadModel(
            f"the chat template of {_name(tokenizer)} cannot be used: {reason}. {ALLOWED}"
        ) from None
    return [
        result["text"] if "text" in result else _refusal(result["refused"], messages)
        for result, (messages, _) in zip(results, conversations, strict=True)
    ]


def _refusal(reason: str, messages: Messages) -> TemplateRefuses:
    roles = [message["role"] for message in messages]
    return TemplateRefuses(f"the chat template refuses {roles} ({reason}). {ALLOWED}")


def _template(tokenizer: Any) -> str:
    """The text of the tokenizer's default template."""
    try:
        template = tokenizer.get_chat_template()
    except Exception as error:  # there are several templates, and none is the default
        raise BadModel(
            f"the chat templates of {_name(tokenizer)} have no 'default' one ({str(error)[:200]}). {ALLOWED}"
        ) from error
    if not isinstance(template, str):
        raise BadModel(
            f"the chat template of {_name(tokenizer)} must be a text, got {type(template).__name__}. "
            f"{ALLOWED}"
        )
    if len(template) > CHARACTERS:
        raise BadModel(
            f"the chat template of {_name(tokenizer)} has {len(template):,} characters; at most "
            f"{CHARACTERS:,} are allowed. {ALLOWED}"
        )
    return template


def _name(tokenizer: Any) -> str:
    return getattr(tokenizer, "name_or_path", "") or "the tokenizer"


@lru_cache(maxsize=16)
def _rendered(job: str, seconds: int) -> tuple[dict[str, str], ...]:
    """The worker's texts and refusals for a job in JSON.

    Raises:
        Failed: the worker did not finish, or reported an error.
    """
    return tuple(limited.run(WORKER, json_files.loads(job), seconds=seconds, memory=MEMORY)["texts"])
