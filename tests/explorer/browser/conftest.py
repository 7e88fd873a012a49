"""A server for all tests of the page, a browser for each file, a page for each test, which may ask nobody else."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.processes import HEARING_CTRL_C

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_SECONDS = 90  # what a loaded machine may take for one thing that is waited for; a quiet one takes a few
_ADDRESS = re.compile(r"http://\S+/")


def started(port: int = 0) -> tuple[subprocess.Popen[str], str]:
    """A server, and its address."""
    command = [*HEARING_CTRL_C, sys.executable, "-m", "featlab", "explore", "--port", str(port), "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert server.stdout is not None
    found = _ADDRESS.search(server.stdout.readline())
    assert found, "the server said no address"
    return server, found.group()


def stopped(server: subprocess.Popen[str]) -> None:
    """End a server as Ctrl-C does."""
    server.send_signal(signal.SIGINT)
    server.communicate(timeout=_SECONDS)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of a server that runs during all tests."""
    server, found = started()
    yield found
    stopped(server)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of a file: as long as Playwright is there, its event loop runs, and no other test of this
    process could have one."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    expect.set_options(timeout=_SECONDS * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Opens a page at a fragment of the address. No request may leave the machine, and the console shows no error."""
    asked: list[str] = []
    complaints: list[str] = []
    contexts = []

    def opened(fragment: str = "", **settings: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        contexts.append(context)
        context.set_default_timeout(_SECONDS * 1000)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda fault: complaints.append(str(fault)))
        page.on("console", lambda said: complaints.append(said.text) if _complains(said) else None)
        page.goto(address + fragment)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert asked
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    assert complaints == []


def _complains(said: Any) -> bool:
    """Errors of the console; a refusal of the server (4xx), which is a part of a test, is none."""
    return said.type == "error" and "the server responded with a status of 4" not in said.text
