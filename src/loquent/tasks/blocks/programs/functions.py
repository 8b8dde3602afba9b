"""The functions of the language by name: their arguments and what a call costs."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any, NamedTuple

from loquent.tasks.blocks.programs import logic, predicates, relations, sets
from loquent.tasks.blocks.programs.meter import Environment, pay, weigh

Cost = Callable[..., None]
MOST_TOGETHER = 3  # elements of a combination


class Function(NamedTuple):
    """A function of the language.

    Attributes:
        call: computes the value.
        least, most: the number of its arguments.
        cost: pays for a call before it is made, from the environment and the arguments; None is free.
        keyword: the argument that may be named, always the second.
        together: the place of the argument that must be an integer constant of at most `MOST_TOGETHER`.
    """

    call: Callable[..., Any]
    least: int
    most: int
    cost: Cost | None = None
    keyword: str = ""
    together: int | None = None


def _each(environment: Environment, *values: Any) -> None:
    """A visit to each object in the arguments."""
    for value in values:
        weigh(environment, value)


def _near(environment: Environment, value: Any) -> None:
    """For each thing, a visit to the things of its box."""
    pay(environment, 8 * weigh(environment, value))


def _pairs(environment: Environment, *values: Any) -> None:
    """A visit to each pair of objects of the arguments."""
    product = 1
    for value in values:
        product *= weigh(environment, value)
    pay(environment, product)


def _groups(environment: Environment, s: Any, k: int) -> None:
    """The elements of all groups of k."""
    pay(environment, (k + 1) * comb(len(s), k))


def _free(names: str, arguments: int, module: Any) -> dict[str, Function]:
    return {name: Function(getattr(module, name), arguments, arguments) for name in names.split()}


def _paid(names: str, arguments: int, cost: Cost, module: Any = sets) -> dict[str, Function]:
    return {name: Function(getattr(module, name), arguments, arguments, cost) for name in names.split()}


FUNCTIONS: dict[str, Function] = {
    **_free("is_yellow is_blue is_black is_circle is_square is_triangle", 1, predicates),
    **_free("is_big is_medium is_small is_top is_bottom is_second is_third", 1, predicates),
    **_free("is_closely_touching", 2, predicates),
    **_free("is_closely_touching_specific_corner", 3, predicates),
    **{
        name: Function(getattr(predicates, name), 1, 2, keyword="side")
        for name in (
            "is_touching_wall",
            "is_closely_touching_wall",
            "is_touching_corner",
            "is_closely_touching_corner",
        )
    },
    **_free("le ge lt gt equal_int AND OR", 2, logic),
    **_free("NOT check_np_bool_convert", 1, logic),
    **_paid("get_above get_below get_box_all_above get_box_all_below", 1, _near, relations),
    **_paid("get_touching get_closely_touching", 1, _near, relations),
    **_paid("get_box_inclusive get_box_exclusive", 1, _near, relations),
    **_paid("count exist unique all_same", 1, _each),
    **_paid("query_color query_size query_shape get_set_colors get_set_sizes get_set_shapes", 1, _each),
    **_paid("all_same_color all_same_size all_same_shape union_all", 1, _each),
    **_paid("union member_of", 2, _each),
    **_paid("filter_color filter_size filter_shape", 2, _pairs),
    **_paid("equal equal_color equal_size equal_shape contained equal_set intersect", 2, _pairs),
    "intersect_all": Function(sets.intersect_all, 1, 1, lambda work, s: _pairs(work, s, s)),
    "combinations": Function(sets.combinations, 2, 2, _groups, together=1),
    "select": Function(sets.select, 2, 2, lambda work, k, s: _groups(work, s, k), together=0),
    "set": Function(set, 0, 1, _each),
    "len": Function(len, 1, 1),
    "all": Function(all, 1, 1, _each),
}
LOOPS = ("filter_obj", "All", "Any", "all_same_attribute", "min")  # a function is their second argument
BROKEN = {  # functions of lilGym that raise on every call
    "is_close_to_wall": "it passes an unknown argument",
    "is_close_to_corner": "it passes an unknown argument",
    "get_img_all_above": "it reads an image that a box does not have",
    "get_img_all_below": "it reads an image that a box does not have",
    "get_img_exclusive": "it reads an image that a box does not have",
}
