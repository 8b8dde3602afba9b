"""BERTScore (Zhang et al. 2020, arXiv:1904.09675): greedy matching of tokens by the cosine of their vectors.

    P = sum_x w(x) max_y cos(x, y) / sum_x w(x)        x the prediction's tokens, y the reference's
    R = sum_y w(y) max_x cos(x, y) / sum_y w(y)        F1 = 2 P R / (P + R)

As in the reference implementation, tokens can match the markers at both ends, and the markers have weight 0.
With several references, each of the three scores is its maximum over the references.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

from loquent.core.metric import Context, Measured, Samples
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.core.task import Task
from loquent.errors import BadSetting
from loquent.metrics.networks import ModelOptions
from loquent.metrics.shared_parts import with_means

# the layer that agrees best with human scores on WMT16, from the table of the reference implementation
LAYERS = {
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "bert-base-multilingual-cased": 9,
    "bert-base-chinese": 8,
    "roberta-base": 10,
    "roberta-large": 17,
    "distilroberta-base": 5,
    "distilbert-base-uncased": 5,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
    "microsoft/deberta-base-mnli": 9,
    "microsoft/deberta-large-mnli": 18,
    "microsoft/deberta-xlarge-mnli": 40,
}


@dataclass(frozen=True, kw_only=True)
class BertScoreOptions(ModelOptions):
    """Options of the metric `bert_score`."""

    layer: int | None = setting(
        None,
        "the layer of the hidden states, 0 for the embeddings; none: as published for the name, "
        "else the last",
        low=0,
    )
    idf: str = setting(
        "none",
        "weight tokens by their rarity in the references of the call (then scores depend on the "
        "other samples), or of the task's training rows",
        choices=("none", "references", "task"),
    )


Weight = Callable[[int], float]  # from a token id


@dataclass(frozen=True, eq=False)
class BertScore:
    """Per sample F1, precision and recall.

    An empty prediction scores 0. A sample has no score if no reference has a token of positive weight.
    """

    encoder: Callable[[], Any]  # returns a `pretrained.Encoder`, whose last hidden states are compared
    idf: bool = False
    # the texts of the idf; none: the references of the call
    corpus: Callable[[], Sequence[str]] | None = None
    token_budget: int = 1024
    name: ClassVar[str] = "bert_score"
    keys: ClassVar[tuple[str, ...]] = ("bert_score", "bert_score/precision", "bert_score/recall")
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    @property
    def together(self) -> bool:
        """Whether a sample's score depends on the other samples of the call.

        It does through the idf of their references.
        """
        return self.idf and self.corpus is None

    def __call__(self, samples: Samples) -> Measured:
        """Score predictions against their references; each different text is encoded once."""
        numbers: dict[str, int] = {}
        left = [numbers.setdefault(text.strip(), len(numbers)) for text in samples.predictions]
        right = [
            [numbers.setdefault(text.strip(), len(numbers)) for text in texts] for texts in samples.references
        ]
        scores = self._scores(list(numbers), left, right) if numbers else {}
        by_reference = [
            [scores[i, j] for j in others if (i, j) in scores] for i, others in zip(left, right, strict=True)
        ]
        best = [
            [max(values) for values in zip(*found, strict=True)] if found else [None] * len(self.keys)
            for found in by_reference
        ]
        return with_means({key: [values[k] for values in best] for k, key in enumerate(self.keys)})

    def _scores(
        self, texts: list[str], left: list[int], right: list[list[int]]
    ) -> dict[tuple[int, int], tuple[float, float, float]]:
        """F1, precision and recall of each pair (prediction, reference).

        References without positive weight are left out.
        """
        from loquent import pretrained

        ids = _rows(self.encoder(), texts)
        weight = self._weight([ids[j] for others in right for j in others])
        weights = [[weight(i) for i in row] for row in ids]
        positive = [sum(row) > 0 for row in weights]
        pairs = list(
            {(i, j): None for i, others in zip(left, right, strict=True) for j in others if positive[j]}
        )
        matched = [(i, j) for i, j in pairs if positive[i]]
        results = pretrained.match(self.encoder(), ids, weights, matched, token_budget=self.token_budget)
        scores = {pair: (f1(*result), *result) for pair, result in zip(matched, results, strict=True)}
        return dict.fromkeys(pairs, (0.0, 0.0, 0.0)) | scores

    def _weight(self, references: list[list[int]]) -> Weight:
        if self.idf:
            return rarity(references) if self.corpus is None else self._fixed_rarity
        tokenizer = self.encoder().tokenizer
        markers = (tokenizer.cls_token_id, tokenizer.sep_token_id)
        return lambda i: float(i not in markers)

    @cached_property
    def _fixed_rarity(self) -> Weight:
        return rarity(_rows(self.encoder(), self.corpus())) if self.corpus is not None else rarity(())


@takes(BertScoreOptions)
def bert_score(context: Context, options: BertScoreOptions) -> BertScore:
    """BERTScore: F1, precision and recall. Needs loquent[train] and an encoder's folder or name.

    Raises:
        BadSetting: idf = "task" without a task.
    """
    task = context.task
    if options.idf == "task" and task is None:
        raise BadSetting(
            "idf = 'task' needs the training rows of a task, and there is no task here. Use 'none' "
            "or 'references', or evaluate on a task"
        )

    @cache
    def encoder() -> Any:
        from loquent import pretrained

        return pretrained.load_encoder(
            options.path,
            revision=options.revision or None,
            device=options.device,
            dtype=options.dtype,
            layers=LAYERS.get(options.path) if options.layer is None else options.layer,
        )

    corpus = (lambda: _training_references(task)) if options.idf == "task" and task is not None else None
    return BertScore(encoder, options.idf != "none", corpus, options.token_budget)


def f1(precision: float, recall: float) -> float:
    """The harmonic mean; 0 if precision or recall is not positive."""
    return 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0


def rarity(rows: Sequence[Sequence[int]]) -> Weight:
    """The weight log((n + 1) / (c + 1)) of an id in c of n rows."""
    counts = Counter(i for row in rows for i in set(row))
    return lambda i: math.log((len(rows) + 1) / (counts[i] + 1))


def _rows(encoder: Any, texts: Sequence[str]) -> list[list[int]]:
    """The token ids of texts.

    Tokenizers of GPT-2 and RoBERTa get a leading space, as in the reference implementation.
    """
    classes = [kind.__name__ for kind in type(encoder.tokenizer).__mro__]
    space = " " if "GPT2Tokenizer" in classes or "RobertaTokenizer" in classes else ""
    stripped = [text.strip() for text in texts]
    rows: list[list[int]] = encoder.rows([space + text if text else text for text in stripped])
    return rows


def _training_references(task: Task) -> list[str]:
    values = [row.fields.get("references") or () for row in task.rows("train")]
    return [text for value in values for text in ((value,) if isinstance(value, str) else value)]
