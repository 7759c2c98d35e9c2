"""Ratios have intervals that are right, verdicts follow them, and curves are measured for their shape."""

import math

import numpy as np
import pytest
from scipy import stats

from discreet import DPSuccessiveElimination, SimulatedNoise
from discreet.lab import instance, play, simulate
from discreet.reproduction.studies.claim import (
    Ratio,
    Verdict,
    count_verdicts,
    distance_from_lines,
    last_elimination,
    late_share,
    ratio_of,
    regret_by_elimination,
)
from discreet.reproduction.studies.many_runs import final_regrets


def test_a_verdict_needs_the_whole_interval():
    ratios = [Ratio(6, 5, 7), Ratio(6, 4.9, 7), Ratio(4, 3, 4.9), Ratio(4, 3, 5)]
    assert [one.verdict for one in ratios] == [Verdict.HOLDS, Verdict.OPEN, Verdict.FAILS, Verdict.OPEN]
    assert count_verdicts(ratios) == {Verdict.HOLDS: 1, Verdict.FAILS: 1, Verdict.OPEN: 2}
    assert ratio_of(np.array([9.0]), np.ones(5)).verdict is Verdict.OPEN  # one run says nothing
    assert ratio_of(np.full(3, 9.0), np.ones(5)) == (9, 9, 9)


def test_the_interval_covers_the_ratio_as_often_as_it_says():
    """3 and 50 runs, the second of two values as DP-SE's are: 2,000 times."""
    rng, covered = np.random.default_rng(1), 0
    for _ in range(2000):
        ratio = ratio_of(rng.normal(20, 0.4, 3), rng.choice([3.0, 5.0], 50), confidence=0.9)
        covered += ratio.low <= 5 <= ratio.high
    assert stats.binomtest(covered, 2000, 0.9).pvalue > 1e-6
    assert stats.binomtest(covered, 2000, 0.8).pvalue < 1e-6  # it can fail


@pytest.mark.parametrize(("name", "horizon"), [("C4", 30_000), ("C2", 2000), ([0.9, 0.5, 0.2], 40_000)])
def test_many_runs_at_once_have_the_law_of_the_object(name, horizon):
    """Also where the horizon cuts an epoch short."""
    on, runs = instance(name, 3) if isinstance(name, str) else instance(name), 300
    policy = DPSuccessiveElimination(range(3), epsilon=0.5, horizon=horizon, beta=0.2)
    slow = [
        play(policy.copy(), on, np.random.default_rng([run, 2]), noise=SimulatedNoise([run, 1])).pulls @ on.gaps
        for run in range(runs)
    ]
    fast = final_regrets(policy, on.means, 20 * runs, 3)
    values = np.unique(np.round([*slow, *fast], 6))
    table = np.array([[(np.round(side, 6) == value).sum() for value in values] for side in (slow, fast)])
    rare = table.sum(axis=0) < 40
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    assert np.isin(np.round(slow, 6), values[~rare]).mean() > 0.9
    if table.shape[1] > 1:
        assert stats.chi2_contingency(table).pvalue > 1e-6
    else:
        assert len(set(np.round(slow, 6))) == 1


def test_another_law_of_many_runs_is_noticed():
    on, given = instance([0.9, 0.5, 0.2]), {"horizon": 40_000, "beta": 0.2}
    right, wrong = (
        final_regrets(DPSuccessiveElimination(range(3), epsilon=epsilon, **given), on.means, 4000, 3)
        for epsilon in (0.05, 0.04)
    )
    assert stats.ks_2samp(right, wrong).pvalue < 1e-6


def test_an_eliminations_regret_is_on_straight_lines_and_ucbs_is_not():
    se = simulate("dp-se", "C4", arms=5, epsilon=1.0, horizon=500_000, runs=5)
    assert distance_from_lines(se) <= se.setting.instance.gaps.sum()  # arms take turns: not more than one turn
    assert distance_from_lines(se) < 1e-3 * se.mean
    moved = se.regret + 0.02 * se.mean * np.sin(np.arange(se.regret.shape[1]))
    assert distance_from_lines(type(se)(se.setting, {**se.arrays, "regret": moved}, 0.0, "")) > 1e-2 * se.mean
    assert last_elimination(se) == se.dropped.max()
    assert regret_by_elimination(se, [500_000])[:, 0] == pytest.approx(se.final, rel=1e-3)
    assert late_share(se) == 0
    ucb = simulate("ucb", "C4", arms=5, horizon=500_000, runs=2)
    assert 0 < late_share(ucb) < late_share(ucb, 0.5) < 0.5


def test_a_run_with_several_arms_left_has_no_last_elimination():
    se = simulate("dp-se", "C1", arms=5, epsilon=1.0, horizon=5000, runs=2)
    assert (se.dropped < 0).all()
    assert last_elimination(se) == 5000
    assert not math.isclose(late_share(se), 0)
