"""A server that ends under an open page: the page says so, and goes on when it is back."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.explorer.browser.conftest import started, stopped


def test_the_page_says_that_the_server_is_gone_and_recovers(browser: Browser) -> None:
    server, address = started()
    page = browser.new_page()
    page.goto(f"{address}#/function?target=h1*h2")
    expect(page.locator("#verdict .word")).to_be_visible()
    expect(page.locator("#lost")).to_be_hidden()
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
