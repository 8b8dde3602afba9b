"""Hugging Face encoders: hidden states of texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from loquent.core.guards import tokenizer_files
from loquent.core.seeding import Key, borrow_generators
from loquent.errors import BadModel
from loquent.pretrained.language import (
    check_ids,
    load_module,
    load_tokenizer,
    plain,
    room,
    transformers_library,
)
from loquent.pretrained.networks import groups, pad_rows

POOLER = "pooler."  # an unused layer

Encoded = tuple[list[int], list[tuple[int, int]]]  # the ids of a text, and their (begin, end) in it


@dataclass(frozen=True, eq=False)
class Encoder:
    """An encoder and its tokenizer."""

    module: Any
    tokenizer: Any

    @cached_property
    def room(self) -> int:
        """The most ids of one text."""
        return room(self.module, self.tokenizer)

    @property
    def dimension(self) -> int:
        """The hidden size."""
        return int(self.module.config.hidden_size)

    @cached_property
    def weights(self) -> str:
        """A hash of the weights, without the pooler's."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.module.state_dict().items()):
            if name.startswith(POOLER):
                continue
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        return digest.hexdigest()[:16]

    def ids(self, text: str) -> Encoded:
        """The ids of a text, truncated to the context; special tokens have the span (0, 0)."""
        text = plain(text)
        with tokenizer_files.encoding(self.tokenizer, [text]):
            encoded = self.tokenizer(text, truncation=True, max_length=self.room, return_offsets_mapping=True)
        return list(encoded["input_ids"]), [
            (int(begin), int(end)) for begin, end in encoded["offset_mapping"]
        ]

    def rows(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of texts, truncated to the context."""
        if not texts:
            return []
        texts = [plain(text) for text in texts]
        with tokenizer_files.encoding(self.tokenizer, texts):
            encoded = self.tokenizer(texts, truncation=True, max_length=self.room)
        return list(encoded["input_ids"])

    def states(
        self, rows: Sequence[Sequence[int]], layer: int | None = -1, *, token_budget: int = 8192
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Pairs (i, hidden states float32[tokens, dimension] of row i), not in order; empty rows are omitted.

        `layer` None gives the mean of all layers, the embeddings included.

        Raises:
            BadModel: the network has no such layer.
        """
        for group, states in self.batches(rows, layer, token_budget=token_budget):
            for i, padded_states in zip(group, states.float().cpu().numpy(), strict=True):
                yield i, padded_states[: len(rows[i])]

    @torch.no_grad()
    def batches(
        self, rows: Sequence[Sequence[int]], layer: int | None = -1, *, token_budget: int = 8192
    ) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Pairs (indices of rows of similar length, their hidden states [rows, tokens, dimension]).

        The states are padded and stay on the network's device. Empty rows are omitted. `layer` None gives the
        mean of all layers.

        Raises:
            BadModel: the network has no such layer.
        """
        full = [i for i, row in enumerate(rows) if row]
        pad = self.tokenizer.pad_token_id or 0
        for group in groups([len(rows[i]) for i in full], token_budget):
            chosen = [full[k] for k in group]
            ids, real = pad_rows([rows[i] for i in chosen], pad, self.module.device)
            layers = self.module(
                input_ids=ids, attention_mask=real.long(), output_hidden_states=True
            ).hidden_states
            if layer is None:
                yield chosen, torch.stack(layers).mean(0)
                continue
            if not -len(layers) <= layer < len(layers):
                raise BadModel(
                    f"layer = {layer}: the network has no such layer; use 0 (the embeddings) to "
                    f"{len(layers) - 1}"
                )
            yield chosen, layers[layer]


def load_encoder(
    path: str,
    *,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "float32",
    layers: int | None = None,
) -> Encoder:
    """An encoder by folder or Hugging Face name, in evaluation mode. Its weights need no pooler.

    Args:
        layers: the number of layers to load, from the lowest; all by default.

    Raises:
        BadModel: loading fails, as in `load`, or there are fewer layers.
    """
    tokenizer, library = load_tokenizer(path, revision), transformers_library()
    level = library.utils.logging.get_verbosity()
    library.utils.logging.set_verbosity_error()  # it warns of a missing pooler
    try:
        with borrow_generators(Key(0, ("encoder",))):  # the library initialises a missing pooler at random
            module = load_module(
                library.AutoModel, path, revision, device, dtype, spare=POOLER, layers=layers
            )
    finally:
        library.utils.logging.set_verbosity(level)
    check_ids(module, tokenizer)
    return Encoder(module, tokenizer)
