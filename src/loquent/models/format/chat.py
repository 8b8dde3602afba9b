"""`Chat`: a tokenizer's own chat template, cut once into pieces by rendering conversations of known words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loquent.core.episode import Turn
from loquent.errors import BadModel
from loquent.models.format.base import TURNS, Format, Head, distinct_markers, literal
from loquent.models.format.encoder import Encoder, Ids
from loquent.models.format.template import TemplateRefuses, render

SYSTEM, TOLD, SAID = (
    "Qsystemq",
    ("Qtoldaq", "Qtoldbq", "Qtoldcq"),
    ("Qsaidaq", "Qsaidbq"),
)  # words no template writes itself


@dataclass(frozen=True)
class Cut:
    """The text of a template around messages: `start`, or `system_open` instruction `start_after_system`;
    then the first told message.

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
    """What the seat is told are user messages, what it says assistant messages, the instruction is the system
    message (or, where a template takes none, stands before the first user message). The first user message is
    written even when it is empty.

    Raises:
        BadModel: the tokenizer has no chat template; the template rewrites earlier turns when later ones
            come; it writes other things before an answer than where it asks for one; or it marks no end of an
            answer.
    """

    def __init__(self, tokenizer: Any) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise BadModel(
                "the tokenizer has no chat template; use the plain format, or set tokenizer.chat_template"
            )
        parts = self._parts = cut(tokenizer)
        encoder = Encoder(tokenizer, distinct_markers(_markers_in(tokenizer, parts)))
        super().__init__(encoder)
        self._lead, self._told_lead, self._lead_after_system = (
            parts.lead,
            parts.told_lead,
            parts.lead_after_system,
        )
        self._start, self._start_after_system = (
            encoder.markup(parts.start, first=True),
            encoder.markup(parts.start_after_system),
        )
        self._system_open = (
            None if parts.system_open is None else encoder.markup(parts.system_open, first=True)
        )
        self._told_open, self._told_close, self._opening = map(
            encoder.markup, (parts.told_open, parts.told_close, parts.opening)
        )
        self._ending, self._after = _split(encoder.markup(parts.ending), tokenizer)
        eos = tokenizer.eos_token_id
        self.end = frozenset({self._ending[-1]} | ({eos} if eos is not None else set()))
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else self._ending[-1]
        if not (self._system_open if self._system_open is not None else self._start):
            raise BadModel(
                "the chat template writes nothing before the first message; a row must begin with a "
                "token that is no action"
            )

    def chat_template(self) -> str:
        """The pieces of the tokenizer's own template put together again, as `write` does: no text in a
        message is trimmed.
        """
        p, marker = self._parts, self.encoder.token(self._ending[-1])
        before, _, after = p.ending.partition(marker)
        start, told_lead, told_open, told_close, opening = map(
            literal, (p.start, p.told_lead, p.told_open, p.told_close, p.opening)
        )
        lead, ending, owed, after_system = map(literal, (p.lead, before + marker, after, p.lead_after_system))
        if p.system_open is None:
            first = f"{{{{ {start} + {told_lead} + instruction + '\\n\\n' }}}}{{% set pen.lead = '' %}}"
        else:
            around = literal(p.system_open), literal(p.start_after_system)
            first = f"{{{{ {around[0]} + instruction + {around[1]} }}}}{{% set pen.lead = {after_system} %}}"
        before_answer = f"{{{{ pen.owed + ({told_close} if pen.open else '') + {opening} }}}}"
        return (
            f"{TURNS}{{% set pen = namespace(open=true, owed='', lead={told_lead}) %}}{{% if "
            f"instruction %}}{first}{{% else %}}{{{{ {start} }}}}{{% endif %}}{{% for turn in turns "
            "%}{% set text = turn.content or '' %}{% if turn.role == 'assistant' "
            f"%}}{before_answer}{{{{ {lead} + text + {ending} }}}}{{% set pen.open = false %}}{{% "
            f"set pen.owed = {owed} %}}{{% set pen.lead = {told_lead} %}}{{% elif text or pen.open "
            f"%}}{{{{ pen.owed + ('' if pen.open else {told_open}) + pen.lead + text + {told_close} "
            "}}{% set pen.open = false %}{% set pen.owed = '' %}{% set pen.lead = "
            f"{told_lead} %}}{{% endif %}}{{% endfor %}}{{% if add_generation_prompt "
            f"%}}{before_answer}{{% endif %}}"
        )

    @property
    def takes_system(self) -> bool:  # type: ignore[override]  # it depends on the template
        """Whether the template takes a system message.

        Else the instruction stands before the first user message.
        """
        return self._system_open is not None

    def _head(self, instruction: str, turns: Sequence[Turn], seat: str) -> Head:
        if not instruction:
            return Head(
                self._start, open=True, fresh=not self.encoder.is_text(self._start), lead=self._told_lead
            )
        if self._system_open is None:
            return Head(
                self._start + self.encoder.encode(self._told_lead + instruction + "\n\n"),
                open=True,
                fresh=False,
            )
        ids = self._system_open + self.encoder.encode(instruction) + self._start_after_system
        return Head(ids, open=True, fresh=False, lead=self._lead_after_system)


def cut(tokenizer: Any) -> Cut:
    """Cut a tokenizer's chat template into the texts around messages.

    Raises:
        BadModel: the template cannot be cut, with the reason.
    """
    messages = [
        message
        for told, said in zip(TOLD, (*SAID, ""))
        for message in (_message("user", told), _message("assistant", said))
    ]
    conversations = [
        *((messages[:n], False) for n in range(1, 6)),
        (messages[:1], True),
        ([_message("system", SYSTEM), *messages[:3]], False),
    ]
    *renders, with_system, touching = render(
        tokenizer, [*conversations, ([*messages[:2], messages[3]], False)]
    )
    one, two, three, four, five, ask = map(_accepted, renders)
    start, close = _around(one, TOLD[0])
    asked = ask.removeprefix(start + TOLD[0])
    given, tail = _between(two, TOLD[0], SAID[0]), _around(two, SAID[0])[1]
    middle = _between(three, SAID[0], TOLD[1])
    lead = given.removeprefix(asked)
    if not given.startswith(asked) or lead.strip():
        raise BadModel(
            f"the chat template asks for an answer with {_shown(asked)} but writes {_shown(given)} "
            "before one that is given"
        )
    ending = tail if middle.startswith(tail) else tail.rstrip()
    if not middle.startswith(ending):
        raise BadModel(
            f"the chat template rewrites earlier turns: {_shown(tail)} after an answer becomes "
            f"{_shown(middle)} when a message follows"
        )
    first = start + TOLD[0] + given + SAID[0]
    second = first + middle + TOLD[1] + given + SAID[1]
    wanted = {
        two: first + tail,
        three: first + middle + TOLD[1] + close,
        four: second + tail,
        five: second + middle + TOLD[2] + close,
    }
    for text, right in wanted.items():
        if text != right:
            raise BadModel(
                "the chat template rewrites earlier turns: after its shorter conversations "
                f"{_shown(right)} is right, and it writes {_shown(text)}"
            )
    told_close = close if asked.startswith(close) else ""
    system_open, after_system = _system(with_system, three.removeprefix(start))
    opening = asked.removeprefix(told_close)
    ending = _whole_ending(touching, ending, opening + lead, middle)
    told_open = middle.removeprefix(ending)
    told_lead = _spaces(told_open) if _spaces(told_open) == _spaces(start) else ""
    start, told_open = start.removesuffix(told_lead), told_open.removesuffix(told_lead)
    lead_after_system = _spaces(after_system)
    after_system = after_system.removesuffix(lead_after_system)
    return Cut(
        start,
        system_open,
        after_system,
        lead_after_system,
        told_open,
        told_lead,
        told_close,
        opening,
        lead,
        ending,
    )


def _whole_ending(touching: str | TemplateRefuses, ending: str, opening: str, middle: str) -> str:
    """The ending of an answer with the white space that a template (such as `chat_template` makes) writes
    only where something follows.

    `touching`: a conversation with two answers in a row. The ending as it is for a template that refuses
        them.
    """
    if isinstance(touching, TemplateRefuses) or touching.count(SAID[0]) != 1 or touching.count(SAID[1]) != 1:
        return ending
    between = touching.partition(SAID[0])[2].partition(SAID[1])[0]
    whole = between.removesuffix(opening)
    fits = whole != between and whole.startswith(ending) and middle.startswith(whole)
    return whole if fits and not whole.removeprefix(ending).strip() else ending


def _spaces(text: str) -> str:
    return " " * (len(text) - len(text.rstrip(" ")))


def _system(text: str | TemplateRefuses, rest: str) -> tuple[str | None, str]:
    """The texts before and after a system message; (None, "") where the template takes none.

    `rest`: what follows without one.
    """
    if isinstance(text, TemplateRefuses) or text.count(SYSTEM) != 1 or text.find(SYSTEM) > text.find(TOLD[0]):
        return None, ""
    if text[text.find(TOLD[0]) :] != rest:
        raise BadModel(f"the chat template writes the turns otherwise after a system message: {_shown(text)}")
    return _around(text, SYSTEM)[0], _between(text, SYSTEM, TOLD[0])


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _accepted(text: str | TemplateRefuses) -> str:
    if isinstance(text, TemplateRefuses):
        raise text
    return text


def _shown(text: str) -> str:
    return repr(text if len(text) <= 300 else f"{text[:150]} ... {text[-150:]}")


def _around(text: str, word: str) -> tuple[str, str]:
    if text.count(word) != 1:
        raise BadModel(
            f"the chat template writes a message {text.count(word)} times instead of once: {_shown(text)}"
        )
    before, _, after = text.partition(word)
    return before, after


def _between(text: str, first: str, second: str) -> str:
    return _around(_around(text, first)[1], second)[0]


def _markers_in(tokenizer: Any, parts: Cut) -> list[str]:
    """The added tokens that the template writes: these, and the tokenizer's special ones, are never found in
    a message.
    """
    written = [
        parts.start,
        parts.system_open or "",
        parts.start_after_system,
        parts.told_open,
        parts.told_close,
        parts.opening,
        parts.ending,
    ]
    added = [token.content for token in tokenizer.added_tokens_decoder.values()]
    return [
        token for token in added if any(token in text for text in written) and token != tokenizer.unk_token
    ]


def _split(ending: Ids, tokenizer: Any) -> tuple[Ids, Ids]:
    """What closes an answer up to its end marker, and what is left."""
    added = tokenizer.added_tokens_decoder
    place = next((n for n, i in enumerate(ending) if i in added), None)
    if place is None:
        raise BadModel("the chat template writes no special token after an answer, so nothing could end one")
    return ending[: place + 1], ending[place + 1 :]
