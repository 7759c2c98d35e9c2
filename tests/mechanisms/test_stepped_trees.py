"""Trees over time steps: exact losses on neighbouring inputs, mistakes that they catch, and what is released."""

import math

import numpy as np
import pytest

from discreet import ArgumentError, FinishedError, Grid, spent
from discreet.core.plans import Plan, StepsQuery
from discreet.mechanisms import BinaryTree, SteppedTrees
from discreet.testing import ScriptedNoise, worst_loss
from tests._tools.curators import Counted, less_noise, make, seen

EPSILON = 6.0
QUERY = StepsQuery(EPSILON, 3)  # two levels
FIVE = Grid(0.0, 5.0, bits=2)  # width 5


def released(*steps):
    """A run of these steps, each an arm and its reward."""

    def run(noise):
        curator = make(EPSILON, noise)
        plans = (Plan(number, {arm: 1}, QUERY) for number, (arm, _) in enumerate(steps, 1))
        return tuple(
            seen(curator.release(plan, {arm: reward})) for plan, (arm, reward) in zip(plans, steps, strict=True)
        )

    return run


CASES = {  # one input, its neighbour, the share of epsilon that is lost
    "first step": (released(("A", 0), ("B", 1)), released(("A", 1), ("B", 1)), 1.0),
    "first step, then the same arm": (released(("A", 0), ("A", 1)), released(("A", 1), ("A", 1)), 1.0),
    "second step": (released(("A", 0), ("B", 1)), released(("A", 0), ("B", 0)), 0.5),  # in the upper level alone
}


def loss(name):
    one, other, _ = CASES[name]
    return worst_loss(one, other, reach=1, shift=1)


@pytest.mark.parametrize("name", CASES)
def test_the_worst_loss_is_what_the_nodes_of_a_reward_cost(name):
    assert loss(name) == pytest.approx(CASES[name][2] * EPSILON, abs=1e-9)


def test_less_noise_is_caught(monkeypatch):
    with less_noise(monkeypatch, 2):
        assert loss("first step") == pytest.approx(2 * EPSILON, abs=1e-9)


def test_levels_of_half_the_steps_are_caught(monkeypatch):
    """Two arms do not share the steps: each tree has an item of every step."""
    share = BinaryTree.next_share
    monkeypatch.setattr(BinaryTree, "next_share", lambda self: share(self) - 1)
    assert loss("first step") == pytest.approx(2 * EPSILON, abs=1e-9)


def test_a_reward_that_enters_every_tree_is_caught(monkeypatch):
    """The trees of arms that were not pulled must take a 0: with the reward in both, it pays twice."""
    honest = SteppedTrees.answer

    def answer(self, plan, totals, taken):
        (reward,) = totals.values()
        for arm in self.arms:
            if arm not in totals:
                self._sums[arm]._open[0] += reward  # the node of this step has it too
        return honest(self, plan, totals, taken)

    add = BinaryTree.add

    def add_more(self, item):
        more, self._open[0] = self._open[0] if self.count % 2 == 0 else 0, self._open[0] if self.count % 2 else 0
        return add(self, item + more)

    monkeypatch.setattr(BinaryTree, "add", add_more)
    monkeypatch.setattr(SteppedTrees, "answer", answer)
    assert loss("first step") > EPSILON + 1e-6


def test_noise_that_trees_share_is_caught(monkeypatch):
    """One draw for all arms: their difference is exact."""
    draw = SteppedTrees._draw

    def shared(self, sensitivity, epsilon, count):
        noises, scale = draw(self, sensitivity, epsilon, 1)
        return noises * count, scale

    monkeypatch.setattr(SteppedTrees, "_draw", shared)
    assert loss("first step") == math.inf


def test_a_node_that_is_released_again_is_caught(monkeypatch):
    """A tree that shows its running total at every step, instead of the node that is complete."""
    add = BinaryTree.add
    monkeypatch.setattr(BinaryTree, "add", lambda self, item: add(self, item)._replace(total=sum(self._open)))
    one, other = (released(("A", reward), ("A", 0), ("A", 0)) for reward in (0, 1))
    assert worst_loss(one, other, reach=0, shift=1) > EPSILON + 1e-6


# ---------------------------------------------------------------------- what is released


def play(curator, arms, query, grid=FIVE, reward=3):
    """The releases of steps that pull these arms."""
    return [curator.release(Plan(epoch, {arm: 1}, query), {arm: reward}) for epoch, arm in enumerate(arms, 1)]


def test_every_arm_has_a_node_a_step_and_its_span_has_the_arms_own_rewards():
    steps = play(make(1.0, ScriptedNoise([]), grid=FIVE), "AABA", StepsQuery(1.0, 4))
    assert [[(node.arm, *node.spans[0][1:], node.steps) for node in nodes] for nodes in steps] == [
        [("A", 1, 1, 3), ("B", 1, 0, 0)],
        [("A", 1, 2, 6), ("B", 1, 0, 0)],
        [("A", 3, 2, 0), ("B", 1, 1, 3)],
        [("A", 1, 3, 9), ("B", 1, 1, 3)],
    ]
    assert {node.epsilon for nodes in steps for node in nodes} == {1 / 3}


def test_no_reward_is_charged_more_than_epsilon_and_empty_nodes_cost_nothing():
    arms = ["AB"[choice] for choice in np.random.default_rng(3).integers(0, 2, 300)]
    steps = play(make(1.0, ScriptedNoise([]), grid=FIVE), arms, StepsQuery(1.0, 300))
    nodes = [node for nodes in steps for node in nodes]
    assert any(node.rewards == 0 for node in nodes)
    assert spent(node for node in nodes if node.rewards == 0) == 0
    assert spent(nodes) == pytest.approx(1.0)  # the first reward is in a node of each level


def test_each_node_has_one_draw():
    noise = Counted()
    play(make(1.0, noise, grid=FIVE), "ABABBB", StepsQuery(1.0, 6))
    assert noise.drawn == 12


def test_a_step_is_one_reward_of_one_arm():
    for pulls in ({"A": 2}, {"A": 1, "B": 1}, {}):
        with pytest.raises(ArgumentError, match="one reward of one arm"):
            make(1.0).release(Plan(1, pulls, StepsQuery(1.0, 9)), dict.fromkeys(pulls, 1))


def test_full_trees_and_bad_rewards_change_nothing():
    noise, query = Counted(), StepsQuery(1.0, 3)
    curator = make(1.0, noise, grid=FIVE)
    play(curator, "AB", query)
    before, drawn = curator.state(), noise.drawn
    with pytest.raises(ArgumentError, match="total of arm 'B'"):
        curator.release(Plan(3, {"B": 1}, query), {"B": 6})
    assert (curator.state(), noise.drawn) == (before, drawn)
    curator.release(Plan(3, {"A": 1}, query), {"A": 1})
    before, drawn = curator.state(), noise.drawn
    with pytest.raises(FinishedError, match="3 items"):
        curator.release(Plan(4, {"A": 1}, query), {"A": 1})
    assert (curator.state(), noise.drawn) == (before, drawn)


@pytest.mark.parametrize("cut", [0, 1, 5])
def test_trees_go_on_from_a_saved_state(cut):
    arms, query = "ABBABAA", StepsQuery(1.0, 9)
    one = make(1.0, ScriptedNoise([]), grid=FIVE)
    play(one, arms[:cut], query)
    taken = {arm: arms[:cut].count(arm) for arm in "AB"}
    other = make(1.0, ScriptedNoise([]), epoch=cut, taken=taken, grid=FIVE)
    assert bool(one.state()) == bool(cut)
    other.restore(one.state(), Plan(cut + 1, {arms[cut]: 1}, query))
    for epoch, arm in enumerate(arms[cut:], cut + 1):
        plan = Plan(epoch, {arm: 1}, query)
        assert other.release(plan, {arm: 2}) == one.release(plan, {arm: 2})
    assert other.state() == one.state()
