"""The words of the protocol that remote answerers and judges speak: form fields in, JSON out.

It is the protocol of ILQL's visual dialogue server. A request has the form fields `history` (JSON: a list of
{speaker, text}), `caption`, `img_features` (JSON: a list of numbers) and `generation_kwargs` (JSON).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from loquent.core import schema
from loquent.core.guards import json_files
from loquent.core.guards.json_files import show
from loquent.core.values import Record
from loquent.errors import BadRow
from loquent.tasks.dialogue.game.rules import MOST_CHARACTERS

ANSWER, QUESTION = "fetch_a_bot_response", "fetch_q_bot_response"
REWARD, RANK = "fetch_reward", "fetch_reward_rank"
STEP, STEP_RANK = "step", "step_rank"
PATHS = (STEP, STEP_RANK, ANSWER, QUESTION, REWARD, RANK)
GREEDY = json.dumps({"inference": "greedy", "beamSize": 1})
MOST_ROUNDS = 100
MOST_NUMBERS = 1 << 16  # of the features of an image
LARGEST = float(np.finfo(np.float32).max)
History = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Turn:
    speaker: Literal["question", "answer"]
    text: str


def fields(
    caption: str, history: Sequence[tuple[str, str]], question: str, image: NDArray[np.floating] | None
) -> dict[str, str]:
    """The form fields of a request. Texts are cut at `rules.MOST_CHARACTERS`, the most that a server reads.

    Args:
        question: asked and not yet answered; "": none.
        image: f[width], the features; None leaves the field out.
    """
    speakers = [
        {"speaker": speaker, "text": text[:MOST_CHARACTERS]}
        for pair in history
        for speaker, text in zip(("question", "answer"), pair, strict=True)
    ]
    if question:
        speakers.append({"speaker": "question", "text": question[:MOST_CHARACTERS]})
    short = caption[:MOST_CHARACTERS]
    found = {"history": json.dumps(speakers), "caption": short, "generation_kwargs": GREEDY}
    if image is not None:
        found["img_features"] = json.dumps([float(value) for value in image])
    return found


def history_of(text: str) -> tuple[History, str]:
    """The rounds of the field `history`, and the last question if it has no answer yet.

    Raises:
        BadRow: the text is not a JSON list of alternating questions and answers, or one is too long.
    """
    turns = _parsed("history", text, tuple[_Turn, ...])
    if len(turns) > 2 * MOST_ROUNDS:
        raise BadRow(f"history has {len(turns):,} entries; it may have {MOST_ROUNDS} rounds")
    for number, turn in enumerate(turns):
        speaker = ("question", "answer")[number % 2]
        if turn.speaker != speaker:
            raise BadRow(f"history[{number}].speaker must be {speaker!r}: questions and answers take turns")
        check_length(f"history[{number}]", turn.text)
    texts = [turn.text for turn in turns]
    rounds = tuple(zip(texts[::2], texts[1::2], strict=False))
    return rounds, texts[-1] if len(texts) % 2 else ""


def check_length(name: str, text: str) -> None:
    """BadRow for a text of more than `rules.MOST_CHARACTERS` characters."""
    if len(text) > MOST_CHARACTERS:
        raise BadRow(f"{name} has {len(text):,} characters; a text may have {MOST_CHARACTERS:,}")


def image_of(text: str) -> NDArray[np.float32]:
    """f32[width]: the numbers of the field `img_features`; BadRow where it is not a list of numbers."""
    values = _parsed("img_features", text, tuple[float, ...])
    if not 0 < len(values) <= MOST_NUMBERS:
        raise BadRow(f"img_features has {len(values):,} numbers; it must be a list of 1 to {MOST_NUMBERS:,}")
    if not all(abs(value) < LARGEST for value in values):  # an integer may be too large for any float
        raise BadRow("img_features holds a number that is too large for 32 bits")
    return np.array(values, dtype=np.float32)


def check_settings(text: str) -> None:
    """BadRow where the field `generation_kwargs` is not a JSON object; its values have no effect here."""
    _parsed("generation_kwargs", text, Record)


def _parsed(name: str, text: str, hint: Any) -> Any:
    try:
        value = json_files.loads(text)
    except ValueError as error:
        raise BadRow(f"{name} is {show(text)}; it must be JSON ({error})") from error
    try:
        return schema.check_of(hint, True)(value)
    except ValueError as error:
        raise BadRow(f"{name}{error}") from None
