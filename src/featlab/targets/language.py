"""The target language: text to a literal expression tree, by a whitelist. Nothing that is typed is ever evaluated.

    h1 .. h32           the directions of the target (standard normal fields)
    xi1 .. xi32         independent standard normal noise inside the link, e.g. sign(h1 + 0.5*xi1)
    1, 0.5, 2e-3, pi, e numbers
    + - * / **          arithmetic; powers are written ** (a typed ^ is answered with that advice)
    He1 .. He12, He(k, x)   probabilists' Hermite polynomials, k an integer up to 40
    sign step abs relu leaky_relu tanh erf sigmoid softplus swish gelu exp log sqrt sin cos square min max clip

Three gates, each cheap: characters and brackets (a tokeniser), Python's own parser on what is left, then a walk over
its syntax tree that knows five node types. Each refusal is an `InvalidTarget` with a column, a reason and a suggestion.
"""

from __future__ import annotations

import ast
import re
from difflib import get_close_matches

import sympy

from featlab.errors import InvalidTarget
from featlab.gaussian.functions import ALIASES
from featlab.targets.canonical import HALF, MAX_EXPONENT, canonical, power
from featlab.targets.functions import MAX_HERMITE_ORDER, apply_inert, function, typed_names

_MAX_LENGTH = 2000
_MAX_DEPTH = 40
_MAX_TOKENS = 900
_MAX_DIGITS = 40
_MAGNITUDE = 1e30

_TOKEN = re.compile(
    r"(?P<space>[ \t]+)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<operator>\*\*|[-+*/])|(?P<open>\()|(?P<close>\))|(?P<comma>,)",
    re.ASCII,
)
_FOREIGN = {
    "^": ("'^' is not a power here", "write ** for powers, as in h1**2"),
    ".": ("attribute access is not part of the language", "use numbers, h1..h32, + - * / ** and the functions"),
    **dict.fromkeys("'\"", ("strings are not part of the language", None)),
    **dict.fromkeys("[]", ("square brackets are not part of the language", "use round brackets")),
    **dict.fromkeys("{}", ("curly brackets are not part of the language", "use round brackets")),
    "=": ("a target is an expression, not an equation", "type the right-hand side only"),
    **dict.fromkeys(
        "<>", ("comparisons are not part of the language", "write step(a - b) for the indicator of a >= b")
    ),
    "|": ("'|' is not part of the language", "write abs(...) for absolute values"),
    **dict.fromkeys("\n\r", ("a target is one line", None)),
    "#": ("comments are not part of the language", None),
    "\0": ("the text holds a NUL character", None),
}
_CONSTANTS = {"pi": sympy.pi, "e": sympy.E}
_HERMITE = re.compile(r"He(\d{1,4})")
_MAX_VARIABLES = 32
_MAX_SHORT_HERMITE = 12
_VARIABLE = re.compile(r"(h|xi)([1-9]|[12][0-9]|3[0-2])")
_LOOKALIKE = re.compile(r"(?:x|z|h|w|u|v|t|H|X|Z)_?(\d*)")
_OTHER_NAMES = {
    "heaviside": "step", "theta": "step", "ln": "log", "log2": "log", "log10": "log", "erfc": "erf", "sgn": "sign",
    "absolute": "abs", "fabs": "abs", "logistic": "sigmoid", "expit": "sigmoid", "maximum": "max", "minimum": "min",
    "hermite": "He", "H": "He", "pos": "relu", "indicator": "step",
}  # fmt: skip


def parse(text: str) -> sympy.Expr:
    """The literal tree of a text, or `InvalidTarget` with the column of the fault.

    The tree holds unevaluated SymPy nodes and inert functions: exactly what was typed, h1 - h1 included.
    """
    if len(text) > 5 * _MAX_LENGTH or len(text) - text.count(" ") > _MAX_LENGTH:
        raise InvalidTarget(
            f"the text has {len(text)} characters, the limit is {_MAX_LENGTH}",
            text=text[:100],
            column=_MAX_LENGTH + 1,
            suggestion="give a Python function with its rank instead",
        )
    return _Parser(text).parse()


class _Parser:
    """Columns are 1-based; the text is parsed inside a pair of brackets, so that ast's 0-based offsets are columns."""

    def __init__(self, text: str) -> None:
        self.text = text

    def parse(self) -> sympy.Expr:
        self._check_tokens()
        try:
            body = ast.parse(f"({self.text})", mode="eval").body
        except SyntaxError as error:
            raise self._refused(error.offset and error.offset - 1, "this is not an expression") from None
        except (RecursionError, MemoryError):
            raise self._refused(None, "the expression is nested too deeply") from None
        return self._convert(body, depth=0)

    def _refused(self, column: int | None, reason: str, suggestion: str | None = None) -> InvalidTarget:
        if column is not None:
            column = min(max(column, 1), len(self.text) + 1)
        return InvalidTarget(reason, text=self.text, column=column, suggestion=suggestion)

    def _check_tokens(self) -> None:
        """Characters, brackets and neighbours; what passes holds only numbers, names, operators, brackets, commas."""
        opened: list[int] = []
        position, count, before = 0, 0, "start"
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            if match is None:
                raise self._foreign(position)
            kind = str(match.lastgroup)
            column = position + 1
            position = match.end()
            if kind == "space":
                continue
            count += 1
            if count > _MAX_TOKENS:
                raise self._refused(column, f"the expression has more than {_MAX_TOKENS} symbols")
            self._check_neighbours(before, kind, match.group(), column)
            before = kind
            if kind == "open":
                opened.append(column)
                if len(opened) > _MAX_DEPTH:
                    raise self._refused(column, f"brackets are nested more than {_MAX_DEPTH} deep")
            elif kind == "close":
                if not opened:
                    raise self._refused(column, "this bracket closes nothing", "remove it or open one before")
                opened.pop()
            elif kind == "comma" and not opened:
                raise self._refused(column, "a comma outside a function call", "a target is one expression")
        if opened:
            raise self._refused(opened[-1], "this bracket is never closed", "add a ')'")
        if before == "start":
            raise self._refused(1, "the text is empty", 'type a target such as "He3(h1)"')

    def _foreign(self, position: int) -> InvalidTarget:
        character = self.text[position]
        if character in _FOREIGN:
            reason, suggestion = _FOREIGN[character]
        elif ord(character) > 127:
            reason, suggestion = f"{character!r} is not an ASCII character", "type plain letters, digits and + - * /"
        else:
            reason, suggestion = f"{character!r} is not part of the language", None
        return self._refused(position + 1, reason, suggestion)

    def _check_neighbours(self, before: str, kind: str, token: str, column: int) -> None:
        operand_before = before in ("number", "name", "close")
        if operand_before and (kind in ("number", "name") or (kind == "open" and before != "name")):
            if before == "close" and kind == "open":
                raise self._refused(column, "the result of a call or bracket cannot be called", "write * to multiply")
            if before == "number" and token in ("j", "J"):
                raise self._refused(column, "complex numbers are not part of the language")
            raise self._refused(column, f"an operator is missing before {token!r}", "write * for products, as in 2*h1")

    def _convert(self, node: ast.expr, depth: int) -> sympy.Expr:
        if depth > _MAX_DEPTH:
            raise self._refused(node.col_offset, f"the expression is nested more than {_MAX_DEPTH} deep")
        if isinstance(node, ast.BinOp):
            return self._operation(node, depth)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            operand = self._convert(node.operand, depth + 1)
            return operand if isinstance(node.op, ast.UAdd) else _negative(operand)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return self._number(node)
        raise self._refused(node.col_offset, f"{type(node).__name__} is not part of the language")

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
        if _VARIABLE.fullmatch(name):
            return sympy.Symbol(name, real=True)
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in typed_names() or _HERMITE.fullmatch(name):
            raise self._refused(node.col_offset, f"{name} is a function", f"write {name}(h1)")
        raise self._refused(node.col_offset, f"unknown name {_shortened(name)!r}", _name_advice(name))

    def _call(self, node: ast.Call, depth: int) -> sympy.Expr:
        if not isinstance(node.func, ast.Name):
            raise self._refused(node.col_offset, "the result of a call or bracket cannot be called")
        name, column = ALIASES.get(node.func.id, node.func.id), node.col_offset
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self._refused(column, f"{_shortened(name)} takes plain arguments only")
        short = _HERMITE.fullmatch(name)
        if not (short or name in typed_names()):
            raise self._refused(column, f"unknown function {_shortened(name)!r}", _function_advice(name))
        if name == "He" and len(node.args) == 2:
            return self._hermite(node.args[0], node.args[1], depth)
        arguments = [self._convert(argument, depth + 1) for argument in node.args]
        if short:
            self._check_count(name, len(arguments), (1, 1), column)
            order = int(short.group(1))
            if not 1 <= order <= _MAX_SHORT_HERMITE:
                advice = f"for 0 <= k <= {MAX_HERMITE_ORDER} write He(k, x)"
                raise self._refused(column, f"{name} is not one of He1..He{_MAX_SHORT_HERMITE}", advice)
            return apply_inert("He", sympy.Integer(order), arguments[0])
        if name == "sqrt":
            self._check_count(name, len(arguments), (1, 1), column)
            return power(arguments[0], HALF)
        row = function(name)
        assert row is not None
        self._check_count(name, len(arguments), row.arity, column)
        return apply_inert(name, *arguments)

    def _hermite(self, order: ast.expr, argument: ast.expr, depth: int) -> sympy.Expr:
        if not (isinstance(order, ast.Constant) and type(order.value) is int and order.value <= MAX_HERMITE_ORDER):
            reason = f"the order of He(k, x) is an integer from 0 to {MAX_HERMITE_ORDER}"
            raise self._refused(order.col_offset, reason, "write the number itself, as in He(14, h1)")
        return apply_inert("He", sympy.Integer(order.value), self._convert(argument, depth + 1))

    def _check_count(self, name: str, count: int, arity: tuple[int, int], column: int) -> None:
        low, high = arity
        if not low <= count <= high:
            wanted = f"{low}" if low == high else f"{low} to {high}"
            plural = "argument" if high == 1 else "arguments"
            raise self._refused(column, f"{name} takes {wanted} {plural}, not {count}")


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


def _shortened(name: str) -> str:
    """A name cut to what fits in a message."""
    return name if len(name) <= 24 else name[:21] + "..."


def _name_advice(name: str) -> str:
    """What to say to someone who typed an unknown name."""
    if _LOOKALIKE.fullmatch(name) or re.fullmatch(r"(h|xi)\d+", name):
        return f"directions are called h1..h{_MAX_VARIABLES}, noise inside the link xi1..xi{_MAX_VARIABLES}"
    close = get_close_matches(name[:40], ["pi", "e", *typed_names()], n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known names are h1..h{_MAX_VARIABLES}, xi1..xi{_MAX_VARIABLES}, pi, e and functions such as relu(h1)"


def _function_advice(name: str) -> str:
    """What to say to someone who called an unknown function."""
    if _VARIABLE.fullmatch(name):
        return f"{name} is a direction, not a function; write * to multiply"
    if re.fullmatch(r"[hH]e?_?\d+", name):
        return f"Hermite polynomials are called He1..He{_MAX_SHORT_HERMITE} and He(k, x)"
    known = {known.lower(): known for known in typed_names()} | _OTHER_NAMES
    close = get_close_matches(name[:40].lower(), list(known), n=1, cutoff=0.6)
    if close:
        return f"did you mean {known[close[0]]!r}?"
    return "known functions: He1..He12, " + ", ".join(typed_names())
