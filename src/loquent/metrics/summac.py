"""SummaC (Laban et al. 2022, arXiv:2111.09525): is each sentence of a summary entailed by some sentence of its document?

A classifier of natural language inference judges every pair (sentence of the document, sentence of the summary). ZS takes for each sentence of the
summary the maximum over the document, then the mean. Conv makes of each sentence's column a histogram, of which a trained layer makes
the score; without its weights it does not run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from loquent.errors import BadSetting
from loquent.metric import Context, Measured
from loquent.metrics.convolution import BINS, Convolution, read_weights
from loquent.metrics.inference import ConsistencyOptions, Image, Inference, documents
from loquent.metrics.models import measured
from loquent.metrics.options import takes
from loquent.settings import setting
from loquent.task import Row

REDUCED: dict[str, Callable[..., Any]] = {"max": np.max, "mean": np.mean, "min": np.min}


@dataclass(frozen=True, kw_only=True)
class ZeroShotOptions(ConsistencyOptions):
    """What the metric `summac_zs` may be told."""

    op1: str = setting("max", "over the document's sentences", choices=tuple(REDUCED))
    op2: str = setting("mean", "over the summary's", choices=tuple(REDUCED))
    use_entailment: bool = setting(True, "count what is entailed", source="RL4LMs: use_ent")
    use_contradiction: bool = setting(False, "take off what is contradicted (alone: 1 minus it)", source="RL4LMs: use_con")

    def __post_init__(self) -> None:
        if not (self.use_entailment or self.use_contradiction):
            raise BadSetting("use_entailment and use_contradiction are both off: then nothing is counted")


@dataclass(frozen=True, kw_only=True)
class ConvOptions(ConsistencyOptions):
    """What the metric `summac_conv` may be told."""

    weights: str = setting(why="its trained weights, a safetensors file; docs/metrics-consistency.md tells how to convert the published ones")
    bins: str = setting("percentile", "the histogram's: 50 equal ones, or the published weights' 23", choices=tuple(BINS))
    labels: str = setting("e", "whose histograms: entailment, contradiction, neutral", choices=("e", "c", "n", "ec", "en", "cn", "ecn"))
    over: str = setting("mean", "over the summary's sentences", choices=("mean", "min", "max", "all"), source="SummaC: agg")


@dataclass(frozen=True, eq=False)
class ZeroShot:
    """SummaC-ZS: per sample op2 over the summary's sentences of op1 over the document's; no score where the document has no sentence."""

    inference: Inference
    op1: str = "max"
    op2: str = "mean"
    use_entailment: bool = True
    use_contradiction: bool = False
    field: str = ""
    name: ClassVar[str] = "summac_zs"
    keys: ClassVar[tuple[str, ...]] = ("summac_zs",)
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score predictions by their documents; a prediction without a sentence has nothing entailed and nothing contradicted."""
        images = self.inference.images(documents(prompts, rows, self.field), predictions, self.use_contradiction)
        return measured({self.name: [None if image is None else self.score(image) for image in images]})

    def score(self, image: Image) -> float:
        """The score of one image."""
        entailed, contradicted = (REDUCED[self.op1](image[k], axis=0) for k in (0, 1))
        if not self.use_entailment:
            scores = 1 - contradicted
        else:
            scores = entailed - contradicted if self.use_contradiction else entailed
        return float(REDUCED[self.op2](scores))


@dataclass(frozen=True, eq=False)
class Conv:
    """SummaC-Conv: per sample the probability that the trained layer gives; no score where the document has no sentence."""

    inference: Inference
    convolution: Callable[[], Convolution]
    field: str = ""
    name: ClassVar[str] = "summac_conv"
    keys: ClassVar[tuple[str, ...]] = ("summac_conv",)
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score predictions by their documents."""
        if not predictions:
            return measured({self.name: []})
        layer = self.convolution()
        images = self.inference.images(documents(prompts, rows, self.field), predictions, layer.labels != "e")
        return measured({self.name: [None if image is None else layer.score(image) for image in images]})


@takes(ZeroShotOptions)
def summac_zs(context: Context, options: ZeroShotOptions) -> ZeroShot:
    """How much of a summary its document entails, sentence by sentence. Needs loquent[train] and an NLI classifier's folder or name."""
    switches = (options.use_entailment, options.use_contradiction)
    return ZeroShot(_inference(options), options.op1, options.op2, *switches, options.field)


@takes(ConvOptions)
def summac_conv(context: Context, options: ConvOptions) -> Conv:
    """How much of a summary its document entails, by a trained layer. Needs loquent[train], an NLI classifier's folder or name, and its weights."""
    layer = cache(lambda: read_weights(options.weights, options.bins, options.labels, options.over))
    return Conv(_inference(options), layer, options.field)


def _inference(options: ConsistencyOptions) -> Inference:
    network, labels = options.classifier(), (options.entailment, options.contradiction)
    return Inference(network, *labels, options.granularity, options.most, options.longer_than, options.token_budget)
