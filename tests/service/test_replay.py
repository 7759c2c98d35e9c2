"""Replay through the HTTP API: with the same releases, nothing that anybody can see depends on a reward.

A run is played once with real noise, and then again with other rewards of one person, Ann, and noise that makes the
same releases of them. All else that is random is the same. Then every answer must be the same to the byte: plans,
receipts, statuses, times, ledgers, metrics and pages. And the noise that was needed is never farther from the first
one than Ann's rewards may move a total, so her epsilon pays for the difference.
"""

import base64
import html
import itertools
import re
import secrets
from math import fsum

import pytest
from sqlalchemy import event

from discreet.core.noise import PrivateNoise
from discreet.mechanisms.curator import Curator
from discreet.service.experiments import assignments, closing
from discreet.service.messages import NewKey
from tests._tools.service_tools import Clock, World, crowd, new_file

WINDOW = 60.0
PAGES = [
    "/", "/experiments/{id}", "/experiments/{id}/live", "/experiments/{id}/report", "/ledger?population=crowd",
    "/ledger/crowd/report", "/planner", "/keys",
]  # fmt: skip
PATHS = [
    "/v1/experiments", "/v1/experiments/{id}", "/v1/experiments/{id}/epochs", "/v1/experiments/{id}/releases",
    "/v1/experiments/{id}/summary", "/v1/experiments/{id}/summary?drifting=true&level=0.8", "/v1/experiments/{id}/plan",
    "/v1/experiments/{id}/report", "/v1/populations/crowd/report", "/v1/populations", "/v1/populations/crowd/ledger",
    "/v1/keys", "/healthz", "/readyz",
]  # fmt: skip
NAME = "banners"


class Chance:
    """All that is random but noise, the same in every run."""

    def __init__(self, monkeypatch):
        self.numbers = itertools.count(1)
        for name in ("token_bytes", "token_hex", "token_urlsafe"):
            monkeypatch.setattr(secrets, name, getattr(self, name))
        monkeypatch.setattr(secrets, "randbelow", lambda most: next(self.numbers) * 7919 % most)

    def token_bytes(self, size=32):
        return next(self.numbers).to_bytes(min(size, 8), "big").rjust(size, b"x")

    def token_hex(self, size=32):
        return self.token_bytes(size).hex()

    def token_urlsafe(self, size=32):
        return base64.urlsafe_b64encode(self.token_bytes(size)).rstrip(b"=").decode()


class Recorder:
    """A curator's releases: as they come in the first run, and the same again in later ones."""

    def __init__(self, monkeypatch):
        self.frozen, self.exact, self.at = [], [], None
        honest = Curator.release

        def release(curator, plan, totals):
            if self.at is None:
                self.frozen.append(honest(curator, plan, totals))
                self.exact.append(dict(totals))
                return self.frozen[-1]
            self.at += 1
            self.later.append(dict(totals))
            return self.frozen[self.at - 1]

        monkeypatch.setattr(Curator, "release", release)

    def again(self):
        self.at, self.later = 0, []

    def loss(self, person):
        """What an observer of the releases learns about the two runs: the sum of |change of a total| / scale."""
        losses = [
            fsum(abs(other[one.arm] - exact[one.arm]) / one.scale for one in released)
            for released, exact, other in zip(self.frozen, self.exact, self.later, strict=True)
        ]
        return fsum(losses) if person else max(losses)


@pytest.fixture
def play(file, tmp_path, monkeypatch):
    """A whole life of an experiment over HTTP, as everything that anybody saw of it."""
    folders = itertools.count()

    def run(options, hers, epochs):
        Chance(monkeypatch)
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        world = crowd(World(new_file(file, folder), Clock()))
        event.listen(world.database.engine, "connect", lambda one, _: one.execute("PRAGMA synchronous=OFF"))
        world.database.engine.dispose()
        try:
            with world.web() as web:
                return list(_life(world, web, options, hers, epochs))
        finally:
            world.database.close()

    return run


def _life(world, web, options, hers, epochs):
    page = world.control.make_key(NewKey("page", ["assign", "report"])).key
    started = world.start(NAME, population="crowd", window=WINDOW, **options)
    _sign_in(web, world.key)
    for number in range(epochs):
        epoch = world.control.experiment(NAME).epoch
        if epoch is None:
            break
        units = ["ann", *[f"unit-{number}-{one}" for one in range(epoch.quota)]]  # one more than there are slots
        tokens = []
        for start in range(0, len(units), 1000):
            asked = {"units": units[start : start + 1000]}
            given = web.post(f"/v1/experiments/{NAME}/assignments", json=asked, headers=_bearer(page))
            yield given.content
            tokens += [one["assignment"] for one in given.json()["assignments"]]
        others = [{"assignment": token, "reward": index % 2} for index, token in enumerate(tokens[1:]) if token]
        for start in range(0, len(others), 5000):
            yield web.post("/v1/rewards:batch", json={"rewards": others[start : start + 5000]}).content
        if hers is None or tokens[0] is None:
            web.get("/healthz")  # metrics count all requests alike
        else:
            web.put(f"/v1/rewards/{tokens[0]}", json={"reward": hers})
        yield from _look(web, started.id, tokens[0], page)
        world.clock.wait(WINDOW + 1)
        yield from _look(web, started.id, tokens[0], page)
        yield closing.due(world.database), world.close(NAME)
        world.erase()
        yield from _look(web, started.id, tokens[0], page)
    yield world.replayed(NAME).snapshot(), world.learned(NAME)


def _bearer(key):
    return {"Authorization": f"Bearer {key}"}


def _sign_in(web, key):
    form = web.get("/login")
    token = html.unescape(re.search(r'name="token" value="([^"]+)"', form.text)[1])
    assert web.post("/login", data={"token": token, "key": key}).status_code == 303


def _look(web, identity, token, page):
    """Every answer that a reader, an admin or a stranger with the key of a page can get."""
    for path in PATHS + PAGES:
        seen = web.get(path.format(id=identity))
        assert seen.status_code in {200, 409}, (path, seen.text)
        yield path, seen.status_code, sorted(seen.headers.items()), seen.content
    told = web.put(f"/v1/rewards/{token}", json={"reward": 0.0}, headers=_bearer(page))
    yield told.status_code, told.content
    yield web.post(f"/v1/experiments/{NAME}/assignments", json={"units": ["ann"]}, headers=_bearer(page)).content
    yield re.sub(r"request_seconds\S* \S+", "", web.get("/metrics").text)


EVENT = {"privacy_unit": "event"}
RUNS = {
    "dp-se-sharp": ({"epsilon": "1", "policy": "dp-se-sharp", "options": {"beta": 1e-9}, **EVENT}, 4),
    "dp-se-person": ({"epsilon": "4", "policy": "dp-se-person", "options": {"beta": 1e-6}}, 2),
    "dp-se-sharp-person": ({"epsilon": "1", "options": {"beta": 1e-9, "growth": 1.5}}, 2),
    "dp-imed": ({"epsilon": "1", "policy": "dp-imed", **EVENT}, 6),
    "once": ({"epsilon": "1", "policy": "dp-klucb", "contribution": "once"}, 6),
    "dp-nas-released": ({"epsilon": "1", "rule": "dp-nas-released", "options": {"alpha": 0.5}, **EVENT}, 5),
}


def check(play, monkeypatch, name, changes):
    options, epochs = RUNS[name]
    recorder = Recorder(monkeypatch)
    first = play(options, 1.0, epochs)
    assert len(recorder.frozen) > 1
    person = options.get("contribution", "each-epoch") == "each-epoch" and options.get("privacy_unit") != "event"
    for hers in changes:
        recorder.again()
        other = play(options, hers, epochs)
        assert len(other) == len(first)
        for seen, again in zip(first, other, strict=True):
            assert seen == again
        assert 0 < recorder.loss(person) <= float(options["epsilon"])


def test_with_the_same_releases_nothing_depends_on_a_reward(play, monkeypatch):
    check(play, monkeypatch, "dp-se-sharp-person", [None])


@pytest.mark.study
@pytest.mark.parametrize("name", RUNS)
def test_with_the_same_releases_nothing_depends_on_any_reward(play, monkeypatch, name):
    check(play, monkeypatch, name, [0.0, None])


def _sees_a_difference(play, monkeypatch):
    recorder = Recorder(monkeypatch)
    options, _ = RUNS["dp-imed"]
    first = play(options, 1.0, 1)
    recorder.again()
    return first != play(options, None, 1)


def test_a_receipt_that_knows_is_seen(play, monkeypatch):
    honest = assignments.tell

    def tell(transaction, shard, told):
        came = {slot for (slot,) in transaction.run("SELECT slot FROM assignment WHERE told > 0", {})}
        said = honest(transaction, shard, told)
        return ["late" if one.place.slot in came else status for one, status in zip(told, said, strict=True)]

    monkeypatch.setattr(assignments, "tell", tell)
    assert _sees_a_difference(play, monkeypatch)


def test_a_close_that_looks_at_a_sum_is_seen(play, monkeypatch):
    """It closes a second later if a total is large."""
    honest = closing._totals

    def totals(transaction, description, epoch):
        exact = honest(transaction, description, epoch)
        transaction.run("UPDATE experiment SET started_at = started_at + :odd", {"odd": sum(exact.values()) % 7})
        return exact

    monkeypatch.setattr(closing, "_totals", totals)
    assert _sees_a_difference(play, monkeypatch)


def test_noise_is_drawn_in_the_first_run_alone(play, monkeypatch):
    drawn = []
    honest = PrivateNoise.draws
    monkeypatch.setattr(PrivateNoise, "draws", lambda self, *given: drawn.append(given) or honest(self, *given))
    recorder = Recorder(monkeypatch)
    play(RUNS["dp-imed"][0], 1.0, 1)
    count = len(drawn)
    assert count
    recorder.again()
    play(RUNS["dp-imed"][0], 0.0, 1)
    assert len(drawn) == count
