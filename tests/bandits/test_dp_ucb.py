"""DP-UCB in its four forms, and on hybrid counters."""

import math

import pytest

import discreet
from discreet import DPUCB, UCB, ArgumentError, DPHybridUCB, SimulatedNoise, Totals, Unit
from discreet.core.probability.tails import laplace_sum_radius
from discreet.testing import ScriptedNoise
from tests._tools.driving import Recorded, drive

T = 50_000_000
LOG = math.log(1000)
PRESETS = [
    ("event-level", LOG**2 * math.log(4 * 1000 * LOG * 1000) / 0.5, 0.5),
    ("mishra-thakurta-2015", 4 * LOG**2 * math.log(4 * 1000 * LOG * 1000) / 0.5, 0.125),
    ("thesis", math.sqrt(8) * LOG**1.5 * math.log(2000) / 0.5, 0.5),
    ("all-trees", 0.0, 0.5),
]


@pytest.mark.parametrize(("preset", "relaxation", "tree_epsilon"), PRESETS)
def test_presets(preset, relaxation, tree_epsilon):
    policy = DPUCB(range(4), epsilon=0.5, horizon=1000, preset=preset)
    assert policy.effective_relaxation == pytest.approx(relaxation)
    assert policy.privacy.epsilon == 0.5
    driver = Totals(policy, ScriptedNoise([]))
    for arm in range(4):
        nodes = driver.close_steps({arm: policy.grid.width if arm == 2 else 0})
        assert [node.arm for node in nodes] == ([0, 1, 2, 3] if preset == "all-trees" else [arm])
        for node in nodes:
            assert node.epsilon == pytest.approx(tree_epsilon / 10)  # ten levels
            assert node.scale == pytest.approx(10 * policy.grid.width / tree_epsilon)
    exploration = math.sqrt(2 * math.log(2000)) if preset == "thesis" else math.sqrt(2 * math.log(5))
    assert driver.algorithm.index(2, 5) == pytest.approx(1 + exploration + relaxation)
    assert driver.plan().pulls == {2: 1}


def test_mishra_and_thakurta_protect_a_row_and_the_others_a_reward():
    for preset, *_ in PRESETS:
        for arms in (2, 3, 5, 7):  # epsilon/K, added up K times, may exceed epsilon by a rounding
            driver = Totals(DPUCB(range(arms), epsilon=0.7, horizon=100, preset=preset), SimulatedNoise(1))
            assert driver.privacy.unit is (Unit.ROW if preset == "mishra-thakurta-2015" else Unit.REWARD)
            assert driver.close_steps({0: 0})


@pytest.mark.parametrize("preset", ["event-level", "all-trees"])
def test_without_noise_and_relaxation_it_is_ucb(preset):
    rewards, horizon = Recorded.coins(4, [0.3, 0.5, 0.6], 3000), 3000
    quiet = DPUCB(range(3), epsilon=1.0, horizon=horizon, preset=preset, relaxation=0.0)
    plain = UCB(range(3), horizon=horizon)
    assert drive(quiet, rewards, ScriptedNoise([])).algorithm.pulls == drive(plain, rewards).algorithm.pulls


def test_on_all_trees_the_totals_are_those_of_the_nodes_that_cover_each_time():
    """Rebuilt here from the releases alone: at time t those of the set bits of t, the largest node first."""
    policy = DPUCB(["A", "B"], epsilon=1.0, horizon=200, preset="all-trees")
    driver, nodes = Totals(policy, SimulatedNoise(5)), {"A": {}, "B": {}}
    for time in range(1, 201):
        (arm,) = driver.plan().pulls
        for node in driver.close_steps({arm: policy.grid.width // 2}):
            nodes[node.arm][time] = node
        ends, rest = [], time
        while rest:
            ends.append(rest)
            rest &= rest - 1
        now = driver.algorithm
        for index, name in enumerate("AB"):
            cover = [nodes[name][end] for end in ends]
            assert sum(node.rewards for node in cover) == now.pulls[index]
            assert now.total(index) == pytest.approx(sum(node.steps for node in cover) / policy.grid.width)
    assert now.privacy.theorem is discreet.Theorem.BY_HAND
    assert discreet.spent(now.ledger) == pytest.approx(1.0)  # the first reward is in a node of each level


def test_at_the_papers_scale_it_has_the_known_relaxation():
    # ln(T)^2 ln(K T ln T * T) / epsilon: with K = 5, T = 5e7 and epsilon = 1 about 12,550 rewards.
    policy = DPUCB(range(5), epsilon=1.0, horizon=T)
    assert policy.effective_relaxation == pytest.approx(12_555, rel=1e-3)
    (node,) = Totals(policy, SimulatedNoise(0)).close_steps({0: 0})
    assert node.epsilon == pytest.approx(1 / 26)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relaxation": -1.0}, r"relaxation must not be negative, got -1.0"),
        ({"gamma": 1.0}, r"gamma must lie strictly between 0 and 1, got 1.0"),
        (
            {"preset": "2015"},
            "preset must be 'event-level', 'mishra-thakurta-2015', 'thesis' or 'all-trees', got '2015'",
        ),
        ({"horizon": None}, "horizon must be a number, got None"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ArgumentError, match=message):
        DPUCB(["A", "B"], **{"epsilon": 1.0, "horizon": 100, **options})


def test_the_hybrid_index_knows_the_noises_inside_the_total():
    policy = DPHybridUCB(["A", "B"], epsilon=0.5)
    driver, inside = Totals(policy, ScriptedNoise([])), {"A": [], "B": []}
    for step in range(1, 200):
        (arm,) = driver.plan().pulls
        (node,) = driver.close_steps({arm: policy.grid.width})
        now, index = driver.algorithm, "AB".index(arm)
        inside[arm] = [one for one in inside[arm] if one[0] < node.spans[0][1]]  # a node takes the place of lower ones
        if node.kind == "total":
            inside[arm] = [one for one in inside[arm] if one[2] == "total"]
        inside[arm].append((node.spans[0][2], node.scale / policy.grid.width, node.kind))
        pulls = now.pulls[index]
        assert now.noise_scales(pulls) == pytest.approx([scale for _, scale, _ in inside[arm]])
        assert now.mean(index) == 1.0
        if step > 2:
            error = laplace_sum_radius(now.noise_scales(pulls), step**-4.0)
            expected = 1 + math.sqrt(2 * math.log(step) / pulls) + error / pulls
            assert now.index(index, step) == pytest.approx(expected)
