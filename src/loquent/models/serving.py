"""The files that a server needs beside a model's weights.

They hold the format as a chat template, the ids that end an answer, and a note on the training.
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
PROBES = (  # an instruction, and the texts that the task and the answering seat write in turns
    ("", ("a b",)),
    ("", (" a\n", " b ", "c\n")),
    ("a", ("", "b", "c")),
    ("a b", ("c d\n", "a", "b\n", " c", "d")),
)


def write(
    folder: Path, tokenizer: Any, format: Format, about: Mapping[str, Any], histories: Iterable[History] = ()
) -> None:
    """Write the chat template, the end ids and `loquent.json` into an exported model's folder.

    For `Chat` the tokenizer's own template stays if it gives the format's ids. (An empty message in the
    middle of a conversation is an exception: the formats leave it out.) For other formats the tokenizer's own
    template is not run. A warning says so if the written template does not give the format's ids.

    Args:
        tokenizer: the tokenizer of the folder; its template becomes the written one.
        about: the content of `loquent.json`.
        histories: conversations of the training; the templates are compared on these too.
    """
    compared = [*_probes(format), *histories]
    difference = (
        _first_difference(tokenizer, format, compared) if isinstance(format, Chat) else ("", (), SEAT)
    )
    if difference is not None:
        tokenizer.chat_template = format.chat_template()
        _write_template(folder, tokenizer.chat_template)
        difference = _first_difference(tokenizer, format, compared)
    if difference is not None:
        texts = [text for text in (difference[0], *(turn.text for turn in difference[1])) if text]
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
    _write_json(file, config)
    _write_json(folder / NOTE, {**about, "template_is_exact": difference is None})


def served(tokenizer: Any, histories: Sequence[History]) -> list[list[int] | None]:
    """For each history the prompt ids that a server gives the model.

    An entry is None if the template or the tokenizer refuses the history.
    """
    try:
        texts = render(tokenizer, [(_messages(*history), True) for history in histories])
    except BadModel:  # no server should render this template either
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
    """Histories of fixed texts, if the tokenizer can write these texts."""
    for instruction, texts in PROBES:
        if all(format.encoder.decode(format.encoder.encode(text)) == text for text in (instruction, *texts)):
            turns = [Turn(SEAT, text) if i % 2 else Turn(TASK, text, to=SEAT) for i, text in enumerate(texts)]
            yield from ((instruction, turns[:n], SEAT) for n in range(1, len(turns) + 1, 2))


def _first_difference(tokenizer: Any, format: Format, histories: Iterable[History]) -> History | None:
    """The first history for which the tokenizer's chat template gives other ids than the format, or None."""
    without_tokens = [  # a server knows no drawn tokens
        (instruction, [replace(turn, tokens=None) for turn in turns], seat)
        for instruction, turns, seat in histories
    ]
    for history, ids in zip(without_tokens, served(tokenizer, without_tokens), strict=True):
        if ids != list(format.prompt(*history, 1 << 30)[0]):
            return history
    return None


def _write_template(folder: Path, template: str) -> None:
    """Write the template into its own file, which takes precedence over tokenizer_config.json.

    A template in tokenizer_config.json is removed, because older readers would use it.
    """
    (folder / TEMPLATE).write_text(template, encoding="utf-8")
    file = folder / "tokenizer_config.json"
    if file.is_file():
        config = json_files.load_object(file, error=BadModel)
        if config.pop("chat_template", None) is not None:
            _write_json(file, config)


def _write_json(file: Path, value: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
