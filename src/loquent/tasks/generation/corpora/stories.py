r"""NarrativeQA (arXiv:1712.07040) on summaries: a question, a summary, and answers by two people.

The published folder has `qaps.csv` (questions and answers) and `summaries.csv`; UnifiedQA's has `train.tsv`,
`dev.tsv` and `test.tsv`, with one answer a line. Prompts and answers are lower-cased. A question and its
summary are separated by a backslash and an n, as in UnifiedQA, whose files RL4LMs reads.
"""

from __future__ import annotations

from collections.abc import Mapping

from loquent.tasks.generation.corpora.dataset import (
    Example,
    Fields,
    Form,
    mappings,
    text,
    texts,
    without_blanks,
)

BETWEEN = "\\n"


def examples(record: Fields, split: str, form: Form) -> list[Example]:
    """The row of a question; answers without surrounding white space."""
    if "document" in record:
        question = text(_inner(record, "question"), "text")
        summary = text(_inner(_inner(record, "document"), "summary"), "text")
        answers = tuple(text(answer, "text") for answer in mappings(record.get("answers"), "the answers"))
    else:
        question, summary = text(record, "question"), text(record, "summary")
        answers = texts(record.get("answers"), "the answers")
    references = without_blanks(answer.lower() for answer in answers)
    if not references:
        raise ValueError("this question has no answer; it must have at least one")
    return [Example({"question": question.lower(), "summary": summary.lower()}, references, {})]


def group(record: Fields) -> str:
    """The summary of a question's record, which other questions share."""
    document = record.get("document")
    return str((document if isinstance(document, Mapping) else record).get("summary"))


def _inner(record: Fields, name: str) -> Fields:
    inner = record.get(name)
    if not isinstance(inner, Mapping):
        raise ValueError(f"the field {name!r} is {inner!r:.60}; it must be a mapping")
    return inner
