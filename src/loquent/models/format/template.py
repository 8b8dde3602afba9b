"""Rendering of a tokenizer's chat template in a process of its own.

A chat template is an untrusted program, so its time, memory and output are limited. The process stays for
later conversations; starting it takes a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loquent.core.guards import sandbox
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

Message = dict[str, Any]  # its role and its content, a text or a list of parts
Messages = Sequence[Message]

_process = sandbox.Kept(WORKER, MEMORY)


class TemplateRefuses(BadModel):
    """A chat template raised an error on a conversation, for instance on a system message."""


def render(
    tokenizer: Any, conversations: Sequence[tuple[Messages, bool]], variables: Mapping[str, Any] | None = None
) -> list[str | TemplateRefuses]:
    """The text of each conversation, as `apply_chat_template` writes it; or the template's refusal.

    Args:
        conversations: pairs of messages and of whether the template asks for an answer after them.
        variables: further variables of the template, such as `enable_thinking`.

    Raises:
        BadModel: there is no template, it is not a text, it needs too much time or memory, or it writes too
            much.
    """
    given = len(str(variables or "")) + max((len(str(messages)) for messages, _ in conversations), default=0)
    longest = LONGEST + 8 * given
    job = {
        "template": _template(tokenizer),
        "variables": {
            **{name: str(token) for name, token in tokenizer.special_tokens_map.items()},
            **(variables or {}),
        },
        "conversations": [[list(messages), ask] for messages, ask in conversations],
        "longest": longest,
    }
    try:
        results = _process.ask(job, SECONDS + len(conversations) // 50)["texts"]
    except sandbox.Failed as reason:
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
