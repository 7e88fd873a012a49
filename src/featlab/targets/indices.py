"""The indices of sums and products: which whole numbers they run over.

sum(h[i]*h[j] for i in 1..4 for j in 1..4 if i < j) runs over six pairs. Ranges are literal and hold both their ends;
conditions compare whole numbers; so the number of terms is known, and bounded, before anything is written out.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator, Mapping
from itertools import pairwise, product

from featlab.targets.tokens import refusal

MAX_TERMS = 256
_LETTERS = tuple("ijklmn")
_LARGEST = 10**6
_MAX_DEPTH = 20
_ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_COMPARISONS = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip


def whole_number(node: ast.expr, indices: Mapping[str, int], depth: int = 0) -> int | None:
    """The value of whole numbers and indices joined by + - *; None for anything else."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int and node.value <= _LARGEST else None
    if isinstance(node, ast.Name):
        return indices.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = whole_number(node.operand, indices, depth + 1)
        return None if operand is None else -operand
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = (whole_number(side, indices, depth + 1) for side in (node.left, node.right))
        if left is None or right is None:
            return None
        value = int(_ARITHMETIC[type(node.op)](left, right))
        return value if abs(value) <= _LARGEST else None
    return None


def assignments(text: str, node: ast.GeneratorExp, outer: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The values of the indices for each term of a sum, with those of the sums around it."""
    letters: list[str] = []
    ranges: list[range] = []
    count = 1
    for generator in node.generators:
        letter = generator.target
        if not isinstance(letter, ast.Name) or letter.id not in _LETTERS:
            raise refusal(text, letter.col_offset, "an index is one of the letters i j k l m n", "write for i in 1..3")
        if letter.id in (*letters, *outer):
            raise refusal(text, letter.col_offset, f"the index {letter.id} is taken", "use another letter")
        ranges.append(_range(text, generator.iter))
        letters.append(letter.id)
        count *= len(ranges[-1])
        if count > MAX_TERMS:
            reason = f"a sum or product over more than {MAX_TERMS} values of its indices"
            raise refusal(text, generator.iter.col_offset, reason, "shorten the range")
    for numbers in product(*ranges):
        indices = {**outer, **dict(zip(letters, numbers, strict=True))}
        if all(_holds(text, test, indices) for generator in node.generators for test in generator.ifs):
            yield indices


def _range(text: str, node: ast.expr) -> range:
    """The range a..b, which reads a//b here."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        first, last = (whole_number(end, {}) for end in (node.left, node.right))
        if first is not None and last is not None and first <= last:
            return range(first, last + 1)
    raise refusal(text, node.col_offset, "an index runs over a range of whole numbers", "write 1..3 for 1, 2, 3")


def _holds(text: str, node: ast.expr, indices: Mapping[str, int], depth: int = 0) -> bool:
    """Whether a comparison of whole numbers holds."""
    if depth > _MAX_DEPTH:
        raise refusal(text, node.col_offset, f"the condition is nested more than {_MAX_DEPTH} deep")
    if isinstance(node, ast.BoolOp):
        found = [_holds(text, value, indices, depth + 1) for value in node.values]
        return all(found) if isinstance(node.op, ast.And) else any(found)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _holds(text, node.operand, indices, depth + 1)
    if isinstance(node, ast.Compare):
        operands = (node.left, *node.comparators)
        numbers = [number for operand in operands if (number := whole_number(operand, indices)) is not None]
        if len(numbers) == len(operands) and all(type(sign) in _COMPARISONS for sign in node.ops):
            pairs = zip(node.ops, pairwise(numbers), strict=True)
            return all(_COMPARISONS[type(sign)](left, right) for sign, (left, right) in pairs)
    raise refusal(text, node.col_offset, "after `if`, indices are compared", "write if i < j")
