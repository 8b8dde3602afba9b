"""`Ilql`: the markers of Implicit Language Q-Learning (arXiv:2206.11871).

The markers are inserted as ids, so a text that contains a marker string is safe. `<stop>` is no marker: in
the released code it is a token of the tokenizer for dialogues, and an action like any other text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loquent.core.episode import Turn
from loquent.errors import BadModel
from loquent.models.format.base import TURNS, Format, Head, literal
from loquent.models.format.encoder import Encoder

MARKERS = ("<s>", "</s>", "<a>", "</a>", "</eod>")
STOP = "<stop>"


class Ilql(Format):
    """The format of Implicit Language Q-Learning.

    A row begins with `<s>` before an observation, else with `<a>`. `</s>` follows each observation, `</a>`
    each answer, and `</eod>` the end of the episode. Nothing stands between two successive answers. An
    instruction is the first observation. If the tokenizer has the token `<stop>`, it is one id in texts.

    Raises:
        BadModel: the tokenizer lacks a marker.
    """

    def __init__(self, tokenizer: Any) -> None:
        super().__init__(Encoder(tokenizer, MARKERS, words=(STOP,)))
        vocabulary = tokenizer.get_vocab()
        missing = [marker for marker in MARKERS if marker not in vocabulary]
        if missing:
            raise BadModel(
                f"the tokenizer has no {' '.join(missing)}; the format ilql needs {' '.join(MARKERS)}; add "
                "them with add_tokens(..., special_tokens=True) and resize the model's embeddings"
            )
        ids = (vocabulary[marker] for marker in MARKERS)
        self._start_observation, observation_end, self._start_answer, answer_end, episode_end = ids
        self._observation_close, self._ending = (observation_end,), (answer_end,)
        self.closing = (episode_end,)
        self.end = frozenset({answer_end})
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else episode_end

    def chat_template(self) -> str:
        """The markers around contents; an observation without content adds nothing."""
        start_observation, observation_end, start_answer, answer_end, _ = map(literal, MARKERS)
        return (
            f"{TURNS}"
            f"{{% if instruction %}}{{{{ {start_observation} + instruction + {observation_end} }}}}"
            f"{{% elif turns %}}{{{{ {start_observation} if turns[0].role != 'assistant' and "
            f"turns[0].content else {start_answer} }}}}{{% endif %}}"
            "{% for turn in turns %}"
            "{% if turn.role == 'assistant' %}"
            f"{{{{ (turn.content or '') + {answer_end} }}}}"
            "{% elif turn.content %}"
            f"{{{{ turn.content + {observation_end} }}}}"
            "{% endif %}{% endfor %}"
        )

    def _head(self, instruction: str, turns: Sequence[Turn], seat: str) -> Head:
        if instruction:
            text = self.encoder.encode(instruction, first=True)
            return Head((self._start_observation, *text, *self._observation_close), fresh=False)
        if not turns:  # the first turn decides how the row begins
            return Head(())
        observes = turns[0].seat != seat and turns[0].text
        return Head((self._start_observation if observes else self._start_answer,))
