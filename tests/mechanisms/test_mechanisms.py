import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import (
    AboveThreshold,
    ArgumentError,
    BinaryTreeCounter,
    FinishedError,
    HybridCounter,
    LaplaceMechanism,
    PrefixSumAboveThreshold,
    SimulatedNoise,
)
from discreet.mechanisms import laplace_sum_radius
from discreet.testing import ScriptedNoise

items = st.lists(st.integers(0, 5), min_size=1, max_size=200)


def silent():
    return ScriptedNoise([])


def test_laplace_adds_each_draw_once():
    mechanism = LaplaceMechanism(2, 0.5, ScriptedNoise([7, -3, 1]))
    assert mechanism.scale == 4.0
    assert [mechanism.release(10), mechanism.release(10), mechanism.release(10)] == [17, 7, 11]


def test_numpy_integers_are_taken_exactly():
    mechanism = LaplaceMechanism(1, 1.0, silent())
    values = [2**53, 2**53 + 1, 2**53 + 3]
    assert [mechanism.release(np.int64(value)) for value in values] == values
    with pytest.raises(ArgumentError, match="must be an integer"):
        mechanism.release(2.0**60)


def test_laplace_refuses_floats_that_are_not_whole():
    with pytest.raises(ArgumentError, match="value must be an integer, not a float"):
        LaplaceMechanism(1, 1.0, silent()).release(0.5)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1", None, True])
@pytest.mark.parametrize("kind", [LaplaceMechanism, AboveThreshold, PrefixSumAboveThreshold, HybridCounter])
def test_epsilon_is_checked(kind, epsilon):
    with pytest.raises(ArgumentError, match="epsilon must be"):
        kind(1, epsilon)


def test_above_threshold_uses_the_papers_split():
    noise = ScriptedNoise([])
    sparse = AboveThreshold(sensitivity=2, epsilon=0.5, noise=noise)
    sparse.test(0, 10)
    assert set(noise.scales) == {12.0}  # 3 * 2 / 0.5, for the threshold and for each query


def test_above_threshold_draws_the_threshold_noise_once_and_query_noise_each_time():
    # B = 5; A = -1, -2, -3: yes iff query >= threshold + B + A.
    sparse = AboveThreshold(1, 1.0, ScriptedNoise([5, -1, -2, -3]))
    assert not sparse.test(13, 10)
    assert not sparse.test(12, 10)
    assert sparse.test(12, 10)


def test_above_threshold_rounds_thresholds_against_halting():
    assert not AboveThreshold(1, 1.0, silent()).test(10, 10.000001)
    assert AboveThreshold(1, 1.0, silent()).test(10, 10.0)


def test_above_threshold_halts_once_and_erases():
    sparse = AboveThreshold(1, 1.0, ScriptedNoise([3, 4, 5]))
    assert sparse.test(100, 0)
    for attempt in (lambda: sparse.test(0, 0), lambda: sparse.first_above(np.array([1]))):
        with pytest.raises(FinishedError, match="halted"):
            attempt()
    assert sparse._state() == {"threshold_noise": 0, "query_noise": [], "halted": True, "tests": 1}


@given(st.lists(st.integers(-30, 30), min_size=1, max_size=60), st.integers(0, 1000), st.integers(1, 10))
def test_many_tests_at_once_equal_one_by_one(margins, seed, cut):
    slow = AboveThreshold(1, 1.0, SimulatedNoise(seed))
    first = next((i for i, margin in enumerate(margins) if slow.test(margin, 0)), None)
    fast = AboveThreshold(1, 1.0, SimulatedNoise(seed))
    found = None
    for start in range(0, len(margins), cut):
        place = fast.first_above(np.array(margins[start : start + cut]))
        if place is not None:
            found = start + place
            break
    assert found == first
    assert fast.tests == slow.tests


def test_prefix_sums_have_a_third_of_the_noise():
    noise = ScriptedNoise([])
    PrefixSumAboveThreshold(sensitivity=2, epsilon=0.5, noise=noise).test(10)
    assert set(noise.scales) == {4.0}  # 2 / 0.5, for the threshold and for each test


def test_prefix_sums_fold_both_noises_away_from_0():
    # B = |-5|; N = |1|, |-2|, |-3|: yes iff sum + N >= threshold + B.
    sparse = PrefixSumAboveThreshold(1, 1.0, ScriptedNoise([-5, 1, -2, -3]))
    found = []
    for total in (13, 0, 0):
        sparse.add(total, 20)
        found.append(sparse.test(11))
    assert found == [False, False, True]


def test_prefix_sums_are_rounded_against_halting_and_exact_where_floats_are_not():
    for threshold, answer in ((10, True), (10.0, True), (10.000001, False), (11, False)):
        sparse = PrefixSumAboveThreshold(1, 1.0, silent())
        sparse.add(10, 10)
        assert sparse.test(threshold) is answer
    for threshold, answer in ((2**60 + 1, True), (2**60 + 2, False)):
        sparse = PrefixSumAboveThreshold(1, 1.0, silent())
        sparse.add(2**60 + 1, 2**61)
        assert sparse.test(threshold) is answer


def test_prefix_sums_halt_once_and_erase():
    sparse = PrefixSumAboveThreshold(1, 1.0, ScriptedNoise([3, 4, 5]))
    sparse.add(100, 100)
    assert sparse.test(0)
    for attempt in (lambda: sparse.test(0), lambda: sparse.add(1)):
        with pytest.raises(FinishedError, match="halted"):
            attempt()
    assert sparse._take_sum() == 100
    assert sparse._state() == {"sum": 0, "threshold_noise": 0, "query_noise": [], "halted": True, "tests": 1}


@pytest.mark.parametrize("bad", [(-1, 1), (6, 1), (11, 2), (0.5, 1), (1, 0), (1, -1), (math.nan, 1), ("1", 1)])
def test_prefix_sums_refuse_what_items_cannot_add_up_to(bad):
    sparse = PrefixSumAboveThreshold(5, 1.0, SimulatedNoise(0))
    sparse.add(10, 2)
    before = sparse._state()
    with pytest.raises(ArgumentError, match=r"total|count"):
        sparse.add(*bad)
    with pytest.raises(ArgumentError, match="threshold"):
        sparse.test(math.nan)
    assert sparse._state() == before


@given(items, st.integers(0, 100), st.data())
def test_prefix_sums_go_on_from_a_saved_state_with_the_same_noise(values, seed, data):
    cut = data.draw(st.integers(0, len(values)))

    def tested(sparse, values):
        for value in values:
            if sparse.halted:
                break
            sparse.add(value, 1)
            sparse.test(100)
        return sparse._state()

    sparse = PrefixSumAboveThreshold(5, 1.0, SimulatedNoise(seed))
    again = PrefixSumAboveThreshold(5, 1.0, SimulatedNoise(seed + 1))
    again._restore(tested(sparse, values[:cut]))
    if again._state()["query_noise"]:
        assert again.scale == sparse.scale
        first = values[cut : cut + 1]  # one noise is drawn ahead
        assert tested(again, first)["halted"] == tested(sparse, first)["halted"]


@given(items)
def test_counters_are_exact_without_noise(values):
    tree = BinaryTreeCounter(len(values), 5, 1.0, silent())
    hybrid = HybridCounter(5, 1.0, silent())
    for t in range(len(values)):
        tree.add(values[t])
        hybrid.add(values[t])
        assert tree.total == hybrid.total == sum(values[: t + 1])


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 7, 8, 9, 1000, 1023, 1024, 50_000_000])
def test_tree_levels_are_floor_log2_plus_one(horizon):
    counter = BinaryTreeCounter(horizon, 1, 1.0, silent())
    assert counter.levels == math.floor(math.log2(horizon)) + 1
    assert counter.scale == counter.levels


@pytest.mark.parametrize(
    "make", [lambda: BinaryTreeCounter(300, 1, 1.0, silent()), lambda: HybridCounter(1, 1.0, silent())]
)
def test_no_item_is_charged_more_than_epsilon(make):
    counter = make()
    spent = np.zeros(301)
    for t in range(1, 301):
        node = counter.add(1)
        assert node.last == t
        spent[node.first : node.last + 1] += node.epsilon
    assert spent.max() <= 1.0 + 1e-12
    assert spent.max() > 0.8  # the budget is used, not hidden


@given(items, st.integers(0, 100))
def test_the_released_total_is_the_sum_of_the_nodes_that_cover_it(values, seed):
    for counter in (
        BinaryTreeCounter(len(values), 5, 1.0, SimulatedNoise(seed)),
        HybridCounter(5, 1.0, SimulatedNoise(seed)),
    ):
        nodes = []
        for value in values:
            node = counter.add(value)
            nodes = [old for old in nodes if old.first < node.first] + [node]
            assert counter.total == sum(node.units for node in nodes)
            assert sum(node.last - node.first + 1 for node in nodes) == counter.count
            assert len(nodes) == len(counter.noise_scales()) or isinstance(counter, HybridCounter)


def test_each_node_is_noised_once():
    noise = ScriptedNoise([])
    counter = BinaryTreeCounter(1024, 1, 1.0, noise)
    for _ in range(1024):
        counter.add(1)
    assert len(noise.scales) == 1024


def test_a_full_tree_refuses_more_items_unchanged():
    counter = BinaryTreeCounter(3, 1, 1.0, silent())
    for _ in range(3):
        counter.add(1)
    before = counter._state()
    with pytest.raises(FinishedError, match="3 items"):
        counter.add(1)
    assert counter._state() == before


@pytest.mark.parametrize("item", [-1, 6, 0.5, math.nan, "1"])
@pytest.mark.parametrize(
    "make", [lambda: BinaryTreeCounter(9, 5, 1.0, silent()), lambda: HybridCounter(5, 1.0, silent())]
)
def test_bad_items_change_nothing(make, item):
    counter = make()
    counter.add(5)
    before = counter._state()
    with pytest.raises(ArgumentError, match="item"):
        counter.add(item)
    assert counter._state() == before


@given(items, st.integers(0, 100), st.data())
def test_counters_go_on_from_a_saved_state_with_the_same_noise(values, seed, data):
    cut = data.draw(st.integers(0, len(values)))
    for make in (lambda noise: BinaryTreeCounter(500, 5, 1.0, noise), lambda noise: HybridCounter(5, 1.0, noise)):
        counter = make(SimulatedNoise(seed))
        for value in values[:cut]:
            counter.add(value)
        again = make(SimulatedNoise(seed + 1))
        again._restore(counter._state())
        assert again.total == counter.total
        if cut < len(values):
            assert again.add(values[cut]).units == counter.add(values[cut]).units


def test_the_radius_of_a_noisy_total_holds():
    rng = np.random.default_rng(0)
    for scales in ([1.0], [10.0] * 12, [2.0] * 20 + [20.0] * 5):
        sums = rng.laplace(0, scales, size=(200_000, len(scales))).sum(axis=1)
        for beta in (0.3, 0.05, 0.001):
            radius = laplace_sum_radius(scales, beta)
            assert (np.abs(sums) > radius).mean() <= beta
            assert radius <= 4 * np.quantile(np.abs(sums), 1 - beta)  # and is not absurdly wide
