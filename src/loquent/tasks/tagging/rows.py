"""The options and rows of sequence tagging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.data import content, corpora
from loquent.data.annotated import checks, rows, sentences
from loquent.data.annotated.options import Labelled
from loquent.data.sources import Splits
from loquent.errors import BadSetting

BUILTIN = Path(__file__).with_name("sentences.json.xz")  # made by tools/corpora/sentences.py
LABELS = ("B-LOC", "B-MISC", "B-ORG", "B-PER", "I-LOC", "I-MISC", "I-ORG", "I-PER", "O")  # of built-in rows
SCHEMES = ("auto", "io", "bio", "bioes")
AVERAGES = ("micro", "macro", "weighted")


@dataclass(frozen=True, kw_only=True)
class Options(Labelled):
    """The settings under `task:` for sequence tagging."""

    token_field: str = setting(
        "",
        "the column of the tokens: a number (CoNLL) or a name (CoNLL-U, JSONL, hub); empty: the "
        "format's usual column",
    )
    label_field: str = setting(
        "",
        "the column of the labels, such as XPOS; empty: the last (CoNLL), UPOS (CoNLL-U) or `labels`",
    )
    prefixes: str = setting(
        "keep",
        "keep or strip B-, I-, E-, S-, L-, U- before labels; the paper's data strips them",
        choices=("keep", "strip"),
    )
    scheme: str = setting(
        "auto",
        "how labels form spans for span_f1 (bioes: also BILOU); auto: by the prefixes of the labels",
        choices=SCHEMES,
    )
    reward: str = setting(
        "token_f1",
        "token_f1 (the paper's 'entity-level F1'), span_f1, or module:name(observation, action, targets)",
    )
    dense: bool = setting(
        True,
        "true: each token earns the change of the score; false: the score is given at the end",
        source="2011.08272 sec. 2.2",
    )
    unlabelled: str = setting(
        "left_out",
        "tokens without a label yet, in token_f1 with `dense`: left_out of the score, as in the paper, and "
        "the k-th label moves it by about 1 / k; or wrong: each right label of n earns 1 / n",
        choices=("left_out", "wrong"),
        source="2011.08272, its code",
    )
    average: str = setting(
        "micro", "the average of token_f1 over labels; micro is the share of right tokens", choices=AVERAGES
    )
    context: str = setting(
        "previous", "the labels in views: the last label, or all labels so far", choices=("previous", "all")
    )
    lookahead: int = setting(
        0, "the number of tokens shown after the current token; -1: the whole sentence", low=-1
    )
    max_tokens: int = setting(512, "a longer sentence is an error", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.token_field and self.token_field == self.label_field:
            raise BadSetting(f"token_field and label_field are both {self.token_field!r}; name two columns")
        if self.unlabelled == "wrong" and self.reward == "span_f1":
            raise BadSetting(
                "unlabelled = 'wrong' is of token_f1, and reward is 'span_f1'; set one of the two"
            )

    def check(self, fields: Mapping[str, Any]) -> Record:
        """The checked fields of a user's row. A field has its own name or else the name in the source.

        Raises:
            ValueError: a field is invalid.
        """
        token = checks.other_name(fields, ("tokens", "text"), self.token_field)
        label = checks.other_name(fields, ("labels",), self.label_field)
        return sentences.check(
            fields, token_field=token, label_field=label, prefixes=self.prefixes, longest=self.max_tokens
        )

    def read(self, record: Mapping[str, Any]) -> Record:
        """The checked fields of a record of the source; ValueError if invalid."""
        names = {"token_field": self.token_field, "label_field": self.label_field}
        return sentences.check(record, **names, prefixes=self.prefixes, longest=self.max_tokens)


@content.cache_reads(16)
def load(options: Options) -> Splits:
    """The rows of all splits with `tokens` and `labels`; errors as in `data.annotated.placed.load`."""
    return rows.limit_splits(all_rows(options), options.limit)


@content.cache_reads(16)
def all_rows(options: Options) -> Splits:
    """The rows without `limit`, so that the set of labels does not depend on `limit`."""
    if options.source == "builtin":
        return corpora.rows(BUILTIN)
    from loquent.data.annotated import loading, sentence_files

    read = partial(sentence_files.read, token_field=options.token_field, label_field=options.label_field)
    return loading.load(options, read, checks.restricted_to(options.read, options.labels))


def labels(options: Options) -> tuple[str, ...]:
    """All labels in the order of their actions; errors as in `data.annotated.rows.labels`."""
    return rows.labels(options, LABELS, all_rows)
