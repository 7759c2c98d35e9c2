"""The client for browsers: its own tests in node, and in Chromium against the real service."""

import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from discreet import Client
from tests._tools.live_service import running

HERE = Path(__file__).parent / "javascript"
node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@node
def test_its_own_tests_pass_in_node():
    done = subprocess.run(["node", "--test", str(HERE)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def page():
    """A page of Chromium, where both it and playwright are installed."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        try:
            browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        except playwright.Error:
            pytest.skip("Chromium is not installed")
        yield browser.new_page()
        browser.close()


OPEN = """async ([key, name]) => {
    const { Client } = await import("/client.js");
    globalThis.client = new Client(location.origin, key, { delay: 60000 });
    globalThis.banners = client.experiment(name);
    return [await banners.assign("ann"), await banners.assign("bob"), await banners.assign("ann")];
}"""


def test_a_page_that_is_left_reports_every_assignment(tmp_path, page):
    with running(tmp_path / "discreet.db") as live, Client(live.address, live.key) as client:
        client.create("banners", epsilon=1, arms=["blue", "green"], privacy_unit="person", window=600)
        client.experiment("banners").start()
        key = client.create_key("page", ["assign", "report"], experiment="banners").key
        page.goto(f"{live.address}/healthz")
        ann, bob, again = page.evaluate(OPEN, [key, "banners"])
        assert ann == again
        assert {ann["arm"], bob["arm"]} <= {"blue", "green"}
        page.evaluate("assignment => banners.report(assignment, 1)", ann)
        page.goto("about:blank")
        time.sleep(0.5)
        assert counted(tmp_path / "discreet.db") == (2, 2**20)


def counted(database):
    """How many rewards came, and their sum: nothing but the database knows."""
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT sum(told), sum(total) FROM counter").fetchone()
