"""Derived parameters: arithmetic in the names of others, such as `alpha*dim` or `round(dim**1.5)`.

The text is parsed against a whitelist and walked; it is never executed.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from featlab.study.faults import InvalidStudy, did_you_mean

_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}
_SIGNS: dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "round": round,
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
    "min": min,
    "max": max,
}
_LONGEST_TEXT = 500
_LARGEST_POWER = 64


class Formula:
    """One derived parameter: its name, its text, and the names it is made from.

    Raises:
        InvalidStudy: if the text is not arithmetic in names, numbers and the functions above.
    """

    def __init__(self, name: str, text: object) -> None:
        if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
            raise InvalidStudy(f"derived {name!r}: got {text!r}, expected a formula as text, such as 'alpha*dim'")
        self.name, self.text = name, text
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
            raise InvalidStudy(f"derived {name!r}: got {text!r}, which is no formula: {fault}") from None
        found: set[str] = set()
        self._check(self._tree, found)
        self.names = frozenset(found)

    def at(self, point: Mapping[str, Any]) -> int | float:
        """Its value at a point that has all its names."""
        try:
            value = self._value(self._tree, point)
        except (ArithmeticError, ValueError, TypeError) as fault:
            given = ", ".join(f"{name} = {point[name]!r}" for name in sorted(self.names))
            raise InvalidStudy(f"derived {self.name!r}: {self.text!r} fails at {given}: {fault}") from None
        if not isinstance(value, int | float):
            raise InvalidStudy(f"derived {self.name!r}: {self.text!r} gives {value!r}, expected a real number")
        return value

    def _check(self, node: ast.expr, names: set[str]) -> None:
        """Refuse what is not on the whitelist; collect the names."""
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            self._check(node.left, names)
            self._check(node.right, names)
        elif isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
            self._check(node.operand, names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if node.func.id not in _FUNCTIONS:
                hint = did_you_mean(node.func.id, _FUNCTIONS) or f"; there are {', '.join(_FUNCTIONS)}"
                raise InvalidStudy(f"derived {self.name!r}: unknown function {node.func.id!r}{hint}")
            for argument in node.args:
                self._check(argument, names)
        elif not (isinstance(node, ast.Constant) and type(node.value) in (int, float)):
            raise InvalidStudy(
                f"derived {self.name!r}: got {self.text!r}, expected arithmetic (+ - * / // **) in the names of other "
                f"parameters, numbers, and {', '.join(_FUNCTIONS)}"
            )

    def _value(self, node: ast.expr, point: Mapping[str, Any]) -> Any:
        if isinstance(node, ast.Name):
            return _number(point[node.id])
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, point), self._value(node.right, point)
            if isinstance(node.op, ast.Pow) and abs(right) > _LARGEST_POWER:
                raise ValueError(f"a power above {_LARGEST_POWER}")
            return _OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp):
            return _SIGNS[type(node.op)](self._value(node.operand, point))
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            return _FUNCTIONS[node.func.id](*(self._value(argument, point) for argument in node.args))
        assert isinstance(node, ast.Constant)
        return node.value


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return value
