"""BERTScore (Zhang et al. 2020, arXiv:1904.09675): tokens of prediction and reference matched greedily by the cosine of their contextual vectors.

    P = sum_x w(x) max_y cos(x, y) / sum_x w(x)        x the prediction's tokens, y the reference's
    R = sum_y w(y) max_x cos(x, y) / sum_y w(y)        F1 = 2 P R / (P + R)

As in the reference implementation the markers at both ends may be matched with, and weigh 0 themselves; of several references
each of the three takes its largest value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

from loquent.errors import BadSetting
from loquent.metric import Context, Measured
from loquent.metrics.models import ModelOptions, measured
from loquent.metrics.options import takes
from loquent.settings import setting
from loquent.task import Row, Task

LAYERS = {  # where a layer correlates best with people on WMT16, by the reference implementation's table
    "bert-base-uncased": 9, "bert-large-uncased": 18, "bert-base-multilingual-cased": 9, "bert-base-chinese": 8, "roberta-base": 10,
    "roberta-large": 17, "distilroberta-base": 5, "distilbert-base-uncased": 5, "xlm-roberta-base": 9, "xlm-roberta-large": 17,
    "microsoft/deberta-base-mnli": 9, "microsoft/deberta-large-mnli": 18, "microsoft/deberta-xlarge-mnli": 40,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class BertScoreOptions(ModelOptions):
    """What the metric `bert_score` may be told."""

    layer: int | None = setting(None, "whose hidden states: 0 are the embeddings; none: as published for the name, else the last", low=0)
    idf: str = setting(
        "none",
        "weigh tokens by their rarity in the references of the same call (scores then depend on it) or of the task's training rows",
        choices=("none", "references", "task"),
    )


Weigh = Callable[[int], float]


@dataclass(frozen=True, eq=False)
class BertScore:
    """Per sample F1, precision and recall; no score for a sample without a reference that has tokens to weigh, 0 for an empty prediction."""

    encoder: Callable[[], Any]  # gives a `pretrained.Encoder`, whose last hidden states are compared
    idf: bool = False
    counted: Callable[[], Sequence[str]] | None = None  # the texts by which tokens are rare; none: the references of the same call
    token_budget: int = 1024
    name: ClassVar[str] = "bert_score"
    keys: ClassVar[tuple[str, ...]] = ("bert_score", "bert_score/precision", "bert_score/recall")
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    @property
    def together(self) -> bool:
        """Whether a sample's score depends on the samples it is called with: on their references, by which tokens are rare."""
        return self.idf and self.counted is None

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score predictions against their references; each different text is encoded once."""
        numbers: dict[str, int] = {}
        said = [numbers.setdefault(text.strip(), len(numbers)) for text in predictions]
        told = [[numbers.setdefault(text.strip(), len(numbers)) for text in own] for own in references]
        scores = self._scores(list(numbers), said, told) if numbers else {}
        best = [[scores[i, j] for j in own if (i, j) in scores] for i, own in zip(said, told, strict=True)]
        columns = [[max(values) for values in zip(*own, strict=True)] if own else [None] * len(self.keys) for own in best]
        return measured({key: [column[k] for column in columns] for k, key in enumerate(self.keys)})

    def _scores(self, texts: list[str], said: list[int], told: list[list[int]]) -> dict[tuple[int, int], tuple[float, float, float]]:
        """F1, precision and recall of each pair (prediction, reference) whose reference weighs something."""
        from loquent import pretrained

        ids = _rows(self.encoder(), texts)
        weigh = self._weigh([ids[j] for own in told for j in own])
        weights = [[weigh(i) for i in row] for row in ids]
        heavy = [sum(row) > 0 for row in weights]
        pairs = list({(i, j): None for i, own in zip(said, told, strict=True) for j in own if heavy[j]})
        asked = [(i, j) for i, j in pairs if heavy[i]]
        found = pretrained.match(self.encoder(), ids, weights, asked, token_budget=self.token_budget)
        return dict.fromkeys(pairs, (0.0, 0.0, 0.0)) | {pair: (f1(*both), *both) for pair, both in zip(asked, found, strict=True)}

    def _weigh(self, references: list[list[int]]) -> Weigh:
        if self.idf:
            return rarity(references) if self.counted is None else self._fixed
        tokenizer = self.encoder().tokenizer
        markers = (tokenizer.cls_token_id, tokenizer.sep_token_id)
        return lambda i: float(i not in markers)

    @cached_property
    def _fixed(self) -> Weigh:
        return rarity(_rows(self.encoder(), self.counted())) if self.counted is not None else rarity(())


@takes(BertScoreOptions)
def bert_score(context: Context, options: BertScoreOptions) -> BertScore:
    """BERTScore under any encoder: F1, precision and recall. Needs loquent[train] and an encoder's folder or name.

    Raises:
        BadSetting: idf = "task" without a task.
    """
    task = context.task
    if options.idf == "task" and task is None:
        raise BadSetting("idf = 'task' counts tokens in the references of a task's training rows, and there is no task here")

    @cache
    def encoder() -> Any:
        from loquent import pretrained

        layers = LAYERS.get(options.path) if options.layer is None else options.layer
        return pretrained.load_encoder(options.path, revision=options.revision or None, device=options.device, dtype=options.dtype, layers=layers)

    counted = (lambda: _training_references(task)) if options.idf == "task" and task is not None else None
    return BertScore(encoder, options.idf != "none", counted, options.token_budget)


def f1(precision: float, recall: float) -> float:
    """The harmonic mean; 0 where one of both is not positive, which no trained encoder gives."""
    return 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0


def rarity(rows: Sequence[Sequence[int]]) -> Weigh:
    """log((n + 1) / (c + 1)) of an id that c of n rows have."""
    counts = Counter(i for row in rows for i in set(row))
    return lambda i: math.log((len(rows) + 1) / (counts[i] + 1))


def _rows(encoder: Any, texts: Sequence[str]) -> list[list[int]]:
    """The ids of texts; tokenizers of GPT-2's and RoBERTa's kind read them as after a space, as the reference implementation has it."""
    spaced = any(kind.__name__ in ("GPT2Tokenizer", "RobertaTokenizer") for kind in type(encoder.tokenizer).__mro__)
    rows: list[list[int]] = encoder.rows([f" {text.strip()}" if spaced and text.strip() else text.strip() for text in texts])
    return rows


def _training_references(task: Task) -> list[str]:
    found = [row.fields.get("references") or () for row in task.rows("train")]
    return [text for own in found for text in ((own,) if isinstance(own, str) else own)]
