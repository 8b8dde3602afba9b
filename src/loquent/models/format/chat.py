"""`Chat`: a tokenizer's own chat template, cut into pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loquent.core.episode import Turn
from loquent.errors import BadModel
from loquent.models.format.base import TURNS, Format, Head, distinct_markers, literal
from loquent.models.format.cut import Cut, cut
from loquent.models.format.encoder import Encoder, Ids


class Chat(Format):
    """The format of a tokenizer's own chat template.

    Observations are user messages, answers are assistant messages, and the instruction is the system message.
    If the template takes no system message, the instruction stands before the first user message. The first
    user message is written even if it is empty.

    Raises:
        BadModel: the tokenizer has no chat template; the template rewrites earlier turns when later ones
            come; its request for an answer differs from what it writes before an answer; or it marks no end
            of an answer.
    """

    def __init__(self, tokenizer: Any) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise BadModel(
                "the tokenizer has no chat template; use the plain format, or set tokenizer.chat_template"
            )
        parts = self._parts = cut(tokenizer)
        encoder = Encoder(tokenizer, distinct_markers(_markers_in(tokenizer, parts)))
        super().__init__(encoder)
        self._lead, self._observation_lead = parts.lead, parts.user_lead
        self._lead_after_system = parts.lead_after_system
        self._start = encoder.markup(parts.start, first=True)
        self._start_after_system = encoder.markup(parts.start_after_system)
        self._system_open = (
            None if parts.system_open is None else encoder.markup(parts.system_open, first=True)
        )
        self._observation_open = encoder.markup(parts.user_open)
        self._observation_close = encoder.markup(parts.user_close)
        self._opening = encoder.markup(parts.opening)
        self._ending, self._after = _split(encoder.markup(parts.ending), tokenizer)
        eos = tokenizer.eos_token_id
        self.end = frozenset({self._ending[-1]} | ({eos} if eos is not None else set()))
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else self._ending[-1]
        if not (self._system_open if self._system_open is not None else self._start):
            raise BadModel(
                "the chat template writes nothing before the first message; a row must begin with a token "
                "that is not an action; use format: plain"
            )

    def chat_template(self) -> str:
        """The pieces of the tokenizer's template put together as `write` does, without trimming texts."""
        p, marker = self._parts, self.encoder.token(self._ending[-1])
        before, _, after = p.ending.partition(marker)
        start, user_lead, user_open, user_close, opening = map(
            literal, (p.start, p.user_lead, p.user_open, p.user_close, p.opening)
        )
        lead, ending, owed, after_system = map(literal, (p.lead, before + marker, after, p.lead_after_system))
        if p.system_open is None:
            first = f"{{{{ {start} + {user_lead} + instruction + '\\n\\n' }}}}{{% set pen.lead = '' %}}"
        else:
            around = literal(p.system_open), literal(p.start_after_system)
            first = f"{{{{ {around[0]} + instruction + {around[1]} }}}}{{% set pen.lead = {after_system} %}}"
        before_answer = f"{{{{ pen.owed + ({user_close} if pen.open else '') + {opening} }}}}"
        return (
            f"{TURNS}"
            f"{{% set pen = namespace(open=true, owed='', lead={user_lead}) %}}"
            f"{{% if instruction %}}{first}{{% else %}}{{{{ {start} }}}}{{% endif %}}"
            "{% for turn in turns %}"
            "{% set text = turn.content or '' %}"
            "{% if turn.role == 'assistant' %}"
            f"{before_answer}{{{{ {lead} + text + {ending} }}}}"
            f"{{% set pen.open = false %}}{{% set pen.owed = {owed} %}}{{% set pen.lead = {user_lead} %}}"
            "{% elif text or pen.open %}"
            f"{{{{ pen.owed + ('' if pen.open else {user_open}) + pen.lead + text + {user_close} }}}}"
            f"{{% set pen.open = false %}}{{% set pen.owed = '' %}}{{% set pen.lead = {user_lead} %}}"
            "{% endif %}{% endfor %}"
            f"{{% if add_generation_prompt %}}{before_answer}{{% endif %}}"
        )

    @property
    def takes_system(self) -> bool:  # type: ignore[override]  # it depends on the template
        """Whether the template takes a system message; else the first user message has the instruction."""
        return self._system_open is not None

    def _head(self, instruction: str, turns: Sequence[Turn], seat: str) -> Head:
        if not instruction:
            return Head(
                self._start,
                open=True,
                fresh=not self.encoder.is_text(self._start),
                lead=self._observation_lead,
            )
        if self._system_open is None:
            ids = self._start + self.encoder.encode(self._observation_lead + instruction + "\n\n")
            return Head(ids, open=True, fresh=False)
        ids = self._system_open + self.encoder.encode(instruction) + self._start_after_system
        return Head(ids, open=True, fresh=False, lead=self._lead_after_system)


def _markers_in(tokenizer: Any, parts: Cut) -> list[str]:
    """The added tokens that the template writes.

    No text of a message becomes one of these, or one of the tokenizer's special tokens.
    """
    texts = [
        parts.start,
        parts.system_open or "",
        parts.start_after_system,
        parts.user_open,
        parts.user_close,
        parts.opening,
        parts.ending,
    ]
    added = [token.content for token in tokenizer.added_tokens_decoder.values()]
    return [token for token in added if any(token in text for text in texts) and token != tokenizer.unk_token]


def _split(ending: Ids, tokenizer: Any) -> tuple[Ids, Ids]:
    """The ids that close an answer up to its end marker, and the ids after the marker."""
    added = tokenizer.added_tokens_decoder
    place = next((n for n, i in enumerate(ending) if i in added), None)
    if place is None:
        raise BadModel(
            "the chat template writes no special token after an answer, so a model could not end one; it "
            "must write one; use format: plain, or a model with another template"
        )
    return ending[: place + 1], ending[place + 1 :]
