"""Options of metrics that use a network, and the loading of the network on first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from loquent.core.settings import setting


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The network of a metric: where it is, and how it runs."""

    path: str = setting(
        why="the network: a Hugging Face folder (config.json, safetensors, tokenizer.json) or name",
        file=True,
    )
    revision: str = setting("", "the revision of a Hugging Face name")
    device: str = setting(
        "auto", "the device of the network", choices=("auto", "cpu", "cuda"), execution=True
    )
    dtype: str = setting(
        "float32",
        "the number format of the network",
        choices=("float32", "float64", "bfloat16", "float16"),
        execution=True,
    )
    token_budget: int = setting(
        1024, "tokens per forward pass; a GPU is faster with more", low=1, execution=True
    )

    def classifier(self, side: str = "right") -> Callable[[], Any]:
        """A function that returns the `pretrained.ClassifierNetwork` of these options.

        Its first call loads the network and raises any loading error.
        """

        @cache
        def network() -> Any:
            from loquent import pretrained

            return pretrained.load_classifier(
                self.path,
                revision=self.revision or None,
                device=self.device,
                dtype=self.dtype,
                side=side,
            )

        return network
