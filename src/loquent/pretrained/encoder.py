"""Any Hugging Face encoder as a function from texts to hidden states."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from loquent.errors import BadModel
from loquent.pretrained.language import load_module, load_tokenizer, plain, room, transformers_library
from loquent.pretrained.networks import groups, padded
from loquent.seeding import Key, borrowed

POOLER = "pooler."  # a layer that nobody reads

Told = tuple[list[int], list[tuple[int, int]]]  # the ids of a text, and where in it each begins and ends


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
        found = hashlib.sha256()
        for name, tensor in sorted(self.module.state_dict().items()):
            if name.startswith(POOLER):
                continue
            found.update(name.encode())
            found.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        return found.hexdigest()[:16]

    def ids(self, text: str) -> Told:
        """The ids of a text, cut at its end where it is longer than the context; markers have the span (0, 0)."""
        told = self.tokenizer(plain(text), truncation=True, max_length=self.room, return_offsets_mapping=True)
        return list(told["input_ids"]), [(int(a), int(b)) for a, b in told["offset_mapping"]]

    def rows(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts at once, cut as `ids` cuts."""
        if not texts:
            return []
        return list(self.tokenizer([plain(text) for text in texts], truncation=True, max_length=self.room)["input_ids"])

    def states(self, rows: Sequence[Sequence[int]], layer: int = -1, *, token_budget: int = 8192) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Pairs (i, hidden states float32[tokens, dimension] of row i) in batches of like length; rows without an id are left out.

        Raises:
            BadModel: the network has no such layer.
        """
        for group, seen in self.batches(rows, layer, token_budget=token_budget):
            for i, one in zip(group, seen.float().cpu().numpy(), strict=True):
                yield i, one[: len(rows[i])]

    @torch.no_grad()
    def batches(self, rows: Sequence[Sequence[int]], layer: int = -1, *, token_budget: int = 8192) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Pairs (the numbers of rows of like length, their hidden states [rows, tokens, dimension] on the network's device); as `states` else."""
        full = [i for i, row in enumerate(rows) if row]
        pad = self.tokenizer.pad_token_id or 0
        for group in groups([len(rows[i]) for i in full], token_budget):
            chosen = [full[k] for k in group]
            ids, real = padded([rows[i] for i in chosen], pad, self.module.device)
            seen = self.module(input_ids=ids, attention_mask=real.long(), output_hidden_states=True).hidden_states
            if not -len(seen) <= layer < len(seen):
                raise BadModel(f"layer = {layer}: this network has the layers 0 (the embeddings) to {len(seen) - 1}")
            yield chosen, seen[layer]


def load_encoder(path: str, *, revision: str | None = None, device: str = "auto", dtype: str = "float32", layers: int | None = None) -> Encoder:
    """An encoder by folder or Hugging Face name, in evaluation mode; a pooler that its weights lack is not needed.

    Args:
        layers: so many layers from below, where the others need not be computed; all by default.

    Raises:
        BadModel: as `load`; or there are fewer layers.
    """
    tokenizer, library = load_tokenizer(path, revision), transformers_library()
    level = library.utils.logging.get_verbosity()
    library.utils.logging.set_verbosity_error()  # a pooler that is missing would be reported at length
    try:
        with borrowed(Key(0, ("encoder",))):  # and drawn anew
            module = load_module(library.AutoModel, path, revision, device, dtype, spare=POOLER, layers=layers)
    finally:
        library.utils.logging.set_verbosity(level)
    return Encoder(module, tokenizer)
