import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet import ArgumentError, Grid

ranges = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(ranges)
def test_the_step_is_a_power_of_two_and_the_range_has_enough_steps(bounds):
    grid = Grid(*bounds)
    assert math.frexp(grid.step)[0] == 0.5
    assert 2**20 - 1 <= grid.width <= 2**21 + 1


@given(ranges, st.floats(0, 1))
def test_encoding_is_exact_rounding_within_the_width(bounds, share):
    low, high = bounds
    reward = min(max(low + share * (high - low), low), high)
    grid = Grid(low, high)
    steps = grid.encode(reward)
    assert 0 <= steps <= grid.width
    stored = (steps + grid.floor) * Fraction(grid.step)
    assert abs(stored - Fraction(reward)) <= Fraction(grid.step) / 2


@given(ranges, st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_one_by_one_and_vectorised_encodings_agree(bounds, shares):
    low, high = bounds
    rewards = [min(max(low + share * (high - low), low), high) for share in shares]
    grid = Grid(low, high)
    assert grid.total(rewards) == sum(grid.encode(reward) for reward in rewards)
    assert grid.total(rewards[::-1]) == grid.total(rewards)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint8", "bool"])
def test_arrays_of_any_real_dtype_are_taken(dtype, width):
    assert Grid(0, 1).total(np.array([0, 1, 1], dtype=dtype)) == 2 * width


@pytest.mark.parametrize("one", [1, 1.0, True, np.float32(1), np.int16(1), np.bool_(True), np.array(1.0)])
def test_single_rewards_of_any_real_type_are_taken(one, width):
    assert Grid(0, 1).encode(one) == width


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("clip", [False, True])
def test_rewards_that_are_not_finite_are_refused_even_when_clipping(bad, clip):
    with pytest.raises(ArgumentError, match="finite"):
        Grid(0, 1).encode(bad, clip)
    with pytest.raises(ArgumentError, match="finite"):
        Grid(0, 1).total([0.5, bad], clip)


@pytest.mark.parametrize("bad", [-0.1, 1.0000001])
def test_rewards_out_of_range_are_refused_or_clipped(bad, width):
    grid = Grid(0, 1)
    with pytest.raises(ArgumentError, match=r"reward must lie in \[0.0, 1.0\], got .*clip=True"):
        grid.encode(bad)
    with pytest.raises(ArgumentError, match="clip=True"):
        grid.total([0.5, bad])
    assert grid.encode(bad, clip=True) == grid.total([bad], clip=True) == (width if bad > 0 else 0)


def test_a_sum_of_clicks_becomes_steps(width):
    assert Grid(0, 1).steps_of(650, 1882) == 650 * width
    assert Grid(-1, 1).steps_of(np.float64(-3), 5) == Grid(-1, 1).total([-1, -1, -1, 0, 0])
    for total, count in ((0.1, 10), (11, 10), (-1, 10), (math.nan, 10), (1, 0), ("1", 3)):
        with pytest.raises(ArgumentError, match=r"total|count"):
            Grid(0, 1).steps_of(total, count)


def test_masked_arrays_are_refused():
    with pytest.raises(ArgumentError, match="compressed"):
        Grid(0, 1).total(np.ma.array([0, 1, 1], mask=[0, 1, 1]))


@pytest.mark.parametrize("bad", ["1.0", None, 1 + 2j, [1.0], np.array([1.0, 2.0])])
def test_what_is_not_a_number_is_refused(bad):
    with pytest.raises(ArgumentError, match="reward must be a number"):
        Grid(0, 1).encode(bad)


def test_arrays_that_are_not_numbers_are_refused():
    with pytest.raises(ArgumentError, match="real numbers"):
        Grid(0, 1).total(np.array(["a"]))
    with pytest.raises(ArgumentError, match="real numbers"):
        Grid(0, 1).total(np.array([1j]))


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1, 1),
        (1, 0),
        (0, math.nan),
        (0, math.inf),
        (0, 1e308),
        (-1e308, 0),
        (-1.7e308, 1.7e308),
        (1e12, 1e12 + 1e-3),
        (0, 1e-320),
    ],
)
def test_impossible_ranges_are_refused(low, high):
    with pytest.raises(ArgumentError):
        Grid(low, high)


@given(st.floats(1e-3, 1e3), st.integers(1, 10**9), st.integers(-(10**12), 10**12))
def test_the_mean_of_a_total_is_the_correctly_scaled_quotient(radius, count, steps):
    grid = Grid(-radius, radius)
    assume(abs(steps) < count * grid.width)
    exact = Fraction(steps + count * grid.floor, count) * Fraction(grid.step)
    assert grid.mean(steps, count) == pytest.approx(float(exact), rel=1e-12)
