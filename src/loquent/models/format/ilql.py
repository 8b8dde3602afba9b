"""`Ilql`: the markers of Implicit Language Q-Learning (arXiv:2206.11871), put together by ids and so safe
against texts that hold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loquent.core.episode import Turn
from loquent.errors import BadModel
from loquent.models.format.base import TURNS, Format, Head, literal
from loquent.models.format.encoder import Encoder

MARKERS = ("<s>", "</s>", "<a>", "</a>", "</eod>")


class Ilql(Format):
    """`<s>` where the row begins with what the seat is told, else `<a>`; `</s>` after each told text, `</a>`
    after each answer, `</eod>` after the end. Answers with nothing told between them touch. An instruction is
    the first told text.

    Raises:
        BadModel: the tokenizer lacks a marker.
    """

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(Encoder(tokenizer, MARKERS))
        known = tokenizer.get_vocab()
        missing = [marker for marker in MARKERS if marker not in known]
        if missing:
            how = "add them with add_tokens(..., special_tokens=True) and resize the model's embeddings"
            raise BadModel(f"the tokenizer has no {' '.join(missing)}; {how}")
        self._start_told, told_end, self._start_said, answer_end, over = (known[marker] for marker in MARKERS)
        self._told_close, self._ending, self.closing = (told_end,), (answer_end,), (over,)
        self.end = frozenset({answer_end})
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else over

    def chat_template(self) -> str:
        """The markers around contents; a message to the reader without content is nothing."""
        start_told, told_end, start_said, answer_end, _ = map(literal, MARKERS)
        return (
            f"{TURNS}{{% if instruction %}}{{{{ {start_told} + instruction + {told_end} }}}}{{% elif "
            f"turns %}}{{{{ {start_told} if turns[0].role != 'assistant' and turns[0].content else "
            f"{start_said} }}}}{{% endif %}}{{% for turn in turns %}}{{% if turn.role == 'assistant' "
            f"%}}{{{{ (turn.content or '') + {answer_end} }}}}{{% elif turn.content %}}{{{{ "
            f"turn.content + {told_end} }}}}{{% endif %}}{{% endfor %}}"
        )

    def _head(self, instruction: str, turns: Sequence[Turn], seat: str) -> Head:
        if instruction:
            return Head(
                (self._start_told, *self.encoder.encode(instruction, first=True), *self._told_close),
                fresh=False,
            )
        if not turns:  # the first turn decides how the row begins
            return Head(())
        told = turns[0].seat != seat and turns[0].text
        return Head((self._start_told if told else self._start_said,))
