"""The published files of a folder, examined: hashes, labels, and which statements can be made true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadRow, ProgramError
from loquent.tasks.blocks import fixed_sequences, solvable
from loquent.tasks.blocks.boards.board import EMPTY_BOARD, Board
from loquent.tasks.blocks.boards.rules import stack_block, with_box
from loquent.tasks.blocks.edits.base import ADD
from loquent.tasks.blocks.edits.towers import TowerEdits
from loquent.tasks.blocks.nlvr import statement_files
from loquent.tasks.blocks.nlvr.statement_files import PublishedFile, Statement
from loquent.tasks.blocks.programs.program import compile_program

NONE = "none"  # the number of edits of a statement that no board within ten edits makes true


def examine(folder: Path) -> tuple[list[str], dict[str, Any]]:
    """Lines to print, and the same as JSON data.

    The data have, over all files with boards, `total` labels and `agree`, those that the programs give.
    `constant_true` and `constant_false` list programs about towers with one value on all 1,771,561 boards.
    `files` has for each file its counts, its `differences` from the published one, and the ids that
    `disagree` with their labels; a file that cannot be read has its `problem` alone. Files from scratch also
    have `edits`, the number of statements by their additions, and the ids that are `true_at_start` or
    `unsolvable` within ten edits, or whose programs `failed`. For towers, additions are the fewest and the
    unsolvable ones are proved; for scattered items, a search found them. Files of towers from scratch also
    have `blind`, what an agent that reads no sentence reaches: the `additions` of the best fixed sequence
    that a search finds for the file, the `share` of its statements that are true after them, and
    `chosen_on_training`, the share after the best sequence of the training file, if that is there.
    `problems` is empty if all files can be read, all labels agree, no program failed, and no file differs.
    `remarks` name the files whose statements could not be compared with the published ones.

    Raises:
        BadRow: the folder has no published file.
    """
    report: dict[str, Any] = {"total": 0, "agree": 0, "constant_true": [], "constant_false": []}
    files: dict[str, dict[str, Any]] = {}
    lines, problems, remarks = [], [], []
    trained: Board | None = None
    for path in statement_files.find_all(folder):
        try:
            file = statement_files.read(path)
        except BadRow as error:
            files[path.name] = {"problem": str(error)}
            problems.append(f"{path.name}: {error}")
            continue
        appearance, start, split = file.name.split("_")
        found = _solved(file, report) if start == "scratch" else _agreeing(file, report)
        if (appearance, start) == ("tower", "scratch"):
            board, found["blind"] = _blind(file, trained)
            trained = board if split == "train" else trained
        contexts = len({(each.sentence, each.label) for each in file.statements.values()})
        counts = {"statements": len(file.statements), "contexts": contexts, "partial": file.partial}
        files[path.name] = {**counts, "differences": file.differences, **found}
        lines += [f"{path.name}: {len(file.statements):,} statements, {contexts:,} contexts", *_shown(found)]
        wrong = [f"{each}: the program disagrees with the label" for each in found["disagree"]]
        remarks += [f"{path.name}: {each}" for each in file.remarks]
        problems += [f"{path.name}: {each}" for each in (*file.differences, *wrong, *found["failed"])]
    lines += [f"{name}: {_joined(report[name])}" for name in ("constant_true", "constant_false")]
    lines += [*remarks, *problems]
    lines.append(f"agree: {report['agree']:,} of {report['total']:,} labels")
    return lines, {**report, "files": files, "remarks": remarks, "problems": problems}


def _agreeing(file: PublishedFile, report: dict[str, Any]) -> dict[str, Any]:
    """The statements of a file with boards whose label is not the program's value."""
    disagree, failed = [], []
    for each in file.statements.values():
        try:
            if compile_program(each.program)(each.board) is not each.label:
                disagree.append(each.id)
        except ProgramError as error:
            failed.append(f"{each.id}: {error}")
    agree = len(file.statements) - len(disagree) - len(failed)
    report["total"] += len(file.statements)
    report["agree"] += agree
    return {"agree": agree, "disagree": disagree, "failed": failed}


def _solved(file: PublishedFile, report: dict[str, Any]) -> dict[str, Any]:
    """The additions of the statements of a file from scratch; constant programs go to the report."""
    appearance = file.name.split("_")[0]
    edits: dict[str, int | None] = {}
    failed = []
    for each in file.statements.values():
        try:
            number = solvable.solution(each.program, True, each.board, appearance).edits
            if (
                appearance == "tower"
                and number in (0, None)
                and solvable.is_constant(each.program, number == 0)
            ):
                report["constant_true" if number == 0 else "constant_false"].append(f"{file.name}:{each.id}")
        except ProgramError as error:
            failed.append(f"{each.id}: {error}")
        else:
            edits[each.id] = number
    counts = Counter(edits.values())
    histogram = {str(number): counts[number] for number in sorted(n for n in counts if n is not None)}
    if counts[None]:
        histogram[NONE] = counts[None]
    return {
        "edits": histogram,
        "true_at_start": [id for id, number in edits.items() if number == 0],
        "unsolvable": [id for id, number in edits.items() if number is None],
        "disagree": [],
        "failed": failed,
    }


def _blind(file: PublishedFile, trained: Board | None) -> tuple[Board, dict[str, Any]]:
    """The board of the best fixed sequence for a file of towers from scratch, and what it makes true.

    Args:
        trained: the board of the best sequence for the training file.
    """
    rows = [
        Row(each.id, Record(program=each.program, target=True))
        for each in file.statements.values()
        if _has_value(each)
    ]
    actions, best = TowerEdits(), fixed_sequences.best_towers(rows)
    board = EMPTY_BOARD
    for box, color in best.actions:
        board = with_box(board, box, stack_block(board[box], color))
    blind: dict[str, Any] = {
        "additions": [actions.text(actions.join((ADD, box, color))) for box, color in best.actions],
        "share": best.share,
    }
    if trained is not None:
        blind["chosen_on_training"] = sum(fixed_sequences.reached(row, trained) for row in rows) / len(rows)
    return board, blind


def _has_value(statement: Statement) -> bool:
    try:
        return compile_program(statement.program)(statement.board) in (True, False)
    except ProgramError:
        return False


def _shown(found: dict[str, Any]) -> Iterator[str]:
    if "agree" in found:
        yield f"  labels that the programs give: {found['agree']:,}"
        return
    yield "  statements by additions: " + ", ".join(
        f"{edits}: {count}" for edits, count in found["edits"].items()
    )
    yield f"  true at the start: {_joined(found['true_at_start'])}"
    yield f"  unsolvable: {_joined(found['unsolvable'])}"
    if blind := found.get("blind"):
        chosen = blind.get("chosen_on_training")
        yield f"  sentence unread: {len(blind['additions'])} additions make {blind['share']:.1%} true" + (
            "" if chosen is None else f", those chosen on the training file {chosen:.1%}"
        )


def _joined(ids: list[str]) -> str:
    return " ".join(ids) or NONE
