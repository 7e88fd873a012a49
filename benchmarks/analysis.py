"""How long the explanation of a target takes, against what a person is asked to wait: 1, 3 and 10 s for rank 1, 2, 3.

python -m benchmarks.analysis
"""

from __future__ import annotations

from time import perf_counter

from rich.console import Console
from rich.table import Table

from featlab.analysis import analyse
from featlab.targets import target

TARGETS = (
    "tanh(h1)",
    "He4(h1)",
    "He(40, h1)",
    "h1*h2",
    "sign(h1*h2)",
    "He3(h1)*He3(h2)",
    "max(h1, h2)",
    "sign(h1**2 + h2**2 - 1)",
    "h1*h2*h3",
    "He4(h1) + sign(h1*h2*h3)",
    "sign(h1*h2 + h3)",
    "min(h1, h2, h3)",
    "h1 + h1*h2 + h1*h2*h3 + h1*h2*h3*h4",
)
SECONDS_ALLOWED = {1: 1.0, 2: 3.0, 3: 10.0, 4: 60.0}


def main() -> None:
    analyse(target("h1"))  # imports and caches are not what is measured
    table = Table("target", "rank", "parse (s)", "analyse (s)", "of what is allowed", "alpha_c", "error")
    for text in TARGETS:
        start = perf_counter()
        parsed = target(text)
        middle = perf_counter()
        analysis = analyse(parsed)
        seconds = perf_counter() - middle
        share = seconds / SECONDS_ALLOWED[parsed.rank]
        alpha = "-" if analysis.alpha_c is None else f"{analysis.alpha_c:.5f}"
        error = "-" if analysis.alpha_c_error is None else f"{analysis.alpha_c_error:.0e}"
        row = (text, str(parsed.rank), f"{middle - start:.3f}", f"{seconds:.2f}", f"{share:.0%}", alpha, error)
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
