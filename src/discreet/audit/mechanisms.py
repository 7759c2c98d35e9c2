"""The mechanisms as subjects of an audit: each on inputs at which its proof has little to spare."""

from __future__ import annotations

from collections.abc import Callable

from discreet.audit.events import Facts
from discreet.core.errors import FinishedError
from discreet.core.grid import BITS
from discreet.mechanisms import (
    AboveThreshold,
    BinaryTreeCounter,
    Counter,
    HybridCounter,
    LaplaceMechanism,
    PrefixSumAboveThreshold,
)

WIDTH = 2**BITS  # the sensitivity of a reward in [0, 1]
ALL, HALF = WIDTH, WIDTH // 2

Release = Callable[[float, list[int]], Facts]


def laplace(epsilon: float, values: list[int]) -> Facts:
    """Each value released on its own, by one mechanism."""
    mechanism = LaplaceMechanism(WIDTH, epsilon)
    return {f"release {number}": mechanism.release(value) for number, value in enumerate(values, 1)}


def above_threshold(epsilon: float, queries: list[int]) -> Facts:
    """The answers, with an attempt to go on after the first yes."""
    mechanism, facts = AboveThreshold(WIDTH, epsilon), {}
    for number, query in enumerate(queries, 1):
        try:
            facts[f"answer {number}"] = mechanism.test(query, 0)
        except FinishedError:
            break
    return facts


def prefix_sums(epsilon: float, items: list[int]) -> Facts:
    """The answers of a test after each item, with an attempt to go on after the first yes."""
    mechanism, facts = PrefixSumAboveThreshold(WIDTH, epsilon), {}
    for number, item in enumerate(items, 1):
        try:
            mechanism.add(item)
            facts[f"answer {number}"] = mechanism.test(number * HALF)
        except FinishedError:
            break
    return facts


def counts(counter: Counter, items: list[int]) -> Facts:
    """Every node and every total that a counter publishes."""
    facts: Facts = {}
    for number, item in enumerate(items, 1):
        facts[f"node {number}"] = counter.add(item).units
        facts[f"value: total {number}"] = counter.total
    return facts


def binary_tree(epsilon: float, items: list[int]) -> Facts:
    """A tree whose horizon is the number of items."""
    return counts(BinaryTreeCounter(len(items), WIDTH, epsilon), items)


def hybrid_counter(epsilon: float, items: list[int]) -> Facts:
    """A counter without a horizon."""
    return counts(HybridCounter(WIDTH, epsilon), items)


# name: the mechanism, and pairs of neighbouring inputs with what is special about them
MECHANISMS: dict[str, tuple[Release, dict[str, tuple[list[int], list[int]]]]] = {
    "laplace": (laplace, {"the first of two values": ([0, HALF], [ALL, HALF]), "the second": ([HALF, 0], [HALF, ALL])}),
    "above-threshold": (
        above_threshold,
        {
            "four noes and a yes, queries that move against each other": (
                [*[-ALL] * 4, 2 * ALL, -ALL, -ALL],
                [*[0] * 4, ALL, 0, 0],
            ),
            "six noes and a sure yes": ([*[-ALL] * 6, 8 * ALL], [*[0] * 6, 8 * ALL]),
        },
    ),
    "prefix-above-threshold": (
        prefix_sums,
        {
            "the first item of six": ([0, *[HALF] * 5], [ALL, *[HALF] * 5]),
            "the only item": ([0], [ALL]),
        },
    ),
    "binary-tree": (
        binary_tree,
        {
            "the first item, in a node of each level": ([0, *[HALF] * 6], [ALL, *[HALF] * 6]),
            "the last item": ([*[HALF] * 6, 0], [*[HALF] * 6, ALL]),
        },
    ),
    "hybrid-counter": (
        hybrid_counter,
        {
            "an item of a block and of its tree": ([HALF, HALF, 0, HALF], [HALF, HALF, ALL, HALF]),
            "the fifth of eight items": ([*[HALF] * 4, 0, *[HALF] * 3], [*[HALF] * 4, ALL, *[HALF] * 3]),
        },
    ),
}
