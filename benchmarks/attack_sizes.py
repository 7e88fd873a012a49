"""Absurd sizes: each is refused with an estimate, or it starts with one; and estimates against what runs took.

    python -m benchmarks.attack sizes estimates --seconds 900

A run of every kind is measured in a process of its own: the peak of its memory beyond what the process held after the
same run at small sizes, which is what Python, JAX and its compiler take, and its time. An estimate of memory is good
within a factor of three; one that is too low by more is what ends in a kill without a word, and must never happen.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.attack import Attack, Limits

FACTOR, TIME_FACTOR = 3.0, 10.0
# What no estimate sees: an allocator keeps some of what was given back, and no compiler takes the same twice.
UNSEEN_BYTES = 4 * 10**7
_ROOT = Path(__file__).parents[1]
# An attack that has neither ended nor said how long it takes after so many seconds of a busy machine is endless.
_PATIENCE = 60.0
_TIME = re.compile("takes (about|at least)")

_PASS = "h1 learner=online-sgd step-size=0.5/d dim=1e4 "
_REUSE = "He3(h1) learner=reused-batch step-size=0.1 steps=4 "
_GIANT = "He3(h1) learner=giant-steps dim=1e6 "
_FIT = "h1+He2(h2) learner=random-features ridge=1e-3 "
_REDUCED = "He2(h1)+h2 dim=1e6 samples=1e6 "
_AMP = "learner=bayes-amp noise=0.1 "
# What is run, as on the command line, with one seed unless said; and what of it is small where it is measured against.
CASES: dict[str, tuple[str, str]] = {
    "one-pass, a large batch": (_PASS + "batch=8e6 times=2e-4", "batch=100"),
    "one-pass, wide": (_PASS + "batch=2000 width=1000 times=3e-4", "batch=10 width=4"),
    "one-pass, many seeds": (_PASS + "width=4 seeds=8000 times=1e-3,2e-3", "seeds=2"),
    "one-pass, dense": (_PASS + "design=dense batch=5000 times=2e-4", "batch=10"),
    "extragradient": (
        _PASS.replace("online-sgd", "extragradient") + "inner-step=0.3/d batch=3000 times=2e-4",
        "batch=9",
    ),
    "sign steps": ("h1 learner=sign-sgd step-size=0.1/d dim=4e5 width=10 batch=100 times=5e-6", "dim=1e3 times=2e-3"),
    "all weights": (
        _PASS + "width=60 observe=weights seeds=20 times=" + ",".join(f"{k}e-4" for k in range(199)),
        "width=2",
    ),
    "giant steps": (_GIANT + "samples=2e7", "samples=1e4"),
    "giant steps, wide": (_GIANT + "samples=4e3 width=1200", "width=4"),
    "giant steps, dense": (_GIANT + "samples=300 width=10 design=dense", "dim=1e3"),
    "reused batch": (_REUSE + "dim=1e7 samples=6e6", "samples=1e3"),
    "reused batch, dense": (_REUSE + "dim=5e3 samples=2e4 design=dense", "samples=100"),
    "reused batch, streamed": (_REUSE + "dim=2e5 samples=200 width=100 steps=2 design=streamed", "dim=1e3"),
    "reused batch, dice": (_REUSE + "dim=1e6 samples=1e6 design=dice", "dim=1e3 samples=1e3"),
    "preprocessed step": (
        "He2(h1) learner=preprocessed-step dim=1e5 samples=1e5 width=100 fit-samples=1e3",
        "samples=1e3 width=10",
    ),
    "message passing": ("h1 " + _AMP + "dim=1e6 samples=1e6 iterations=4", "samples=1e3 dim=1e3"),
    "message passing, table": ("tanh(h1) " + _AMP + "dim=1e6 samples=1e6 iterations=5", "samples=1e3 dim=1e3"),
    "message passing, clouds": ("tanh(h1*h2) " + _AMP + "dim=2e4 samples=4e4 iterations=2", "samples=300 dim=300"),
    "readout, primal": (_FIT + "dim=4e3 width=2000 readout=3e3", "width=10"),
    "readout, dual": (_FIT + "dim=2e4 width=8000 readout=3e3", "width=20 readout=10"),
    "readout, left out": (_FIT + "dim=4e3 width=1500 readout=1e4 ridge=leave-one-out", "width=10"),
    "readout, same samples": (
        "He2(h1) learner=reused-batch step-size=0.1 steps=2 times=2 dim=1e4 samples=3e5 width=20 readout=same",
        "samples=1e3",
    ),
    "kernel": ("He2(h1) learner=kernel-ridge dim=1e5 samples=5e3 ridge=1e-3", "samples=50"),
    "kernel, left out": ("He2(h1) learner=kernel-ridge dim=100 samples=2500", "samples=50"),
    "inverse regression": (_REDUCED + "learner=inverse-regression", "samples=1e3"),
    "average variance": (_REDUCED + "learner=average-variance dim=2e3 samples=8e4 iterations=5", "samples=200"),
    "principal Hessian": (_REDUCED + "learner=principal-hessian iterations=5", "samples=1e3 dim=1e3"),
    "spectral estimator": (
        "tanh(h1) learner=spectral-estimator noise=0.1 dim=1e6 samples=1e6 iterations=5",
        "samples=1e3 dim=1e3",
    ),
    "Langevin": ("h1*h2 learner=langevin hypercube=0 dim=1e3 samples=5e4 steps=3 width=100", "samples=100"),
    "tied flow": ("He3(h1) learner=tied-flow dim=1e3 samples=2e4 time=5 frozen-time=0 max-steps=20", "samples=100"),
    "layerwise": (
        "tree(tanh(h1),He2(h1),8) learner=layerwise dim=1e4 samples=4e3 width=1000 steps=2 times=2",
        "width=16",
    ),
    "spherical flow": ("He2(h1) learner=spherical-flow dim=1e6 samples=1e6 steps=5", "samples=500 dim=100"),
    "normalised flow": ("He2(h1) learner=normalised-flow dim=2e3 samples=2e4 steps=5", "samples=500 dim=100"),
}

# Command lines that asked for more than there is; {study} is a file with that line in it.
SIZES = (
    'simulate "h1" --learner online-sgd --dim 1000 --times 1 --step-size 0.5/d --seeds 1e9',
    'simulate "h1" --learner online-sgd --dim 1000 --times 1 --step-size 0.5/d --seeds 1e12',
    'simulate "h1" --learner online-sgd --dim 1e9 --times 2 --step-size 0.5/d --seeds 1',
    'simulate "h1" --learner online-sgd --dim 1000 --batch 1e12 --times 1 --step-size 0.5 --seeds 1',
    'simulate "h1" --learner reused-batch --dim 1000 --samples 3000 --step-size 0.5 --steps 1e9',
    'simulate "h1" --learner reused-batch --dim 1000 --samples 3000 --step-size 0.5 --steps 1e9 --times 1e9 --seeds 1',
    'simulate "h1" --learner giant-steps --dim 1000 --samples 3e13 --seeds 1',
    'simulate "h1" --learner giant-steps --dim 1000 --samples 1e18 --seeds 1',
    'simulate "h1" --learner giant-steps --dim 1000 --samples 1e5 --steps 1e9 --seeds 1',
    'simulate "tanh(h1)" --learner bayes-amp --dim 1e4 --samples 3e4 --iterations 1e9 --tolerance 1e-30 --seeds 1',
    'simulate "h1" --learner random-features --dim 1000 --readout 1e12 --seeds 1',
    'simulate "h1" --learner random-features --dim 1e7 --width 1e6 --readout 1e6 --seeds 1',
    'simulate "h1" --learner kernel-ridge --dim 1000 --samples 1e6 --seeds 1',
    'simulate "h1" --learner online-sgd --dim 1000 --width 1e9 --times 1 --step-size 0.5 --seeds 1',
    'simulate "h1" --learner sign-sgd --dim 1e15 --times 1e-9 --step-size 0.5/d --seeds 1',
    'simulate "tree(tanh(h1), He2(h1), 1e9)" --learner layerwise --dim 1e10 --samples 1000',
    'explain "tree(tanh(h1), He2(h1), 1e9)"',
    'predict "h1" --learner reused-batch --dim 1000 --samples 3000 --step-size 0.1 --steps 180',
    'predict "tanh(h1)" --learner online-sgd --dim 1000 --width 1e4 --times 1 --step-size 0.5/d',
    'predict "tanh(h1)" --learner online-sgd --dim 1000 --width 64 --times 100 --step-size 0.5/d',
    "study plan {repeats = 1_000_000_000} --no-probe",
    "study plan {axes} --no-probe",
    "study plan {hours}",
    "study run {hours}",
)
_STUDY = """kind = "simulate"
{line}
[fixed]
target = "h1"
learner = "online-sgd"
dim = 100
step_size = "0.5/d"
times = [1]
seeds = 1
"""
_HOURS = """kind = "simulate"
[fixed]
target = "h1"
learner = "random-features"
dim = 1000
readout = 1e12
seeds = 1
"""
_AXES = f"""[axes]
noise = {[k / 10 for k in range(1000)]}
norm = {[1 + k for k in range(100)]}
output_scale = {[1 + k for k in range(100)]}
"""


def said(words: str) -> dict[str, str]:
    """What `experiment_from_text` takes, from a target and words name=value; later ones count."""
    parts = [part.partition("=") for part in words.split()]
    target = {"target": parts[0][0]} if not parts[0][1] else {}
    return {"seeds": "1", **target, **{name.replace("-", "_"): value for name, sign, value in parts if sign}}


def measured(*pairs: tuple[str, str]) -> list[dict[str, float]]:
    """Estimates of runs and what they took, in a process of their own: bytes beyond those of a small run, seconds."""
    command = [sys.executable, "-m", "benchmarks.attack_sizes", json.dumps(pairs)]
    answer = subprocess.run(command, check=True, cwd=_ROOT, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(answer)


def compare_estimates(limits: Limits, seed: int, directory: Path) -> Counter[str]:
    """Every kind of run once; a table of what was estimated and measured."""
    found = Counter[str]()
    print(f"{'':<26}{'memory':>10}{'measured':>10}{'ratio':>7}   {'time':>8}{'measured':>10}")
    for number, (name, (words, small)) in zip(limits.rounds(), CASES.items(), strict=False):
        large = measured((words, small))[0]
        beyond = large["beyond"]
        verdicts = memory_verdict(large["bytes"], beyond), time_verdict(large["seconds"], large["took"])
        found.update(verdicts)
        found["runs"] = number + 1
        ratio = large["bytes"] / max(beyond, 1)
        sizes = f"{large['bytes'] / 1e6:>7,.0f} MB{beyond / 1e6:>7,.0f} MB{ratio:>7.2f}"
        print(
            f"{name:<26}{sizes}   {large['seconds']:>6.0f} s{large['took']:>8.0f} s   {', '.join(verdicts)}", flush=True
        )
    return found


def memory_verdict(estimate: float, peak: float) -> str:
    """Whether an estimate of memory is good enough."""
    if peak > FACTOR * estimate + UNSEEN_BYTES:
        return "memory too low"
    return "memory too high" if estimate > FACTOR * max(peak, 0) + UNSEEN_BYTES else "memory right"


def time_verdict(estimate: float, took: float) -> str:
    """Whether one of time is."""
    return "time right" if took / TIME_FACTOR <= estimate <= TIME_FACTOR * took else "time wrong"


def ask_for_too_much(limits: Limits, seed: int, directory: Path) -> Counter[str]:
    """Every command line of `SIZES`: a refusal in one line and exit code 2, or a word on the time."""
    found = Counter[str]()
    for _, line in zip(limits.rounds(), SIZES, strict=False):
        verdict = answered(line, directory)
        print(f"{verdict:<28}{line}", flush=True)
        found[verdict] += 1
    return found


def answered(line: str, directory: Path) -> str:
    """What became of a command line that asks for too much."""
    if line.startswith("study"):
        before, _, rest = line.partition("{")
        content, _, after = rest.partition("}")
        known = {"axes": _STUDY.format(line="") + _AXES, "hours": _HOURS}
        file = directory / "study.toml"
        file.write_text(known.get(content) or _STUDY.format(line=content), encoding="utf-8")
        line = f"{before}{shlex.quote(str(file))}{after}"
    with tempfile.TemporaryFile("w+") as words:
        command = [sys.executable, "-m", "featlab", *shlex.split(line)]
        process = subprocess.Popen(command, stderr=words, stdout=subprocess.DEVNULL, cwd=_ROOT)
        begin = time.monotonic()
        while process.poll() is None and time.monotonic() - begin < _PATIENCE:
            time.sleep(0.2)
            words.seek(0)
            if _TIME.search(words.read()):
                break
        ended = process.poll()
        process.kill()
        process.wait()
        words.seek(0)
        return _verdict(ended, words.read())


def _verdict(ended: int | None, words: str) -> str:
    if "Traceback" in words or "a fault of featlab" in words:
        return "fault"
    if ended is None:
        return "started, with its time" if _TIME.search(words) else "endless without a word"
    if ended == 0:
        return "done"
    return "refused" if ended == 2 and len(words.splitlines()) == 1 else "died"


def _run(words: str, small: str) -> dict[str, float]:
    from featlab.experiments.text import experiment_from_text
    from featlab.simulation.extent import extent
    from featlab.simulation.simulator import _prepared, run_experiment

    run_experiment(experiment_from_text(said(f"{words} {small}")), progress=False)
    experiment = experiment_from_text(said(words))
    wanted, choice, _, names = _prepared(experiment, experiment.memory)
    takes = extent(experiment, wanted, choice, names)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is that of now
    before, begin = _resident("VmRSS"), time.process_time()
    run_experiment(experiment, progress=False)
    took = time.process_time() - begin
    return {"bytes": takes.memory, "beyond": _resident("VmHWM") - before, "seconds": takes.seconds or 0, "took": took}


def _resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


ATTACKS = (
    Attack(
        "sizes",
        "sizes that nobody has, such as `--seeds 1e12`: refused with an estimate, or started with one",
        ask_for_too_much,
        ("fault", "died", "endless without a word"),
    ),
    Attack("estimates", "memory and time of every kind of run", compare_estimates, ("memory too low", "time wrong")),
)

if __name__ == "__main__":
    from featlab import compiled

    compiled.keep()  # as a command does: what the compiler takes is no part of an estimate
    print(json.dumps([_run(*pair) for pair in json.loads(sys.argv[1])]))
