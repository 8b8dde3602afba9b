"""The options of sequence tagging, and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from loquent.data.annotated import builtin_sentences, placed, rows, sentences
from loquent.data.annotated.options import Labelled
from loquent.data.sources import Splits
from loquent.errors import BadSetting
from loquent.settings import setting
from loquent.values import Record

SCHEMES = ("auto", "io", "bio", "bioes")
AVERAGES = ("micro", "macro", "weighted")


@dataclass(frozen=True, kw_only=True)
class Options(Labelled):
    """What `task:` may hold when it is tagging."""

    token_field: str = setting("", "where the tokens stand: a column's number (CoNLL) or name (CoNLL-U, JSONL, hub); empty: as usual in the format")
    label_field: str = setting("", "where the labels stand, likewise; empty: the last column, UPOS, or `labels`")
    prefixes: str = setting("keep", "B-, I-, E-, S-, L-, U- before labels are kept, or stripped as in the paper's data", choices=("keep", "strip"))
    scheme: str = setting("auto", "how labels make spans for span_f1 (bioes: also BILOU); auto: by the prefixes of the labels", choices=SCHEMES)
    reward: str = setting("token_f1", "token_f1 (the paper's 'entity-level F1'), span_f1, or a function module:name(observation, action, targets)")
    dense: bool = setting(True, "the score's change is paid at each token; else the score at the end", source="2011.08272 sec. 2.2")
    average: str = setting("micro", "how token_f1 averages over labels; micro is the share of right tokens", choices=AVERAGES)
    context: str = setting("previous", "what views show of the labels so far: the last one, or all of them", choices=("previous", "all"))
    lookahead: int = setting(0, "so many tokens after the current one are shown; -1: the whole sentence", low=-1)
    max_tokens: int = setting(512, "longer sentences are refused by name", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.token_field and self.token_field == self.label_field:
            raise BadSetting(f"token_field and label_field are both {self.token_field!r}; tokens and labels stand in two places")

    def check(self, fields: Mapping[str, Any]) -> Record:
        """The fields of a row from outside, under their own names, or those of the source where these are absent; ValueError where they are none."""
        token = placed.other_name(fields, ("tokens", "text"), self.token_field)
        label = placed.other_name(fields, ("labels",), self.label_field)
        return sentences.check(fields, token_field=token, label_field=label, prefixes=self.prefixes, longest=self.max_tokens)

    def read(self, record: Mapping[str, Any]) -> Record:
        """The fields of a row from a record of the source; ValueError where they are none."""
        names = {"token_field": self.token_field, "label_field": self.label_field}
        return sentences.check(record, **names, prefixes=self.prefixes, longest=self.max_tokens)


@lru_cache(maxsize=16)
def load(options: Options) -> Splits:
    """The rows of all splits with `tokens` and `labels`; errors as `data.annotated.placed.load`."""
    return rows.limited(whole(options), options.limit)


@lru_cache(maxsize=16)
def whole(options: Options) -> Splits:
    """The rows before `limit`: what can be said does not hang on how many of them are played."""
    read = partial(sentences.read, token_field=options.token_field, label_field=options.label_field)
    return placed.load(options, read, placed.knowing(options.read, options.labels), builtin_sentences.splits)


def labels(options: Options) -> tuple[str, ...]:
    """All labels in the order of their actions; errors as `data.annotated.rows.labels`."""
    return rows.labels(options, builtin_sentences.LABELS, whole)
