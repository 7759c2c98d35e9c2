"""A random walk over the ask/tell driver, next to a model that is small enough to be believed."""

import copy
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import discreet
from discreet import Bandit, FinishedError, PrivacyError, TicketError, Told, WaitingError
from tests._tools import faults
from tests._tools.killing import continues, entries
from tests._tools.walking import PRIVATE_POLICIES, algorithm

DEFAULT = 0.25
WINDOWS = (None, 25, timedelta(seconds=4096))  # deadlines of whole seconds, so that the model need not round any
REWARDS = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
SIZES = st.sampled_from([1, 2, 5, 50, 5000])
steps = Counter()


@dataclass
class Model:
    """What a bandit must know: the tickets of the open epoch by number, and what was told of them."""

    epoch: int = 1
    learns: bool = True
    issued: int = 0  # tickets ever
    start: int = 0  # the first one of the epoch
    dealt: Counter = field(default_factory=Counter)
    arms: dict = field(default_factory=dict)  # of the epoch's tickets that count
    told: dict = field(default_factory=dict)  # rewards, by ticket
    deadlines: dict = field(default_factory=dict)  # by ticket, with a window

    def open(self, now):
        return [number for number in self.arms if number not in self.told and not self.late(number, now)]

    def late(self, number, now):
        return number in self.deadlines and self.deadlines[number] <= now

    def sums(self, default=None):
        sums = Counter()
        for number, arm in self.arms.items():
            if number in self.told or default is not None:
                sums[arm] += self.told.get(number, default)
        return sums

    def begin(self, plan):
        self.epoch, self.learns = (plan.epoch, plan.learns) if plan else (-1, False)
        self.start = self.issued
        self.dealt, self.arms, self.told, self.deadlines = Counter(), {}, {}, {}


class AskTell(RuleBasedStateMachine):
    """Asks, tells, repeats, expires, saves, loads and crashes, and compares each answer with the model's.

    The noise is real, so the same walk may go elsewhere: what is drawn for a walk must not depend on it.
    """

    names = PRIVATE_POLICIES
    windows = WINDOWS

    @initialize(number=st.integers(0, 1000), waiting=st.sampled_from(["refuse", "serve"]), kind=st.integers(0, 5))
    def begin(self, number, waiting, kind):
        name, window = self.names[number % len(self.names)], self.windows[kind % len(self.windows)]
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "state"
        self.time = 1000.0
        self.window, self.waiting = window, "serve" if isinstance(window, int) else waiting
        self.clock = (lambda: self.time) if isinstance(window, timedelta) else None
        self.bandit = Bandit(
            algorithm(name), default_reward=DEFAULT, waiting=self.waiting, window=window, clock=self.clock
        )
        self.model, self.saved = Model(), None
        self.tickets, self.lost = [], set()  # of every time, with their numbers; ids that no file knows
        self.ledger = entries(self.bandit)
        self.watch()

    def watch(self):
        """Look over the driver's shoulder: which totals does it give to its curator?"""
        honest, self.closed = self.bandit._close, []

        def close(plan, totals):
            if totals is not None:
                self.closed.append(totals)
            return honest(plan, totals)

        self.bandit._close = close

    def teardown(self):
        if hasattr(self, "folder"):
            del self.bandit
            self.folder.cleanup()

    # ------------------------------------------------------------------ the window

    def now(self):
        return self.model.issued if isinstance(self.window, int) else self.time

    @rule(seconds=st.sampled_from([1, 100, 4095, 4096, 10_000]))
    def wait(self, seconds):
        self.time += seconds

    @precondition(lambda self: isinstance(self.window, timedelta))
    @rule()
    def set_the_clock_back(self):
        """Whoever looks sees the latest time that was ever seen, so nothing may change."""
        before, self.time = self.bandit.outstanding, self.time - 500
        assert self.bandit.outstanding == before
        self.time += 500

    def close_if_due(self):
        """What must happen first at an ask or `expire()`, by the model: the number of rewards that took the default."""
        model, plan = self.model, self.bandit.policy.plan()
        self.totals, missing = [], 0
        self.closed.clear()
        due = self.window is not None and model.learns and model.dealt == plan.pulls
        if due and all(model.late(number, self.now()) for number in model.arms):
            sums, missing = model.sums(DEFAULT), len(model.arms) - len(model.told)
            self.totals.append({arm: sums[arm] * self.bandit.policy.grid.width for arm in plan.pulls})
        return missing

    def closed_if_due(self):
        assert self.closed == self.totals
        if self.totals:
            self.model.begin(self.bandit.policy.plan())
            self.up_to_date()

    def up_to_date(self):
        if self.saved is not None:
            self.saved = copy.deepcopy(self.model)

    # ------------------------------------------------------------------ ask

    @rule(n=SIZES)
    def ask(self, n):
        self.close_if_due()
        plan = self.bandit.policy.plan()
        if self.waiting == "serve":  # it hands out all that is asked for: what there is to learn from, and some more
            n = min(n, 60 + (plan.size if plan else 0))
        waits = bool(plan) and plan.learns and sum(self.model.dealt.values()) == plan.size and not self.totals
        try:
            asked = self.bandit.ask(n)
        except WaitingError:
            assert waits
            assert self.waiting == "refuse"
            self.closed_if_due()
            return
        except FinishedError:
            assert self.bandit.finished
            assert self.waiting == "refuse"
            self.closed_if_due()
            self.passed()
            return
        self.closed_if_due()
        assert not (waits and self.waiting == "refuse")
        policy = self.bandit.policy
        plan = policy.plan()
        self.passed()
        assert 1 <= len(asked) <= n
        for ticket in asked:
            assert ticket.number == self.model.issued
            assert ticket.epoch == (policy.epoch + 1 if plan is None else self.model.epoch)
            self.model.issued += 1
            self.tickets.append(ticket)
            if plan is not None and sum(self.model.dealt.values()) < plan.size:
                self.model.dealt[ticket.arm] += 1
                assert self.model.dealt[ticket.arm] <= plan.pulls[ticket.arm]
                if plan.learns:
                    self.model.arms[ticket.number] = ticket.arm
                    if self.window is not None:
                        length = self.window if isinstance(self.window, int) else self.window.total_seconds()
                        self.model.deadlines[ticket.number] = self.now() + length
            else:
                assert self.waiting == "serve"
                assert ticket.arm == policy.best_arm if policy.best_arm is not None else ticket.arm in policy.arms

    def passed(self):
        """An epoch whose rewards are not used may have closed: then the file is up to date."""
        plan = self.bandit.policy.plan()
        if self.model.epoch != (plan.epoch if plan else -1):
            self.model.begin(plan)
            self.up_to_date()

    # ------------------------------------------------------------------ tell

    def expect(self, ticket, reward):
        """What must become of a reward, by the model, which counts it."""
        number, model = ticket.number, self.model
        if number < model.start:
            return Told.LATE
        if number not in model.arms:
            return Told.UNUSED
        if number in model.told:
            return Told.DUPLICATE
        if model.late(number, self.now()):
            return Told.LATE
        model.told[number] = reward
        if self.window is None and len(model.told) == sum(self.plan.pulls.values()):
            assert model.dealt == self.plan.pulls  # the pulls that were planned are the pulls that were given
            width, sums = self.bandit.policy.grid.width, model.sums()
            self.totals.append({arm: sums[arm] * width for arm in self.plan.pulls})
            model.begin(None)
        return Told.COUNTED

    def compare(self, pairs, act):
        """Do something that counts rewards; the model and the driver must agree on each."""
        self.plan, self.totals = self.bandit.policy.plan(), []
        self.closed.clear()
        expected = [self.expect(ticket, reward) for ticket, reward in pairs]
        assert act() == expected
        assert self.closed == self.totals
        if self.totals:
            self.model.begin(self.bandit.policy.plan())
            self.up_to_date()  # a close brings the file up to date

    @rule(place=st.integers(0, 10**6), recent=st.booleans(), reward=REWARDS, by_name=st.booleans())
    def tell_one(self, place, recent, reward, by_name):
        """Any ticket of any time: open, told before, late, unused or lost."""
        if not self.tickets:
            return
        ticket = self.tickets[-1 - place % min(len(self.tickets), 100) if recent else place % len(self.tickets)]
        name = ticket.id if by_name else ticket
        if ticket.id in self.lost:
            with pytest.raises(TicketError):
                self.bandit.tell(name, reward)
        else:
            self.compare([(ticket, reward)], lambda: [self.bandit.tell(name, reward)])

    @rule(size=st.sampled_from([1, 10, 10**6]), rewards=st.lists(REWARDS, min_size=1, max_size=7))
    def tell_many(self, size, rewards):
        """A batch of the newest tickets, some of which may have been told before."""
        batch = [ticket for ticket in self.tickets[-size:] if ticket.id not in self.lost]
        pairs = [(ticket, rewards[place % len(rewards)]) for place, ticket in enumerate(batch)]
        self.compare(pairs, lambda: self.bandit.tell(batch, [reward for _, reward in pairs]))

    @rule(reward=st.sampled_from([-0.5, float("nan"), 2.0]))
    def tell_nonsense(self, reward):
        before = self.bandit._head()
        with pytest.raises(discreet.DiscreetError):
            self.bandit.tell(self.tickets[-1] if self.tickets else "nobody-0", reward)
        assert self.bandit._head() == before

    @rule(by_name=st.booleans())
    def expire(self, by_name):
        known = {ticket.number: ticket for ticket in self.bandit.open_tickets}
        pairs = [(known[number], DEFAULT) for number in self.model.open(self.now())]
        if self.window is None or by_name:
            tickets = [ticket for ticket, _ in pairs] if by_name else None
            self.compare(pairs, lambda: [Told.COUNTED] * self.bandit.expire(tickets))
        else:
            missing = self.close_if_due()
            assert self.bandit.expire() == missing
            self.closed_if_due()

    # ------------------------------------------------------------------ files

    @rule()
    def save(self):
        self.bandit.save(self.path)
        self.saved = copy.deepcopy(self.model)

    def reloaded(self, bandit):
        """Tickets that the file does not know are lost; what was released is not."""
        self.bandit = bandit
        assert entries(bandit) == self.ledger
        lost = {ticket.id for ticket in self.tickets if ticket.number >= self.saved.issued}
        self.lost |= lost
        self.tickets = [ticket for ticket in self.tickets if ticket.id not in lost or ticket.number % 7 == 0]
        self.model = copy.deepcopy(self.saved)
        if bandit.policy.plan() is None:  # the file of a finished bandit knows no tickets
            self.lost |= {ticket.id for ticket in self.tickets}
        self.watch()

    @precondition(lambda self: self.saved is not None)
    @rule()
    def load(self):
        """Beside a living object: it hands over if it has done nothing since the file was written."""
        if self.model == self.saved:
            self.reloaded(Bandit.load(self.path, clock=self.clock))
        else:
            with pytest.raises(PrivacyError, match="has gone on"):
                Bandit.load(self.path, clock=self.clock)

    @precondition(lambda self: self.saved is not None)
    @rule()
    def detach_and_load(self):
        self.saved = copy.deepcopy(self.model)
        self.bandit.detach()
        self.reloaded(Bandit.load(self.path, clock=self.clock))

    @precondition(lambda self: self.saved is not None)
    @rule()
    def crash(self):
        faults.crash(self.bandit)
        self.reloaded(Bandit.load(self.path, clock=self.clock))

    # ------------------------------------------------------------------ at all times

    @invariant()
    def model_and_driver_agree(self):
        if not hasattr(self, "bandit"):
            return
        steps["steps"] += 1
        bandit, model = self.bandit, self.model
        assert bandit.outstanding == len(model.open(self.now()))
        assert [ticket.number for ticket in bandit.open_tickets] == model.open(self.now())
        status = bandit.status()
        assert (status.outstanding, status.served) == (bandit.outstanding, model.issued)
        assert status.handed_out == sum(model.dealt.values())
        width, sums = bandit.policy.grid.width, model.sums()
        assert dict(zip(bandit._epoch.names, bandit._epoch.sums, strict=True)) == {
            arm: sums[arm] * width for arm in bandit._epoch.names
        }
        closed = bandit.policy.taken
        assert bandit.pulls == {arm: closed[arm] + model.dealt[arm] for arm in bandit.policy.arms}
        now = entries(bandit)
        assert continues(self.ledger, now)  # it only grows, and a release never changes
        self.ledger = now


class Quick(AskTell):
    """Walks of policies whose epochs are short."""

    names = ("adap-ucb", "dp-ucb", "dp-chernoff-imed")
    windows = (None,)


class QuickWindows(Quick):
    """The same with windows."""

    windows = WINDOWS[1:]


def without(machine, *rules):
    """A machine whose walks have fewer kinds of steps."""
    return type("Fewer", (machine,), dict.fromkeys(rules))


def walk(walks, length, machine=AskTell, **options):
    """Take some walks, and return the number of their steps."""
    steps.clear()
    run_state_machine_as_test(machine, settings=settings(max_examples=walks, stateful_step_count=length, **options))
    return steps["steps"]


def stumble(walks, length, machine=Quick):
    """Whether one of some walks, the same each time, fails; the first that does need not be made simple."""
    same = {"phases": [Phase.generate], "database": None, "report_multiple_bugs": False, "derandomize": True}
    try:
        walk(walks, length, machine, **same)
    except Exception:
        return True
    return False
