"""The dashboard without a browser: who gets in, what pages say, and what they never say."""

import hashlib
import html
import json
import re
import warnings
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from starlette.applications import Starlette

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another httpx
    from starlette.testclient import TestClient

from discreet.service import dashboard
from discreet.service.dashboard import pages, sessions, shared
from discreet.service.dashboard.formatting import apart, within
from discreet.service.dashboard.forms import experiment as form
from discreet.service.dashboard.summaries import chart, eliminations, headline, progress
from discreet.service.experiments import tokens
from discreet.service.experiments.control import Control
from discreet.service.http.app import Outermost
from discreet.service.http.metrics import Metrics
from discreet.service.messages import AssignRequest, NewKey
from discreet.service.storage import EndedSession
from tests._tools.service_board import DAY, DEALT, HOUR, NASTY, NOW, Board, furnish
from tests._tools.service_copies import copies, statements
from tests._tools.service_tools import World, new_file

BUTTON = "/experiments/{button_colour}"
DRAFT = "/experiments/{reminder_text}"
READABLE = [
    "/",
    BUTTON,
    "/experiments/{reminder_time}",
    "/experiments/{churn_rate}",
    "/experiments/{first_dose}",
    "/experiments/{old_layout}",
    DRAFT,
    f"{DRAFT}/test",
    "/ledger",
    "/ledger?population=patients-2026",
    "/ledger/everybody/report",
    f"{BUTTON}/report",
    "/experiments/{first_dose}/report",
    "/planner",
    "/planner?arms=4&epsilon=1&gap=0.05&beta=0.05&per_hour=500&window=1&window_unit=days",
    "/planner?arms=3&epsilon=1&base_rate=10&lift=50&per_hour=500",
    "/planner?arms=2&epsilon=1&base_rate=10&lift=50&per_hour=500&policy=dp-ab",
    "/planner?arms=2&epsilon=1&base_rate=10&lift=50&policy=dp-ab-open",
]
CHANGING = ["/experiments/new", f"{DRAFT}/edit", "/keys"]
EVERY = [*READABLE, *CHANGING]
STATIC = Path(pages.STATIC)


class Tags(HTMLParser):
    """Every tag of a page with its attributes, as a browser reads them."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


@pytest.fixture(scope="session")
def furnished(tmp_path_factory):
    path = tmp_path_factory.mktemp("board") / "furnished.db"
    furnish(path)
    return path


@pytest.fixture
def board(furnished, tmp_path):
    opened = Board(furnished, tmp_path)
    yield opened
    opened.world.database.close()


@pytest.fixture
def control(board):
    return board.control


class Visitor(TestClient):
    """A browser that knows the experiments by their names."""

    def __init__(self, board, control=None, secure=False):
        self.board = board
        pages = Starlette(routes=dashboard.routes(control or board.control, secure))
        address = "https://board.example" if secure else "http://board.example"
        super().__init__(Outermost(pages, Metrics()), base_url=address)

    def request(self, method, url, **more):
        return super().request(method, self.board.path(url) if "{" in str(url) else url, **more)


def token_in(page):
    return html.unescape(re.search(r'name="token" value="([^"]+)"', page.text)[1])


def sign_in(board, key="admin", secure=False, control=None):
    client = Visitor(board, control, secure)
    token = token_in(client.get("/login"))
    data = {"token": token, "key": board.keys.get(key, key), "next": "/"}
    assert client.post("/login", data=data, follow_redirects=False).status_code == 303
    return client


def post(client, path, data=None, follow_redirects=True):
    return client.post(
        path, data={"token": token_in(client.get("/planner")), **(data or {})}, follow_redirects=follow_redirects
    )


@pytest.fixture
def admin(board):
    return sign_in(board)


# ---------------------------------------------------------------------- getting in


@pytest.mark.parametrize("path", EVERY)
def test_every_page_asks_strangers_to_sign_in_and_then_leads_back(board, path):
    client, path = Visitor(board), board.path(path)
    answer = client.get(path, follow_redirects=False)
    assert answer.status_code == 303
    where = urlsplit(answer.headers["location"])
    assert where.path == "/login"
    assert parse_qs(where.query)["next"] == [path]
    form = client.get(answer.headers["location"])
    data = {"token": token_in(form), "key": board.keys["admin"], "next": path}
    assert client.post("/login", data=data, follow_redirects=False).headers["location"] == path


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x"])
def test_signing_in_leads_nowhere_else(board, elsewhere):
    client = Visitor(board)
    token = token_in(client.get("/login", params={"next": elsewhere}))
    data = {"token": token, "key": board.keys["admin"], "next": elsewhere}
    answer = client.post("/login", data=data, follow_redirects=False)
    assert answer.headers["location"] == "/"


def test_the_session_cookie_is_kept_from_scripts_other_sites_and_plain_http(board):
    for secure in (False, True):
        client = Visitor(board, secure=secure)
        token = token_in(client.get("/login"))
        data = {"token": token, "key": board.keys["admin"]}
        answer = client.post("/login", data=data, follow_redirects=False)
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert ("Secure" in cookie) == secure
        assert cookie.startswith("__Host-") == secure
        assert board.keys["admin"] not in cookie
        assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    ("key", "status", "words"),
    [
        ("", 422, "Paste your key"),
        ("nobody", 401, "unknown, has expired or was revoked"),
        ("x" * 10_000, 401, "unknown"),
        ("program", 403, "This key is for assign and report only"),
    ],
)
def test_keys_that_do_not_open_are_told_why(board, key, status, words):
    client = Visitor(board)
    data = {"token": token_in(client.get("/login")), "key": board.keys.get(key, key)}
    answer = client.post("/login", data=data)
    assert answer.status_code == status
    assert words in answer.text
    assert "key" not in answer.cookies
    assert client.get("/", follow_redirects=False).status_code == 303


def test_a_revoked_key_is_out_at_the_next_request(board, control, admin):
    assert admin.get("/").status_code == 200
    control.make_key(NewKey("another admin", ["admin"]))
    control.revoke_key(control.authenticate(board.keys["admin"]).id)
    assert admin.get("/", follow_redirects=False).headers["location"].startswith("/login")


def test_an_expired_key_and_an_old_session_are_out(board):
    analyst = sign_in(board, "analyst")
    board.clock.now = NOW + 13 * HOUR
    assert analyst.get("/", follow_redirects=False).status_code == 303
    board.clock.now = NOW + 14 * HOUR
    guest = sign_in(board, "guest")
    assert guest.get(BUTTON).status_code == 200
    board.clock.now = NOW + 16 * HOUR  # the key has ended, and the session has not
    assert guest.get(BUTTON, follow_redirects=False).status_code == 303


def test_a_forged_or_damaged_session_is_nobody(board, control):
    client = Visitor(board)
    session = sessions.Session("s", control.authenticate(board.keys["admin"]).id, NOW + DAY)
    forged = sessions.seal(b"1" * 32, session)
    good = sessions.seal(control.session_secret, session)
    for cookie in (forged, good[:-2], good.replace(".", ""), ".", "ä.ö", "x" * 5000, ""):
        assert sessions.unseal(control.session_secret, cookie, NOW) is None
    client.cookies.set("discreet-session", forged)
    assert client.get("/", follow_redirects=False).status_code == 303
    client.cookies.set("discreet-session", good)
    assert client.get("/").status_code == 200


def test_an_address_that_is_not_there(board, admin):
    asked = {"Accept": "text/html,*/*"}
    page = admin.get("/nowhere", headers=asked)
    assert page.status_code == 404
    assert "There is no such page" in page.text
    assert page.headers["content-security-policy"]
    assert Visitor(board).get("/nowhere", headers=asked).status_code == 404
    for path, accept in (("/v1/nowhere", "text/html"), ("/nowhere", "application/json")):
        assert admin.get(path, headers={"Accept": accept}).text == "Not Found"  # the application answers these


def test_signing_out(admin):
    answer = post(admin, "/logout")
    assert "You are signed out" in answer.text
    assert admin.get("/", follow_redirects=False).status_code == 303


def test_signing_out_ends_copies_of_the_cookie_in_all_workers_and_no_other_session(board, admin):
    thief, other = Visitor(board, Control(board.control.database)), sign_in(board)
    thief.cookies.set("discreet-session", admin.cookies["discreet-session"])
    assert thief.get("/").status_code == 200
    token = token_in(admin.get("/planner"))
    post(admin, "/logout")
    assert thief.get("/", follow_redirects=False).status_code == 303
    assert thief.post("/ledger", data={"token": token}, follow_redirects=False).status_code == 303
    assert thief.post("/logout", data={"token": token}, follow_redirects=False).status_code == 303
    assert other.get("/").status_code == 200


def test_ended_sessions_are_forgotten_when_they_would_be_over(board):
    for _ in range(2):
        post(sign_in(board), "/logout")
    board.clock.wait(12 * HOUR)
    board.control.end_session("s", board.clock.now + 1)
    board.control.end_session("s", board.clock.now + 1)  # as often as one likes
    with board.control.database.reading() as transaction:
        assert [one.id for one in transaction.rows(EndedSession)] == ["s"]


def test_a_refresh_without_a_session_sends_the_whole_page_to_the_sign_in(board):
    answer = Visitor(board).get(f"{BUTTON}/live", headers={"HX-Request": "true"}, follow_redirects=False)
    assert answer.status_code == 401
    assert answer.headers["hx-redirect"].startswith("/login")


# ---------------------------------------------------------------------- who may do what

POSTS = [
    "/experiments/new",
    f"{DRAFT}/edit",
    f"{DRAFT}/start",
    f"{DRAFT}/delete",
    f"{BUTTON}/pause",
    f"{BUTTON}/stop",
    "/ledger",
    "/keys",
    "/keys/somebody/revoke",
]


def everything(control):
    return msgspec.json.encode([control.experiments(), control.keys(), control.populations()])


@pytest.mark.parametrize("path", [*POSTS, "/logout"])
def test_a_form_without_its_token_does_nothing(board, control, admin, path):
    before = everything(control)
    other = sign_in(board, "analyst")
    for token in ("", "wrong", token_in(other.get("/planner"))):
        assert admin.post(path, data={"token": token}, follow_redirects=False).status_code == 403
    assert everything(control) == before


def test_the_sign_in_form_needs_its_token_too(board):
    client, key = Visitor(board), board.keys["admin"]
    token = token_in(client.get("/login"))
    assert Visitor(board).post("/login", data={"token": token, "key": key}).status_code == 403
    assert client.post("/login", data={"key": key}).status_code == 403


def test_a_form_from_another_site_does_nothing_even_with_a_token(control, admin):
    answer = admin.post(
        f"{BUTTON}/pause", data={"token": token_in(admin.get("/planner"))}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert answer.status_code == 403
    assert control.experiment("button-colour").state == "running"


@pytest.mark.parametrize("path", POSTS)
def test_analysts_change_nothing(board, control, path):
    analyst = sign_in(board, "analyst")
    assert post(analyst, path).status_code == 403
    assert control.experiment("button-colour").state == "running"


def test_analysts_see_pages_but_no_buttons(board):
    analyst = sign_in(board, "analyst")
    for path in READABLE:
        page = analyst.get(path)
        assert page.status_code == 200
        assert re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)"', page.text) == ["/logout"]
        assert 'href="/experiments/new"' not in page.text
        assert 'href="/keys"' not in page.text
    for path in CHANGING:
        assert analyst.get(path).status_code == 403


def test_a_key_for_one_experiment_sees_that_one_only(board):
    guest = sign_in(board, "guest")
    listed = guest.get("/").text
    assert "button-colour" in listed
    assert "churn-rate" not in listed
    assert guest.get(BUTTON).status_code == 200
    assert guest.get(f"{BUTTON}/live").status_code == 200
    for path in ("/experiments/{churn_rate}", "/experiments/{churn_rate}/live", DRAFT, "/ledger", "/keys"):
        answer = guest.get(path)
        assert answer.status_code == 403
        assert "churn-rate" not in answer.text


def test_an_admin_for_one_experiment_cannot_reach_further(board, control):
    """Such a key cannot be made any more; one that was must not reach further."""
    with pytest.raises(Exception, match="cannot have the scope admin"):
        control.make_key(NewKey("owner", ["admin"], "button-colour"))
    board.world.run("UPDATE api_key SET scopes = '[\"admin\"]' WHERE name = 'guest'")
    owner = sign_in(board, "guest")
    assert post(owner, f"{BUTTON}/pause").status_code == 200
    assert control.experiment("button-colour").state == "paused"
    for path in ("/experiments/{churn_rate}/pause", "/experiments/new", "/keys", "/ledger"):
        assert post(owner, path).status_code == 403


# ---------------------------------------------------------------------- what every page is like


@pytest.mark.parametrize("path", [*EVERY, "/login", f"{BUTTON}/live", "/refresh", "/experiments/nothing"])
def test_pages_keep_to_the_policy(board, admin, path):
    client = Visitor(board) if path == "/login" else admin
    page = client.get(path)
    assert page.status_code == (404 if path.endswith("nothing") else 200)
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"
    for name, value in (("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")):
        assert page.headers.get_list(name) == [value]
    tags = Tags(page.text).found
    assert tags
    for tag, attributes in tags:
        assert tag != "style"
        assert tag != "script" or attributes["src"].startswith("/static/")
        for name, value in attributes.items():
            assert not name.startswith(("on", "hx-on", "style"))
            if name in ("src", "href", "action"):
                assert re.match(r"/(?!/)|#", value)
            assert not name.startswith("hx-") or not (value or "").startswith(("js:", "javascript:"))


@pytest.mark.parametrize("path", [BUTTON, f"{BUTTON}/live", DRAFT, f"{DRAFT}/edit", "/", "/keys", "/ledger"])
def test_names_are_shown_as_text(admin, path):
    text = admin.get(path).text
    for raw in (NASTY, "<b onclick", "<script>alert", "<i>and</i>", "<grace@"):
        assert raw not in text


def test_names_are_escaped_in_every_place_where_they_stand(admin):
    text = admin.get(BUTTON).text
    assert text.count("&lt;b onclick=&#34;alert(&#39;x&#39;)&#34;&gt;amber&lt;/b&gt; &amp; co") >= 4
    data = html.unescape(re.search(r'data-chart="([^"]*)"', text)[1])
    assert msgspec.json.decode(data)["series"][3]["name"] == NASTY


@pytest.mark.parametrize("path", EVERY)
def test_pages_are_for_keyboards_and_readers(admin, path):
    text = admin.get(path).text
    assert text.count("<h1") == 1
    assert '<html lang="en">' in text
    assert 'class="skip" href="#main"' in text
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    for kind, attributes in re.findall(r"<(input|select|textarea)\b([^>]*)>", text):
        if (
            'type="hidden"' in attributes
            or " hidden" in attributes
            or re.search(r'type="(radio|checkbox)"', attributes)
        ):
            continue  # radios and boxes stand inside their labels
        name = re.search(r'\sid="([^"]+)"', attributes)
        assert "aria-label=" in attributes or f'<label for="{name[1]}"' in text, (kind, attributes)
    for reference in re.findall(r'aria-(?:describedby|labelledby)="([^"]+)"', text):
        assert set(reference.split()) <= set(ids)
    for table in re.findall(r"<table>.*?</table>", text, re.DOTALL):
        assert "<caption" in table
        assert 'scope="col"' in table


def test_moments_are_relative_and_exact(admin):
    text = admin.get(BUTTON).text
    assert re.search(
        r'<time datetime="2026-\S+Z" title="\d+ November 2026, \d\d:\d\d:\d\d UTC">6 days ago</time>', text
    )


def test_static_files_are_kept_for_ever_and_change_their_address(board):
    client = Visitor(board)
    page = client.get("/login").text
    for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', page):
        file = client.get(html.unescape(address))
        assert file.status_code == 200
        assert "immutable" in file.headers["cache-control"]
        assert file.headers["x-content-type-options"] == "nosniff"
    assert client.get("/static/../__init__.py").status_code == 404
    assert client.get("/static/%2e%2e/pages.py").status_code == 404


def test_vendored_files_are_those_that_were_published():
    rows = re.findall(r"^\| `(\S+)` .* `([0-9a-f]{64})` \|$", (STATIC / "vendor/README.md").read_text(), re.MULTILINE)
    assert len(rows) == 3
    for name, digest in rows:
        assert hashlib.sha256((STATIC / "vendor" / name).read_bytes()).hexdigest() == digest
    assert {path.name for path in (STATIC / "vendor").iterdir()} == {name for name, _ in rows} | {
        "README.md",
        "htmx.LICENSE",
        "uPlot.LICENSE",
    }


def test_all_files_of_the_dashboard_are_packaged():
    patterns = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    for folder in ("templates/*.html", "static/*", "static/vendor/*"):
        assert f'"service/dashboard/{folder}"' in patterns


# ---------------------------------------------------------------------- one experiment


def test_it_says_who_went_and_why(board, admin):
    text = html.unescape(admin.get(BUTTON).text)
    for number, arm in ((1, NASTY), (2, "green")):
        epoch = board.control.epochs("button-colour")[number - 1]
        means = {release.arm: release.mean for release in epoch.releases}
        assert max(means, key=means.get) == "blue"
        gap, threshold = apart(means["blue"] - means[arm], epoch.threshold)
        assert f"{arm} was {gap} behind blue, more than the threshold {threshold}, after epoch {number}." in text
    assert "blue and red are still in, out of 4 arms. Epoch 3 is open." in text


def test_it_shows_the_label_the_progress_and_the_plan(board, admin):
    text, view = admin.get(BUTTON).text, board.control.experiment("button-colour")
    (blue,) = [arm for arm in view.arms if arm.name == "blue"]
    for words in (
        "Privacy label",
        "at most 3,269,017 times as likely",
        "once in each epoch",
        "Proved by machine (Promises.persons_are_private).",
        "Not promised",
        f"<strong>{DEALT:,}</strong> of {view.epoch.quota:,} assigned",
        f"{view.epoch.quota - DEALT:,} more to assign at",
        f"{view.epoch.planned['blue']:,} × 2 arms",
        within(blue.mean, blue.radius),
        "out after epoch 1",
    ):
        assert words in text


def test_nothing_but_public_numbers_moves_the_expected_close(board):
    view = board.control.experiment("button-colour")
    seen = progress(view, NOW)
    rate = DEALT / (NOW - view.epoch.opened_at)
    assert seen.closes_at == pytest.approx(NOW + (view.epoch.quota - DEALT) / rate + HOUR)
    changed = msgspec.structs.replace(view, arms=[], spent="0", best=None)  # nothing that was released plays a part
    assert progress(changed, NOW) == seen
    board.deal("button-colour", 1000)
    assert progress(board.control.experiment("button-colour"), NOW).closes_at < seen.closes_at


def test_the_outlook_in_every_state(control):
    def words(name, now=NOW, **changes):
        return progress(msgspec.structs.replace(control.experiment(name), **changes), now).words

    assert "nobody has been assigned yet" in words("reminder-time")
    assert "All are assigned" in words("churn-rate")
    assert "any moment" in words("churn-rate", NOW + HOUR)
    assert "Paused" in words("button-colour", state="paused")
    assert "Paused" in words("churn-rate", state="paused")
    assert "handed in" in words("button-colour", source="totals")
    epoch = msgspec.structs.replace(control.experiment("button-colour").epoch, learns=False)
    assert "learns nothing" in words("button-colour", epoch=epoch)
    assert progress(control.experiment("reminder-text"), NOW) is None


def test_reasons_when_the_policy_has_no_threshold_or_releases_nothing(control):
    """With means of our own, which no noise moves."""
    epoch = control.epochs("button-colour")[1]
    means = {"blue": 0.3124, "green": 0.2293, "red": 0.2871}
    shown = [msgspec.structs.replace(one, mean=means[one.arm]) for one in epoch.releases]

    def words(**changes):
        ((found,),) = [eliminations([msgspec.structs.replace(epoch, **{"releases": shown, **changes})])]
        return found.words

    assert words(threshold=0.0712) == "green was 0.083 behind blue, more than the threshold 0.071, after epoch 2."
    assert words(threshold=None) == "green was 0.083 behind blue, more than noise and chance explain, after epoch 2."
    assert words(threshold=0.5) == "green was dropped after epoch 2, 0.083 behind blue."
    assert words(releases=[]) == "green was dropped after epoch 2."


def test_what_to_do_when_nothing_is_left_to_find_out(board, admin, monkeypatch):
    honest = Control.whole

    def settled(control, name, query):
        view, *rest = honest(control, name, query)
        return msgspec.structs.replace(view, settled=True, epoch=None), *rest

    monkeypatch.setattr(Control, "whole", settled)
    text = admin.get(BUTTON).text
    assert "Once you stop it" in text
    assert "red could not be told from it" in text


def test_headlines(control):
    assert headline(control.experiment("first-dose")) == "20 mg is the best arm, with probability 0.95 or more."
    assert headline(control.experiment("reminder-time")).startswith("Both arms are still in.")
    assert headline(control.experiment("reminder-text")).startswith("A draft")
    button = msgspec.structs.replace(control.experiment("button-colour"), settled=True, epoch=None)
    assert headline(button) == "Nothing is left to find out: blue leads, and red could not be told from it."
    rule = control.experiment("churn-rate")
    assert headline(rule).startswith("The mean is not known well enough yet.")
    assert headline(msgspec.structs.replace(rule, answer="The mean is 0.05")) == "The mean is 0.05."


def test_the_picture_has_every_arm_and_the_line_to_reach(control):
    view, epochs = control.experiment("button-colour"), control.epochs("button-colour")
    drawn = chart(view, epochs)
    released = [{one.arm: one.mean for one in epoch.releases} for epoch in epochs]
    assert drawn["epochs"] == [1, 2]
    assert [series["name"] for series in drawn["series"]] == ["blue", "green", "red", NASTY]
    assert drawn["series"][3]["means"] == [released[0][NASTY], None]
    assert drawn["line"] == pytest.approx([released[at]["blue"] - epochs[at].threshold for at in (0, 1)])
    means = [one.mean for one in control.releases("churn-rate")]
    assert chart(control.experiment("churn-rate"), control.epochs("churn-rate"))["series"][0]["means"] == means
    assert chart(control.experiment("reminder-time"), control.epochs("reminder-time")) is None


def polled(page):
    """What the browser asks for again: an address and its headers."""
    address, headers = (re.search(rf'{name}="([^"]+)"', page.text)[1] for name in ("hx-get", "hx-headers"))
    return {"url": html.unescape(address), "headers": json.loads(html.unescape(headers))}


@pytest.mark.parametrize("path", ["/", "/?search=button&state=running", BUTTON])
def test_a_part_is_sent_again_only_when_it_says_something_else(board, admin, path, monkeypatch):
    monkeypatch.setattr(shared, "LASTS", 0.0)
    seen = polled(admin.get(path))
    same = admin.get(**seen)
    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["etag"] == seen["headers"]["If-None-Match"]
    board.deal("button-colour", 1)
    fresh = admin.get(**seen)
    assert fresh.status_code == 200
    assert fresh.headers["etag"] == polled(fresh)["headers"]["If-None-Match"]
    assert fresh.text.strip().startswith('<div id="live"')
    assert "<html" not in fresh.text
    assert admin.get(**polled(fresh)).status_code == 304


def test_a_part_is_sent_again_when_its_forecasts_are_old(board, admin):
    seen = polled(admin.get(BUTTON))
    board.clock.wait(600)
    assert admin.get(**seen).status_code == 200


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("path", ["/", "/ledger", "/keys", "/refresh"])
def test_pages_take_as_many_statements_for_many_experiments_as_for_some(board, admin, path, monkeypatch):
    monkeypatch.setattr(shared, "LASTS", 0.0)
    counts = []
    for _ in range(2):
        admin.get(path)
        with statements() as seen:
            assert admin.get(path).status_code == 200
        counts.append(len(seen))
        copies(board.world, "button-colour", 60 * (len(counts) == 1))
    assert counts[0] == counts[1] <= 18


@pytest.mark.usefixtures("unhurried")
def test_whoever_sees_the_same_list_shares_what_was_built_within_a_second(board, admin):
    with statements() as alone:
        first = admin.get("/refresh")
    with statements() as after:
        second = admin.get("/refresh")
    assert (second.content, second.headers["etag"]) == (first.content, first.headers["etag"])
    assert len(after) < len(alone)
    assert not any("epoch" in one for one in after)


def test_a_shared_part_is_built_once_and_again_when_it_is_old(monkeypatch):
    parts, built = shared.Shared(), []
    for key in ("x", "x", "y", "x"):
        parts.get(key, lambda: built.append(1))
    assert len(built) == 2
    monkeypatch.setattr(shared, "LASTS", 0.0)
    parts.get("x", lambda: built.append(1))
    assert len(built) == 3
    for key in range(200):
        parts.get(key, lambda: None)
    assert len(parts._found) <= 64


@pytest.mark.usefixtures("unhurried")
def test_an_unchanged_part_takes_one_statement_besides_the_session(board, admin):
    copies(board.world, "button-colour", 60)
    seen = polled(admin.get("/"))
    with statements() as asked:
        assert admin.get(**seen).status_code == 304
    session = ("FROM api_key", "FROM setting", "FROM ended_session")
    rest = [one for one in asked if "FROM" in one and not any(table in one for table in session)]
    assert len(rest) == 1


def test_a_list_of_many_has_pages_that_need_no_script(board, admin):
    copies(board.world, "button-colour", 60)
    first = admin.get("/")
    assert "1 to 50 of 66" in first.text
    assert "button-colour-59<" in first.text
    following = html.unescape(re.search(r'rel="next" href="([^"]+)"', first.text)[1])
    second = admin.get(following)
    assert "51 to 66 of 66" in second.text
    assert "churn-rate" in second.text
    assert polled(second)["url"] == "/refresh?page=2"
    assert html.unescape(re.search(r'rel="prev" href="([^"]+)"', second.text)[1]) == "/"
    rows = [set(re.findall(r'id="row-([^"]+)"', one.text)) for one in (first, second)]
    assert (len(rows[0]), len(rows[1]), len(rows[0] & rows[1])) == (50, 16, 0)
    assert "The list is shorter by now" in admin.get("/?page=99").text


def test_experiments_are_searched_and_filtered(admin):
    page = admin.get("/?search=PATIENTS&state=")
    assert re.findall(r'<a href="/experiments/exp_[^"]+">([^<]+)</a>', page.text) == ["first-dose"]
    assert 'value="PATIENTS"' in page.text
    page = admin.get("/?state=running")
    assert re.findall(r'<a href="/experiments/exp_[^"]+">([^<]+)</a>', page.text) == [
        "reminder-time", "churn-rate", "button-colour",
    ]  # fmt: skip
    assert "No experiment here" in admin.get("/?search=%22%3E%3Cscript%3E").text
    assert admin.get("/?state=nonsense&page=x").status_code == 200


def test_a_damaged_experiment_is_shown_as_such_beside_the_others(board, admin):
    board.world.run("UPDATE release SET steps = '1' WHERE epoch = 1")
    page = admin.get("/")
    assert page.status_code == 200
    assert page.text.count('<span class="state damaged">') == 3
    assert "Both arms are still in. Epoch 1 is open." in page.text
    assert admin.get("/ledger").status_code == 200
    assert admin.get(BUTTON).status_code == 500


def test_keys_and_lines_have_pages(board, control, admin):
    for number in range(60):
        control.make_key(NewKey(f"key {number}", ["report"]))
        control.set_budget("everybody", str(100 + number))
    page = admin.get("/keys")
    assert page.text.count("never expires") <= 50
    assert "1 to 50 of 65" in page.text
    assert "old laptop" in admin.get("/keys?page=2").text
    lines = control.ledger_page("everybody", 1, 50, 1).lines
    first, second = admin.get("/ledger").text, admin.get("/ledger?population=everybody&page=2").text
    assert f"1 to 50 of {lines}" in first
    assert 'rel="next" href="/ledger?population=everybody&amp;page=2"' in first
    shown = [
        int(number) for text in (first, second) for number in re.findall(r'<th scope="row" class="number">(\d+)<', text)
    ]
    assert shown == list(range(lines, 0, -1))


ASKED = {
    "session_secret", "now", "page_of_experiments", "list_facts", "facts", "names", "experiment", "whole", "create",
    "replace", "delete", "start", "pause", "resume", "stop", "archive", "populations", "ledger", "ledger_page",
    "page_of_populations", "population_report", "privacy_report", "create_population", "page_of_keys", "last_admin",
    "make_key", "revoke_key", "authenticate", "session_key", "end_session", "algorithms", "plan",
}  # fmt: skip


def test_the_planner_keeps_the_test_that_was_chosen(admin):
    text = admin.get("/planner?arms=2&epsilon=1&base_rate=10&lift=50&policy=dp-ab").text
    assert '<option value="dp-ab" selected>dp-ab, an A/B test against the first arm' in text
    assert "B is better by 0.05" in text
    assert "dp-ab-open" in text


def test_pages_show_no_number_that_is_not_public(board, admin):
    """What a page shows of an open epoch is the same whatever was answered: it asks for nothing else."""
    asked = set()

    class Asked:
        def __getattr__(self, name):
            asked.add(name)
            return getattr(board.control, name)

    client = sign_in(board, control=Asked())
    of_a_test = [path for path in EVERY if path.endswith("/test")]  # the one page that may show rewards
    for path in EVERY:
        if path not in of_a_test:
            assert client.get(path).status_code == 200
    assert asked <= ASKED
    for path in of_a_test:
        assert client.get(path).status_code == 200
    assert asked <= ASKED | {"tests"}
    words = " ".join(re.sub(r"<[^>]+>", " ", admin.get(path).text) for path in READABLE).lower()
    for forbidden in ("response rate", "responses", "conversions", "rewards so far", "answered so far"):
        assert forbidden not in words


def test_a_life_of_an_experiment_by_buttons(control, admin):
    for action, state, words in (
        ("start", "running", "has started"),
        ("pause", "paused", "is paused"),
        ("resume", "running", "goes on"),
        ("stop", "stopped", "is stopped"),
        ("archive", "archived", "is archived"),
    ):
        page = post(admin, f"{DRAFT}/{action}")
        assert page.status_code == 200
        assert words in page.text
        assert control.experiment("reminder-text").state == state


def test_what_cannot_be_done_is_said_on_the_experiments_page(control, admin):
    page = post(admin, f"{BUTTON}/start")
    assert page.status_code == 409
    assert "Experiment 'button-colour' is running and cannot be started." in html.unescape(page.text)
    assert "Noisy means" in page.text
    assert post(admin, f"{BUTTON}/explode").status_code == 404
    assert post(admin, "/experiments/nothing/pause").status_code == 404
    assert admin.get(f"{BUTTON}/edit").status_code == 409


def test_a_draft_is_deleted(control, admin):
    assert "The draft is deleted" in post(admin, f"{DRAFT}/delete").text
    assert "reminder-text" not in {view.name for view in control.experiments().experiments}


def test_empty_states_say_what_to_do(board, admin, file, tmp_path):
    empty = World(new_file(file, tmp_path), board.clock)
    key = empty.control.make_key(NewKey("analyst", ["analyse"])).key
    boss, analyst = sign_in(board, empty.key, control=empty.control), sign_in(board, key, control=empty.control)
    assert "No experiment yet" in boss.get("/").text
    assert 'href="/planner"' in boss.get("/").text
    assert "somebody with an admin key" in analyst.get("/").text
    empty.run("DELETE FROM ledger")
    empty.run("DELETE FROM population")
    assert "No population yet" in boss.get("/ledger").text
    assert "make one" in boss.get("/experiments/new").text
    empty.database.close()
    fresh = admin.get("/experiments/{reminder_time}").text
    assert "What next?" in fresh
    assert board.path("/v1/experiments/{reminder_time}/assignments") in fresh


def test_algorithms_are_listed_by_what_they_are_for(admin, control):
    groups = [tag for name, tag in Tags(admin.get("/experiments/new").text).found if name == "optgroup"]
    titles = [tag["label"] for tag in groups]
    assert titles[0] == "Drop arms until the best one is left, and show that"
    assert {"Find the best arm, and end", "Test arms against a control", "Find one mean"} <= set(titles)
    known = control.algorithms()
    listed = [each.name for _, members in form.groups(known) for each in members]
    assert sorted(listed) == sorted(each.name for each in known)


# ---------------------------------------------------------------------- forms


def typed(**changes):
    return {
        "name": "new-one",
        "description": "Hello\r\nthere",
        "arms": "blue\n\n green \n",
        "algorithm": "dp-se-sharp",
        "option.beta": "0.05",
        "option.horizon": "1_000_000",
        "epsilon": "0.5",
        "privacy_unit": "person",
        "contribution": "",
        "population": "everybody",
        "low": "0",
        "high": "1",
        "default_reward": "",
        "window": "90",
        "window_unit": "minutes",
        "source": "assignments",
        **changes,
    }


def test_a_new_experiment(control, admin):
    page = post(admin, "/experiments/new", typed())
    assert page.status_code == 200
    assert "The draft is saved" in page.text
    made = control.experiment("new-one")
    assert [arm.name for arm in made.arms] == ["blue", "green"]
    assert made.options.items() >= {"horizon": 1_000_000}.items()
    assert (made.window, made.default_reward, made.privacy.epsilon) == (5400.0, 0.0, "0.5")
    assert made.description == "Hello\nthere"


def test_a_new_rule_has_no_arms(control, admin):
    data = typed(algorithm="dp-nas-released", arms="", **{"option.alpha": "0.2"})
    assert post(admin, "/experiments/new", data).status_code == 200
    made = control.experiment("new-one")
    assert (made.kind, made.options["alpha"]) == ("rule", 0.2)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("name", "", "Give it a name."),
        ("name", "Green Button", "lower-case letters"),
        ("name", "button-colour", "There is an experiment 'button-colour' already."),
        ("arms", "blue", "two arms or more"),
        ("arms", "blue\nred\nblue", "blue is there 2 times"),
        ("arms", "\n".join(map(str, range(101))), "100 arms at most"),
        ("epsilon", "", "Give a number"),
        ("epsilon", "0,5", "Write it with a point: 0.5."),
        ("epsilon", "0", "above 0"),
        ("epsilon", "-1", "Give a number"),
        ("epsilon", "nan", "Give a number"),
        ("algorithm", "dp-magic", "Choose one of the list"),
        ("option.beta", "often", "Give a number"),
        ("option.beta", "2", "between 0 and 1"),
        ("population", "nobody", "create it first"),
        ("privacy_unit", "nobody", "Choose one of these"),
        ("population", "", "Give it a name"),
        ("low", "x", "Give a number"),
        ("low", "nan", "Give a number"),
        ("high", "0", "above the lowest"),
        ("default_reward", "2", "between the lowest and the highest"),
        ("window", "-1", "0 or more"),
        ("window", "0", "no reward would be in time"),
        ("window", "999999999", "days or less"),
        ("description", "x" * 2001, "2,000 letters at most"),
    ],
)
def test_what_is_wrong_stands_next_to_its_field_and_input_is_kept(admin, field, value, words):
    page = post(admin, "/experiments/new", typed(**{field: value}))
    assert page.status_code in (409, 422)
    text = html.unescape(page.text)
    assert words in text
    assert f'href="#{field}"' in text
    if field not in ("algorithm", "privacy_unit"):
        assert re.search(rf'id="{re.escape(field)}-error"', text)
        assert re.search(rf'id="{re.escape(field)}"[^>]*aria-invalid="true"', text)
        assert (value if len(value) < 100 else "new-one") in text
    assert "everybody" in text


def test_several_errors_at_once_are_all_said(admin):
    text = post(admin, "/experiments/new", typed(name="", arms="", epsilon="")).text
    assert "Some things are not right yet" in text
    assert text.count('class="error"') == 3


def test_what_is_typed_is_escaped_when_it_is_shown_again(admin):
    text = post(admin, "/experiments/new", typed(name='"><script>alert(1)</script>', arms="</textarea><b>")).text
    assert "<script>alert(1)" not in text
    assert "</textarea><b>" not in text


def test_a_draft_is_changed(control, admin):
    text = admin.get(f"{DRAFT}/edit").text
    assert "long &lt;i&gt;and&lt;/i&gt; winding" in text
    assert 'value="0.07"' in text
    page = post(admin, f"{DRAFT}/edit", typed(name="reminder-text", epsilon="2"))
    assert "The draft is saved." in page.text
    assert control.experiment("reminder-text").privacy.epsilon == "2"


def test_an_algorithm_is_described_by_what_it_is_for_and_how_it_goes_about_it(admin):
    for name, purpose in (
        ("dp-se-sharp-person", "Drop arms until the best one is left, and show that."),
        ("dp-chernoff-imed", "Show the best arm as often as possible."),
        ("dp-nas-released", "Find one mean."),
    ):
        shown = admin.get(f"/experiments/new/options?algorithm={name}").text
        assert f"<strong>{purpose}</strong> " in shown


def test_the_options_of_an_algorithm(admin):
    part = admin.get("/experiments/new/options?algorithm=dp-nas-released", headers={"HX-Request": "true"}).text
    assert 'name="option.alpha"' in part
    assert "within 10 %" in part
    assert "<html" not in part
    assert admin.get("/experiments/new/options?algorithm=nothing").status_code == 200


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("arms=1", "2 or more"),
        ("arms=2.5", "whole number"),
        ("beta=1", "below 1"),
        ("gap=0", "above 0"),
        ("gap=1.5", "between 0 and 1"),
        ("gap=0.1&lift=20", "Give a gap or a lift, not both"),
        ("gap=&lift=", "Give the gap; or a base rate and a lift"),
        ("base_rate=&lift=20", "Give the rate that the lift is a share of"),
        ("base_rate=90&lift=20", "must leave room for the best arm"),
        ("base_rate=3&lift=0.00001", "told apart by"),
        ("epsilon=x", "Give a number"),
        ("per_hour=-3", "above 0"),
        ("window=x", "Give a number"),
    ],
)
def test_the_planner_says_what_is_wrong(admin, query, words):
    page = admin.get(f"/planner?{query}")
    assert page.status_code == 422
    assert words in page.text
    assert "No plan yet" in page.text


def test_a_plan(admin):
    text = admin.get("/planner?arms=4&epsilon=1&gap=0.05&beta=0.05&per_hour=500&window=1&window_unit=days").text
    assert re.search(r"<strong>[\d,]+</strong> assignments", text)
    assert "Ends after" in text
    assert "in the worst case" in text
    assert "on average" not in text
    assert "No plan yet" in admin.get("/planner").text


def test_a_plan_with_a_base_rate_is_a_forecast(admin):
    text = admin.get("/planner?arms=2&epsilon=1&base_rate=30&lift=50&per_hour=500&window=1&window_unit=days").text
    assert re.search(r"<strong>[\d,]+</strong> assignments on average, about <strong>\d+ (hours|days)</strong>", text)
    assert "Whatever the rates" in text
    both = admin.get("/planner?arms=2&epsilon=1&base_rate=30&gap=0.15&per_hour=500&window=1&window_unit=days").text
    assert both[both.index("on average") - 30 :][:100] == text[text.index("on average") - 30 :][:100]


def test_the_ledger(board, admin):
    text = admin.get("/ledger").text
    assert "<strong>ε 19</strong> left of 40" in text
    assert "were not checked yet" in text
    assert "spent by a release" in text
    lines = board.control.ledger_page("everybody", 1, 50, 1).lines
    for path in ("/ledger?verify=true", "/ledger"):
        assert f"the chain holds up to line {lines} of {lines}, as was checked" in admin.get(path).text
    board.world.run("UPDATE ledger SET at = at + 1 WHERE kind = 'release'")
    assert "This ledger is damaged" not in admin.get("/ledger").text
    assert "This ledger is damaged" in admin.get("/ledger?population=everybody&verify=true").text
    assert admin.get("/ledger?population=nobody").status_code == 404


def test_a_new_population(control, admin):
    assert "The population is there" in post(admin, "/ledger", {"name": "visitors", "budget": "3"}).text
    assert control.ledger("visitors").population.budget == "3"
    for data, words in (
        ({"name": "visitors", "budget": "3"}, "already"),
        ({"name": "Visitors!", "budget": "3"}, "lower-case"),
        ({"name": "others", "budget": "lots"}, "Give a number"),
    ):
        page = post(admin, "/ledger", data)
        assert page.status_code in (409, 422)
        assert words in page.text


def test_a_new_key_is_shown_once(control, admin):
    page = post(admin, "/keys", {"name": "phone <app>", "scopes": ["report", "analyse"], "days": "30"})
    secret = re.search(r'id="made-key"[^>]*value="([^"]+)"', page.text)[1]
    assert control.authenticate(secret).expires_at == NOW + 30 * DAY
    assert "only time that it is shown" in page.text
    assert "knows rewards anyway" in page.text
    assert page.headers["cache-control"] == "no-store"
    assert secret not in admin.get("/keys").text
    assert "phone &lt;app&gt;" in admin.get("/keys").text


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"name": "", "scopes": ["report"], "days": ""}, "Say who or what it is for"),
        ({"name": "x", "days": ""}, "Choose what the key may do"),
        ({"name": "x", "scopes": ["root"], "days": ""}, "Choose what the key may do"),
        ({"name": "x", "scopes": ["report"], "days": "7"}, "Choose one of these"),
        ({"name": "x" * 201, "scopes": ["report"], "days": ""}, "200 letters at most"),
    ],
)
def test_keys_that_cannot_be_made(control, admin, data, words):
    before = len(control.keys().keys)
    page = post(admin, "/keys", data)
    assert page.status_code == 422
    assert words in page.text
    assert len(control.keys().keys) == before


def test_revoking_a_key(board, control, admin):
    program, own = (control.authenticate(board.keys[name]).id for name in ("program", "admin"))
    assert "is revoked" in post(admin, f"/keys/{program}/revoke").text
    assert control.authenticate(board.keys["program"]) is None
    assert [key.revoked_at for key in control.keys().keys if key.id == program] == [NOW]
    assert post(admin, "/keys/nothing/revoke").status_code == 404
    assert "It cannot be revoked: it is the last key" in admin.get("/keys").text
    refused = post(admin, f"/keys/{own}/revoke")
    assert (refused.status_code, "Make another one first" in refused.text) == (409, True)
    control.make_key(NewKey("another admin", ["admin"]))
    assert "It cannot be revoked" not in admin.get("/keys").text
    assert post(admin, f"/keys/{own}/revoke").url.path == "/login"


def test_a_form_that_is_too_large_or_no_form(admin):
    assert admin.post("/experiments/new", content=b"x" * 1_100_000).status_code == 413
    assert admin.post("/experiments/new", content=b"\xff\xfe").status_code == 400
    assert admin.post("/experiments/new", content=b"&".join([b"a=b"] * 2000)).status_code == 400


# ---------------------------------------------------------------------- test mode


def test_a_test_is_begun_looked_at_and_ended(admin, board, control):
    assert "Begin a test" in admin.get(DRAFT).text
    page = post(admin, f"{DRAFT}/test")
    assert page.status_code == 200
    assert "The draft is in test mode." in page.text
    assert "Nobody was assigned yet." in page.text
    given = control.tests.assign("reminder-text", AssignRequest([f"person-<{one}>" for one in range(3)]))
    places = [tokens.open_token(control.token_secret, one.assignment) for one in given]
    assert control.tests.tell([(places[0], 7.25), (places[1], 0.5)]) == ["accepted", "accepted"]
    page = admin.get(f"{DRAFT}/test")
    assert "7.25" in page.text
    assert "person-&lt;0&gt;" in page.text
    assert "These units are not protected" in page.text
    assert "exact sums are shown to nobody" in admin.get(DRAFT).text
    assert "Shown here is what was sent in a test, rewards too" in page.text  # and not what other pages promise
    assert "1 of 2 rewards is outside 0 to 1" in page.text
    assert post(admin, f"{DRAFT}/test").status_code == 409
    for path in ("/", DRAFT, f"{DRAFT}/test", f"{DRAFT}/test/live"):
        assert "not protected" in admin.get(path).text, path
    assert "7.25" not in admin.get("/").text + admin.get(DRAFT).text
    page = post(admin, f"{DRAFT}/test/end")
    assert "all that was sent in it is deleted" in page.text
    assert "7.25" not in admin.get(f"{DRAFT}/test").text


def test_a_test_is_refreshed_when_something_has_come(admin, control):
    post(admin, f"{DRAFT}/test")
    part = admin.get(f"{DRAFT}/test/live")
    again = {"If-None-Match": part.headers["etag"], "HX-Request": "true"}
    assert admin.get(f"{DRAFT}/test/live", headers=again).status_code == 304
    control.tests.assign("reminder-text", AssignRequest(["somebody"]))
    part = admin.get(f"{DRAFT}/test/live", headers=again)
    assert part.status_code == 200
    assert "somebody" in part.text
    control.start("reminder-text")
    part = admin.get(f"{DRAFT}/test/live", headers=again)
    assert "The test was thrown away" in part.text
    assert "hx-get" not in part.text
    assert post(admin, f"{DRAFT}/test").status_code == 409


def test_a_long_test_has_pages(admin, control):
    post(admin, f"{DRAFT}/test")
    control.tests.assign("reminder-text", AssignRequest([f"person-{one:03}" for one in range(120)]))
    last = admin.get(f"{DRAFT}/test?page=3").text
    assert "person-000" in last
    assert "101 to 120 of 120" in last
    assert "person-119" not in last
    assert "/test/live?page=3" in last
    assert "Nothing is on this page" in admin.get(f"{DRAFT}/test?page=9").text


def test_analysts_look_at_tests_and_begin_none(board, admin):
    analyst = sign_in(board, "analyst")
    assert "Begin a test" not in analyst.get(f"{DRAFT}/test").text
    assert post(analyst, f"{DRAFT}/test").status_code == 403
    post(admin, f"{DRAFT}/test")
    assert "These units are not protected" in analyst.get(f"{DRAFT}/test").text
    assert post(analyst, f"{DRAFT}/test/end").status_code == 403
