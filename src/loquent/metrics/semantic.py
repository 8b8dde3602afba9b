"""What a network says of a text or of a pair: BLEURT, the likeness of sentence vectors, and any classifier's probability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, ClassVar

from loquent.errors import BadModel
from loquent.metric import Context, Measured
from loquent.metrics.models import ModelOptions, measured
from loquent.metrics.options import takes
from loquent.metrics.text import judged
from loquent.settings import setting
from loquent.task import Row

OVER: dict[str, Callable[[Sequence[float]], float]] = {"max": max, "mean": fmean}


@dataclass(frozen=True, kw_only=True)
class BleurtOptions(ModelOptions):
    """What the metric `bleurt` may be told."""

    over: str = setting("max", "of several references: the largest score, or the mean", choices=tuple(OVER))
    max_length: int = setting(512, "the most tokens of reference and prediction together", source="BLEURT-20 and the -512 checkpoints", low=8)


@dataclass(frozen=True, kw_only=True)
class SimilarityOptions:
    """What the metric `embedding_similarity` may be told."""

    path: str = setting(why="the sentence encoder: a Hugging Face folder (config.json, safetensors, tokenizer.json) or name")
    pooling: str = setting(
        "auto", "the mean over all states, the first one, or as the folder says (the mean where it is silent)", choices=("auto", "mean", "first")
    )
    over: str = setting("max", "of several references: the largest cosine, or the mean", choices=tuple(OVER))
    revision: str = setting("", "the revision of a Hugging Face name")
    device: str = setting("auto", "where that encoder lives", choices=("auto", "cpu", "cuda"))


@dataclass(frozen=True, kw_only=True)
class ClassifierOptions(ModelOptions):
    """What the metric `classifier` may be told."""

    label: str | int = setting(1, "the label whose probability is the score: its name or number")
    include_prompt: bool = setting(False, "judge the prompt and the answer, not the answer alone")


@dataclass(frozen=True, eq=False)
class Bleurt:
    """Per sample the score that a regression network gives to (reference, prediction); no score without a reference."""

    network: Callable[[], Any]  # gives a `pretrained.ClassifierNetwork` of one output
    over: str = "max"
    max_length: int = 512
    token_budget: int = 1024
    name: ClassVar[str] = "bleurt"
    keys: ClassVar[tuple[str, ...]] = ("bleurt",)
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score each different pair once.

        Raises:
            BadModel: the network has more than one output.
        """
        pairs = list({(told, said): None for said, own in zip(predictions, references, strict=True) for told in own})
        scores = dict(zip(pairs, self._scores(pairs), strict=True)) if pairs else {}
        own_scores = [[scores[told, said] for told in own] for said, own in zip(predictions, references, strict=True)]
        return measured({self.name: [OVER[self.over](own) if own else None for own in own_scores]})

    def _scores(self, pairs: list[tuple[str, str]]) -> list[float]:
        network = self.network()
        if len(network.labels) != 1:
            raise BadModel(f"bleurt needs a regression network with one output; this one has the labels {network.known}")
        told, said = [told for told, _ in pairs], [said for _, said in pairs]
        scores: list[float] = network.logits(told, said, token_budget=self.token_budget, limit=self.max_length)[:, 0].tolist()
        return scores


@dataclass(frozen=True, eq=False)
class EmbeddingSimilarity:
    """Per sample the cosine of the vectors of prediction and reference; 0 for an empty prediction, none without a reference."""

    encode: Callable[[Sequence[str]], Any]  # float[n, dimension] of length 1, zeros for a text of spaces: a `features.Sentence`
    over: str = "max"
    name: ClassVar[str] = "embedding_similarity"
    keys: ClassVar[tuple[str, ...]] = ("embedding_similarity",)
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Encode each different text once and compare."""
        told = [[text for text in own if text.strip()] for own in references]
        texts = list(dict.fromkeys((*predictions, *(text for own in told for text in own))))
        vectors = dict(zip(texts, self.encode(texts).astype("float64"), strict=True)) if texts else {}
        scores = [[min(float(vectors[said] @ vectors[text]), 1.0) for text in own] for said, own in zip(predictions, told, strict=True)]
        return measured({self.name: [OVER[self.over](own) if own else None for own in scores]})


@dataclass(frozen=True, eq=False)
class LabelProbability:
    """Per sample the probability of one label."""

    network: Callable[[], Any]  # gives a `pretrained.ClassifierNetwork`
    label: str | int = 1
    include_prompt: bool = False
    token_budget: int = 1024
    name: ClassVar[str] = "classifier"
    keys: ClassVar[tuple[str, ...]] = ("classifier",)
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Judge predictions, after their prompts where told so.

        Raises:
            BadModel: the network has no such label.
        """
        if not predictions:
            return measured({self.name: []})
        network = self.network()
        label = network.label(self.label)
        texts = judged(predictions, prompts, self.include_prompt)
        return measured({self.name: network.probabilities(texts, token_budget=self.token_budget)[:, label].tolist()})


@takes(BleurtOptions)
def bleurt(context: Context, options: BleurtOptions) -> Bleurt:
    """BLEURT by any regression checkpoint; there is no default. Needs loquent[train] and a checkpoint's folder or name."""
    return Bleurt(options.classifier(), options.over, options.max_length, options.token_budget)


@takes(SimilarityOptions)
def embedding_similarity(context: Context, options: SimilarityOptions) -> EmbeddingSimilarity:
    """The cosine of sentence vectors of prediction and reference. Needs loquent[train] and a sentence encoder's folder or name."""
    from loquent.features import Sentence

    encode = Sentence(model=options.path, pooling=options.pooling, revision=options.revision, device=options.device)
    return EmbeddingSimilarity(encode, options.over)


@takes(ClassifierOptions)
def classifier(context: Context, options: ClassifierOptions) -> LabelProbability:
    """The probability of a label under any sequence classifier. Needs loquent[train] and a classifier's folder or name."""
    return LabelProbability(options.classifier("left"), options.label, options.include_prompt, options.token_budget)
