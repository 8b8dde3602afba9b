"""Rendering a tokenizer's chat template, which is a program from a stranger, in a process of its own with
bounds on time, memory and output.

The usual template takes a tenth of a second, once for each template in the life of a process.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files
from loquent.errors import BadModel

WORKER = Path(__file__).with_name("template_worker.py")
CHARACTERS = 1 << 17  # of a template; the longest of known models has a fifth of it
SECONDS = 3  # of processor time
PATIENCE = 60  # seconds on the clock, for a busy machine
MEMORY = 1 << 29  # bytes of address space
LONGEST = 1 << 17  # characters that are written around messages
ALLOWED = (
    "A chat template must be Jinja that writes a few messages at once; use format: plain, or a model "
    "with another template"
)

Messages = Sequence[dict[str, str]]


class _Failed(Exception):
    """The worker gave no texts; why. It is not kept: another time the machine may be less busy."""


class TemplateRefuses(BadModel):
    """A chat template raised an error on a conversation, as it may where it takes no system message."""


def render(tokenizer: Any, conversations: Sequence[tuple[Messages, bool]]) -> list[str | TemplateRefuses]:
    """What the chat template writes for each pair (messages, whether an answer is asked for), as
    `apply_chat_template` does; or its refusal.

    Raises:
        BadModel: there is no template, or it is no text, or it takes too long, too much memory, or writes too
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
    try:
        found = _rendered(
            json.dumps(
                {**job, "seconds": SECONDS + len(conversations) // 50, "bytes": MEMORY, "longest": longest},
                default=str,
            )
        )
    except _Failed as why:
        raise BadModel(f"the chat template of {_name(tokenizer)} cannot be used: {why}. {ALLOWED}") from None
    return [
        one["text"] if "text" in one else _refusal(one["refused"], messages)
        for one, (messages, _) in zip(found, conversations, strict=True)
    ]


def _refusal(why: str, messages: Messages) -> TemplateRefuses:
    return TemplateRefuses(f"the chat template refuses {[message['role'] for message in messages]} ({why})")


def _template(tokenizer: Any) -> str:
    """The text of the template that is used by default."""
    try:
        template = tokenizer.get_chat_template()
    except Exception as error:  # several templates, and none of them is the default
        raise BadModel(
            f"the chat templates of {_name(tokenizer)} have no 'default' one ({str(error)[:200]}). {ALLOWED}"
        ) from error
    if not isinstance(template, str):
        raise BadModel(
            f"the chat template of {_name(tokenizer)} is no text, but {type(template).__name__}. {ALLOWED}"
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
def _rendered(job: str) -> tuple[dict[str, str], ...]:
    """What the worker answers to a job in JSON; _Failed where that is no list of texts and refusals."""
    try:
        command, text = [sys.executable, "-P", str(WORKER)], {"encoding": "utf-8", "errors": "replace"}
        done = subprocess.run(
            command, input=job + "\n", capture_output=True, timeout=PATIENCE, check=False, **text
        )  # type: ignore[call-overload]  # options of the text mode
    except subprocess.TimeoutExpired:
        raise _Failed(f"it has not come to an end after {PATIENCE} s") from None
    if hasattr(signal, "SIGXCPU") and done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise _Failed("it has not come to an end in the few seconds of processor time it is given")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1][:200]
        raise _Failed(f"its process ended with code {done.returncode} ({last})")
    found = json_files.loads(done.stdout)
    if "error" in found:
        raise _Failed(found["error"])
    return tuple(found["texts"])
