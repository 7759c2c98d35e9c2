"""Small leaks: what objects show, what errors say, and the low bits of what is released."""

import copy
import logging
import math
import pickle
import traceback

import numpy as np
import pytest

import discreet
from discreet import Bandit, DiscreetError, SimulatedNoise, Stream
from tests._tools import examples, faults

POLICIES = [name for name in sorted(discreet.POLICIES) if examples.is_private(name)]
RULES = [name for name in sorted(discreet.RULES) if examples.is_private(name)]
ODD = 0.7312459  # a reward that nothing else looks like


def everything(thing):
    """All that can be had from an object without touching its private parts."""
    seen = [repr(thing), str(thing), f"{thing}"]
    for name in dir(thing):
        if not name.startswith("_"):
            value = getattr(thing, name)
            seen.append(f"{name}={value!r}" if not callable(value) else name)
    return " ".join(seen)


def looks_of(total, grid):
    """How an exact total would look in print: in grid units, in rewards, and as a mean."""
    return [str(total), f"{total * grid.step:.5f}", repr(total * grid.step)]


# ---------------------------------------------------------------------- what objects show


@pytest.mark.parametrize("name", POLICIES)
def test_an_open_epoch_of_a_bandit_shows_nothing_of_its_rewards(name):
    bandit = Bandit(examples.policy(name), default_reward=0.0)
    tickets = bandit.ask(10)
    for ticket in tickets[: max(1, len(tickets) - 1)]:
        bandit.tell(ticket, ODD)
    secrets = [total for total in bandit._sums if total]
    shown = everything(bandit) + everything(bandit.policy) + repr(tickets) + repr(bandit.open_tickets)
    assert not any(look in shown for total in secrets for look in looks_of(total, bandit.policy.grid))
    assert str(ODD) not in shown


@pytest.mark.parametrize("name", RULES)
def test_a_rule_shows_nothing_of_its_samples(name):
    stream = Stream(examples.rule(name))
    stream.feed(np.full(13, ODD))
    rule, steps = stream.algorithm, stream.algorithm.grid.encode(ODD)
    shown = everything(stream) + everything(rule) + str(stream.result)
    assert not any(look in shown for count in (1, 12, 13) for look in looks_of(count * steps, rule.grid))
    assert str(ODD) not in shown


def test_drivers_are_not_copied():
    for driver in (Bandit(examples.policy("dp-se")), Stream(examples.rule("dp-nas"))):
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(discreet.PrivacyError, match="cannot be copied or pickled"):
                attempt(driver)


# ---------------------------------------------------------------------- what errors and logs say


def complaints(bandit, tickets, rule, folder, monkeypatch):
    """Everything that can go wrong while good rewards are at hand."""
    good = [ODD] * len(tickets)
    yield lambda: bandit.tell(tickets, [*good[:-1], math.nan])
    yield lambda: bandit.tell(tickets, [*good[:-1], 7.0])
    yield lambda: bandit.tell(tickets, [*good, ODD])
    yield lambda: bandit.tell([*tickets[:-1], "nobody-1"], good)
    yield lambda: bandit.tell("nobody-1", ODD)
    yield lambda: bandit.tell(tickets, [*map(str, good)])
    yield lambda: bandit.tell(tickets, [good, good[:2]])
    yield lambda: bandit.ask(0)
    yield lambda: rule.feed([ODD, ODD, math.nan])
    yield lambda: rule.feed(np.array([ODD, ODD, 7.0]))
    yield lambda: rule.feed(iter([ODD, ODD, "x"]))
    bandit.save(folder / "state.json")
    rule.save(folder / "rule.json")

    def on_a_full_disk():
        with faults.full_disk("rename"):
            bandit.expire()
            rule.feed(np.full(10**4, ODD))

    yield on_a_full_disk


def test_no_error_and_no_log_holds_a_good_reward(tmp_path, monkeypatch, caplog, capsys):
    """A refused value is quoted, since it must be put right; a good one and a total never are."""
    caplog.set_level(logging.DEBUG)
    bandit, rule = Bandit(examples.policy("dp-se"), default_reward=0.5), Stream(examples.rule("dp-exp-nas"))
    tickets = bandit.ask(10**6)
    bandit.tell(tickets[:100], [ODD] * 100)
    rest = tickets[100:]
    said = 0
    for complain in complaints(bandit, rest, rule, tmp_path, monkeypatch):
        with pytest.raises((DiscreetError, OSError)) as caught:
            complain()
        error = caught.value
        while error is not None:
            text = "".join(traceback.format_exception_only(error)) + repr(vars(error))
            unit = bandit.policy.grid.encode(ODD)
            assert str(ODD) not in text
            assert not any(look in text for look in looks_of(unit * 100, bandit.policy.grid))
            error = error.__cause__ or error.__context__
        said += 1
    assert said == 12
    assert caplog.text == ""
    assert capsys.readouterr() == ("", "")


# ---------------------------------------------------------------------- low bits


def nudged(rewards, random, step):
    """Other floats that round to the same grid points: they differ in their low bits."""
    return np.clip(rewards + random.uniform(-0.4, 0.4, rewards.size) * step, 0.0, 1.0)


@pytest.mark.parametrize("name", POLICIES)
def test_the_low_bits_of_rewards_reach_nothing_that_a_bandit_shows(name):
    seen = []
    for seed in range(3):
        bandit = Bandit(examples.policy(name), SimulatedNoise(5), seed=5)
        random, bits = np.random.default_rng(0), np.random.default_rng(seed)
        for _ in range(10):
            tickets = bandit.ask(3000)
            rewards = random.integers(0, 2**20 + 1, len(tickets)) / 2**20
            bandit.tell(tickets, nudged(rewards, bits, bandit.policy.grid.step))
        seen.append((everything(bandit.policy), bandit.ledger, bandit.pulls))
    assert seen[0] == seen[1] == seen[2]
    assert all(release.steps is None or type(release.steps) is int for release in bandit.ledger)


@pytest.mark.parametrize("name", RULES)
def test_the_low_bits_of_samples_reach_nothing_that_a_rule_shows(name):
    seen = []
    for seed in range(3):
        rule = examples.rule(name)
        samples = np.random.default_rng(1).integers(0, 2**20 + 1, 20_000) / 2**20
        result = rule.run(nudged(samples, np.random.default_rng(seed), rule.grid.step), noise=SimulatedNoise(6))
        seen.append((result, list(result.ledger), str(result)))
    assert result.reached
    assert seen[0] == seen[1] == seen[2]
    assert all(release.steps is None or type(release.steps) is int for release in result.ledger)
