"""The forms of a row: how the columns of a record become a prompt and its references.

| columns | prompt | references |
|---|---|---|
| `prompt` | a text, or a list of messages | none |
| `prompt`, `references` | the same | a text or a list of texts |
| `prompt`, `completion` | the same | the completion |
| `prompt`, `chosen`, `rejected` | the same | the chosen answer |
| `messages` | the messages before the last answer | the last answer, if the last message is one |
| `chosen`, `rejected` | the common beginning of both | the rest of the chosen one |
| `question`, `answer` | the question | the answer |

The first form that fits counts. Messages are those of chat templates: mappings with `role` and `content`.
Several messages before an answer become one text, with a line `role: content` for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loquent.core.guards import json_files
from loquent.errors import kind_of

FIELDS = (
    "prompt",
    "references",
    "completion",
    "messages",
    "chosen",
    "rejected",
    "question",
    "answer",
    "text",
    "label",
    "weight",
)
ROLES = ("system", "developer", "user", "assistant", "tool")
LIKE_PROMPT = ("instruction", "query", "input", "problem", "source", "article", "document")
LIKE_ANSWER = ("response", "output", "solution", "target", "summary", "ground_truth", "answers")
Messages = list[dict[str, Any]]


def prompt_fields(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields that a record gets in the first form that fits; None if none fits.

    These are `prompt` and `references`, `messages` (those before the answer) where the prompt has messages,
    and `chosen` and `rejected` as texts.

    Args:
        record: the columns of a row that are not None.

    Raises:
        ValueError: a column has the wrong type or is empty; names it.
    """
    if "prompt" in record:
        prompt = record["prompt"]
        if not isinstance(prompt, str):
            return _answered(record, _messages(prompt, "prompt"))
        fields = _answered(record, [{"role": "user", "content": _text(prompt, "prompt")}])
        if len(fields["messages"]) == 1:
            del fields["messages"]
        return fields
    if "messages" in record:
        messages = _messages(record["messages"], "messages")
        answers = messages[-1:] if messages[-1]["role"] == "assistant" else []
        texts = tuple(_text(message["content"], "content of the last message") for message in answers)
        return _fields(messages[: len(messages) - len(answers)], texts, "messages")
    if "chosen" in record and "rejected" in record:
        return _common(record["chosen"], record["rejected"])
    if "question" in record and "answer" in record:
        question = {"prompt": _text(record["question"], "question")}
        return {**question, "references": _texts(record["answer"], "answer")}
    return None


def plain_prompt(record: Mapping[str, Any]) -> str | None:
    """The prompt of a record of plain texts that is certain to fit; None says nothing.

    Most rows of large files are such records, which this tells in a tenth of the time of `prompt_fields`.
    """
    prompt, answer = record.get("prompt"), record.get("references")
    if answer is None:
        answer = record.get("completion")
    if type(prompt) is not str or "chosen" in record or not (answer is None or type(answer) is str):
        return None
    return prompt if prompt.strip() and (answer is None or answer.strip()) else None


def advice(record: Mapping[str, Any]) -> str:
    """The line that a user adds to a task whose rows have these columns; "" if none can be guessed."""
    names = [name for name, value in record.items() if isinstance(value, str | list | tuple) and value]
    prompt = _guess(names, ("prompt", "question", *LIKE_PROMPT))
    if prompt is None:
        return ""
    if isinstance(record[prompt], list | tuple):
        chosen = {prompt: "messages"}
    else:
        answer = _guess([name for name in names if name != prompt], ("references", "answer", *LIKE_ANSWER))
        chosen = {prompt: "text"} if answer is None else {prompt: "prompt", answer: "references"}
    line = ", ".join(f"{name}: {field}" for name, field in chosen.items())
    return f"add to the task: columns: {{{line}}}"


def _guess(names: Sequence[str], likely: Sequence[str]) -> str | None:
    """A column with a likely name, or else the first column."""
    by_name = {name.lower(): name for name in reversed(names)}
    return next(iter([*(by_name[name] for name in likely if name in by_name), *names]), None)


def _answered(record: Mapping[str, Any], before: Messages) -> dict[str, Any]:
    """The fields of a record with these messages before its answer."""
    if "references" in record:
        return _fields(before, _texts(record["references"], "references"), "prompt")
    if "chosen" in record and "rejected" in record:
        (more, chosen), (_, rejected) = (_answer(record[name], name) for name in ("chosen", "rejected"))
        pair = {"chosen": chosen, "rejected": rejected}
        return {**_fields([*before, *more], (chosen,), "prompt"), **pair}
    if "completion" in record:
        more, completion = _answer(record["completion"], "completion")
        return _fields([*before, *more], (completion,), "prompt")
    return _fields(before, (), "prompt")


def _common(chosen: Any, rejected: Any) -> dict[str, Any]:
    """The fields of two answers that contain their prompt: their common beginning, up to a white space."""
    if isinstance(chosen, str) and isinstance(rejected, str):
        length = _common_length(chosen, rejected)
        while length and not (chosen[length].isspace() or rejected[length].isspace()):
            length -= 1
        prompt = chosen[:length]
        if not prompt.strip():
            raise ValueError(
                "the fields 'chosen' and 'rejected' have no common beginning, which would be the prompt; add "
                "a column 'prompt'"
            )
        pair = {
            name: _text(text[length:], name) for name, text in (("chosen", chosen), ("rejected", rejected))
        }
        return {"prompt": prompt, "references": (pair["chosen"],), **pair}
    one, other = _messages(chosen, "chosen"), _messages(rejected, "rejected")
    length = _common_length(one, other)
    return _answered({"chosen": one[length:], "rejected": other[length:]}, one[:length])


def _common_length(one: Sequence[Any], other: Sequence[Any]) -> int:
    """The number of equal items at the beginning of both, of which each has at least one more."""
    most = min(len(one), len(other)) - 1
    return next((i for i in range(most) if one[i] != other[i]), max(most, 0))


def _fields(messages: Messages, answers: tuple[str, ...], name: str) -> dict[str, Any]:
    """The fields of messages before an answer; ValueError if there are none."""
    if not messages:
        raise ValueError(f"the field {name!r} has no message before the answer; it must have at least one")
    text = as_text([(message["role"], message["content"]) for message in messages])
    return {"prompt": _text(text, name), "references": answers, "messages": messages}


def as_text(messages: Sequence[tuple[str, str]]) -> str:
    """Messages (role, content) as one text: the content of one, or a line `role: content` for each."""
    if len(messages) == 1:
        return messages[0][1]
    return "\n".join(f"{role}: {content}" for role, content in messages)


def _answer(value: Any, name: str) -> tuple[Messages, str]:
    """The answer of a column as a text, and the messages that stand before it in the column."""
    if isinstance(value, str):
        return [], _text(value, name)
    *before, last = _messages(value, name)
    if last["role"] != "assistant":
        raise ValueError(
            f"the last message of {name!r} has the role {last['role']!r}; an answer has the role 'assistant'"
        )
    return before, _text(last["content"], name)


def _messages(value: Any, name: str) -> Messages:
    """The messages of a column, each with `role` and a text as `content`; JSON in a text is read."""
    if isinstance(value, str) and name == "messages":  # a cell of a table without lists
        try:
            value = json_files.loads(value)
        except ValueError as error:
            raise ValueError(f"the field {name!r} is a text that is not JSON ({error})") from error
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(
            f"the field {name!r} is {kind_of(value)}; it must be a list of at least one message with role "
            "and content"
        )
    return [_message(message, f"message {number} of {name!r}") for number, message in enumerate(value, 1)]


def _message(message: Any, place: str) -> dict[str, Any]:
    if not isinstance(message, Mapping) or message.get("role") not in ROLES:
        role = message.get("role") if isinstance(message, Mapping) else None
        found = f"has the role {role!r}" if role else f"is {message!r:.60}"
        raise ValueError(f"{place} {found}; a message has content and one of the roles {', '.join(ROLES)}")
    content = message.get("content")
    if isinstance(content, list | tuple):
        content = "".join(_part(part, place) for part in content)
    if content is None and _without_none(message).get("tool_calls"):
        content = ""
    if not isinstance(content, str):
        raise ValueError(f"{place} has the content {content!r:.60}; it must be a text")
    return {**_without_none(message), "content": content}


def _part(part: Any, place: str) -> str:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind != "text" or not isinstance(part.get("text"), str):
        raise ValueError(f"{place} has a part of the type {kind!r}; only parts of the type 'text' are read")
    return part["text"]


def _without_none(value: Any) -> Any:
    """The value without keys that are None, which tables add where other rows have a value."""
    if isinstance(value, Mapping):
        return {name: _without_none(item) for name, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list | tuple) else value


def _text(value: Any, name: str) -> str:
    return require_text(value, f"the field {name!r}")


def require_text(text: Any, noun: str) -> str:
    """A text that is not blank; ValueError for anything else."""
    if not isinstance(text, str):
        raise ValueError(f"{noun} is {kind_of(text)}; it must be a string")
    if not text.strip():
        raise ValueError(f"{noun} is empty; it must hold a text")
    return text


def _texts(value: Any, name: str) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not texts:
        raise ValueError(
            f"the field {name!r} is {value!r:.80}; it must be a string or a list of at least one string"
        )
    return tuple(require_text(text, f"{name.rstrip('s')} {i}") for i, text in enumerate(texts))
