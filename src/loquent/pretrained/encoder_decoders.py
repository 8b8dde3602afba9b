"""Encoder-decoder models: rows of their ids, and their last hidden states.

A row of an encoder-decoder holds both sides: the ids that the encoder reads, each written as `~id` (so they
are negative), then the ids that the decoder reads: its start token and the answer. A row of several turns
holds one such pair of sides for each answer. So the state of an action token is the hidden state one place
before it, as in the row of a causal model, and each place of a row says which side reads it.

The decoder's inputs are padded on the right alone, where causal attention hides the padding. The encoder's
inputs are padded on the right, with a mask.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from loquent.core.guards import tokenizer_files
from loquent.errors import BadModel
from loquent.pretrained.footprint import type_of_products
from loquent.pretrained.pytorch.torch_private import version

MOST_START = 2  # ids, the longest start of a decoder
KEPT_BYTES = 1 << 28  # of the states of a frozen encoder
_rows: ContextVar[Tensor] = ContextVar("rows")
REFUSED = {
    "encoder-decoder": "it joins two models, of which the decoder has an output layer of its own",
    "fsmt": "its decoder hides later tokens only where the encoder's ids are passed along",
    "prophetnet": "its decoder predicts several tokens at once, and reads how much padding follows",
    "seamless_m4t": "it is a model of speech, and its texts need a language that no row names",
    "seamless_m4t_v2": "it is a model of speech, and its texts need a language that no row names",
    "t5gemma2": "it is a model of pictures, and its configuration holds several models",
}  # architecture -> why


def is_pair(module: Any) -> bool:
    """Whether a network is an encoder-decoder, or the trunk of one."""
    return bool(getattr(module.config, "is_encoder_decoder", False))


def reader(trunk: Any) -> Any:
    """The part of a trunk that reads an answer: the decoder of an encoder-decoder, else the trunk itself."""
    return trunk.get_decoder() if is_pair(trunk) else trunk


def start_ids(module: Any, tokenizer: Any) -> tuple[int, ...]:
    """The ids that a decoder reads before an answer: its start token, then the first token of every text.

    The second is the model's forced first token, such as the language of mBART's, or else what the tokenizer
    writes before a text, such as BART's `<s>`; T5 has none.

    Raises:
        BadModel: neither the model nor its tokenizer names a start token.
    """
    own, config = getattr(module, "generation_config", None), module.config

    def setting(name: str) -> int | None:
        value = getattr(own, name, None)
        return getattr(config, name, None) if value is None else value

    start = setting("decoder_start_token_id")
    if start is None:
        raise BadModel(
            f"the encoder-decoder {config.model_type} names no decoder_start_token_id, the id that its "
            "decoder reads first; set it in config.json"
        )
    forced = setting("forced_bos_token_id")
    empty = list(tokenizer("")["input_ids"])
    bos = tokenizer.bos_token_id
    first = forced if forced is not None else bos if empty[:1] == [bos] else None
    return (start,) if first is None or first == start else (start, first)


def check(config: Any, path: Any) -> None:
    """Refuse an encoder-decoder that does not read and write text, or not in rows as these.

    Raises:
        BadModel: the reason.
    """
    from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

    kind = config.model_type
    reason = REFUSED.get(kind)
    if reason is None and kind not in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
        reason = "transformers has no encoder-decoder of this architecture that writes text"
    if reason is not None:
        raise BadModel(f"{path}: {kind}: {reason}; use another architecture, such as T5 or BART")


def around(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The special ids that a tokenizer writes before and after a text."""
    with tokenizer_files.encoding(tokenizer, ["a"]):
        bare = list(tokenizer("a", add_special_tokens=False)["input_ids"])
        ids = list(tokenizer("a")["input_ids"])
    for n in range(len(ids) - len(bare) + 1):
        if ids[n : n + len(bare)] == bare:
            return tuple(ids[:n]), tuple(ids[n + len(bare) :])
    return (), ()


def limits(module: Any) -> tuple[int, int]:
    """The most ids of the encoder's side and of the decoder's, 2**30 where positions are relative."""
    config = module.config
    both = getattr(config, "max_position_embeddings", None)
    names = ("max_encoder_position_embeddings", "max_decoder_position_embeddings")  # LED's
    encoder, decoder = (getattr(config, name, both) or 1 << 30 for name in names)
    return encoder, decoder


def source_ids(ids: Sequence[int]) -> tuple[int, ...]:
    """Ids that the encoder reads, as they stand in a row."""
    return tuple(~i for i in ids)


def sides(prompt: Sequence[int]) -> tuple[list[int], list[int]]:
    """The encoder's ids and the decoder's ids of a prompt with one pair of sides."""
    return [~i for i in prompt if i < 0], [i for i in prompt if i >= 0]


@dataclass(frozen=True, eq=False)
class Sides:
    """The S pairs of sides in B rows of ids."""

    source: Int64[Tensor, "S L"]  # padded on the right with 0
    real: Bool[Tensor, "S L"]  # no padding of the source
    target: Int64[Tensor, "S M"]  # padded on the right with 0
    pair: Int64[Tensor, "B T"]  # the pair of each place
    place: Int64[Tensor, "B T"]  # its place in its side
    decodes: Bool[Tensor, "B T"]  # whether the decoder reads it
    row: Int64[Tensor, " S"]  # the row of each pair


def split(tokens: Int64[Tensor, "B T"], wanted: Bool[Tensor, "B T"] | None = None) -> Sides:
    """The sides of rows of ids; places after the last wanted one of each pair are left out.

    Raises:
        BadModel: a row does not begin with an id that the encoder reads.
    """
    encodes = tokens < 0
    if not bool(encodes[:, 0].all()):
        raise BadModel(
            "a row of an encoder-decoder begins with an id that the decoder reads; it must begin with those "
            "that the encoder reads; write rows with the format of the model"
        )
    before = torch.nn.functional.pad(encodes[:, :-1], (1, 0))
    begins, turns = encodes & ~before, ~encodes & before  # where a pair and where its decoder's side begins
    pair = begins.flatten().cumsum(0).view(tokens.shape) - 1
    columns = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
    place = columns - torch.where(begins | turns, columns, 0).cummax(1).values
    count = int(pair[-1, -1]) + 1
    used = ~encodes if wanted is None else ~encodes & wanted
    long, wide = int(place[encodes].max()) + 1, int(place[used].max()) + 1 if bool(used.any()) else 1
    source, real = tokens.new_zeros(count, long), torch.zeros(count, long, dtype=torch.bool)
    real = real.to(tokens.device)
    source[pair[encodes], place[encodes]] = ~tokens[encodes]
    real[pair[encodes], place[encodes]] = True
    target, near = tokens.new_zeros(count, wide), ~encodes & (place < wide)
    target[pair[near], place[near]] = tokens[near]
    return Sides(source, real, target, pair, place, ~encodes, begins.nonzero()[:, 0])


def hidden(
    module: Any, tokens: Int64[Tensor, "B T"], wanted: Bool[Tensor, "B T"] | None = None
) -> Float[Tensor, "B T H"]:
    """The decoder's last hidden states of rows of ids, 0 where the encoder reads.

    One pass of the decoder, and one of the encoder over the different sources.

    Args:
        wanted: the positions that are read; all by default. The states at other positions are 0 or undefined.

    Raises:
        BadModel: as in `split`.
    """
    parts = split(tokens, wanted)
    memory, real = encode_sources(module, parts.source, parts.real)
    rows = _rows.set(parts.row)
    try:
        states = decode_targets(module, parts.target, memory, real)
    finally:
        _rows.reset(rows)
    result = states.new_zeros(*tokens.shape, states.shape[2])
    read = parts.decodes if wanted is None else parts.decodes & wanted
    return result.index_put(read.nonzero(as_tuple=True), states[parts.pair[read], parts.place[read]])


def last_pair(ids: Sequence[int]) -> list[int]:
    """The last pair of sides in a row of ids, and the whole row of a causal model."""
    ends = [n for n in range(1, len(ids)) if ids[n] < 0 <= ids[n - 1]]
    return list(ids[ends[-1] :] if ends else ids)


def means(states: Float[Tensor, "B T H"], tokens: Int64[Tensor, "B T"]) -> Float[Tensor, "B T H"]:
    """The mean of the decoder's states in each pair of sides up to each place; 0 where the encoder reads."""
    parts = split(tokens)
    total = states.masked_fill(~parts.decodes[..., None], 0.0).cumsum(1)
    first = parts.decodes & (parts.place == 0)
    columns = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
    begin = torch.where(first, columns, 0).cummax(1).values
    earlier = total.gather(1, (begin - 1).clamp(min=0)[..., None].expand_as(total))
    means = (total - earlier) / (parts.place + 1)[..., None]
    return means.masked_fill(~parts.decodes[..., None], 0.0)


def rows_read() -> Int64[Tensor, " S"]:
    """During the decoder's pass in `hidden`: the row of each pair that it reads."""
    return _rows.get()


def freeze_encoder(module: Any) -> None:
    """Make an encoder keep its weights; then it reads each source once, as long as there is memory.

    Embeddings that the decoder shares with the encoder keep theirs too. A copy of the module stays so. Each
    source is read alone, so its states do not depend on the sources beside it.

    Raises:
        BadModel: the module is no encoder-decoder.
    """
    if not is_pair(module):
        raise BadModel(
            f"{module.config.model_type} is no encoder-decoder, so it has no encoder to freeze; take T5 or "
            "BART, or let the whole model learn"
        )
    encoder = module.get_encoder().requires_grad_(False)
    encoder.reads_once = True


@dataclass
class _Kept:
    """The states of the sources that a frozen encoder has read.

    `version` is that of its weights and the type of its products.
    """

    version: tuple[int, torch.dtype]
    states: dict[bytes, Tensor]
    left: int = KEPT_BYTES


_kept: weakref.WeakKeyDictionary[nn.Module, _Kept] = weakref.WeakKeyDictionary()


def _kept_states(encoder: Any, source: Tensor, real: Tensor) -> Tensor:
    """The encoder's states of sources, each read alone and once."""
    now = (version(encoder.parameters()), type_of_products(encoder))
    kept = _kept.get(encoder)
    if kept is None or kept.version != now:
        kept = _kept[encoder] = _Kept(now, {})
    rows = []
    for ids, length in zip(source, real.sum(1).tolist(), strict=True):
        key = ids[:length].cpu().numpy().tobytes()
        states = kept.states.get(key)
        if states is None:
            with torch.inference_mode(False), torch.no_grad():  # learning reads them too
                one = ids[None, :length].clone()
                states = encoder(input_ids=one, attention_mask=torch.ones_like(one)).last_hidden_state[0]
            size = states.numel() * states.element_size()
            if size <= kept.left:
                kept.left -= size
                kept.states[key] = states
        rows.append(states)
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def encode_sources(
    module: Any, source: Int64[Tensor, "S L"], real: Bool[Tensor, "S L"], budget: int | None = None
) -> tuple[Float[Tensor, "S L H"], Bool[Tensor, "S L"]]:
    """The encoder's last hidden states of sources, and where they are real; equal sources are read once.

    In training mode each source is read on its own, because dropout differs. A frozen encoder
    (`freeze_encoder`) reads a source once for all passes.

    Args:
        budget: the most padded tokens of one pass in evaluation mode, or a single source; by default all
            sources are read in one pass.
    """
    encoder = module.get_encoder()
    if getattr(encoder, "reads_once", False) and not module.training:
        return _kept_states(encoder, source, real), real
    if module.training or len(source) == 1:
        return _encoder(module, source, real), real
    different, places = torch.unique(torch.where(real, source, -1), dim=0, return_inverse=True)
    if budget is None:
        return _encoder(module, different.clamp(min=0), different >= 0)[places], real
    return _in_passes(module, different, places, max(1, budget // different.shape[1])), real


def _in_passes(module: Any, different: Tensor, places: Tensor, size: int) -> Tensor:
    """The encoder's states of the sources at `places` among `different` ones, -1 where they are padded.

    One pass reads at most `size` sources.
    """
    states: Any = None
    for start in range(0, len(different), size):
        ids = different[start : start + size]
        part = _encoder(module, ids.clamp(min=0), ids >= 0)
        rows = ((places >= start) & (places < start + len(ids))).nonzero()[:, 0]
        states = part.new_empty(len(places), *part.shape[1:]) if states is None else states
        states[rows] = part[places[rows] - start]
    found: Tensor = states
    return found


def decode_targets(
    module: Any, target: Int64[Tensor, "S M"], memory: Float[Tensor, "S L H"], real: Bool[Tensor, "S L"]
) -> Float[Tensor, "S M H"]:
    """The decoder's last hidden states of targets that begin at its first position.

    The mask is explicit, because T5Gemma's own hides ids of padding, which an answer may contain.
    """
    output = module.get_decoder()(
        input_ids=target,
        attention_mask=torch.ones_like(target),
        encoder_hidden_states=memory,
        encoder_attention_mask=real.long(),
        use_cache=False,
    )
    states: Tensor = output.last_hidden_state
    return states


def encoder_output(memory: Tensor) -> Any:
    """The encoder's last hidden states in a form that all models take, also those of experts."""
    from transformers.modeling_outputs import MoeModelOutputWithPast

    return MoeModelOutputWithPast(last_hidden_state=memory)


def _encoder(module: Any, source: Tensor, real: Tensor) -> Tensor:
    output = module.get_encoder()(input_ids=source, attention_mask=real.long())
    states: Tensor = output.last_hidden_state
    return states
