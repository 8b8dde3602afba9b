"""A causal language model with its tokenizer: loaded by folder or Hugging Face name, saved to a folder."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from loquent.core.settings import Remark
from loquent.errors import BadModel, MissingExtra
from loquent.pretrained import encoder_decoders, lora, sizes
from loquent.pretrained.folder import check_tokenizer, from_pretrained
from loquent.pretrained.pytorch import devices

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.json",
    "vocab.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
)
# transformers writes into tokenizer_config.json that it read a folder, so a resumed run would differ
WHERE_FROM = ("is_local", "local_files_only")
END = "<|end|>"  # the only special token of tokenizers made here: start, end and padding
ALIGNMENT = 64  # bytes, the alignment of torch's own memory
# in these architectures the first position follows that of the padding
OFFSET = ("roberta", "xlm-roberta", "camembert", "longformer")


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A Hugging Face causal model and its fast tokenizer, checked to fit together.

    Raises:
        BadModel: the tokenizer has ids for which the model has no embedding.
    """

    module: Any  # transformers.PreTrainedModel with a causal head
    tokenizer: Any  # transformers.PreTrainedTokenizerFast

    def __post_init__(self) -> None:
        check_ids(self.module, self.tokenizer)

    @property
    def vocabulary(self) -> int:
        """The number of ids of the tokenizer.

        A model may have more ids (padded rows of its embedding); those are never drawn.
        """
        return vocabulary(self.tokenizer)

    @property
    def context(self) -> int:
        """The length of the longest sequence for the model."""
        return context(self.module)

    @property
    def end(self) -> frozenset[int]:
        """The ids that end a text, as in `end_ids`."""
        return end_ids(self.module, self.tokenizer)

    @property
    def pad(self) -> int:
        """The id of padding: the tokenizer's padding id, else the smallest end id, else 0."""
        own = self.tokenizer.pad_token_id
        return own if own is not None else min(self.end, default=0)


def vocabulary(tokenizer: Any) -> int:
    """The largest id of a tokenizer, plus one."""
    return int(max(tokenizer.get_vocab().values(), default=-1)) + 1


def check_ids(module: Any, tokenizer: Any) -> None:
    """Check that a network has an embedding for each id of a tokenizer.

    Raises:
        BadModel: it has not.
    """
    rows, ids = module.get_input_embeddings().weight.shape[0], vocabulary(tokenizer)
    if ids > rows:
        raise BadModel(
            f"the tokenizer has ids up to {ids - 1}, but the model has only {rows} embeddings; they do not "
            "belong together. Use the model's own tokenizer"
        )


def load(
    path: str | Path,
    *,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    advice: str = "",
) -> LanguageModel:
    """A causal model or an encoder-decoder by folder or Hugging Face name, in evaluation mode.

    The folder of an adapter (LoRA) gives the model that it names, with the adapter. Only safetensors weights
    are read, and no code of a model is run. With HF_HUB_OFFLINE=1 the network is not used.

    Args:
        advice: the end of the error for a missing folder: what to do.

    Raises:
        BadModel: there is no such folder or name, a file is missing or damaged, weights are missing, or the
            tokenizer does not fit.
    """
    transformers = transformers_library()
    adapter = lora.is_adapter(path)
    place, revision = lora.base_of(path) if adapter else (path, revision)
    # adapters of others may have no tokenizer of their own
    own = not adapter or (Path(path) / "tokenizer_config.json").is_file()
    tokenizer = load_tokenizer(path if own else place, revision, advice)
    config = from_pretrained(transformers.AutoConfig, place, revision, "config")
    kind = transformers.AutoModelForCausalLM
    if encoder_decoders.is_pair(SimpleNamespace(config=config)):
        encoder_decoders.check(config, place)
        kind = transformers.AutoModelForSeq2SeqLM
    else:
        begun(tokenizer)
    module = load_module(kind, place, revision, device, dtype)
    if adapter:
        module = lora.load(path, module, lambda other: load_module(kind, place, revision, "cpu", other))
    return LanguageModel(module, tokenizer)


def save(language_model: LanguageModel, folder: str | Path) -> None:
    """Write a Hugging Face folder (config, safetensors, tokenizer), which `transformers` can load.

    Of a model with adapters only these are written, in the form of peft.
    """
    from transformers.utils import logging

    Path(folder).mkdir(parents=True, exist_ok=True)
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # its bar at each checkpoint would disturb ours
    try:
        if lora.is_adapted(language_model.module):
            lora.save(language_model.module, folder)
        else:
            language_model.module.save_pretrained(folder)
        language_model.tokenizer.save_pretrained(folder)
    finally:
        if shown:
            logging.enable_progress_bar()


def context(module: Any) -> int:
    """The length of the longest row for a model, from its config.

    The result is 2**30 if the config has no limit (XLNet has -1), and for an encoder-decoder, whose limits
    are those of its sides.
    """
    if encoder_decoders.is_pair(module):
        return 1 << 30
    longest = getattr(module.config, "max_position_embeddings", None) or 0
    return longest if longest > 0 else 1 << 30


def prompt_room(module: Any, new: int) -> int:
    """The most ids of a prompt before `new` ids of an answer; of an encoder-decoder, of its source.

    Below 1 if the answer takes the whole context.
    """
    if not encoder_decoders.is_pair(module):
        return context(module) - new
    source, target = encoder_decoders.limits(module)
    left = target - new - encoder_decoders.MOST_START  # the decoder also reads its start
    return source if left >= 0 else left


def room(module: Any, tokenizer: Any) -> int:
    """The most ids of a text for an encoder or a classifier, including special tokens.

    The result is the smaller limit of the network and its tokenizer.
    """
    before = (module.config.pad_token_id or 0) + 1 if module.config.model_type in OFFSET else 0
    return min(context(module) - before, getattr(tokenizer, "model_max_length", 1 << 30))


def plain(text: str) -> str:
    """The text with question marks for lone surrogates, which tokenizers reject."""
    return text.encode("utf-8", "replace").decode("utf-8")


def end_ids(module: Any, tokenizer: Any) -> frozenset[int]:
    """The ids that end a text: those of the generation config, else of the config, and the tokenizer's."""
    own = getattr(getattr(module, "generation_config", None), "eos_token_id", None)
    own = module.config.eos_token_id if own is None else own
    ids = own if isinstance(own, list | tuple) else [own]
    return frozenset(int(i) for i in (*ids, tokenizer.eos_token_id) if i is not None)


def load_module(
    kind: Any,
    path: str | Path,
    revision: str | None,
    device: str,
    dtype: str,
    *,
    spare: str = "",
    layers: int | None = None,
    head: Mapping[str, Any] | None = None,
    config: Any = None,
) -> Any:
    """A network of one of the library's automatic classes, in evaluation mode.

    A remark names weights that the model does not use.

    Args:
        spare: the prefix of unused weights, which may be missing.
        layers: the number of layers to load, from the lowest; all by default.
        head: settings of a new head on the network's trunk, whose weights torch's global generator draws.
        config: the network's config; by default the one of the folder.

    Raises:
        BadModel: loading fails, or weights are missing.
    """
    if lora.is_adapter(path):
        raise BadModel(
            f"{path} holds an adapter of another model, which cannot be used here; merge the adapter into "
            "that model and save the result"
        )
    place, weights = str(path), devices.dtype(dtype)
    own = config if layers is None else _shallow(place, revision, layers)
    on = devices.device(device)
    if Path(place).is_dir():
        read = own or from_pretrained(transformers_library().AutoConfig, place, revision, "config")
        stored = sum(file.stat().st_size for file in Path(place).glob("*.safetensors") if file.is_file())
        sizes.check(kind, read, Path(place) / "config.json", weights, on, stored)
    more = {} if own is None else {"config": own}
    bars = transformers_library().utils.logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        report: dict[str, Any]
        options = {"dtype": weights, "use_safetensors": True, "output_loading_info": True, **more}
        options |= head or {}
        module, report = from_pretrained(kind, place, revision, "model", **options)
    finally:
        if shown:
            bars.enable_progress_bar()
    trunk = f"{module.base_model_prefix}." if head is not None else ""
    _check_weights(report, place, spare, trunk, partial=layers is not None)
    return _aligned(module.to(on)).eval()


def _check_weights(report: dict[str, Any], place: str, spare: str, trunk: str, partial: bool) -> None:
    """Refuse missing weights, and warn of unused ones unless the network is loaded in part.

    With `trunk`, the prefix of the weights below a new head, only those must be there.
    """
    missing = sorted(
        name
        for name in report["missing_keys"]
        if not (spare and name.startswith(spare))
        and not (trunk and (not name.startswith(trunk) or ".pooler." in name))
    )
    if missing:
        raise BadModel(
            f"{place}: the weights lack {len(missing)} tensors, the first is {missing[0]!r}; all must be "
            "there, because a missing tensor would have random values. Get the complete weights"
        )
    if report["unexpected_keys"] and not partial and not trunk:
        unused = sorted(report["unexpected_keys"])
        names = ", ".join(unused[:3]) + (", ..." if len(unused) > 3 else "")
        warnings.warn(
            f"{place}: {len(unused)} tensors of the weights are left out, because the model does not use "
            f"them: {names}",
            Remark,
            stacklevel=4,
        )


@torch.no_grad()
def _aligned(module: Any) -> Any:
    """The module with aligned memory for each parameter.

    Tensors in a mapped file may begin at any address. Matrix products of float64 depend on the address in
    the last bit, so without alignment a resumed run would not give the same results, bit for bit.
    """
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.data_ptr() % ALIGNMENT:
            tensor.data = tensor.data.clone()
    return module


def _shallow(place: str, revision: str | None, layers: int) -> Any:
    """The config of a network with only its first `layers` layers; BadModel if it has fewer."""
    config = from_pretrained(transformers_library().AutoConfig, place, revision, "config")
    if not 0 <= layers <= config.num_hidden_layers:
        raise BadModel(
            f"layer = {layers}: {place} has the layers 0 (the embeddings) to {config.num_hidden_layers}; "
            "choose one of these"
        )
    config.num_hidden_layers = layers
    return config


def load_tokenizer(path: str | Path, revision: str | None, advice: str = "") -> Any:
    """The fast tokenizer of a folder or name.

    Raises:
        BadModel: there is no such folder, and the error ends with `advice`; or the tokenizer cannot be used.
    """
    place = Path(path)
    if place.is_dir():
        if not (place / "config.json").is_file() and not lora.is_adapter(place):
            raise BadModel(f"{path}: the folder has no config.json; give the folder of a Hugging Face model")
        if not any((place / name).is_file() for name in TOKENIZER_FILES):
            raise BadModel(f"{path}: the folder has no tokenizer; it must hold tokenizer.json")
        check_tokenizer(place)
    elif place.is_absolute() or str(path).startswith((".", "runs/")) or str(path).count("/") > 1:
        raise BadModel(f"{path}: there is no such folder{advice}")
    what = "tokenizer" if place.is_dir() else "tokenizer (it is no folder here, or not a model of the hub)"
    tokenizer = from_pretrained(transformers_library().AutoTokenizer, path, revision, what)
    # some classes that the library loads are no tokenizers and have no such attribute
    if not getattr(tokenizer, "is_fast", False):
        raise BadModel(f"{path}: the tokenizer has no fast form; use a model with tokenizer.json")
    for name in WHERE_FROM:
        tokenizer.init_kwargs.pop(name, None)
    return tokenizer


def begin(tokenizer: Any) -> None:
    """Let a tokenizer that is made here write its special token before each text, as its model reads it."""
    from tokenizers.processors import TemplateProcessing

    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{END} $A", special_tokens=[(END, tokenizer.bos_token_id)]
    )


def begun(tokenizer: Any) -> bool:
    """Complete the tokenizer of a causal model that an earlier version made, which wrote no start token.

    There the format wrote it. Returns whether the tokenizer was such a one.
    """
    ours = [token.content for token in tokenizer.added_tokens_decoder.values()] == [END]
    if ours and tokenizer.bos_token == END and not tokenizer("")["input_ids"]:
        begin(tokenizer)
        return True
    return False


def transformers_library() -> Any:
    """The library, imported when first needed (it takes seconds)."""
    try:
        import transformers
    except ImportError as error:  # pragma: no cover - the extra is installed where tests run
        raise MissingExtra("a language model", "train") from error
    return transformers
