"""Workers that are killed, and a server that ends, under an open page: it says so, and goes on when they are back."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.explorer.browser.conftest import started, stopped


def _workers(server: int) -> list[int]:
    lists = Path(f"/proc/{server}/task").glob("*/children")
    processes = [int(process) for one in lists for process in one.read_text(encoding="ascii").split()]
    return [one for one in processes if "spawn_main" in Path(f"/proc/{one}/cmdline").read_text(encoding="utf-8")]


def test_the_page_says_that_the_server_is_gone_and_recovers(browser: Browser) -> None:
    server, address = started()
    page = browser.new_page()
    page.goto(f"{address}#/function?target=h1*h2")
    expect(page.locator("#verdict .word")).to_be_visible()
    expect(page.locator("#lost")).to_be_hidden()
    for process in _workers(server.pid):
        os.kill(process, signal.SIGKILL)
    page.fill("#target", "h1*h2 + h1")  # others take the place of those that were killed
    expect(page.locator("#verdict .word")).to_have_text("TRIVIAL")
    stopped(server)
    page.fill("#target", "He2(h1)")
    expect(page.locator("#lost")).to_contain_text("does not answer")
    port = int(re.findall(r":(\d+)/", address)[0])
    server, _ = started(port)
    try:
        expect(page.locator("#lost")).to_be_hidden()
        expect(page.locator("#parse-error")).to_have_count(0)
        expect(page.locator("#verdict .word")).to_have_text("EASY")
        expect(page.locator(".verdict .small")).to_contain_text("1 direction")
    finally:
        page.close()
        stopped(server)
