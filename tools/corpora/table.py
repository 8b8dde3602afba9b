"""The table of the built-in corpora: each file of the package with what makes its content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from loquent.core.task import Row
from tools.corpora import questions, scenes, sentences, texts, villages
from tools.corpora.blocks import corpus as blocks
from tools.corpora.blocks import geometry
from tools.corpora.comments import posts
from tools.corpora.generation import articles, concept_sets, facts, sentence_pairs, service, tales
from tools.corpora.generation.filling import Records
from tools.corpora.writing import encoded, records

HOUSE = Path(__file__).resolve().parents[2] / "src" / "loquent"


def _blocks(appearance: str) -> bytes:
    return encoded({"statements": blocks.records(appearance)})


def _rows(splits: Callable[[], Mapping[str, Iterable[Row]]]) -> bytes:
    return encoded(records(splits()))


def _records(make: Callable[[], Records]) -> bytes:
    return encoded(make())


CORPORA: dict[str, Callable[[], bytes]] = {
    "tasks/blocks/geometry/tables.npz": geometry.make,
    "tasks/blocks/sources/tower.json.xz": partial(_blocks, "tower"),
    "tasks/blocks/sources/scatter.json.xz": partial(_blocks, "scatter"),
    "tasks/comments/language/posts.json.xz": partial(_rows, posts.splits),
    "tasks/dialogue/sources/scenes.json.xz": partial(_rows, scenes.splits),
    "tasks/generation/corpora/cnn_daily_mail.json.xz": partial(_records, articles.records),
    "tasks/generation/corpora/commongen.json.xz": partial(_records, concept_sets.records),
    "tasks/generation/corpora/daily_dialog.json.xz": partial(_records, service.records),
    "tasks/generation/corpora/iwslt2017.json.xz": partial(_records, sentence_pairs.talks),
    "tasks/generation/corpora/narrative_qa.json.xz": partial(_records, tales.records),
    "tasks/generation/corpora/totto.json.xz": partial(_records, facts.records),
    "tasks/generation/corpora/wmt16.json.xz": partial(_records, sentence_pairs.news),
    "tasks/multilabel/texts.json.xz": partial(_rows, texts.splits),
    "tasks/multiple_choice/questions.json.xz": partial(_rows, questions.splits),
    "tasks/reading/villages.json.xz": partial(_rows, villages.splits),
    "tasks/tagging/sentences.json.xz": partial(_rows, sentences.splits),
}
