"""`Chat`: a tokenizer's own chat template, as it is.

The prompt before an answer is what the template writes for the conversation so far. Drawn ids stay as drawn.
While the text of the next prompt begins with the last prompt and the drawn answer, both stand in one row; a
template that rewrites earlier turns begins a new segment, whose row begins with the whole new prompt.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

from loquent.core.episode import Turn
from loquent.core.guards import json_files
from loquent.core.settings import Remark
from loquent.core.values import Record, map_texts, plain
from loquent.data.tables.forms import tools_of
from loquent.errors import BadModel
from loquent.models.format.base import HEAD, Format, Head, Piece, Place, Written, distinct_markers
from loquent.models.format.encoder import Encoder, Ids, scalars
from loquent.models.format.probes import ASSISTANT, in_parts, probe, thinking_variables
from loquent.models.format.template import ALLOWED, Message, TemplateRefuses, render

CALLS = "tool_calls"
TOOL = "tool"  # the seat whose texts are messages of a tool
KEPT_TEXTS = 1 << 12  # conversations whose text is kept
HELD = re.compile("\ue000([0-9]+)\ue001")  # stands for ids that the template cannot read


@dataclass(frozen=True)
class _Asked:
    """A request for an answer: the number of turns before it, its prompt, and its segment."""

    turn: int
    ids: Ids
    text: str
    segment: int


class Chat(Format):
    """The format of a tokenizer's own chat template.

    Observations are user messages, or a tool's if the seat "tool" writes them; answers are assistant
    messages, and the instruction is the system message. If the template takes no system message, the
    instruction stands before the first user message. The first user message is written even if it is empty.
    Where the template wants messages that alternate, neighbours of one role are joined by an empty line. The
    template gets calls of tools and the tools of a conversation; a remark says if it writes nothing of them.

    An answer from text is what the template writes of it after the prompt. If it writes no special token
    after an answer, the next message's first special token ends it, or else the tokenizer's eos.

    Args:
        thinking: switches the thoughts of the template by its variables; None: it does so itself.
        ends: further ids that end an answer, such as those of the model's generation_config.json.

    Raises:
        BadModel: the tokenizer has no chat template, the template writes no text of messages, or no token
            ends an answer.
        BadSetting: the template has no thoughts to switch.
    """

    rewrites = True

    def __init__(self, tokenizer: Any, thinking: bool | None = None, ends: Iterable[int] = ()) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise BadModel(
                "the tokenizer has no chat template; use the plain format, or set tokenizer.chat_template"
            )
        self._tokenizer = tokenizer
        self.variables = thinking_variables(tokenizer, thinking)
        probed = self._probed = probe(tokenizer, self.variables)
        added = {token.content: i for i, token in tokenizer.added_tokens_decoder.items()}
        added.pop(tokenizer.unk_token, None)
        closing, marker = _ending(probed.tails, added, tokenizer.eos_token)
        named = (tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token, marker)
        special = distinct_markers(name for name in named if name != tokenizer.unk_token)
        super().__init__(Encoder(tokenizer, special))
        written = [name for name in added if any(name in text for text in probed.texts)]
        own = [name for name in added if self.encoder.is_special(added[name])]
        self._guards = _any_of(own), _any_of([*own, *written])  # in answers, and in all other texts
        self._ending = self.encoder.markup(closing)
        eos = tokenizer.eos_token_id
        self.end = frozenset({added[marker], *ends} | ({eos} if eos is not None else set()))
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else added[marker]
        self.takes_system, self.parts = probed.takes_system, probed.parts
        self.lead_ids, self.lead, self._space = self._split_lead()
        self._text_of = lru_cache(KEPT_TEXTS)(self._rendered)
        if not self.prompt("", (), "", 1 << 30)[0]:
            raise BadModel(
                "the chat template writes nothing before the first answer; a row must begin with a token "
                "that is not an action; use format: plain"
            )

    def chat_template(self) -> str:
        """The tokenizer's own template."""
        return str(self._tokenizer.get_chat_template())

    def messages(self, instruction: str, turns: Sequence[Turn], seat: str) -> list[Message]:
        """The conversation as messages for the template."""
        messages = super().messages(instruction, turns, seat)
        if self._probed.alternates:
            messages = _alternating(messages)
        return [in_parts(message) for message in messages] if self.parts else messages

    def tools(self, turns: Sequence[Turn]) -> tuple[Any, ...]:
        """As in `Format`."""
        return next((tools for turn in turns if (tools := tools_of(turn.messages))), ())

    def prompt(
        self, instruction: str, turns: Sequence[Turn], seat: str, room: int, side: str = "left"
    ) -> tuple[Ids, int]:
        """As in `Format`: what the template writes for the conversation, with its request for an answer."""
        whole = self._asked(instruction, turns, seat)[-1].ids
        if len(whole) <= room:
            return whole, 0
        fit = self.fit(instruction, turns, seat, room, side)
        return self._asked(instruction, turns[fit.first :], seat, fit.keep)[-1].ids, fit.first

    def answer(self, text: str) -> Ids:
        """As in `Format`: with what the template writes between its request and an answer."""
        return self.lead_ids + super().answer(text)

    def text(self, ids: Sequence[int], before: Sequence[int] = ()) -> str:
        """As in `Format`: what follows the template's markers before an answer, if they were drawn."""
        length = len(self.lead_ids)
        if length:
            places = range(len(ids) - length, -1, -1)
            start = next((n for n in places if tuple(ids[n : n + length]) == self.lead_ids), None)
            ids = ids if start is None else ids[start + length :]
        return super().text(ids, before)

    def answers(
        self, instruction: str, turns: Sequence[Turn], seat: str, keep: slice | None = None
    ) -> list[Place]:
        """As in `Format`."""
        asked = self._asked(instruction, turns, seat, keep)[:-1]
        return [Place(one.turn, len(one.ids), self._drawn(turns[one.turn]), one.segment) for one in asked]

    def write(self, instruction: str, turns: Sequence[Turn], seat: str, keep: slice | None = None) -> Written:
        """The row of the last answer's segment: the head holds all ids before its first answer."""
        *asked, after = self._asked(instruction, turns, seat, keep)
        pieces = [Piece((), (), number) for number in range(HEAD, len(turns))]
        row = [one for one in asked if one.segment == asked[-1].segment] if asked else []
        pieces[0] = Piece(row[0].ids, (False,) * len(row[0].ids), HEAD) if row else pieces[0]
        ids = row[0].ids if row else ()
        for one in row:
            before, drawn = one.ids[len(ids) :], self._drawn(turns[one.turn])
            is_action = (False,) * len(before) + (True,) * len(drawn)
            pieces[one.turn + 1] = Piece(before + drawn, is_action, one.turn)
            ids = one.ids + drawn
        if row and after.segment != row[-1].segment:
            opening = self._continuation(instruction, turns, seat, row[-1])
        else:
            opening = after.ids[len(ids) :]
        return Written(tuple(pieces), opening, ())

    def _head(self, instruction: str, turns: Sequence[Turn], seat: str) -> Head:
        raise NotImplementedError  # the template writes all of a row

    def _text_length(self, instruction: str, turns: Sequence[Turn], seat: str) -> int:
        _, (first,), held = self._held("", turns[:1], seat, None)
        return sum(len(self._encoded(text, held)) for text in _contents(first))

    def _messages_of(self, turn: Turn, seat: str) -> list[Message]:
        takes_tools = self._probed.takes_tools
        return [
            {
                **plain({name: value for more in own for name, value in more.items() if name != "tools"}),
                "role": "user" if role == TOOL and not takes_tools else role,
                "content": content,
            }
            for role, content, *own in turn.messages
        ] or super()._messages_of(turn, seat)

    def _role(self, turn: Turn, seat: str) -> str:
        return TOOL if turn.seat == TOOL != seat and self._probed.takes_tools else super()._role(turn, seat)

    def _length(self, instruction: str, turns: Sequence[Turn], seat: str, keep: slice | None = None) -> int:
        return len(self._asked(instruction, turns, seat, keep)[-1].ids)

    def _asked(
        self, instruction: str, turns: Sequence[Turn], seat: str, keep: slice | None = None
    ) -> list[_Asked]:
        """The requests before each answer of the seat, and the one after all turns."""
        first, known, held = self._held(instruction, turns, seat, keep)
        asked = list[_Asked]()
        for number in (*(n for n, turn in enumerate(turns) if turn.seat == seat), len(turns)):
            text = self._conversation(first, known[:number], seat, held)
            before = asked[-1] if asked else None
            if before is None:
                asked.append(_Asked(number, self._ids(text, held), text, 0))
                continue
            drawn = self._drawn(turns[before.turn])
            written = before.text + self._as_written(drawn, known[before.turn].text, held)
            if text.startswith(written):
                ids = before.ids + drawn + self._ids(text[len(written) :], held, drawn)
                asked.append(_Asked(number, ids, text, before.segment))
            else:
                asked.append(_Asked(number, self._ids(text, held), text, before.segment + 1))
        return asked

    def _drawn(self, turn: Turn) -> Ids:
        """The action ids of an answer: as drawn, or its text's."""
        if turn.tokens is not None:
            return tuple(turn.tokens.ids.tolist())
        ids = self.answer(turn.text)
        return ids if turn.stopped in ("end", "forced") else ids[: len(ids) - len(self._ending)]

    def _continuation(self, instruction: str, turns: Sequence[Turn], seat: str, last: _Asked) -> Ids:
        """The ids from the last answer to the next request, where the template writes the answer otherwise.

        They follow the answer as it was drawn, so that a value can stand for what comes.
        """
        first, known, held = self._held(instruction, turns, seat, None)
        known[last.turn] = Turn(seat, ASSISTANT[0])
        text = self._conversation(first, known, seat, held)
        drawn, rest = self._drawn(turns[last.turn]), text.rpartition(ASSISTANT[0])[2]
        if drawn and drawn[-1] in self.end:
            marker = next((m for m in map(self.encoder.token, sorted(self.end)) if m in rest), "")
            rest = rest.partition(marker)[2] if marker else rest
        return self._ids(rest, held, drawn)

    def _conversation(self, instruction: str, turns: Sequence[Turn], seat: str, held: list[Ids]) -> str:
        """The template's text for a conversation, with its request for an answer.

        If the template refuses what a text says, it sees none of the texts.
        """
        messages, tools = self.messages(instruction, turns, seat), _json(self.tools(turns))
        if self._probed.alternates and messages[-1]["role"] == "assistant":
            messages.append(self._empty())
        try:
            return self._text_of(_frozen(messages), tools)
        except TemplateRefuses:

            def hide(text: str) -> str:
                return self._hold(self._encoded(text, held), held) if text else ""

            hidden = [_with_texts(turn, map(hide, _contents(turn))) for turn in turns]
            return self._text_of(_frozen(self.messages(instruction, hidden, seat)), tools)

    def _empty(self) -> Message:
        message = {"role": "user", "content": ""}
        return in_parts(message) if self.parts else message

    def _rendered(self, messages: tuple[tuple[str, str, str], ...], tools: str) -> str:
        conversation = [
            {**json_files.loads(more), "role": role, "content": text} for role, text, more in messages
        ]
        if self.parts:
            conversation = list(map(in_parts, conversation))
        known = json_files.loads(tools)
        text = self._render(conversation, known)
        if isinstance(text, TemplateRefuses):
            raise text
        bare = [{name: m[name] for name in m if name != CALLS} for m in conversation]
        for name, other in ((CALLS, (bare, known)), ("tools", (conversation, []))):
            if other != (conversation, known) and self._render(*other) == text:
                warnings.warn(
                    f"the chat template writes nothing of {name}, so a prompt does not have them; use a "
                    "model whose template reads them, or write them into the messages",
                    Remark,
                    stacklevel=2,
                )
        return text

    def _render(self, conversation: list[Message], tools: list[Any]) -> str | TemplateRefuses:
        variables = {**self.variables, "tools": tools} if tools else self.variables
        return render(self._tokenizer, [(conversation, True)], variables)[0]

    def _held(
        self, instruction: str, turns: Sequence[Turn], seat: str, keep: slice | None
    ) -> tuple[str, list[Turn], list[Ids]]:
        """The instruction and the turns for the template, and the ids that stand for what it must not read.

        These are the strings in them that are markers, and the kept ids of a first text that is cut.
        """
        held: list[Ids] = []
        first = self._guard(scalars(instruction), held, own=False)

        def guard(turn: Turn, role: str, text: str) -> str:
            return self._guard(scalars(text), held, own=turn.seat == seat or role == "assistant")

        def guard_all(turn: Turn) -> Turn:
            texts = [guard(turn, one[0], one[1]) for one in turn.messages or [("", turn.text)]]
            own = [map_texts(one[2:], lambda text: guard(turn, TOOL, text)) for one in turn.messages]
            return _with_texts(turn, texts, own)

        known = list(map(guard_all, turns))
        if keep is not None and turns:
            known[0] = self._cut(known[0], keep, held)
        return first, known, held

    def _cut(self, turn: Turn, keep: slice, held: list[Ids]) -> Turn:
        """The turn with the ids `keep` of its text; of its messages, those that keep one, and calls between.

        An answer that would be the first message is left out. The tools stay.
        """
        encoded = [self._encoded(text, held) for text in _contents(turn)]
        if not turn.messages:
            return _with_texts(turn, [self._hold(encoded[0][keep], held)])
        kept, start = range(sum(map(len, encoded)))[keep], 0
        messages: list[tuple[Any, ...]] = []
        for (role, _, *more), ids in zip(turn.messages, encoded, strict=True):
            own = ids[max(0, kept.start - start) : max(0, kept.stop - start)]
            between = bool(more) and bool(messages) and start <= kept.stop
            start += len(ids)
            if (own and (messages or role != "assistant")) or between:
                messages.append((role, self._hold(own, held), *more))
        if messages and (tools := tools_of(turn.messages)):
            first = dict(messages[0][2]) if len(messages[0]) > 2 else {}
            messages[0] = (*messages[0][:2], Record(first, tools=tools))
        return Turn(turn.seat, "", messages=tuple(messages))

    def _guard(self, text: str, held: list[Ids], own: bool) -> str:
        """A text in which marker strings, and what looks like a held place, are held as characters."""

        def hold(found: re.Match[str]) -> str:
            marker = found.group()
            return self._hold(self.encoder.encode(marker[:1]) + self.encoder.encode(marker[1:]), held)

        return self._guards[0 if own else 1].sub(hold, text)

    @staticmethod
    def _hold(ids: Ids, held: list[Ids]) -> str:
        held.append(ids)
        return f"\ue000{len(held) - 1}\ue001"

    def _encoded(self, text: str, held: Sequence[Ids]) -> Ids:
        """The ids of a guarded text."""
        parts = HELD.split(text)
        ids = [held[int(part)] if n % 2 else self.encoder.encode(part) for n, part in enumerate(parts)]
        return tuple(i for part in ids for i in part)

    def _ids(self, text: str, held: Sequence[Ids], after: Ids | None = None) -> Ids:
        """The ids of what the template wrote: of a whole prompt, or of what follows the ids `after`."""
        head, *parts = HELD.split(text)
        marker = self.encoder.token(after[-1]) if after and self.encoder.is_added(after[-1]) else ""
        if after is None:
            ids = list(self.encoder.markup(head, first=True))
        elif marker:  # a tokenizer may treat text after a marker in its own way
            ids = list(self.encoder.markup(marker + head, first=True)[1:])
        else:
            ids = list(self.encoder.markup(head))
        for n, part in enumerate(parts):
            ids += self.encoder.markup(part) if n % 2 else held[int(part)]
        return tuple(ids)

    def _as_written(self, drawn: Ids, text: str, held: Sequence[Ids]) -> str:
        """A drawn answer as the template must write it to keep it.

        `text`: the guarded text of the answer, whose held places it has.
        """
        parts = [
            "".join(map(self.encoder.token, run)) if added else self.encoder.decode(list(run))
            for added, run in groupby(drawn, self.encoder.is_added)
        ]
        written = "".join(parts).removeprefix(self._space)
        for part in HELD.findall(text):
            ids = held[int(part)]
            written = written.replace(self.encoder.decode(ids), f"\ue000{part}\ue001", 1)
        return written

    def _split_lead(self) -> tuple[Ids, str, str]:
        """What stands between the request and an answer: ids, white space, and a space that ids alone have.

        Some tokenizers put a space before the text after a marker; the space is no part of the template's
        text.
        """
        lead = self._probed.lead
        spaces = lead[len(lead.rstrip(" ")) :]
        prompt, whole = (
            self.encoder.markup(text, first=True) for text in (self._probed.prompt, self._probed.answered)
        )
        rest = self.encoder.decode(whole[len(prompt) :]) if whole[: len(prompt)] == prompt else ""
        before = rest.partition(ASSISTANT[0])[0]
        space = " " if before.endswith(" ") and not lead.endswith(" ") else ""
        markup = lead.removesuffix(spaces)
        return self.encoder.markup(markup) if markup else (), spaces + space, space


def _ending(tails: tuple[str, str], added: dict[str, int], eos: str | None) -> tuple[str, str]:
    """What ends an answer, up to its first special token, and this token.

    Raises:
        BadModel: there is none.
    """
    for tail in tails:
        names = [name for name in added if name in tail]
        if names:
            first = min(names, key=lambda name: (tail.find(name), -len(name)))
            return tail[: tail.find(first)] + first, first
    if eos is None or eos not in added:
        raise BadModel(
            "the chat template writes no special token after an answer, and the tokenizer has no eos token, "
            f"so a model could not end one; set eos_token on the tokenizer. {ALLOWED}"
        )
    return eos, eos


def _contents(turn: Turn) -> list[str]:
    """The texts of a turn's messages, or its own."""
    return [message[1] for message in turn.messages] or [turn.text]


def _with_texts(turn: Turn, texts: Iterable[str], own: Sequence[Any] | None = None) -> Turn:
    """A turn of the same seat and roles with other texts, one for each of `_contents`.

    `own`: what the messages have beside their texts, by default as it is.
    """
    found = list(texts)
    if not turn.messages:
        return Turn(turn.seat, found[0])
    own = [message[2:] for message in turn.messages] if own is None else own
    made = [(message[0], text, *more) for message, text, more in zip(turn.messages, found, own, strict=True)]
    return Turn(turn.seat, "\n".join(found), messages=tuple(made))


def _json(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def _alternating(messages: Sequence[Message]) -> list[Message]:
    """The messages with neighbours of one role joined, and an empty message between answers."""
    result: list[Message] = []
    for message in messages:
        role = message["role"]
        if result and result[-1]["role"] == role == "assistant":
            result.append({"role": "user", "content": ""})
        if result and result[-1]["role"] == role:
            joined = "\n\n".join(filter(None, (result[-1]["content"], message["content"])))
            calls = [*result[-1].get(CALLS, []), *message.get(CALLS, [])]
            both = {**result[-1], **message, "content": joined}
            result[-1] = {**both, CALLS: calls} if calls else both
        else:
            result.append(message)
    return result


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    """A pattern of any of these strings, longer ones first, and of a character that begins a held place."""
    return re.compile("|".join(map(re.escape, sorted({*names, "\ue000"}, key=len, reverse=True))))


def _frozen(messages: Sequence[Message]) -> tuple[tuple[str, str, str], ...]:
    """Messages as a key: their roles, their texts, and the rest as JSON."""
    contents = [message["content"] for message in messages]
    texts = [content if isinstance(content, str) else content[0]["text"] for content in contents]
    rest = [{name: m[name] for name in m if name not in ("role", "content")} for m in messages]
    return tuple((m["role"], text, _json(more)) for m, text, more in zip(messages, texts, rest, strict=True))
