"""Loading of model folders, and the checks of their files before it. All models are loaded here.

A model folder is untrusted data. Its weights must be safetensors, its settings must be JSON of a bounded
size, and its code is never run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files, tokenizer_files
from loquent.core.guards.json_files import show
from loquent.errors import BadModel
from loquent.files.machine.network import hub_or_cache

CONVERSION = Path(__file__).with_name("conversion_worker.py")
MEGABYTE = 1 << 20
SETTINGS = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.json",
)
PROCESSORS = ("preprocessor_config.json", "processor_config.json")
# the largest allowed sizes, many times those of known models; tokenizer.json of Gemma 3 has 33 MB
BYTES = {
    "config.json": MEGABYTE, "generation_config.json": MEGABYTE, "chat_template.json": MEGABYTE,
    "tokenizer_config.json": 16 * MEGABYTE, "special_tokens_map.json": 16 * MEGABYTE,
    "added_tokens.json": 16 * MEGABYTE,
    "preprocessor_config.json": MEGABYTE, "processor_config.json": MEGABYTE,
    "tokenizer.json": tokenizer_files.MOST_BYTES, "vocab.json": 32 * MEGABYTE, "vocab.txt": 32 * MEGABYTE,
    "merges.txt": 32 * MEGABYTE,
    "tokenizer.model": 32 * MEGABYTE, "spiece.model": 32 * MEGABYTE, "sentencepiece.bpe.model": 32 * MEGABYTE,
}  # fmt: skip
TEMPLATE_BYTES = 1 << 17
TEMPLATES = ("*.jinja", "additional_chat_templates/*.jinja")
MOST_LABELS = 1 << 20  # transformers makes a name for each label
MOST_TOKENS = 1 << 16  # transformers makes a token for each of T5's `extra_ids`
MOST_LAYERS = 1024  # transformers makes each layer of a config, even without weights for it, in seconds
NO_CODE = (
    "Loquent runs no code of a model folder: only architectures that transformers has itself are allowed. "
    "Choose a model without its own code; if transformers has the architecture, delete auto_map from the file"
)


def from_pretrained(kind: Any, path: str | Path, revision: str | None, what: str, **more: Any) -> Any:
    """Call `kind.from_pretrained` for a folder or a Hugging Face name, without running its code.

    This is the only such call in the package.

    Args:
        what: the loaded thing in errors, such as "model".

    Raises:
        BadModel: the folder has a file that is not allowed, or loading fails.
    """
    check(path)
    return load_unchecked(kind, path, revision, what, **more)


def load_unchecked(kind: Any, path: str | Path, revision: str | None, what: str, **more: Any) -> Any:
    """`from_pretrained` for a folder that is checked already."""
    missing = ""
    try:
        with ExitStack() as stack:
            stack.enter_context(_without_questions())
            if not Path(path).exists():
                missing = stack.enter_context(hub_or_cache())
            loaded = kind.from_pretrained(str(path), revision=revision, trust_remote_code=False, **more)
            _check_text_config(getattr(loaded, "config", loaded))
            return loaded
    except BaseException as error:  # OSError, ValueError, SafetensorError, RuntimeError and more
        # the library's Rust parts raise PanicException, a BaseException, for some files
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if "trust_remote_code" in str(error):
            raise BadModel(f"{path}: the {what} needs Python code that comes with it. {NO_CODE}") from error
        if missing:
            advice = "connect to the network, or name a folder on this machine"
            raise BadModel(f"{path}: no {what} could be loaded: {missing}; {advice}") from error
        raise BadModel(
            f"{path}: no {what} could be loaded ({type(error).__name__}: {_first_line(error)})"
        ) from error


def _check_text_config(config: Any) -> None:
    """Refuse a config whose text part is no config: transformers would fail at the first use."""
    if hasattr(config, "get_text_config") and not hasattr(config.get_text_config(), "get_text_config"):
        raise ValueError("one of decoder, generator, text_config, text_encoder in its config is no config")


def new_network(kind: Any, config: Any) -> Any:
    """A network with new weights, from torch's global generator.

    Args:
        kind: one of transformers' Auto classes, or the class of a network itself.
    """
    if not hasattr(kind, "from_config"):
        return kind(config)
    return kind.from_config(config, trust_remote_code=False)


@contextmanager
def _without_questions() -> Iterator[None]:
    """Make transformers refuse code inside the context, instead of asking on standard input.

    Classes such as RagTokenizer load further parts by their own calls, without `trust_remote_code`.
    """
    from transformers import dynamic_module_utils

    timeout = dynamic_module_utils.TIME_OUT_REMOTE_CODE
    dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0
    try:
        yield
    finally:
        dynamic_module_utils.TIME_OUT_REMOTE_CODE = timeout


def check(path: str | Path) -> None:
    """Check the small files of a model folder; a path that is not a folder has none.

    Raises:
        BadModel: a file is too large or malformed, names code to run, or names weights that are not
            safetensors.
    """
    place = Path(path)
    if not place.is_dir():
        return
    for file, most in _sized(place):
        _check_size(file, most)
    for name in (*SETTINGS, *PROCESSORS):
        if (place / name).is_file():
            _check_settings(place / name)
    for index in place.glob("*.safetensors.index.json"):
        if index.is_file():
            _check_index(index)


def _sized(place: Path) -> Iterator[tuple[Path, int]]:
    yield from ((place / name, most) for name, most in BYTES.items() if (place / name).is_file())
    yield from (
        (file, TEMPLATE_BYTES) for pattern in TEMPLATES for file in place.glob(pattern) if file.is_file()
    )


def _object(file: Path) -> dict[str, Any]:
    """The JSON object of a file."""
    settings = json_files.load_object(
        file, "get the file again from the source of the model", error=BadModel, nan="kept"
    )
    # infinite values are allowed: some configs use them for no limit
    if any(isinstance(value, float) and math.isnan(value) for _, value, _ in _entries(settings)):
        raise BadModel(f"{file}: NaN is no number; correct the file")
    return settings


def _check_size(file: Path, most: int) -> None:
    if file.stat().st_size > most:
        raise BadModel(
            f"{file} has {file.stat().st_size:,} bytes; at most {most:,} are allowed. Use a model with a "
            "smaller file"
        )


def _check_settings(file: Path) -> None:
    for name, value, top in _entries(_object(file)):
        if name == "auto_map" and value:
            raise BadModel(
                f"{file}: auto_map = {show(value)} names Python code in the model folder. {NO_CODE}"
            )
        if (
            name.lstrip("_") == "attn_implementation"
            and isinstance(value, str)
            and ("/" in value or ":" in value)
        ):
            raise BadModel(
                f"{file}: {name} = {value!r} names a kernel that would be downloaded and run; delete the "
                "entry, or name an implementation of transformers"
            )
        if top and name == "model_max_length" and not (type(value) in (int, float) and value >= 1):
            raise BadModel(f"{file}: {name} = {show(value)} must be a number of at least 1; correct the file")
        if file.name == "tokenizer_config.json":
            _check_tokenizer_setting(file, name, value)
        if file.name not in ("config.json", "generation_config.json"):
            continue
        unlimited = name == "num_images" and value == -1  # every ViLT model has it
        if type(value) is int and name.startswith(("num_", "n_")) and value < 0 and not unlimited:
            raise BadModel(f"{file}: {name} = {value} must be an integer of at least 0; correct the file")
        if type(value) is int and value > MOST_LAYERS and counts_layers(name):
            raise BadModel(
                f"{file}: {name} = {value:,} is more than {MOST_LAYERS:,}, the most that are allowed; "
                "correct the file"
            )
        if type(value) is int and name == "num_labels" and value > MOST_LABELS:
            raise BadModel(
                f"{file}: {name} = {value:,} is more than {MOST_LABELS:,}, the most that are allowed; "
                "correct the file"
            )
        if top and name.endswith("_token_id") and not _is_ids(value):
            raise BadModel(
                f"{file}: {name} = {show(value)} must be null, an id of at least -1, or a list of "
                "such ids; correct the file"
            )
        if (
            top
            and name in ("max_position_embeddings", "n_positions")
            and not (value is None or (type(value) is int and value > 0))
        ):
            raise BadModel(
                f"{file}: {name} = {show(value)} must be an integer of at least 1; correct the file"
            )


def _check_tokenizer_setting(file: Path, name: str, value: Any) -> None:
    """Refuse numbers of which transformers makes a token each, and other files or arguments to build from."""
    if type(value) in (int, float) and value > MOST_TOKENS and "max_length" not in name:
        raise BadModel(
            f"{file}: {name} = {show(value)} is more than {MOST_TOKENS:,}, the most that are allowed; "
            "correct the file"
        )
    if value and (name == "init_inputs" or (name == "fast_tokenizer_files" and value != ["tokenizer.json"])):
        raise BadModel(
            f"{file}: {name} = {show(value)} names what is not checked; delete the entry from the file"
        )


def check_tokenizer(place: Path) -> None:
    """Check the tokenizer of a folder in a process with limits, before it is built here.

    Raises:
        BadModel: it cannot be used, with the reason.
    """
    for part in place.glob("*_tokenizer/tokenizer.json"):  # of the library's RagTokenizer
        tokenizer_files.check(part)
    file = place / "tokenizer.json"
    if file.is_file():
        tokenizer_files.check(file)
    else:
        check(place)
        tokenizer_files.check_folder(place, BYTES, CONVERSION)


def counts_layers(name: str) -> bool:
    """Whether an entry of a config is a number of layers or experts, by its name."""
    return ("layer" in name or "expert" in name) and not any(
        part in name for part in ("size", "dim", "index", "interval")
    )


def _entries(settings: Any) -> Iterator[tuple[str, Any, bool]]:
    """Each name with its value, at any depth, and whether it is at the top level."""
    stack = [(settings, True)]
    while stack:
        value, top = stack.pop()
        if isinstance(value, dict):
            yield from ((name, inner, top) for name, inner in value.items())
        stack.extend(
            (inner, False)
            for inner in (
                value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            )
        )


def _check_index(index: Path) -> None:
    _check_size(index, 64 * MEGABYTE)
    shards = _object(index).get("weight_map")
    names = shards.values() if isinstance(shards, dict) else [shards]
    for name in names:
        if not isinstance(name, str) or not name.endswith(".safetensors") or Path(name).name != name:
            raise BadModel(
                f"{index}: {show(name)} is no safetensors file of this folder; no other weights are read. "
                "Convert the model to safetensors"
            )


def _is_ids(value: Any) -> bool:
    if isinstance(value, list):
        return all(type(i) is int and i >= -1 for i in value)
    return value is None or (type(value) is int and value >= -1)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200]
