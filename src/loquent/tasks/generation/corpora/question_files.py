"""The published files of NarrativeQA, as `stories` describes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loquent.data.columns import Placed
from loquent.data.readers import csv_rows, lines
from loquent.data.tables.splits import ALIASES
from loquent.errors import BadRow, BadSetting
from loquent.tasks.generation.corpora.stories import BETWEEN

QUESTIONS, SUMMARIES = "qaps.csv", "summaries.csv"


def files(path: Path) -> dict[str, Placed]:
    """The questions of a folder by split, in the published format or in UnifiedQA's.

    Raises:
        BadSetting: the folder has neither format. BadRow: a row is bad, or a question has no summary.
    """
    tables = {name: _file(path, name) for name in (QUESTIONS, SUMMARIES)}
    if all(tables.values()):
        return _published(*(file for file in tables.values() if file))
    found = {
        split: _file(path, f"{name}.tsv") for name, split in ALIASES.items() if _file(path, f"{name}.tsv")
    }
    if not found:
        raise BadSetting(
            f"path = {str(path)!r}: this folder must hold {QUESTIONS} and {SUMMARIES} (also in "
            "third_party/wikipedia/), or train.tsv, dev.tsv and test.tsv in UnifiedQA's format"
        )
    return {split: _grouped(file) for split, file in found.items() if file}


def _file(path: Path, name: str) -> Path | None:
    folders = (path, path / "third_party" / "wikipedia")
    return next(
        (file for folder in folders for end in ("", ".gz") if (file := folder / (name + end)).is_file()), None
    )


def _published(questions: Path, summaries: Path) -> dict[str, Placed]:
    summary_of = {row["document_id"]: row["summary"] for _, row in csv_rows(summaries)}
    splits: dict[str, list[tuple[tuple[object, int | None], dict[str, Any]]]] = {}
    for line, row in csv_rows(questions):
        split = ALIASES.get(row.get("set", ""))
        if split is None or row.get("document_id") not in summary_of:
            what = (
                f"the set {row.get('set')!r}" if split is None else f"the document {row.get('document_id')!r}"
            )
            raise BadRow(
                f"{what} is unknown; sets are train, valid and test, and {summaries.name} has the documents",
                file=questions,
                line=line,
            )
        answers = [row[name] for name in ("answer1", "answer2") if name in row]
        record = {
            "question": row.get("question"),
            "summary": summary_of[row["document_id"]],
            "answers": answers,
        }
        splits.setdefault(split, []).append(((questions, line), record))
    return {split: iter(items) for split, items in splits.items()}


def _grouped(file: Path) -> Placed:
    """The prompts of a file of UnifiedQA in order, each with all its answers, at its first line."""
    found: dict[str, tuple[int, list[str]]] = {}
    for number, line in lines(file):
        prompt, tab, answer = line.partition("\t")
        if not tab or BETWEEN not in prompt:
            why = f"this line must hold a question, {BETWEEN!r}, a text, a tab and an answer"
            raise BadRow(why, file=file, line=number)
        found.setdefault(prompt, (number, []))[1].append(answer)
    for prompt, (number, answers) in found.items():
        question, _, summary = prompt.partition(BETWEEN)
        yield (file, number), {"question": question.strip(), "summary": summary.strip(), "answers": answers}
