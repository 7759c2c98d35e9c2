"""The clients and the real service, over real HTTP, from a draft to the winner."""

import asyncio
import random
import threading

import httpx
import polars as pl
import pytest

from discreet import ArgumentError, AsyncClient, Client, ServiceError, UnreachableError
from discreet.logs import Columns
from discreet.service import messages
from tests._tools.live_service import running
from tests._tools.patience import LONG
from tests._tools.service_tools import Clock

RATES = {"blue": 0.1, "green": 0.9}
WINDOW = 60
PATIENT = {"patience": LONG, "timeout": LONG}


@pytest.fixture(scope="module")
def clock():
    """The service's clock. It stands still while rewards are on their way, however busy the machine is."""
    return Clock()


@pytest.fixture(scope="module")
def live(tmp_path_factory, clock):
    with running(tmp_path_factory.mktemp("service") / "discreet.db", clock=clock) as service:
        yield service


@pytest.fixture
def client(live):
    with Client(live.address, live.key, delay=0.05, **PATIENT) as made:
        yield made


def prepare(client, name, **more):
    client.create_population(name, 10)
    client.create(name, epsilon=2, arms=list(RATES), window=WINDOW, population=name, **more)
    client.experiment(name).start()
    return client.experiment(name)


def test_from_a_draft_to_the_winner(client, clock):
    experiment = prepare(client, "sync")
    shoppers = random.Random(1)
    for visit in range(100_000):
        with experiment.trial(f"shopper-{visit}") as trial:
            if shoppers.random() < RATES[trial.arm]:
                trial.reward = 1
        if not trial.assignment.learn:  # all have been dealt: rewards come, and the window passes
            assert client.flush()
            clock.wait(WINDOW)
            if experiment.view().settled:
                break
    view = experiment.wait_until_settled(timeout=LONG, every=0.05)
    assert (view.settled, view.best) == (True, "green")
    releases = {release.arm: release.mean for release in experiment.releases()}
    assert all(abs(releases[arm] - rate) < 0.3 for arm, rate in RATES.items())
    ledger = client.ledger("sync")
    assert ledger.intact
    assert [entry.kind for entry in ledger.entries][:2] == ["budget", "reserve"]
    assert client.lost == 0


def test_a_draft_is_tested_with_the_same_code(client):
    client.create("rehearsed", epsilon=1, arms=list(RATES))
    experiment = client.experiment("rehearsed")
    assert experiment.begin_test().findings[0].kind == "no-units"
    for visit in range(30):
        with experiment.trial(f"made-up-{visit % 20}") as trial:
            assert trial.assignment.test
            trial.reward = int(trial.arm == "green")
    assert client.flush()
    report = experiment.test_report()
    assert (report.units, report.rewards, report.findings[0].level) == (20, 20, "well")
    assert "not protected" in report.warning
    experiment.end_test()
    with pytest.raises(ServiceError, match="no test"):
        experiment.test_report()
    experiment.delete()


def test_the_same_with_await(live, client, clock):
    prepare(client, "async")

    async def play():
        async with AsyncClient(live.address, live.key, delay=0.05, **PATIENT) as awaiting:
            experiment = awaiting.experiment("async", fallback="blue")
            shoppers = random.Random(1)

            async def visit(number):
                async with experiment.trial(f"shopper-{number}") as trial:
                    trial.reward = shoppers.random() < RATES[trial.arm]

            for start in range(0, 100_000, 50):
                await asyncio.gather(*(visit(start + i) for i in range(50)))
                assert await awaiting.flush()
                clock.wait(WINDOW)
                if (await experiment.view()).settled:
                    break
            return await experiment.wait_until_settled(timeout=LONG, every=0.05)

    view = asyncio.run(play())
    assert (view.settled, view.best) == (True, "green")


def test_asking_again_gives_the_same_and_the_first_reward_stands(client):
    experiment = prepare(client, "sticky")
    one, two = experiment.assign("ann"), experiment.assign(["ann", "bob"])
    assert one == two[0]
    assert two[0] != two[1]
    assert experiment.report(one, 1)
    assert client.flush()
    assert experiment.report(one, 0)  # it is the service that says no
    assert client.flush()


def test_errors_are_the_services_own_words(live, client):
    with pytest.raises(ServiceError, match="not found: there is no experiment") as error:
        client.experiment("nothing-like-that").view()
    assert (error.value.status, error.value.kind) == (404, "urn:discreet:not-found")
    with pytest.raises(ServiceError, match="at least two names") as error:
        client.create("lonely", epsilon=1, arms=["a"])
    assert (error.value.status, error.value.field) == (422, "arms")
    with Client(live.address, "wrong") as stranger, pytest.raises(ServiceError) as error:
        stranger.experiments()
    assert error.value.status == 401
    assert stranger.experiment("x", fallback="a").assign("ann").arm == "a"


def test_a_page_key_assigns_and_reports_and_sees_nothing(live, client):
    prepare(client, "paged")
    made = client.create_key("page", ["assign", "report"], experiment="paged")
    with Client(live.address, made.key) as page:
        experiment = page.experiment("paged", default_reward=0.0)
        with experiment.trial("ann") as trial:
            trial.reward = 1
        with pytest.raises(ServiceError) as error:
            experiment.view()
        assert error.value.status == 403
        with pytest.raises(ServiceError, match="default_reward"), page.experiment("paged").trial("bob"):
            pass
    assert client.revoke_key(made.about.id).revoked_at is not None
    made_keys = client.keys()
    assert {key.name for key in made_keys} >= {"page"}
    assert {one.name for one in client.algorithms()} > {"dp-se-sharp-person"}
    plan = client.planner(arms=4, epsilon=1, gap=0.05, per_hour=1000)
    assert (plan.total > 1000, plan.forecast) == (True, None)
    seen = client.planner(arms=2, epsilon=1, base_rate=0.3, lift=0.5, per_hour=1000).forecast
    assert 0 < seen.median <= seen.high
    assert seen.seconds == pytest.approx(seen.mean * 3.6)
    assert client.set_budget("paged", 12).budget == "12"
    assert "paged" in {one.name for one in client.populations()}
    assert "paged" in {one.name for one in client.experiments()}


def test_lists_are_asked_for_page_by_page(client, monkeypatch):
    monkeypatch.setattr(messages, "MOST_LISTED", 2)
    for number in range(5):
        client.create(f"many-{number}", epsilon=1, arms=["a", "b"])
        client.create_key(f"many-{number}", ["report"])
        client.set_budget("everybody", 11 + number)
    names = [f"many-{number}" for number in reversed(range(5))]
    assert [one.name for one in client.experiments(search="many-")] == names
    assert [one.name for one in client.experiments("many-", state="draft")] == names
    assert client.experiments("many-", state="running") == []
    with pytest.raises(ArgumentError, match="state"):
        client.experiments(state="gone")
    made_keys = client.keys()
    assert {one.name for one in made_keys} > set(names)
    ledger = client.ledger(verify=True)
    assert [one.number for one in ledger.entries] == list(range(1, ledger.verified + 1))
    assert (ledger.intact, ledger.next) == (True, None)
    assert len(ledger.entries) >= 6


def test_epochs_from_a_log(client):
    experiment = prepare(client, "log", source="totals")
    rows, epoch, until, clock, shoppers = [], 1, None, 0, random.Random(2)
    while not experiment.view().settled:
        with pytest.raises(ArgumentError, match="are missing"):
            experiment.close_from_log(frame(rows), epoch=epoch, after=until)
        for arm, pulls in experiment.plan().pulls.items():
            for _ in range(pulls):
                clock += 1
                clicked = shoppers.random() < RATES[arm]
                rows.append((f"a{clock}", f"u{clock}", arm, clock, 1.0 if clicked else None))
        found = experiment.close_from_log(frame(rows), epoch=epoch, after=until)
        assert (found.epoch, found.until) == (epoch, clock)
        with pytest.raises(ServiceError) as error:
            experiment.close_with(found.message)  # an epoch is closed once
        assert error.value.status in (404, 409)
        until, epoch = found.until, epoch + 1
    assert experiment.view().best == "green"


def frame(rows):
    kinds = {"assignment": pl.String, "unit": pl.String, "arm": pl.String, "time": pl.Int64, "reward": pl.Float64}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def test_many_threads_at_once(live, client):
    experiment = prepare(client, "threads")
    arms, lock = {}, threading.Lock()

    def shop(worker):
        shoppers = random.Random(worker)
        for visit in range(60):
            name = f"shopper-{(worker * 30 + visit) % 120}"  # most come twice, by two threads
            with experiment.trial(name) as trial:
                trial.reward = shoppers.random() < RATES[trial.arm]
            with lock:
                assert arms.setdefault((name, trial.assignment.epoch), trial.arm) == trial.arm

    threads = [threading.Thread(target=shop, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.flush()
    assert client.lost == 0
    assert len(arms) >= 120


def test_a_service_that_is_gone(tmp_path):
    with running(tmp_path / "discreet.db") as gone:
        pass
    with Client(gone.address, gone.key, patience=0.3) as client:
        assert client.experiment("x", fallback="a").assign("ann").arm == "a"
        with pytest.raises(UnreachableError, match="cannot be reached"):
            client.experiments()


def test_a_closed_client_still_serves_the_fallback(live):
    with Client(live.address, live.key) as client:
        pass
    assert client.experiment("x", fallback="a").assign("ann").arm == "a"
    with pytest.raises(UnreachableError, match="the client is closed"):
        client.experiments()


def whole_epoch(experiment):
    """A log that fills the open epoch."""
    return [
        (f"{arm}{i}", f"{arm}{i}", arm, i, RATES[arm])
        for arm, pulls in experiment.plan().pulls.items()
        for i in range(pulls)
    ]


@pytest.mark.parametrize("lost", ["no answer", "503"])
def test_a_lost_answer_to_totals_is_looked_up(live, client, lost):
    """The totals arrive and the answer does not: it shows that the epoch is closed, and nothing is used twice."""
    name = f"lossy-{lost.replace(' ', '-')}"
    experiment = prepare(client, name, source="totals")
    rows = whole_epoch(experiment)

    class Lossy(httpx.HTTPTransport):
        def handle_request(self, request):
            response = super().handle_request(request)
            if request.url.path.endswith("/totals"):
                response.read()
                if lost == "503":  # what the service says where it does not know whether it has committed
                    return httpx.Response(503)
                raise httpx.ReadTimeout("lost")
            return response

    with Client(live.address, live.key, transport=Lossy()) as unlucky:
        found = unlucky.experiment(name).close_from_log(frame(rows))
    assert found.epoch == 1
    assert experiment.epochs()[0].state == "closed"
    if not experiment.view().settled:
        with pytest.raises(ArgumentError, match="epoch must be the open one, 2"):
            experiment.close_from_log(frame(rows))


def test_totals_that_did_not_arrive_say_where_to_go_on(live, client):
    experiment = prepare(client, "refused", source="totals")
    rows = whole_epoch(experiment)

    class Refusing(httpx.HTTPTransport):
        def handle_request(self, request):
            if request.url.path.endswith("/totals"):
                return httpx.Response(503)
            return super().handle_request(request)

    with Client(live.address, live.key, transport=Refusing()) as unlucky, pytest.raises(ServiceError) as error:
        unlucky.experiment("refused").close_from_log(frame(rows))
    assert f"epoch 1 would have used the log until {max(row[3] for row in rows)!r}" in error.value.__notes__[0]
    assert experiment.epochs()[0].state == "open"
    assert experiment.close_from_log(frame(rows)).epoch == 1


def test_a_mean_from_a_log_without_arms(client):
    client.create_population("mean", 10)
    options = {"alpha": 0.5, "beta": 0.1}
    client.create("mean", epsilon=2, rule="dp-nas-released", options=options, source="totals", population="mean")
    mean, epoch, until, people = client.experiment("mean"), 1, None, []
    mean.start()
    while not mean.view().settled and epoch < 30:
        (needed,) = mean.plan().pulls.values()
        people += [(f"a{i}", f"u{i}", i, 0.5) for i in range(len(people), len(people) + needed)]
        table = pl.DataFrame(people, schema=["assignment", "unit", "time", "reward"], orient="row")
        found = mean.close_from_log(table, epoch=epoch, after=until, columns=Columns(arm=None))
        epoch, until = found.epoch + 1, found.until
    assert mean.view().estimate == pytest.approx(0.5, rel=0.5)
