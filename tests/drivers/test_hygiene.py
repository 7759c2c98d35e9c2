"""Small leaks: what objects and files show, what errors say, when noise is drawn, and the low bits of releases."""

import json
import logging
import math
import traceback

import numpy as np
import pytest

from discreet import Bandit, DiscreetError, SimulatedNoise, Stream
from discreet.testing.walker import LabelledNoise, label_of
from tests._tools import faults
from tests._tools.walking import CASES, PRIVATE_POLICIES, PRIVATE_RULES, advance, algorithm

ODD = 0.7312459  # a reward that nothing else looks like


def everything(thing):
    """All that can be had from an object without touching its private parts."""
    seen = [repr(thing), str(thing), f"{thing}"]
    for name in dir(thing):
        if not name.startswith("_"):
            value = getattr(thing, name)
            seen.append(f"{name}={value!r}" if not callable(value) else name)
    return " ".join(seen)


ON_FINE_GRIDS = [name for name in PRIVATE_RULES if algorithm(name).grid.width > 1]
"""Sums of coins look like any count, and coins do not follow from the low bits of samples alone."""


def looks_of(total, grid):
    """How an exact total would look in print: in grid steps, in rewards, and as a mean."""
    return [str(total), f"{total * grid.step:.5f}", repr(total * grid.step)]


# ---------------------------------------------------------------------- what objects show


@pytest.mark.parametrize("name", PRIVATE_POLICIES)
def test_an_open_epoch_of_a_bandit_shows_nothing_of_its_rewards(name):
    bandit = Bandit(algorithm(name), SimulatedNoise(1), default_reward=0.0)
    tickets = bandit.ask(10)
    for ticket in tickets[: max(1, len(tickets) - 1)]:
        bandit.tell(ticket, ODD)
    secrets = [total for total in bandit._epoch.sums if total]
    shown = everything(bandit) + everything(bandit.policy) + repr(tickets) + repr(bandit.open_tickets)
    shown += everything(bandit._curator)
    assert not any(look in shown for total in secrets for look in looks_of(total, bandit.policy.grid))
    assert str(ODD) not in shown


@pytest.mark.parametrize("name", ON_FINE_GRIDS)
def test_a_stream_shows_nothing_of_its_samples(name):
    stream = Stream(algorithm(name, alpha=0.1), SimulatedNoise(1))
    stream.feed(np.full(13, ODD))
    grid = stream.algorithm.grid
    shown = everything(stream) + everything(stream.algorithm) + repr(stream.result) + str(stream.result)
    shown += everything(stream._curator)
    assert not any(look in shown for count in (1, 12, 13) for look in looks_of(count * grid.encode(ODD), grid))
    assert str(ODD) not in shown


# ---------------------------------------------------------------------- what files hold


@pytest.mark.parametrize("case", CASES)
def test_a_file_has_no_noise_but_a_thresholds_and_no_total_of_a_closed_epoch(case, tmp_path):
    path = tmp_path / "state"
    driver = CASES[case](LabelledNoise(1))
    driver.save(path)
    for number in range(8):
        if driver.algorithm.plan() is None:
            break
        advance(driver, number)
        secret = json.loads(path.read_text())["secret"]
        noise = [name for name, value in numbers(secret) if label_of(value) is not None]
        assert set(noise) <= {"threshold_noise"}
        if not driver.algorithm.keeps_secrets and not isinstance(driver, Stream):
            assert all(value == 0 for name, value in numbers(secret) if name in ("sums", "held", "counters"))
        if driver.algorithm.plan() is None:
            assert secret == {}
    assert set(json.loads(path.read_text())["public"]) <= {
        "kind", "algorithm", "options", "simulated", "clip", "waiting", "window", "default_reward", "served"
    }  # fmt: skip


def numbers(value, name=""):
    """The whole numbers in a JSON value, each with the name of its entry."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from numbers(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from numbers(part, name)
    elif type(value) is int:
        yield name, value


def test_the_ledger_of_a_file_is_public(tmp_path):
    """It has releases only: what the driver's `ledger` shows."""
    stream = Stream(algorithm("dp-exp-nas", alpha=0.1))
    stream.save(tmp_path / "state")
    stream.feed(np.full(100, ODD))
    lines = [json.loads(line) for line in (tmp_path / "state.ledger").read_text().splitlines()]
    assert lines == [json.loads(json.dumps([stream.ledger[-1]]))]


# ---------------------------------------------------------------------- what errors and logs say


def complaints(bandit, tickets, stream, folder):
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
    yield lambda: stream.feed([ODD, ODD, math.nan])
    yield lambda: stream.feed(np.array([ODD, ODD, 7.0]))
    yield lambda: stream.feed(iter([ODD, ODD, "x"]))
    bandit.save(folder / "bandit")
    stream.save(folder / "stream")

    def on_a_full_disk():
        with faults.full_disk("rename"):
            bandit.expire()

    yield on_a_full_disk

    def streaming_on_a_full_disk():
        with faults.full_disk("write the ledger"):
            stream.feed(np.full(10**4, ODD))

    yield streaming_on_a_full_disk


def test_no_error_and_no_log_holds_a_good_reward(tmp_path, caplog, capsys):
    """A refused value is quoted, since it must be put right; a good one and a total never are."""
    caplog.set_level(logging.DEBUG)
    bandit, stream = Bandit(algorithm("dp-se"), default_reward=0.5), Stream(algorithm("dp-exp-nas", alpha=0.1))
    tickets = bandit.ask(10**6)
    bandit.tell(tickets[:100], [ODD] * 100)
    said = 0
    for complain in complaints(bandit, tickets[100:], stream, tmp_path):
        with pytest.raises((DiscreetError, OSError)) as caught:
            complain()
        error = caught.value
        while error is not None:
            text = "".join(traceback.format_exception_only(error)) + repr(vars(error))
            total = bandit.policy.grid.encode(ODD) * 100
            assert str(ODD) not in text
            assert not any(look in text for look in looks_of(total, bandit.policy.grid))
            error = error.__cause__ or error.__context__
        said += 1
    assert said == 13
    assert caplog.text == ""
    assert capsys.readouterr() == ("", "")


# ---------------------------------------------------------------------- noise is drawn at the release


class Counted(SimulatedNoise):
    """Simulated noise that counts its draws."""

    drawn = 0

    def draws(self, scale, count):
        self.drawn += count
        return super().draws(scale, count)


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_drawn_before_the_rewards_are_in(case, tmp_path):
    """Not by planning, asking, telling part of an epoch, saving or loading."""
    noise = Counted(1)
    driver = CASES[case](noise)
    for number in range(4):
        if driver.finished:
            break
        drawn = noise.drawn
        if isinstance(driver, Bandit):
            tickets = driver.ask(10**6 if driver.window is None else driver.algorithm.plan().size)
            driver.tell(tickets[1:], np.ones(len(tickets) - 1))
        driver.algorithm.plan()
        driver.save(tmp_path / f"state {number}")
        driver = type(driver).load(tmp_path / f"state {number}", noise)
        assert noise.drawn == drawn
        advance(driver, number)
    assert noise.drawn > 0


# ---------------------------------------------------------------------- low bits


def nudged(rewards, rng, step):
    """Other floats that round to the same grid points: they differ in their low bits."""
    return np.clip(rewards + rng.uniform(-0.4, 0.4, rewards.size) * step, 0.0, 1.0)


@pytest.mark.parametrize("name", ["dp-se-sharp", "dp-ucb", "dp-se-modified", "lazy-ucb", "dp-chernoff-imed"])
def test_the_low_bits_of_rewards_reach_nothing_that_a_bandit_shows(name):
    seen = []
    for seed in range(3):
        bandit = Bandit(algorithm(name, horizon=10**5), SimulatedNoise(5), seed=5)
        rng, bits = np.random.default_rng(0), np.random.default_rng(seed)
        for _ in range(10):
            tickets = bandit.ask(3000)
            rewards = rng.integers(0, 2**20 + 1, len(tickets)) / 2**20
            bandit.tell(tickets, nudged(rewards, bits, bandit.policy.grid.step))
        seen.append((everything(bandit.policy), bandit.ledger, bandit.pulls))
    assert seen[0] == seen[1] == seen[2]
    assert len(bandit.ledger) > 0
    assert all(release.steps is None or type(release.steps) is int for release in bandit.ledger)


@pytest.mark.parametrize("name", ON_FINE_GRIDS)
def test_the_low_bits_of_samples_reach_nothing_that_a_rule_shows(name):
    seen = []
    for seed in range(3):
        rule = algorithm(name, alpha=0.3)
        samples = np.random.default_rng(1).integers(0, 2**20 + 1, 20_000) / 2**20
        seen.append(rule.run(nudged(samples, np.random.default_rng(seed), rule.grid.step), SimulatedNoise(6)))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0].reached
