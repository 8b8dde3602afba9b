"""The options and rows of the blocks task: statements with programs, target values and first boards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from loquent.core.settings import check_ranges, setting
from loquent.core.task import Row
from loquent.data import content, duplicates
from loquent.data.sources import Splits, limit_rows
from loquent.data.tables.splits import SPLITS
from loquent.errors import BadRow, BadSetting, ProgramError
from loquent.tasks.blocks import solvable
from loquent.tasks.blocks.boards.board import APPEARANCES
from loquent.tasks.blocks.sources import builtin

SCRATCH, FLIP_IT = STARTS = ("scratch", "flip_it")


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """The options that choose the rows."""

    source: str = setting(
        "builtin", "built-in statements, or the published files in `path`", choices=("builtin", "path")
    )
    path: str = setting(
        "",
        "source path: a folder with the published files, such as tower_scratch_train.json (also .gz), or for "
        "flip it NLVR's files beside those from scratch",
        file=True,
    )
    appearance: str = setting(
        "tower", "tower: squares in stacks; scatter: items anywhere in a box", choices=APPEARANCES
    )
    start: str = setting(
        "scratch",
        "scratch: an empty board, and the statement is to become true; flip_it: a board with items, and the "
        "truth value of the statement is to change",
        choices=STARTS,
    )
    held_out: str = setting(
        "statements",
        "source builtin: what validation and test hold out, statements or whole templates",
        choices=("statements", "templates"),
    )
    exclude_unsolvable: bool = setting(
        False, "leave out rows whose target value no board within `horizon` - 1 edits has"
    )
    exclude_trivial: bool = setting(False, "leave out rows whose first board has the target value already")
    drop_duplicates: bool = setting(False, duplicates.HELP)
    limit: int = setting(0, "the most rows per split, chosen by a hash of their ids; 0: all", low=0)

    def __post_init__(self) -> None:
        check_ranges(self)
        if bool(self.path) != (self.source == "path"):
            raise BadSetting(
                f"source = {self.source!r} and path = {self.path!r} do not fit together; set both "
                "source = 'path' and path, or neither"
            )
        if self.source == "path" and self.held_out != "statements":
            raise BadSetting(
                f"held_out = {self.held_out!r} is set, but source = 'path'; published statements keep their "
                "own splits"
            )


def load(options: RowOptions, edits: int = solvable.EDITS) -> Splits:
    """The rows of all splits; each has `sentence`, `program`, `target`, `board` and `template`.

    The built-in splits are train, validation and test. Published files give train, validation (a tenth of the
    published training statements), dev and test, as far as they are there. Files that have changed are read
    again.

    Args:
        edits: the most edits of an episode, for `exclude_unsolvable`.

    Raises:
        BadRow: a file or a statement is not as published; names both. Or with `exclude_unsolvable` a
            program needs too much work on a board that is tried; names the row and the program.
        BadSetting: the folder has no files of the configuration.

    Warns:
        Remark: a statement of the files stands in two splits.
    """
    own = {field.name: getattr(options, field.name) for field in fields(RowOptions)}
    return _load(RowOptions(**own), edits)


def split_names(options: RowOptions) -> tuple[str, ...]:
    """The names of the splits, without reading statements.

    A folder without the files, which `load` refuses, has the usual names, so that a task without rows can be
    described.
    """
    if options.source == "builtin":
        return SPLITS
    from loquent.tasks.blocks.sources import files

    try:
        return files.split_names(options.path, options.appearance, options.start)
    except BadSetting:
        return SPLITS


def sentences(rows: Iterable[Row]) -> frozenset[str]:
    """The sentences of rows, which tell rows with sentences of training from the others."""
    return frozenset(row["sentence"] for row in rows)


@content.cache_reads(16)
def _load(options: RowOptions, edits: int) -> Splits:
    source, appearance, start = options.source, options.appearance, options.start
    if source == "builtin":
        splits = builtin.splits(appearance, start, options.held_out)
    else:
        from loquent.tasks.blocks.sources import files

        read = files.splits(options.path, appearance, start)
        splits = duplicates.check_splits(read, options.path, options.drop_duplicates, ("sentence",))
    no_unsolvable, no_trivial = options.exclude_unsolvable, options.exclude_trivial
    unsolvable: frozenset[str] = frozenset()
    if no_unsolvable and source == "builtin" and edits == solvable.EDITS:
        unsolvable = builtin.unsolvable(appearance, start)
    elif no_unsolvable:
        every = (row for rows in splits.values() for row in rows)
        unsolvable = frozenset(row.id for row in every if _is_unsolvable(row, appearance, edits))
    kept = {}
    for split, rows in splits.items():
        chosen = tuple(
            row for row in rows if row.id not in unsolvable and not (no_trivial and solvable.is_trivial(row))
        )
        kept[split] = limit_rows(chosen, options.limit)
    return kept


def _is_unsolvable(row: Row, appearance: str, edits: int) -> bool:
    try:
        return solvable.is_unsolvable(row, appearance, edits)
    except ProgramError as error:
        raise BadRow(
            f"exclude_unsolvable = True, but the row {row.id!r:.60} cannot be judged: {error}"
        ) from None
