"""The dashboard in a real browser: nothing is refused by the policy, pictures are drawn, keyboards and phones suffice.

`chromium` (or `google-chrome`) must be installed, and playwright for Python; no browser is downloaded.
"""

import os
import re
import shutil
import socket
import threading
import time

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
uvicorn = pytest.importorskip("uvicorn", reason="needs uvicorn: pip install uvicorn")
pytest.importorskip("starlette", reason="needs starlette: pip install starlette")

from discreet.service.http.app import make_app  # noqa: E402
from discreet.service.messages import NewKey  # noqa: E402
from tests._tools.service_board import DEALT, NASTY, Board, furnish  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-component-update"]
BUTTON = "/experiments/{button_colour}"
HARMLESS = (
    "status of 422",  # a form that was sent back is not a fault of the page
    "Autofocus processing was blocked",  # a browser's remark on pages that it opens without being looked at
    "willReadFrequently",  # the tests read what was painted
)
PAGES = [
    "/",
    BUTTON,
    "/experiments/{reminder_time}",
    "/experiments/{churn_rate}",
    "/experiments/{reminder_text}",
    "/experiments/{reminder_text}/test",
    "/experiments/new",
    f"{BUTTON}/report",
    "/ledger",
    "/ledger/everybody/report",
    "/planner?arms=2&epsilon=1&base_rate=3&lift=20&policy=dp-ab&per_hour=500",
    "/planner?arms=4&epsilon=1&gap=0.05&beta=0.05&per_hour=500",
    "/keys",
]
pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt install chromium"),
    # Closing the driver's event loop leaves what it had open to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Site:
    """The service on a port of this machine, with experiments in the middle of their lives."""

    def __init__(self, furnished, folder):
        self.board = Board(furnished, folder)
        self.control, self.key = self.board.control, self.board.keys["admin"]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        app = make_app(self.control, tick=None)
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True)

    def __enter__(self):
        self._thread.start()
        deadline = time.monotonic() + 20
        while not self._server.started:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(20)
        self._listener.close()
        self.board.world.database.close()


@pytest.fixture(scope="module")
def browser():
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, "--disable-sync", *root])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def furnished(tmp_path_factory):
    path = tmp_path_factory.mktemp("board") / "furnished.db"
    furnish(path)
    return path


@pytest.fixture
def site(furnished, tmp_path):
    with Site(furnished, tmp_path) as site:
        yield site


def serious(complaints):
    return [text for text in complaints if not any(harmless in text for harmless in HARMLESS)]


@pytest.fixture
def signed_in(browser, site):
    """Makes signed-in pages, and afterwards checks that no page had anything to complain about."""
    complaints, contexts = [], []

    def make(width=1200, scheme="light"):
        context = browser.new_context(
            base_url=site.address, viewport={"width": width, "height": 740}, color_scheme=scheme
        )
        contexts.append(context)
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.add_init_script(
            "addEventListener('securitypolicyviolation', e => console.error('refused', e.violatedDirective, e.sample))"
        )
        page.goto("/login")
        page.get_by_label("Your key").fill(site.key)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Experiments").wait_for()
        return page

    yield make
    for context in contexts:
        context.close()
    assert serious(complaints) == []


def test_the_policy_has_teeth(browser, site):
    context = browser.new_context(base_url=site.address)
    page = context.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto("/login")
    page.evaluate("document.body.setAttribute('style', 'color: red')")
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))")
    assert page.evaluate("window.ran") is None
    assert sum("Content Security Policy" in text for text in complaints) == 2
    context.close()


def in_time(true, seconds=20):
    """Wait until something is true: browsers paint when they have time."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def colours(page):
    """The colours that the picture is painted with, most frequent first."""
    return page.evaluate(
        """() => {
            const canvas = document.querySelector('#means canvas'), seen = new Map();
            const p = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            for (let i = 0; i < p.length; i += 4) if (p[i + 3] === 255) {
                const name = [p[i], p[i + 1], p[i + 2]].join();
                seen.set(name, (seen.get(name) || 0) + 1);
            }
            return [...seen.keys()];
        }"""
    )


def test_every_page_is_quiet_and_fits(signed_in, site):
    for width, scheme in ((1200, "light"), (360, "dark")):
        page = signed_in(width, scheme)
        for path in PAGES:
            page.goto(site.board.path(path))
            page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert beyond == 0, (path, width)


def test_the_picture_is_drawn_in_the_colours_of_the_legend(signed_in, site):
    page = signed_in()
    page.goto(site.board.path(BUTTON))
    in_time(lambda: {"0,114,178", "213,94,0", "0,138,101", "168,71,138"} <= set(colours(page)))
    page.emulate_media(color_scheme="dark")
    in_time(lambda: {"86,180,233", "255,139,77"} <= set(colours(page)))
    page.locator("#means canvas").scroll_into_view_if_needed()
    box = page.locator("#means canvas").bounding_box()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2, steps=5)
    page.locator("#means .readout", has_text=re.compile(r"Epoch 2: blue 0\.\d+ ± 0\.\d+, green 0\.\d+")).wait_for()
    page.set_viewport_size({"width": 500, "height": 700})
    for _ in range(100):  # not wait_for_function, whose eval the policy refuses
        if page.evaluate("() => document.querySelector('#means .uplot').clientWidth < 480"):
            break
        page.wait_for_timeout(100)
    else:
        raise AssertionError("the picture is as wide as before")


def test_the_picture_of_lifts_tells_a_look_and_follows_the_control(signed_in, site):
    page = signed_in()
    page.goto(site.board.path(BUTTON))
    page.locator("#lifts canvas").scroll_into_view_if_needed()
    box = page.locator("#lifts canvas").bounding_box()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2, steps=5)
    told = re.compile(r"After epoch 2: green −\d+\.?\d* %, −\d+\.?\d* % to −\d+\.?\d* %; red −")
    page.locator("#lifts .readout", has_text=told).wait_for()
    page.get_by_label("Compare with").select_option("red")
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_text("Lift against red, with intervals of 95 %").wait_for()
    assert "control=red" in page.url
    site.board.deal("button-colour", 777)  # the part that comes later is about the same control
    page.get_by_text(f"{DEALT + 777:,}").first.wait_for()
    assert page.get_by_text("Lift against red, with intervals of 95 %").is_visible()
    assert page.locator("#lifts canvas").count() == 1


def test_names_stay_text(signed_in, site):
    page = signed_in()
    page.goto(site.board.path(BUTTON))
    assert page.get_by_text(NASTY, exact=True).count() >= 2
    assert page.locator("b[onclick]").count() == 0


def test_the_page_follows_the_experiment_and_leaves_the_reader_alone(signed_in, site):
    page = signed_in()
    page.goto(site.board.path(BUTTON))
    page.get_by_text("Every release, as it left").click()
    page.get_by_text("Stop…").click()
    stop = page.get_by_role("button", name="Stop it for good")
    stop.focus()
    page.evaluate("document.querySelector('#means canvas').dataset.same = 'yes'")
    site.board.deal("button-colour", 777)
    page.get_by_text(f"{DEALT + 777:,}").first.wait_for()
    assert page.locator("#all-releases").get_attribute("open") is not None
    assert stop.is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Stop it for good"
    assert page.locator("#means canvas[data-same=yes]").count() == 1
    site.board.deal("button-colour", 1)  # and again: the part that came is refreshed too
    page.get_by_text(f"{DEALT + 778:,}").first.wait_for()
    assert page.locator("#connection").is_hidden()


def test_a_hidden_page_asks_for_nothing_and_catches_up_when_it_is_shown(signed_in, site):
    page = signed_in()
    asked = []
    page.on("response", lambda response: asked.append(response.status) if response.url.endswith("/live") else None)
    page.goto(site.board.path(BUTTON))
    in_time(lambda: page.wait_for_timeout(50) or 304 in asked)
    hide = """(hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(hide, True)
    asked.clear()
    site.board.deal("button-colour", 5)
    page.wait_for_timeout(6000)
    assert asked == []
    page.evaluate(hide, False)
    page.get_by_text(f"{DEALT + 5:,}").first.wait_for(timeout=3000)


def test_a_table_that_is_too_wide_says_so(signed_in, site):
    page = signed_in(390)
    page.goto("/ledger")
    box = page.locator(".scroll").first
    assert "more-right" in box.get_attribute("class")
    box.evaluate("(each) => { each.scrollLeft = 9999; }")
    in_time(lambda: "more-left" in box.get_attribute("class"))


def test_a_service_that_does_not_answer_is_said(browser, site):
    context = browser.new_context(base_url=site.address)
    page = context.new_page()
    page.goto("/login")
    page.get_by_label("Your key").fill(site.key)
    page.keyboard.press("Enter")
    page.wait_for_url("**/")
    page.goto(site.board.path(BUTTON))
    notice = page.get_by_text("The service does not answer")
    page.route("**/live", lambda route: route.abort())
    notice.wait_for(timeout=20_000)
    assert page.get_by_text("Noisy means").first.is_visible()
    page.unroute("**/live")
    notice.wait_for(state="hidden", timeout=20_000)
    context.close()


def test_a_key_that_is_revoked_meanwhile_leads_to_the_sign_in(browser, site):
    context = browser.new_context(base_url=site.address)
    page = context.new_page()
    page.goto("/login")
    page.get_by_label("Your key").fill(site.key)
    page.keyboard.press("Enter")
    page.wait_for_url("**/")
    page.goto(site.board.path(BUTTON))
    site.control.make_key(NewKey("another admin", ["admin"]))
    site.control.revoke_key(site.control.authenticate(site.key).id)
    page.wait_for_url("**/login?**", timeout=20_000)
    context.close()


def test_a_new_experiment_by_keyboard_alone(signed_in, site):
    page = signed_in()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "New experiment"
    page.keyboard.press("Enter")
    page.wait_for_url("**/experiments/new")
    page.get_by_label("Name", exact=True).focus()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.type("by keyboard")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    assert page.evaluate("document.activeElement.getAttribute('role')") == "alert"
    assert page.get_by_label("Name", exact=True).input_value() == "by keyboard"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    name = page.get_by_label("Name", exact=True)
    name.focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("by-keyboard")
    page.keyboard.press("Tab")
    page.keyboard.type("What is it for")
    page.keyboard.press("Tab")
    page.keyboard.type("blue")
    page.keyboard.press("Enter")
    page.keyboard.type("red")
    page.keyboard.press("Tab")
    page.keyboard.type("red")  # the control
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "algorithm"
    page.keyboard.type("dp-nas-rel")
    page.get_by_label("Alpha").wait_for()
    page.keyboard.press("Home")
    first = page.locator("#algorithm option").first.get_attribute("value")
    about = {each.name: each.about for each in site.control.algorithms()}[first]
    page.get_by_text(about[:30]).wait_for()
    page.get_by_role("button", name="Save the draft").focus()
    page.keyboard.press("Enter")
    page.get_by_text("The draft is saved").wait_for()
    assert "done=" not in page.url
    made = site.control.experiment("by-keyboard")
    assert ([arm.name for arm in made.arms], made.control) == (["blue", "red"], "red")


def answer(program, experiment, people):
    """A program that assigns people and reports what they did: blue is better."""
    asked = {"units": [f"person {number}" for number in people]}
    given = program.post(f"/v1/experiments/{experiment}/assignments", json=asked).json()["assignments"]
    rewards = [
        {"assignment": one["assignment"], "reward": 1.0 if one["arm"] == "blue" else 0.0}
        for one in given
        if one["learn"]
    ]
    if rewards:
        assert program.post("/v1/rewards:batch", json={"rewards": rewards}).is_success


def revoke(page, name):
    """End a key, by its buttons."""
    page.goto("/keys")
    row = page.get_by_role("listitem").filter(has_text=name)
    row.get_by_text("Revoke…").click()
    row.get_by_role("button", name="Revoke the key").click()
    page.get_by_text("revoked").first.wait_for()


def test_an_experiment_from_its_form_to_its_answer_on_the_real_service(browser, tmp_path):
    httpx = pytest.importorskip("httpx")
    from tests._tools import live_service

    complaints = []
    with live_service.running(tmp_path / "service.db") as live:
        context = browser.new_context(base_url=live.address)
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto("/")
        page.get_by_label("Your key").fill(live.key)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="No experiment yet").wait_for()
        page.get_by_role("link", name="New experiment").click()
        page.get_by_label("Name", exact=True).fill("colours")
        page.get_by_label("Arms").fill("blue\nred")
        page.get_by_label("How long a reward may take").fill("1")
        page.get_by_label("Unit of the time").select_option("seconds")
        page.get_by_role("button", name="Save the draft").click()
        page.get_by_text("Start…").click()
        page.get_by_role("button", name="Start it").click()
        page.get_by_role("heading", name="What next?").wait_for()
        experiment = page.url.rpartition("/")[2]
        page.goto("/keys")
        page.get_by_label("For", exact=True).fill("shop")
        page.get_by_label("assign").check()
        page.get_by_label("report").check()
        page.get_by_role("button", name="Make the key").click()
        key = page.locator("#made-key").input_value()
        page.goto(f"/experiments/{experiment}")
        with httpx.Client(base_url=live.address, headers={"Authorization": f"Bearer {key}"}) as program:
            for start in range(0, 20_000, 500):
                answer(program, experiment, range(start, start + 500))
                if page.locator("#means canvas").count() and page.get_by_text("blue is the best arm").count():
                    break
                time.sleep(0.5)
        page.get_by_text("blue is the best arm").wait_for()
        page.get_by_text("red was").first.wait_for()
        page.locator("#means canvas").wait_for()
        page.goto("/ledger")
        assert page.get_by_role("row").filter(has_text="colours").count() >= 2  # set aside, and released
        revoke(page, "shop")
        time.sleep(1.1)  # for which a key is remembered
        refused = httpx.get(f"{live.address}/v1/experiments", headers={"Authorization": f"Bearer {key}"})
        assert refused.status_code == 401
        for path in ("/", "/keys", f"/experiments/{experiment}"):
            page.goto(path)
            assert page.get_by_role("heading", level=1).count() == 1
        context.close()
    assert serious(complaints) == []


def test_start_asks_first(signed_in, site):
    page = signed_in()
    page.goto(site.board.path("/experiments/{reminder_text}"))
    page.get_by_text("Start…").click()
    page.get_by_role("button", name="Start it").click()
    page.get_by_text("The experiment has started").wait_for()
    assert site.control.experiment("reminder-text").state == "running"


def test_a_key_is_copied(signed_in):
    page = signed_in()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/keys")
    page.get_by_label("For", exact=True).fill("phone")
    page.get_by_label("report").check()
    page.get_by_role("button", name="Make the key").click()
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#made-key").input_value()
