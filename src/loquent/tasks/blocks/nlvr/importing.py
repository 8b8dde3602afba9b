"""The files of lilGym's flip-it sets, written from NLVR's examples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from loquent.errors import BadSetting
from loquent.files import atomic
from loquent.tasks.blocks.nlvr import statement_files
from loquent.tasks.blocks.nlvr.rebuild import Rebuilt, Report, rebuild

NONE = "none"


def write(folders: Sequence[Path], out: Path) -> tuple[list[str], dict[str, Any]]:
    """Write a file for each flip-it set that can be built; lines to print, and the same as JSON data.

    A set that has not the published counts is written as `NAME_partial.json`.

    Args:
        folders: NLVR's folder, and the folder with lilGym's files from scratch; one folder may hold both.
        out: the folder for the files.

    Raises:
        BadSetting: more than two folders, a folder does not hold the files, no set can be built, or a file
            exists already. BadRow: a file or an example is bad.
    """
    if len(folders) > 2:
        raise BadSetting(
            f"import nlvr takes NLVR's folder and the folder with lilGym's files, got {len(folders)} folders"
        )
    report = rebuild(folders[0], folders[-1])
    if not report.sets:
        raise BadSetting(
            f"no flip-it set can be built from {' and '.join(map(str, folders))}; the missing files are "
            f"{', '.join(report.missing)}"
        )
    texts = {
        out / f"{built.name}{'' if built.complete else '_partial'}.json": json.dumps(built.entries)
        for built in report.sets
    }
    if exists := [file for file in texts if file.exists()]:
        raise BadSetting(f"{exists[0]} exists already; name another folder with --out")
    for file, text in texts.items():
        atomic.write_text(file, text)
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts.values()]
    data = {
        "sets": {
            built.name: {
                "file": str(file),
                "sha256": digest,
                "statements": len(built.entries),
                "contexts": built.contexts,
                "complete": built.complete,
                "dropped": list(built.dropped),
                "corrected": list(built.corrected),
            }
            for built, file, digest in zip(report.sets, texts, digests)
        },
        "missing": list(report.missing),
        "unknown": list(report.unknown),
        "pictures": report.pictures,
        "differing": list(report.differing),
        "decoded": report.decoded,
    }
    return list(_lines(report, list(texts))), data


def _lines(report: Report, files: Sequence[Path]) -> Iterator[str]:
    for built, file in zip(report.sets, files):
        yield f"{file}: {len(built.entries):,} statements, {built.contexts:,} contexts{_lacking(built)}"
        yield f"  without a program: {_joined(built.dropped)}"
        yield f"  label corrected: {_joined(built.corrected)}"
    yield f"pictures compared with boards: {report.pictures:,}, different: {_joined(report.differing)}"
    yield f"boards from pictures: {report.decoded:,}"
    yield f"files with an unknown hash: {_joined(report.unknown)}"
    yield f"missing files: {_joined(report.missing)}"


def _lacking(built: Rebuilt) -> str:
    known = statement_files.KNOWN[built.name]
    return "" if built.complete else f"; the published file has {known.statements:,} and {known.contexts:,}"


def _joined(names: Sequence[str]) -> str:
    return " ".join(names) or NONE
