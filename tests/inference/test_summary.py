"""What a summary says of real ledgers, and what it refuses."""

import math

import numpy as np
import pytest

import discreet
from discreet import Bandit, Grid, Ledger, Release, SimulatedNoise, Totals
from discreet.core.errors import ArgumentError
from discreet.inference import _needs, picture, summary

MEANS = {"A": 0.3, "B": 0.36, "C": 0.4}


def run(policy, means=MEANS, closes=200, seed=1):
    """A driver after some epochs with rewards of 0 and 1 (the ends of the range)."""
    rng, driver = np.random.default_rng(seed), Totals(policy, noise=SimulatedNoise(seed + 1))
    for _ in range(closes):
        plan = driver.plan()
        if plan is None:
            break
        if not plan.learns:
            driver.close()
            continue
        width = policy.grid.width
        driver.close_steps({arm: int(rng.binomial(count, means[arm])) * width for arm, count in plan.pulls.items()})
    return driver


@pytest.fixture(scope="module")
def eliminated():
    return run(discreet.DPSharpElimination(list("ABC"), epsilon=1.0, horizon=10**6))


# ---------------------------------------------------------------------- the lines that people write


def test_a_bandit_in_the_lines_that_people_write(tmp_path):
    rng = np.random.default_rng(3)
    bandit = Bandit(discreet.DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=100_000), noise=SimulatedNoise(1))
    for _ in range(1900 * 2):
        ticket = bandit.ask()
        bandit.tell(ticket, float(rng.random() < MEANS[ticket.arm]))
    seen = discreet.inference.summary(bandit.ledger, control="A", level=0.95)
    lower, upper = seen.lift("B").interval
    assert lower < 0.2 < upper
    assert 0 < seen.lift("B").p_value <= 1
    assert seen.interval("A").lower < 0.3 < seen.interval("A").upper
    assert seen.plot().axes[0].get_xlabel()
    bandit.save(tmp_path / "state.json")
    loaded = Bandit.load(tmp_path / "state.json", noise=SimulatedNoise(1))
    assert str(summary(loaded, control="A")) == str(seen)
    assert str(summary(loaded.algorithm, control="A")) == str(seen)


def test_a_text_a_table_a_page(eliminated):
    seen = summary(eliminated.ledger, control="A")
    table = seen.to_pandas()
    assert list(table["arm"]) == ["A", "B", "C"]
    assert table["rewards"].sum() == sum(seen.rewards(arm) for arm in "ABC")
    assert table.loc[2, "lift_lower"] == seen.lift("C").interval.lower
    text, page = str(seen), seen._repr_html_()
    for part in ("control", "needed: ", "caution: ", "may be best"):
        assert part in text
    assert page.count("<tr>") == 4
    assert seen.lift("C").verdict.startswith("C is better than A: lift +")
    assert "has 0 rewards" not in text or "shares" in text


def test_pages_show_names_as_they_are():
    driver = run(discreet.DPSharpElimination(["<b>", "B"], epsilon=1.0, horizon=10**5), {"<b>": 0.2, "B": 0.4})
    assert "<b>" not in summary(driver.ledger, control="B")._repr_html_()


def test_the_picture_shows_all_arms_and_the_moment_of_decision(eliminated):
    seen = summary(eliminated.ledger, control="A")
    bands = picture.bands(seen)
    assert [band.arm for band in bands] == ["A", "B", "C"]
    for band in bands:
        widths = np.subtract(band.upper, band.lower)
        assert widths[-1] < widths[0] / 3
        assert band.rewards == sorted(band.rewards)
    decided = {one.arm: one for one in picture.decisions(seen)}
    assert decided["C"].better
    lines = [line.get_xdata()[0] for line in seen.plot().axes[0].lines if len(set(line.get_xdata())) == 1]
    assert decided["C"].rewards in lines


def test_intervals_of_a_single_look_can_be_seen():
    bandit = Bandit(discreet.DPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=100_000), noise=SimulatedNoise(1))
    while not bandit.ledger:
        ticket = bandit.ask()
        bandit.tell(ticket, float(ticket.arm == "B"))
    seen = summary(bandit.ledger, control="A")
    axes = seen.plot().axes[0]
    drawn = {tuple(line.get_ydata()) for line in axes.lines if line.get_marker() == "_"}
    assert drawn == {tuple(seen.interval("A")[:2]), tuple(seen.interval("B")[:2])}
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["3,660"]


# ---------------------------------------------------------------------- what it says


def test_intervals_hold_the_means_and_grow_with_the_level(eliminated):
    for options in ({}, {"binary": True}, {"drifting": True}):
        seen = summary(eliminated.ledger, control="A", **options)
        for arm, mean in MEANS.items():
            narrow, wide = seen.interval(arm, level=0.9), seen.interval(arm, level=0.999)
            assert wide.lower <= narrow.lower <= mean <= narrow.upper <= wide.upper
    assert summary(eliminated.ledger, binary=True).exact
    assert summary(eliminated.ledger, binary=True).interval("B").width < summary(eliminated.ledger).interval("B").width
    assert not summary(eliminated.ledger, binary=True, drifting=True).exact


def test_an_arm_is_ruled_out_of_the_best_ones_by_the_joint_evidence(eliminated):
    assert summary(eliminated.ledger).may_be_best == ("C",)
    assert summary(eliminated.ledger, drifting=True).may_be_best == ("C",)
    equal = run(discreet.DPSharpElimination(list("ABC"), epsilon=1.0, horizon=20_000), dict.fromkeys("ABC", 0.3))
    assert summary(equal.ledger).may_be_best == ("A", "B", "C")


def test_p_values_and_intervals_agree(eliminated):
    seen = summary(eliminated.ledger, control="A")
    for one in (seen.lift("B"), seen.difference("B"), seen.lift("C"), seen.lift("C", "B")):
        clear = one.interval.lower > 0 or one.interval.upper < 0
        assert one.decided or not clear
        at_end = one.test(one.interval.lower, "greater").e_value
        assert at_end == pytest.approx(40, rel=0.15)
        assert one.test(one.estimate).p_value == 1
    lower, _ = seen.interval("B")
    assert seen.e_value("B", lower, "greater") == pytest.approx(40, rel=0.15)
    assert seen.p_value("B", 0.36) > 0.05
    assert seen.p_value("B", 0.5) < 1e-6
    assert seen.test("B", 0.5, "greater").p_value == 1


def test_p_values_remember_and_those_for_drift_do_not():
    """Evidence that was large once still counts if means are steady; if they may drift, only what is there now."""
    ledger = Ledger(["A"], Grid(0.0, 1.0))
    for epoch, total in enumerate((900, 100), 1):
        last = 1000 * epoch
        ledger.close_epoch([Release(epoch, "total", (("A", last - 999, last),), total * 2**20, 2.0**20, 1.0, False)])
    steady, drifting = summary(ledger), summary(ledger, drifting=True)
    assert steady.p_value("A", 0.5) < 1e-6
    assert drifting.p_value("A", 0.5) > 0.5
    assert any("has moved" in caution for caution in steady.cautions)
    assert not drifting.cautions


def test_steady_arms_are_not_said_to_have_moved(eliminated):
    assert not any("has moved" in caution for caution in summary(eliminated.ledger, control="A").cautions)


def test_what_is_needed_is_said(eliminated):
    assert _needs.STEADY in summary(eliminated.ledger).needs
    assert {_needs.BINARY, _needs.FIXED} <= set(summary(eliminated.ledger, binary=True).needs)
    drifting = summary(eliminated.ledger, control="A", drifting=True)
    assert _needs.STEADY not in drifting.needs
    assert drifting.lift("B").needs == (_needs.FRESH, _needs.AVERAGE, _needs.TOGETHER)
    cautions = summary(eliminated.ledger, control="A").lift("C").cautions
    assert any("were not shown in the same shares throughout" in each for each in cautions)
    assert _needs.SIMULATED in cautions


def test_arms_are_compared_by_common_epochs_where_means_may_drift(eliminated):
    seen = summary(eliminated.ledger, control="A", drifting=True)
    pair = seen.pair("A", "C")
    assert pair.first.counts.sum() == pair.second.counts.sum() == seen.rewards("A")
    apart = Ledger(["A", "B"], Grid(0.0, 1.0))
    for epoch, arm in enumerate("ABAB", 1):
        first = 1 + 100 * ((epoch - 1) // 2)
        apart.close_epoch([Release(epoch, "total", ((arm, first, first + 99),), 30 * 2**20, 2.0**20, 1.0, False)])
    with pytest.raises(ArgumentError, match="never shown in the same epoch"):
        summary(apart, control="A", drifting=True).lift("B")
    assert summary(apart, drifting=True).may_be_best == ("A", "B")
    assert "control" in str(summary(apart, control="A", drifting=True))


# ---------------------------------------------------------------------- all kinds of ledgers


def test_units_are_those_of_the_rewards():
    policy = discreet.DPSharpElimination(["A", "B"], epsilon=1.0, horizon=10**5, low=10.0, high=30.0)
    seen = summary(run(policy).ledger, control="A")
    assert seen.interval("A").lower < 16 < seen.interval("A").upper
    difference, lift = seen.difference("B").interval, seen.lift("B").interval
    assert difference.lower < 1.2 < difference.upper
    assert lift.lower < 1.2 / 16 < lift.upper
    assert lift.width < 0.5
    below = discreet.DPSharpElimination(["A", "B"], epsilon=1.0, horizon=10**5, low=-10.0, high=10.0)
    seen = summary(run(below).ledger, control="A")
    with pytest.raises(ArgumentError, match="never negative"):
        seen.lift("B")
    assert "difference" in seen.to_pandas().columns


def test_people_with_less_epsilon_in_each_epoch():
    driver = run(discreet.DPPersonElimination(["A", "B"], epsilon=1.0, horizon=10**6))
    assert len({release.scale for release in driver.ledger}) > 1
    seen = summary(driver.ledger, control="A")
    assert seen.interval("A").lower < 0.3 < seen.interval("A").upper
    assert seen.lift("B").interval.lower > 0


def test_a_stopping_rule_has_one_arm_and_squares():
    rule, rng = discreet.DPBernstein(epsilon=1.0, alpha=0.1, beta=0.05, low=0, high=1), np.random.default_rng(2)
    samples = 0.3 + 0.01 * rng.random(200_000)
    result = rule.run(samples, noise=SimulatedNoise(1))
    seen = summary(result)
    lower, upper = seen.interval(None)
    assert lower < 0.305 < upper
    plain = [one for one in result.ledger if one.kind == "total"]
    without = Ledger([None], Grid(0.0, 1.0))
    for one in plain:
        without.close_epoch([one])
    assert upper - lower < 0.8 * summary(without).interval(None).width


def test_totals_that_a_sparse_vector_ended_are_used_without_their_size():
    driver = run(
        discreet.DPSparseVectorElimination(["A", "B"], epsilon=1.0, horizon=10**6), {"A": 0.2, "B": 0.6}, 10**4
    )
    seen = summary(driver.ledger, control="A")
    assert seen.blocks("A").tested.all()
    assert seen.interval("A").lower < 0.2 < seen.interval("A").upper
    assert not summary(driver.ledger, binary=True).exact


def test_ledgers_of_which_no_interval_can_be_made():
    tree = run(discreet.DPUCB(["A", "B"], epsilon=1.0, horizon=100), closes=50)
    with pytest.raises(ArgumentError, match="nodes of trees"):
        summary(tree.ledger)
    twice = Ledger(["A"], Grid(0.0, 1.0))
    for epoch, last in enumerate((100, 150), 1):
        twice.close_epoch([Release(epoch, "total", (("A", 1, last),), 2**20, 2.0**20, 1.0, False)])
    with pytest.raises(ArgumentError, match="several totals"):
        summary(twice)


def test_policies_without_noise_have_intervals_too():
    driver = run(discreet.UCB(["A", "B"], horizon=300), closes=300)
    assert summary(driver.ledger).interval("B").width < 1


@pytest.mark.parametrize("name", ["dp-imed", "adap-ucb", "lazy-dp-ts", "dp-se-modified", "dp-paired-imed"])
def test_ledgers_of_other_policies(name):
    options = {"seed": 1} if name == "lazy-dp-ts" else {}
    policy = discreet.make_policy(name, ["A", "B"], epsilon=1.0, horizon=50_000, **options)
    seen = summary(run(policy).ledger, control="A", binary=True)
    for arm in "AB":
        assert seen.interval(arm).lower <= MEANS[arm] <= seen.interval(arm).upper
    assert seen.lift("B").interval.lower < 0.2 < seen.lift("B").interval.upper


def test_before_the_first_release_nothing_is_known():
    seen = summary(discreet.DPSharpElimination(["A", "B"], epsilon=1.0, horizon=10**5), control="A")
    assert seen.interval("A") == (0, 1)
    assert seen.lift("B").interval == (-1, math.inf)
    assert seen.difference("B").interval == (-1, 1)
    assert seen.p_value("A", 0.5) == seen.lift("B").p_value == 1
    assert seen.may_be_best == ("A", "B")
    assert math.isnan(seen.mean("A"))
    assert "0 releases" in str(seen)
    with pytest.raises(ArgumentError, match="nothing was released"):
        seen.plot()


def test_totals_far_outside_of_the_range():
    """Noise may move a total below 0 or above what there is: ends stay in the range, and in order."""
    for total in (-500, 600):
        ledger = Ledger(["A", "B"], Grid(0.0, 1.0), fixed_blocks=True)
        releases = [Release(1, "total", ((arm, 1, 100),), total * 2**20, 100 * 2.0**20, 0.01, False) for arm in "AB"]
        ledger.close_epoch(releases)
        for options in ({}, {"binary": True}, {"drifting": True}):
            seen = summary(ledger, control="A", **options)
            lower, upper = seen.interval("A")
            assert 0 <= lower <= upper <= 1
            assert seen.lift("B").interval.lower <= 0 <= seen.lift("B").interval.upper


# ---------------------------------------------------------------------- what it refuses


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"control": "X"}, "control must be one of 'A', 'B', 'C', got 'X'"),
        ({"level": 1.0}, "level must lie strictly between 0 and 1"),
        ({"aim": 0}, "aim must be at least 1"),
        ({"shares": {"A": 1.0}}, "the share of 'B' must be a number"),
        ({"grid": "0..1"}, "grid must be a Grid"),
    ],
)
def test_bad_arguments(eliminated, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        summary(eliminated.ledger, **arguments)


def test_bad_questions(eliminated):
    seen = summary(eliminated.ledger)
    with pytest.raises(ArgumentError, match="arm must be one of"):
        seen.interval("X")
    with pytest.raises(ArgumentError, match="control must be named"):
        seen.lift("B")
    with pytest.raises(ArgumentError, match="another one than the control"):
        seen.lift("B", "B")
    with pytest.raises(ArgumentError, match="against must lie in"):
        seen.p_value("A", 1.5)
    with pytest.raises(ArgumentError, match="alternative must be"):
        seen.p_value("A", 0.5, "more")
    with pytest.raises(ArgumentError, match="must be a Ledger"):
        summary([1, 2])
    with pytest.raises(ArgumentError, match="does not know the range"):
        summary(Ledger(["A"]))
    assert summary(Ledger(["A"]), grid=Grid(0.0, 1.0)).interval("A") == (0, 1)


def test_planned_shares_and_a_size_that_is_aimed_at_narrow_intervals(eliminated):
    plain = summary(eliminated.ledger, control="B")
    size = plain.rewards("C")
    aimed = summary(eliminated.ledger, control="B", aim=size, shares={"A": 1, "B": 1, "C": 1})
    assert aimed.interval("C").width < 0.95 * plain.interval("C").width
    assert aimed.lift("C").interval.width < 0.95 * plain.lift("C").interval.width


def test_uneven_shares_are_compared_as_well():
    """A much larger second arm: the joint evidence is not much worse than what the first arm alone allows."""
    ledger = Ledger(["A", "B"], Grid(0.0, 1.0))
    for epoch, (arm, count, mean) in enumerate((("A", 8000, 0.03), ("B", 640_000, 0.04)), 1):
        total = int(count * mean) * 2**20
        ledger.close_epoch([Release(epoch, "total", ((arm, 1, count),), total, 2.0**20, 1.0, False)])
    seen = summary(ledger, control="A")
    box = seen.interval("B", 0.975).lower / seen.interval("A", 0.975).upper - 1
    assert seen.lift("B").interval.lower > box - 0.05
