"""Blocks: edit three boxes of items until a statement about them is true, or false.

Observation  the statement, the wanted truth value and the items of each box; after an edit, the changed box.
Action       towers: `add black left`, `remove left`, `stop`. Scattered items: `add small black circle at 20
             0`, `remove at 20 0`, `stop`, at the cells of a grid or at pixels.
Reward       answer: 1 for stopping at the wanted truth value; -1 for stopping at the other, for an invalid
             action and (rules "paper") at the turn limit. edit: 1 per edit, with weight -0.1.
Ends         "right", "wrong", "invalid", "out of turns"; rules "legacy" also end "right at the limit" and
             "wrong at the limit"; "no value" where the program of a row has no value on the last board, which
             earns what "wrong" earns. All are rules, so nothing is bootstrapped.
Rows         `sentence`, its logical form `program`, the wanted value `target`, the first `board` and the
             `template` of the sentence: built-in, or the published files.
Paper        arXiv:2211.01994, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from loquent.core.seeding import Key
from loquent.core.settings import setting
from loquent.core.task import OUT_OF_TURNS, Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import EMPTY, Record, digest
from loquent.errors import ProgramError, UnknownName
from loquent.tasks.blocks import describe, rows
from loquent.tasks.blocks.added_rows import check_fields
from loquent.tasks.blocks.boards import rules
from loquent.tasks.blocks.boards.board import Board, Box
from loquent.tasks.blocks.edits.base import ADD, STOP, Edit, Edits
from loquent.tasks.blocks.edits.positions import GridEdits, PlacedEdits
from loquent.tasks.blocks.edits.towers import TowerEdits
from loquent.tasks.blocks.experts import Planner
from loquent.tasks.blocks.programs.program import Program, compile_program

RIGHT, WRONG, INVALID, NO_VALUE = "right", "wrong", "invalid", "no value"
LATE = {RIGHT: "right at the limit", WRONG: "wrong at the limit"}  # rules "legacy"
NO_ACTION = "no action"
WON, LOST, EDITED = Record(answer=1.0), Record(answer=-1.0), Record(edit=1.0)


@dataclass(frozen=True, kw_only=True)
class BlocksOptions(rows.RowOptions):
    """The settings under `task:` for blocks."""

    rules: str = setting(
        "paper",
        "paper: as the paper says; legacy: as its released code: its reward at the turn limit, its flags "
        "of truncation, and snaps that are not checked",
        choices=("paper", "legacy"),
    )
    actions: str = setting(
        "grid",
        "appearance scatter: items are placed at the 19 x 5 cells of a grid, or at any of 380 x 100 pixels",
        choices=("grid", "native"),
    )
    horizon: int = setting(
        11, "the most actions of an episode, `stop` included", source="2211.01994 code", low=1
    )
    instruct: bool = setting(True, "state the rules before the first observation")


class State(NamedTuple):
    """An episode: its row's fields, the board, the number of actions, and why the last one was invalid."""

    row: Record
    board: Board
    turn: int
    invalid: str = ""


class Blocks(Task):
    """Edit three boxes of items until a statement about them has the wanted truth value, then stop.

    Example:
        >>> task = Blocks()
        >>> step = task.start(task.rows("train")[0], Key(0))
        >>> task.act(step, "add black left").observation.text
        'left: black\\n'
    """

    Options = BlocksOptions
    options: BlocksOptions
    views: ClassVar[Mapping[str, str]] = {
        "dict": "loquent.tasks.blocks.views:objects",
        "objects": "loquent.tasks.blocks.views:objects",
        "image": "loquent.tasks.blocks.views:image",
        "image_full": "loquent.tasks.blocks.views:image_full",
        "both": "loquent.tasks.blocks.views:both",
        "ansi": "loquent.tasks.blocks.views:ansi",
    }
    vector_view: ClassVar[str] = "loquent.tasks.blocks.vector_view:BlocksView"
    many: ClassVar[str] = "loquent.tasks.blocks.vector.episodes:Episodes"
    stop: ClassVar[str] = "stop"
    stop_rewards: ClassVar[Record] = WON
    spec = TaskSpec(
        id="blocks",
        rewards=Record(answer=1.0, edit=-0.1),
        invalid=(NO_ACTION, *rules.INVALID),
        success=(RIGHT,),
        truncates=(OUT_OF_TURNS,),
        paper="arXiv:2211.01994",
        licences=("Apache-2.0 (the built-in statements)",),
    )

    def __init__(self, options: BlocksOptions | None = None) -> None:
        super().__init__(options)
        options = self.options
        self.legacy = options.rules == "legacy"
        self._appearance, self._horizon = options.appearance, options.horizon
        self.tower = options.appearance == "tower"
        self.actions: Edits = (
            TowerEdits() if self.tower else GridEdits() if options.actions == "grid" else PlacedEdits(1)
        )
        self._splits: dict[str, tuple[Row, ...]] = {}
        self._planner = Planner(self.actions, self._applied, options.horizon - 1)
        self.spec = replace(
            self.spec,
            instruction=describe.instruction(options.appearance, options.actions, options.horizon)
            if options.instruct
            else "",
            splits=rows.split_names(options),
            turn_limit=options.horizon,
            return_range=(-0.1 * (options.horizon - 1) - 1.0, 1.0),
            success=(RIGHT, LATE[RIGHT]) if self.legacy else (RIGHT,),
            truncates=(OUT_OF_TURNS, INVALID, *LATE.values()) if self.legacy else (OUT_OF_TURNS,),
            terminates_too=tuple(LATE.values()) if self.legacy else (),
        )

    def rows(self, split: str) -> tuple[Row, ...]:
        """The rows of a split; UnknownName for a split that the source does not have."""
        if not self._splits:
            self._splits = rows.load(self.options, self._horizon - 1)
        if split not in self._splits:
            raise UnknownName(f"split of {self.spec.id}", split, self._splits)
        return self._splits[split]

    def row_from(self, fields: Mapping[str, Any]) -> Row:
        """A row from `sentence`, `program`, `target` and `board`; BadRow where they are invalid.

        With start = "flip_it" the target is the opposite of the statement's value on the board.
        """
        record = check_fields(fields, self.tower, self.options.start == rows.FLIP_IT)
        return Row(f"added:{digest(record, 16)}", record)

    def first(self, row: Row, rng: Key) -> Opening:
        """Show the statement and the row's board; there is no randomness."""
        fields = row.fields
        state = State(fields, fields["board"], 0)
        text = describe.opening(fields["sentence"], fields["target"], fields["board"], self._appearance)
        return Opening(state, self._observation(state, text))

    def read(self, state: State, text: str) -> int | Invalid:
        """The number of the action; surrounding white space and capitals are ignored."""
        i = self.actions.index(text)
        if i is None:
            i = self.actions.index(text.strip().lower())
            if i is None:
                return Invalid(NO_ACTION, text)
        problem = self.actions.problem(state.board, i)
        return Invalid(problem, text) if problem else i

    def play(self, state: State, move: int | Invalid) -> Outcome:
        """Make the edit, or end the episode: by `stop`, by an invalid action, or by the last action.

        The last action of an episode changes nothing unless it is `stop`.
        """
        turn = state.turn + 1
        if isinstance(move, Invalid):
            after = State(state.row, state.board, turn, move.why)
            return Outcome(after, self._observation(after, f"invalid: {move.why}\n"), LOST, INVALID)
        edit, last = self.actions.edit(move), turn >= self._horizon
        if edit.type == STOP or last:
            after = State(state.row, state.board, turn)
            observation = self._observation(after, "")
            if edit.type != STOP:
                return Outcome(after, observation, EDITED if self.legacy else LOST, OUT_OF_TURNS)
            ended = ending(row_program(state), state.row["target"], state.board)
            rewards = WON if ended == RIGHT else LOST
            late = last and self.legacy
            return Outcome(after, observation, rewards, LATE.get(ended, ended) if late else ended)
        box = self.apply_edit(state.board[edit.box], edit)
        after = State(state.row, rules.with_box(state.board, edit.box, box), turn)
        text = describe.line(edit.box, box, self._appearance)
        return Outcome(after, self._observation(after, text), EDITED)

    def expert(self, state: State) -> str:
        """The next edit of a plan that a bounded search finds, or `stop`; see `experts`."""
        row, left = state.row, self._horizon - state.turn
        program = row_program(state)
        return self.actions.text(self._planner.next(program, row["target"], row["board"], state.board, left))

    def solution(self, state: State) -> str | None:
        """Edits of the first board and `stop`, separated by "; "; None where the search finds none."""
        row = state.row
        plan = self._planner.plan(row_program(state), row["target"], row["board"])
        return None if plan is None else "; ".join([*(self.actions.text(i) for i, _ in plan), "stop"])

    def _applied(self, board: Board, i: int) -> Board:
        edit = self.actions.edit(i)
        return rules.with_box(board, edit.box, self.apply_edit(board[edit.box], edit))

    def apply_edit(self, box: Box, edit: Edit) -> Box:
        """The box after a legal edit."""
        if self.tower:
            return rules.stack_block(box, edit.item.color) if edit.item is not None else box[:-1]
        if edit.type == ADD and edit.item is not None:
            return (*box, rules.snap_item(box, edit.item, edit.box, self.legacy))
        find = rules.item_of_cell if self.options.actions == "grid" else rules.item_of_pixel
        return rules.without(box, find(box, edit.x, edit.y))

    def render_ansi(self, observation: Observation) -> str:
        """The statement, the goal and the boxes in colours; scattered items are also listed."""
        from loquent.tasks.blocks.pictures import terminal

        fields = observation.fields
        board, appearance = fields["board"], self._appearance
        goal = f"{fields['sentence']} -> {'true' if fields['target'] else 'false'}\n"
        items = (
            "" if self.tower else "".join(describe.line(i, box, appearance) for i, box in enumerate(board))
        )
        return goal + terminal.render_ansi(board) + items

    def truth(self, state: State) -> bool:
        """The truth value of the statement on the current board.

        Raises:
            ProgramError: the program has no value there.
        """
        return row_program(state)(state.board)

    def satisfied(self, state: State) -> bool:
        """Whether the statement has the wanted truth value, so that `stop` earns 1."""
        return ending(row_program(state), state.row["target"], state.board) == RIGHT

    def goal(self, row: Row, observation: Observation) -> bool:
        """Whether the statement has the wanted truth value on the board of an observation."""
        return ending(compile_program(row["program"]), row["target"], observation.fields["board"]) == RIGHT

    def finishing(self, state: State) -> str | None:
        """`stop` where the statement has the wanted truth value."""
        return self.actions.text(0) if self.satisfied(state) else None

    def info(self, state: State, ended: str | None) -> Mapping[str, Any]:
        """After the end: `truth` where the agent stopped, `accuracy` (0 or 1), `invalid_reason`.

        After the ending "no value" also `program_error`, the message.
        """
        if ended is None:
            return EMPTY
        right = bool(self.is_success(ended))
        info = {"accuracy": float(right), "invalid_reason": state.invalid or None}
        if right or ended in (WRONG, LATE[WRONG]):
            info["truth"] = state.row["target"] == right
        if ended == NO_VALUE:
            try:
                row_program(state)(state.board)
            except ProgramError as error:
                info["program_error"] = str(error)
        return info

    def _observation(self, state: State, text: str) -> Observation:
        row, board = state.row, state.board
        fields = Record(sentence=row["sentence"], target=row["target"], board=board, turn=state.turn)
        return Observation(text, fields, self.actions.legal(board))


def row_program(state: State) -> Program:
    """The program of the statement of an episode."""
    return compile_program(state.row["program"])


def ending(program: Program, target: bool, board: Board) -> str:
    """How `stop` ends an episode on a board: "right", "wrong", or "no value" where the program has none."""
    try:
        return RIGHT if program(board) == target else WRONG
    except ProgramError:
        return NO_VALUE
