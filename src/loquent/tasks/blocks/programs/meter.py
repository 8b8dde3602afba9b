"""The work of a program, paid from a budget that is in the environment of its closures.

A unit of work is a visit to an element, or a node of the expression that is computed for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loquent.errors import ProgramBudgetError
from loquent.tasks.blocks.programs.scene import Box

WORK = 2_000_000  # units that one evaluation may take
WORK_LEFT, BOXES, ITEMS, FIRST_FREE = range(4)  # places of an environment; then one for each nested parameter

Environment = list[Any]
Code = Callable[[Environment], Any]
NESTED = frozenset({list, tuple, set, Box})


def pay(environment: Environment, units: int) -> None:
    """Take units of work from the budget.

    Raises:
        ProgramBudgetError: nothing is left.
    """
    environment[WORK_LEFT] -= units
    if environment[WORK_LEFT] < 0:
        raise ProgramBudgetError(f"it needs more than {WORK:,} units of work; nest fewer loops")


def weigh(environment: Environment, value: Any) -> int:
    """The number of objects in a value, each counted as often as it is reached; they are paid for.

    Raises:
        ProgramBudgetError: the budget does not reach.
    """
    if type(value) not in NESTED:
        return 1
    weight = 1 + len(value)
    pay(environment, weight)
    if type(value) is not Box:
        for each in value:
            if type(each) in NESTED:
                weight += weigh(environment, each)
    return weight
