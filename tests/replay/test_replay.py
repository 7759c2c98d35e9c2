"""Replay: with the same releases everything is shown as before, and one changed unit costs at most epsilon.

Every private algorithm runs at full size, and rewards are changed where they were released first, late and never.
"""

import itertools

import numpy as np
import pytest

import discreet
from discreet import Bandit, SimulatedNoise, Stream, Told, Totals, Unit
from discreet.drivers._base import Driver
from discreet.testing import Change, Recording, replay_check
from tests._tools import examples
from tests._tools.mutants import MUTANTS, planted

PRIVATE = [name for name in (*discreet.POLICIES, *discreet.RULES) if examples.is_private(name)]
POLICIES = [name for name in PRIVATE if name in discreet.POLICIES]
RULES = [name for name in PRIVATE if name in discreet.RULES]
STEPWISE = {name: {"horizon": 10_000} for name in ("dp-ucb", "dp-ucb-hybrid")}
EASY = dict.fromkeys(("dp-se-svt", "dp-se-modified"), (0.95, 0.05))  # they halt for large gaps only
HORIZON, SAMPLES = 1_000_000, 200_000
MANY = 2000  # releases: a replay takes a second
# What one reward of 0 instead of 1 costs at least, of epsilon, at the places that are tried: trees and tests share it.
COSTS = {
    "dp-ucb": 0.9, "dp-ucb-hybrid": 0.5, "dp-se-svt": 0.5, "dp-se-modified": 0.5, "dp-se-pairs": 0.5,
    "dp-se-one-vector": 0.5, "dp-se-difference": 0.5, "dp-se-arms": 1 / 3, "dp-nas": 0.5, "dp-exp-nas": 0.5,
    "dp-nas-one-sided": 0.9, "dp-inverse": 0.9, "dp-bernstein": 0.9, "dp-se-person": 0.5, "dp-se-sharp-person": 1 / 3,
}  # fmt: skip


def bug(name):
    return next(one for one in MUTANTS if one.plant.__name__ == name)


def coins(*means, size=HORIZON, seed=1):
    """Rewards of 0 or 1."""
    rng = np.random.default_rng(seed)
    return [(rng.random(size) < mean).astype(float) for mean in means]


def policy_recording(name, driver=Totals, means=None, size=HORIZON, **options):
    means = means or EASY.get(name, (0.55, 0.5))
    policy = examples.policy(name, **{**STEPWISE.get(name, {}), **options})
    more = {"seed": 1} if driver is Bandit else {}
    rewards = dict(zip("AB", coins(*means, size=size), strict=True))
    return Recording(lambda: driver(policy, SimulatedNoise(1), **more), rewards), rewards


def rule_recording(name, mean=0.4, **options):
    """A rule that needs most of the samples."""
    options = {"alpha": 0.03 if name != "dp-bernstein" else 0.02, "beta": 0.05, "epsilon": 0.5, **options}
    rule = examples.rule(name, **options)
    (samples,) = coins(mean, size=SAMPLES)
    samples = rule.grid.low + samples * (rule.grid.high - rule.grid.low)
    return Recording(lambda: Stream(rule, SimulatedNoise(1)), {None: samples}), {None: samples}


def places(recording, size):
    """Yield an arm and a pull in the first, in a middle and in the last release, and one that comes after them."""
    releases = [release for release in recording.ledger if release.steps is not None] or recording.ledger
    spans = [releases[index].spans[0] for index in sorted({0, len(releases) // 2, len(releases) - 1})]
    yield from ((arm, first - 1) for arm, first, _ in spans)
    arm, first, last = spans[-1]
    yield arm, (first + last) // 2 - 1
    yield arm, size - 1


def other(rewards, arm, pull):
    """Return the change of a reward to the other end of the range."""
    low, high = rewards[arm].min(), rewards[arm].max()
    return Change(arm, pull, low + high - rewards[arm][pull])


def replays(recording, rewards):
    """Return the reports of all changes of one reward that are tried."""
    size = next(iter(rewards.values())).size
    found = list(places(recording, size))
    if len(recording.ledger) > MANY:
        found = [found[0], found[-1]]
    return [recording.replay([other(rewards, *place)]) for place in found]


def check(reports, least):
    for report in reports:
        assert report.private, report
    assert max(report.loss / report.epsilon for report in reports) >= least * (1 - 1e-9)
    assert any(report.moved for report in reports)
    assert reports[-1].loss == 0  # nobody saw that one


# ---------------------------------------------------------------------- every private algorithm, at full size


@pytest.mark.parametrize("name", POLICIES)
def test_a_changed_reward_of_a_policy_changes_nothing_that_is_shown(name):
    recording, rewards = policy_recording(name)
    check(replays(recording, rewards), COSTS.get(name, 1.0))


@pytest.mark.parametrize("name", RULES)
def test_a_changed_sample_of_a_rule_changes_nothing_that_is_shown(name):
    recording, samples = rule_recording(name)
    assert recording.ledger
    check(replays(recording, samples), COSTS.get(name, 1.0))


# The sum is negative at first and positive in the end.
TURNING = {None: np.concatenate([[1.0], -np.ones(9), np.ones(SAMPLES)])}
TURNED = [Change(None, 0, -1.0)]


@pytest.mark.parametrize("name", ["dp-nas", "dp-exp-nas"])
def test_sums_that_cross_zero_cost_all_of_epsilon_and_no_more(name):
    """A sample that moves |sum| up at one test and down at the one that halts moves noises by 1 and 2 widths."""
    rule = examples.rule(name, alpha=0.9, beta=0.9, epsilon=0.5, radius=1.0)
    report = replay_check(lambda: Stream(rule, SimulatedNoise(1)), TURNING, TURNED)
    assert report.private, report
    assert report.loss == pytest.approx(report.epsilon)
    with planted(bug("a_third_of_the_noise_of_tests")):
        report = replay_check(lambda: Stream(rule, SimulatedNoise(1)), TURNING, TURNED)
    assert not report.private
    assert not report.differences


@pytest.mark.parametrize("name", ["dp-se-person", "dp-se-sharp-person"])
def test_a_person_in_every_epoch_pays_at_most_epsilon(name):
    recording, rewards = policy_recording(name, means=(0.51, 0.5))
    assert recording.privacy.unit is Unit.PERSON
    epochs = [releases[0] for releases in recording.ledger.by_epoch() if releases]
    assert len(epochs) >= 3
    person = [other(rewards, release.arm, release.spans[0][1] - 1) for release in epochs]
    report = recording.replay(person)
    assert report.private, report
    assert report.loss == pytest.approx(sum(release.epsilon for release in epochs))
    assert report.moved == len(epochs)


def test_a_row_costs_at_most_epsilon():
    """The potential rewards of all arms at one step: here the same pull of each."""
    recording, rewards = policy_recording("dp-ucb", preset="mishra-thakurta-2015", horizon=3000)
    assert recording.privacy.unit is Unit.ROW
    for pull in (0, 7, 600):
        report = recording.replay([other(rewards, arm, pull) for arm in "AB"])
        assert report.private, report
        assert report.loss > 0.4 * report.epsilon


@pytest.mark.parametrize("name", ["dp-se", "dp-imed", "dp-paired-imed", "lazy-ucb", "dp-se-svt", "dp-ucb"])
def test_tickets_receipts_and_their_order_do_not_depend_on_rewards(name):
    horizon = 1000 if name == "dp-ucb" else 20_000
    recording, rewards = policy_recording(name, Bandit, size=horizon, horizon=horizon)
    for report in replays(recording, rewards):
        assert report.private, report
        assert report.releases > 3 or name == "dp-se"


def test_private_noise_is_replayed_too():
    policy = examples.policy("dp-imed")
    rewards = dict(zip("AB", coins(0.6, 0.5, size=1000), strict=True))
    report = replay_check(lambda: Totals(policy), rewards, [other(rewards, "A", 0)])
    assert report.private
    assert report.loss == report.epsilon


def test_a_file_that_is_loaded_half_way_is_replayed(tmp_path):
    """Curators that are made anew have the recorded releases too."""
    policy, paths = examples.policy("lazy-ucb"), map(str, itertools.count())

    def play(driver, rewards):
        path = tmp_path / next(paths)
        driver.save(path)
        taken = dict.fromkeys(rewards, 0)
        for _ in range(8):
            plan = driver.plan()
            yield plan
            past, taken = taken, {arm: taken[arm] + plan.pulls.get(arm, 0) for arm in taken}
            yield driver.close_steps({
                arm: policy.grid.total(rewards[arm][past[arm] : taken[arm]]) for arm in plan.pulls
            })  # fmt: skip
            driver = Totals.load(path, SimulatedNoise(2))

    rewards = dict(zip("AB", coins(0.6, 0.5, size=5000), strict=True))
    report = replay_check(lambda: Totals(policy, SimulatedNoise(1)), rewards, [other(rewards, "A", 1)], play)
    assert report.private, report
    assert report.loss == report.epsilon


# ---------------------------------------------------------------------- planted bugs that only replay can see


def stop_by_an_exact_total(patch):
    """A run ends when an arm's exact total is odd."""
    honest = Driver._close

    def close(self, plan, totals):
        releases = honest(self, plan, totals)
        if totals and sum(totals.values()) // 2**20 % 2:
            self._plan = None
        return releases

    patch.setattr(Driver, "_close", close)


def plan_by_an_exact_total(patch):
    """A plan has one more pull after an odd total."""
    honest = Driver._close

    def close(self, plan, totals):
        releases = honest(self, plan, totals)
        if self._plan and totals and sum(totals.values()) // 2**20 % 2:
            self._plan = self._plan._replace(pulls={arm: count + 1 for arm, count in self._plan.pulls.items()})
        return releases

    patch.setattr(Driver, "_close", close)


def receipt_that_knows(patch):
    """Who has told a reward of 0 is thanked otherwise."""
    honest = Bandit._count

    def count(self, number, steps, now):
        told = honest(self, number, steps, now)
        return told if steps or told is not Told.COUNTED else Told.DUPLICATE

    patch.setattr(Bandit, "_count", count)


def order_that_knows(patch):
    """The order of later tickets depends on rewards."""
    honest = Bandit._count

    def count(self, number, steps, now):
        if steps:
            self._rng.random()
        return honest(self, number, steps, now)

    patch.setattr(Bandit, "_count", count)


def open_sums_for_debugging(patch):
    """Whoever prints a driver sees the exact totals of its open epoch."""
    patch.setattr(Bandit, "__repr__", lambda self: f"Bandit({self._epoch.sums})")


def result_that_peeks(patch):
    """The result of a stream has the exact sum of the open block in it."""
    honest = Stream.result

    def result(self):
        return f"{honest.fget(self)}; {self._sums.values}"

    patch.setattr(Stream, "result", property(result))


@pytest.mark.parametrize(
    ("plant", "driver"),
    [
        (stop_by_an_exact_total, Totals), (plan_by_an_exact_total, Totals), (stop_by_an_exact_total, Bandit),
        (receipt_that_knows, Bandit), (order_that_knows, Bandit), (open_sums_for_debugging, Bandit),
    ],
    ids=lambda one: one.__name__,
)  # fmt: skip
def test_what_looks_at_rewards_is_caught(plant, driver, monkeypatch):
    plant(monkeypatch)
    recording, rewards = policy_recording("dp-se", driver, size=5000, horizon=5000, beta=0.9)
    reports = [recording.replay([other(rewards, "A", pull)]) for pull in (0, 100, 300)]
    assert any(report.differences for report in reports)
    assert not all(report.private for report in reports)


def test_a_result_that_peeks_is_caught(monkeypatch):
    result_that_peeks(monkeypatch)
    recording, samples = rule_recording("dp-bernstein")
    assert not recording.replay([other(samples, None, 9000)]).private


@pytest.mark.parametrize(
    ("planted_bug", "name"),
    [
        ("first_batch_bare", "dp-imed"), ("natural_logarithm", "dp-ucb"), ("hybrid_spends_twice", "dp-ucb-hybrid"),
        ("halved_sensitivity", "dp-se"), ("sensitivity_of_one_step", "dp-bernstein"),
        ("release_at_full_epsilon", "dp-nas"), ("totals_so_far", "dp-imed"), ("running_total", "dp-nas-released"),
        ("remembered_block", "lazy-ucb"), ("elimination_never_forgets", "dp-se-sharp"),
        ("squares_for_nothing", "dp-bernstein"), ("asks_for_twice_its_epsilon", "dp-se"),
        ("prefix_noise_a_fifth_smaller", "dp-nas-one-sided"),
    ],
)  # fmt: skip
def test_bugs_of_the_other_detectors_cost_too_much_here_too(planted_bug, name):
    with planted(bug(planted_bug)):
        if name in RULES:
            recording, rewards = rule_recording(name)
        else:
            short = {"horizon": 1000} if name in STEPWISE else {}
            recording, rewards = policy_recording(name, means=(0.52, 0.5), size=200_000, **short)
        assert not all(report.private for report in replays(recording, rewards))


# ---------------------------------------------------------------------- reports


def test_what_ends_early_or_goes_on_is_a_difference():
    policy = examples.policy("dp-imed")
    lengths = iter([5, 4, 6])

    def play(driver, rewards):
        for _ in range(next(lengths)):
            driver.close_steps(dict.fromkeys(driver.plan().pulls, 0))
        return []

    recording = Recording(lambda: Totals(policy, SimulatedNoise(1)), {"A": [], "B": []}, play)
    short, long = recording.replay([]), recording.replay([])
    assert short.differences == ("the run ended after 4 of 5 answers",)
    assert long.differences == ("epoch 6 is closed, where the recorded run had ended",)
    assert str(short) == (
        "NOT PRIVATE: 0 of epsilon = 1 in 0 moved statistics; the run ended after 4 of 5 answers"
    )  # fmt: skip


def test_nothing_stays_behind_when_a_recording_fails():
    policy = examples.policy("dp-imed")
    with pytest.raises(ZeroDivisionError):
        Recording(lambda: Totals(policy), {}, lambda driver, rewards: [1 / 0])
    assert Totals(policy, SimulatedNoise(1)).close_steps(dict.fromkeys("AB", 0))
