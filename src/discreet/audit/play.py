"""One run of the real object on a known input, in each of the ways it can be driven, and all that it shows.

Every reward of an input is known, so a neighbour is the same list with one reward or person changed.

Nothing here is a copy of an algorithm: the object plans, a driver fills its epochs with the input's rewards, and the
facts of a run are its plans, answers, ledger and result. A run is cut off after a few releases, which only hides facts.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.audit.events import DERIVED, Facts
from discreet.bandits import Policy
from discreet.core.algorithm import Algorithm
from discreet.core.coins import counted
from discreet.core.errors import FinishedError
from discreet.core.grid import Grid
from discreet.core.noise import Noise
from discreet.core.plans import Arm, Plan
from discreet.core.releases import Release
from discreet.drivers import Bandit, Stream, Totals
from discreet.mechanisms import Curator
from discreet.stopping import StoppingRule

EPOCHS, TICKETS = 12, 1000  # the most of a run
RELEASES, PULLS = 4, 8  # where a run has shown enough: both are reached
_RELOADS = 2  # epochs
ENTRY = "entry "


@dataclass(frozen=True)
class Rewards:
    """The rewards of each arm at each of its pulls, in grid steps: always the same, but for one pull of one arm.

    A stopping rule's stream is an input with one arm.

    Args:
        levels: What each arm pays, by its index.
        arm: The index of the arm with another reward.
        pull: The number of the pull that pays it, from 1.
        paid: The other reward.
        each_epoch: True if the arm pays it once in each epoch, to a person who takes part in all of them. Then rewards
            are asked for by whole epochs.

    >>> rewards = Rewards(levels=(10, 0), arm=1, pull=2, paid=7)
    >>> rewards.steps(1, first=1, last=3).tolist(), rewards.total(0, first=1, last=3)
    ([0, 7, 0], 30)
    >>> person = Rewards(levels=(10, 0), arm=0, pull=1, paid=7, each_epoch=True)
    >>> person.total(0, first=1, last=3), person.total(0, first=4, last=8), person.total(1, first=1, last=3)
    (27, 47, 0)
    """

    levels: tuple[int, ...]
    arm: int
    pull: int
    paid: int
    each_epoch: bool = False

    def steps(self, arm: int, first: int, last: int) -> NDArray[np.int64]:
        """Return rewards of an arm.

        Args:
            arm: The arm's index.
            first: The number of the first pull, from 1.
            last: The number of the last pull.
        """
        steps = np.full(last - first + 1, self.levels[arm], dtype=np.int64)
        if self.has_other(arm, first, last):
            steps[0 if self.each_epoch else self.pull - first] = self.paid
        return steps

    def total(self, arm: int, first: int, last: int) -> int:
        """Return the exact sum of rewards of an arm, of any number of them.

        Args:
            arm: The arm's index.
            first: The number of the first pull, from 1.
            last: The number of the last pull.
        """
        changed = self.paid - self.levels[arm] if self.has_other(arm, first, last) else 0
        return (last - first + 1) * self.levels[arm] + changed

    def has_other(self, arm: int, first: int, last: int) -> bool:
        """Return True if the other reward is one of these.

        Args:
            arm: The arm's index.
            first: The number of the first pull, from 1.
            last: The number of the last pull.
        """
        return arm == self.arm and (self.each_epoch or first <= self.pull <= last)

    def floats(self, grid: Grid, arm: int, first: int, last: int) -> NDArray[np.float64]:
        """Return rewards as a program would report them; the grid rounds them to the very same steps.

        Args:
            grid: The grid.
            arm: The arm's index.
            first: The number of the first pull, from 1.
            last: The number of the last pull.
        """
        return np.asarray((self.steps(arm, first, last) + grid.floor) * grid.step, dtype=np.float64)

    def changed(self, width: int) -> tuple[Self, Self]:
        """Return two neighbours: one in which the other reward is the least, and one in which it is the largest."""
        return replace(self, paid=0), replace(self, paid=width)


class Session:
    """An algorithm and its curator, as a driver has them, that are saved and loaded without a file.

    Files take a hundred times as long as a run, so that an audit would see nothing. Here the curator's secrets, the
    options and the ledger become JSON and back, as in a file.

    Args:
        algorithm: The algorithm. It is copied.
        noise: A simulated source, for tests; by default private noise.
    """

    def __init__(self, algorithm: Algorithm, noise: Noise | None = None) -> None:
        self.algorithm: Any = algorithm.copy()
        self._noise = noise
        self._curator = Curator.of(self.algorithm, self._noise)

    def plan(self) -> Plan | None:
        """Return what to sample next."""
        return self.algorithm.plan()  # type: ignore[no-any-return]

    def close_steps(self, totals: Mapping[Arm, Any] | None = None) -> None:
        """Release the open epoch, and learn from it.

        Args:
            totals: Each planned arm's exact statistic.
        """
        self.release(self.algorithm.plan(), totals)

    def release(self, plan: Plan, totals: Mapping[Arm, Any] | None) -> None:
        """Release a plan, or the first tests of it, and learn from it.

        Args:
            plan: The plan.
            totals: Each planned arm's exact statistic.
        """
        self.algorithm.learn(self._curator.release(plan, totals))
        following = self.algorithm.plan()
        if following is None or following.query is None:
            self._curator.end()

    def reload(self) -> None:
        """Go on from what a file would have, as after a restart."""
        before, secret = self.algorithm, json.loads(json.dumps(self._curator.state()))
        options = json.loads(json.dumps(before.options()))
        self.algorithm = type(before).from_options(options).replay(before.ledger.by_epoch())
        self._curator = Curator.of(self.algorithm, self._noise)
        self._curator.restore(secret, self.algorithm.plan())


def ledger_facts(ledger: Iterable[Release]) -> Facts:
    """Return everything in a ledger. A release is named after its rewards, so that equal names have equal noise."""
    facts: Facts = {}
    for number, entry in enumerate(ledger, 1):
        answers = "" if entry.steps is not None else f", {entry.tests} tests, {'halted' if entry.above else 'open'}"
        facts[f"{ENTRY}{number}"] = said = f"{entry.kind} of {entry.spans}{answers}"
        if entry.steps is not None:
            facts[f"{number}. {said}"] = entry.steps
    return facts


# ---------------------------------------------------------------------- policies


def by_totals(policy: Policy, rewards: Rewards, reload: bool = False) -> Facts:
    """Close epoch after epoch with exact totals, and return all that is shown.

    Args:
        policy: The policy.
        rewards: What the arms pay.
        reload: True to save and load before and after the first epochs.
    """
    plans: list[Any] = []
    driver: Any = Session(policy) if reload else Totals(policy)
    for epoch in range(EPOCHS):
        plan, known = driver.plan(), driver.algorithm
        plans.append(_shown(plan))
        if plan is None or _is_enough(known):
            break
        if reload and epoch < _RELOADS:
            driver.reload()
        driver.close_steps(_totals(plan, known, rewards) if plan.learns else None)
        if reload and epoch < _RELOADS:
            driver.reload()
    return _policy_facts(driver.algorithm, plans)


def by_tickets(policy: Policy, rewards: Rewards) -> Facts:
    """Ask and tell in reversed order, and return all that is shown.

    People whose reward is the lowest never answer, and their tickets expire.

    Args:
        policy: The policy.
        rewards: What the arms pay.
    """
    plans: list[Any] = []
    bandit, asked = Bandit(policy, default_reward=policy.low), dict.fromkeys(policy.arms, 0)
    indices, grid = {arm: index for index, arm in enumerate(policy.arms)}, policy.grid
    for _ in range(EPOCHS):
        try:
            tickets = [bandit.ask()]
        except FinishedError:
            plans.append(_shown(None))
            break
        known = bandit.policy
        plan = known.plan()
        plans.append(_shown(plan))
        if plan is None or _is_enough(known) or known.time + plan.size > TICKETS:
            break
        if plan.size > 1:
            tickets += bandit.ask(plan.size - 1)
        told, answers = [], []
        for ticket in tickets:
            asked[ticket.arm] += 1
            pull = asked[ticket.arm]
            if plan.learns and (steps := rewards.total(indices[ticket.arm], pull, pull)):
                told.append(ticket)
                answers.append((steps + grid.floor) * grid.step)
        if told:
            bandit.tell(told[::-1], answers[::-1])
        if plan.learns:
            bandit.expire()
    return _policy_facts(bandit.policy, plans)


def _policy_facts(policy: Policy, plans: list[Any]) -> Facts:
    facts: Facts = {f"plan {number}": plan for number, plan in enumerate(plans, 1)}
    return {**facts, **ledger_facts(policy.ledger), "best arm": policy.best_arm}


def _shown(plan: Plan | None) -> Any:
    """Return a plan as a word."""
    return "finished" if plan is None else (tuple(plan.pulls.items()), plan.learns)


def _is_enough(policy: Policy) -> bool:
    """Return True if a run may end: what it shows later costs time and says little about an early reward."""
    return len(policy.ledger) >= RELEASES and policy.time >= PULLS


def _totals(plan: Plan, policy: Policy, rewards: Rewards) -> dict[Arm, int]:
    """Return the exact totals of a plan's pulls."""
    past, indices = policy.taken, {arm: index for index, arm in enumerate(policy.arms)}
    return {arm: rewards.total(indices[arm], past[arm] + 1, past[arm] + count) for arm, count in plan.pulls.items()}


# ---------------------------------------------------------------------- stopping rules


def by_stream(rule: StoppingRule, rewards: Rewards, length: int, cuts: Iterable[int] = ()) -> Facts:
    """Feed a stream, try to go on after the rule has halted, and return all that is shown.

    Args:
        rule: The rule.
        rewards: The samples.
        length: The number of samples.
        cuts: The samples after which a new piece begins.
    """
    driver, start = Stream(rule), 0
    for end in (*cuts, length):
        if start < end and not driver.finished:
            driver.feed(rewards.floats(rule.grid, 0, start + 1, end))
            start = end
    facts = _rule_facts(driver.algorithm)
    if driver.result.reached:
        try:
            driver.feed(rewards.floats(rule.grid, 0, 1, length))
        except FinishedError:
            return facts
        facts |= {f"after halting, {name}": value for name, value in _rule_facts(driver.algorithm).items()}
    return facts


def by_sums(rule: StoppingRule, rewards: Rewards, length: int, cuts: Iterable[int] = ()) -> Facts:
    """Close plan after plan with exact statistics, and return all that is shown.

    Args:
        rule: The rule.
        rewards: The samples.
        length: The number of samples.
        cuts: The samples after which the rule is saved and loaded, if a plan or a test ends there.
    """
    session, start, left = Session(rule), 0, [*cuts, length]
    while (plan := session.plan()) is not None and start + (plan.until(1) if plan.many_tests else plan).size <= length:
        if plan.many_tests:  # up to the next cut, or the first test after it
            plan = plan.until(max(1, plan.tests_within(left[0] - start)))
        steps = counted(plan.statistic, rewards.steps(0, start + 1, start + plan.size), rule.grid.width)
        statistic: Any = plan.between_tests(steps) if plan.many_tests else None
        if statistic is None:
            sums = plan.statistic.accumulator(rule.grid.width)
            sums.add(steps)
            statistic = sums.values if len(sums.values) > 1 else sums.values[0]
        session.release(plan, {None: statistic} if plan.learns else None)
        start = session.algorithm.samples
        if start >= left[0] and len(left) > 1:
            left = [cut for cut in left if cut > start] or [length]
            session.reload()
    return _rule_facts(session.algorithm)


def _rule_facts(rule: StoppingRule) -> Facts:
    facts: Facts = {"samples": rule.samples, "halted": rule.halted, **ledger_facts(rule.ledger)}
    if rule.estimate is not None:
        facts[f"{DERIVED}estimate"] = rule.estimate
    return facts
