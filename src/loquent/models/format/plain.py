"""`Plain`: the texts in a row, as the tokenizer writes them and a language model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loquent.core.episode import Turn
from loquent.errors import BadModel
from loquent.models.format.base import TURNS, Format, Head, Pen, distinct_markers, literal
from loquent.models.format.encoder import Encoder, Ids
from loquent.pretrained.encoder_decoders import around


class Plain(Format):
    """The format without markers: the instruction with a line break, then all texts.

    The prompt before a first answer is exactly what the tokenizer writes for its text, with the special
    tokens that it writes around a text. Only where that is nothing, a start token stands: the tokenizer's
    bos, else its eos. Later texts follow without special tokens. An answer ends with the end token, the
    tokenizer's eos, else its bos. The start token ends an answer too, because a model that begins a new
    document has finished the answer.

    Raises:
        BadModel: the tokenizer has neither a bos nor an eos token.
    """

    def __init__(self, tokenizer: Any) -> None:
        named = {
            name: getattr(tokenizer, name, None)
            for name in ("bos_token", "eos_token", "pad_token", "unk_token")
        }
        super().__init__(
            Encoder(
                tokenizer, distinct_markers(token for token in named.values() if token != named["unk_token"])
            )
        )
        bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
        if bos is None and eos is None:
            raise BadModel(
                "the tokenizer has neither a bos nor an eos token; an empty row begins with one, and an "
                "answer ends with one; set one on the tokenizer"
            )
        self._prefix, self._suffix = around(tokenizer)
        self._start = bos if bos is not None else eos
        self._ending = (eos if eos is not None else bos,)
        self.end = frozenset({self._start, *self._ending})
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else self._ending[0]

    def chat_template(self) -> str:
        """What the tokenizer writes before a text, the instruction with a line break, then all contents.

        The end token follows each answer. What the tokenizer writes after a text follows the texts before the
        first answer, and the start token stands where all of them are empty.
        """
        before, after, start, end = (
            literal("".join(map(self.encoder.token, ids)))
            for ids in (self._prefix, self._suffix, (self._start,), self._ending)
        )
        opening = f"{after} if pen.first else ''"
        if not self._prefix + self._suffix:
            opening = f"{start} if pen.first and not pen.any else ''"
        return (
            f"{TURNS}"
            "{% set pen = namespace(first=true, any=false) %}"
            f"{{{{ {before} }}}}"
            "{% if instruction %}{{ instruction + '\\n' }}{% set pen.any = true %}{% endif %}"
            "{% for turn in turns %}{% if turn.content %}{% set pen.any = true %}{% endif %}"
            f"{{% if turn.role == 'assistant' %}}{{{{ ({opening}) + (turn.content or '') + {end} }}}}"
            "{% set pen.first = false %}{% else %}{{ turn.content or '' }}{% endif %}{% endfor %}"
            f"{{% if add_generation_prompt %}}{{{{ {opening} }}}}{{% endif %}}"
        )

    @property
    def ending(self) -> int:
        """The id that closes an answer."""
        return self._ending[0]

    @property
    def start_id(self) -> int:
        """The id of an empty prompt."""
        return int(self._start)

    def _head(self, instruction: str, turns: Sequence[Turn], seat: str) -> Head:
        return Head(self._prefix, lead=instruction + "\n" if instruction else "")

    def _before_answer(self, pen: Pen) -> Ids:
        ids = super()._before_answer(pen)
        if pen.answers:
            return ids
        ids += self._suffix
        return ids if ids or pen.length else (self._start,)
