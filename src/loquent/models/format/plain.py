"""`Plain`: the texts in a row, as a language model without markers was trained on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loquent.core.episode import Turn
from loquent.errors import BadModel
from loquent.models.format.base import TURNS, Format, Head, distinct_markers, literal
from loquent.models.format.encoder import Encoder


class Plain(Format):
    """The format without markers: a start token, the instruction with a line break, then all texts.

    An answer ends with the end token. The start token is the tokenizer's bos, else its eos; the end token is
    its eos, else its bos. Both end an answer, because a model that begins a new document has finished the
    answer.

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
                "the tokenizer has neither a bos nor an eos token; a row begins with one, and an answer "
                "ends with one; set one on the tokenizer"
            )
        self._start = bos if bos is not None else eos
        self._ending = (eos if eos is not None else bos,)
        self.end = frozenset({self._start, *self._ending})
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else self._ending[0]

    def chat_template(self) -> str:
        """The start token, the instruction with a line break, then all contents.

        The end token follows each answer.
        """
        start, end = literal(self.encoder.token(self._start)), literal(self.encoder.token(self._ending[0]))
        return (
            f"{TURNS}{{{{ {start} }}}}"
            "{% if instruction %}{{ instruction + '\\n' }}{% endif %}"
            "{% for turn in turns %}{{ turn.content or '' }}"
            f"{{% if turn.role == 'assistant' %}}{{{{ {end} }}}}{{% endif %}}{{% endfor %}}"
        )

    def _head(self, instruction: str, turns: Sequence[Turn], seat: str) -> Head:
        text = self.encoder.encode(instruction + "\n", first=True) if instruction else ()
        return Head((self._start, *text), fresh=not text)
