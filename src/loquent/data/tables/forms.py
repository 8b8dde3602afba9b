"""The forms of a row: how the columns of a record become a prompt and its references.

| columns | prompt | references |
|---|---|---|
| `prompt` | a text, or a list of messages | none |
| `prompt`, `references` | the same | a text or a list of texts |
| `prompt`, `completion` | the same | the completion |
| `prompt`, `chosen`, `rejected` | the same; the common beginning, if both have it | the chosen answer |
| `messages` | the messages before the last answer | the last answer, if the last message is one |
| `chosen`, `rejected` | the common beginning of both | the rest of the chosen one |
| `question`, `answer` | the question | the answer |

The first form that fits counts. Messages are those of chat templates: mappings with `role` and `content`.
Several messages before an answer become one text, with a line `role: content` for each. An assistant's
message may have `tool_calls`, a tool's `name` and `tool_call_id`, and a record `tools`, a list of objects; a
text has them as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from loquent.core import task as chat
from loquent.core.guards import json_files
from loquent.core.values import freeze, plain
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
OF_TOOLS = {"assistant": ("tool_calls",), "tool": ("name", "tool_call_id")}
ROLES = ("system", "developer", "user", "assistant", "tool")
LIKE_PROMPT = ("instruction", "query", "input", "problem", "source", "article", "document")
LIKE_ANSWER = ("response", "output", "solution", "target", "summary", "ground_truth", "answers")
LIKELY = {
    "prompt": ("question", *LIKE_PROMPT),
    "chosen": ("response_j", "preferred", "accepted", "better", "winner", "positive", "pos"),
    "rejected": ("response_k", "dispreferred", "declined", "worse", "loser", "negative", "neg"),
    "completion": LIKE_ANSWER,
}
Messages = list[dict[str, Any]]


def prompt_fields(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields that a record gets in the first form that fits; None if none fits.

    These are `prompt` and `references`, `messages` (those before the answer) where the prompt has messages,
    `tools` if the record has some, and `chosen` and `rejected` as texts.

    Args:
        record: the columns of a row that are not None.

    Raises:
        ValueError: a column has the wrong type or is empty; names it.
    """
    fields = _form(record)
    if fields is None or "tools" not in record:
        return fields
    tools = _tools(record["tools"], strict="messages" in fields)
    if not tools:
        return fields
    messages = fields.get("messages") or [{"role": "user", "content": fields["prompt"]}]
    return {**fields, "messages": messages, "tools": tools, "prompt": as_text(as_messages(messages, tools))}


def _form(record: Mapping[str, Any]) -> dict[str, Any] | None:
    if "prompt" in record:
        prompt = record["prompt"]
        if not isinstance(prompt, str):
            return _answered(record, _messages(prompt, "prompt"))
        if _repeats_prompt(record):
            return _common(record["chosen"], record["rejected"])
        fields = _answered(record, [{"role": "user", "content": _text(prompt, "prompt")}])
        if len(fields["messages"]) == 1:
            del fields["messages"]
        return fields
    if "messages" in record:
        messages = _messages(record["messages"], "messages")
        answers = messages[-1:] if messages[-1]["role"] == "assistant" else []
        texts = tuple(_content(message, "messages") for message in answers)
        return _fields(messages[: len(messages) - len(answers)], texts, "messages")
    if "chosen" in record and "rejected" in record:
        return _common(record["chosen"], record["rejected"])
    if "question" in record and "answer" in record:
        question = {"prompt": _text(record["question"], "question")}
        return {**question, "references": _texts(record["answer"], "answer")}
    return None


def _repeats_prompt(record: Mapping[str, Any]) -> bool:
    """Whether the lists `chosen` and `rejected` begin with the messages of the prompt, beside its text."""
    if "references" in record:
        return False
    answers = [record.get(name) for name in ("chosen", "rejected")]
    firsts = [answer[0] for answer in answers if isinstance(answer, list | tuple) and answer]
    return len(firsts) == 2 and all(
        isinstance(first, Mapping) and first.get("role") != "assistant" for first in firsts
    )


def plain_prompt(record: Mapping[str, Any]) -> str | None:
    """The prompt of a record of plain texts that is certain to fit; None says nothing.

    Most rows of large files are such records, which this tells in a tenth of the time of `prompt_fields`.
    """
    prompt, answer = record.get("prompt"), record.get("references")
    if answer is None:
        answer = record.get("completion")
    if type(prompt) is not str or not (answer is None or type(answer) is str):
        return None
    if "chosen" in record or "tools" in record:
        return None
    return prompt if prompt.strip() and (answer is None or answer.strip()) else None


def advice(record: Mapping[str, Any]) -> str:
    """The line that a user adds to a task whose rows have these columns; "" if none can be guessed."""
    names = [name for name, value in record.items() if isinstance(value, str | list | tuple) and value]
    prompt = _guess(names, ("prompt", "question", *LIKE_PROMPT))
    if prompt is None:
        return ""
    pair = guesses(names, ("prompt", "chosen", "rejected"))
    if len(pair) == 3:
        chosen = pair
    elif isinstance(record[prompt], list | tuple):
        chosen = {prompt: "messages"}
    else:
        answer = _guess([name for name in names if name != prompt], ("references", "answer", *LIKE_ANSWER))
        field = "completion" if isinstance(record.get("label"), bool) else "references"
        chosen = {prompt: "text"} if answer is None else {prompt: "prompt", answer: field}
    line = ", ".join(f"{name}: {field}" for name, field in chosen.items())
    return f"add to the task: columns: {{{line}}}"


def guesses(names: Sequence[str], fields: Sequence[str]) -> dict[str, str]:
    """The fields that the columns with the likeliest names become, by the columns' names."""
    by_name = {name.lower(): name for name in reversed(names)}
    likely = {field: [name for name in LIKELY.get(field, ()) if name in by_name] for field in fields}
    return {by_name[found[0]]: field for field, found in likely.items() if found}


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
    text = as_text(as_messages(messages))
    return {"prompt": _text(text, name), "references": answers, "messages": messages}


def as_messages(messages: Sequence[Mapping[str, Any]], tools: Sequence[Any] = ()) -> chat.Messages:
    """Messages with what they and their conversation have of tools."""
    made = list[chat.Message]()
    for message in messages:
        names = OF_TOOLS.get(message["role"], ())
        more = {name: message[name] for name in names if name in message}
        more |= {} if made or not tools else {"tools": tools}
        made.append((message["role"], message["content"], *((freeze(more),) if more else ())))
    return tuple(made)


def as_text(messages: chat.Messages) -> str:
    """Messages as one text: the content of one, or a line `role: content` for each; the tools come first."""
    if len(messages) == 1 and len(messages[0]) == 2:
        return messages[0][1]
    tools = tools_of(messages)
    lines = [f"tools: {_json(tools)}"] if tools else []
    return "\n".join([*lines, *(f"{message[0]}: {content_of(message)}" for message in messages)])


def content_of(message: chat.Message) -> str:
    """The content of a message, with what it has of tools as JSON."""
    more = {name: value for name, value in message[2].items() if name != "tools"} if len(message) > 2 else {}
    return f"{message[1]} {_json(more)}".lstrip(" ") if more else message[1]


def tools_of(messages: chat.Messages) -> tuple[Any, ...]:
    """The tools of a conversation."""
    return next((m[2]["tools"] for m in messages if len(m) > 2 and "tools" in m[2]), ())


def _json(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def _tools(value: Any, strict: bool) -> tuple[Any, ...]:
    """The tools of a record; ValueError for another value if `strict`, else none."""
    found = value
    if isinstance(value, str) and value.strip():
        try:
            found = json_files.loads(value)
        except ValueError:
            found = None
    if isinstance(found, list | tuple) and all(isinstance(tool, Mapping) for tool in found):
        return tuple(_without_none(tool) for tool in found)
    if strict and value:
        raise ValueError(f"the field 'tools' is {value!r:.60}; it must be a list of objects, one a tool")
    return ()


def _answer(value: Any, name: str) -> tuple[Messages, str]:
    """The answer of a column as a text, and the messages that stand before it in the column."""
    if isinstance(value, str):
        return [], _text(value, name)
    *before, last = _messages(value, name)
    if last["role"] != "assistant":
        raise ValueError(
            f"the last message of {name!r} has the role {last['role']!r}; an answer has the role 'assistant'"
        )
    return before, _content(last, name)


def _content(last: Mapping[str, Any], name: str) -> str:
    """The text of an answer, which cannot call tools."""
    if last.get("tool_calls"):
        raise ValueError(
            f"the last message of {name!r} calls tools (tool_calls), but an answer is a text; write the call "
            "as its content, or leave the message out"
        )
    return _text(last["content"], f"content of the last message of {name}")


def _messages(value: Any, name: str) -> Messages:
    """The messages of a column, each with `role` and a text as `content`; JSON in a text is read."""
    if isinstance(value, str) and name == "messages":  # a cell of a table without lists
        try:
            value = json_files.loads(value)
        except ValueError as error:
            raise ValueError(f"the field {name!r} is a text that is not JSON ({error})") from error
    if not isinstance(value, list | tuple) or not value:
        allowed = "" if name == "messages" else "a text or "
        raise ValueError(
            f"the field {name!r} is {kind_of(value)}; it must be {allowed}a list of at least one message "
            "with role and content"
        )
    return [_message(message, f"message {number} of {name!r}") for number, message in enumerate(value, 1)]


def _message(message: Any, place: str) -> dict[str, Any]:
    if not isinstance(message, Mapping) or message.get("role") not in ROLES:
        role = message.get("role") if isinstance(message, Mapping) else None
        found = f"has the role {role!r}" if role else f"is {message!r:.60}"
        raise ValueError(f"{place} {found}; a message has content and one of the roles {', '.join(ROLES)}")
    _check_tools(message, place)
    content = message.get("content")
    if isinstance(content, list | tuple):
        content = "".join(_part(part, place) for part in content)
    if content is None and _without_none(message).get("tool_calls"):
        content = ""
    if not isinstance(content, str):
        raise ValueError(f"{place} has the content {content!r:.60}; it must be a text")
    own = {name: value for name, value in _without_none(message).items() if name != "tool_calls" or value}
    return {**own, "content": content}


def _check_tools(message: Mapping[str, Any], place: str) -> None:
    """ValueError if what a message has of tools is not as chat templates read it."""
    calls, role = message.get("tool_calls"), message["role"]
    if calls and role != "assistant":
        raise ValueError(f"{place} has the role {role!r} and tool_calls; only an assistant calls tools")
    if calls and not (isinstance(calls, list | tuple) and all(isinstance(call, Mapping) for call in calls)):
        raise ValueError(f"{place} has tool_calls {calls!r:.60}; they must be a list of objects")
    for name in OF_TOOLS["tool"] if role == "tool" else ():
        if not isinstance(message.get(name) or "", str):
            raise ValueError(f"{place} has the {name} {message[name]!r:.60}; it must be a text")


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
