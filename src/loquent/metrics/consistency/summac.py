"""SummaC (Laban et al. 2022, arXiv:2111.09525): whether the document entails each sentence of its summary.

A classifier of natural language inference scores every pair (sentence of the document, sentence of the
summary). ZS takes the maximum over the document for each sentence of the summary, then the mean. Conv makes a
histogram of each summary sentence's scores, and a trained layer computes the score from the histograms; it
needs the layer's weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from loquent.core.metric import Context, Measured, Range, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.errors import BadSetting
from loquent.metrics.consistency.convolution import BINS, Convolution, read_weights
from loquent.metrics.consistency.inference import ConsistencyOptions, Image, Inference, documents
from loquent.metrics.shared_parts import with_means

REDUCTIONS: dict[str, Callable[..., Any]] = {"max": np.max, "mean": np.mean, "min": np.min}


@dataclass(frozen=True, kw_only=True)
class ZeroShotOptions(ConsistencyOptions):
    """Options of the metric `summac_zs`."""

    op1: str = setting("max", "the reduction over the document's sentences", choices=tuple(REDUCTIONS))
    op2: str = setting("mean", "the reduction over the summary's sentences", choices=tuple(REDUCTIONS))
    use_entailment: bool = setting(True, "add entailment", source="RL4LMs: use_ent")
    use_contradiction: bool = setting(
        False,
        "subtract contradiction (without entailment: 1 - contradiction)",
        source="RL4LMs: use_con",
    )

    def __post_init__(self) -> None:
        if not (self.use_entailment or self.use_contradiction):
            raise BadSetting(
                "use_entailment and use_contradiction are both off, so there is no score; set one to true"
            )


@dataclass(frozen=True, kw_only=True)
class ConvOptions(ConsistencyOptions):
    """Options of the metric `summac_conv`."""

    weights: str = setting(
        why="its trained weights, a safetensors file; docs/metrics-consistency.md shows how to convert "
        "the published ones",
        file=True,
    )
    bins: str = setting(
        "percentile",
        "the bins of the histograms: the 23 of the published weights, or 50 equal ones",
        choices=tuple(BINS),
    )
    labels: str = setting(
        "e",
        "the labels with histograms: entailment, contradiction, neutral",
        choices=("e", "c", "n", "ec", "en", "cn", "ecn"),
    )
    over: str = setting(
        "mean",
        "the reduction over the summary's sentences",
        choices=("mean", "min", "max", "all"),
        source="SummaC: agg",
    )


@dataclass(frozen=True, eq=False)
class ZeroShot:
    """SummaC-ZS: per sample op2 over the summary's sentences of op1 over the document's sentences.

    A document without sentences has no score.
    """

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
    range: ClassVar[Range] = (-1.0, 1.0)

    def __call__(self, samples: Samples) -> Measured:
        """Score predictions by their documents.

        A prediction without sentences has entailment and contradiction 0.
        """
        images = self.inference.images(
            documents(samples, self.field), samples.predictions, self.use_contradiction
        )
        return with_means({self.name: [None if image is None else self.score(image) for image in images]})

    def score(self, image: Image) -> float:
        """The score of one image."""
        entailment, contradiction = (REDUCTIONS[self.op1](image[k], axis=0) for k in (0, 1))
        if not self.use_entailment:
            scores = 1 - contradiction
        else:
            scores = entailment - contradiction if self.use_contradiction else entailment
        return float(REDUCTIONS[self.op2](scores))


@dataclass(frozen=True, eq=False)
class Conv(Share):
    """SummaC-Conv: per sample the probability of the trained layer.

    A document without sentences has no score.
    """

    inference: Inference
    convolution: Callable[[], Convolution]
    field: str = ""
    name: ClassVar[str] = "summac_conv"
    keys: ClassVar[tuple[str, ...]] = ("summac_conv",)

    def __call__(self, samples: Samples) -> Measured:
        """Score predictions by their documents."""
        if not samples.predictions:
            return with_means({self.name: []})
        layer = self.convolution()
        images = self.inference.images(
            documents(samples, self.field), samples.predictions, layer.labels != "e"
        )
        return with_means({self.name: [None if image is None else layer.score(image) for image in images]})


@takes(ZeroShotOptions)
def summac_zs(context: Context, options: ZeroShotOptions) -> ZeroShot:
    """Entailment of a summary by its document. Needs loquent[train] and an NLI classifier's folder or name.

    Each sentence of the summary is compared with each sentence of the document.
    """
    switches = (options.use_entailment, options.use_contradiction)
    return ZeroShot(_inference(options), options.op1, options.op2, *switches, options.field)


@takes(ConvOptions)
def summac_conv(context: Context, options: ConvOptions) -> Conv:
    """Entailment of a summary by a trained layer. Needs loquent[train], an NLI classifier, and its weights.

    The classifier is a folder or name.
    """
    layer = cache(lambda: read_weights(options.weights, options.bins, options.labels, options.over))
    return Conv(_inference(options), layer, options.field)


def _inference(options: ConsistencyOptions) -> Inference:
    network, labels = options.classifier(), (options.entailment, options.contradiction)
    return Inference(
        network, *labels, options.granularity, options.most, options.longer_than, options.token_budget
    )
