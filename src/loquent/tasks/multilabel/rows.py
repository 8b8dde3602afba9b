"""The options of multi-label classification, and its rows."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.data.annotated.options import Annotated
from loquent.settings import setting


@dataclass(frozen=True, kw_only=True)
class Options(Annotated):
    """What `task:` may hold when it is multilabel."""

    text_field: str = setting("", "the field of the text in JSONL and on the hub; empty: `text`")
    label_field: str = setting("", "the field of the labels there; empty: `labels`")
    labels: tuple[str, ...] = setting((), "all labels, in the order of their actions; empty: those of all splits, sorted")
    reward: str = setting("f1", "f1, exact, ndcg or prefix (these two reward the order), or a function module:name(observation, action, targets)")
    dense: bool = setting(True, "the score's change is paid at each label; else the score at the end", source="2011.08272 sec. 2.2")
    empty_score: float = setting(1.0, "the score of no label where none is right; 0: as in the paper's code", low=0.0, high=1.0)
    repeats: bool = setting(True, "a label may be inserted again, at the cost of precision, as in the paper; else it is masked")
    max_steps: int = setting(0, "actions until a game is cut off, the terminating one included; 0: the most labels of any row, and one", low=0)
