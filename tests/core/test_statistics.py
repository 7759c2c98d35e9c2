"""Statistics: the sensitivity that they declare, for every small stream; and the same sums however a stream is cut."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.statistics import PairsAccumulator, Statistic

WIDTH = 3


def values_of(statistic, rewards, width=WIDTH, cuts=()):
    sums, at = statistic.accumulator(width), 0
    for stop in (*cuts, len(rewards)):
        if stop > at:
            sums.add(np.array(rewards[at:stop]))
            at = stop
    return sums.values


def largest_moves(statistic, count):
    """The most by which one changed reward moves each part, over all streams of this length."""
    found = {rewards: values_of(statistic, rewards) for rewards in product(range(WIDTH + 1), repeat=count)}
    moves = np.zeros(len(statistic.parts), int)
    for rewards, values in found.items():
        for index, changed in product(range(count), range(WIDTH + 1)):
            other = found[(*rewards[:index], changed, *rewards[index + 1 :])]
            moves = np.maximum(moves, np.abs(np.subtract(values, other)))
    return tuple(moves.tolist())


@pytest.mark.parametrize("statistic", Statistic)
def test_one_reward_moves_each_part_by_its_sensitivity_and_no_more(statistic):
    assert largest_moves(statistic, 4) == statistic.sensitivities(WIDTH)
    assert all(
        move <= most for move, most in zip(largest_moves(statistic, 3), statistic.sensitivities(WIDTH), strict=True)
    )


@pytest.mark.parametrize("statistic", Statistic)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_largest_values_are_reached_and_not_exceeded(statistic, count):
    every = [values_of(statistic, rewards) for rewards in product(range(WIDTH + 1), repeat=count)]
    assert tuple(map(max, zip(*every, strict=True))) == statistic.largest(WIDTH, count)
    assert min(map(min, every)) == 0


def test_pairs_that_overlap_are_caught(monkeypatch):
    """Then a reward lies in two pairs, and moves their squares by twice as much."""

    def overlapping(self, steps):
        rewards = np.asarray(steps, dtype=np.int64)
        difference = rewards[1:] - rewards[:-1]
        self._total += int(rewards.sum())
        self._squares += int(-(-difference * difference // self.width).sum())

    monkeypatch.setattr(PairsAccumulator, "add", overlapping)
    assert largest_moves(Statistic.PAIRS, 4) == (2 * WIDTH, WIDTH)


@given(
    st.lists(st.integers(0, 2**20), min_size=1, max_size=40),
    st.lists(st.integers(0, 40), max_size=10),
    st.sampled_from(list(Statistic)),
)
def test_sums_do_not_depend_on_how_a_stream_is_cut(rewards, cuts, statistic):
    width = 2**20
    total = sum(rewards)
    pairs = zip(rewards[::2], rewards[1::2], strict=False)
    squares = sum(-(-((one - other) ** 2) // width) for one, other in pairs)
    expected = {"squares": squares, "total": total}
    cuts = sorted({cut for cut in cuts if cut < len(rewards)})
    assert values_of(statistic, rewards, width, cuts) == tuple(expected[part] for part in statistic.parts)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=30), st.data(), st.sampled_from(list(Statistic)))
def test_sums_go_on_from_a_saved_state(rewards, data, statistic):
    cut = data.draw(st.integers(1, len(rewards) - 1))
    one = statistic.accumulator(9)
    one.add(np.array(rewards[:cut]))
    other = statistic.accumulator(9)
    other.restore(one.state())
    for sums in (one, other):
        sums.add(np.array(rewards[cut:]))
    assert other.state() == one.state()
    assert (other.values, other.count) == (one.values, len(rewards))


def test_floats_of_whole_steps_are_added_exactly():
    """Drivers hand over steps as float64, which holds them exactly."""
    for statistic in Statistic:
        sums = statistic.accumulator(2**31)
        sums.add(np.array([2.0**31, 0.0, 2.0**31, 1.0]))
        assert sums.values[-1] == 2**32 + 1
        assert all(type(value) is int for value in sums.values)
