"""Adapters inside a model: added, left out, and merged.

The layers are peft's, injected into the model itself, so it stays the model of transformers that it was. A
layer W x becomes W x + (α / r) B A x with a frozen W (arXiv:2106.09685 eq. 3). B is 0 at first.
"""

from __future__ import annotations

import copy
import hashlib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from loquent.core.seeding import Key, borrow_generators
from loquent.errors import BadModel, BadSetting, LoquentError, MissingExtra
from loquent.pretrained.pytorch.devices import exact

NAME = "default"  # of the adapter, in peft's layers


def peft_library() -> Any:
    """The library peft, imported when first needed (it takes seconds)."""
    try:
        import peft
    except ImportError as error:
        raise MissingExtra("LoRA", "lora") from error
    return peft


def adapt(
    module: Any, *, rank: int, alpha: float, dropout: float, targets: Sequence[str], path: str, revision: str,
    key: Key,
) -> Any:  # fmt: skip
    """Add adapters to a model in place, freeze its own weights, and return it.

    Args:
        rank: r.
        alpha: α; the adapter's output is scaled by α / r.
        dropout: the rate at which inputs of adapters are dropped, in training mode.
        targets: the last parts of the names of the layers; empty: all linear layers but the output layer.
        path: the folder or name of the model, which the adapter's folder will name.
        revision: of a name.
        key: determines the initial weights; global generators stay unchanged.

    Raises:
        BadSetting: no layer has such a name, or a named layer cannot have an adapter.
        MissingExtra: peft is not installed.
    """
    config = peft_library().LoraConfig(
        r=rank,
        lora_alpha=alpha,
        lora_dropout=dropout,
        target_modules=list(targets) or "all-linear",
        base_model_name_or_path=path,
        revision=revision or None,
        fan_in_fan_out=_has_conv1d(module),
        task_type="SEQ_2_SEQ_LM" if module.config.is_encoder_decoder else "CAUSAL_LM",
    )
    config.base_digest = digest(module)  # saved beside the adapter
    with borrow_generators(key):
        inject(module, config, "model.lora.targets", BadSetting)
    return module


def inject(module: Any, config: Any, where: str, error: type[LoquentError]) -> None:
    """Add the layers of a peft configuration, in the model's precision but at least float32.

    Args:
        where: the place of the targets, in errors.
        error: the class of errors about the targets.

    Raises:
        error: peft refuses the configuration for this model, or a target layer is not linear or shares its
            weight.
        BadModel: a parameter that is not an adapter's would learn.
    """
    module.requires_grad_(False)
    targets = config.target_modules
    listed = targets if isinstance(targets, str) else str(sorted(targets))
    what = f"{where} = {listed}"
    advice = f"the linear layers of this model are {', '.join(_allowed(module))}; name some of these"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of layers that are no Conv1D beside those that are
            peft_library().inject_adapter_in_model(config, module, NAME)
    except (ValueError, NotImplementedError, TypeError) as refusal:
        why = str(refusal).replace(str(targets), listed).splitlines()[0][:200]
        raise error(f"{what}: {why}; {advice}") from refusal
    owners = _owners(module)
    for path, layer in _layers(module).items():
        if why := _why_not(layer.get_base_layer(), owners):
            target = path.rpartition(".")[2]
            raise error(f"{what}: the target {target!r} names the layer {path}, {why}; {advice}")
    for name, parameter in module.named_parameters():
        if is_own(name):
            parameter.data = parameter.data.to(exact(module.dtype))
        elif parameter.requires_grad:
            raise BadModel(f"{name} would learn and is no adapter's weight; only plain LoRA is supported")
    module.eval()


def is_own(name: str) -> bool:
    """Whether a name of a tensor is that of an adapter's."""
    return "lora_A" in name.split(".") or "lora_B" in name.split(".")


def is_adapted(module: nn.Module) -> bool:
    """Whether a model has adapters."""
    return bool(_layers(module))


def base_tensors(module: nn.Module) -> frozenset[int]:
    """The `id` of each parameter of an adapted model that is not an adapter's; empty for other models."""
    if not is_adapted(module):
        return frozenset()
    return frozenset(id(p) for name, p in module.named_parameters() if not is_own(name))


def base(module: Any) -> Any:
    """The model without its adapters: other modules around the same frozen weights, without a copy."""
    shared = {id(parameter): parameter for parameter in module.parameters()}
    plain = copy.deepcopy(module, shared)
    _remove(plain)
    return plain


@torch.no_grad()
def merge(module: Any) -> Any:
    """Add each adapter to its layer's weight in place, remove the adapters, and return the model.

    All weights may learn afterwards.
    """
    for layer in _layers(module).values():
        weight = layer.get_base_layer().weight
        delta = layer.get_delta_weight(NAME)
        weight.copy_((weight.to(delta.dtype) + delta).to(weight.dtype))
    _remove(module)
    return module.requires_grad_(True)


def digest(module: nn.Module) -> str:
    """A hash of a model's own weights, its saved buffers included, and their types, without adapters."""
    made, saved = hashlib.blake2b(digest_size=16), module.state_dict()
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if name in saved and not is_own(name):
            made.update(str(tensor.dtype).encode())
            made.update(_bytes(tensor))
    return made.hexdigest()


def _bytes(tensor: Tensor) -> Any:
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy()


def _layers(module: nn.Module) -> dict[str, Any]:
    """The layers with adapters, by path."""
    return {
        path: part
        for path, part in module.named_modules()
        if hasattr(part, "lora_A") and hasattr(part, "base_layer")
    }


def _remove(module: nn.Module) -> None:
    """Put the original layers back in their places."""
    for path, layer in _layers(module).items():
        parent, _, name = path.rpartition(".")
        setattr(module.get_submodule(parent), name, layer.get_base_layer())
    if hasattr(module, "peft_config"):
        del module.peft_config


def _has_conv1d(module: nn.Module) -> bool:
    return any(type(part).__name__ == "Conv1D" for part in module.modules())


def _is_linear(part: nn.Module) -> bool:
    return isinstance(part, nn.Linear) or type(part).__name__ == "Conv1D"


def _owners(module: nn.Module) -> dict[int, list[tuple[str, nn.Module]]]:
    """The modules, with their paths, that each parameter belongs to, by its `id`."""
    owners: dict[int, list[tuple[str, nn.Module]]] = {}
    for path, part in module.named_modules():
        for parameter in part.parameters(recurse=False):
            owners.setdefault(id(parameter), []).append((path, part))
    return owners


def _why_not(layer: nn.Module, owners: Mapping[int, Sequence[tuple[str, nn.Module]]]) -> str:
    """Why a layer of a model cannot have an adapter; empty if it can."""
    if not _is_linear(layer):
        return f"which is no linear layer (it is {type(layer).__name__})"
    for path, part in owners[id(layer.weight)]:
        if part is not layer:
            return f"whose weight is also that of {path} (tied), so a merged adapter would change both"
    return ""


def _allowed(module: Any) -> list[str]:
    """The names of the layers that an adapter can have, without the output layer."""
    output, owners = module.get_output_embeddings(), _owners(module)
    return sorted(
        {
            path.rpartition(".")[2]
            for path, part in module.named_modules()
            if _is_linear(part) and part is not output and not _why_not(part, owners)
        }
    )
