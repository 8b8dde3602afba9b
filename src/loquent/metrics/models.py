"""What metrics that ask a network have in common: its options, its loading when first needed, and their measured form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from loquent.metric import Measured
from loquent.metrics.text import mean
from loquent.settings import setting


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Which network a metric asks, and how."""

    path: str = setting(why="the network: a Hugging Face folder (config.json, safetensors, tokenizer.json) or name")
    revision: str = setting("", "the revision of a Hugging Face name")
    device: str = setting("auto", "where that network lives", choices=("auto", "cpu", "cuda"))
    dtype: str = setting("float32", "in which numbers it computes", choices=("float32", "float64", "bfloat16", "float16"))
    token_budget: int = setting(1024, "tokens in one forward pass; a GPU is faster with more", low=1)

    def classifier(self, side: str = "right") -> Callable[[], Any]:
        """A function that gives the `pretrained.ClassifierNetwork` of these options: loaded by its first call, in which errors are raised."""

        @cache
        def network() -> Any:
            from loquent import pretrained

            return pretrained.load_classifier(self.path, revision=self.revision or None, device=self.device, dtype=self.dtype, side=side)

        return network


def measured(scores: Mapping[str, Sequence[float | None]]) -> Measured:
    """Scores per sample by key, and for the corpus the mean of those that exist."""
    averages = {key: mean(values) for key, values in scores.items()}
    return Measured({key: list(values) for key, values in scores.items()}, {key: value for key, value in averages.items() if value is not None})
