"""Loops as closures: calls whose second argument is a function, computed for each element of the first."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from loquent.tasks.blocks.programs.calls import Scope, Translate, apply, function_of
from loquent.tasks.blocks.programs.functions import FUNCTIONS, LOOPS
from loquent.tasks.blocks.programs.grammar import size
from loquent.tasks.blocks.programs.meter import FIRST_FREE, Code, Environment, pay, weigh
from loquent.tasks.blocks.programs.refusal import refusal
from loquent.tasks.blocks.programs.sets import all_same

Loop = Callable[
    [Code, Code, int, int], Code
]  # of the elements, the body, the parameter's place, the body's nodes
RESERVED = {*FUNCTIONS, *LOOPS, "Color", "Shape", "Size", "Side", "all_boxes", "all_items"}


def loop(name: str, node: ast.Call, scope: Scope, code: Translate) -> Code:
    """The closure of a call of `filter_obj`, `All`, `Any`, `all_same_attribute` or `min`.

    Raises:
        ProgramError: the arguments are not a value and a function of one argument; `min` alone may have no
            function, and takes it as `key`.
    """
    functions = [each.value for each in node.keywords] if name == "min" else node.args[1:]
    keywords = [each.arg for each in node.keywords]
    if len(node.args) + len(node.keywords) != 1 + len(functions) or len(functions) > 1:
        raise refusal(node, f"{name} takes a value and a function")
    if keywords not in ([], ["key"]) or (not functions and name != "min"):
        raise refusal(node, f"{name} takes a value and a function")
    source, place = code(node.args[0], scope), FIRST_FREE + len(scope)
    if not functions:
        return _min(source, lambda environment: environment[place], place, 1)
    return LOOP_OF[name](source, _body(functions[0], scope, code), place, 1 + size(functions[0]))


def _body(node: ast.expr, scope: Scope, code: Translate) -> Code:
    """The closure of a function's body; the parameter's place is the next free one."""
    place = FIRST_FREE + len(scope)
    if isinstance(node, ast.Name):
        function = function_of(node)
        if not function.least <= 1 <= function.most:
            raise refusal(node, f"{node.id} takes {function.least} arguments, and a loop has 1 for it")
        return apply(function, [lambda environment: environment[place]])
    if not isinstance(node, ast.Lambda):
        raise refusal(node, "a function is needed: a lambda or the name of a function")
    names = node.args
    if len(names.args) != 1 or names.posonlyargs or names.kwonlyargs or names.vararg or names.kwarg:
        raise refusal(node, "a lambda has exactly one parameter")
    if names.defaults:
        raise refusal(node, "the parameter of a lambda has no default value")
    name = names.args[0].arg
    if name.startswith("_") or name in RESERVED:
        raise refusal(node, f"a parameter cannot have the name {name!r:.60}")
    return code(node.body, (*scope, name))


def _filter(source: Code, body: Code, place: int, nodes: int) -> Code:
    """The elements for which the body is true, as a list."""

    def run(environment: Environment) -> list[Any]:
        values = source(environment)
        pay(environment, nodes * len(values))
        kept = []
        for environment[place] in values:
            if body(environment):
                kept.append(environment[place])
        return kept

    return run


def _all(source: Code, body: Code, place: int, nodes: int) -> Code:
    """Whether there are elements, and the body is True for each: not only a true value."""

    def run(environment: Environment) -> bool:
        values = source(environment)
        pay(environment, nodes * len(values))
        return len(values) > 0 and all(body(environment) is True for environment[place] in values)

    return run


def _any(source: Code, body: Code, place: int, nodes: int) -> Code:
    """Whether the body is True for an element: not only a true value."""

    def run(environment: Environment) -> bool:
        values = source(environment)
        pay(environment, nodes * len(values))
        return any(body(environment) is True for environment[place] in values)

    return run


def _all_same_attribute(source: Code, body: Code, place: int, nodes: int) -> Code:
    """Whether the body has one value for all elements."""

    def run(environment: Environment) -> bool:
        values = source(environment)
        pay(environment, nodes * len(values))
        found = []
        for environment[place] in values:
            found.append(body(environment))
        weigh(environment, found)
        return all_same(found)

    return run


def _min(source: Code, body: Code, place: int, nodes: int) -> Code:
    """The first element for which the body is the smallest number."""

    def run(environment: Environment) -> Any:
        values = source(environment)
        pay(environment, nodes * len(values))
        best: tuple[int, Any] | None = None
        for environment[place] in values:
            number = body(environment)
            if not isinstance(number, int):
                raise TypeError(f"min compares numbers, got {type(number).__name__}")
            if best is None or number < best[0]:
                best = number, environment[place]
        if best is None:
            raise ValueError("min needs at least 1 element")
        return best[1]

    return run


LOOP_OF: dict[str, Loop] = {
    "filter_obj": _filter,
    "All": _all,
    "Any": _any,
    "all_same_attribute": _all_same_attribute,
    "min": _min,
}
