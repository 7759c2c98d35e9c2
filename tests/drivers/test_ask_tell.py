"""The ask/tell driver: tickets, rewards in any order, batches, expiry, threads."""

import copy
import math
import pickle
import threading
from collections import Counter
from functools import partial
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet import ArgumentError, Bandit, FinishedError, SimulatedNoise, Ticket, TicketError, Told, WaitingError
from discreet.drivers.files import Disk, StateFile
from discreet.testing import ScriptedNoise
from tests._tools.at_once import at_once, switching_often
from tests._tools.walking import algorithm

STEP = 2**20


def dp_se(arms=("A", "B"), horizon=10_000, **options):
    return discreet.DPSuccessiveElimination(list(arms), epsilon=1.0, horizon=horizon, **options)


def make(arms=("A", "B"), horizon=10_000, **options):
    """A bandit without noise, so that releases show what was counted."""
    return Bandit(dp_se(arms, horizon), ScriptedNoise([]), **options)


def released(bandit):
    return {release.arm: release.steps for release in bandit.ledger}


def size_of_plan(bandit):
    return bandit.policy.plan().size


def state(bandit):
    return bandit._head()


def pay(ticket):
    return 1.0 if ticket.arm == "A" else 0.25


def test_an_epoch_is_dealt_as_planned_and_closes_by_itself(width):
    bandit = make()
    planned = bandit.policy.plan().pulls
    tickets = bandit.ask(sum(planned.values()))
    assert Counter(ticket.arm for ticket in tickets) == planned
    for ticket in tickets[:-1]:
        assert bandit.tell(ticket, pay(ticket)) is Told.COUNTED
    assert bandit.ledger == ()
    bandit.tell(tickets[-1], pay(tickets[-1]))
    assert released(bandit) == {"A": planned["A"] * width, "B": planned["B"] * width // 4}


def test_arms_come_in_randomly_permuted_blocks():
    bandit = make("ABC")
    arms = [ticket.arm for ticket in bandit.ask(3000)]
    blocks = [tuple(arms[i : i + 3]) for i in range(0, 3000, 3)]
    assert all(sorted(block) == ["A", "B", "C"] for block in blocks)
    counts = Counter(blocks)
    assert len(counts) == 6
    assert min(counts.values()) > 100  # about 167 each


@given(st.integers(0, 10**6), st.integers(1, 7))
@settings(max_examples=20)
def test_order_batches_and_repeats_do_not_matter(seed, size):
    random = Random(seed)
    bandit = make()
    n = size_of_plan(bandit)
    tickets = bandit.ask(n)
    shuffled = list(tickets)
    random.shuffle(shuffled)
    shuffled += random.sample(tickets, 50)
    place = 0
    while place < len(shuffled):
        batch = shuffled[place : place + size]
        if size == 1:
            bandit.tell(batch[0].id, pay(batch[0]))
        else:
            bandit.tell(batch, [pay(ticket) for ticket in batch])
        place += size
    assert released(bandit) == {"A": n // 2 * STEP, "B": n // 2 * STEP // 4}


def test_the_first_reward_stands():
    bandit = make()
    ticket = bandit.ask()
    assert bandit.tell(ticket, 1.0) is Told.COUNTED
    assert bandit.tell(ticket, 0.0) is Told.DUPLICATE
    assert sum(bandit._epoch.sums) == STEP


def test_ask_n_gives_fewer_at_the_end_of_an_epoch_and_then_refuses():
    bandit = make()
    size = size_of_plan(bandit)
    assert len(bandit.ask(10**6)) == size
    with pytest.raises(WaitingError, match=rf"all {size} pulls of epoch 1 .* {size} rewards are missing"):
        bandit.ask()


def test_serving_while_waiting_hands_out_pulls_that_do_not_count():
    bandit = make(waiting="serve")
    planned = size_of_plan(bandit)
    tickets = bandit.ask(planned + 500)
    assert len(tickets) == planned + 500
    extra = tickets[planned:]
    assert {ticket.arm for ticket in extra} == {"A", "B"}
    assert bandit.tell(extra, np.ones(500)) == [Told.UNUSED] * 500
    assert bandit.outstanding == planned
    bandit.tell(tickets[:planned], np.zeros(planned))
    assert set(released(bandit).values()) == {0}
    assert bandit.tell(extra[0], 1.0) is Told.LATE


def test_rewards_that_never_come_take_the_declared_default(width):
    bandit = make(default_reward=0.5)
    tickets = bandit.ask(size_of_plan(bandit))
    bandit.tell(tickets[:100], np.ones(100))
    assert bandit.expire(tickets[100]) == 1
    assert bandit.tell(tickets[100], 1.0) is Told.DUPLICATE
    assert bandit.expire() == len(tickets) - 101
    ones = Counter(ticket.arm for ticket in tickets[:100])
    count = len(tickets) // 2
    assert released(bandit) == {arm: ones[arm] * width + (count - ones[arm]) * width // 2 for arm in ("A", "B")}
    assert bandit.tell(tickets[5], 1.0) is Told.LATE
    assert bandit.expire(tickets[5]) == 0


def test_expiring_needs_a_declared_default():
    bandit = make()
    bandit.ask()
    with pytest.raises(ArgumentError, match="default_reward must be declared"):
        bandit.expire()
    with pytest.raises(ArgumentError, match="reward must lie in"):
        make(default_reward=2.0)


def test_the_horizon_ends_asking():
    bandit = make(horizon=5000)
    for _ in range(5000):
        ticket = bandit.ask()
        bandit.tell(ticket, pay(ticket))
    assert bandit.finished
    assert sum(bandit.pulls.values()) == 5000
    with pytest.raises(FinishedError, match="nothing left to ask after 5000 pulls; best arm: 'A'"):
        bandit.ask()
    assert bandit.best_arm == "A"


def test_once_settled_rewards_are_not_kept():
    bandit = make()
    tickets = bandit.ask(size_of_plan(bandit))
    bandit.tell(tickets, [pay(ticket) for ticket in tickets])
    assert bandit.policy.settled
    later = bandit.ask(10)
    assert {ticket.arm for ticket in later} == {"A"}
    assert bandit.tell(later, np.ones(10)) == [Told.UNUSED] * 10
    assert sum(bandit._epoch.sums) == 0
    assert bandit.tell(tickets[0], 1.0) is Told.LATE


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1, 1.1, "1", None, 1j, [1.0]])
def test_a_bad_reward_changes_nothing(bad):
    bandit = make()
    ticket = bandit.ask()
    before = state(bandit)
    with pytest.raises(ArgumentError, match="reward"):
        bandit.tell(ticket, bad)
    assert state(bandit) == before
    assert bandit.tell(ticket, 1.0) is Told.COUNTED


def test_a_batch_is_all_or_nothing():
    bandit = make()
    tickets = bandit.ask(3)
    stranger = make().ask()
    before = state(bandit)
    for batch, rewards in (
        (tickets, [1.0, 1.0, math.nan]),
        (tickets, [1.0, 1.0]),
        (tickets, [1.0, 1.0, 5.0]),
        ([*tickets[:2], stranger], [1.0, 1.0, 1.0]),
    ):
        with pytest.raises(discreet.DiscreetError):
            bandit.tell(batch, rewards)
        assert state(bandit) == before
    assert bandit.tell(tickets, np.array([1, 0, 1], dtype=np.int8)) == [Told.COUNTED] * 3


def test_clip_is_an_option(width):
    bandit = make(clip=True)
    bandit.tell(bandit.ask(), 7.0)
    bandit.tell(bandit.ask(), -7.0)
    assert sum(bandit._epoch.sums) == width


def test_unknown_and_foreign_tickets_are_refused():
    bandit, other = make(), make()
    ticket, foreign = bandit.ask(), other.ask()
    for stranger in (foreign, foreign.id, ticket._replace(issuer=foreign.issuer)):
        with pytest.raises(TicketError, match="not issued by this bandit"):
            bandit.tell(stranger, 1.0)
    for number in (5, -1, "0", 0.5, None, True):
        with pytest.raises(TicketError, match="unknown to this bandit; ask again"):
            bandit.tell(ticket._replace(number=number), 1.0)
    for nothing in (7, None, object()):
        with pytest.raises(TicketError, match="must be a Ticket"):
            bandit.tell(nothing, 1.0)
    with pytest.raises(TicketError):
        make(default_reward=0.0).expire(5)
    assert bandit.outstanding == 1


def test_an_id_cannot_be_guessed_from_others():
    bandit = make()
    tickets = bandit.ask(2000)
    assert len({ticket.tag for ticket in tickets}) == 2000
    ticket, other = tickets[:2]
    for forged in (
        ticket._replace(number=other.number),
        ticket._replace(tag="0" * 16),
        ticket._replace(tag=other.tag),
        ticket._replace(tag=ticket.tag.encode()),
        f"{ticket.issuer}-{ticket.number}-{'0' * 16}",
        f"{ticket.issuer}-{ticket.number}-{other.tag}",
    ):
        with pytest.raises(TicketError, match="unknown"):
            bandit.tell(forged, 1.0)
    assert bandit.outstanding == 2000


@pytest.mark.parametrize(
    "text", ["", "-", "nonsense", "{issuer}", "{issuer}-0", "{issuer}--1-{tag}", "{issuer}-x-{tag}", "{issuer}-٣-{tag}",
             "{issuer}-0-{tag}0", "{issuer}-0-" + "x" * 16, "{issuer}-" + "9" * 5000 + "-{tag}", "{tag}-0-{issuer}"]
)  # fmt: skip
def test_a_ticket_from_the_network_is_only_a_name(text):
    bandit = make()
    ticket = bandit.ask()
    with pytest.raises(TicketError):
        bandit.tell(text.format(issuer=ticket.issuer, tag=ticket.tag), 1.0)
    assert bandit.outstanding == 1


def test_a_ticket_travels():
    bandit = make()
    one, two, three = bandit.ask(3)
    assert bandit.tell(pickle.loads(pickle.dumps(one)), 1.0) is Told.COUNTED
    assert bandit.tell(copy.deepcopy(two), 1.0) is Told.COUNTED
    assert bandit.tell(Ticket("another arm", three.number, 99, three.issuer, three.tag), 1.0) is Told.COUNTED
    assert bandit.tell([one.id, two.id, three.id], [0.0] * 3) == [Told.DUPLICATE] * 3


@pytest.mark.parametrize("n", [0, -1, 1.5, math.nan, "3"])
def test_ask_takes_a_positive_whole_number(n):
    with pytest.raises(ArgumentError, match="n must be"):
        make().ask(n)


def test_a_driver_works_on_a_copy():
    policy = dp_se()
    for _ in range(2):  # what was given stays as it was, and can be used again
        bandit = Bandit(policy, ScriptedNoise([]))
        tickets = bandit.ask(10**6)
        bandit.tell(tickets, np.ones(len(tickets)))
        assert bandit.policy.epoch == 1
        assert policy == dp_se()
        seen = bandit.policy
        seen.learn(())  # nobody else's business
        assert bandit.policy.epoch == 1
    with pytest.raises(ArgumentError, match="has learned before; load the driver that it learned in"):
        Bandit(bandit.policy)
    for nothing in ("dp-se", discreet.DPSuccessiveElimination, algorithm("dp-nas"), None):
        with pytest.raises(ArgumentError, match="Bandit needs a bandit policy, got"):
            Bandit(nothing)


def test_repr_shows_no_total():
    bandit = Bandit(dp_se())
    bandit.tell(bandit.ask(50), np.full(50, 0.123))
    assert all(str(total) not in repr(bandit) for total in (*bandit._epoch.sums, sum(bandit._epoch.sums)))
    assert "outstanding=0" in repr(bandit)


def test_a_horizon_too_short_to_learn_anything_is_pointed_out():
    with pytest.warns(UserWarning, match="will learn nothing: its first epoch does not fit into the horizon"):
        Bandit(dp_se(horizon=1000))


def test_what_to_do_about_missing_rewards_depends_on_what_was_declared():
    for options, remedy in (
        ({}, "declare a default_reward"),
        ({"default_reward": 0.0}, "open_tickets\\), expire them"),
    ):
        bandit = make(**options)
        bandit.ask(10**6)
        with pytest.raises(WaitingError, match=remedy):
            bandit.ask()
    with pytest.raises(AttributeError):
        bandit.default_reward = 1.0


def test_very_many_arms():
    bandit = make(range(70_000), horizon=10**9)
    tickets = bandit.ask(70_000)
    assert len({ticket.arm for ticket in tickets}) == 70_000
    assert bandit.tell(tickets[-1], 1.0) is Told.COUNTED


def test_reading_in_another_thread_disturbs_nothing(tmp_path):
    bandit = Bandit(algorithm("dp-se-modified", epsilon=5.0, horizon=10**6), SimulatedNoise(1))
    done, errors = threading.Event(), []

    def watch():
        try:
            while not done.is_set():
                policy = bandit.policy
                assert policy.plan() is None or policy.plan().size > 0
                settled = list(policy.ledger)[:-1]  # the last entry may be of tests, and grow meanwhile
                assert list(bandit.ledger)[: len(settled)] == settled
                assert policy == dataclass_of(bandit).replay(policy.ledger.by_epoch())
                repr(bandit), bandit.pulls, bandit.finished, bandit.privacy
        except Exception as error:
            errors.append(error)

    watcher = threading.Thread(target=watch)
    with switching_often():
        try:
            watcher.start()
            for _ in range(2000):
                ticket = bandit.ask()
                bandit.tell(ticket, 0.5)
        finally:
            done.set()
            watcher.join()
    assert not errors
    assert sum(bandit.pulls.values()) == 2000


def dataclass_of(bandit):
    """The bandit's policy as it was when it had learned nothing."""
    policy = bandit.policy
    return type(policy).from_options(policy.options())


def test_nobody_sees_a_release_before_it_is_written(tmp_path):
    """Other threads that read while a commit is under way wait for it, and see nothing of one that fails."""
    bandit = Bandit(dp_se())
    bandit.save(tmp_path / "state")
    tickets = bandit.ask(10**6)
    writing, seen = threading.Event(), []

    def read():
        writing.wait()
        seen.append((len(bandit.ledger), bandit.policy.epoch, bandit.best_arm, bandit.pulls, repr(bandit)))

    class Slow(Disk):
        def replace(self, source, target):
            writing.set()
            reader.join(timeout=0.05)  # it cannot end before the commit does
            assert reader.is_alive()
            raise OSError("full")

    reader = threading.Thread(target=read)
    reader.start()
    with patch.object(StateFile, "disk", Slow()), pytest.raises(OSError, match="full"):
        bandit.tell(tickets, np.ones(len(tickets)))
    reader.join()
    assert seen == [(0, 0, None, bandit.pulls, repr(bandit))]


def test_step_by_step_policies_give_one_ticket_at_a_time():
    bandit = Bandit(discreet.UCB(["A", "B"], horizon=100))
    (ticket,) = bandit.ask(10)
    with pytest.raises(WaitingError):
        bandit.ask()
    bandit.tell(ticket, 1.0)
    assert bandit.ask().arm != ticket.arm


def test_many_threads_lose_and_double_nothing():
    bandit = make(horizon=10**6)
    size = size_of_plan(bandit)
    seen, errors = [], []

    def work():
        try:
            while True:
                tickets = bandit.ask(7)
                seen.extend(tickets)
                for ticket in tickets:
                    bandit.tell(ticket, pay(ticket))
                    bandit.tell(ticket, 0.0)
                if bandit.policy.epoch:
                    return
        except WaitingError:
            return  # the others hold the epoch's last tickets
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len({ticket.number for ticket in seen}) == len(seen)
    assert released(bandit) == {"A": size // 2 * STEP, "B": size // 2 * STEP // 4}


@pytest.mark.parametrize("name", ["adap-ucb", "dp-se"])
def test_sixty_four_threads_lose_and_double_nothing_over_many_epochs(name, tmp_path):
    """What is released of an epoch is the sum of what was counted in it; no ticket is dealt or counted twice."""
    bandit, lock = Bandit(algorithm(name, horizon=10**6), ScriptedNoise([])), threading.Lock()
    bandit.save(tmp_path / "state")
    dealt, counted = Counter(), Counter()
    start = threading.Barrier(64)

    def work(random):
        start.wait()
        for _ in range(10):
            try:
                tickets = bandit.ask(random.choice([1, 3, 200]))
            except WaitingError:  # the others hold the epoch's last tickets
                continue
            rewards = [random.choice([0.0, 0.25, 1.0]) for _ in tickets]
            batch = random.random() < 0.5
            told = bandit.tell(tickets, rewards) if batch else list(map(bandit.tell, tickets, rewards))
            again = bandit.tell(tickets[0].id, 1.0)
            with lock:
                dealt.update(ticket.number for ticket in tickets)
                assert again in (Told.DUPLICATE, Told.LATE)
                assert set(told) == {Told.COUNTED}
                for ticket, reward in zip(tickets, rewards, strict=True):
                    counted[ticket.epoch, ticket.arm] += reward

    assert not at_once(partial(work, Random(seed)) for seed in range(64))
    assert max(dealt.values()) == 1
    assert sorted(dealt) == list(range(len(dealt)))
    assert bandit.policy.epoch >= (5 if name == "adap-ucb" else 1)
    for release in bandit.ledger:
        assert release.steps == counted[release.epoch, release.arm] * STEP
    open_sums = dict(zip(bandit._epoch.names, bandit._epoch.sums, strict=True))
    assert open_sums == {arm: counted[bandit.policy.epoch + 1, arm] * STEP for arm in open_sums}
