"""Small leaks: what objects show, what errors say, when noise is drawn, and the low bits of what is released."""

import copy
import logging
import math
import pickle
import traceback

import numpy as np
import pytest

import discreet
from discreet import Bandit, DiscreetError, SimulatedNoise
from discreet.core.noise import Reserve
from discreet.mechanisms import AboveThreshold
from tests._tools import examples, faults

POLICIES = [name for name in sorted(discreet.POLICIES) if examples.is_private(name)]
RULES = [name for name in sorted(discreet.RULES) if examples.is_private(name)]
ODD = 0.7312459  # a reward that nothing else looks like


def everything(thing):
    """All that can be had from an object without touching its private parts."""
    seen = [repr(thing), str(thing), f"{thing}"]
    for name in dir(thing):
        if not name.startswith("_") and name != "noise":  # a seeded source, or the process's one
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
    rule = examples.rule(name)
    rule.feed(np.full(13, ODD))
    unit = rule.grid.encode(ODD)
    shown = everything(rule) + repr(rule.result) + str(rule.result)
    assert not any(look in shown for count in (1, 12, 13) for look in looks_of(count * unit, rule.grid))
    assert str(ODD) not in shown


@pytest.mark.parametrize("make", examples.MECHANISMS.values(), ids=examples.MECHANISMS)
def test_mechanisms_are_not_copied_and_show_no_value(make):
    mechanism, secret = make(), 731_245_919
    if isinstance(mechanism, AboveThreshold):
        mechanism.test(secret, 10**15)
    elif isinstance(mechanism, discreet.LaplaceMechanism):
        mechanism.release(secret)
    else:
        mechanism.add(secret)
    assert str(secret) not in everything(mechanism)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(discreet.PrivacyError, match="cannot be copied or pickled"):
            attempt(mechanism)
    assert not hasattr(mechanism, "__dict__")


@pytest.mark.parametrize("name", POLICIES)
def test_a_bandit_of_every_kind_is_not_copied(name):
    bandit = Bandit(examples.policy(name))
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(discreet.PrivacyError, match="cannot be copied or pickled"):
            attempt(bandit)


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
    yield lambda: rule.close(rule.grid.encode(ODD) * 10**6)
    yield lambda: rule.close(ODD)
    bandit.save(folder / "state.json")
    rule.save(folder / "rule.json")

    def on_a_full_disk():
        with faults.full_disk(monkeypatch, "rename"):
            bandit.expire()
            rule.feed(np.full(10**4, ODD))

    yield on_a_full_disk


def test_no_error_and_no_log_holds_a_good_reward(tmp_path, monkeypatch, caplog, capsys):
    """A refused value is quoted, since it must be put right; a good one and a total never are."""
    caplog.set_level(logging.DEBUG)
    bandit, rule = Bandit(examples.policy("dp-se"), default_reward=0.5), examples.rule("dp-exp-nas")
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
    assert said == 14
    assert caplog.text == ""
    assert capsys.readouterr() == ("", "")


# ---------------------------------------------------------------------- noise comes before the data that it masks


class Dated:
    """Noise whose every draw is another number, so that it is known when it was drawn."""

    simulated = True

    def __init__(self):
        self.now = 0  # a call that brings data begins a new time
        self.drawn = {}
        self.late = self.used = 0

    def draws(self, scale, count):
        fresh = [(-1) ** number * number for number in range(len(self.drawn) + 1, len(self.drawn) + count + 1)]
        self.drawn.update(dict.fromkeys(fresh, self.now))
        return np.array(fresh, dtype=np.int64)

    def use(self, draws):
        self.used += len(draws)
        self.late += sum(self.drawn[int(draw)] >= self.now for draw in draws)

    def watch(self, monkeypatch):
        """See every draw that is used."""
        take, take_many, test, many = Reserve.take, Reserve.take_many, AboveThreshold.test, AboveThreshold.first_above
        dated = self

        def watched_take(self):
            draw = take(self)
            dated.use([draw])
            return draw

        def watched_take_many(self, count):
            draws = take_many(self, count)
            dated.use(draws)
            return draws

        def watched(test):
            def tested(self, *arguments):
                dated.use([self._threshold_noise])
                return test(self, *arguments)

            return tested

        monkeypatch.setattr(Reserve, "take", watched_take)
        monkeypatch.setattr(Reserve, "take_many", watched_take_many)
        monkeypatch.setattr(AboveThreshold, "test", watched(test))
        monkeypatch.setattr(AboveThreshold, "first_above", watched(many))


def play_dated(name, dated):
    policy = examples.policy(name, noise=dated)
    for _ in range(40):
        plan = policy.plan()
        if plan is None:
            break
        dated.now += 1
        policy.close(dict.fromkeys(plan.pulls, 0) if plan.learns else None)
        dated.now += 1


def feed_dated(name, dated):
    rule = examples.rule(name, noise=dated)
    for _ in range(2000):
        if rule.finished:
            break
        dated.now += 1
        rule.feed(0.0)
        dated.now += 1


@pytest.mark.parametrize(("play", "name"), [(play_dated, n) for n in POLICIES] + [(feed_dated, n) for n in RULES])
def test_noise_is_drawn_before_the_data_that_it_masks(play, name, monkeypatch):
    dated = Dated()
    dated.watch(monkeypatch)
    play(name, dated)
    assert dated.used > 0
    assert dated.late == 0


@pytest.mark.parametrize(("play", "name"), [(play_dated, "dp-se"), (play_dated, "dp-ucb"), (feed_dated, "dp-nas")])
def test_the_check_notices_noise_that_is_drawn_when_it_is_needed(play, name, monkeypatch):
    monkeypatch.setattr(Reserve, "state", lambda self: [])

    def lazy(self):
        self._ready = []
        Reserve.prepare(self, 1)
        return self._ready.pop(0)

    monkeypatch.setattr(Reserve, "take", lazy)
    monkeypatch.setattr(Reserve, "take_many", lambda self, count: np.array([lazy(self) for _ in range(count)]))
    dated = Dated()
    dated.watch(monkeypatch)
    play(name, dated)
    assert dated.late > 0


# ---------------------------------------------------------------------- low bits


def nudged(rewards, random, step):
    """Other floats that round to the same grid points: they differ in their low bits."""
    return np.clip(rewards + random.uniform(-0.4, 0.4, rewards.size) * step, 0.0, 1.0)


@pytest.mark.parametrize("name", POLICIES)
def test_the_low_bits_of_rewards_reach_nothing_that_a_bandit_shows(name):
    seen = []
    for seed in range(3):
        bandit = Bandit(examples.policy(name, noise=SimulatedNoise(5)), seed=5)
        random, bits = np.random.default_rng(0), np.random.default_rng(seed)
        for _ in range(10):
            tickets = bandit.ask(3000)
            rewards = random.integers(0, 2**20 + 1, len(tickets)) / 2**20
            bandit.tell(tickets, nudged(rewards, bits, bandit.policy.grid.step))
        seen.append((everything(bandit.policy), bandit.ledger, bandit.pulls))
    assert seen[0] == seen[1] == seen[2]
    for entry in bandit.ledger:
        if entry.units is not None:
            assert type(entry.units) is int
            assert entry.value == bandit.policy.grid.mean(entry.units, entry.count) * entry.count


@pytest.mark.parametrize("name", RULES)
def test_the_low_bits_of_samples_reach_nothing_that_a_rule_shows(name):
    seen = []
    for seed in range(3):
        rule = examples.rule(name, noise=SimulatedNoise(6))
        samples = np.random.default_rng(1).integers(0, 2**20 + 1, 20_000) / 2**20
        rule.run(nudged(samples, np.random.default_rng(seed), rule.grid.step))
        seen.append((rule.result, rule.ledger, everything(rule)))
    assert rule.result.reached
    assert seen[0] == seen[1] == seen[2]
    assert all(entry.units is None or type(entry.units) is int for entry in rule.ledger)
