"""From a slider that is moved to the theory's curve drawn again, in a browser: what a person at the page waits for.

    python -m benchmarks.slider              # every case; needs chromium and the development extras
    python -m benchmarks.slider giant-steps  # some of them

Each case moves a slider by its own steps and waits for each redrawn curve, by the browser's clock, from the event to
plotly's word that it has drawn; then goes back over the same places, whose answers are kept. Then the slider is dragged
for two seconds, sixty places a second, and what counts is the longest time without a new curve. The goal, 0.3 s, is for
two idle cores: the load of the machine is printed, and the processor time of the workers for each move.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from benchmarks.measuring import Row, show

GOAL_SECONDS = 0.3
_WAIT = 180_000  # milliseconds
# Name -> fragment of the address, the slider, and whether the goal is for it: closed forms and ODEs.
CASES: dict[str, tuple[str, str, bool]] = {
    "online-sgd, one direction": ("target=tanh(h1)", "step_size", True),
    "online-sgd, three directions": ("target=h1%2Bh1*h2%2BHe3(h3)", "step_size", True),
    "online-sgd, four neurons": ("target=tanh(h1)&x.width=4", "step_size", True),
    "extragradient": ("target=He3(h1)&x.learner=extragradient", "step_size", True),
    "giant-steps": ("target=h1%2Bh1*h2&x.learner=giant-steps", "ratio", True),
    "kernel-ridge": ("target=h1%2BHe2(h2)&x.learner=kernel-ridge", "ratio", True),
    "spherical-flow": ("target=tanh(h1)&x.learner=spherical-flow", "ratio", True),
    "reused-batch": ("target=He3(h1)&x.learner=reused-batch", "step_size", False),
    "spectral-estimator": ("target=h1*h2&x.learner=spectral-estimator", "ratio", False),
}
_MOVES = """async ([dial, moves, way]) => {
  const slider = document.getElementById(`dial-${dial}`);
  const plot = ["found", "risk"].map((name) => document.getElementById(`plot-${name}`)).find((one) => one.data);
  const seconds = [];
  for (let move = 0; move < moves; move++) {
    const drawn = new Promise((done) => plot.once("plotly_afterplot", () => done(performance.now())));
    const began = performance.now();
    slider.value = Number(slider.value) + way * Number(slider.step);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    seconds.push((await drawn - began) / 1000);
    await new Promise((done) => setTimeout(done, 50));
  }
  return seconds;
}"""
_DRAG = """async ([dial, milliseconds]) => {
  const slider = document.getElementById(`dial-${dial}`);
  const plot = ["found", "risk"].map((name) => document.getElementById(`plot-${name}`)).find((one) => one.data);
  const times = [performance.now()];
  const note = () => times.push(performance.now());
  plot.on("plotly_afterplot", note);
  const place = Number(slider.value);
  for (let move = 1; performance.now() - times[0] < milliseconds; move++) {
    slider.value = place + (move % 40) * Number(slider.step);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((done) => setTimeout(done, 16));
  }
  plot.removeListener("plotly_afterplot", note);
  times.push(performance.now());
  return times.slice(1).map((time, place) => (time - times[place]) / 1000);
}"""


def worker_seconds(server: int) -> float:
    """Processor time of the server and of all that it has started."""
    lists = Path(f"/proc/{server}/task").glob("*/children")
    processes = [server, *(int(process) for one in lists for process in one.read_text().split())]
    parts = [Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split() for process in processes]
    return sum(int(one[11]) + int(one[12]) for one in parts) / os.sysconf("SC_CLK_TCK")


def measured(page: Page, server: int, address: str, case: str, moves: int) -> list[Row]:
    """The rows of one case."""
    fragment, dial, closed = CASES[case]
    page.goto("about:blank")
    page.goto(f"{address}#/predict?{fragment}")
    page.locator("#theory-time[data-draft=false]").wait_for(timeout=_WAIT)
    before = worker_seconds(server)
    new = np.array(page.evaluate(_MOVES, [dial, moves, 1]))
    each = (worker_seconds(server) - before) / moves  # before the whole prediction follows the last draft
    page.locator("#theory-time[data-draft=false]").wait_for(timeout=_WAIT)
    again = np.array(page.evaluate(_MOVES, [dial, moves - 1, -1]))
    gaps: list[float] = page.evaluate(_DRAG, [dial, 2000])
    load = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    goal = GOAL_SECONDS if closed else None
    words = f"p95 of {moves} moves, median {np.median(new):.3f} s; {each:.3f} s of processors a move; {load}"
    return [
        Row(case, words, float(np.quantile(new, 0.95)), "s", at_most=goal),
        Row(
            case,
            f"kept answers, median {np.median(again):.3f} s",
            float(np.quantile(again, 0.95)),
            "s",
            at_most=GOAL_SECONDS,
        ),
        Row(case, f"dragged: longest without a curve, {len(gaps) - 1} curves in 2 s", max(gaps), "s"),
    ]


def main(arguments: list[str]) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slider", description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"some of {', '.join(CASES)}")
    parser.add_argument("--moves", type=int, default=20)
    chosen = parser.parse_args(arguments)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if unknown := set(chosen.cases) - set(CASES):
        parser.error(f"no case {', '.join(sorted(unknown))}: they are {', '.join(CASES)}")
    command = [sys.executable, "-m", "featlab", "explore", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        assert server.stdout is not None
        address = re.findall(r"http://\S+", server.stdout.readline())[0]
        try:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(_WAIT)
            for case in chosen.cases or CASES:
                print(show(measured(page, server.pid, address, case, chosen.moves)), flush=True)
        finally:
            server.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main(sys.argv[1:])
