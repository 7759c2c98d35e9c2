"""Other libraries: our policies in river and gymnasium, theirs in the lab."""

import copy
import math
import pickle

import pymab.policies
import pytest
from gymnasium.utils.env_checker import check_env
from river import bandit as river_bandit

import discreet
from discreet import ArgumentError, PrivacyError
from discreet.core.options import field_names
from discreet.core.registry import POLICIES
from discreet.interop import in_lab
from discreet.interop.gymnasium import BanditEnv
from discreet.interop.river import RiverPolicy
from discreet.lab import compare, instance, simulate

ARMS = ["A", "B"]


def policy(**options):
    return discreet.DPSuccessiveElimination(ARMS, epsilon=1.0, horizon=10_000, **options)


@pytest.fixture
def tidy():
    before = dict(POLICIES)
    yield
    for key in POLICIES.keys() - before.keys():
        del POLICIES[key]


# ---------------------------------------------------------------------- river


def test_a_policy_plays_in_river_as_it_does_alone():
    ours, alone = RiverPolicy(policy(), seed=3), discreet.Bandit(policy(), discreet.SimulatedNoise(3), seed=3)
    for _ in range(4000):
        arm, ticket = ours.pull(ARMS), alone.ask()
        assert arm == ticket.arm
        ours.update(arm, float(arm == "B"))
        alone.tell(ticket, float(arm == "B"))
    assert ours.bandit.ledger == alone.ledger
    assert ours.ranking == ["B", "A"]


def test_river_evaluates_it():
    env = BanditEnv([0.2, 0.8], horizon=1000)
    ours = RiverPolicy(discreet.DPChernoffIMED(range(2), epsilon=1.0, horizon=1000), seed=1)
    trace = list(river_bandit.evaluate([ours], env, n_episodes=2, seed=1))
    assert len(trace) == 2000


def test_rewards_may_come_late():
    ours = RiverPolicy(policy(), seed=3)
    pulled = [ours.pull(ARMS) for _ in range(100)]
    for arm in pulled:
        ours.update(arm, 1.0)
    with pytest.raises(ArgumentError, match="arm_id must be an arm that was pulled and has no reward yet, got 'A'"):
        ours.update("A", 1.0)
    with pytest.raises(ArgumentError, match="arm_ids must be the policy's arms"):
        ours.pull(["A", "C"])
    ours.pull(ARMS)
    arm = next(arm for arm in ARMS if ours._open[arm])
    with pytest.raises(ArgumentError, match="reward must lie in"):
        ours.update(arm, 7.0)
    ours.update(arm, 1.0)  # what was refused has not used up the pull


# ---------------------------------------------------------------------- copies


def drivers():
    noise = discreet.SimulatedNoise(5)
    yield discreet.Bandit(policy(), noise, seed=1)
    yield discreet.Bandit(discreet.DPUCB(ARMS, epsilon=1.0, horizon=1000), noise, seed=1)
    yield discreet.Bandit(discreet.UCB(ARMS), seed=1)


@pytest.mark.parametrize("driver", list(drivers()), ids=lambda one: one.policy.key)
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_simulated_drivers_are_copied_and_go_on_apart(driver, way):
    driver.tell(driver.ask(), 1.0)
    twin = way(driver)
    for _ in range(20):
        one, other = driver.ask(), twin.ask()
        assert one == other
        driver.tell(one, 1.0)
        twin.tell(other, 1.0)
    assert twin.ledger == driver.ledger
    driver.tell(driver.ask(), 0.0)
    assert twin.pulls != driver.pulls


def test_river_clones_what_is_simulated():
    ours = RiverPolicy(policy(), seed=3)
    ours.update(ours.pull(ARMS), 1.0)
    assert ours.clone().bandit.pulls == {"A": 0, "B": 0}
    assert copy.deepcopy(ours).bandit.pulls == ours.bandit.pulls


def test_private_ones_are_not_copied(tmp_path):
    private, saved = discreet.Bandit(policy()), discreet.Bandit(policy(), discreet.SimulatedNoise(1))
    saved.save(tmp_path / "state")
    for driver in (private, saved, RiverPolicy(policy())):
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            if isinstance(driver, RiverPolicy) and way is copy.copy:
                continue
            with pytest.raises(PrivacyError, match="cannot be copied or pickled"):
                way(driver)
    saved.detach()


# ---------------------------------------------------------------------- gymnasium


def test_an_instance_is_an_environment():
    env = BanditEnv("C3", horizon=10, arms=4)
    check_env(env, skip_render_check=True)
    env.reset(seed=1)
    steps = [env.step(3) for _ in range(10)]
    assert [truncated for _, _, _, truncated, _ in steps] == [False] * 9 + [True]
    assert {info["regret"] for *_, info in steps} == {instance("C3", 4).gaps[3]}
    first = [env.step(0)[1] for _ in [env.reset(seed=2)] * 5]
    assert first == [env.step(0)[1] for _ in [env.reset(seed=2)] * 5]


# ---------------------------------------------------------------------- theirs in the lab


def test_policies_of_river_and_pymab_are_compared(tidy):
    theirs = [in_lab(river_bandit.UCB(delta=1)), in_lab(pymab.policies.UCBPolicy(n_arms=5, c=2.0))]
    random = in_lab(river_bandit.RandomPolicy(seed=1), key="chance")
    found = {one.setting.algorithm: one for one in compare(["ucb", *theirs, random], "C2", horizon=2000, runs=4)}
    assert set(found) == {"ucb", "river-ucb", "pymab-ucb", "chance"}
    for key in ("river-ucb", "pymab-ucb"):
        assert 0.5 < found[key].mean / found["ucb"].mean < 2
    assert found["chance"].mean == pytest.approx(500, rel=0.1)
    assert len(set(found["chance"].final.tolist())) > 1  # each run has a seed of its own
    assert not found["chance"].setting.build().privacy.promised


def test_runs_of_theirs_are_repeated_by_their_seeds(tidy):
    theirs = in_lab(river_bandit.EpsilonGreedy(epsilon=0.2, seed=1))
    runs = [simulate(theirs, "C2", horizon=300, runs=2, engine=engine).pulls.tolist() for engine in (None, "threads")]
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[0][1]


def test_what_is_no_policy_is_refused(tidy):
    with pytest.raises(ArgumentError, match="policy must be one of river or pymab"):
        in_lab("ucb")
    with pytest.raises(ArgumentError, match="arms must be as many as those of the policy, 3, got 5"):
        simulate(in_lab(pymab.policies.UCBPolicy(n_arms=3, c=2.0)), "C2", horizon=100, runs=1)


def test_a_stopping_rule_is_a_measurement_of_opendp():
    import opendp.prelude as dp

    from discreet.interop.opendp import measurement

    dp.enable_features("contrib", "honest-but-curious")
    rules = [discreet.DPInverseSampling(epsilon=one, alpha=0.5, beta=0.1, low=0, high=1) for one in (0.5, 0.25)]
    both = dp.c.make_composition([measurement(rule) for rule in rules])
    assert (both.map(1), both.map(3)) == (0.75, 2.25)
    samples = [0.0, 1.0] * 1000
    found = both(samples)
    assert all(result.reached and not result.privacy.simulated for result in found)
    again = measurement(rules[0])
    assert len({again(samples).estimate for _ in range(12)}) > 1  # fresh noise in each call; all alike: below 1e-8
    with pytest.raises(discreet.PrivacyError, match="algorithm must be private for one reward"):
        measurement(discreet.NAS(alpha=0.5, beta=0.1, low=0, high=1))


@pytest.mark.parametrize("name", ["dp-se", "dp-bai-evidence", "dp-se-sharp", "dp-se-svt", "dp-ucb"])
def test_a_policy_is_a_measurement_of_opendp(name):
    import opendp.prelude as dp

    from discreet.interop.opendp import measurement

    dp.enable_features("contrib", "honest-but-curious")
    size = 50 if name == "dp-ucb" else 20_000
    known = field_names(discreet.POLICIES[name], init=True)
    options = {"horizon": 2 * size, "beta": 1e-9}
    options = {key: value for key, value in options.items() if key in known}
    policy = discreet.make_policy(name, ["A", "B"], epsilon=2.0, **options)
    found = measurement(policy, arms=["A", "B"] * size)
    assert (found.map(1), found.map(2)) == (2.0, 4.0)
    played = found([0.0, 1.0] * size)
    assert played.privacy == policy.privacy
    assert played.ledger
    assert not any(release.simulated for release in played.ledger)
    assert all(taken <= size for arm, taken in played.taken.items() if arm != played.best_arm)
    if name != "dp-ucb":
        assert played.best_arm == "B"
    assert found.input_domain.member([0.5] * 2 * size)
    assert not found.input_domain.member([0.5])
    assert found([math.nan, 2.0] * size).ledger  # a second fence: no error says what a number was


def test_rewards_of_a_policy_that_is_a_measurement_are_used_once_and_in_order(monkeypatch):
    import opendp.prelude as dp

    from discreet.interop import opendp

    taken = []

    class Seen(discreet.Totals):
        def close(self, rewards=None):
            if rewards:
                taken.append({arm: [*given] for arm, given in rewards.items()})
            return super().close(rewards)

    monkeypatch.setattr(opendp, "Totals", Seen)
    dp.enable_features("contrib", "honest-but-curious")
    policy = discreet.DPSharpElimination(["A", "B"], epsilon=1.0, horizon=10**6)
    rewards = [number / 6000 for number in range(6000)]
    opendp.measurement(policy, arms=["A"] * 3000 + ["B"] * 3000)(rewards)
    for arm, own in (("A", rewards[:3000]), ("B", rewards[3000:])):
        used = [one for epoch in taken for one in epoch.get(arm, [])]
        assert used == own[: len(used)]
        assert used


def test_a_measurement_of_a_policy_needs_its_arms():
    from discreet.interop.opendp import measurement

    policy = discreet.DPSharpElimination(["A", "B"], epsilon=1.0, horizon=1000)
    with pytest.raises(ArgumentError, match=r"arms must be the arm of each number, of \['A', 'B'\], got none"):
        measurement(policy)
    with pytest.raises(ArgumentError, match=r"got \['A', 'C'\]"):
        measurement(policy, arms=["A", "C", "C"])
    with pytest.raises(ArgumentError, match="arms must be None for a stopping rule"):
        measurement(discreet.DPInverseSampling(epsilon=0.5, alpha=0.5, beta=0.1, low=0, high=1), arms=["A"])
    with pytest.raises(discreet.PrivacyError, match="private for one reward, got one for"):
        measurement(discreet.DPPersonElimination(["A", "B"], epsilon=1.0, horizon=1000), arms=["A", "B"])


def test_a_measurement_of_opendp_takes_numbers_of_the_range_alone():
    """An error about one of two neighbours would tell them apart, and quote the number."""
    import opendp.prelude as dp

    from discreet.interop.opendp import measurement

    dp.enable_features("contrib", "honest-but-curious")
    found = measurement(discreet.DPInverseSampling(epsilon=0.5, alpha=0.5, beta=0.1, low=0, high=1))
    assert found.input_domain.member([0.0, 1.0] * 500)
    for outside in (2.0, -1.0, math.inf):
        assert not found.input_domain.member([outside] + [0.5] * 999)
    assert found([2.0] + [0.5] * 999).reached  # a second fence
