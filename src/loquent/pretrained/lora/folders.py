"""Folders of adapters, in peft's form: `adapter_config.json` and `adapter_model.safetensors`.

`config.json` of the model and `base.json` lie beside them. `base.json` has the digest of the model's own
weights, so that the adapter is not used with others, and the number of tensors.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from loquent.core import schema
from loquent.core.guards import json_files
from loquent.core.guards.json_files import show
from loquent.core.settings import setting
from loquent.errors import BadModel
from loquent.pretrained.lora.injecting import NAME, digest, inject, is_own, peft_library
from loquent.pretrained.pytorch.devices import DTYPES

CONFIG, WEIGHTS, BASE = "adapter_config.json", "adapter_model.safetensors", "base.json"
PREFIX = "base_model.model."  # of names in peft's files
# settings of peft that change what an adapter computes; None, False and empty mean that they are off
REFUSED = (
    "use_dora", "modules_to_save", "rank_pattern", "alpha_pattern", "use_rslora", "layer_replication",
    "layers_to_transform", "trainable_token_indices", "target_parameters", "lora_bias",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The settings of plain LoRA in `adapter_config.json`; a text in `target_modules` would be a pattern."""

    base_model_name_or_path: Annotated[str, schema.require_text]
    target_modules: tuple[Annotated[str, schema.require_text], ...] | Literal["all-linear"]
    lora_alpha: float
    r: int = setting(low=1, high=1 << 14)
    lora_dropout: float = setting(low=0.0)
    task_type: Literal["CAUSAL_LM", "SEQ_2_SEQ_LM"] | None = None
    revision: str | None = None
    peft_type: Literal["LORA"] = "LORA"
    bias: Literal["none"] = "none"

    def __post_init__(self) -> None:
        if not self.lora_alpha > 0 or not self.lora_dropout < 1 or not self.target_modules:
            raise ValueError(
                f"lora_alpha = {self.lora_alpha:g} must be above 0, lora_dropout = {self.lora_dropout:g} "
                "below 1, and target_modules may not be empty"
            )


def is_adapter(path: str | Path) -> bool:
    """Whether a path is the folder of an adapter."""
    return (Path(path) / CONFIG).is_file()


def save(module: Any, folder: str | Path) -> None:
    """Write the adapters of a model, and the config of the model."""
    folder, config = Path(folder), module.peft_config[NAME]
    config.save_pretrained(folder)
    tensors = {
        PREFIX + name.replace(f".{NAME}.", "."): tensor.detach().cpu().contiguous()
        for name, tensor in module.named_parameters()
        if is_own(name)
    }
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    module.config.save_pretrained(folder)
    if getattr(module, "generation_config", None) is not None:
        module.generation_config.save_pretrained(folder)
    note = {"digest": config.base_digest, "dtype": str(module.dtype), "tensors": len(tensors)}
    (folder / BASE).write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")


def load(folder: str | Path, module: Any, again: Callable[[str], Any]) -> Any:
    """Add the adapters of a folder to their model, in place, and return it.

    Args:
        module: the model that `base_of` names.
        again: loads that model in another dtype. The digest is that of the weights in the dtype in which the
            adapter learned, and a cast from a narrower one would not give them back.

    Raises:
        BadModel: the model has other weights than those the adapters learned with; or the folder's files
            are damaged or not plain LoRA.
        MissingExtra: peft is not installed.
    """
    folder = Path(folder)
    settings, note = _settings(folder), _note(folder)
    own = digest(module)
    noted, loaded = dtype_of(folder), str(module.dtype).removeprefix("torch.")
    if note and note.get("digest") != (own if noted == loaded else digest(again(noted))):
        raise BadModel(
            f"{folder / CONFIG}: base_model_name_or_path = {settings.base_model_name_or_path!r} has other "
            "weights than those that the adapter learned with; restore that model"
        )
    conv = any(type(part).__name__ == "Conv1D" for part in module.modules())
    targets = settings.target_modules
    own_settings = {**asdict(settings), "target_modules": targets if isinstance(targets, str) else [*targets]}
    config = peft_library().LoraConfig(**own_settings, fan_in_fan_out=conv)
    config.base_digest = own
    inject(module, config, f"{folder / CONFIG}: target_modules", BadModel)
    try:
        tensors = load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise BadModel(f"{folder / WEIGHTS} cannot be read ({error}); get the adapter again") from error
    if not tensors or len(tensors) != note.get("tensors", len(tensors)):
        raise BadModel(
            f"{folder / WEIGHTS} has {len(tensors)} tensors; the adapter was saved with "
            f"{show(note.get('tensors', 'some'))}; get the adapter again"
        )
    wanted = {name: p for name, p in module.named_parameters() if is_own(name)}
    found = {own_name(name): tensor for name, tensor in tensors.items()}
    wrong = sorted(
        name
        for name in {*wanted, *found}
        if name not in wanted or name not in found or wanted[name].shape != found[name].shape
    )
    if wrong:
        raise BadModel(
            f"{folder / WEIGHTS}: the tensor {wrong[0]!r} is missing, unknown or of another shape than "
            f"{CONFIG} says; get the adapter again"
        )
    with torch.no_grad():
        for name, parameter in wanted.items():
            parameter.copy_(found[name])
    return module.eval()


def base_of(folder: str | Path) -> tuple[str, str | None]:
    """The folder or name of the model of an adapter, and its revision.

    Raises:
        BadModel: `adapter_config.json` names none, or the adapter is not plain LoRA.
    """
    settings = _settings(Path(folder))
    return settings.base_model_name_or_path, settings.revision


def is_pair(folder: str | Path) -> bool:
    """Whether the model of an adapter is an encoder-decoder.

    Raises:
        BadModel: the adapter is not plain LoRA.
    """
    return _settings(Path(folder)).task_type == "SEQ_2_SEQ_LM"


def dtype_of(folder: str | Path) -> str:
    """The type of the weights that an adapter learned with; float32 for an adapter of others.

    Raises:
        BadModel: `base.json` names no such type.
    """
    name = _note(Path(folder)).get("dtype", "torch.float32")
    allowed = [f"torch.{kind}" for kind in DTYPES]
    if name not in allowed:
        raise BadModel(
            f"{Path(folder) / BASE}: dtype = {show(name)} must be one of {', '.join(allowed)}; get the "
            "adapter again"
        )
    return str(name).removeprefix("torch.")


def own_name(name: str) -> str:
    """The name in an adapted model of a tensor in an adapter's file."""
    name = name.removeprefix(PREFIX)
    for part in ("lora_A", "lora_B"):
        name = name.replace(f".{part}.", f".{part}.{NAME}.")
    return name


def _note(folder: Path) -> dict[str, Any]:
    """What `base.json` has; {} for an adapter of others."""
    file = folder / BASE
    return json_files.load_object(file, "get the adapter again", error=BadModel) if file.is_file() else {}


def _settings(folder: Path) -> Settings:
    """The settings of plain LoRA in a folder, checked."""
    file = folder / CONFIG
    found = json_files.load_object(file, "get the adapter again", error=BadModel)
    for name in REFUSED:
        if found.get(name):
            raise BadModel(f"{file}: {name} = {show(found[name])} is not supported; only plain LoRA is")
    try:
        return schema.read(Settings, found, extra=True)
    except ValueError as error:
        raise BadModel(f"{file}: {error}; correct the file") from None
