"""Many runs at once: the same verdicts as the policies' own, run for run, and the same distribution."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

import discreet
from discreet import ArgumentError, SimulatedNoise, Totals
from discreet.core.probability import tails
from discreet.core.probability.lead_evidence import lead_evidence as scalar_evidence
from discreet.forecasting import evidence_at_once, tests_at_once
from discreet.forecasting import race as race_module
from discreet.forecasting.race import race, worst_case
from discreet.lab import simulate

LEVEL = 1e-6
SEARCHES = {
    "dp-bai-sharp": lambda arms, **more: discreet.DPSharpBestArm(arms, beta=0.05, **more),
    "dp-bai-evidence": lambda arms, **more: discreet.DPEvidenceBestArm(arms, beta=0.05, **more),
    "dp-bai": lambda arms, **more: discreet.DPBestArm(arms, beta=0.05, **more),
    "dp-se-sharp-person": lambda arms, **more: discreet.DPSharpPersonElimination(arms, beta=0.05, **more),
    "dp-se-person": lambda arms, **more: discreet.DPPersonElimination(arms, beta=0.05, **more),
}


@given(
    st.integers(20, 10**6), st.integers(1, 6), st.floats(0.01, 10), st.floats(0.001, 0.999), st.floats(2, 15),
    st.integers(0, 10**6),
)  # fmt: skip
@example(pulls=20, noises=2, epsilon=2.0, rate=0.03125, level=2.0, seed=1800)
@settings(max_examples=150, deadline=None)
def test_verdicts_are_those_of_the_scalar_test(pulls, noises, epsilon, rate, level, seed):
    rng = np.random.default_rng(seed)
    spread = np.sqrt(pulls * rate * (1 - rate) + noises / epsilon**2)
    total = rng.binomial(pulls, rate, 4) + rng.laplace(0, 1 / epsilon, 4)
    lead = np.abs(rng.normal(0, 4 * spread, 4))
    sure, perhaps = (
        tests_at_once.clearly_behind(lead, total, pulls, noises, epsilon, level + more, level + 1)
        for more in (1e-5, -1e-5)  # the scalar search for an exponent ends up to 5e-7 below the largest one
    )
    scalar = [
        tails.clearly_behind(each, own, pulls, noises, epsilon, level, level + 1)
        for each, own in zip(lead.tolist(), total.tolist(), strict=True)
    ]
    assert (sure <= scalar).all()
    assert (scalar <= perhaps).all()
    for own, mean in zip(total.tolist(), tests_at_once.largest_mean(total, pulls, noises, epsilon, level), strict=True):
        scalar_mean = tails.largest_mean(own, pulls, noises, epsilon, level)
        assert mean <= scalar_mean + 1e-12
        near = tails.tail_exponent(own, pulls, noises, mean, epsilon) > level - 1e-6
        assert near or mean == pytest.approx(scalar_mean, abs=1e-12)


def one_by_one(policy, rates, seed):
    """One run of the object, with the draws of the race: its people."""
    rewards, noise = np.random.SeedSequence(seed).spawn(2)
    rng, driver = np.random.default_rng(rewards), Totals(policy, SimulatedNoise(noise))
    while (plan := driver.plan()) is not None:
        driver.close_steps({arm: int(rng.binomial(count, rates[arm])) * 2**20 for arm, count in plan.pulls.items()})
    return driver.algorithm.time, driver.algorithm.best_arm


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_two_arms_are_raced_as_the_object_does_it_draw_for_draw(name, seed):
    rates = [0.3, 0.7]
    policy = SEARCHES[name]([0, 1], epsilon=0.3)
    found = race(policy, rates, 1, seed)
    assert (found.people[0], found.right[0]) == (one_by_one(policy, rates, seed)[0], True)


def by_objects(policy, rates, runs, seed):
    return np.array([one_by_one(policy, rates, (seed, run))[0] for run in range(runs)])


def agree(policy, rates, runs=200):
    ours, objects = race(policy, rates, 3000, seed=1).people, by_objects(policy, rates, runs, seed=7)
    return stats.ks_2samp(ours, objects).pvalue > LEVEL


@pytest.mark.parametrize("name", SEARCHES)
def test_four_arms_take_as_many_people_as_the_object(name):
    assert agree(SEARCHES[name](range(4), epsilon=0.5), [0.2, 0.9, 0.5, 0.4])


def too_little_noise(patch):
    patch.setattr(race_module, "scale_for", lambda width, epsilon: width / epsilon / 20)


def arms_that_never_go(patch):
    honest = race_module.clearly_behind
    patch.setattr(race_module, "clearly_behind", lambda lead, *rest: honest(lead * 0.7, *rest))


@pytest.mark.parametrize("plant", [too_little_noise, arms_that_never_go])
def test_planted_errors_are_found(plant, monkeypatch):
    policy, rates, seeds = SEARCHES["dp-bai-sharp"]([0, 1], epsilon=0.05), [0.5, 0.6], range(20)
    honest = [one_by_one(policy, rates, seed)[0] for seed in seeds]
    assert honest == [race(policy, rates, 1, seed).people[0] for seed in seeds]
    plant(monkeypatch)
    assert honest != [race(policy, rates, 1, seed).people[0] for seed in seeds]


def test_another_distribution_is_found():
    """Planted: a race of other arms."""
    policy, rates = SEARCHES["dp-bai-sharp"](range(4), epsilon=0.5), [0.2, 0.9, 0.5, 0.4]
    ours, objects = race(policy, [0.2, 0.8, 0.5, 0.4], 3000, seed=1).people, by_objects(policy, rates, 200, seed=7)
    assert stats.ks_2samp(ours, objects).pvalue < LEVEL


def test_a_search_that_has_lost_its_best_arm_does_not_end():
    """Among equals nothing can be told: such runs count as wrong, up to where they got stuck."""
    found = race(SEARCHES["dp-bai-sharp"](range(3), epsilon=1.0), [0.5, 0.5, 0.5], 20, seed=1)
    assert not found.right.any()
    assert not found.ended.any()
    found = race(SEARCHES["dp-bai-sharp"](range(4), epsilon=0.2), [0.01, 0.015, 0.01, 0.01], 3000, seed=0)
    assert (found.right == found.ended).all()
    assert 0.95 < found.right.mean() < 1


def test_what_cannot_be_raced_is_refused():
    for policy in (
        discreet.DPChernoffIMED(["A", "B"], epsilon=1.0),
        discreet.DPSharpElimination(["A", "B"], epsilon=1.0, horizon=1000),
        discreet.DPSharpBestArm(["A", "B"], epsilon=1.0, beta=0.1, high=2.0),
    ):
        with pytest.raises(ArgumentError, match="only eliminations"):
            race(policy, [0.1, 0.2], 10, seed=1)
    with pytest.raises(ArgumentError, match="must be told apart by"):
        race(SEARCHES["dp-bai-sharp"]([0, 1], epsilon=1.0), [0.5, 0.5 + 1e-8], 1, seed=1)
    with pytest.raises(ArgumentError, match="gap must be told by"):
        worst_case(SEARCHES["dp-bai-sharp"]([0, 1], epsilon=1.0), [1e-8])


@pytest.mark.parametrize("name", [name for name in SEARCHES if name != "dp-bai-evidence"])
def test_the_promise_is_kept_and_is_that_of_the_schedule(name):
    policy, rates = SEARCHES[name](range(3), epsilon=1.0), [0.5, 0.3, 0.8]
    people, epochs = worst_case(policy, [0.3, 0.5])
    found = race(policy, rates, 1000, seed=1)
    assert (found.people <= people).mean() >= 0.95
    assert (found.epochs <= epochs).mean() >= 0.95
    if isinstance(policy, discreet.DPSharpElimination):
        pulls_for = policy.schedule.pulls_for
        assert people == pulls_for(0.5) + 2 * pulls_for(0.3)


SETTINGS = [
    ([0.030, 0.036], {"epsilon": 1.0}), ([0.030, 0.032, 0.036], {"epsilon": 0.5}),
    ([0.030, 0.032, 0.036, 0.027], {"epsilon": 1.0}), ([0.001, 0.002], {"epsilon": 0.5}),
    ([0.0005, 0.001, 0.0005], {"epsilon": 1.0}), ([0.5, 0.55], {"epsilon": 0.1}), ([0.1, 0.12, 0.11], {"epsilon": 2.0}),
    ([0.9, 0.95], {"epsilon": 0.25}), ([0.02, 0.04], {"epsilon": 0.05}), ([0.3, 0.35, 0.2, 0.1], {"epsilon": 1.0}),
    ([0.5, 0.6, 0.55, 0.4], {"epsilon": 1.0, "growth": 3.0}), ([0.01, 0.015, 0.01, 0.01], {"epsilon": 0.2}),
]  # fmt: skip


@pytest.mark.study
@pytest.mark.parametrize("name", ["dp-bai-sharp", "dp-bai-evidence"])
@pytest.mark.parametrize("case", range(len(SETTINGS)))
def test_the_mean_of_a_thousand_true_runs_is_near_the_forecast(case, name, page):
    rates, options = SETTINGS[case]
    if name == "dp-bai-evidence":
        options = {key: value for key, value in options.items() if key != "growth"}
    true = simulate(name, rates, horizon=10**9, runs=1000, seed=case + 1, beta=0.05, engine=None, **options)
    people = true.dropped.max(axis=1)
    policy = discreet.make_policy(name, range(len(rates)), beta=0.05, **options)
    found = race(policy, rates, 3000, seed=0).people
    off = found.mean() / people.mean() - 1
    options_said = ", ".join(f"{key} {value:g}" for key, value in options.items())
    page("Forecasts", search=f"{name}, {options_said}, rates {', '.join(map(str, rates))}",
         forecast=round(found.mean()), true=round(people.mean()), off=f"{off:+.1%}")  # fmt: skip
    print(f"{rates} {options}: forecast {found.mean():,.0f}, true mean {people.mean():,.0f}, {off:+.1%}")
    assert abs(off) < 0.05
    assert people.min() > 0


def pairs_of(count, epsilon, seed):
    """Pairs of totals such as searches have, at one epsilon."""
    rng = np.random.default_rng(seed)
    sizes = [np.exp(rng.uniform(3, 12, count)).astype(int).astype(float) for _ in range(2)]
    noises, means = [rng.integers(1, 12, count) for _ in range(2)], rng.random(count) ** 2
    spread = np.sqrt(means * (1 - means) / np.minimum(*sizes) + 2 / (epsilon * np.minimum(*sizes)) ** 2)
    means = [means, np.clip(means - rng.uniform(0, 5, count) * spread, 0, 1)]
    totals = [rng.binomial(size.astype(int), mean) + rng.laplace(0, 1 / epsilon, count)
              for size, mean in zip(sizes, means, strict=True)]  # fmt: skip
    return evidence_at_once.Pairs(totals[0], sizes[0], noises[0], totals[1], sizes[1], noises[1])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_evidence_of_many_pairs_is_that_of_each(epsilon):
    pairs, level = pairs_of(150, epsilon, 1), 2.0
    found = evidence_at_once.lead_evidence(pairs, epsilon, level)
    each = np.array([
        scalar_evidence(total, count, int(noises), other, rest, int(others), epsilon)
        for total, count, noises, other, rest, others in zip(*pairs, strict=True)
    ])  # fmt: skip
    assert 3 < (each >= level).sum() < 147
    assert (each >= level).tolist() == (found >= level).tolist()
    assert found[each >= level] == pytest.approx(each[each >= level], abs=1e-8)
    assert (found >= each - 1e-8).all()
    assert (found <= each + 0.5).all()
    assert (found - each).mean() < 0.02
