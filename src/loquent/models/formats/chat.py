"""`Chat`: a tokenizer's own chat template, cut once into pieces by rendering conversations of known words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loquent.episode import Turn
from loquent.errors import BadModel
from loquent.models.formats.base import Format, Head, distinct_markers
from loquent.models.formats.encoder import Encoder, Ids

SYSTEM, TOLD, SAID = "Qsystemq", ("Qtoldaq", "Qtoldbq", "Qtoldcq"), ("Qsaidaq", "Qsaidbq")  # words no template writes itself


@dataclass(frozen=True)
class Cut:
    """The text of a template around messages: `start`, or `system_open` instruction `start_after_system`; then the first told message.

    `system_open` is None where the template takes no system message.
    """

    start: str
    system_open: str | None
    start_after_system: str
    lead_after_system: str
    told_open: str
    told_lead: str  # spaces before the text of a told message, which are tokenised with it
    told_close: str
    opening: str
    lead: str  # white space the template writes before an answer, but not when it asks for one
    ending: str  # from the end of an answer to the next message


class Chat(Format):
    """What the seat is told are user messages, what it says assistant messages, the instruction is the system message (or, where a
    template takes none, stands before the first user message). The first user message is written even when it is empty.

    Raises:
        BadModel: the tokenizer has no chat template; the template rewrites earlier turns when later ones come; it writes other
            things before an answer than where it asks for one; or it marks no end of an answer.
    """

    def __init__(self, tokenizer: Any) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise BadModel("the tokenizer has no chat template; use the plain format, or set tokenizer.chat_template")
        parts = cut(tokenizer)
        encoder = Encoder(tokenizer, distinct_markers(_markers_in(tokenizer, parts)))
        super().__init__(encoder)
        self._lead, self._told_lead, self._lead_after_system = parts.lead, parts.told_lead, parts.lead_after_system
        self._start, self._start_after_system = encoder.markup(parts.start, first=True), encoder.markup(parts.start_after_system)
        self._system_open = None if parts.system_open is None else encoder.markup(parts.system_open, first=True)
        self._told_open, self._told_close, self._opening = map(encoder.markup, (parts.told_open, parts.told_close, parts.opening))
        self._ending, self._after = _split(encoder.markup(parts.ending), tokenizer)
        eos = tokenizer.eos_token_id
        self.end = frozenset({self._ending[-1]} | ({eos} if eos is not None else set()))
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else self._ending[-1]
        if not (self._system_open if self._system_open is not None else self._start):
            raise BadModel("the chat template writes nothing before the first message; a row must begin with a token that is no action")

    def _head(self, instruction: str, turns: Sequence[Turn], seat: str) -> Head:
        if not instruction:
            return Head(self._start, open=True, fresh=not self.encoder.is_text(self._start), lead=self._told_lead)
        if self._system_open is None:
            return Head(self._start + self.encoder.encode(self._told_lead + instruction + "\n\n"), open=True, fresh=False)
        ids = self._system_open + self.encoder.encode(instruction) + self._start_after_system
        return Head(ids, open=True, fresh=False, lead=self._lead_after_system)


def cut(tokenizer: Any) -> Cut:
    """Cut a tokenizer's chat template into the texts around messages.

    Raises:
        BadModel: the template cannot be cut, with the reason.
    """
    messages = [message for told, said in zip(TOLD, (*SAID, "")) for message in (_message("user", told), _message("assistant", said))]
    one, two, three, four, five = (_render(tokenizer, messages[:n]) for n in range(1, 6))
    start, close = _around(one, TOLD[0])
    asked = _render(tokenizer, messages[:1], ask=True).removeprefix(start + TOLD[0])
    given, tail = _between(two, TOLD[0], SAID[0]), _around(two, SAID[0])[1]
    middle = _between(three, SAID[0], TOLD[1])
    lead = given.removeprefix(asked)
    if not given.startswith(asked) or lead.strip():
        raise BadModel(f"the chat template asks for an answer with {asked!r} but writes {given!r} before one that is given")
    ending = tail if middle.startswith(tail) else tail.rstrip()
    if not middle.startswith(ending):
        raise BadModel(f"the chat template rewrites earlier turns: {tail!r} after an answer becomes {middle!r} when a message follows")
    first = start + TOLD[0] + given + SAID[0]
    second = first + middle + TOLD[1] + given + SAID[1]
    wanted = {two: first + tail, three: first + middle + TOLD[1] + close, four: second + tail, five: second + middle + TOLD[2] + close}
    for render, right in wanted.items():
        if render != right:
            raise BadModel(f"the chat template rewrites earlier turns: after its shorter conversations {right!r} is right, and it writes {render!r}")
    told_close = close if asked.startswith(close) else ""
    system_open, after_system = _system(tokenizer, messages, three.removeprefix(start))
    opening, told_open = asked.removeprefix(told_close), middle.removeprefix(ending)
    told_lead = _spaces(told_open) if _spaces(told_open) == _spaces(start) else ""
    start, told_open = start.removesuffix(told_lead), told_open.removesuffix(told_lead)
    lead_after_system = _spaces(after_system)
    after_system = after_system.removesuffix(lead_after_system)
    return Cut(start, system_open, after_system, lead_after_system, told_open, told_lead, told_close, opening, lead, ending)


def _spaces(text: str) -> str:
    return " " * (len(text) - len(text.rstrip(" ")))


def _system(tokenizer: Any, messages: list[dict[str, str]], rest: str) -> tuple[str | None, str]:
    """The texts before and after a system message; (None, "") where the template takes none. `rest`: what follows without one."""
    try:
        render = _render(tokenizer, [_message("system", SYSTEM), *messages[:3]])
    except BadModel:
        return None, ""
    if render.count(SYSTEM) != 1 or render.find(SYSTEM) > render.find(TOLD[0]):
        return None, ""
    if render[render.find(TOLD[0]) :] != rest:
        raise BadModel(f"the chat template writes the turns otherwise after a system message: {render!r}")
    return _around(render, SYSTEM)[0], _between(render, SYSTEM, TOLD[0])


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _render(tokenizer: Any, messages: list[dict[str, str]], ask: bool = False) -> str:
    try:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=ask))
    except Exception as error:  # a template is a program of its own: it may raise anything
        raise BadModel(f"the chat template refuses {[message['role'] for message in messages]} ({type(error).__name__}: {error})") from error


def _around(render: str, word: str) -> tuple[str, str]:
    if render.count(word) != 1:
        raise BadModel(f"the chat template writes a message {render.count(word)} times instead of once: {render!r}")
    before, _, after = render.partition(word)
    return before, after


def _between(render: str, first: str, second: str) -> str:
    return _around(_around(render, first)[1], second)[0]


def _markers_in(tokenizer: Any, parts: Cut) -> list[str]:
    """The added tokens that the template writes: these, and the tokenizer's special ones, are never found in a message."""
    written = [parts.start, parts.system_open or "", parts.start_after_system, parts.told_open, parts.told_close, parts.opening, parts.ending]
    added = [token.content for token in tokenizer.added_tokens_decoder.values()]
    return [token for token in added if any(token in text for text in written) and token != tokenizer.unk_token]


def _split(ending: Ids, tokenizer: Any) -> tuple[Ids, Ids]:
    """What closes an answer up to its end marker, and what is left."""
    added = tokenizer.added_tokens_decoder
    place = next((n for n, i in enumerate(ending) if i in added), None)
    if place is None:
        raise BadModel("the chat template writes no special token after an answer, so nothing could end one")
    return ending[: place + 1], ending[place + 1 :]
