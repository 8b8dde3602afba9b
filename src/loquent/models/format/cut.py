"""The pieces of a chat template, found by rendering conversations of probe words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loquent.errors import BadModel
from loquent.models.format.template import ALLOWED, TemplateRefuses, render

# probe words, which no template writes itself
SYSTEM = "Qsystemq"
USER = ("Quseraq", "Quserbq", "Qusercq")
ASSISTANT = ("Qanswaq", "Qanswbq")


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The texts of a chat template around messages.

    A conversation begins with `start`, or with `system_open`, the instruction and `start_after_system`. Then
    comes the first user message. `system_open` is None if the template takes no system message.
    """

    start: str
    system_open: str | None
    start_after_system: str
    lead_after_system: str
    user_open: str
    user_lead: str  # spaces before the text of a user message; they are tokenised with the text
    user_close: str
    opening: str
    lead: str  # white space before the text of an answer that is absent from the request for an answer
    ending: str  # the text between an answer and the next message


def cut(tokenizer: Any) -> Cut:
    """Cut a tokenizer's chat template into the texts around messages.

    Raises:
        BadModel: the template cannot be cut; the message gives the reason.
    """
    texts, ask, with_system, touching = _rendered_probes(tokenizer)
    start, close = _around(texts[0], USER[0])
    prompt = ask.removeprefix(start + USER[0])
    before, tail = _between(texts[1], USER[0], ASSISTANT[0]), _around(texts[1], ASSISTANT[0])[1]
    middle = _between(texts[2], ASSISTANT[0], USER[1])
    lead = before.removeprefix(prompt)
    if not before.startswith(prompt) or lead.strip():
        raise BadModel(
            f"the chat template asks for an answer with {_shortened(prompt)} but writes "
            f"{_shortened(before)} before an answer; both must be the same. {ALLOWED}"
        )
    ending = tail if middle.startswith(tail) else tail.rstrip()
    if not middle.startswith(ending):
        raise BadModel(
            f"the chat template rewrites earlier turns: {_shortened(tail)} after an answer becomes "
            f"{_shortened(middle)} when a message follows; earlier text must stay. {ALLOWED}"
        )
    _check_growing(texts, start, close, before, middle, tail)
    user_close = close if prompt.startswith(close) else ""
    system_open, after_system = _system(with_system, texts[2].removeprefix(start))
    opening = prompt.removeprefix(user_close)
    ending = _complete_ending(touching, ending, opening + lead, middle)
    user_open = middle.removeprefix(ending)
    user_lead = _spaces(user_open) if _spaces(user_open) == _spaces(start) else ""
    lead_after_system = _spaces(after_system)
    return Cut(
        start=start.removesuffix(user_lead),
        system_open=system_open,
        start_after_system=after_system.removesuffix(lead_after_system),
        lead_after_system=lead_after_system,
        user_open=user_open.removesuffix(user_lead),
        user_lead=user_lead,
        user_close=user_close,
        opening=opening,
        lead=lead,
        ending=ending,
    )


def _rendered_probes(
    tokenizer: Any,
) -> tuple[list[str], str, str | TemplateRefuses, str | TemplateRefuses]:
    """Conversations of probe words as the chat template writes them.

    They are: conversations of one to five messages; one message and the request for an answer; a conversation
    with a system message; and one with two successive answers.
    """
    messages = [
        message
        for user, assistant in zip(USER, (*ASSISTANT, ""))
        for message in (_message("user", user), _message("assistant", assistant))
    ]
    conversations = [
        *((messages[:n], False) for n in range(1, 6)),
        (messages[:1], True),
        ([_message("system", SYSTEM), *messages[:3]], False),
        ([*messages[:2], messages[3]], False),
    ]
    *renders, with_system, touching = render(tokenizer, conversations)
    *texts, ask = map(_accepted, renders)
    return texts, ask, with_system, touching


def _check_growing(texts: Sequence[str], start: str, close: str, before: str, middle: str, tail: str) -> None:
    """Raise BadModel unless each conversation begins with the shorter ones."""
    first = start + USER[0] + before + ASSISTANT[0]
    second = first + middle + USER[1] + before + ASSISTANT[1]
    expected = (
        first + tail,
        first + middle + USER[1] + close,
        second + tail,
        second + middle + USER[2] + close,
    )
    for text, right in zip(texts[1:], expected, strict=True):
        if text != right:
            raise BadModel(
                f"the chat template rewrites earlier turns: it writes {_shortened(text)} where its shorter "
                f"conversations lead to {_shortened(right)}; earlier text must stay. {ALLOWED}"
            )


def _complete_ending(touching: str | TemplateRefuses, ending: str, opening: str, middle: str) -> str:
    """The ending of an answer, with the white space that some templates write only if something follows.

    The templates of `chat_template` are such templates. `touching` is the text of two successive answers; the
    ending stays as it is if the template refuses them.
    """
    if isinstance(touching, TemplateRefuses) or any(touching.count(word) != 1 for word in ASSISTANT):
        return ending
    between = touching.partition(ASSISTANT[0])[2].partition(ASSISTANT[1])[0]
    longer = between.removesuffix(opening)
    fits = longer != between and longer.startswith(ending) and middle.startswith(longer)
    return longer if fits and not longer.removeprefix(ending).strip() else ending


def _spaces(text: str) -> str:
    """The spaces at the end of a text."""
    return " " * (len(text) - len(text.rstrip(" ")))


def _system(text: str | TemplateRefuses, rest: str) -> tuple[str | None, str]:
    """The texts before and after a system message; (None, "") if the template takes none.

    `rest`: the turns as the template writes them without a system message.
    """
    if isinstance(text, TemplateRefuses) or text.count(SYSTEM) != 1 or text.find(SYSTEM) > text.find(USER[0]):
        return None, ""
    if text[text.find(USER[0]) :] != rest:
        raise BadModel(
            "the chat template writes the turns differently after a system message: "
            f"{_shortened(text)}; they must stay the same. {ALLOWED}"
        )
    return _around(text, SYSTEM)[0], _between(text, SYSTEM, USER[0])


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _accepted(text: str | TemplateRefuses) -> str:
    """A rendered text; raises the template's refusal."""
    if isinstance(text, TemplateRefuses):
        raise text
    return text


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 300 else f"{text[:150]} ... {text[-150:]}")


def _around(text: str, word: str) -> tuple[str, str]:
    """The texts before and after a word that occurs once."""
    if text.count(word) != 1:
        raise BadModel(
            f"the chat template writes a message {text.count(word)} times instead of once: "
            f"{_shortened(text)}. {ALLOWED}"
        )
    before, _, after = text.partition(word)
    return before, after


def _between(text: str, first: str, second: str) -> str:
    return _around(_around(text, first)[1], second)[0]
