"""The table of datasets: each name with its published prompt, files, built-in stand-in and source."""

from __future__ import annotations

from loquent.tasks.generation.corpora import (
    concepts,
    dialogues,
    stories,
    summaries,
    tables,
    translation,
)
from loquent.tasks.generation.corpora.dataset import Dataset, Hub

TEXTS = "texts"  # texts of any source, split into a prompt and its continuation
IMDB = "imdb"
IMDB_HUB = Hub("stanfordnlp/imdb", revision="e6281661ce1c48d982bc483cf8a173c1bbeb5d31")
CONSTANT = "constant"  # one prompt without references, for rewards that read the answer alone
ORDERS = "orders"  # a guest whose order only questions bring out
SUMMARIZE, TRANSLATE = "Summarize: {article}", "translate English to German: {source}"

DATASETS: dict[str, Dataset] = {
    "commongen": Dataset(
        prompt="generate a sentence with: {concepts}.",
        parts=("concepts",),
        examples=concepts.examples,
        files="records",
        builtin="commongen",
        hub=Hub("GEM/common_gen"),
        paper="arXiv:1911.03705",
    ),
    "cnn_daily_mail": Dataset(
        prompt=SUMMARIZE,
        parts=("article",),
        examples=summaries.news,
        files="stories",
        builtin="cnn_daily_mail",
        hub=Hub("abisee/cnn_dailymail", "3.0.0", "96df5e686bee6baa90b8bee7c28b81fa3fa6223d"),
        paper="arXiv:1704.04368",
        settings=("source_words",),
        long="article",
    ),
    "scitldr": Dataset(
        prompt=SUMMARIZE,
        parts=("article",),
        examples=summaries.abstracts,
        files="records",
        builtin="",
        hub=Hub("allenai/scitldr", "Abstract"),
        paper="arXiv:2004.15011",
        settings=("source_words",),
        long="article",
    ),
    "totto": Dataset(
        prompt="{table}",
        parts=("table",),
        examples=tables.examples,
        files="records",
        builtin="totto",
        hub=Hub("GEM/totto"),
        paper="arXiv:2004.14373",
        settings=("representation", "source_words"),
        long="table",
    ),
    "wmt16": Dataset(
        prompt=TRANSLATE,
        parts=("source",),
        examples=translation.examples,
        files="pairs",
        builtin="wmt16",
        hub=Hub("wmt/wmt16", "de-en", "41d8a4013aa1489f28fea60ec0932af246086482"),
        paper="WMT 2016, W16-2301",
        settings=("source_words",),
        long="source",
    ),
    "iwslt2017": Dataset(
        prompt=TRANSLATE,
        parts=("source",),
        examples=translation.examples,
        files="pairs",
        builtin="iwslt2017",
        hub=Hub("IWSLT/iwslt2017", "iwslt2017-de-en"),
        paper="IWSLT 2017, pages 2-14",
        settings=("source_words",),
        long="source",
    ),
    "narrative_qa": Dataset(
        prompt=rf"{{question}} {stories.BETWEEN} {{summary}}",
        parts=("question", "summary"),
        examples=stories.examples,
        files="questions",
        builtin="narrative_qa",
        hub=Hub("deepmind/narrativeqa", revision="2e643e7363944af1c33a652d1c87320d0871c4e4"),
        paper="arXiv:1712.07040",
        settings=("source_words",),
        long="summary",
        group=stories.group,
    ),
    "daily_dialog": Dataset(
        prompt=f"{{context}} {dialogues.END}",
        parts=("context",),
        examples=dialogues.examples,
        files="dialogues",
        builtin="daily_dialog",
        hub=Hub("li2017dailydialog/daily_dialog"),
        paper="arXiv:1710.03957",
        settings=("context",),
    ),
}
NAMES = (TEXTS, IMDB, *DATASETS, CONSTANT, ORDERS)
