"""Conversations: the settings of several turns, and what the messages of a row say in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loquent.core.agent import before_first
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Message, Messages
from loquent.core.values import Record
from loquent.data.tables.forms import as_messages, as_text
from loquent.errors import BadSetting

SYSTEM, ASSISTANT = ("system", "developer"), "assistant"
PART = re.compile(r"\{(\w+)\}")
USER = (
    "You play the user of an assistant. You began the conversation with this message:\n{prompt}\n"
    "Write your next message to the assistant, and nothing else."
)
RULE = "The conversation is over when the user has what they asked for, or says goodbye."


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The settings of a conversation: its instruction, its turns, who answers, and how it ends."""

    instruction: str = setting(
        "",
        "what the agent reads before the first message, such as a system prompt; a row's own system message "
        "stands in its place",
    )
    stop: tuple[str, ...] = setting(
        (), "texts that end an answer; the text before the first of them is the answer"
    )
    turns: int = setting(
        1,
        "the most answers of an episode. With more than one, the agent answers each user message of a row, "
        "or those of `user`",
        low=1,
    )
    user: str | Record = setting(
        "",
        "the agent that replies to answers, as a name or {kind: NAME, OPTION: VALUE}: folder, http, script "
        "or your own; empty: the row's later user messages",
    )
    user_instruction: str = setting(
        USER, "what that agent reads before the conversation, with the row's fields in braces"
    )
    end_text: str = setting("", "a text that ends the conversation, in an answer or in a reply; empty: none")
    judge: str | Record = setting(
        "", "the agent that says after each reply whether the conversation is over, as `user`; empty: none"
    )
    judge_rule: str = setting(RULE, "when a conversation is over, in words, for the judge")

    def __post_init__(self) -> None:
        check_ranges(self)
        if "" in self.stop:
            raise BadSetting("stop holds an empty text, which stands everywhere; leave it out")
        several = {"user": self.user, "end_text": self.end_text, "judge": self.judge}
        for name, value in several.items():
            if value and self.turns == 1:
                raise BadSetting(
                    f"{name} = {value!r:.80} has no effect with turns = 1, where the first answer ends the "
                    f"episode; set turns to 2 or more, or leave {name} out"
                )
        for name, rule, default in (
            ("user", "user_instruction", USER),
            ("judge", "judge_rule", RULE),
        ):
            if getattr(self, rule) != default and not several[name]:
                raise BadSetting(f"{rule} is set, but there is no {name} to read it; set {name}")

    @property
    def reads_script(self) -> bool:
        """Whether the user's later messages are those of the row."""
        return self.turns > 1 and not self.user


@dataclass(frozen=True)
class Line:
    """What the user says before an answer: one text, its messages, and the answer's references.

    `messages` are () if it is one message of a user.
    """

    text: str
    messages: Messages = ()
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Script:
    """The instruction of a row ("" if it has none), and its lines, of which there is at least one."""

    instruction: str
    lines: tuple[Line, ...]


def script(fields: Mapping[str, Any], chosen: Conversation) -> Script:
    """What a row says in a conversation.

    Without a script all messages are the prompt of one answer. With a script, at most `turns` lines are, each
    with the row's own next answer as reference. A message that calls tools is no answer but part of a line.
    References end before `stop`, as answers do.
    """
    references = tuple(before_first(text, chosen.stop) for text in fields.get("references", ()))
    messages = fields.get("messages", ())
    if not messages:
        return Script("", (Line(fields["prompt"], (), references),))
    begin = next((i for i, message in enumerate(messages) if message["role"] not in SYSTEM), len(messages))
    instruction = "\n\n".join(message["content"] for message in messages[:begin])
    tools = fields.get("tools", ())
    rest = messages[begin:] or ([{"role": "user", "content": ""}] if tools else [])
    lines: list[Line] = []
    current: list[Message] = []
    for message in as_messages(rest, tools):
        answers = message[0] == ASSISTANT and not (len(message) > 2 and "tool_calls" in message[2])
        if chosen.reads_script and answers and any(own[0] != ASSISTANT for own in current):
            lines.append(_line(current, (before_first(message[1], chosen.stop),)))
            current = []
        else:
            current.append(message)
    if current or not lines:
        lines.append(_line(current, references))
    return Script(instruction, tuple(lines[: chosen.turns]))


def fill(template: str, fields: Mapping[str, Any]) -> str:
    """A text with the fields of a row in the place of their names in braces; other braces stay."""
    return PART.sub(lambda part: str(fields[part[1]]) if part[1] in fields else part[0], template)


def _line(messages: list[Message], references: tuple[str, ...]) -> Line:
    if not messages:
        return Line("", (), references)
    plain = len(messages) == 1 and messages[0][0] == "user" and len(messages[0]) == 2
    return Line(as_text(tuple(messages)), () if plain else tuple(messages), references)


def with_script(fields: Record, chosen: Conversation) -> Record:
    """The fields of a row, with the prompt and the references of its conversation.

    `references` are those of the last answer, `turn_references` those of each.
    """
    if not fields.get("messages", ()) and not chosen.stop:
        return fields
    lines = script(fields, chosen).lines
    own: dict[str, Any] = {"prompt": lines[0].text, "references": lines[-1].references}
    if chosen.reads_script and fields.get("messages", ()):
        own["turn_references"] = tuple(line.references for line in lines)
    return fields.with_(**own)
