"""A causal language model with its tokenizer: from a folder or a Hugging Face name, and back to an ordinary
folder.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from loquent.core.settings import Remark
from loquent.errors import BadModel, MissingExtra
from loquent.pretrained import devices
from loquent.pretrained.folder import from_pretrained

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
)
WHERE_FROM = (
    "is_local",
    "local_files_only",
)  # transformers writes into tokenizer_config.json that it read a folder: a resumed run would differ
ALIGNMENT = 64  # bytes, as torch allocates
OFFSET = (
    "roberta",
    "xlm-roberta",
    "camembert",
    "longformer",
)  # their positions begin behind that of the padding


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A Hugging Face causal model and its fast tokenizer, known to fit together.

    Raises:
        BadModel: the tokenizer has ids for which the model has no embedding.
    """

    module: Any  # transformers.PreTrainedModel with a causal head
    tokenizer: Any  # transformers.PreTrainedTokenizerFast

    def __post_init__(self) -> None:
        rows = self.module.get_input_embeddings().weight.shape[0]
        if self.vocabulary > rows:
            raise BadModel(
                f"the tokenizer has ids up to {self.vocabulary - 1}, but the model has only {rows} "
                "embeddings; they do not belong together"
            )

    @property
    def vocabulary(self) -> int:
        """How many ids the tokenizer knows.

        A model may have more (padded rows of its embedding); those are never drawn.
        """
        return max(self.tokenizer.get_vocab().values()) + 1

    @property
    def context(self) -> int:
        """The longest sequence the model takes."""
        return context(self.module)

    @property
    def end(self) -> frozenset[int]:
        """The ids that end a text: those of the generation config (one or several) and the tokenizer's
        own.
        """
        return end_ids(self.module, self.tokenizer)

    @property
    def pad(self) -> int:
        """The id that fills up rows: the tokenizer's padding, else its end, else 0."""
        own = self.tokenizer.pad_token_id
        return own if own is not None else min(self.end, default=0)


def load(
    path: str | Path,
    *,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    advice: str = "",
) -> LanguageModel:
    """A causal model by folder or Hugging Face name, in evaluation mode.

    HF_HUB_OFFLINE=1 keeps it from the network.

    Only safetensors weights are read, and no code that comes with a model is run.

    Args:
        advice: what to do where the folder does not exist; the end of the error.

    Raises:
        BadModel: no such folder or name, a file is missing or torn, weights are missing, or the tokenizer
            does not fit.
    """
    transformers = transformers_library()
    tokenizer = load_tokenizer(path, revision, advice)
    module = load_module(transformers.AutoModelForCausalLM, path, revision, device, dtype)
    return LanguageModel(module, tokenizer)


def save(language_model: LanguageModel, folder: str | Path) -> None:
    """Write an ordinary Hugging Face folder (config, safetensors, tokenizer), which `transformers` alone
    loads.
    """
    from transformers.utils import logging

    Path(folder).mkdir(parents=True, exist_ok=True)
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # a bar of its own for every checkpoint would tear ours apart
    try:
        language_model.module.save_pretrained(folder)
        language_model.tokenizer.save_pretrained(folder)
    finally:
        if shown:
            logging.enable_progress_bar()


def context(module: Any) -> int:
    """The longest sequence a model takes, from its config.

    2**30 where that says nothing, or that there is no limit (XLNet's -1).
    """
    longest = getattr(module.config, "max_position_embeddings", None) or 0
    return longest if longest > 0 else 1 << 30


def room(module: Any, tokenizer: Any) -> int:
    """The most ids of one text that an encoder or a classifier reads, markers counted: the network's limit
    and its tokenizer's.
    """
    before = (module.config.pad_token_id or 0) + 1 if module.config.model_type in OFFSET else 0
    return min(context(module) - before, getattr(tokenizer, "model_max_length", 1 << 30))


def plain(text: str) -> str:
    """The text with lone surrogates, which are no text to a tokenizer, as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def end_ids(module: Any, tokenizer: Any) -> frozenset[int]:
    """The ids that end a text: the generation config's (one or several), the config's, and the tokenizer's
    own.
    """
    found = getattr(getattr(module, "generation_config", None), "eos_token_id", None)
    found = module.config.eos_token_id if found is None else found
    several = found if isinstance(found, list | tuple) else [found]
    return frozenset(int(i) for i in (*several, tokenizer.eos_token_id) if i is not None)


def load_module(
    kind: Any,
    path: str | Path,
    revision: str | None,
    device: str,
    dtype: str,
    *,
    spare: str = "",
    layers: int | None = None,
) -> Any:
    """A network of one of the library's automatic kinds, in evaluation mode.

    BadModel where weights are missing, a remark where some are left out.

    Args:
        spare: weights whose names begin so may be missing, since nobody reads them.
        layers: so many of the network's layers from below; the others are not made.
    """
    place, weights = str(path), devices.dtype(dtype)
    on, more = devices.device(device), {} if layers is None else {"config": _shallow(place, revision, layers)}
    bars = transformers_library().utils.logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        told: dict[str, Any]
        options = {"dtype": weights, "use_safetensors": True, "output_loading_info": True, **more}
        module, told = from_pretrained(kind, place, revision, "model", **options)
    finally:
        if shown:
            bars.enable_progress_bar()
    some = sorted(name for name in told["missing_keys"] if not (spare and name.startswith(spare)))
    if some:
        raise BadModel(
            f"{place}: the weights lack {len(some)} tensors, the first is {some[0]!r}; they would be "
            "left at random"
        )
    if told["unexpected_keys"] and layers is None:
        some = sorted(told["unexpected_keys"])
        names = ", ".join(some[:3]) + (", ..." if len(some) > 3 else "")
        warnings.warn(
            f"{place}: {len(some)} tensors of the weights are left out, as the model has no place "
            f"for them: {names}",
            Remark,
            stacklevel=3,
        )
    return _aligned(module.to(on)).eval()


@torch.no_grad()
def _aligned(module: Any) -> Any:
    """The module with memory of torch's own for each parameter.

    Parts of a mapped file begin anywhere, and matrix products of float64 differ in
    the last bit by where their matrices begin: a resumed run would not be the same to the bit."""
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.data_ptr() % ALIGNMENT:
            tensor.data = tensor.data.clone()
    return module


def _shallow(place: str, revision: str | None, layers: int) -> Any:
    """The config of a network with only its first `layers` layers; BadModel where it has fewer."""
    config = from_pretrained(transformers_library().AutoConfig, place, revision, "config")
    if not 0 <= layers <= config.num_hidden_layers:
        raise BadModel(
            f"layer = {layers}: {place} has the layers 0 (the embeddings) to {config.num_hidden_layers}"
        )
    config.num_hidden_layers = layers
    return config


def load_tokenizer(path: str | Path, revision: str | None, advice: str = "") -> Any:
    """The fast tokenizer of a folder or name.

    BadModel, which ends in `advice`, where there is no such folder.
    """
    place = Path(path)
    if place.is_dir():
        if not (place / "config.json").is_file():
            raise BadModel(f"{path}: the folder has no config.json, so it is no Hugging Face model")
        if not any((place / name).is_file() for name in TOKENIZER_FILES):
            raise BadModel(f"{path}: the folder has no tokenizer (tokenizer.json is right)")
    elif place.is_absolute() or str(path).startswith((".", "runs/")) or str(path).count("/") > 1:
        raise BadModel(f"{path}: there is no such folder{advice}")
    what = "tokenizer" if place.is_dir() else "tokenizer (it is no folder here, or not a model of the hub)"
    tokenizer = from_pretrained(transformers_library().AutoTokenizer, path, revision, what)
    if not getattr(
        tokenizer, "is_fast", False
    ):  # a class that is no tokenizer of its own has no such attribute
        raise BadModel(f"{path}: the tokenizer has no fast form (tokenizer.json)")
    for name in WHERE_FROM:
        tokenizer.init_kwargs.pop(name, None)
    return tokenizer


def transformers_library() -> Any:
    """The library, imported when first needed (it takes seconds)."""
    try:
        import transformers
    except ImportError as error:  # pragma: no cover - the extra is installed where tests run
        raise MissingExtra("a language model", "train") from error
    return transformers
