"""A program: compiled once, then the truth value of its sentence on any board."""

from __future__ import annotations

from functools import lru_cache

from loquent.errors import ProgramBudgetError, ProgramError
from loquent.tasks.blocks.boards.board import Board
from loquent.tasks.blocks.programs.grammar import DEPTH, parse
from loquent.tasks.blocks.programs.meter import FIRST_FREE, WORK, Environment
from loquent.tasks.blocks.programs.scene import scene_of
from loquent.tasks.blocks.programs.translate import translate

KEPT_PROGRAMS = 8192
KEPT_TRUTHS = 16_384
FAILURES = (TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError, RecursionError)


class Program:
    """A program of the language, as closures.

    Attributes:
        text: the program as it was written.
        name: its name in error messages, such as the identifier of its statement.
    """

    def __init__(self, text: str, name: str = "") -> None:
        self.text, self.name = text, name
        try:
            self._compute = translate(parse(text))
        except ProgramError as error:
            raise type(error)(f"{self}: {error}") from None

    def __str__(self) -> str:
        return f"program {self.name or ascii(self.text)[:60]}"

    def __reduce__(self) -> tuple[object, ...]:
        return compile_program, (self.text, self.name)

    def __call__(self, board: Board) -> bool:
        """Whether the sentence is true on a board. The last `KEPT_TRUTHS` values of all programs are kept.

        Raises:
            ProgramBudgetError: the program needs more work than `WORK`, or the board has too many items.
            ProgramError: a function got values that it does not take, or the value is not a bool.
        """
        return _truth(self, board)

    def has(self, value: bool, board: Board) -> bool:
        """Whether this is the value on a board; False where the program has no value. Always computed."""
        try:
            return self.compute(board) == value
        except ProgramError:
            return False

    def compute(self, board: Board) -> bool:
        """The same, always computed."""
        try:
            scene = scene_of(board)
            environment: Environment = [
                WORK,
                scene.all_boxes,
                scene.all_items,
                *[None] * (DEPTH - FIRST_FREE),
            ]
            value = self._compute(environment)
        except ProgramBudgetError as error:
            raise ProgramBudgetError(f"{self}: {error}") from None
        except FAILURES as error:
            raise ProgramError(f"{self}: {error}") from error
        if type(value) is not bool:
            raise ProgramError(f"{self}: its value must be a bool, got {type(value).__name__}")
        return value


@lru_cache(KEPT_TRUTHS)
def _truth(program: Program, board: Board) -> bool:
    return program.compute(board)


def compile_program(text: str, name: str = "") -> Program:
    """The program of a text; the last `KEPT_PROGRAMS` programs are kept.

    Args:
        name: the program's name in error messages.

    Raises:
        ProgramBudgetError: the text is too long, has too many nodes, or is nested too deep.
        ProgramError: the text is not in the language; the message has the column.
    """
    if not isinstance(text, str):
        return Program(text, name)  # refuses it; a list cannot be looked up
    return _compiled(text, name)


_compiled = lru_cache(KEPT_PROGRAMS)(Program)
