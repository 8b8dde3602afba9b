"""The files that a server needs beside a model's weights.

They hold the chat template, the run's decoding, a note on the training, and the card.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from loquent.core.episode import TASK, Turn
from loquent.core.guards import json_files
from loquent.core.settings import Remark
from loquent.errors import BadModel
from loquent.models import card
from loquent.models.decoding_settings import Decoding
from loquent.models.export_note import NOTE
from loquent.models.format.names import Chat, Format, Pair, Plain, of_model
from loquent.models.format.template import render
from loquent.pretrained import lora
from loquent.pretrained.folder import from_pretrained
from loquent.pretrained.language import begun, load_tokenizer, transformers_library

TEMPLATE, STOPS, CONFIG = "chat_template.jinja", "generation_config.json", "config.json"
KEPT = ("transformers_version", "decoder_start_token_id", "forced_bos_token_id")  # of the model's own
SEAT = "agent"
History = tuple[str, Sequence[Turn], str]  # an instruction, turns, and the seat that answers them
PROBES = (  # an instruction, and the texts that the task and the answering seat write in turns
    ("", ("a b",)),
    ("", (" a\n", " b ", "c\n")),
    ("a", ("", "b", "c")),
    ("a b", ("c d\n", "a", "b\n", " c", "d")),
)


def write(
    folder: Path,
    tokenizer: Any,
    format: Format,
    about: Mapping[str, Any],
    histories: Iterable[History] = (),
    decoding: Decoding | None = None,
    lost: str = "",
) -> None:
    """Write the chat template, the decoding, `loquent.json` and the card into an exported model's folder.

    A model's own template stays as it is. A tokenizer without one gets the format's. For plain texts the
    model's own template is not run. A warning says so if a template does not give the format's ids.

    Args:
        tokenizer: the tokenizer of the folder; its template becomes the written one.
        about: the content of `loquent.json`.
        histories: conversations of the training; the templates are compared on these too.
        decoding: how the run answers in evaluation; greedy by default.
        lost: as in `card.write_card`.
    """
    decoding = Decoding(method="greedy") if decoding is None else decoding
    note = dict(about)
    if not isinstance(format, Pair):
        note["template_is_exact"] = _template(folder, tokenizer, format, histories)
    _write_json(folder / STOPS, _generation(folder, format, decoding))
    _write_json(folder / NOTE, note)
    text = card.write_card(format, note, decoding, lost, note.get("template_is_exact", True))
    (folder / card.CARD).write_text(text, encoding="utf-8")


def of_folder(folder: Path, name: str, thinking: bool | None) -> tuple[Any, Format]:
    """The tokenizer of a model's folder, and its format of this name; no weights are read.

    Raises:
        BadModel, BadSetting: as in `of_model`.
    """
    tokenizer = load_tokenizer(folder, None)
    place, revision = lora.base_of(folder) if lora.is_adapter(folder) else (folder, None)
    config = from_pretrained(transformers_library().AutoConfig, place, revision, "config")
    file = Path(place) / STOPS
    own = json_files.load_object(file, error=BadModel) if file.is_file() else {}
    if not config.is_encoder_decoder and begun(tokenizer):
        tokenizer.save_pretrained(folder)
    network = SimpleNamespace(config=config, generation_config=SimpleNamespace(**own))
    return tokenizer, of_model(name, network, tokenizer, thinking)


def _template(folder: Path, tokenizer: Any, format: Format, histories: Iterable[History]) -> bool:
    """Leave or write the chat template; whether it gives the format's ids."""
    if tokenizer.chat_template and not isinstance(format, Chat):
        return False
    if not tokenizer.chat_template:
        tokenizer.chat_template = format.chat_template()
        _write_template(folder, tokenizer.chat_template)
    difference = _first_difference(tokenizer, format, [*_probes(format), *histories])
    if difference is not None:
        texts = [text for text in (difference[0], *(turn.text for turn in difference[1])) if text]
        warnings.warn(
            f"{folder / TEMPLATE}: a server tokenises a conversation as one text, and this tokenizer "
            f"joins what training kept apart, as in {texts!r}; the model may answer a little "
            "differently there. Texts that end with a line break are seldom joined",
            Remark,
            stacklevel=3,
        )
    return difference is None


def _generation(folder: Path, format: Format, decoding: Decoding) -> dict[str, Any]:
    """The content of generation_config.json: the run's decoding, and nothing that would change answers.

    Ids that the tokenizer does not have are never drawn.
    """
    file = folder / STOPS
    known = json_files.load_object(file, error=BadModel) if file.is_file() else {}
    config = {name: known[name] for name in KEPT if known.get(name) is not None}
    end = sorted(format.end)
    config |= {"eos_token_id": end[0] if len(end) == 1 else end, "pad_token_id": format.pad}
    config |= {"max_new_tokens": decoding.max_new_tokens, "do_sample": decoding.method == "sample"}
    if isinstance(format, Plain) and not isinstance(format, Pair):
        config["bos_token_id"] = format.start_id  # of an empty prompt
    if decoding.min_new_tokens:
        config["min_new_tokens"] = decoding.min_new_tokens
    if decoding.method == "sample":
        config |= {name: getattr(decoding, name) for name in ("temperature", "top_k", "top_p")}
    if decoding.method == "beam":
        config["num_beams"] = decoding.beams
    sizes = json_files.load_object(folder / CONFIG, error=BadModel) if (folder / CONFIG).is_file() else {}
    rows = sizes.get("vocab_size")
    if isinstance(rows, int) and rows > format.vocabulary:
        config["suppress_tokens"] = list(range(format.vocabulary, rows))
    return config


def server_prompts(tokenizer: Any, format: Format, histories: Sequence[History]) -> list[list[int] | None]:
    """For each history the prompt ids that a server gives the model.

    An entry is None if the template or the tokenizer refuses the history.
    """
    try:
        texts = render(
            tokenizer, [(format.messages(*history), True) for history in histories], format.variables
        )
    except BadModel:  # no server should render this template either
        return [None] * len(histories)
    return [None if isinstance(text, BadModel) else _ids(tokenizer, text) for text in texts]


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
    for history, ids in zip(without_tokens, server_prompts(tokenizer, format, without_tokens), strict=True):
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
