"""Fact 2.1 of the paper in its corrected form, the fact that it does not print, and what the proofs make of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from discreet import theory

FACTORS = st.floats(-6, 30).map(lambda size: 1 + 10**size)
SLOPES = st.floats(-30, math.log10(1 / 16)).map(lambda size: min(10**size, 1 / 16))


def log(a, x):
    return (math.log(a) + math.log(x)) / x


def loglog(a, x):
    return (math.log(a) + math.log(math.log(x))) / x


def test_fact_2_1_is_false_as_printed():
    a, b, x = 1.01, 0.05, math.e + 0.01
    assert math.e < x < theory.loglog_bracket(a, b).low  # where the fact says log(a log x)/x > b
    assert loglog(a, x) < b / 10
    assert loglog(a, x) < loglog(a, 2 * x)  # its proof says that this function falls for x > e


@given(a=FACTORS, b=SLOPES)
def test_both_brackets_hold_one_root(a, b):
    for function, bracket in ((log, theory.log_bracket(a, b)), (loglog, theory.loglog_bracket(a, b))):
        assert bracket.high == pytest.approx(2 * bracket.low)
        assert function(a, bracket.low) > b > function(a, bracket.high)
        root = brentq(lambda x, f=function: f(a, x) - b, bracket.low, bracket.high, rtol=1e-14)
        for far in (1 + 1e-9, 1.01, 10.0, 1e6):  # the largest root: from there on it stays below
            assert function(a, root * far) < b
        assert function(a, 1 / b) > b
        assert 1 / b < bracket.low


@given(a=FACTORS, b=SLOPES, part=st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_the_first_half_holds_from_e_on_exactly_where_a_is_large_enough(a, b, part):
    assert log(a, math.e + part * (theory.log_bracket(a, b).low - math.e)) > b
    low = theory.loglog_bracket(a, b).low
    if math.log(a) > 1.000001 * math.e * b:
        assert loglog(a, math.e + part * (low - math.e)) > b
    elif math.log(a) < 0.999999 * math.e * b:
        assert loglog(a, math.e * (1 + 1e-12)) < b
    assert loglog(a, 1 / b + part * (low - 1 / b)) > b  # and from 1/b on for every a > 1


# ---------------------------------------------------------------------- the steps of Theorem 3.3's proof


@given(
    ratio=st.floats(0, 300).map(lambda size: 10**size),
    beta=st.floats(-300, math.log10(0.08)).map(lambda size: 10**size),
    late=st.floats(0, 9).map(lambda size: 10**size),
)
def test_the_first_step_of_theorem_3_3_survives(ratio, beta, late):
    """From 1000 t0 on log(4 log2(t)/beta)/t <= 1/(18 X)^2, with X = R/(alpha |mu|) and max(log X, 1) for log X."""
    m = math.log(max(math.log(ratio), 1.0)) - math.log(beta)
    log_t = math.log(1000 * m * late) + 2 * math.log(ratio)
    assert math.log(4 * log_t / math.log(2)) - math.log(beta) <= 1000 * m * late / 324


@given(
    log_ratio=st.floats(-700, 500_000),
    beta=st.floats(-300, math.log10(0.08)).map(lambda size: 10**size),
    late=st.floats(0, 9).map(lambda size: 10**size),
)
def test_the_second_step_of_theorem_3_3_survives_for_every_epsilon_that_a_float_holds(log_ratio, beta, late):
    """From 1000 (t1 + t2) on log(4 log2(t)/beta)/t <= 1/(288 Y), with Y = R/(epsilon |mu|) up to e^500000."""
    n = -2 * math.log(beta) * late  # t1 + t2 is at least 2 Y log(1/beta)
    log_t = max(math.log(1000 * n) + log_ratio, math.log(2))
    room = 1000 * n / 288 if log_t > math.log(2) else math.exp(math.log(2) - log_ratio) / 288
    assert math.log(4 * log_t / math.log(2)) - math.log(beta) <= room


def test_the_second_step_fails_for_an_epsilon_that_is_doubly_exponentially_small():
    """As printed the step has t1 alone, whose logarithm does not know epsilon."""
    beta, ratio, alpha = 0.08, 10.0, 0.5  # the ratio is R/(alpha |mu|)
    m, log = math.log(math.log(ratio) / beta), math.log(1 / beta)

    def fails(log_y, n):
        """Whether the step fails at t = 1000 Y n, Y = R/(epsilon |mu|)."""
        return math.log(4 * (math.log(1000 * n) + log_y) / (beta * math.log(2))) > 1000 * n / 288

    assert [fails(log_y, m) for log_y in (700, 1e3, 1e6)] == [False, False, True]
    assert [fails(log_y, m + log / alpha) for log_y in (700, 1e6, 1e15)] == [
        False,
        False,
        True,
    ]  # t2 helps, for a while


@pytest.mark.parametrize("beta", [0.08, 0.01, 1e-9, 1e-300])
def test_the_third_step_of_theorem_3_3(beta):
    """From 48 t2 on 4 R log(4/beta)/(alpha epsilon t) <= |mu|/3."""
    assert 4 * math.log(4 / beta) * 3 <= 48 * math.log(1 / beta)


def test_arrays_give_arrays_without_a_warning():
    found = theory.loglog_bracket([1.5, 2.0, 1e300], [[1e-300], [0.05]])
    assert found.low.shape == found.high.shape == (2, 3)
    assert np.isfinite(theory.log_bracket([1.5, 1e300], 1e-300).high).all()
    assert theory.log_bracket(2.0, 1e-320).high == math.inf
