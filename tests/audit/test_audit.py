"""The audit: its limits are right, it finds what leaks, it leaves what is private alone, and it says things kindly."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.audit import examine
from discreet.audit.events import Event, Table, Trait, pick
from discreet.audit.examine import STEPS
from discreet.audit.limits import binomial_tail, epsilon_limit, lower_limit, upper_limit
from discreet.audit.mechanisms import MECHANISMS
from discreet.audit.play import Rewards, Session, by_totals
from discreet.audit.subjects import balance, names, subject
from discreet.core.plans import Measure
from discreet.core.registry import POLICIES, RULES
from discreet.mechanisms import Curator
from tests._tools import examples
from tests._tools.mutants import MUTANTS, planted
from tests._tools.own import BlockMean, ExploreThenCommit

FEW = 300
OWN = (ExploreThenCommit, BlockMean)


@pytest.fixture
def own():
    for kind in OWN:
        discreet.register(kind)
    yield
    for kind in OWN:
        POLICIES.pop(kind.key, None)
        RULES.pop(kind.key, None)


def bug(name):
    return planted(next(one for one in MUTANTS if one.plant.__name__ == name))


# ---------------------------------------------------------------------- limits


@pytest.mark.parametrize(("hits", "runs"), [(1, 10), (5, 10), (10, 10), (37, 1000), (950, 1000), (30_000, 100_000)])
@pytest.mark.parametrize("error", [0.025, 1e-9])
def test_limits_are_those_of_clopper_and_pearson(hits, runs, error):
    assert lower_limit(hits, runs, error) == pytest.approx(stats.beta.ppf(error, hits, runs - hits + 1), rel=1e-5)
    above = stats.beta.isf(error, hits + 1, runs - hits) if hits < runs else 1.0
    assert upper_limit(hits, runs, error) == pytest.approx(above, rel=1e-5)
    assert lower_limit(hits, runs, error) <= stats.beta.ppf(error, hits, runs - hits + 1) * (1 + 1e-12)


def test_a_tail_is_the_binomial_one():
    for hits, runs, chance in ((0, 5, 0.3), (3, 5, 0.0), (5, 5, 0.9), (700, 1000, 0.6), (60_000, 100_000, 0.59)):
        assert binomial_tail(hits, runs, chance) == pytest.approx(stats.binom.sf(hits - 1, runs, chance), rel=1e-7)


def test_without_hits_nothing_is_proved():
    assert epsilon_limit(0, 0, 1000, 0.05) == epsilon_limit(500, 500, 1000, 0.05) == 0.0


def test_the_bound_is_too_high_as_rarely_as_it_says():
    """Randomised response at epsilon = 1: its probabilities are known, and the bound exceeds epsilon in 5 % at most."""
    rng, epsilon, runs = np.random.default_rng(1), 1.0, 500
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    wrong = sum(
        epsilon_limit(rng.binomial(runs, p), rng.binomial(runs, 1 - p), runs, 0.05) > epsilon for _ in range(1000)
    )
    assert wrong <= stats.binom.ppf(1 - 1e-6, 1000, 0.05)


# ---------------------------------------------------------------------- events


def tables(make, runs=500):
    rng = np.random.default_rng(2)
    return [Table([make(rng, side) for _ in range(runs)]) for side in (0, 1)]


def separation(make):
    here, there = tables(make)
    event = pick(here, there, deviations=6.0)
    return event.count(here) - event.count(there)


def shared(rng, side, sign):
    noise = float(rng.normal(0, 100))
    return {"a": noise + side, "b": sign * noise}


@pytest.mark.parametrize(
    "make",
    [
        lambda rng, side: {"n": int(rng.integers(100)), "halted": bool(side)},
        lambda rng, side: {"a": float(side), "b": rng.random()},
        lambda rng, side: shared(rng, side, 1),
        lambda rng, side: shared(rng, side, -1),
        lambda rng, side: {"only here": 1.0} if side else {"elsewhere": 1.0},
    ],
    ids=["a word", "a number", "a difference", "a sum", "presence"],
)
def test_what_tells_two_inputs_apart_is_found(make):
    assert separation(make) == 500


def test_weak_evidence_adds_up():
    def eight(rng, side):
        return {f"{place}": rng.laplace(side, 2.0) for place in range(8)}

    def one(rng, side):
        return {"0": rng.laplace(side, 2.0)}

    assert separation(eight) > 1.5 * separation(one)


def test_a_run_without_the_trait_is_outside():
    table = Table([{"a": 1.0}, {"a": 3.0}, {}])
    trait = Trait("a", lambda table: table.numbers("a"))
    assert [Event(trait, 2.0, above).count(table) for above in (True, False)] == [1, 1]


# ---------------------------------------------------------------------- inputs


def test_neighbours_differ_in_one_reward():
    one, other = Rewards((7, 3), arm=1, pull=4, paid=3).changed(width=10)
    for arm in (0, 1):
        steps = [side.steps(arm, 1, 6) for side in (one, other)]
        assert np.count_nonzero(steps[0] != steps[1]) == arm
        assert [side.total(arm, 1, 6) for side in (one, other)] == [each.sum() for each in steps]
        assert one.total(arm, 5, 9) == other.total(arm, 5, 9)


def test_a_person_has_a_reward_in_each_epoch():
    one, other = Rewards((7, 3), arm=1, pull=1, paid=3, each_epoch=True).changed(width=10)
    for first, last in ((1, 6), (7, 20)):
        steps = [side.steps(1, first, last) for side in (one, other)]
        assert np.count_nonzero(steps[0] != steps[1]) == 1
        assert [side.total(1, first, last) for side in (one, other)] == [each.sum() for each in steps]


def test_levels_are_found_where_decisions_are_open():
    rng = np.random.default_rng(1)
    found = balance(lambda levels: {"yes": bool(levels[0] + rng.integers(-9, 10) > 700)}, [((0,), (1000,))])
    assert 690 <= found[0] <= 710
    assert balance(lambda levels: {"yes": True}, [((5,), (0,)), ((9,), (0,))]) == (5,)


# ---------------------------------------------------------------------- audits


@pytest.mark.parametrize("name", sorted(names()))
def test_everything_can_be_audited(name):
    one = subject(name, 1.0, {})
    if math.isinf(one.epsilon):
        return
    for pair in one.find_pairs():
        here, there = pair.one(), pair.other()
        assert here
        assert there
    assert sum(pair.share for pair in one.find_pairs()) == pytest.approx(1)


def test_policies_are_played_in_three_ways_and_so_are_rules():
    assert [pair.name.split(", ", 1)[1] for pair in subject("dp-imed", 1.0, {}).find_pairs()] == [
        "by totals", "by totals, saved and loaded", "by tickets",
    ]  # fmt: skip
    assert [pair.name.split(", ", 1)[1] for pair in subject("dp-exp-nas", 1.0, {}).find_pairs()] == [
        "as a stream", "as a stream in pieces", "by totals, saved and loaded",
    ]  # fmt: skip


def test_every_query_and_every_measure_of_the_curator_is_audited(monkeypatch):
    """What is released without a promise has nothing to lose; what measures a distance is audited in dp-nas."""
    asked, honest = [], Curator.release

    def release(self, plan, totals=None):
        asked.append(plan.query)
        return honest(self, plan, totals)

    monkeypatch.setattr(Curator, "release", release)
    for answer, inputs in MECHANISMS.values():
        for one, other in inputs.values():
            answer(1.0, one)
            answer(1.0, other)
    assert {type(query).__name__ for query in asked} == {"TotalsQuery", "ThresholdQuery", "CounterQuery"}
    assert {query.measure for query in asked if hasattr(query, "measure")} == {Measure.SPREAD, Measure.ONE_SIDED}
    assert {query.horizon for query in asked if hasattr(query, "horizon")} == {7, None}


@pytest.mark.parametrize("name", ["dp-se-person", "lazy-ucb", "dp-ucb", "dp-se-svt", "guess-and-double"])
def test_a_reloaded_session_goes_on_as_if_nothing_had_happened(name):
    policy = examples.policy(name)
    rewards = Rewards((2**19, 2**18), 0, 1, 0)
    plain, again = Session(policy, discreet.SimulatedNoise(1)), Session(policy, discreet.SimulatedNoise(1))
    for _ in range(6):
        plan = plain.plan()
        if plan is None:
            break
        past = plain.algorithm.taken
        totals = {arm: rewards.total("AB".index(arm), past[arm] + 1, past[arm] + n) for arm, n in plan.pulls.items()}
        again.reload()
        for session in (plain, again):
            session.close_steps(totals if plan.learns else None)
    assert again.algorithm == plain.algorithm
    assert again.algorithm.ledger == plain.algorithm.ledger


def test_runs_are_cut_off_when_they_have_shown_enough():
    facts = by_totals(examples.policy("dp-imed"), Rewards((2**19, 2**19), 0, 1, 0))
    assert sum(fact.startswith("entry ") for fact in facts) == 4


def test_noise_is_private_and_results_say_what_they_are():
    found, skipped = discreet.audit("laplace", "ucb", samples=2000, epsilon=2.0)
    assert 1.0 < found.epsilon <= 2.0 == found.claimed
    assert (found.samples, found.error, found.violated, skipped.private) == (8000, 1e-6, False, False)
    assert str(found).startswith("laplace: epsilon is at least 1.")
    assert str(skipped) == "ucb: not private: nothing to audit"
    assert isinstance(found, discreet.Audit)


def test_a_policy_of_ones_own_is_audited(own):
    (found,) = discreet.audit("test-explore-then-commit", samples=FEW, options={"n": 5})
    assert not found.violated
    assert found.samples == 6 * FEW
    with bug("first_batch_bare"):
        (found,) = discreet.audit("test-explore-then-commit", samples=FEW, options={"n": 5})
    assert found.violated
    assert found.verdict == "VIOLATION"


def test_a_rule_of_ones_own_is_audited(own):
    with bug("first_release_bare"):
        (found,) = discreet.audit("test-block-mean", samples=FEW)
    assert found.violated
    (found,) = discreet.audit("test-block-mean", samples=1500)
    assert 0.2 < found.epsilon <= 1.0
    assert [finding.pair for finding in found.findings] == [
        "the first sample, as a stream", "a later sample, as a stream in pieces",
        "a later sample, by totals, saved and loaded",
    ]  # fmt: skip


def test_seconds_decide_how_many_runs_there_are(monkeypatch):
    clock = itertools.count()  # a look at it takes a millisecond
    monkeypatch.setattr(examine, "time", SimpleNamespace(process_time=lambda: next(clock) / 1000))
    few, many = (discreet.audit("laplace", seconds=seconds)[0].samples for seconds in (0.02, 0.5))
    assert 80 <= few < many


def test_progress_is_told_in_whole_steps():
    steps = []
    discreet.audit("laplace", "dp-imed", "ucb", samples=60, on_progress=steps.append)
    assert sum(steps) == 3 * STEPS
    assert min(steps) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"algorithms": ["dp-sex"]}, "algorithm must be one of above-threshold, .* got 'dp-sex'; one of your own"),
        ({"algorithms": ["laplace"], "samples": 10}, "samples must be at least 60, got 10"),
        ({"algorithms": ["laplace"], "seconds": 0}, "seconds must be a number above 0"),
        ({"algorithms": ["laplace"], "error": 2}, "error must lie strictly between 0 and 1"),
        ({"algorithms": ["dp-se"], "options": {"preset": 1}}, "dp-se cannot be built for an audit: .*'preset'"),
    ],
)
def test_mistakes_are_told_kindly(arguments, message):
    with pytest.raises(discreet.ArgumentError, match=message):
        discreet.audit(*arguments.pop("algorithms"), **arguments)


def test_a_missing_option_is_named(own):
    with pytest.raises(discreet.ArgumentError, match=r"test-explore-then-commit .* needs the option 'n'"):
        discreet.audit("test-explore-then-commit")
