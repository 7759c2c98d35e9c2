"""Continual counters: binary trees and hybrid counters, whose noisy nodes are released as they are completed."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from discreet.core.errors import ArgumentError, FinishedError
from discreet.core.grid import Grid
from discreet.core.noise import Noise
from discreet.core.plans import Arm, CounterQuery, Plan, Query
from discreet.core.releases import Kind, Release
from discreet.mechanisms._mechanism import Mechanism

_MOST_SHARES = 2 * 63  # of a hybrid counter with 2^63 items

_NODE, _TOTAL = Kind.NODE, Kind.TOTAL  # looked up once: that takes time
_new_tuple = tuple.__new__  # quicker than calling a named tuple's class


class Node(NamedTuple):
    """A node that an item completes.

    Attributes:
        kind: How it is released.
        size: It covers the last `size` items.
        total: Its exact sum, which is secret.
    """

    kind: Kind
    size: int
    total: int


class BinaryTree:
    """The exact open nodes of a binary tree over at most `horizon` items (Dwork et al. 2010; Chan, Shi, Song 2010).

    Item t completes the node of level i, the number of trailing zero bits of t, which covers the last 2^i items. An
    item lies in at most one node of each level, and there are floor(log2 horizon) + 1 levels, so each node is released
    at epsilon divided by that number. (The natural logarithm, found in public code, would spend 1.44 times epsilon.)

    Args:
        horizon: The largest number of items.
    """

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self.count = 0
        self._open = [0] * horizon.bit_length()  # by level: 0 where no node is open

    def next_share(self) -> int:
        """Return the number by which epsilon is divided for the node that the next item completes.

        Raises:
            FinishedError: It has all of its items.
        """
        if self.count == self.horizon:
            raise FinishedError(f"this counter was made for {self.horizon} items and has them all")
        return len(self._open)

    def add(self, item: int) -> Node:
        """Add an item, and return the node that it completes."""
        self.count += 1
        level = (self.count & -self.count).bit_length() - 1
        total = item + sum(self._open[:level])
        self._open[:level] = [0] * level
        self._open[level] = total
        return Node(_NODE, 1 << level, total)

    def state(self) -> list[int]:
        """Return what `restore` takes."""
        return [self.count, *self._open]

    def restore(self, state: list[int]) -> None:
        """Go on from a saved state."""
        self.count, *self._open = state


class HybridCounter:
    """The exact open sums of a counter that never ends (Chan, Shi, Song 2010).

    At items 1, 2, 4, 8, ... it releases the sum since the last power of two; in between a fresh tree counts the items
    since that power. An item lies in one such sum and in one tree, at epsilon/2 each. (Public code gives epsilon to
    each part, which spends 2 epsilon.)
    """

    def __init__(self) -> None:
        self.count = 0
        self._block = 0  # the sum since the last power of two
        self._tree: BinaryTree | None = None

    def next_share(self) -> int:
        """Return the number by which epsilon is divided for the node that the next item completes."""
        return 2 if self._tree is None or not self.count & (self.count + 1) else 2 * self._tree.next_share()

    def add(self, item: int) -> Node:
        """Add an item, and return the node that it completes."""
        self.count += 1
        self._block += item
        if self.count & (self.count - 1):
            assert self._tree is not None
            return self._tree.add(item)
        node = Node(_TOTAL, max(1, self.count // 2), self._block)
        self._block, self._tree = 0, self._new_tree()
        return node

    def _new_tree(self) -> BinaryTree | None:
        """Return a tree for the items after the last power of two and before the next."""
        power = 1 << (self.count.bit_length() - 1)
        return BinaryTree(power - 1) if power > 1 else None

    def state(self) -> list[int]:
        """Return what `restore` takes."""
        return [self.count, self._block, *(self._tree.state() if self._tree else ())]

    def restore(self, state: list[int]) -> None:
        """Go on from a saved state."""
        self.count, self._block, *tree = state
        self._tree = self._new_tree() if self.count else None
        if self._tree:
            self._tree.restore(tree)


class Trees(Mechanism):
    """A continual counter for each arm. Its noisy nodes are releases; only exact sums of open nodes are kept.

    Private because the shares of epsilon of the nodes that a reward lies in add up to epsilon, and each node is
    released once.

    Args:
        query: The first query of the series.
        arms: All arms of the run.
        grid: The grid that rewards are rounded to.
        noise: The source of noise; None without a promise.
    """

    def __init__(self, query: Query, arms: tuple[Arm, ...], grid: Grid, noise: Noise | None) -> None:
        super().__init__(query, arms, grid, noise)
        assert isinstance(query, CounterQuery)
        horizon = query.horizon
        for share in (2, _MOST_SHARES) if horizon is None else (horizon.bit_length(),):
            self._check_scale(share * self.width, query.epsilon)
        self._counters = {arm: HybridCounter() if horizon is None else BinaryTree(horizon) for arm in arms}

    def answer(self, plan: Plan, totals: Mapping[Arm, Any], taken: Mapping[Arm, int]) -> tuple[Release, ...]:
        """Release the node that each planned arm's reward completes.

        Args:
            plan: A plan of this series.
            totals: Each planned arm's exact statistic.
            taken: The number of rewards of each arm before this plan.
        """
        epoch, pulls, query, _ = plan
        assert isinstance(query, CounterQuery)
        self._check_arms(plan, totals)
        if set(plan.pulls.values()) != {1}:
            raise ArgumentError(f"a counter takes one reward of an arm at a time, got a plan of {dict(pulls)!r}")
        epsilon, width = query.epsilon, self.width
        items = [(arm, self._check_total(arm, totals[arm], width), self._counters[arm].next_share()) for arm in pulls]
        drawn = [self._draw(share * width, epsilon, 1) for _, _, share in items]
        released = []
        for (arm, item, share), ((noise,), scale) in zip(items, drawn, strict=True):
            kind, size, total = self._counters[arm].add(item)
            last = taken[arm] + 1
            span = (arm, last - size + 1, last)
            fields = epoch, kind, (span,), total + noise, scale, epsilon / share, self.simulated, 0, False
            released.append(_new_tuple(Release, fields))
        return tuple(released)

    def state(self) -> dict[str, Any]:
        """Return the exact sums of open nodes."""
        return {"counters": [[arm, counter.state()] for arm, counter in self._counters.items() if counter.count]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for arm, saved in state["counters"]:
            self._counters[arm].restore(saved)
