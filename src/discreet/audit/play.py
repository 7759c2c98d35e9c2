"""Playing the real object once on a known input, in each of the ways it can be driven, and writing down all it says.

Nothing here is a copy of an algorithm: the object plans, a driver fills its epochs with the input's rewards, and the
facts of a run are its plans, answers, ledger and result. A run is cut off after a few releases, which only hides facts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from discreet.audit.events import DERIVED, Facts
from discreet.audit.inputs import Rewards
from discreet.bandits._policy import Plan, Policy
from discreet.core.errors import FinishedError
from discreet.core.privacy import Arm, Release
from discreet.core.registry import rebuild
from discreet.drivers.ask_tell import Bandit
from discreet.stopping import StoppingRule

EPOCHS, TICKETS = 12, 1000  # the most of a run
RELEASES, PULLS = 4, 8  # where a run has shown enough: both are reached
_RELOADS = 2  # epochs
ENTRY = "entry "


def ledger_facts(ledger: Iterable[Release]) -> Facts:
    """Everything in a ledger. A release is named after its rewards, so that equal names have equal noise."""
    facts: Facts = {}
    for number, entry in enumerate(ledger, 1):
        facts[f"{ENTRY}{number}"] = what = f"{entry.what} {entry.spans}"
        if entry.units is not None:
            facts[f"{number}. {what}"] = entry.units
        if entry.value is not None:
            facts[f"{DERIVED}{number}. {what}"] = entry.value
    return facts


# ---------------------------------------------------------------------- policies


def policy_facts(policy: Policy, plans: list[Any]) -> Facts:
    """What a policy has shown."""
    facts: Facts = {f"plan {number}": plan for number, plan in enumerate(plans, 1)}
    return {**facts, **ledger_facts(policy.ledger), "best arm": policy.best_arm}


def shown(plan: Plan | None) -> Any:
    """A plan as a word."""
    return "finished" if plan is None else (tuple(plan.pulls.items()), plan.learns)


def enough(policy: Policy) -> bool:
    """Whether a run may end: what it shows later costs time and says little about an early reward."""
    return len(policy.ledger) >= RELEASES and policy.time >= PULLS


def by_totals(policy: Policy, rewards: Rewards, reload: bool = False) -> Facts:
    """Close epoch after epoch with exact totals."""
    plans: list[Any] = []
    for epoch in range(EPOCHS):
        plan = policy.plan()
        plans.append(shown(plan))
        if plan is None or enough(policy):
            break
        if reload and epoch < _RELOADS:
            policy = reloaded(policy)
        policy.close(totals_of(policy, plan, rewards) if plan.learns else None)
        if reload and epoch < _RELOADS:
            policy = reloaded(policy)
    return policy_facts(policy, plans)


def totals_of(policy: Policy, plan: Plan, rewards: Rewards) -> dict[Arm, int]:
    """The exact totals of a plan's next pulls."""
    past = policy.pulls
    places = {arm: place for place, arm in enumerate(policy.arms)}
    return {arm: rewards.total(places[arm], past[arm] + 1, past[arm] + count) for arm, count in plan.pulls.items()}


def by_tickets(policy: Policy, rewards: Rewards) -> Facts:
    """Ask and tell, in reversed order. People whose reward is the lowest never answer, and their tickets expire."""
    plans: list[Any] = []
    bandit, asked = Bandit(policy, default_reward=policy.low), dict.fromkeys(policy.arms, 0)
    places = {arm: place for place, arm in enumerate(policy.arms)}
    for _ in range(EPOCHS):
        try:
            tickets = [bandit.ask()]
        except FinishedError:
            plans.append(shown(None))
            break
        plan = policy.plan()
        plans.append(shown(plan))
        if plan is None or enough(policy) or policy.time + plan.size > TICKETS:
            break
        if plan.size > 1:
            tickets += bandit.ask(plan.size - 1)
        told, answers = [], []
        for ticket in tickets:
            asked[ticket.arm] += 1
            if plan.learns and (units := rewards.total(places[ticket.arm], asked[ticket.arm], asked[ticket.arm])):
                told.append(ticket)
                answers.append((units + policy.grid.floor) * policy.grid.step)
        if told:
            bandit.tell(told[::-1], answers[::-1])
        if plan.learns:
            bandit.expire()
    return policy_facts(policy, plans)


# ---------------------------------------------------------------------- stopping rules


def rule_facts(rule: StoppingRule) -> Facts:
    """What a rule has shown."""
    facts: Facts = {"samples": rule.samples, "halted": rule.halted, **ledger_facts(rule.ledger)}
    if rule.result.estimate is not None:
        facts[f"{DERIVED}estimate"] = rule.result.estimate
    return facts


def by_stream(rule: StoppingRule, rewards: Rewards, length: int, cuts: Iterable[int] = ()) -> Facts:
    """Feed a stream, and try to go on after the rule has halted. The rule is reloaded after each of the `cuts`."""
    start = 0
    for end in (*cuts, length):
        if start < end and not rule.finished:
            rule.feed(rewards.floats(rule.grid, 0, start + 1, end))
            start = end
            if end < length and not rule.finished:
                rule = reloaded(rule)
    facts = rule_facts(rule)
    if rule.halted:
        try:
            rule.feed(rewards.floats(rule.grid, 0, 1, length))
        except FinishedError:
            return facts
        facts |= {f"after halting, {name}": value for name, value in rule_facts(rule).items()}
    return facts


def by_sums(rule: StoppingRule, rewards: Rewards, length: int) -> Facts:
    """Close test after test with exact totals."""
    while (count := rule.plan()) and rule.samples + count <= length:
        rule.close(rewards.total(0, rule.samples + 1, rule.samples + count))
    return rule_facts(rule)


def reloaded(algorithm: Any) -> Any:
    """The object that goes on from a saved state, as after a restart: the same JSON, without the file."""
    return rebuild(algorithm.kind, json.loads(json.dumps(algorithm._dump())))
