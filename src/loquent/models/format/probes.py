"""What a chat template does with messages, found by rendering conversations of probe words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loquent.errors import BadModel, BadSetting
from loquent.models.format.template import ALLOWED, Message, TemplateRefuses, render

# probe words, which no template writes itself
SYSTEM, TOOL = "Qsystemq", "Qtoolq"
USER = ("Quseraq", "Quserbq")
ASSISTANT = ("Qanswaq", "Qanswbq")
SWITCHES = ("enable_thinking", "thinking")  # the variables of templates that switch thoughts on and off


@dataclass(frozen=True, kw_only=True)
class Probed:
    """What a chat template does with messages.

    Attributes:
        parts: whether it reads contents as lists of parts, and not as texts.
        takes_system: whether it writes a system message before the turns.
        takes_tools: whether it writes messages of the role "tool".
        alternates: whether it refuses or leaves out messages that do not alternate.
        prompt: a conversation of one message, with the request for an answer.
        answered: the same conversation with an answer.
        followed: with the answer and a next message.
        texts: all that it wrote.
    """

    parts: bool
    takes_system: bool
    takes_tools: bool
    alternates: bool
    prompt: str
    answered: str
    followed: str
    texts: tuple[str, ...]

    @property
    def lead(self) -> str:
        """What it writes between the request for an answer and the answer; "" if it asks otherwise."""
        rest = self.answered.removeprefix(self.prompt)
        return rest.partition(ASSISTANT[0])[0] if self.answered.startswith(self.prompt) else ""

    @property
    def tails(self) -> tuple[str, str]:
        """What it writes after an answer: as the last message, and before the next one."""
        last = self.answered.partition(ASSISTANT[0])[2]
        return last, self.followed.partition(ASSISTANT[0])[2].partition(USER[1])[0]


def probe(tokenizer: Any, variables: dict[str, Any]) -> Probed:
    """Render conversations of probe words, with contents as texts, else as parts.

    Raises:
        BadModel: the template cannot be used, or writes no text of messages.
    """
    refusal: str | TemplateRefuses | None = None
    for parts in (False, True):
        prompt, answered, followed, *others = _rendered(tokenizer, parts, variables)
        wanted = ((prompt, USER[:1]), (answered, (USER[0], ASSISTANT[0])), (followed, (*USER, ASSISTANT[0])))
        missing = next((text for text, words in wanted if not _writes(text, words)), None)
        if missing is None:
            system, tool, *touching = others
            return Probed(
                parts=parts,
                takes_system=_writes(system, (SYSTEM, USER[0]))
                and str(system).find(SYSTEM) < str(system).find(USER[0]),
                takes_tools=_writes(tool, (TOOL,)),
                alternates=not (_writes(touching[0], USER) and _writes(touching[1], ASSISTANT)),
                prompt=str(prompt),
                answered=str(answered),
                followed=str(followed),
                texts=tuple(text for text in (prompt, answered, followed, *others) if isinstance(text, str)),
            )
        refusal = missing if refusal is None else refusal
    if isinstance(refusal, TemplateRefuses):
        raise refusal
    raise BadModel(
        f"the chat template writes no text of a message, as a text or in parts: {shorten(str(refusal))}; "
        f"it may write pictures alone, which no task here has. {ALLOWED}"
    )


def thinking_variables(tokenizer: Any, thinking: bool | None) -> dict[str, Any]:
    """The variables of a template that switch its thoughts as the setting `model.thinking` says.

    Raises:
        BadSetting: the template writes the same with thoughts on and off.
        BadModel: as in `render`.
    """
    if thinking is None:
        return {}
    on, off = (dict.fromkeys(SWITCHES, value) for value in (True, False))
    texts = [
        render(tokenizer, [([_message("user", USER[0], parts)], True) for parts in (False, True)], variables)
        for variables in (on, off)
    ]
    if list(map(str, texts[0])) == list(map(str, texts[1])):
        raise BadSetting(
            f"model.thinking = {str(thinking).lower()}: the chat template writes the same with its variables "
            f"{' and '.join(SWITCHES)} on and off, so nothing would change; leave it at none, or choose a "
            "model whose template switches thoughts"
        )
    return on if thinking else off


def shorten(text: str) -> str:
    """A text for a message of an error."""
    return repr(text if len(text) <= 300 else f"{text[:150]} ... {text[-150:]}")


def in_parts(message: Message) -> Message:
    """The message with its content as a list of one part."""
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


def _message(role: str, content: str, parts: bool) -> Message:
    message = {"role": role, "content": content}
    return in_parts(message) if parts else message


def _rendered(tokenizer: Any, parts: bool, variables: dict[str, Any]) -> list[str | TemplateRefuses]:
    """The conversations of `Probed`, one with a system message, one with a tool's, and two that touch."""
    user, later = (("user", word) for word in USER)
    answer, more = (("assistant", word) for word in ASSISTANT)
    conversations: list[tuple[list[tuple[str, str]], bool]] = [
        ([user], True),
        ([user, answer], False),
        ([user, answer, later], False),
        ([("system", SYSTEM), user], True),
        ([user, answer, ("tool", TOOL)], True),
        ([user, later], True),
        ([user, answer, more], True),
    ]
    return render(
        tokenizer,
        [([_message(*message, parts) for message in messages], ask) for messages, ask in conversations],
        variables,
    )


def _writes(text: str | TemplateRefuses, words: Sequence[str]) -> bool:
    """Whether all words stand in a text."""
    return isinstance(text, str) and all(word in text for word in words)
