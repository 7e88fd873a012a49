"""The target language: text to a literal expression tree, by a whitelist. Nothing that is typed is ever evaluated.

    h1 .. h32               the directions of the target (standard normal fields)
    xi1 .. xi32             independent standard normal noise inside the link, e.g. sign(h1 + 0.5*xi1)
    1, 0.5, 2e-3, pi, e     numbers
    + - * / **              arithmetic; powers are written ** (a typed ^ is answered with that advice)
    < <= > >= and or not    conditions, also chained: 0 < h1 < 1; in arithmetic a condition counts 1 or 0
    where(c, a, b)          a where the condition c holds, else b; what b does there does not matter
    sum(relu(h[i]) for i in 1..10), prod(..), min(..), max(..)
                            over whole numbers from 1 to 10, both included; several `for`, and `if i < j`, may follow
    He1 .. He12, He(k, x)   probabilists' Hermite polynomials, k an integer up to 40
    sign step abs relu leaky_relu tanh erf sigmoid softplus swish gelu exp log sqrt sin cos square arctan
    arcsinh sinh cosh floor round mod min max clip, and NumPy's names for these and a few more (see `definitions`)

Three gates, each cheap: characters and brackets (`tokens`), Python's own parser on what is left, then a walk over
its syntax tree that knows ten node types. Each refusal is an `InvalidTarget` with a column, a reason and a suggestion.
"""

from __future__ import annotations

import ast
import re

import sympy

from featlab.errors import InvalidTarget
from featlab.targets.advice import (
    MAX_SHORT_HERMITE,
    OVER_AN_INDEX,
    function_advice,
    known_functions,
    name_advice,
    shortened,
)
from featlab.targets.canonical import HALF, MAX_EXPONENT, canonical, power
from featlab.targets.conditions import compared, conjunction, disjunction, negation
from featlab.targets.definitions import DEFINITIONS, SPELLINGS
from featlab.targets.evaluate import values
from featlab.targets.functions import MAX_HERMITE_ORDER, MAX_VARIABLES, VARIABLE, apply_inert, function
from featlab.targets.indices import assignments, whole_number
from featlab.targets.tokens import MAX_DEPTH, refusal, tokens_of, with_ranges

_MAX_DIGITS = 40
_MAX_PARTS = 6000  # nodes that are converted, sums written out
_MAGNITUDE = 1e30

_CONSTANTS = {"pi": sympy.pi, "e": sympy.E}
_HERMITE = re.compile(r"He(\d{1,4})")
_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def parse(text: str) -> sympy.Expr:
    """The literal tree of a text, or `InvalidTarget` with the column of the fault.

    The tree holds unevaluated SymPy nodes and inert functions: exactly what was typed, h1 - h1 included.
    """
    return _Parser(text).parse()


class _Parser:
    """Columns are 1-based; the text is parsed inside a pair of brackets, so that ast's 0-based offsets are columns."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.indices: dict[str, int] = {}
        self.parts = 0

    def parse(self) -> sympy.Expr:
        readable = with_ranges(self.text, tokens_of(self.text))
        try:
            body = ast.parse(f"({readable})", mode="eval").body
        except SyntaxError as error:
            raise self._refused(error.offset and error.offset - 1, "this is not an expression") from None
        except (RecursionError, MemoryError):
            raise self._refused(None, "the expression is nested too deeply") from None
        return self._convert(body, depth=0)

    def _refused(self, column: int | None, reason: str, suggestion: str | None = None) -> InvalidTarget:
        return refusal(self.text, column, reason, suggestion)

    def _convert(self, node: ast.expr, depth: int) -> sympy.Expr:
        self.parts += 1
        if depth > MAX_DEPTH:
            raise self._refused(node.col_offset, f"the expression is nested more than {MAX_DEPTH} deep")
        if self.parts > _MAX_PARTS:
            raise self._refused(node.col_offset, f"written out, the expression has more than {_MAX_PARTS} parts")
        if isinstance(node, ast.BinOp):
            return self._operation(node, depth)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            operand = self._convert(node.operand, depth + 1)
            return operand if isinstance(node.op, ast.UAdd) else _negative(operand)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.Compare | ast.BoolOp) or _is_not(node):
            return self._condition(node, depth)
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Subscript):
            return self._indexed(node)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return self._number(node)
        raise self._refused(node.col_offset, f"{type(node).__name__} is not part of the language")

    def _condition(self, node: ast.expr, depth: int) -> sympy.Expr:
        """Comparisons, chained or joined, as a tree that is 0 or 1."""
        self.parts += 1
        if depth > MAX_DEPTH:
            raise self._refused(node.col_offset, f"the expression is nested more than {MAX_DEPTH} deep")
        if isinstance(node, ast.BoolOp):
            parts = [self._condition(value, depth + 1) for value in node.values]
            return conjunction(parts) if isinstance(node.op, ast.And) else disjunction(parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return negation(self._condition(node.operand, depth + 1))
        if not isinstance(node, ast.Compare):
            advice = "compare it with something, as in h1 > 0"
            raise self._refused(node.col_offset, "a condition was expected here: a comparison", advice)
        operands = [self._convert(operand, depth + 1) for operand in (node.left, *node.comparators)]
        signs = [_SIGNS.get(type(sign)) for sign in node.ops]
        if None in signs:
            at = node.comparators[signs.index(None)]
            reason = "an equality of functions holds with probability 0 or is a matter of rounding"
            raise self._refused(at.col_offset, reason, "compare with a margin, as in abs(a - b) < 0.5")
        pairs = zip(operands, signs, operands[1:], strict=False)
        return conjunction([compared(left, str(sign), right) for left, sign, right in pairs])

    def _operation(self, node: ast.BinOp, depth: int) -> sympy.Expr:
        """Chains of + - and of * / are flattened, so that a long sum is not a deep tree."""
        if isinstance(node.op, ast.Pow):
            base, exponent = self._convert(node.left, depth + 1), self._convert(node.right, depth + 1)
            return self._checked_power(base, exponent, node)
        for joined, inverted, invert, combine in (
            (ast.Add, ast.Sub, _negative, sympy.Add),
            (ast.Mult, ast.Div, _inverse, sympy.Mul),
        ):
            if isinstance(node.op, joined | inverted):
                terms: list[sympy.Expr] = []
                left: ast.expr = node
                while isinstance(left, ast.BinOp) and isinstance(left.op, joined | inverted):
                    right = self._convert(left.right, depth + 1)
                    if isinstance(left.op, ast.Div) and self._constant(right, left.right) == 0:
                        raise self._refused(left.right.col_offset, "division by zero")
                    terms.append(right if isinstance(left.op, joined) else invert(right))
                    left = left.left
                terms.append(self._convert(left, depth + 1))
                return combine(*reversed(terms), evaluate=False)
        raise self._refused(node.col_offset, f"the operator {type(node.op).__name__} is not part of the language")

    def _checked_power(self, base: sympy.Expr, exponent: sympy.Expr, node: ast.BinOp) -> sympy.Expr:
        number = self._constant(exponent, node.right)
        if isinstance(number, sympy.Integer) and abs(number) > MAX_EXPONENT and base.free_symbols:
            reason = f"an exponent beyond the limit of {MAX_EXPONENT}"
            raise self._refused(node.right.col_offset, reason, "lower the power, or write it with exp(...)")
        power_tree = _raised(base, exponent)
        self._constant(power_tree, node)
        return power_tree

    def _constant(self, tree: sympy.Expr, node: ast.expr) -> sympy.Expr | None:
        """The canonical form of a part without variables, refused at its column if it is too large; else None."""
        if tree.free_symbols:
            return None
        try:
            return canonical(tree)
        except InvalidTarget as fault:
            raise self._refused(node.col_offset, fault.reason, fault.suggestion) from None

    def _number(self, node: ast.Constant) -> sympy.Expr:
        digits = self.text[node.col_offset - 1 : (node.end_col_offset or 0) - 1]
        value = abs(float(digits))
        nonzero = any(character in "123456789" for character in re.split("[eE]", digits)[0])
        if len(digits) > _MAX_DIGITS or (nonzero and not 1 / _MAGNITUDE <= value <= _MAGNITUDE):
            limits = f"at most {_MAX_DIGITS} digits and between {1 / _MAGNITUDE:.0e} and {_MAGNITUDE:.0e}"
            raise self._refused(node.col_offset, f"the number {digits[:20]} is out of range", f"numbers have {limits}")
        return sympy.Rational(digits) if nonzero else sympy.Integer(0)

    def _name(self, node: ast.Name) -> sympy.Expr:
        name = node.id
        if name in self.indices:
            return sympy.Integer(self.indices[name])
        match = VARIABLE.fullmatch(name)
        if match and int(match[2]) <= MAX_VARIABLES:
            return sympy.Symbol(name, real=True)
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in known_functions() or _HERMITE.fullmatch(name):
            raise self._refused(node.col_offset, f"{name} is a function", f"write {name}(h1)")
        raise self._refused(node.col_offset, f"unknown name {shortened(name)!r}", name_advice(name))

    def _indexed(self, node: ast.Subscript) -> sympy.Expr:
        """h[i] and xi[i]; that nothing else stands before a square bracket is known from the first gate."""
        assert isinstance(node.value, ast.Name)
        number = whole_number(node.slice, self.indices)
        if number is None:
            reason = "the number of a direction is made of whole numbers and indices, with + - *"
            raise self._refused(node.slice.col_offset, reason, "write h[i] or h[i + 1]")
        if not 1 <= number <= MAX_VARIABLES:
            reason = f"there is no direction {node.value.id}[{number}]"
            raise self._refused(node.slice.col_offset, reason, f"directions are counted from 1 to {MAX_VARIABLES}")
        return sympy.Symbol(f"{node.value.id}{number}", real=True)

    def _call(self, node: ast.Call, depth: int) -> sympy.Expr:
        if not isinstance(node.func, ast.Name):
            raise self._refused(node.col_offset, "the result of a call or bracket cannot be called")
        name, column = SPELLINGS.get(node.func.id, node.func.id), node.col_offset
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self._refused(column, f"{shortened(name)} takes plain arguments only")
        short = _HERMITE.fullmatch(name)
        if not (short or name in known_functions()):
            raise self._refused(column, f"unknown function {shortened(name)!r}", function_advice(name))
        if name == "He" and len(node.args) == 2:
            return self._hermite(node.args[0], node.args[1], depth)
        if name == "where" and len(node.args) == 3:
            condition = self._condition(node.args[0], depth + 1)
            return apply_inert("where", condition, *[self._convert(part, depth + 1) for part in node.args[1:]])
        if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return self._over_an_index(name, node.args[0], depth)
        if name in OVER_AN_INDEX:
            advice = f"write {name}(h[i]**2 for i in 1..3), or the terms with {OVER_AN_INDEX[name]} between them"
            raise self._refused(column, f"{name} runs over an index", advice)
        return self._function(node, name, [self._convert(argument, depth + 1) for argument in node.args])

    def _function(self, node: ast.Call, name: str, arguments: list[sympy.Expr]) -> sympy.Expr:
        short, column = _HERMITE.fullmatch(name), node.col_offset
        if short:
            self._check_count(name, len(arguments), (1, 1), column)
            order = int(short.group(1))
            if not 1 <= order <= MAX_SHORT_HERMITE:
                advice = f"for 0 <= k <= {MAX_HERMITE_ORDER} write He(k, x)"
                raise self._refused(column, f"{name} is not one of He1..He{MAX_SHORT_HERMITE}", advice)
            return apply_inert("He", sympy.Integer(order), arguments[0])
        if name == "sqrt":
            self._check_count(name, len(arguments), (1, 1), column)
            return power(arguments[0], HALF)
        if name in DEFINITIONS:
            return self._defined(node, name, arguments)
        row = function(name)
        assert row is not None
        self._check_count(name, len(arguments), row.arity, column)
        if name == "mod":
            self._check_number(name, 1, node.args[1], arguments[1], positive=True)
        return apply_inert(name, *arguments)

    def _defined(self, node: ast.Call, name: str, arguments: list[sympy.Expr]) -> sympy.Expr:
        definition = DEFINITIONS[name]
        self._check_count(name, len(arguments), definition.arity, node.col_offset)
        place = definition.number
        if place is not None and place < len(arguments):
            self._check_number(name, place, node.args[place], arguments[place], positive=False)
        return definition.formula(*arguments)

    def _check_number(self, name: str, place: int, node: ast.expr, tree: sympy.Expr, positive: bool) -> None:
        constant = self._constant(tree, node)
        if constant is None or (positive and not values(constant, {}) > 0):
            reason = f"argument {place + 1} of {name} has to be a {'positive ' if positive else ''}number"
            raise self._refused(node.col_offset, reason, "write the number itself")

    def _over_an_index(self, name: str, node: ast.GeneratorExp, depth: int) -> sympy.Expr:
        """sum(term for i in 1..3) and its like, written out."""
        if name not in (*OVER_AN_INDEX, "min", "max"):
            reason = f"{name} does not run over an index"
            raise self._refused(node.col_offset, reason, "sum, prod, min and max do")
        outer = self.indices
        terms: list[sympy.Expr] = []
        try:
            for indices in assignments(self.text, node, outer):
                self.indices = indices
                terms.append(self._convert(node.elt, depth + 1))
        finally:
            self.indices = outer
        if not terms:
            raise self._refused(node.col_offset, f"this {name} has no terms", "look at its range and its `if`")
        if len(terms) == 1:
            return terms[0]
        if name in ("min", "max"):
            self._check_count(name, len(terms), (2, MAX_VARIABLES), node.col_offset)
            return apply_inert(name, *terms)
        return (sympy.Add if name == "sum" else sympy.Mul)(*terms, evaluate=False)

    def _hermite(self, order: ast.expr, argument: ast.expr, depth: int) -> sympy.Expr:
        number = whole_number(order, self.indices)
        if number is None or not 0 <= number <= MAX_HERMITE_ORDER:
            reason = f"the order of He(k, x) is an integer from 0 to {MAX_HERMITE_ORDER}"
            raise self._refused(order.col_offset, reason, "write the number itself, as in He(14, h1)")
        return apply_inert("He", sympy.Integer(number), self._convert(argument, depth + 1))

    def _check_count(self, name: str, count: int, arity: tuple[int, int], column: int) -> None:
        low, high = arity
        if not low <= count <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            plural = "argument" if high == 1 else "arguments"
            raise self._refused(column, f"{name} takes {wanted} {plural}, not {count}")


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _raised(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    """base**n for a typed integer n (or -n); an inert power for every other exponent."""
    if isinstance(exponent, sympy.Mul) and all(isinstance(factor, sympy.Integer) for factor in exponent.args):
        exponent = sympy.Mul(*exponent.args) if len(exponent.args) == 2 and exponent.args[0] == -1 else exponent
    if isinstance(exponent, sympy.Integer):
        return sympy.Pow(base, exponent, evaluate=False)
    return power(base, exponent)


def _negative(expression: sympy.Expr) -> sympy.Expr:
    return sympy.Mul(sympy.Integer(-1), expression, evaluate=False)


def _inverse(expression: sympy.Expr) -> sympy.Expr:
    return sympy.Pow(expression, sympy.Integer(-1), evaluate=False)
