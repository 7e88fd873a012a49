"""The language under fuzzing: every input ends in a target or a refusal, in time, and nothing is executed."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.fuzz_language import attempt, expression, inputs

from featlab.errors import InvalidTarget
from featlab.targets import target


@pytest.mark.parametrize("seed", range(4))
def test_every_input_ends_in_a_target_or_a_refusal_within_a_second(seed: int) -> None:
    attempt("h1")
    outcomes = [attempt(text) for text in inputs(400, seed=1000 + seed)]
    # Processor time, and the best of three for a slow one: the limit is on the work, not on a busy machine.
    slow = [outcome.text for outcome in outcomes if outcome.seconds > 1.0]
    assert not [text for text in slow if min(attempt(text).seconds for _ in range(3)) > 1.0]
    kinds = {outcome.kind for outcome in outcomes}
    assert {"refused: language", "refused: not admissible", "target of rank 1", "target of rank 2"} <= kinds


def test_the_fuzzer_reports_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: what is neither a target nor an InvalidTarget is not swallowed."""

    def crash(text: str) -> None:
        raise RecursionError(text)

    monkeypatch.setattr("benchmarks.fuzz_language.target", crash)
    with pytest.raises(RecursionError):
        attempt("h1")


ROOT = Path(__file__).parents[2]
WATCH = """
import sys
from benchmarks.fuzz_language import attempt, inputs
texts = list(inputs(400, seed=7))
for text in texts:  # SymPy imports some of its modules late; the second round has nothing left to import
    attempt(text)
FORBIDDEN = ("exec", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "open", "import",
             "socket.connect", "ctypes.dlopen", "pty.spawn", "os.remove", "os.listdir", "shutil.rmtree")
seen = []
def watch(event, arguments):
    if event in FORBIDDEN:
        seen.append((event, str(arguments)[:200]))
    if event == "compile" and arguments[0] is None:
        seen.append((event, str(arguments)[:200]))
sys.addaudithook(watch)
for text in texts:
    attempt(text)
assert not seen, seen[:3]
exec("0")
assert seen, "the watch does not see execution"
print("watched", len(texts))
"""


def test_nothing_is_executed_opened_or_imported() -> None:
    """An audit hook sees every exec, open, import and process; a last exec proves that it watches."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH], capture_output=True, text=True, check=False, timeout=120, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("watched")


def test_targets_of_random_expressions_are_stable() -> None:
    """The text of a target parses to the same text and the same function."""
    rng, checked = random.Random(11), 0
    for _ in range(400):
        try:
            made = target(expression(rng, 3))
        except InvalidTarget:
            continue
        again = target(made.text)
        assert (again.text, again.rank, again.hidden) == (made.text, made.rank, made.hidden)
        fields = np.random.default_rng(0).standard_normal((50, made.rank + made.hidden))
        assert np.array_equal(made.link(fields), again.link(fields), equal_nan=True)
        checked += 1
    assert checked > 80
