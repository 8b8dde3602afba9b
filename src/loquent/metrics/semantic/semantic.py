"""Scores of a network: BLEURT, the similarity of sentence vectors, and a classifier's probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any, ClassVar

from loquent.core.metric import Context, Measured, Range, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.errors import BadModel
from loquent.metrics.networks import ModelOptions
from loquent.metrics.semantic.preference_model import check_form
from loquent.metrics.shared_parts import with_means
from loquent.metrics.text import judged_texts

OVER: dict[str, Callable[[Sequence[float]], float]] = {"max": max, "mean": fmean}


@dataclass(frozen=True, kw_only=True)
class BleurtOptions(ModelOptions):
    """Options of the metric `bleurt`."""

    over: str = setting("max", "with several references: the largest score, or the mean", choices=tuple(OVER))
    max_length: int = setting(
        512,
        "the largest number of tokens of reference and prediction together",
        source="BLEURT-20 and the -512 checkpoints",
        low=8,
    )


@dataclass(frozen=True, kw_only=True)
class SimilarityOptions:
    """Options of the metric `embedding_similarity`."""

    path: str = setting(
        why="the sentence encoder: a Hugging Face folder (config.json, safetensors, tokenizer.json) or name",
        file=True,
    )
    pooling: str = setting(
        "auto",
        "the mean over all states, the first state, or as the folder says (the mean if it says nothing)",
        choices=("auto", "mean", "first"),
    )
    over: str = setting(
        "max", "with several references: the largest cosine, or the mean", choices=tuple(OVER)
    )
    revision: str = setting("", "the revision of a Hugging Face name")
    device: str = setting(
        "auto", "the device of the encoder", choices=("auto", "cpu", "cuda"), execution=True
    )


@dataclass(frozen=True, kw_only=True)
class ClassifierOptions(ModelOptions):
    """Options of the metric `classifier`."""

    label: str | int = setting(1, "the label whose probability is the score: its name or number")
    include_prompt: bool = setting(False, "score the prompt and the answer together, not the answer alone")


@dataclass(frozen=True, eq=False)
class Bleurt:
    """Per sample the score of a regression network for (reference, prediction).

    No score without a reference.
    """

    network: Callable[[], Any]  # returns a `pretrained.ClassifierNetwork` with one output
    over: str = "max"
    max_length: int = 512
    token_budget: int = 1024
    name: ClassVar[str] = "bleurt"
    keys: ClassVar[tuple[str, ...]] = ("bleurt",)
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    def __call__(self, samples: Samples) -> Measured:
        """Score each different pair once.

        Raises:
            BadModel: the network has more than one output.
        """
        columns = [
            [(reference, prediction) for reference in texts]
            for prediction, texts in zip(samples.predictions, samples.references, strict=True)
        ]
        pairs = list(dict.fromkeys(pair for sample in columns for pair in sample))
        scores = dict(zip(pairs, self._scores(pairs), strict=True)) if pairs else {}
        best = [OVER[self.over]([scores[pair] for pair in sample]) if sample else None for sample in columns]
        return with_means({self.name: best})

    def _scores(self, pairs: list[tuple[str, str]]) -> list[float]:
        network = self.network()
        if len(network.labels) != 1:
            raise BadModel(
                "bleurt needs a regression network with one output; this one has the labels "
                f"{network.labels_text}. Name a BLEURT checkpoint with bleurt.path"
            )
        references, predictions = (
            [reference for reference, _ in pairs],
            [prediction for _, prediction in pairs],
        )
        logits = network.logits(
            references, predictions, token_budget=self.token_budget, limit=self.max_length
        )
        scores: list[float] = logits[:, 0].tolist()
        return scores


@dataclass(frozen=True, eq=False)
class EmbeddingSimilarity:
    """Per sample the cosine of the vectors of prediction and reference.

    An empty prediction scores 0; a sample without a reference has no score.
    """

    # `features.Sentence`: float[n, dimension], vectors of length 1, zeros for a blank text
    encode: Callable[[Sequence[str]], Any]
    over: str = "max"
    name: ClassVar[str] = "embedding_similarity"
    keys: ClassVar[tuple[str, ...]] = ("embedding_similarity",)
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    range: ClassVar[Range] = (-1.0, 1.0)

    def __call__(self, samples: Samples) -> Measured:
        """Encode each different text once and compare."""
        present = [[text for text in texts if text.strip()] for texts in samples.references]
        texts = list(dict.fromkeys((*samples.predictions, *(text for sample in present for text in sample))))
        vectors = dict(zip(texts, self.encode(texts).astype("float64"), strict=True)) if texts else {}
        scores = [
            [min(float(vectors[prediction] @ vectors[text]), 1.0) for text in sample]
            for prediction, sample in zip(samples.predictions, present, strict=True)
        ]
        return with_means({self.name: [OVER[self.over](values) if values else None for values in scores]})


@dataclass(frozen=True, eq=False)
class LabelProbability(Share):
    """Per sample the probability of one label."""

    network: Callable[[], Any]  # returns a `pretrained.ClassifierNetwork`
    label: str | int = 1
    include_prompt: bool = False
    token_budget: int = 1024
    name: ClassVar[str] = "classifier"
    keys: ClassVar[tuple[str, ...]] = ("classifier",)

    def __call__(self, samples: Samples) -> Measured:
        """Score the predictions, after their prompts if `include_prompt`.

        Raises:
            BadModel: the network does not have the label.
        """
        if not samples.predictions:
            return with_means({self.name: []})
        network = self.network()
        label = network.label(self.label)
        texts = judged_texts(samples.predictions, samples.prompts, self.include_prompt)
        return with_means(
            {self.name: network.probabilities(texts, token_budget=self.token_budget)[:, label].tolist()}
        )


@takes(BleurtOptions)
def bleurt(context: Context, options: BleurtOptions) -> Bleurt:
    """BLEURT by a regression checkpoint. Needs loquent[train] and a checkpoint's folder or name.

    There is no default checkpoint.
    """
    return Bleurt(options.classifier(), options.over, options.max_length, options.token_budget)


def _sentence(options: SimilarityOptions) -> Callable[[Sequence[str]], Any]:
    """The encoder, made when it is asked, because it needs torch."""

    @cache
    def encoder() -> Callable[[Sequence[str]], Any]:
        from loquent.pretrained.featurizers import Sentence

        return Sentence(
            model=options.path, pooling=options.pooling, revision=options.revision, device=options.device
        )

    return lambda texts: encoder()(texts)


@takes(SimilarityOptions)
def embedding_similarity(context: Context, options: SimilarityOptions) -> EmbeddingSimilarity:
    """The cosine of sentence vectors. Needs loquent[train] and a sentence encoder's folder or name."""
    return EmbeddingSimilarity(_sentence(options), options.over)


@takes(ClassifierOptions)
def classifier(context: Context, options: ClassifierOptions) -> LabelProbability:
    """The probability of a label. Needs loquent[train] and a classifier's folder or name.

    Raises:
        BadSetting: `loquent reward` trained the classifier with another `include_prompt`.
    """
    check_form(options.path, options.include_prompt)
    return LabelProbability(
        options.classifier("left"), options.label, options.include_prompt, options.token_budget
    )
