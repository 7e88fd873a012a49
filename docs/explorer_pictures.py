"""The pictures of docs/explorer.md, taken of the page as it is. It needs chromium, and a few minutes.

    python -m docs.explorer_pictures              # all of them
    python -m docs.explorer_pictures race home    # some

Look at them before they are committed: what they show was computed anew.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from docs.refresh import ROOT, environment

_WAIT = 600_000  # milliseconds
_WIDTH, _COLOURS = 1280, 256
_THEORY = "#theory-time[data-draft=false]"
_RACE = "target=h1%2BHe2(h2)&race.dim=100&race.ratios=1,2,4,8&race.seeds=2&race.budget=120"


@dataclass(frozen=True)
class Picture:
    """Where the page is opened, what is waited for, what a person does then, and how much of the page is kept."""

    address: str
    ready: str
    act: Callable[[Page], None] = lambda page: None
    height: int | None = None
    scheme: str = "light"


def _simulated(page: Page) -> None:
    page.click("#simulate")
    page.locator("#run-status", has_text="Done:").wait_for()
    page.locator("#agreement p").wait_for()


def _swept(page: Page) -> None:
    page.fill("#sweep-seeds", "1")
    page.click("#sweep")
    page.locator("#sweep-status", has_text="Done.").wait_for()


def _raced(page: Page) -> None:
    page.locator("#said math").wait_for()
    page.click("#race-start")
    page.locator("#race-status", has_text="over").wait_for()


def _diagnosed(page: Page) -> None:
    draw = np.random.default_rng(0)
    inputs = draw.standard_normal((400, 5))
    price = inputs[:, 0] + inputs[:, 0] * inputs[:, 1] + 0.1 * draw.standard_normal(400)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "houses.csv"
        np.savetxt(file, np.c_[inputs, price], delimiter=",", header="age,size,view,rooms,floor,price", comments="")
        page.set_input_files("#csv", file)
        page.click("#diagnose-start")
        page.locator("#diagnose-status", has_text="Done.").wait_for()


PICTURES = {
    "function": Picture("#/function?target=h1%2Bh1*h2%2BHe3(h3)", "#verdict .word", height=2000),
    "predict": Picture("#/predict?target=tanh(h1)", _THEORY, _simulated),
    "giant-step": Picture("#/predict?target=h1%2Bh1*h2&x.learner=giant-steps", _THEORY, _simulated),
    "amp": Picture("#/predict?target=h1**2&x.learner=bayes-amp", _THEORY, _swept),
    "race": Picture(f"#/race?{_RACE}&race.entrants=sir,save,phd,kernel-ridge", "#runs-sir", _raced),
    "diagnose": Picture("#/diagnose", "#csv", _diagnosed, height=1500),
    "gallery": Picture("#/gallery", ".exhibits li >> nth=0", height=900),
    "home": Picture("#/home?target=He3(h1)", "#home-command"),
    "dark": Picture("#/function?target=sign(h1*h2)", "#verdict .word", height=900, scheme="dark"),
}


def main(arguments: list[str]) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m docs.explorer_pictures", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=", ".join(PICTURES))
    chosen = parser.parse_args(arguments).names or list(PICTURES)
    if unknown := set(chosen) - set(PICTURES):
        parser.error(f"no picture {', '.join(sorted(unknown))}: they are {', '.join(PICTURES)}")
    command = [sys.executable, "-m", "featlab", "explore", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as server:
        assert server.stdout is not None
        address = re.findall(r"http://\S+/", server.stdout.readline())[0]
        try:
            _taken(address, chosen)
        finally:
            server.send_signal(signal.SIGINT)


def _taken(address: str, names: list[str]) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name in names:
            one = PICTURES[name]
            page = browser.new_page(viewport={"width": _WIDTH, "height": 900}, color_scheme=one.scheme)  # type: ignore[arg-type]
            page.set_default_timeout(_WAIT)
            page.goto(address + one.address)
            page.locator(one.ready).wait_for()
            page.wait_for_timeout(1500)  # until all that is drawn is drawn
            one.act(page)
            page.evaluate("scrollTo(0, 0)")  # what stays in view while one scrolls is where it begins
            page.wait_for_timeout(500)
            _kept(page.screenshot(full_page=True), one.height, ROOT / "docs" / "images" / f"explorer-{name}.png")
            page.close()
            print(name, flush=True)


def _kept(png: bytes, height: int | None, file: Path) -> None:
    """A screenshot with few colours, cut at a height, as a small file."""
    with Image.open(io.BytesIO(png)) as image:
        cut = image.convert("RGB").crop((0, 0, image.width, min(height or image.height, image.height)))
    cut.quantize(_COLOURS, kmeans=2, dither=Image.Dither.NONE).save(file, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
