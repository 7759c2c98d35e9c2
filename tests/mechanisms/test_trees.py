"""Continual counters: exact losses on neighbouring inputs, mistakes that they catch, and which nodes they release."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import ArgumentError, FinishedError, Grid
from discreet.core.plans import CounterQuery, Plan
from discreet.mechanisms import BinaryTree, HybridCounter, Trees
from discreet.testing import ScriptedNoise, worst_loss
from tests._tools.curators import Counted, less_noise, make, released, reuse_noise

TREE, HYBRID = CounterQuery(2.0, 3), CounterQuery(2.0, None)
FIVE = Grid(0.0, 5.0, bits=2)  # width 5
KINDS = {"binary tree": lambda count: CounterQuery(1.0, count), "hybrid counter": lambda count: CounterQuery(1.0, None)}
items = st.lists(st.integers(0, 5), min_size=1, max_size=200)
CASES = {  # one input, its neighbour, reach
    "a tree, first item": (released(TREE, 0, 1, 0), released(TREE, 1, 1, 0), 3),
    "a tree, second item": (released(TREE, 0, 0, 1), released(TREE, 0, 1, 1), 3),
    "a hybrid counter, first item": (released(HYBRID, 0, 1, 0, 1), released(HYBRID, 1, 1, 0, 1), 2),
    "a hybrid counter, third item": (released(HYBRID, 0, 1, 0, 1), released(HYBRID, 0, 1, 1, 1), 2),
}
PAID = {"a tree, second item": 1.0, "a hybrid counter, first item": 1.0}  # of 2: items of one node only


def loss(name):
    one, other, reach = CASES[name]
    return worst_loss(one, other, reach, shift=1)


@pytest.mark.parametrize("name", CASES)
def test_the_worst_loss_is_what_the_nodes_of_an_item_cost(name):
    """The first item of a tree of 3 lies in both of its levels, the third of a hybrid counter in a tree and a block."""
    assert loss(name) == pytest.approx(PAID.get(name, 2.0), abs=1e-9)


@pytest.mark.parametrize("name", sorted(set(CASES) - set(PAID)))
@pytest.mark.parametrize("factor", [2, 3])
def test_less_noise_is_caught(name, factor, monkeypatch):
    with less_noise(monkeypatch, factor):
        assert loss(name) == pytest.approx(2.0 * factor, abs=1e-9)


def test_noise_that_two_nodes_share_is_caught(monkeypatch):
    """Item 1 and items 1 to 2 are two nodes: their difference is item 2, exactly, if they share a draw."""
    reuse_noise(monkeypatch, Trees)
    assert loss("a tree, second item") == math.inf


def test_the_natural_logarithm_is_caught(monkeypatch):
    """Public code divides epsilon by ln(horizon), rounded, where a tree has floor(log2 horizon) + 1 levels."""
    monkeypatch.setattr(BinaryTree, "next_share", lambda self: round(math.log(self.horizon)))
    assert loss("a tree, first item") == pytest.approx(4.0, abs=1e-9)


def test_the_whole_of_epsilon_for_both_parts_of_a_hybrid_counter_is_caught(monkeypatch):
    share = HybridCounter.next_share
    monkeypatch.setattr(HybridCounter, "next_share", lambda self: share(self) // 2)
    assert loss("a hybrid counter, third item") == pytest.approx(4.0, abs=1e-9)


def test_a_node_that_is_released_again_is_caught(monkeypatch):
    """A counter that shows its running total at every item, instead of the node that is complete."""
    add = BinaryTree.add

    def running(self, item):
        return add(self, item)._replace(size=self.count, total=sum(self._open))

    monkeypatch.setattr(BinaryTree, "add", running)
    assert loss("a tree, first item") > 2.0 + 1e-6


# ---------------------------------------------------------------------- which nodes


def nodes_of(query, values, noise=None, grid=FIVE):
    """The releases of these items, in order."""
    curator = make(query.epsilon, noise or ScriptedNoise([]), arms=("A",), grid=grid)
    return [curator.release(Plan(epoch, {"A": 1}, query), {"A": value})[0] for epoch, value in enumerate(values, 1)]


def covering(nodes):
    """The nodes whose sum is the running total, after each node."""
    kept = []
    for node in nodes:
        ((_, first, _),) = node.spans
        kept = [old for old in kept if old.spans[0][1] < first] + [node]
        yield list(kept)


@given(items, st.sampled_from(sorted(KINDS)))
def test_without_noise_the_nodes_add_up_to_the_running_total(values, name):
    nodes = nodes_of(KINDS[name](len(values)), values)
    for count, cover in enumerate(covering(nodes), 1):
        assert sum(node.steps for node in cover) == sum(values[:count])
        assert sum(node.rewards for node in cover) == count
        assert cover[-1].spans[0][2] == count
        assert len(cover) <= 2 * count.bit_length()


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 7, 8, 9, 1000, 1023, 1024, 50_000_000])
def test_tree_levels_are_floor_log2_plus_one(horizon):
    (node,) = nodes_of(CounterQuery(1.0, horizon), [1])
    levels = math.floor(math.log2(horizon)) + 1
    assert node.epsilon == 1.0 / levels
    assert node.scale == pytest.approx(5 * levels)


@pytest.mark.parametrize("name", KINDS)
def test_no_item_is_charged_more_than_epsilon(name):
    spent = np.zeros(301)
    for node in nodes_of(KINDS[name](300), [1] * 300):
        ((_, first, last),) = node.spans
        spent[first : last + 1] += node.epsilon
    assert spent.max() <= 1.0 + 1e-12
    assert spent.max() > 0.8  # the budget is used, not hidden


@pytest.mark.parametrize("name", KINDS)
def test_each_node_has_one_draw(name):
    noise = Counted()
    assert len(nodes_of(KINDS[name](1024), [1] * 1024, noise)) == noise.drawn == 1024


def test_a_full_tree_refuses_more_items_unchanged():
    noise = Counted()
    curator, query = make(1.0, noise, arms="AB", grid=FIVE), CounterQuery(1.0, 3)
    for epoch in (1, 2, 3):
        curator.release(Plan(epoch, {"A": 1}, query), {"A": 1})
    before, drawn = curator.state(), noise.drawn
    for pulls in ({"A": 1}, {"B": 1, "A": 1}):
        with pytest.raises(FinishedError, match="3 items"):
            curator.release(Plan(4, pulls, query), dict.fromkeys(pulls, 1))
    assert (curator.state(), noise.drawn) == (before, drawn)


@pytest.mark.parametrize("item", [-1, 6, 0.5, math.nan, "1", None, True])
@pytest.mark.parametrize("name", KINDS)
def test_bad_items_change_nothing(name, item):
    noise, query = Counted(), KINDS[name](9)
    curator = make(1.0, noise, arms="AB", grid=FIVE)
    curator.release(Plan(1, {"A": 1, "B": 1}, query), {"A": 5, "B": 2})
    before, drawn = curator.state(), noise.drawn
    with pytest.raises(ArgumentError, match="total of arm 'B'"):
        curator.release(Plan(2, {"A": 1, "B": 1}, query), {"A": 5, "B": item})
    assert (curator.state(), noise.drawn) == (before, drawn)


def test_a_counter_takes_one_reward_at_a_time():
    with pytest.raises(ArgumentError, match="one reward of an arm at a time"):
        make(1.0, arms=("A",)).release(Plan(1, {"A": 2}, CounterQuery(1.0, 9)), {"A": 1})


@given(items, st.sampled_from(sorted(KINDS)), st.data())
def test_counters_go_on_from_a_saved_state(values, name, data):
    """Only exact open sums are kept: a restored counter draws afresh, and covers the same items."""
    cut = data.draw(st.integers(0, len(values) - 1))
    query = KINDS[name](500)
    one = make(1.0, ScriptedNoise([]), arms=("A",), grid=FIVE)
    for epoch, value in enumerate(values[:cut], 1):
        one.release(Plan(epoch, {"A": 1}, query), {"A": value})
    other = make(1.0, ScriptedNoise([]), epoch=cut, taken={"A": cut}, grid=FIVE)
    other.restore(one.state(), Plan(cut + 1, {"A": 1}, query))
    for epoch, value in enumerate(values[cut:], cut + 1):
        plan = Plan(epoch, {"A": 1}, query)
        assert other.release(plan, {"A": value}) == one.release(plan, {"A": value})
    assert other.state() == one.state()
