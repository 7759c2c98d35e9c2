"""What every registered policy must do. A new policy is met by these tests through the registry alone."""

import copy
import json
import math
import pickle
from collections import defaultdict

import numpy as np
import pytest

import discreet
from discreet import ArgumentError, Bandit, FinishedError, PrivacyError, SimulatedNoise
from discreet.core.registry import rebuild
from discreet.lab import play
from tests._tools import examples

NAMES = sorted(discreet.POLICIES)
PRIVATE = [name for name in NAMES if examples.is_private(name)]


def through_json(saved):
    return json.loads(json.dumps(saved, allow_nan=False))


def advance(policy, epochs, generator, means=examples.EASY):
    """Play some epochs on an easy instance; True while there is more to play."""
    for _ in range(epochs):
        plan = policy.plan()
        if plan is None:
            return False
        mean = dict(zip(policy.arms, means, strict=True))
        totals = {arm: int(generator.binomial(n, mean[arm])) * policy.grid.width for arm, n in plan.pulls.items()}
        policy.close(totals if plan.learns else None)
    return True


@pytest.mark.parametrize("name", NAMES)
class TestEveryPolicy:
    def test_it_is_found_by_its_key_and_shows_its_options(self, name):
        policy = examples.policy(name)
        assert policy.key == name
        assert repr(policy).startswith(f"{type(policy).__name__}(arms=['A', 'B']")
        assert type(policy)(**policy.options()).options() == policy.options()

    def test_a_plan_stays_until_it_is_closed(self, name):
        policy = examples.policy(name, noise=SimulatedNoise(1))
        plan = policy.plan()
        assert plan == policy.plan()
        assert plan.epoch == 1
        assert plan.learns
        assert all(isinstance(count, int) and count > 0 for count in plan.pulls.values())

    def test_it_uses_the_horizon_exactly(self, name):
        policy = examples.policy(name, noise=SimulatedNoise(2))
        if policy.horizon is None:
            pytest.skip("this policy has no horizon")
        generator = np.random.default_rng(2)
        while advance(policy, 1, generator):
            assert policy.time <= policy.horizon
        assert policy.time == policy.horizon == sum(policy.pulls.values())
        assert policy.finished
        with pytest.raises(FinishedError, match=f"finished after {policy.horizon} pulls"):
            policy.close({})

    def test_it_finds_the_better_arm_whichever_place_it_has(self, name):
        options = {"epsilon": 20.0} if name in ("dp-ucb", "dp-ucb-hybrid") else {}
        for best in (0, 1):
            policy = examples.policy(name, noise=SimulatedNoise(3), **options)
            means = examples.EASY if best == 0 else examples.EASY[::-1]
            if name == "guess-and-double":
                advance(policy, 20, np.random.default_rng(3), means)
            else:
                play(policy, means, np.random.default_rng(3))
            assert policy.best_arm == "AB"[best]
            assert policy.pulls["AB"[best]] >= policy.pulls["AB"[1 - best]]

    def test_nobody_is_best_before_the_first_release(self, name):
        assert examples.policy(name).best_arm is None

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda totals, width: None,
            lambda totals, width: {},
            lambda totals, width: {**totals, "Z": 0},
            lambda totals, width: dict.fromkeys(totals, -1),
            lambda totals, width: dict.fromkeys(totals, 10**15),
            lambda totals, width: dict.fromkeys(totals, 0.5),
            lambda totals, width: dict.fromkeys(totals, math.nan),
            lambda totals, width: dict.fromkeys(totals, "1"),
            lambda totals, width: list(totals),
            lambda totals, width: 5,
        ],
    )
    def test_wrong_totals_change_nothing(self, name, wrong):
        policy = examples.policy(name, noise=SimulatedNoise(4))
        totals = examples.fill(policy.plan(), policy.grid.width)
        before = policy._dump()
        with pytest.raises(ArgumentError):
            policy.close(wrong(totals, policy.grid.width))
        assert policy._dump() == before

    def test_rewards_of_another_range_lead_to_the_same_decisions(self, name):
        traces = []
        for low, high in ((0.0, 1.0), (-3.0, 5.0)):
            policy = examples.policy(name, noise=SimulatedNoise(5), low=low, high=high)
            generator = np.random.default_rng(5)
            trace = []
            for _ in range(60):
                plan = policy.plan()
                if plan is None:
                    break
                trace.append(dict(plan.pulls))
                # The same rewards, as shares of the range.
                shares = {arm: generator.binomial(n, 0.7) / n for arm, n in plan.pulls.items()}
                totals = {arm: round(n * shares[arm]) * policy.grid.width for arm, n in plan.pulls.items()}
                policy.close(totals if plan.learns else None)
            traces.append(trace)
        assert traces[0] == traces[1]

    def test_arms_may_be_any_json_scalars(self, name):
        arms = ["x", 2, 2.5, False, None]
        policy = examples.policy(name, arms=arms, noise=SimulatedNoise(6))
        plan = policy.plan()
        policy.close(dict.fromkeys(plan.pulls, 0))
        again = rebuild("policy", through_json(policy._dump()))
        assert again.arms == tuple(arms)
        assert again.plan().pulls == policy.plan().pulls

    @pytest.mark.parametrize("arms", [[], ["A"], "AB", ["A", "A"], [1, True], [1, 1.0], [["A"], "B"], [math.nan, 1], 7])
    def test_bad_arms_are_refused(self, name, arms):
        with pytest.raises(ArgumentError, match="arm"):
            examples.policy(name, arms=arms)

    def test_a_resumed_simulation_is_the_same_simulation(self, name):
        straight = examples.policy(name, noise=SimulatedNoise(7))
        cut = examples.policy(name, noise=SimulatedNoise(7))
        advance(straight, 12, np.random.default_rng(7))
        generator = np.random.default_rng(7)
        for _ in range(12):
            cut = rebuild("policy", through_json(cut._dump()))
            advance(cut, 1, generator)
            cut.plan()
        straight.plan()
        assert cut._dump() == straight._dump()

    def test_saving_and_loading_through_a_file(self, name, tmp_path):
        policy = examples.policy(name, noise=SimulatedNoise(8))
        advance(policy, 3, np.random.default_rng(8))
        policy.plan()
        policy.save(tmp_path / "policy.json")
        assert type(policy).load(tmp_path / "policy.json")._dump() == policy._dump()

    def test_the_ask_tell_driver_runs_it(self, name):
        bandit = Bandit(examples.policy(name, noise=SimulatedNoise(9)), seed=9)
        for _ in range(500):
            if bandit.finished:
                break
            ticket = bandit.ask()
            bandit.tell(ticket, float(ticket.arm == "A"))
        assert sum(bandit.pulls.values()) == 500 or bandit.policy.settled  # a search may have ended sooner


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(PRIVATE)))
def test_policies_without_noise_say_that_they_are_not_private(name):
    policy = examples.policy(name)
    assert policy.privacy.epsilon == math.inf
    assert not policy.simulated
    assert policy.ledger == ()


@pytest.mark.parametrize("name", PRIVATE)
class TestEveryPrivatePolicy:
    def test_its_statement_is_complete(self, name):
        policy = examples.policy(name)
        assert policy.privacy.epsilon == 1.0
        assert not policy.privacy.simulated
        assert not policy.simulated
        assert len(policy.privacy.reason) > 20

    def test_its_ledger_never_charges_a_reward_more_than_epsilon(self, name):
        policy = examples.policy(name, noise=SimulatedNoise(10))
        advance(policy, 30, np.random.default_rng(10))
        assert policy.ledger
        changes = {arm: defaultdict(float) for arm in policy.arms}
        for entry in policy.ledger:
            assert entry.simulated
            assert entry.scale > 0
            for arm, first, last in entry.spans:
                assert 1 <= first <= last <= policy.pulls[arm]
                changes[arm][first] += entry.epsilon
                changes[arm][last + 1] -= entry.epsilon
        for steps in changes.values():
            assert np.cumsum([steps[pull] for pull in sorted(steps)]).max(initial=0) <= 1.0 + 1e-9

    def test_every_reward_that_was_used_is_in_the_ledger(self, name):
        policy = examples.policy(name, noise=SimulatedNoise(14))
        generator = np.random.default_rng(14)
        used = dict.fromkeys(policy.arms, 0)
        for _ in range(12):
            plan = policy.plan()
            if plan is None or not plan.learns:
                break
            advance(policy, 1, generator)
            for arm, count in plan.pulls.items():
                used[arm] += count
            covered = {arm: set() for arm in policy.arms}
            for entry in policy.ledger:
                for arm, first, last in entry.spans:
                    covered[arm].update(range(first, last + 1))
            waiting = getattr(policy, "unreleased", dict.fromkeys(policy.arms, 0))  # in a block that is still open
            assert {arm: len(pulls) + waiting[arm] for arm, pulls in covered.items()} == used
            assert policy.ledger[-1].epoch == policy.epoch

    def test_ledger_values_are_the_released_integers_in_reward_units(self, name):
        policy = examples.policy(name, noise=SimulatedNoise(11), low=-1.0, high=3.0)
        advance(policy, 5, np.random.default_rng(11))
        for entry in policy.ledger:
            if entry.units is not None:
                assert entry.value == pytest.approx(entry.units * policy.grid.step - 1.0 * entry.count)
                assert entry.mean == pytest.approx(entry.value / entry.count)

    def test_simulated_noise_is_marked(self, name):
        policy = examples.policy(name, noise=SimulatedNoise(12))
        assert policy.simulated
        assert policy.privacy.simulated

    @pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, math.inf, -math.inf, "1", None, True])
    def test_bad_epsilons_are_refused(self, name, epsilon):
        with pytest.raises(ArgumentError, match="epsilon must be"):
            examples.policy(name, epsilon=epsilon)

    def test_it_refuses_to_be_copied_or_pickled(self, name):
        policy = examples.policy(name)
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(PrivacyError, match="cannot be copied or pickled"):
                attempt(policy)

    def test_repr_and_public_attributes_hold_no_exact_total(self, name):
        secret = 123_457  # an exact total that no released number equals by chance
        policy = examples.policy(name)
        plan = policy.plan()
        policy.close(dict.fromkeys(plan.pulls, secret))
        plan = policy.plan()
        shown = {key: getattr(policy, key) for key in dir(policy) if not key.startswith("_")}
        shown = {key: value for key, value in shown.items() if not callable(value)}
        everything = repr(policy) + repr(shown)
        assert str(secret) not in everything
        assert f"{secret * policy.grid.step:.6f}"[:8] not in everything

    def test_noise_drawn_once_is_never_drawn_again(self, name):
        assert redraws(name) == 0


def redraws(name, epochs=3):
    """How many epochs differ, in their noise or in their releases, between a private policy and its restored copies."""
    policy = examples.policy(name)
    different = 0
    for _ in range(epochs):
        plan = policy.plan()
        saved = through_json(policy._dump())
        copies = [rebuild("policy", saved) for _ in range(2)]
        same_noise = all(through_json(copy._dump()) == saved for copy in copies)
        totals = {arm: count * policy.grid.width // 2 for arm, count in plan.pulls.items()}
        released = [[entry.units for entry in one.close(totals)] for one in (policy, *copies)]
        different += not same_noise or any(other != released[0] for other in released[1:])
    return different


@pytest.mark.parametrize("name", PRIVATE)
def test_the_redraw_check_catches_noise_that_is_redrawn_on_reload(name, monkeypatch):
    """A planted bug: a restored object forgets the noise that was drawn."""
    from discreet.core.noise import Reserve

    def forgetful(self, ready):
        self._ready = []
        self.prepare(len(ready))

    monkeypatch.setattr(Reserve, "restore", forgetful)
    assert redraws(name) == 3


def test_a_policy_that_a_bandit_drives_is_closed_by_it_alone():
    policy = examples.policy("dp-se")
    bandit = Bandit(policy)
    with pytest.raises(PrivacyError, match="tell the rewards to the Bandit"):
        policy.close({"A": 0, "B": 0})
    assert bandit.ask().epoch == 1


def test_only_a_new_object_takes_a_saved_state():
    policy = examples.policy("dp-se")
    policy.plan()
    saved = policy._dump()
    policy.close({"A": 0, "B": 0})
    with pytest.raises(PrivacyError, match="only a new object"):
        policy._revive(saved)


def test_changing_a_plan_changes_nothing():
    policy = examples.policy("dp-se", noise=SimulatedNoise(1))
    plan = policy.plan()
    planned = dict(plan.pulls)
    plan.pulls["A"] = 1
    assert policy.plan().pulls == planned
