"""The options and rows of the blocks task: statements with programs and the boards they begin on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from loquent.core.settings import check_ranges, setting
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.sources import Splits, draw_of, limited
from loquent.errors import BadSetting
from loquent.tasks.blocks.board import EMPTY_BOARD
from loquent.tasks.blocks.statements import drawn
from loquent.tasks.blocks.statements.drawn import Drawn

APPEARANCES = ("tower", "scatter")
STARTS = ("scratch", "flip_it")
SHARES = {"test": 0.2, "validation": 0.1}  # of the built-in statements or templates
KEPT = 3  # training templates that have each part of a template that is held out


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """The options that choose the rows."""

    source: str = setting(
        "builtin", "built-in statements, or the published files in `path`", choices=("builtin", "path")
    )
    path: str = setting(
        "",
        "source path: a folder with the published files, such as tower_scratch_train.json (also .gz)",
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
        False, "leave out rows for which no board within ten actions has the target value"
    )
    exclude_trivial: bool = setting(False, "leave out rows whose first board already has the target value")
    limit: int = setting(0, "the most rows per split, chosen by a hash of their ids; 0: all", low=0)

    def __post_init__(self) -> None:
        check_ranges(self)
        if bool(self.path) != (self.source == "path"):
            raise BadSetting(
                f"source = {self.source!r} and path = {self.path!r} do not fit together; set both "
                "source = 'path' and path, or neither"
            )


def load(options: RowOptions) -> Splits:
    """The rows of all splits; each has `sentence`, `program`, `target`, `board` and `template`."""
    return {split: limited(rows, options.limit) for split, rows in _builtin(options).items()}


def sentences(rows: Iterable[Row]) -> frozenset[str]:
    """The sentences of rows, to tell rows with sentences seen in training from the others."""
    return frozenset(row["sentence"] for row in rows)


@lru_cache(maxsize=8)
def _builtin(options: RowOptions) -> Splits:
    drawn_statements = drawn.statements(options.appearance)
    split_of = _split_by_template(drawn_statements) if options.held_out == "templates" else {}
    rows: dict[str, list[Row]] = {"train": [], "validation": [], "test": []}
    for each in drawn_statements:
        split = split_of.get(each.template) or _split(draw_of(each.program))
        rows[split].append(Row(f"{options.appearance}-{each.number}", _fields(each)))
    return {split: tuple(members) for split, members in rows.items()}


def _fields(statement: Drawn) -> Record:
    return Record(
        sentence=statement.sentence,
        program=statement.program,
        target=True,
        board=EMPTY_BOARD,
        template=statement.template,
    )


def _split(uniform: float) -> str:
    if uniform < SHARES["test"]:
        return "test"
    return "validation" if uniform < SHARES["test"] + SHARES["validation"] else "train"


def _split_by_template(statements: Iterable[Drawn]) -> dict[str, str]:
    """The split of each template, by a hash of it.

    A template is held out only while its construction and its properties each occur in `KEPT` other templates
    of training, so that held-out statements combine known parts in new ways.
    """
    templates = sorted({statement.template for statement in statements}, key=draw_of)
    left = Counter(part for template in templates for part in parts(template))
    split_of = dict.fromkeys(templates, "train")
    wanted = {split: round(share * len(templates)) for split, share in SHARES.items()}
    for template in templates:
        split = next((split for split, count in wanted.items() if count), None)
        if split and all(left[part] > KEPT for part in parts(template)):
            split_of[template] = split
            wanted[split] -= 1
            left.subtract(parts(template))
    return split_of


def parts(template: str) -> tuple[str, ...]:
    """The construction of a template, and the properties in it."""
    construction, _, properties = template.partition(":")
    return (f"{construction}:", *properties.replace("@", "+").split("+"))
