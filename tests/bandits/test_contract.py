"""What every registered policy must do. A new policy is met by these tests through the registry alone."""

import math
from dataclasses import dataclass, field
from itertools import count

import pytest

import discreet
from discreet import ArgumentError, Bandit, DPSuccessiveElimination, FinishedError, PrivacyError, SimulatedNoise, Totals
from discreet.mechanisms import Curator, NoisyTotals
from discreet.testing import check_algorithm, covers
from tests._tools import examples
from tests._tools.driving import Coins, close, drive

NAMES = sorted(discreet.POLICIES)
PRIVATE = [name for name in NAMES if examples.is_private(name)]
TWO = ("dp-se", "dp-imed")  # for what the base class does alone
ROADS = ("dp-se-arms", "dp-se-difference", "dp-se-one-vector", "dp-se-pairs")


@pytest.mark.parametrize("inside", ["dp-ucb", "dp-se-sharp", "dp-se-svt"])
def test_a_wrapped_policy_is_under_the_theorem_of_what_it_wraps(inside):
    """Trees of several phases have horizons, and so scales, of their own."""
    policy = discreet.make_policy("guess-and-double", ["A", "B"], policy=inside, epsilon=1.0, first_guess=16)
    assert policy.privacy.theorem is discreet.POLICIES[inside].theorem
    check_algorithm(policy, closes=100)


@pytest.mark.parametrize("name", NAMES)
class TestEveryPolicy:
    def test_it_is_a_public_value(self, name):
        check_algorithm(examples.policy(name), closes=20)
        several = ["x", None] if name in examples.TWO_ARMS else ["x", 2, 2.5, False, None]
        check_algorithm(examples.policy(name, arms=several), closes=6)

    def test_it_is_a_public_value_to_the_end(self, name):
        policy = examples.policy(name)
        if policy.horizon is not None:
            policy = examples.policy(name, horizon=60)
        driver = drive(policy, examples.EASY, closes=40 if name == "guess-and-double" else 300)
        check_algorithm(driver.algorithm)

    def test_it_is_found_by_its_key_and_shows_its_options(self, name):
        policy = examples.policy(name)
        assert policy.key == name
        options = ", ".join(f"{key}={getattr(policy, key)!r}" for key in policy.options())
        assert repr(policy) == f"{type(policy).__name__}({options})"

    def test_its_class_is_at_most_five_deep(self, name):
        own = [kind for kind in discreet.POLICIES[name].__mro__ if kind.__module__.startswith("discreet")]
        assert len(own) <= 5

    def test_its_first_plan_learns(self, name):
        plan = examples.policy(name).plan()
        assert plan.epoch == 1
        assert plan.learns
        assert all(isinstance(pulls, int) and pulls > 0 for pulls in plan.pulls.values())

    def test_it_uses_the_horizon_exactly(self, name):
        policy = examples.policy(name)
        if policy.horizon is None:
            pytest.skip("this policy has no horizon")
        driver = drive(policy, Coins(examples.EASY, 2, policy.arms), SimulatedNoise(2))
        after = driver.algorithm
        assert after.finished
        assert after.time == policy.horizon == sum(after.pulls)
        with pytest.raises(FinishedError, match=f"finished after {policy.horizon} pulls"):
            driver.close_steps({})

    def test_it_finds_the_better_arm_whichever_place_it_has(self, name):
        options = {"epsilon": 20.0} if name in ("dp-ucb", "dp-ucb-hybrid") else {}
        for best in (0, 1):
            means = examples.EASY if best == 0 else examples.EASY[::-1]
            closes = 20 if name == "guess-and-double" else None
            found = drive(examples.policy(name, **options), Coins(means, 3, "AB"), SimulatedNoise(3), closes).algorithm
            assert found.best_arm == "AB"[best]
            assert found.best_arm in found.viable
            assert found.pulls[best] >= found.pulls[1 - best]

    def test_nobody_is_best_before_the_first_release(self, name):
        policy = examples.policy(name)
        assert policy.best_arm is None
        assert policy.viable == policy.arms

    def test_rewards_of_another_range_lead_to_the_same_decisions(self, name):
        traces = []
        for low, high in ((0.0, 1.0), (-3.0, 5.0)):  # the same rewards, as shares of the range
            driver = Totals(examples.policy(name, low=low, high=high), SimulatedNoise(5))
            rewards, trace = Coins((0.7, 0.6), 5, "AB"), []
            for _ in range(60):
                trace.append(driver.plan() and driver.plan().pulls)
                close(driver, rewards)
            traces.append(trace)
        assert traces[0] == traces[1]

    def test_the_ask_tell_driver_runs_it(self, name):
        bandit = Bandit(examples.policy(name), SimulatedNoise(9), seed=9)
        for _ in range(500):
            if bandit.finished:
                break
            ticket = bandit.ask()
            bandit.tell(ticket, float(ticket.arm == "A"))
        assert sum(bandit.pulls.values()) == 500 or bandit.policy.settled  # a search may have ended sooner


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(PRIVATE)))
def test_policies_without_noise_say_that_they_are_not_private(name):
    driver = drive(examples.policy(name), examples.EASY, closes=5)
    assert not driver.privacy.promised
    assert driver.privacy.epsilon == driver.algorithm.epoch_epsilon(1) == math.inf
    assert not driver.simulated
    assert all(release.scale == 0 and not release.simulated for release in driver.ledger)


@pytest.mark.parametrize("name", PRIVATE)
class TestEveryPrivatePolicy:
    def test_its_statement_is_complete(self, name):
        privacy = examples.policy(name).privacy
        assert privacy.epsilon == 1.0
        assert not privacy.simulated
        assert len(privacy.reason) > 20

    def test_its_ledger_never_charges_more_than_epsilon(self, name):
        driver = drive(examples.policy(name), Coins(examples.EASY, 10, "AB"), SimulatedNoise(10), closes=30)
        ledger, pulls = driver.ledger, driver.algorithm.taken
        assert ledger
        for release in ledger:
            assert release.simulated
            assert release.scale > 0
            assert all(1 <= first <= last <= pulls[arm] for arm, first, last in release.spans)
        person = driver.privacy.unit is discreet.Unit.PERSON
        assert (discreet.spent_by_person if person else discreet.spent)(ledger) <= 1.0 + 1e-9

    def test_every_reward_that_was_used_is_in_the_ledger(self, name):
        driver, rewards = Totals(examples.policy(name), SimulatedNoise(14)), Coins(examples.EASY, 14, "AB")
        used = dict.fromkeys("AB", 0)
        for _ in range(12):
            plan = driver.plan()
            if plan is None or not plan.learns:
                break
            close(driver, rewards)
            for arm, pulls in plan.pulls.items():
                used[arm] += pulls
            covered = {arm: set() for arm in "AB"}
            for release in driver.ledger:
                for arm, first, last in release.spans:
                    covered[arm].update(range(first, last + 1))
            waiting = getattr(driver.algorithm, "unreleased", dict.fromkeys("AB", 0))  # in a block that is still open
            assert {arm: len(rewards) + waiting[arm] for arm, rewards in covered.items()} == used

    def test_it_is_marked_where_noise_is_simulated(self, name):
        driver = drive(examples.policy(name), examples.EASY, closes=1)
        assert driver.simulated
        assert driver.privacy.simulated
        assert not Totals(examples.policy(name)).simulated

    def test_what_it_pays_in_an_epoch_is_what_it_says(self, name):
        driver = drive(examples.policy(name), examples.EASY, closes=3)
        first = [release for release in driver.ledger if release.epoch == 1]
        paid = math.fsum(release.epsilon for release in first if release.arm == first[0].arm)
        assert paid <= driver.algorithm.epoch_epsilon(1)


@pytest.mark.parametrize("name", ["lazy-dp-ts", "lazy-ucb"])
def test_what_could_not_be_checked_against_its_paper_says_so(name):
    assert "could not be read" in discreet.POLICIES[name].experimental
    experimental = {other for other in NAMES if discreet.POLICIES[other].experimental}
    assert experimental == {"lazy-dp-ts", "lazy-ucb", *ROADS}


@pytest.mark.parametrize("name", ROADS)
def test_a_road_that_the_paper_does_not_take_says_so(name):
    assert "to be compared with DP-SE" in discreet.POLICIES[name].experimental


# ---------------------------------------------------------------------- bad input, which the base class refuses


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(
    "wrong",
    [
        lambda totals: None,
        lambda totals: {},
        lambda totals: {**totals, "Z": 0},
        lambda totals: dict.fromkeys(totals, -1),
        lambda totals: dict.fromkeys(totals, 10**15),
        lambda totals: dict.fromkeys(totals, 0.5),
        lambda totals: dict.fromkeys(totals, math.nan),
        lambda totals: dict.fromkeys(totals, "1"),
        list,
        lambda totals: 5,
    ],
)
def test_wrong_totals_change_nothing(name, wrong):
    driver = Totals(examples.policy(name), SimulatedNoise(4))
    before = driver.algorithm
    with pytest.raises(ArgumentError):
        driver.close_steps(wrong(examples.fill(driver.plan(), before.grid.width)))
    assert driver.algorithm == before
    assert not driver.ledger
    assert close(driver, examples.EASY)


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("arms", [[], ["A"], "AB", ["A", "A"], [1, True], [1, 1.0], [["A"], "B"], [math.nan, 1], 7])
def test_bad_arms_are_refused(name, arms):
    with pytest.raises(ArgumentError, match="arm"):
        examples.policy(name, arms=arms)


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, -math.inf, "1", None, True])
def test_bad_epsilons_are_refused(name, epsilon):
    with pytest.raises(ArgumentError, match="epsilon must be"):
        examples.policy(name, epsilon=epsilon)


@pytest.mark.parametrize("name", TWO)
def test_options_are_named_in_errors(name):
    with pytest.raises(ArgumentError, match=f"{name} has no option 'epsylon'; its options are arms, horizon, low"):
        discreet.make_policy(name, ["A", "B"], epsylon=1.0, epsilon=1.0)
    with pytest.raises(ArgumentError, match=f"{name} needs the option 'epsilon'"):
        discreet.make_policy(name, ["A", "B"], horizon=100)
    with pytest.raises(ArgumentError, match="horizon must allow one pull of each of the 2 arms, got 1"):
        examples.policy(name, horizon=1)


def test_releases_of_another_plan_change_nothing():
    driver = drive(examples.policy("dp-se"), examples.EASY, closes=1)
    releases = tuple(driver.ledger)
    for wrong in ((), releases[:1], [release._replace(epoch=2) for release in releases]):
        policy = examples.policy("dp-se")
        with pytest.raises(discreet.StateError, match="are not those that epoch 1 of this dp-se plans"):
            policy.learn(wrong)
        assert policy == examples.policy("dp-se")


def test_a_snapshot_of_another_algorithm_is_refused():
    with pytest.raises(discreet.StateError, match="no snapshot of a dp-imed"):
        examples.policy("dp-imed").resume(examples.policy("dp-se").snapshot())
    with pytest.raises(discreet.StateError, match="no snapshot of a guess-and-double"):
        examples.policy("guess-and-double").resume(examples.policy("dp-se").snapshot())


# ---------------------------------------------------------------------- planted errors


@dataclass(kw_only=True)
class Greedy(DPSuccessiveElimination):
    """Asks for twice its epsilon."""

    def epoch_epsilon(self, epoch):
        return 2 * self.epsilon


def test_a_policy_that_asks_for_twice_its_epsilon_is_refused_by_the_curator():
    greedy = Greedy(["A", "B"], epsilon=1.0, horizon=10_000)
    with pytest.raises(PrivacyError, match=r"a release would cost 2.0, beyond the promised 1.0"):
        Totals(greedy, SimulatedNoise(1))  # before any reward is collected
    plan = greedy.plan()
    with pytest.raises(PrivacyError, match=r"a release would cost 2.0, beyond the promised 1.0"):
        Curator.of(greedy, SimulatedNoise(1)).release(plan, dict.fromkeys(plan.pulls, 0))


@dataclass(kw_only=True)
class Keeping(DPSuccessiveElimination):
    """Has a declared field for what is not public."""

    hidden: object = field(init=False, repr=False, compare=False, default=None)


@dataclass(kw_only=True)
class Careless(DPSuccessiveElimination):
    """Shares a learned list with its copies."""

    seen: list = field(init=False, repr=False, default_factory=lambda: [[[]]])

    def _decide(self, releases):
        super()._decide(releases)
        self.seen[0][0].append(len(releases))


@dataclass(kw_only=True)
class Forgetful(DPSuccessiveElimination):
    """Learns something that its ledger does not have."""

    plans: int = field(init=False, repr=False, default=0)

    def _plan(self):
        self.plans += 1
        return super()._plan()


@dataclass(kw_only=True)
class Endless(DPSuccessiveElimination):
    """Learns what JSON cannot say."""

    best: float = field(init=False, repr=False, default=-math.inf)


CLOCK = count()


@dataclass(kw_only=True)
class Moody(DPSuccessiveElimination):
    """Plans by something that is neither an option nor a release."""

    def rounds(self, epoch, viable):
        return super().rounds(epoch, viable) + next(CLOCK)


def new(kind):
    return kind(["A", "B"], epsilon=1.0, horizon=10_000)


@dataclass(kw_only=True)
class Misnamed(DPSuccessiveElimination):
    """Names a theorem about something else than it asks for."""

    theorem = discreet.Theorem.TREES


def test_the_contract_catches_a_theorem_about_something_else():
    with pytest.raises(AssertionError, match=r"names the theorem Promises\.trees_are.*not about a TotalsQuery"):
        check_algorithm(new(Misnamed))
    person = discreet.make_policy("dp-se-person", ["A", "B"], epsilon=1.0, horizon=10_000)
    assert covers(person.privacy.theorem, person.privacy.unit, person.plan().query)
    assert not covers(discreet.Theorem.REWARDS, person.privacy.unit, person.plan().query)
    assert not covers(discreet.Theorem.BY_HAND, person.privacy.unit, person.plan().query)


def test_the_contract_catches_what_is_not_public():
    policy = new(DPSuccessiveElimination)
    policy._exact = {"A": 12_345}
    with pytest.raises(AssertionError, match=r"dp-se\._exact is neither a declared field nor a cached property"):
        check_algorithm(policy)
    mechanism = NoisyTotals(policy.plan().query, ("A", "B"), policy.grid, SimulatedNoise(1))
    driver = Totals(new(DPSuccessiveElimination))
    for secret in (mechanism, SimulatedNoise(1), [{"B": mechanism}], (driver,), CLOCK, open):
        policy = new(Keeping)
        policy.hidden = secret
        with pytest.raises(AssertionError, match=r"dp-se\.hidden holds a .*: an algorithm holds nothing but public"):
            check_algorithm(policy)
    policy = new(DPSuccessiveElimination)
    policy.__dict__["failure"] = 12_345
    with pytest.raises(AssertionError, match=r"dp-se\.failure is cached, and does not follow from the options"):
        check_algorithm(policy)
    wrapped = discreet.GuessAndDouble(new(DPSuccessiveElimination))
    wrapped._inner._exact = 12_345
    with pytest.raises(AssertionError, match=r"guess-and-double\._inner\._exact is neither"):
        check_algorithm(wrapped)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Careless, "changes when a copy of it learns"),
        (Forgetful, "changes when it plans|not the same when it is rebuilt"),
        (Endless, "no JSON"),
        (Moody, "plans something else when it is"),
    ],
)
def test_the_contract_catches_what_is_not_learned_from_releases(kind, message):
    with pytest.raises(AssertionError, match=message):
        check_algorithm(new(kind))
