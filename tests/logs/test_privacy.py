"""Epsilon for a unit of a log: neighbours differ in the rewards of one unit, and what is released by one reward.

Checked on the prepared log (exactly), on whole runs by exact probabilities and by replay; planted mistakes are caught.
"""

import copy
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest

import discreet
from discreet import ArgumentError, Grid
from discreet.core.options import Positive
from discreet.core.plans import TotalsQuery
from discreet.logs import _prepare, from_log
from discreet.logs._cells import place
from discreet.logs._prepare import Key, Reading, cells, numbered, one_of_each, prepared
from discreet.logs._rows import Rows
from discreet.logs._sources import opened
from discreet.testing import ScriptedNoise, coarse_grid, worst_loss
from discreet.testing.recorder import Recorder

KEY = Key("5eed", (7, 77, 1_000_003, 17))
CELLS = ["", "nan", "abc", "7", "-3", "inf", "0", "0.5", "1", "true"]
EVERYTHING = {"missing": 0.25, "clip": True}


def twice():
    """Every row of a unit counts."""
    return patch.object(_prepare, "one_of_each", lambda rows, name, first: rows)


def chosen_by_reward():
    """The row of a unit with the least reward counts."""
    return patch.object(_prepare, "one_of_each", lambda rows, name, first: one_of_each(rows, name, ["steps", *first]))


def ordered_by_reward():
    """Small rewards come first."""
    return patch.object(_prepare, "numbered", lambda rows, order: numbered(rows, ["steps", *order]))


def left_out_by_reward():
    """A reward of 0 does not count."""
    return patch.object(
        _prepare, "one_of_each", lambda rows, name, first: one_of_each(rows.filter(rows.steps > 0), name, first)
    )


def dealt_by_reward():
    """The order is random, and another one for another reward."""

    def dealt(rows, order):
        return numbered(rows.mutate(place=place("5eed", rows.place + rows.steps.cast("string"))), order)

    return patch.object(_prepare, "numbered", dealt)


MISTAKES = [twice, dealt_by_reward, chosen_by_reward, ordered_by_reward, left_out_by_reward]


def random_log(rng, rows=120, units=30):
    return pl.DataFrame(
        {
            "unit": [f"u{index}" for index in rng.integers(units, size=rows)],
            "arm": [f"a{index}" for index in rng.integers(3, size=rows)],
            "at": rng.integers(30, size=rows).tolist(),
            "reward": [CELLS[index] for index in rng.integers(len(CELLS), size=rows)],
        }
    )


def neighbour(log, unit, rng, among=CELLS):
    """The log with other rewards in all rows of one unit."""
    other = [
        among[rng.integers(len(among))] if row["unit"] == unit else row["reward"] for row in log.iter_rows(named=True)
    ]
    return log.with_columns(pl.Series("reward", other))


def steps_at(log, **options):
    """The steps at each arm and place, as epochs take them."""
    reading = Reading("reward", "arm", "unit", **options)
    with opened(log, reading.wanted) as source, cells(source, reading, Grid(0.0, 1.0), KEY).cache() as found:
        rows = prepared(found, reading, KEY).to_pyarrow().to_pylist()
    return {(row["arm"], row["index"]): row["steps"] for row in rows}


def is_violated(options, logs=3):
    """Whether a neighbour of a random log differs in more than one reward, once prepared."""
    moved = 0
    for seed in range(logs):
        rng = np.random.default_rng(seed)
        log = random_log(rng)
        one, other = (steps_at(each, **options) for each in (log, neighbour(log, log["unit"][seed], rng)))
        differing = sum(one[place] != other[place] for place in one.keys() & other.keys())
        if one.keys() != other.keys() or differing > 1:
            return True
        moved += one != other
    assert moved  # or the test would not test anything
    return False


@pytest.mark.parametrize("order", [None, "at"])
def test_one_unit_moves_one_reward(order):
    assert not is_violated({**EVERYTHING, "order": order})


@pytest.mark.parametrize(
    ("mistake", "order"), [*((one, None) for one in MISTAKES), (twice, "at"), (chosen_by_reward, "at")]
)
def test_mistakes_in_the_choice_of_rows_are_caught(mistake, order):
    with mistake():
        assert is_violated({**EVERYTHING, "order": order})


def test_each_unit_has_one_row_whatever_its_rewards():
    log = random_log(np.random.default_rng(0), rows=200)
    assert len(steps_at(log, **EVERYTHING)) == log["unit"].n_unique()
    with twice():
        assert len(steps_at(log, **EVERYTHING)) > log["unit"].n_unique()


def test_with_a_reward_for_missing_and_clip_no_rewards_are_refused():
    """So that not even a refusal says anything: whatever the cells are, the run goes on, and is equally long."""
    log = random_log(np.random.default_rng(1), rows=200, units=60)
    policy = discreet.DPChernoffIMED(["a0", "a1", "a2"], epsilon=1.0, horizon=1000, first_batch=2)
    for cell in CELLS:
        same = log.with_columns(reward=pl.lit(cell))
        assert sum(discreet.replay(policy, same, arm="arm", reward="reward", unit="unit", **EVERYTHING).used.values())


def test_skipping_hides_the_reward_but_not_whether_there_is_one():
    """The promise with missing="skip" is about rewards that are there: other rewards move one place, none more."""
    rng = np.random.default_rng(3)
    log = random_log(rng).filter(pl.col("reward").is_in(["", "0", "0.5", "1"]))
    unit = log.filter(pl.col("reward") != "")["unit"][0]
    there = pl.when((pl.col("unit") == unit) & (pl.col("reward") != ""))
    other = log.with_columns(reward=there.then(pl.lit("0.125")).otherwise(pl.col("reward")))
    gone = log.with_columns(reward=there.then(pl.lit("")).otherwise(pl.col("reward")))
    one, two, three = (steps_at(each, missing="skip") for each in (log, other, gone))
    assert one.keys() == two.keys() != three.keys()
    assert sum(one[place] != two[place] for place in one) == 1


# ---------------------------------------------------------------------- whole runs


@dataclass(kw_only=True)
class TwoRounds(discreet.Policy):
    """Two epochs, which release the totals of two rows and of one row of each arm."""

    key, reason, theorem = "two-rounds", "each reward enters one total", discreet.Theorem.REWARDS
    best_arm = None
    epsilon: Positive = 2.0

    def _plan(self):
        count = {0: 2, 1: 1}.get(self.epoch)
        return count and self._plan_for({0: count, 1: count}, TotalsQuery((self.epsilon,)))

    def _decide(self, releases):
        pass


def exact_loss(mistake, text):
    """The exact loss of a whole run between logs that differ in the rewards of "a", over all noises up to a bound."""
    key, reading = Key(text, (5, 7, 77, 17)), Reading("reward", "arm", "unit", missing=0.0, clip=True)
    with coarse_grid():
        policy = TwoRounds(["x", "y"])
        _ = policy.grid
    runs = []
    with ExitStack() as stack:
        for rewards in ("01011001", "10111001"):
            source = stack.enter_context(opened(small_log(rewards), reading.wanted))
            found = stack.enter_context(cells(source, reading, policy.grid, key).cache())
            with mistake():
                table = stack.enter_context(prepared(found, reading, key).cache())
            runs.append(partial(shown, policy, Rows(table)))
        return worst_loss(*runs, reach=1, shift=1)


def small_log(rewards):
    """Six units of two arms, of which the first comes three times, to both arms."""
    units = ["a", "a", "a", "b", "c", "d", "e", "f"]
    arms = ["x", "y", "x", "x", "y", "y", "x", "y"]
    return pl.DataFrame({"unit": units, "arm": arms, "reward": list(rewards)})


def shown(policy, rows, noise):
    """All that a run on the rows shows."""
    again = copy.copy(rows)
    again._used = dict.fromkeys(rows.available, 0)
    driver, used, reason = from_log._drive(policy, again, {"x": "x", "y": "y"}, policy.grid, noise)
    return tuple(driver.ledger), tuple(used.items()), reason


KEYS = "12"


def test_a_run_is_private_for_a_unit_by_exact_probabilities():
    losses = [exact_loss(nullcontext, key) for key in KEYS]
    assert max(losses) == pytest.approx(2.0)  # one row of the unit is used, and pays all of epsilon


@pytest.mark.parametrize("mistake", [twice, chosen_by_reward])
def test_mistakes_break_epsilon_by_exact_probabilities(mistake):
    assert max(exact_loss(mistake, key) for key in KEYS) > 2.0 + 1e-9


# ---------------------------------------------------------------------- replay at full size


def close_race(users=900):
    """A log of two equal arms, which a search reads to its end; every third user comes twice."""
    rng = np.random.default_rng(4)
    user = np.concatenate([np.arange(users), np.arange(0, users, 3)])
    arm = np.where(user % 2, "x", "y")
    reward = np.where(rng.random(user.size) < 0.5, "1", "0")
    return pl.DataFrame({"unit": [f"u{index}" for index in user], "arm": arm, "reward": reward})


def replayed(mistake, units):
    """The largest loss of changing one of some units, and whether anything was shown differently."""
    log, policy = close_race(), discreet.DPSharpBestArm(["x", "y"], epsilon=1.0, beta=0.05)

    def run(log):
        return discreet.replay(policy, log, arm="arm", reward="reward", unit="unit", missing=0.0, clip=True)

    losses, different = [], 0
    with mistake(), patch.object(_prepare.Key, "draw", classmethod(lambda cls: KEY)):
        recorder = Recorder()
        with recorder.recording():
            shown = run(log).to_json()
        for number in units:
            mine = pl.col("unit") == f"u{number}"
            flipped = log.with_columns(
                reward=pl.when(mine).then(pl.col("reward").replace({"1": "abc", "0": "9"})).otherwise("reward")
            )
            with recorder.replaying() as replay:
                different += run(flipped).to_json() != shown
            losses.append(replay.loss)
    return max(losses), different


def test_a_run_on_other_rewards_of_one_unit_shows_the_same_and_costs_epsilon_at_most():
    loss, different = replayed(nullcontext, range(0, 120, 20))
    assert not different
    assert loss == pytest.approx(1.0)  # some unit pays all of it, and none pays more


@pytest.mark.parametrize("mistake", [twice, dealt_by_reward])
def test_mistakes_cost_more_than_epsilon(mistake):
    loss, different = replayed(mistake, range(0, 120, 20))
    assert different or loss > 1.0 + 1e-9


def test_keys_come_from_the_systems_entropy_and_are_not_kept():
    keys = {Key.draw() for _ in range(50)}
    assert len({key.text for key in keys}) == len({key.lots for key in keys}) == 50
    log = random_log(np.random.default_rng(0))
    answer = discreet.mean(log, column="reward", unit="unit", epsilon=1.0, **EVERYTHING)
    assert not any(isinstance(value, Key) for value in vars(answer).values())


def test_a_selection_may_not_look_at_rewards_however_it_is_written():
    log, noise = random_log(np.random.default_rng(0)), ScriptedNoise([])
    for where in (
        lambda t: t.reward == "1",
        lambda t: t.reward.length() > t["at"],
        lambda t: (t["at"] > 3).ifelse(t.arm == "a0", t.reward.notnull()),
    ):
        with pytest.raises(ArgumentError, match="where must not look at the reward column"):
            discreet.mean(log, column="reward", unit="unit", where=where, epsilon=1.0, noise=noise)
    assert not noise.scales
