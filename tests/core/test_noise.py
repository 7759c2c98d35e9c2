"""The noise has the exact discrete Laplace distribution, and the test of that would notice a scale 10 % off."""

import math
import multiprocessing
import os
import random
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet import ArgumentError, SimulatedNoise
from discreet.core.noise import PrivateNoise, private_noise, scale_for
from tests._tools.patience import LONG
from tests._tools.promises import discrete_laplace_p_value as p_value

LEVEL = 1e-6  # of each statistical test: a suite of these does not cry wolf
DRAWS = 40_000


@pytest.mark.parametrize("scale", [0.7, 1.0, 2.0, 2.5, 3.0, 5.0, 8.5, 13.0])  # a sampler can fail at one alone
@pytest.mark.parametrize("source", ["private", "simulated"])
def test_the_distribution_is_exact(source, scale):
    noise = private_noise() if source == "private" else SimulatedNoise(seed=11)
    assert p_value(noise.draws(scale, DRAWS), scale) > LEVEL


@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize("scale", [3.0, 8.5])
def test_a_planted_scale_error_of_ten_per_cent_is_noticed(scale, factor):
    assert p_value(private_noise().draws(scale * factor, DRAWS), scale) < LEVEL


@pytest.mark.parametrize("source", ["private", "simulated"])
def test_large_scales_have_the_right_spread_and_low_bits(source):
    scale = 2.0**30
    draws = (private_noise() if source == "private" else SimulatedNoise(seed=5)).draws(scale, DRAWS)
    # |X|/s is exponential for a large scale; each low bit is fair.
    assert stats.kstest(np.abs(draws) / scale, "expon").pvalue > LEVEL
    for bit in range(8):
        assert stats.binomtest(int(((draws >> bit) & 1).sum()), DRAWS).pvalue > LEVEL


@given(st.integers(1, 2**21), st.floats(1e-4, 900.0))
def test_the_scale_is_never_rounded_towards_less_noise(sensitivity, epsilon):
    exact = Fraction(sensitivity) / Fraction(epsilon)
    scale = Fraction(scale_for(sensitivity, epsilon))
    assert exact <= scale <= exact * (1 + Fraction(1, 2**50))


def test_opendp_agrees_that_the_scale_is_worth_epsilon():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64"), size=3), dp.l1_distance(T="i64")
    for epsilon in (0.1, 0.25, 1 / 3, 1.0, 7.7):
        for sensitivity in (1, 2**20, 3 * 2**20 + 1):
            measurement = dp.m.make_laplace(*space, scale=scale_for(sensitivity, epsilon))
            assert measurement.map(sensitivity) <= epsilon * (1 + 1e-15)


@pytest.mark.parametrize("scale", [0, -1.0, 1e-320, 1e-4, math.inf, math.nan, 2.0**51])
def test_scales_that_would_break_the_sampler_are_refused(scale):
    for noise in (private_noise(), SimulatedNoise(0)):
        with pytest.raises(ArgumentError, match="noise scale"):
            noise.draws(scale, 1)


def test_an_epsilon_too_small_for_64_bits_is_refused():
    with pytest.raises(ArgumentError, match="epsilon must be larger"):
        scale_for(2**20, 1e-12)


def test_no_seed_reaches_private_noise():
    with pytest.raises(TypeError):
        PrivateNoise(seed=1)
    seen = []
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)
        seen.append(PrivateNoise().draws(1e6, 8).tolist())
    assert seen[0] != seen[1]


@pytest.mark.system
def test_two_processes_draw_differently():
    code = "from discreet.core.noise import private_noise; print(private_noise().draws(1e9, 4).tolist())"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    assert runs[0].stdout != runs[1].stdout


def _draw_in_child(noise, queue):
    queue.put(noise.draws(77777.0, 8).tolist())


@pytest.mark.system
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("noise", [private_noise(), PrivateNoise()])
def test_a_forked_child_forgets_the_pool_it_inherited(noise):
    noise.draws(77777.0, 1)  # fills a pool that a child would inherit
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_draw_in_child, args=(noise, queue)) for _ in range(2)]
    for child in children:
        child.start()
    drawn = [queue.get(timeout=LONG) for _ in children] + [noise.draws(77777.0, 8).tolist()]
    for child in children:
        child.join()
    assert len({tuple(draws) for draws in drawn}) == 3


def test_threads_that_share_a_source_share_no_draw():
    """Every draw of a pool is served once, so all of them together are the sequence that one thread would get."""
    noise, served = SimulatedNoise(3), [[] for _ in range(8)]

    def work(mine):
        for count in (1, 3, 7, 70) * 10:
            mine.extend(noise.draws(1e15, count).tolist())

    threads = [threading.Thread(target=work, args=(mine,)) for mine in served]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    together = [draw for mine in served for draw in mine]
    assert sorted(together) == sorted(SimulatedNoise(3).draws(1e15, len(together)).tolist())
    assert len(set(together)) == len(together)


def test_pools_of_many_scales_are_forgotten_not_served_again():
    noise, drawn = SimulatedNoise(4), []
    for _ in range(3):
        for number in range(100):  # more than a source keeps pools for
            drawn += noise.draws(1e14 + number * 1e6, 2).tolist()
    assert len(set(drawn)) == len(drawn)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=20), st.integers(0, 2**32))
def test_the_simulated_sequence_does_not_depend_on_how_it_is_asked_for(cuts, seed):
    whole = SimulatedNoise(seed).draws(5.0, sum(cuts)).tolist()
    noise = SimulatedNoise(seed)
    assert [draw for cut in cuts for draw in noise.draws(5.0, cut).tolist()] == whole
