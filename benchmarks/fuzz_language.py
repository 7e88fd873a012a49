"""Fuzz the target language: grammar-made expressions, mutations of them, and hostile fragments.

    python benchmarks/fuzz_language.py [count] [seed]

Every input must end in a `Target` or an `InvalidTarget`, within a second. Prints the counts, the rate, the slowest
ten, and fails on the first input that breaks the promise.
"""

from __future__ import annotations

import heapq
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from featlab.errors import InvalidTarget
from featlab.targets import target

UNARY = [
    "sign", "step", "abs", "relu", "tanh", "erf", "sigmoid", "exp", "log", "sqrt", "sin", "cos", "floor", "round",
    "arctan", "sinh", "cosh", "heaviside", "log1p", "expm1", "cbrt", "ceil",
]  # fmt: skip
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "0.5",
    "-1",
    "0.1",
    "10",
    "1e3",
    "1e-3",
    "7",
    "40",
    "41",
    "1e30",
    "1e999",
    "pi",
    "e",
    ".5",
]
HOSTILE = [
    "__import__('os').system('id')", "().__class__", "lambda: 0", "h1.__class__", "exec('1')", "open('/etc/passwd')",
    "9**9**9**9", "exp(exp(exp(1000)))", "He(40, He(40, h1))", "[h1 for h1 in h2]", "{h1}", "'h1'", "b'h1'", "f'{h1}'",
    "h1 if h2 else h3", "h1 and h2", "not h1", "h1 := 2", "1j", "0x10", "1_000", "None", "True", "...", "h1[0]", "*h1",
    "**h1", "h1 == h2", "h1 < h2", "h1 @ h2", "h1 // h2", "h1 % h2", "~h1", "h1 ^ 2", "h1; h2", "h1\n", "h1 # x",
    "\x00", "\u210e1", "h\u0661", "\uff481", "nan", "inf", "1/0", "0/0", "h1/0", "0**-1", "relu(h1)(h2)", "relu(x=h1)",
    "He(h1, 2)", "He(-1, h1)", "He(41, h1)", "He99(h1)", "h0", "h10", "xi0", "x1", "()", "(,)", "h1,h2",
    "-" * 300 + "h1",
    "(" * 300 + "h1" + ")" * 300, "h1" + "+h1" * 400, "2**" * 200 + "2", "((h1+h2)**40+h3)**40", "(2*relu(h1))**40",
    "((((2*relu(h1))**40)**40)**40)**40", "(h1+h2+h3+h4+h5+h6+h7+h8+h9)**40", "max(h1,h2,h3,h4,h5,h6,h7,h8,h9)",
    "sum(h[i] for i in 1..999999)", "sum(sum(h[i]*h[j] for i in 1..30) for j in 1..30)", "h[i]", "h[99]", "h[h1]",
    "1..3", "sum(h1 for i in range(3))", "sum(i.real for i in 1..3)", "(h[i] for i in 1..3)", "where(h1, 1, 2)",
    "h1 == h1", "where(h1 > 0, log(h1), sqrt(-h1))", "0 < h1 < 1 and not h2 > 1 or h3 <= h2", "floor(1e9*h1)",
    "mod(h1, 0)", "for", "max(h[i] for i in 1..32)", "prod(h[i] - i for i in 1..32)", "not " * 100 + "h1 > 0",
    "h1 > " * 200 + "0", "where(h1 > 0, " * 30 + "h2" + ", 0)" * 30,
    "sum(h[i] for i in 1..3 if " + "not " * 60 + "i > 1)",
    "sign((h1+h2+h3+h4)**9-(h5+h6)**8+h7*h8*h9)", "1/(h1**2-2*h1+1)", "yield", "await h1", "async", "import os",
]  # fmt: skip


class Outcome(NamedTuple):
    text: str
    kind: str
    seconds: float


def expression(rng: random.Random, depth: int) -> str:
    """A random expression of the grammar, mostly admissible."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(
            [f"h{rng.randint(1, 4)}"] * 6 + [f"h{rng.randint(1, 9)}", f"xi{rng.randint(1, 3)}"] + NUMBERS[:5]
        )
    kind = rng.random()
    if kind < 0.5:
        operator = rng.choice(["+", "+", "-", "*", "*", "/"])
        return f"({expression(rng, depth - 1)} {operator} {expression(rng, depth - 1)})"
    if kind < 0.75:
        return f"{rng.choice(UNARY)}({expression(rng, depth - 1)})"
    if kind < 0.85:
        return f"He{rng.randint(1, 8)}({expression(rng, depth - 1)})"
    if kind < 0.92:
        return f"({expression(rng, depth - 1)})**{rng.choice(['2', '3', '0.5', '-1', '4', 'h1', '(1/3)', '-0.25'])}"
    if kind < 0.94:
        return f"where({condition(rng, depth - 1)}, {expression(rng, depth - 1)}, {expression(rng, depth - 1)})"
    if kind < 0.95:
        return f"({condition(rng, depth - 1)})"
    if kind < 0.96:
        term = expression(rng, depth - 1).replace("h1", "h[i]").replace("h2", "h[i + 1]")
        return f"{rng.choice(['sum', 'prod', 'min', 'max'])}({term} for i in {rng.randint(1, 2)}..{rng.randint(2, 4)})"
    if kind < 0.98:
        arguments = ", ".join(expression(rng, depth - 1) for _ in range(rng.randint(2, 3)))
        return f"{rng.choice(['min', 'max'])}({arguments})"
    return f"clip({expression(rng, depth - 1)}, -1, {expression(rng, 1)})"


def condition(rng: random.Random, depth: int) -> str:
    """A random condition of the grammar."""
    kind = rng.random()
    if depth > 0 and kind < 0.3:
        return f"{condition(rng, depth - 1)} {rng.choice(['and', 'or'])} {condition(rng, depth - 1)}"
    if depth > 0 and kind < 0.4:
        return f"not ({condition(rng, depth - 1)})"
    signs = rng.choices(["<", "<=", ">", ">="], k=2 if kind > 0.9 else 1)
    return " ".join([expression(rng, depth), *[f"{sign} {expression(rng, depth)}" for sign in signs]])


def mutated(rng: random.Random, text: str) -> str:
    """The text with a few characters or fragments changed, moved, doubled or replaced by hostile ones."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        to = min(len(text), at + rng.randint(1, 6))
        move = rng.random()
        if move < 0.25:
            text = text[:at] + text[to:]
        elif move < 0.5:
            text = text[:at] + rng.choice("+-*/(),.0123456789hxiHe^_ '\"[]{}=<>|&%@!~#:;\\\n\t\u03b1\u00b2") + text[at:]
        elif move < 0.65:
            text = text[:at] + text[at:to] * rng.randint(2, 30) + text[to:]
        elif move < 0.8:
            text = text[:at] + rng.choice(NUMBERS + UNARY) + text[to:]
        else:
            text = text[:at] + rng.choice(HOSTILE) + text[to:]
    return text


def inputs(count: int, seed: int) -> Iterator[str]:
    """Fixed inputs for a seed: all hostile fragments, then half expressions and half mutations."""
    rng = random.Random(seed)
    yield from HOSTILE[:count]
    for _ in range(count - len(HOSTILE)):
        text = expression(rng, rng.randint(1, 5))
        yield text if rng.random() < 0.5 else mutated(rng, text)


def attempt(text: str) -> Outcome:
    """Try one input; anything but a target or a refusal propagates. Time is processor time."""
    start = time.process_time()
    try:
        made = target(text)
        kind = f"target of rank {made.rank}"
    except InvalidTarget as refusal:
        kind = "refused: " + ("language" if refusal.column is not None else "not admissible")
    return Outcome(text, kind, time.process_time() - start)


def main(count: int, seed: int) -> None:
    attempt("He4(h1) + sign(h1*h2*h3)")
    start = time.perf_counter()
    outcomes: Counter[str] = Counter()
    slowest: list[tuple[float, str]] = []
    for text in inputs(count, seed):
        outcome = attempt(text)
        outcomes[outcome.kind] += 1
        heapq.heappush(slowest, (outcome.seconds, text))
        if len(slowest) > 10:
            heapq.heappop(slowest)
    elapsed = time.perf_counter() - start
    for kind, number in sorted(outcomes.items()):
        print(f"{number:8d}  {kind}")
    print(f"{count} inputs in {elapsed:.0f} s, {count / elapsed:.0f} per second; the slowest:")
    for seconds, text in sorted(slowest, reverse=True):
        print(f"{seconds:8.3f} s  {text[:110]!r}")
    if max(slowest)[0] > 1.0:
        sys.exit("an input took more than a second")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
