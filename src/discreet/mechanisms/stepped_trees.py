"""Binary trees over time steps: every arm's tree takes an item at each step, and releases a node with fresh noise."""

from collections.abc import Mapping
from typing import Any

from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.noise import Noise
from discreet.core.plans import Arm, Plan, Query, StepsQuery
from discreet.core.releases import Kind, Release
from discreet.mechanisms._mechanism import Mechanism
from discreet.mechanisms.trees import BinaryTree


class SteppedTrees(Mechanism):
    """A binary tree over time steps for each arm: a step is an item of every tree, a reward or a 0.

    Private because a reward is an item of one tree, its own arm's, and lies in at most one node of each of its levels,
    at epsilon divided by their number. All other items of its step are 0 whatever the reward is, so the other trees'
    nodes of that step cost nothing (`docs/proofs/stepped-trees.md`).

    Args:
        query: The first query of the series.
        arms: All arms of the run.
        grid: The grid that rewards are rounded to.
        noise: The source of noise; None without a promise.
    """

    def __init__(self, query: Query, arms: tuple[Arm, ...], grid: Grid, noise: Noise | None) -> None:
        super().__init__(query, arms, grid, noise)
        assert isinstance(query, StepsQuery)
        self._check_scale(query.horizon.bit_length() * self.width, query.epsilon)
        self._sums = {arm: BinaryTree(query.horizon) for arm in arms}
        self._rewards = {arm: BinaryTree(query.horizon) for arm in arms}  # how many are in each open node: public

    def answer(self, plan: Plan, totals: Mapping[Arm, Any], taken: Mapping[Arm, int]) -> tuple[Release, ...]:
        """Release the node that the time step completes of each arm.

        Args:
            plan: A plan of this series, of one reward of one arm.
            totals: That arm's exact statistic.
            taken: The number of rewards of each arm before this plan.
        """
        query, pulls = plan.query, plan.pulls
        assert isinstance(query, StepsQuery)
        self._check_arms(plan, totals)
        if list(pulls.values()) != [1]:
            raise ArgumentError(f"a time step has one reward of one arm, got a plan of {dict(pulls)!r}")
        items = {arm: self._check_total(arm, totals[arm], self.width) for arm in pulls}
        share = self._sums[self.arms[0]].next_share()  # all trees have as many items
        noises, scale = self._draw(share * self.width, query.epsilon, len(self.arms))
        price, released = query.epsilon / share, []
        for arm, noise in zip(self.arms, noises, strict=True):
            count = pulls.get(arm, 0)
            total, rewards = self._sums[arm].add(items.get(arm, 0)).total, self._rewards[arm].add(count).total
            last = taken[arm] + count
            span = (arm, last - rewards + 1, last)
            released.append(Release(plan.epoch, Kind.NODE, (span,), total + noise, scale, price, self.simulated))
        return tuple(released)

    def state(self) -> dict[str, Any]:
        """Return the exact sums of open nodes, and the number of rewards in them."""
        if not any(tree.count for tree in self._sums.values()):
            return {}
        return {"steps": [[arm, tree.state(), self._rewards[arm].state()] for arm, tree in self._sums.items()]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for arm, sums, rewards in state["steps"]:
            self._sums[arm].restore(sums)
            self._rewards[arm].restore(rewards)
