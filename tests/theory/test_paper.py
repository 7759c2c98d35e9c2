"""Claims of the paper about Algorithm 3, as printed and as repaired in docs/proofs/paper.md."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import theory

EPSILONS = st.floats(-6, 6).map(lambda size: 10**size)
BETAS = st.floats(-100, math.log10(0.5)).map(lambda size: 10**size)


@given(viable=st.integers(2, 1000), epsilon=EPSILONS, beta=BETAS)
def test_an_epoch_is_at_most_half_as_long_as_the_next_while_nobody_goes(viable, epsilon, beta):
    lengths = theory.dp_se_epoch_length(np.arange(1, 40), viable, epsilon, beta)
    assert (lengths[:-1] <= lengths[1:] / 2).all()


def test_and_longer_than_that_when_arms_go_and_privacy_sets_the_lengths():
    long, short = theory.dp_se_epoch_length([3, 4], [20, 2], 0.001, 0.1)
    assert long > 0.6 * short


@given(arms=st.integers(2, 1000), epsilon=EPSILONS, beta=BETAS, last=st.integers(1, 60))
def test_the_epochs_of_an_arm_add_up_to_twice_the_last_one_and_a_few(arms, epsilon, beta, last):
    gap = 2.0**-last
    longest = theory.dp_se_epoch_length(last, arms, epsilon, beta) - 1
    assert theory.dp_se_pulls(gap, arms, epsilon, beta) <= (2 * longest + 2 * last) * (1 + 1e-12)


@given(ratio=st.floats(0, 100).map(lambda size: 3.5 * 10**size), gap=st.floats(1e-9, 1.0))
def test_the_constants_of_lemma_4_2_follow(ratio, gap):
    """With z = K/beta >= 3.5: both inequalities of the proof."""
    last, y = int(theory.dp_se_last_epoch(gap)), math.log(2 / gap)
    assert 256 * math.log(8 * ratio * last**2) + 2 * last * gap**2 <= 1024 * math.log(ratio * y)
    assert 32 * math.log(4 * ratio * last**2) <= 96 * math.log(ratio * y)


def printed(gap, arms, epsilon, beta):
    """Lemma 4.2's bound, for every beta."""
    return np.log(arms * np.log(2 / gap) / beta) * (1024 / gap**2 + 96 / (epsilon * gap))


def test_lemma_4_2s_constants_hold_up_to_a_beta_of_097_and_fail_at_098():
    near = np.concatenate([2.0 ** -np.arange(12), 2.0 ** -np.arange(12) * (1 - 1e-9), np.geomspace(0.001, 1, 300)])
    gap, epsilon = near[:, None, None], np.geomspace(1e-6, 1e6, 25)[:, None]
    arms = np.array([2, 3, 5, 100])
    assert (theory.dp_se_pulls(gap, arms, epsilon, 0.97) <= printed(gap, arms, epsilon, 0.97)).all()
    assert theory.dp_se_pulls(1.0, 2, 1e6, 0.98) > printed(1.0, 2, 1e6, 0.98)


@pytest.mark.parametrize("gap", [0.999999, 0.9999])
def test_the_statement_of_lemma_4_2_says_nothing_near_a_gap_of_1(gap):
    arms, beta = 2, 0.05
    assert math.log(arms / beta) + math.log(math.log(1 / gap)) < 0  # a bound on pulls below 0
    assert theory.dp_se_pull_bound(gap, arms, 1.0, beta) > theory.dp_se_pulls(gap, arms, 1.0, beta) > 0


def test_the_events_of_lemma_4_2_fail_with_beta_at_most():
    """Each epoch may fail with beta/(2 e^2): over all epochs that is the intersection's failure, below beta."""
    assert sum(1 / (2 * epoch**2) for epoch in range(1, 10**6)) + 1e-6 < 1


@pytest.mark.parametrize("horizon", [2, 3, 1024, 50_000_000])
def test_the_papers_tree_loses_more_than_epsilon(horizon):
    """Exact, at an output above all nodes: each of them has the log ratio 1/scale."""
    epsilon = 0.25
    scale = math.log2(horizon) / epsilon
    assert theory.tree_levels(horizon) / scale > epsilon
    assert theory.tree_levels(horizon) / (theory.tree_levels(horizon) / epsilon) == pytest.approx(epsilon)
