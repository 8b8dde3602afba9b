"""Articles and summaries: CNN/DailyMail (arXiv:1704.04368), and SciTLDR (arXiv:2004.15011).

A record of CNN/DailyMail has `article` and `highlights`. One of SciTLDR has `source`, the sentences of an
abstract, and `target`, one or several summaries.
"""

from __future__ import annotations

from loquent.tasks.generation.corpora.dataset import Example, Fields, Form, text, texts, without_blanks


def news(record: Fields, split: str, form: Form) -> list[Example]:
    """The row of an article with its highlights."""
    article = text(record, "article")
    return [Example({"article": article}, _summaries(record, "highlights"), {})]


def abstracts(record: Fields, split: str, form: Form) -> list[Example]:
    """The row of an abstract, its sentences joined by a space, with all its summaries."""
    article = " ".join(texts(record.get("source"), "the sentences of `source`"))
    if not article:
        raise ValueError("the field 'source' is blank; it must hold the sentences of an abstract")
    return [Example({"article": article}, _summaries(record, "target"), {})]


def _summaries(record: Fields, name: str) -> tuple[str, ...]:
    summaries = without_blanks(texts(record.get(name), f"the summaries in {name!r}"))
    if not summaries:
        raise ValueError(f"the field {name!r} is blank; it must hold a summary")
    return summaries
