"""Sparse vectors that release nothing but their tests: from the curator to rules, files, walks and replays."""

import os
import tempfile
from functools import partial

import numpy as np
import pytest

from discreet import PrivacyError, SimulatedNoise, StateError, Stream, Totals, privacy_report
from discreet.core.plans import Measure, Plan, ThresholdQuery
from discreet.mechanisms import SparseVector
from discreet.testing import (
    Change,
    Recording,
    ScriptedNoise,
    Violation,
    check_algorithm,
    replay_check,
    walk,
    worst_loss,
)
from tests._tools.curators import COINS, Counted, make, seen
from tests._tools.mutants import MUTANTS, planted
from tests._tools.own import ReachesLevel, registered
from tests._tools.plants import stored_noise
from tests._tools.walking import coins

ONE_SIDED = Measure.ONE_SIDED
MEASURES = [Measure.DISTANCE, ONE_SIDED, Measure.SPREAD]
FAR = 10**6
RULE = ReachesLevel(epsilon=1.0, level=20)


@pytest.fixture(autouse=True)
def known():
    with registered(ReachesLevel):
        yield


def bug(name):
    return next(one for one in MUTANTS if one.plant.__name__ == name)


def plan_of(counts, limits, measure=ONE_SIDED, before=0, epsilon=1.0, epoch=1):
    arms = "AB" if measure is Measure.SPREAD else "A"
    return Plan(epoch, dict.fromkeys(arms, counts[-1] - before), ThresholdQuery(counts, limits, epsilon, None, measure))


# ---------------------------------------------------------------------- the curator


@pytest.mark.parametrize("measure", MEASURES)
def test_a_yes_is_all_that_is_released_and_everything_secret_is_erased(measure):
    noise = Counted()
    curator = make(1.0, noise)
    totals = dict.fromkeys(plan_of((9,), (FAR,), measure).pulls, 5)
    (tests,) = curator.release(plan_of((9,), (FAR,), measure), totals)
    assert not tests.above
    assert curator.state()["threshold_noise"] is not None
    (tests,) = curator.release(plan_of((18,), (-FAR,), measure, before=9), totals)
    assert (tests.kind, tests.steps, tests.tests, tests.above, tests.epsilon) == ("tests", None, 2, True, 1.0)
    assert tests.spans == tuple((arm, 1, 18) for arm in totals)
    assert noise.drawn == 3  # of the threshold and of two tests
    assert curator.state() == {}
    vector = curator._mechanism
    assert (vector._sums, vector._threshold_noise) == ({}, None)


def test_the_noise_has_the_scale_of_all_of_epsilon():
    scales = {}
    for measure in MEASURES:
        noise = ScriptedNoise([])
        plan = plan_of((1,), (0,), measure, epsilon=0.25)
        make(0.25, noise).release(plan, dict.fromkeys(plan.pulls, 1))
        scales[measure] = noise.scales
    assert scales == {Measure.DISTANCE: [12.0] * 2, ONE_SIDED: [4.0] * 2, Measure.SPREAD: [12.0] * 2}


def test_a_price_that_is_left_out_is_noticed(monkeypatch):
    plan = plan_of((9,), (0,), epsilon=2.0)
    with pytest.raises(PrivacyError, match=r"would cost 2\.0, beyond the promised 1\.0"):
        make(1.0).release(plan, {"A": 5})
    monkeypatch.setattr(ThresholdQuery, "prices", property(lambda self: (self.release_epsilon or 0.0,)))
    with pytest.raises(PrivacyError, match="every price must be positive"):
        make(1.0).release(plan, {"A": 5})


@pytest.mark.parametrize("halts", [0, 3, 299, None])
def test_many_tests_at_once_equal_one_by_one(halts):
    """The noise of all draws is one sequence, so that it does not depend on how many tests are answered at once."""
    limits = [-FAR if test == halts else FAR for test in range(300)]
    one, many = make(1.0, SimulatedNoise(1)), make(1.0, SimulatedNoise(1))
    for number, limit in enumerate(limits, 1):
        alone = one.release(plan_of((number,), (limit,), before=number - 1), {"A": 1})
        if alone[0].above:
            break
    together = many.release(plan_of(range(1, 301), tuple(limits)), {"A": np.ones(300, int)})
    assert together == alone
    assert len(together) == 1
    assert one.state() == many.state()
    assert (one.state() == {}) == (halts is not None)


# ---------------------------------------------------------------------- exact losses, with a restart in the middle


def reloaded(bits, limits, epsilon=2.0, at_once=1):
    """All that a curator shows that is made anew from its saved state before every plan of so many tests."""

    def run(noise):
        made, shown = make(epsilon, noise, arms=("A",), grid=COINS), []
        for start in range(0, len(bits), at_once):
            tests = slice(start, start + at_once)
            counts = tuple(range(1, len(bits) + 1))[tests]
            plan = plan_of(counts, tuple(limits[tests]), before=start, epsilon=epsilon)
            after = make(epsilon, noise, grid=COINS, taken={"A": start})
            after.restore(made.state(), plan)
            made = after
            shown.append(seen(made.release(plan, {"A": np.array(bits[tests])})))
            if shown[-1][0][-1]:
                break
        return tuple(shown), made.state() == {}

    return run


CASES = {  # two neighbours, and limits
    "a yes": ([0], [1], [2]),
    "a no": ([0], [1], [0]),
    "a no and a yes": ([0, 1], [1, 1], [1, 1]),
    "three tests": ([0, 1, 0], [1, 1, 0], [0, 1, 1]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_restarts_and_many_tests_at_once_cost_nothing(name, at_once):
    one, other, limits = CASES[name]
    runs = (reloaded(bits, limits, at_once=at_once) for bits in (one, other))
    loss = worst_loss(*runs, 1 if len(one) > 2 else 2, 1)
    assert 0.2 < loss <= 2.0 + 1e-9
    if len(one) == 1:
        assert loss == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize("name", ["a_third_of_the_noise_of_prefix_sums", "totals_that_nobody_pays_for"])
def test_planted_bugs_cost_more(name):
    one, other, limits = CASES["a yes"]
    with planted(bug(name)):
        assert worst_loss(reloaded(one, limits), reloaded(other, limits), 4, 1) > 2.0 + 1e-3


def test_secrets_that_outlive_the_yes_are_noticed(monkeypatch):
    curator = make(1.0, SimulatedNoise(1))
    monkeypatch.setattr(SparseVector, "_finish", lambda self, epoch, query, spans: [])
    curator.release(plan_of((9,), (-FAR,)), {"A": 5})
    assert curator.state() != {}


# ---------------------------------------------------------------------- rules


def test_a_rule_halts_without_a_total_and_makes_its_own_estimate():
    result = ReachesLevel(epsilon=1.0, level=10, at_once=4).run(np.tile([0.0, 1.0], 50), noise=ScriptedNoise([]))
    assert (result.reached, result.samples, result.estimate) == (True, 20, 0.5)
    (tests,) = result.ledger
    assert (tests.above, tests.rewards, tests.epsilon) == (True, 20, 1.0)
    assert privacy_report(result).paid == 1.0


@pytest.mark.parametrize("at_once", [1, 7])
def test_it_is_a_public_value_and_names_its_theorem(at_once):
    check_algorithm(ReachesLevel(epsilon=1.0, level=3, at_once=at_once), closes=40)


def test_it_learns_no_total_that_was_not_asked_for():
    rule = RULE.copy()
    driver = Totals(ReachesLevel(epsilon=1.0, level=1), ScriptedNoise([-9]))
    (halted,) = driver.close_steps({None: 0})
    assert not halted.above
    yes = halted._replace(above=True)
    total = yes._replace(kind="total", steps=7, tests=0, above=False)
    for wrong in ((), (yes, total), (total,), (halted, total), (yes, yes)):
        with pytest.raises(StateError, match="the releases are not those"):
            rule.learn(wrong)
    assert rule == RULE
    rule.learn((yes,))
    assert (rule.halted, rule.finished, rule.epoch, rule.samples) == (True, True, 1, 1)


def test_a_total_that_is_released_all_the_same_ends_the_driver():
    stream = Stream(ReachesLevel(epsilon=1.0, level=1), ScriptedNoise([]))
    with planted(bug("totals_that_nobody_pays_for")), pytest.raises(StateError, match="the releases are not those"):
        stream.feed([1.0])
    assert stream.ledger == ()


@pytest.mark.parametrize("at_once", [1, 5])
def test_it_goes_on_from_a_file_as_if_nothing_had_happened(at_once, tmp_path):
    samples, rule = coins(200), ReachesLevel(epsilon=1.0, level=20, at_once=at_once)
    whole = rule.run(samples, SimulatedNoise(3))
    assert whole.reached
    noise = SimulatedNoise(3)
    stream = Stream(rule, noise)
    for start in range(0, whole.samples, 3):
        stream.feed(samples[start : start + 3])
        path = tmp_path / str(start)
        stream.save(path)
        stream.detach()
        stream = Stream.load(path, noise)
    assert stream.result == whole
    assert stream._head()["secret"] == {}


# ---------------------------------------------------------------------- walks and replays

WALKED = {
    "by samples": partial(Stream, ReachesLevel(epsilon=8.0, level=20)),
    "many tests at once": partial(Stream, ReachesLevel(epsilon=8.0, level=40, at_once=30)),
    "with a cap": partial(Stream, ReachesLevel(epsilon=8.0, level=40, max_samples=30)),
    "by totals": partial(Totals, ReachesLevel(epsilon=8.0, level=5)),
}


@pytest.fixture
def _in_memory(monkeypatch):
    """No walk waits for a disk, where there is a file system without one."""
    if os.access("/dev/shm", os.W_OK):
        monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")


@pytest.mark.usefixtures("_in_memory")
@pytest.mark.parametrize("case", WALKED)
def test_walks_find_no_draw_twice_and_no_release(case):
    report = walk(WALKED[case], seed=1, steps=100) + walk(WALKED[case], seed=2, steps=100)
    assert report.tests > 50
    assert report.thresholds > 3
    assert report.releases == 0


@pytest.mark.usefixtures("_in_memory")
def test_a_walk_finds_noise_of_tests_that_is_stored():
    with stored_noise(SparseVector), pytest.raises(Violation):
        for seed in range(200):
            walk(WALKED["by samples"], seed, steps=60)


@pytest.mark.parametrize("at_once", [1, 64])
def test_a_changed_sample_changes_nothing_that_is_shown_and_costs_epsilon(at_once):
    samples = {None: coins(1000, 0.3)}
    recording = Recording(
        lambda: Stream(ReachesLevel(epsilon=0.5, level=100, at_once=at_once), SimulatedNoise(1)), samples
    )
    losses = []
    for place in (0, 7, 90, 999):
        report = recording.replay([Change(None, place, 1.0 - samples[None][place])])
        assert report.private, report
        losses.append(report.loss)
    assert losses == pytest.approx([0.5, 0.5, 0.5, 0.0])


def test_a_replay_sees_a_third_of_the_noise():
    samples = {None: coins(1000, 0.3)}
    with planted(bug("a_third_of_the_noise_of_prefix_sums")):
        report = replay_check(
            lambda: Stream(ReachesLevel(epsilon=0.5, level=100), SimulatedNoise(1)),
            samples,
            [Change(None, 0, 1.0 - samples[None][0])],
        )
    assert not report.private
    assert report.loss == pytest.approx(1.5)
