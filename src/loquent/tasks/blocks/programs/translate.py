"""Syntax trees as closures. A node that the language does not have is refused; no text is run as Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from loquent.tasks.blocks.programs import scene
from loquent.tasks.blocks.programs.calls import METHODS, Scope, box_of, call
from loquent.tasks.blocks.programs.functions import LOOPS
from loquent.tasks.blocks.programs.loops import loop
from loquent.tasks.blocks.programs.meter import BOXES, FIRST_FREE, ITEMS, Code, Environment, pay, weigh
from loquent.tasks.blocks.programs.refusal import refusal, unknown

MOST_NUMBER = 99
CONSTANTS: dict[str, type[scene.Constant]] = {
    "Color": scene.Color,
    "Shape": scene.Shape,
    "Size": scene.Size,
    "Side": scene.Side,
}
GLOBALS = {"all_boxes": BOXES, "all_items": ITEMS}
ORDERS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def translate(node: ast.expr, scope: Scope = ()) -> Code:
    """The closure of an expression, which computes its value from an environment.

    Args:
        scope: the parameters of the lambdas around the expression.

    Raises:
        ProgramError: the expression or a part of it is not in the language; the message has its column.
    """
    translator = _TRANSLATORS.get(type(node))
    if translator is None:
        raise refusal(node, f"the language has no {type(node).__name__}")
    return translator(node, scope)


def _constant(node: ast.Constant, scope: Scope) -> Code:
    value = node.value
    if type(value) is not int or value > MOST_NUMBER:
        raise refusal(node, f"a number must be a whole one from 0 to {MOST_NUMBER}, got {value!r:.60}")
    return lambda environment: value


def _name(node: ast.Name, scope: Scope) -> Code:
    if node.id in scope:
        place = FIRST_FREE + len(scope) - 1 - scope[::-1].index(node.id)
    elif node.id in GLOBALS:
        place = GLOBALS[node.id]
    else:
        raise unknown(node, "name", node.id, (*GLOBALS, *scope))
    return lambda environment: environment[place]


def _attribute(node: ast.Attribute, scope: Scope) -> Code:
    if isinstance(node.value, ast.Name) and node.value.id in CONSTANTS:
        members = CONSTANTS[node.value.id].__members__
        if node.attr not in members:
            raise unknown(node, node.value.id, node.attr, members)
        member = members[node.attr]
        return lambda environment: member
    owner = translate(node.value, scope)
    if node.attr == "box":
        return lambda environment: owner(environment).box
    if node.attr not in METHODS:
        raise unknown(node, "attribute", node.attr, ("box", *METHODS))
    method: Callable[[Any], Any] = operator.attrgetter(node.attr)  # not called: a value that is always true
    return lambda environment: method(box_of(owner(environment)))


def _call(node: ast.Call, scope: Scope) -> Code:
    if isinstance(node.func, ast.Name) and node.func.id in LOOPS:
        return loop(node.func.id, node, scope, translate)
    return call(node, scope, translate)


def _logic(node: ast.BoolOp, scope: Scope) -> Code:
    """`and` and `or` give an operand, as in Python; they leave out operands that decide nothing."""
    *most, last = (translate(each, scope) for each in node.values)
    decides = isinstance(node.op, ast.Or)

    def run(environment: Environment) -> Any:
        for each in most:
            value = each(environment)
            if bool(value) is decides:
                return value
        return last(environment)

    return run


def _not(node: ast.UnaryOp, scope: Scope) -> Code:
    if not isinstance(node.op, ast.Not):
        raise refusal(node, f"the language has no {type(node.op).__name__}")
    operand = translate(node.operand, scope)
    return lambda environment: not operand(environment)


def _compare(node: ast.Compare, scope: Scope) -> Code:
    first = translate(node.left, scope)
    steps = [
        (_comparison(node, op), translate(right, scope))
        for op, right in zip(node.ops, node.comparators, strict=True)
    ]
    if len(steps) == 1:
        ((holds, right),) = steps
        return lambda environment: holds(environment, first(environment), right(environment))

    def run(environment: Environment) -> bool:
        value = first(environment)
        for holds, right in steps:
            after = right(environment)
            if not holds(environment, value, after):
                return False
            value = after
        return True

    return run


def _comparison(node: ast.Compare, op: ast.cmpop) -> Callable[[Environment, Any, Any], bool]:
    if isinstance(op, ast.Eq):
        return _equal
    if isinstance(op, ast.NotEq):
        return lambda environment, a, b: not _equal(environment, a, b)
    if isinstance(op, ast.In):
        return _inside
    if isinstance(op, ast.NotIn):
        return lambda environment, a, b: not _inside(environment, a, b)
    if type(op) not in ORDERS:
        raise refusal(node, f"the language has no {type(op).__name__}")
    order = ORDERS[type(op)]

    def ordered(environment: Environment, a: Any, b: Any) -> bool:
        if not (isinstance(a, int) and isinstance(b, int)):
            raise TypeError(f"only numbers have an order, got {type(a).__name__} and {type(b).__name__}")
        return order(a, b)

    return ordered


def _equal(environment: Environment, a: Any, b: Any) -> bool:
    if type(a) is not int:
        weigh(environment, a)
        weigh(environment, b)
    return bool(a == b)


def _inside(environment: Environment, a: Any, b: Any) -> bool:
    weigh(environment, a)
    weigh(environment, b)
    return a in b


def _arithmetic(node: ast.BinOp, scope: Scope) -> Code:
    left, right = translate(node.left, scope), translate(node.right, scope)
    if not isinstance(node.op, ast.Add | ast.Mod):
        raise refusal(node, f"the language has no {type(node.op).__name__}")
    joins = isinstance(node.op, ast.Add)

    def run(environment: Environment) -> Any:
        a, b = left(environment), right(environment)
        if isinstance(a, int) and isinstance(b, int):
            return a + b if joins else a % b
        if joins and type(a) is list and type(b) is list:
            pay(environment, len(a) + len(b))
            return a + b
        raise TypeError(f"{'+' if joins else '%'} cannot take {type(a).__name__} and {type(b).__name__}")

    return run


def _element(node: ast.Subscript, scope: Scope) -> Code:
    """One element of a list, a tuple or a box, or a slice of it; the index is a number in the text."""
    source, index = translate(node.value, scope), node.slice
    place: Any = _number(index)
    if isinstance(index, ast.Slice):
        place = slice(_number(index.lower), _number(index.upper), _number(index.step))

    def run(environment: Environment) -> Any:
        value = source(environment)
        if not isinstance(value, list | tuple):
            raise TypeError(f"only lists and boxes have numbered elements, got {type(value).__name__}")
        pay(environment, len(value))
        return value[place]

    return run


def _number(node: ast.expr | None) -> int | None:
    if node is None or isinstance(node, ast.Slice):
        return None
    if not isinstance(node, ast.Constant) or type(node.value) is not int:
        raise refusal(node, "an index must be a number")
    return node.value


def _display(node: ast.Set | ast.List, scope: Scope) -> Code:
    elements = [translate(each, scope) for each in node.elts]
    if isinstance(node, ast.List):
        return lambda environment: [each(environment) for each in elements]

    def run(environment: Environment) -> set[Any]:
        values = [each(environment) for each in elements]
        weigh(environment, values)
        return set(values)

    return run


_TRANSLATORS: dict[type[ast.expr], Callable[[Any, Scope], Code]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.BoolOp: _logic,
    ast.UnaryOp: _not,
    ast.Compare: _compare,
    ast.BinOp: _arithmetic,
    ast.Subscript: _element,
    ast.Set: _display,
    ast.List: _display,
}
