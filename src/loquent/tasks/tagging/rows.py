"""The options of sequence tagging, and its rows."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.data.annotated.options import Annotated
from loquent.settings import setting

SCHEMES = ("auto", "io", "bio", "bioes")
AVERAGES = ("micro", "macro", "weighted")


@dataclass(frozen=True, kw_only=True)
class Options(Annotated):
    """What `task:` may hold when it is tagging."""

    token_field: str = setting("", "where the tokens stand: a column's number (CoNLL) or name (CoNLL-U, JSONL, hub); empty: as usual in the format")
    label_field: str = setting("", "where the labels stand, likewise; empty: the last column, UPOS, or `labels`")
    labels: tuple[str, ...] = setting((), "all labels, in the order of their actions; empty: those of all splits, sorted")
    prefixes: str = setting("keep", "B-, I-, E-, S- before labels are kept, or stripped as in the paper's data", choices=("keep", "strip"))
    scheme: str = setting("auto", "how labels make spans for span_f1; auto: by the prefixes that the labels have", choices=SCHEMES)
    reward: str = setting("token_f1", "token_f1 (the paper's 'entity-level F1'), span_f1, or a function module:name(observation, action, targets)")
    dense: bool = setting(True, "the score's change is paid at each token; else the score at the end", source="2011.08272 sec. 2.2")
    average: str = setting("micro", "how token_f1 averages over labels; micro is the share of right tokens", choices=AVERAGES)
    context: str = setting("previous", "what views show of the labels so far: the last one, or all of them", choices=("previous", "all"))
    lookahead: int = setting(0, "so many tokens after the current one are shown; -1: the whole sentence", low=-1)
    max_tokens: int = setting(512, "longer sentences are refused by name", low=1)
