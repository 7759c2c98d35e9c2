"""Tests of arms against a control with planned looks: limits, levels, power, and the numerical steps of the proof."""

import math

import numpy as np
import pytest

import discreet
from discreet import ArgumentError, DPTwoSampleTest, SimulatedNoise, Totals
from discreet.sequential import _planned_looks as looks
from discreet.sequential import _two_sample_runs as two_sample_runs
from discreet.sequential._designs import LeadDesign
from discreet.sequential._laws import difference_law, noise_law
from discreet.sequential._planned_looks import cell_mean, fixed_size, looks_plan, spending
from discreet.sequential._two_sample_runs import limits_of, runs_of
from tests._tools.coverage import allowed

WIDTH = 2**20
SMALL = LeadDesign(0.3, 0.15, 0.0, 0.05, 0.2, 1.0, WIDTH)
RUNS = 20_000


def first_passage(plan, mean, limits):
    """The chance that the difference ever reaches its limit, at the edge of the null hypothesis."""
    noises = noise_law(plan.width, plan.width / plan.epsilon, 2)
    step = difference_law(plan.block, mean - plan.shift / 2, mean + plan.shift / 2, noises)
    law, chance = step, 0.0
    for look, limit in enumerate(limits, 1):
        chance += law.at_least(limit)
        if look < len(limits):
            law = law.between(law.first, limit) + step
    return chance


@pytest.mark.parametrize(
    "design",
    [
        SMALL,
        LeadDesign(0.03, 0.006, 0.0, 0.05, 0.2, 1.0, WIDTH),
        LeadDesign(0.3, 0.03, 0.0, 0.05, 0.2, 0.3, WIDTH),
        LeadDesign(0.2, 0.02, 0.03, 0.01, 0.1, 2.0, WIDTH),
    ],
    ids=str,
)
def test_limits_hold_for_all_pooled_means_of_their_cells_and_of_smaller_variance(design):
    """The step of the proof that is computed: limits grow towards 1/2, and hold between the ends of cells."""
    plan = looks_plan(design)
    level = plan.alpha * (1 - looks._POOLED)
    start = next(cell for cell in range(2000) if cell_mean(cell) < design.base + design.effect)
    for cell in range(max(0, start - 20), start + 200, 11):
        limits = [plan.cell_limit(look, cell) for look in range(1, plan.looks + 1)]
        low, high = cell_mean(cell + 1), cell_mean(cell)
        for mean in np.linspace(low, high, 4):
            assert first_passage(plan, mean, limits) <= level * (1 + 1e-6)
        for wider in (1, 2, 5, 20, 60):  # cells further from 1/2, which the same limits must serve
            assert first_passage(plan, cell_mean(cell + wider), limits) <= level * (1 + 1e-6)
            further = [plan.cell_limit(look, cell + wider) for look in range(1, plan.looks + 1)]
            assert all(one >= other for one, other in zip(limits, further, strict=True))


def test_limits_are_the_least_that_keep_the_level():
    plan = looks_plan(SMALL)
    cell = plan.cell(1, int(2 * plan.block * 0.3))
    limits = plan._limits(cell, plan.looks)
    level = plan.alpha * (1 - looks._POOLED)
    mean = cell_mean(cell)
    assert 0.7 * level < first_passage(plan, mean, limits) <= level
    assert first_passage(plan, mean, [limit - 1 for limit in limits]) > level


def test_the_pooled_mean_is_ruled_out_by_an_exact_tail_that_is_small_enough():
    """The cell's mean is an upper end: at larger means the pooled total is rarer than the proof allows."""
    plan, look, pooled = looks_plan(SMALL), 2, 70
    cell = plan.cell(look, pooled)
    noises = noise_law(WIDTH, WIDTH / plan.epsilon, 2 * look)
    law = looks.difference_law(2 * look * plan.block, 0.0, cell_mean(cell), noises)
    assert law.up_to(pooled) <= plan.alpha * looks._POOLED / (2 * plan.looks)
    assert plan.cell(look, 4 * plan.block - pooled) <= cell  # 1 minus each reward, and rounding on the safe side


def test_the_whole_of_alpha_is_shared_out():
    for count in looks.LOOKS:
        shares = spending(count, 0.05)
        assert shares.sum() == pytest.approx(0.05)
        assert (np.diff(shares) > 0).all()


@pytest.mark.parametrize("rates", [(0.3, 0.3), (0.2, 0.2), (0.45, 0.45), (0.3, 0.25)])
def test_false_alarms_are_rare_whatever_the_rates(rates):
    plan = looks_plan(SMALL)
    false = int(runs_of(plan, rates, RUNS, np.random.default_rng(3)).shown.sum())
    assert false <= allowed(RUNS, plan.alpha)


@pytest.mark.parametrize("wrong", ["each look has all of alpha", "half the noise", "limits of a smaller variance"])
def test_a_planted_error_raises_too_many_false_alarms(wrong, monkeypatch):
    design = SMALL._replace(epsilon=0.2, alpha=0.1)
    plan = looks_plan(design)
    if wrong == "each look has all of alpha":
        monkeypatch.setattr(looks, "spending", lambda count, level: np.full(count, 4 * level))
    if wrong == "half the noise":
        honest = looks.noise_law
        monkeypatch.setattr(looks, "noise_law", lambda width, scale, noises: honest(width, scale / 3, noises))
    if wrong == "limits of a smaller variance":
        monkeypatch.setattr(looks.LooksPlan, "cell", lambda self, look, pooled: 400)
    looks._limits.cache_clear()
    false = int(runs_of(plan, (0.3, 0.3), RUNS, np.random.default_rng(3)).shown.sum())
    looks._limits.cache_clear()
    assert false > allowed(RUNS, plan.alpha)


def test_it_has_the_power_it_was_planned_with():
    plan = looks_plan(SMALL)
    runs = runs_of(plan, (0.3, 0.45), RUNS, np.random.default_rng(4))
    assert runs.shown.mean() >= 0.8 - 4.75 * np.sqrt(0.16 / RUNS)
    shown, ended = plan.course(0.3, 0.45)
    sizes = 2 * plan.block * np.arange(1, plan.looks + 1)
    assert runs.people.mean() == pytest.approx(sizes @ (shown + ended), rel=0.02)


def test_many_runs_at_once_decide_as_the_object_does():
    """The fast path of forecasts and studies, against the object under the same noise."""
    test = DPTwoSampleTest(["A", "B"], epsilon=1.0, base_rate=0.3, effect=0.15)
    plan = test.schedule
    for seed in range(40):
        epochs, rng = Totals(test, SimulatedNoise(seed)), np.random.default_rng(seed)
        while (ahead := epochs.plan()) is not None:
            ones = {arm: int(rng.binomial(count, 0.36)) for arm, count in ahead.pulls.items()}
            epochs.close_steps({arm: each * WIDTH for arm, each in ones.items()})
        released = np.array([[one.steps / WIDTH for one in epochs.ledger if one.arm == arm] for arm in "AB"])
        leads = np.cumsum(np.rint(released[1]) - np.rint(released[0]))
        pooled = np.cumsum(released.sum(axis=0))
        for look, (lead, both) in enumerate(zip(leads, pooled, strict=True), 1):
            passed = lead >= limits_of(plan, look, np.array([both]))[0]
            given_up = look < plan.looks and lead <= plan.give_up[look - 1]
            assert (passed or given_up or look == plan.looks) == (look == len(leads))
        assert epochs.algorithm.verdicts["B"] == ("shown" if passed else "not shown")


def test_several_arms_share_alpha():
    test = DPTwoSampleTest(["A", "B", "C", "D"], epsilon=1.0, base_rate=0.3, effect=0.15)
    plan = test.schedule
    assert plan.alpha == pytest.approx(0.05 / 3)
    runs = runs_of(plan, [0.3] * 4, RUNS, np.random.default_rng(5))
    false = int(runs.shown.any(axis=1).sum())
    assert 0 < false <= allowed(RUNS, 0.05)
    runs = runs_of(plan, [0.3, 0.3, 0.45, 0.3], RUNS, np.random.default_rng(6))
    assert runs.shown[:, 1].mean() >= 0.8 - 4.75 * np.sqrt(0.16 / RUNS)


def test_an_arm_that_passes_leaves_its_part_of_alpha_to_the_others(monkeypatch):
    """Two of three arms are equal to the control: when the third passes, each of them has alpha/2."""
    plan, rates = looks_plan(SMALL._replace(alpha=0.2 / 3)), [0.3, 0.6, 0.3, 0.3]

    def alarms():
        return runs_of(plan, rates, RUNS, np.random.default_rng(16)).shown[:, 1:].any(axis=1).sum()

    usual, most = alarms(), allowed(RUNS, 0.2)
    with monkeypatch.context() as patch:
        patch.setattr(two_sample_runs, "_share_out", lambda *_: None)
        assert alarms() < usual <= most
    honest = looks.LooksPlan.limit
    monkeypatch.setattr(
        looks.LooksPlan, "limit", lambda self, look, pooled, more=0: honest(self, look, pooled, 6 * more)
    )
    assert alarms() > most


def test_a_larger_part_of_alpha_lowers_the_last_limit_alone():
    plan = looks_plan(SMALL)
    for pooled in (plan.block, 2 * plan.block):
        limits = [plan.limit(plan.looks, pooled, more) for more in (0.0, 0.01, 0.05, 0.2)]
        assert limits == sorted(limits, reverse=True)
        assert limits[-1] < limits[0]
    cell, more = plan.cell(1, plan.block), 0.02
    limits = [*(plan.cell_limit(look, cell) for look in range(1, plan.looks)), plan.cell_limit(plan.looks, cell, more)]
    assert first_passage(plan, cell_mean(cell), limits) <= plan.alpha * (1 - looks._POOLED) + more


def test_an_arm_that_may_be_a_little_worse_passes_by_its_margin():
    design = LeadDesign(0.3, 0.0, 0.1, 0.05, 0.2, 1.0, WIDTH)
    plan = looks_plan(design)
    worse = runs_of(plan, (0.3, 0.2), RUNS, np.random.default_rng(7)).shown.sum()
    equal = runs_of(plan, (0.3, 0.3), RUNS, np.random.default_rng(8)).shown.mean()
    assert worse <= allowed(RUNS, 0.05)
    assert equal >= 0.8 - 4.75 * np.sqrt(0.16 / RUNS)


def test_at_epsilon_1_it_takes_fewer_people_than_the_usual_test_without_privacy():
    for base, lift in ((0.03, 0.1), (0.03, 0.2), (0.3, 0.1), (0.3, 0.2)):
        plan = looks_plan(LeadDesign(base, base * lift, 0.0, 0.05, 0.2, 1.0, WIDTH))
        usual = fixed_size(base, base * lift, alpha=0.05, beta=0.2)
        sizes = plan.block * np.arange(1, plan.looks + 1)
        better, equal = (sizes @ sum(plan.course(base, rate)) / usual for rate in (base * (1 + lift), base))
        assert better <= 0.95
        assert equal <= 0.85
        assert sizes[-1] / usual <= 1.3
        assert plan.power(base, base * (1 + lift)) >= 0.8


# ---------------------------------------------------------------------- the object


def finished(rates, seed=1, **options):
    """A test that was run to its end on coins."""
    given = {"epsilon": 1.0, "base_rate": 0.3, "effect": 0.15, **options}
    test = DPTwoSampleTest(["A", "B", "C"][: len(rates)], **given)
    epochs, rng = Totals(test, SimulatedNoise(seed)), np.random.default_rng(seed)
    while (plan := epochs.plan()) is not None:
        paid = {arm: int(rng.binomial(plan.pulls[arm], rate)) for arm, rate in zip("ABC", rates, strict=False)
                if arm in plan.pulls}  # fmt: skip
        epochs.close_steps({arm: ones * WIDTH for arm, ones in paid.items()})
    return epochs.algorithm


def test_verdicts_say_what_was_shown_and_what_was_not():
    test = finished((0.3, 0.31, 0.6))
    assert test.verdicts == {"B": "not shown", "C": "shown"}
    assert test.best_arm == "C"
    assert test.viable == ("C",)
    assert test.settled
    assert "C is better than A" in test.claim
    assert "B was not shown to be better than A" in test.claim
    assert "0.05" in test.claim
    assert test.p_value("C") <= 0.025 < test.p_value("B")


@pytest.mark.parametrize("seed", range(30))
def test_a_p_value_is_small_exactly_if_the_arm_passes(seed):
    test = finished((0.3, 0.4), seed)
    assert (test.p_value("B") <= 0.05 * (1 + 1e-9)) == (test.verdicts["B"] == "shown")


def test_p_values_are_seldom_small_if_nothing_is_there():
    values = [finished((0.3, 0.3), seed).p_value("B") for seed in range(200)]
    for chance in (0.05, 0.2, 0.5):
        assert sum(value <= chance for value in values) <= allowed(200, chance)


@pytest.mark.parametrize("seed", range(30))
def test_an_interval_leaves_out_nothing_exactly_if_the_arm_passes(seed):
    test = finished((0.3, 0.42), seed)
    low, high = test.interval("B")
    assert (low > 0) == (test.verdicts["B"] == "shown")
    assert -1 <= low < high <= 1
    open_ = DPTwoSampleTest(["A", "B"], epsilon=1.0, base_rate=0.3, effect=0.15)
    assert open_.interval("B") is None
    assert open_.interval("A") is None


@pytest.mark.parametrize("rates", [(0.3, 0.3), (0.3, 0.45), (0.25, 0.2)])
def test_each_end_of_an_interval_is_wrong_as_seldom_as_promised(rates):
    runs = 150
    found = [finished(rates, seed).interval("B") for seed in range(runs)]
    true = rates[1] - rates[0]
    assert sum(low > true for low, _ in found) <= allowed(runs, 0.05)
    assert sum(high < true for _, high in found) <= allowed(runs, 0.05)
    assert np.mean([high - low for low, high in found]) < 0.35


def last_looks(plan, rates, runs, rng):
    """The look at which each of many runs ends, its lead, and the end of the cell of its pooled total."""
    found, leads, pooled = [], np.zeros(runs, dtype=np.int64), np.zeros(runs)
    for look in range(1, plan.looks + 1):
        totals = rng.binomial(plan.block, rates, (len(leads), 2)) + rng.laplace(0, 1 / plan.epsilon, (len(leads), 2))
        leads += np.rint(totals[:, 1]).astype(np.int64) - np.rint(totals[:, 0]).astype(np.int64)
        pooled += totals.sum(axis=1)
        ends = leads >= limits_of(plan, look, pooled)
        ends |= (leads <= plan.give_up[look - 1]) if look < plan.looks else True
        cells = [plan.cell(look, math.ceil(each)) for each in pooled[ends].tolist()]
        found += zip([look] * len(cells), leads[ends].tolist(), cells, pooled[ends].tolist(), strict=True)
        leads, pooled = leads[~ends], pooled[~ends]
    return found


@pytest.mark.parametrize("rates", [(0.3, 0.3), (0.3, 0.37), (0.3, 0.45)])
def test_each_end_of_an_interval_is_wrong_seldom_in_many_runs(rates):
    """An end is wrong if the chance at the true difference is beyond its level: that is what it is found by."""
    plan, runs, true, known = looks_plan(SMALL), 6000, rates[1] - rates[0], {}
    chance, wrong = plan.alpha * (1 - looks._POOLED), np.zeros(2, dtype=np.int64)
    for look, lead, cell, pooled in last_looks(plan, rates, runs, np.random.default_rng(9)):
        if (look, lead, cell) not in known:
            seen = [0] * (look - 1) + [lead], pooled, true
            known[look, lead, cell] = plan._chance_beyond(*seen) <= chance, plan._chance_above(*seen) > 1 - chance
        wrong += known[look, lead, cell]
    assert (wrong <= allowed(runs, plan.alpha)).all()


def test_the_upper_end_is_where_the_chance_of_more_is_that_of_its_level():
    plan = looks_plan(SMALL)
    seen = [plan.give_up[0] + 1, plan.give_up[1]], 4 * plan.block * 0.3
    upper, level = plan.interval(*seen)[1], 1 - plan.alpha * (1 - looks._POOLED)
    assert plan._chance_above(*seen, upper - 1e-4) < level <= plan._chance_above(*seen, upper)


def test_a_verdict_by_what_others_have_left_and_its_interval_agree():
    helped = 0
    for seed in range(60):
        test = finished((0.3, 0.6, 0.41), seed)
        plan = test.schedule
        for arm, other in ((1, 2), (2, 1)):
            leads, pooled = test._differences[arm], test._pooled_at[arm]
            own = leads[-1] >= plan.limit(len(leads), pooled)
            at_end = len(leads) == plan.looks and test._shown.count(other)
            shared = not own and at_end and leads[-1] >= plan.limit(plan.looks, pooled, 0.025)
            name = "ABC"[arm]
            assert (test.verdicts[name] == "shown") == (own or shared)
            assert test.confidence(name) == pytest.approx(0.9 if shared else 0.95)
            assert (test.interval(name)[0] > 0) == (own or shared)
            assert (test.p_value(name) <= 0.05) >= shared
            helped += bool(shared)
    assert 3 <= helped < 30


def test_a_passed_arm_is_pulled_no_more():
    test = next(one for seed in range(20) if (one := finished((0.3, 0.9, 0.38), seed)).epoch > 1)
    assert test.taken["B"] < test.taken["A"]
    assert test.taken["C"] == test.taken["A"]


def test_the_ledger_of_a_test_says_more_at_no_cost():
    test = finished((0.3, 0.6))
    seen = discreet.inference.summary(test.ledger, control="A", binary=True)
    assert seen.exact
    assert seen.lift("B").interval.lower > 0
    assert discreet.spent(test.ledger) == 1.0


def test_words_have_the_units_of_the_rewards():
    test = DPTwoSampleTest(["A", "B"], epsilon=1.0, base_rate=0.3, effect=0.15, margin=0.1, low=2, high=12)
    assert "whether B is less than 1 worse than A, from a mean of 5, looking for +1.5;" in test.question
    assert [row.hypothesis for row in test.forecast()] == ["arms are worse by 1", "B is better by 1.5"]
    assert test.claim.startswith("B is still open")


def test_looks_and_forecast_agree():
    test = DPTwoSampleTest(["A", "B"], epsilon=1.0, alpha=0.05, beta=0.2, base_rate=0.03, effect=0.003)
    planned, found = test.looks, test.forecast(per_day=2000)
    assert planned[-1].ended_if_null == pytest.approx(1.0)
    assert planned[-1].ended_if_effect == pytest.approx(1.0)
    assert found[0].at_most == 2 * planned[-1].rewards
    assert found[0].mean < found[1].mean < found[0].at_most
    assert found[1].shown >= 0.8
    assert found[0].shown <= 0.05
    assert found[1].days == pytest.approx(found[1].mean / 2000)
    other = DPTwoSampleTest(["A", "B"], epsilon=0.5, base_rate=0.03, effect=0.003).forecast()
    assert round(other[0].high, -3) > other[0].at_most  # rounded it would be more than it can be
    assert f"{round(other[0].high, -3):,.0f}" not in str(other)
    assert "people, mean" in str(found)
    assert "<table" in found._repr_html_()
    assert found.to_dict()["outlooks"][0]["at_most"] == found[0].at_most


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effect": 0.0}, "effect must be above 0 unless there is a margin, got effect=0.0"),
        ({"effect": -0.1}, "effect must not be negative, got -0.1"),
        ({"base_rate": 0.9, "effect": 0.2}, "base_rate and effect must add up to less than 1, got 0.9 and 0.2"),
        ({"base_rate": 0.0}, "base_rate must lie strictly between 0 and 1, got 0.0"),
        ({"margin": 0.4}, "margin must be below base_rate, 0.3, got 0.4"),
        ({"alpha": 0.6, "beta": 0.5}, "alpha and beta must add up to less than 1"),
        ({"alpha": 1e-9}, "alpha must be at least 1e-06 for a test, got 1e-09"),
        ({"epsilon": 1e-9}, "epsilon must be larger"),
    ],
)
def test_bad_options_are_refused_with_a_sentence(options, message):
    with pytest.raises(ArgumentError, match=message):
        DPTwoSampleTest(["A", "B"], **{"epsilon": 1.0, "base_rate": 0.3, "effect": 0.1, **options}).plan()
