"""Calls as closures: functions of the language, and methods of a box."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from loquent.tasks.blocks.programs.functions import BROKEN, FUNCTIONS, LOOPS, MOST_TOGETHER, Function
from loquent.tasks.blocks.programs.meter import Code, Environment
from loquent.tasks.blocks.programs.refusal import refusal, unknown
from loquent.tasks.blocks.programs.scene import Box

Scope = tuple[str, ...]  # the parameters around an expression, the innermost last
Translate = Callable[[ast.expr, Scope], Code]
METHODS = ("all_items_in_box", "is_tower")


def function_of(node: ast.Name) -> Function:
    """The function that a name means.

    Raises:
        ProgramError: no function has the name, or lilGym's is broken.
    """
    name = node.id
    if name in BROKEN:
        raise refusal(node, f"{name} is broken in lilGym ({BROKEN[name]}), so the language leaves it out")
    if name not in FUNCTIONS:
        raise unknown(node, "function", name, (*FUNCTIONS, *LOOPS))
    return FUNCTIONS[name]


def call(node: ast.Call, scope: Scope, code: Translate) -> Code:
    """The closure of a call of a function or a method.

    Raises:
        ProgramError: the function is unknown or broken, or its arguments are not what it takes.
    """
    if isinstance(node.func, ast.Attribute):
        return _method(node, node.func, scope, code)
    if not isinstance(node.func, ast.Name):
        raise refusal(node, "only functions of the language can be called, by their names")
    function = function_of(node.func)
    return apply(function, [code(each, scope) for each in _arguments(node.func.id, function, node)])


def apply(function: Function, arguments: list[Code]) -> Code:
    """The closure that computes the arguments, pays for the call and makes it."""
    compute, cost = function.call, function.cost
    if len(arguments) == 1:
        (only,) = arguments
        if cost is None:
            return lambda environment: compute(only(environment))

        def run_one(environment: Environment) -> Any:
            value = only(environment)
            cost(environment, value)
            return compute(value)

        return run_one
    if cost is None and len(arguments) == 2:
        first, second = arguments
        return lambda environment: compute(first(environment), second(environment))

    def run(environment: Environment) -> Any:
        values = [each(environment) for each in arguments]
        if cost is not None:
            cost(environment, *values)
        return compute(*values)

    return run


def box_of(value: Any) -> Box:
    """The value, which must be a box.

    Raises:
        TypeError: it is something else.
    """
    if type(value) is not Box:
        raise TypeError(f"a box is needed, got {type(value).__name__}")
    return value


def _arguments(name: str, function: Function, node: ast.Call) -> list[ast.expr]:
    arguments = list(node.args)
    for keyword in node.keywords:
        if not function.keyword or keyword.arg != function.keyword or len(arguments) != 1:
            raise refusal(node, f"{name} has no argument {keyword.arg!r:.60} here")
        arguments.append(keyword.value)
    if not function.least <= len(arguments) <= function.most:
        many = " or ".join(str(n) for n in sorted({function.least, function.most}))
        raise refusal(node, f"{name} takes {many} arguments, got {len(arguments)}")
    if function.together is not None:
        k = arguments[function.together]
        if not isinstance(k, ast.Constant) or type(k.value) is not int or k.value > MOST_TOGETHER:
            raise refusal(k, f"the size of the groups of {name} must be a number from 0 to {MOST_TOGETHER}")
    return arguments


def _method(node: ast.Call, function: ast.Attribute, scope: Scope, code: Translate) -> Code:
    if function.attr not in METHODS:
        raise unknown(node, "method", function.attr, METHODS)
    if node.args or node.keywords:
        raise refusal(node, f"the method {function.attr} takes no arguments")
    owner = code(function.value, scope)
    if function.attr == "is_tower":
        return lambda environment: box_of(owner(environment)).tower
    return lambda environment: box_of(owner(environment)).things
