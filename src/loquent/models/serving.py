"""What a server needs beside a model's weights: the format as a chat template, where to stop, and what the
model was trained for.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from loquent.core.episode import TASK, Turn
from loquent.core.guards import json_files
from loquent.core.settings import Remark
from loquent.errors import BadModel
from loquent.models.exported import NOTE
from loquent.models.format.names import Chat, Format
from loquent.models.format.template import render

TEMPLATE, STOPS = "chat_template.jinja", "generation_config.json"
SEAT = "agent"
History = tuple[str, Sequence[Turn], str]  # an instruction, turns, and the seat that answers them
PROBES = (  # an instruction, and texts that the task and the reading seat write in turns
    ("", ("a b",)),
    ("", (" a\n", " b ", "c\n")),
    ("a", ("", "b", "c")),
    ("a b", ("c d\n", "a", "b\n", " c", "d")),
)


def write(
    folder: Path, tokenizer: Any, format: Format, about: Mapping[str, Any], histories: Iterable[History] = ()
) -> None:
    """Write the chat template, the ids that end an answer, and `loquent.json` into an exported model's
    folder.

    For `Chat` the tokenizer's own template stays where it gives the format's ids (but for an empty message in
    the middle of a conversation, which the formats leave out); for other formats it is not run. A remark says
    so where no template gives them.

    Args:
        tokenizer: the folder's; its template becomes the one that is written.
        about: what `loquent.json` says.
        histories: what the model was trained on; templates are tried on these too.
    """
    tried = [*_probes(format), *histories]
    other = _differs(tokenizer, format, tried) if isinstance(format, Chat) else ("", (), SEAT)
    if other is not None:
        tokenizer.chat_template = format.chat_template()
        _put_template(folder, tokenizer.chat_template)
        other = _differs(tokenizer, format, tried)
    if other is not None:
        texts = [text for text in (other[0], *(turn.text for turn in other[1])) if text]
        warnings.warn(
            f"{folder / TEMPLATE}: a server tokenises a conversation as one text, and this tokenizer "
            f"joins what training kept apart, as in {texts!r}; the model may answer a little "
            "differently there. Texts that end with a line break are seldom joined",
            Remark,
            stacklevel=2,
        )
    file = folder / STOPS
    config = json_files.load_object(file, error=BadModel) if file.is_file() else {}
    end = sorted(format.end)
    config |= {"eos_token_id": end[0] if len(end) == 1 else end, "pad_token_id": format.pad}
    _json(file, config)
    _json(folder / NOTE, {**about, "template_is_exact": other is None})


def served(tokenizer: Any, histories: Sequence[History]) -> list[list[int] | None]:
    """For each history the ids after which a server lets the model answer it.

    None where the template or the tokenizer refuses it.
    """
    try:
        texts = render(tokenizer, [(_messages(*history), True) for history in histories])
    except BadModel:  # the template is one that no server should render either
        return [None] * len(histories)
    return [None if isinstance(text, BadModel) else _ids(tokenizer, text) for text in texts]


def _messages(instruction: str, turns: Sequence[Turn], seat: str) -> list[dict[str, str]]:
    messages = [{"role": "system", "content": instruction}] if instruction else []
    return messages + [
        {"role": "assistant" if turn.seat == seat else "user", "content": turn.text} for turn in turns
    ]


def _ids(tokenizer: Any, text: str) -> list[int] | None:
    try:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])
    except Exception:  # a word without a token
        return None


def _probes(format: Format) -> Iterator[History]:
    """Histories of known texts, as far as the tokenizer can write them."""
    for instruction, texts in PROBES:
        if all(format.encoder.decode(format.encoder.encode(text)) == text for text in (instruction, *texts)):
            turns = [Turn(SEAT, text) if i % 2 else Turn(TASK, text, to=SEAT) for i, text in enumerate(texts)]
            yield from ((instruction, turns[:n], SEAT) for n in range(1, len(turns) + 1, 2))


def _differs(tokenizer: Any, format: Format, histories: Iterable[History]) -> History | None:
    """The first history for which the tokenizer's chat template gives other ids than the format.

    None where there is none.
    """
    tried = [
        (instruction, [replace(turn, tokens=None) for turn in turns], seat)
        for instruction, turns, seat in histories
    ]  # a server draws none
    for history, ids in zip(tried, served(tokenizer, tried), strict=True):
        if ids != list(format.prompt(*history, 1 << 30)[0]):
            return history
    return None


def _put_template(folder: Path, template: str) -> None:
    """Write the template in its own file, which wins over one in tokenizer_config.json.

    That one is removed for readers of old.
    """
    (folder / TEMPLATE).write_text(template, encoding="utf-8")
    file = folder / "tokenizer_config.json"
    if file.is_file():
        config = json_files.load_object(file, error=BadModel)
        if config.pop("chat_template", None) is not None:
            _json(file, config)


def _json(file: Path, value: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
