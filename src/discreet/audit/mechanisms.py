"""The curator as a subject of an audit: each kind of query, on inputs at which its proof has little to spare."""

from collections.abc import Callable, Sequence

from discreet.audit.events import Facts
from discreet.core.errors import FinishedError
from discreet.core.grid import BITS, Grid
from discreet.core.plans import Arm, CounterQuery, Measure, Plan, Query, ThresholdQuery, TotalsQuery
from discreet.core.privacy import Privacy, Unit
from discreet.mechanisms import Curator

WIDTH = 2**BITS  # the sensitivity of a reward in [0, 1]
ALL, HALF = WIDTH, WIDTH // 2
EACH = 4  # rewards of each arm between two tests of a spread

Answer = Callable[[float, list[int]], Facts]


def _curator(epsilon: float, arms: Sequence[Arm]) -> Curator:
    """Return a curator of rewards in [0, 1], with private noise."""
    return Curator(Grid(0.0, 1.0), Privacy(epsilon, Unit.REWARD, "audited"), taken=dict.fromkeys(arms, 0))


def one_by_one(query: Callable[[float, int], Query]) -> Answer:
    """Return what answers with the releases of rewards that are epochs of their own.

    Args:
        query: Makes the query, from what a reward pays and the number of rewards.
    """

    def _answer(epsilon: float, items: list[int]) -> Facts:
        made, asked = _curator(epsilon, ["A"]), query(epsilon, len(items))
        plans = [Plan(epoch, {"A": 1}, asked) for epoch in range(1, len(items) + 1)]
        released = [made.release(plan, {"A": item})[0] for plan, item in zip(plans, items, strict=True)]
        return {f"release {number}": release.steps for number, release in enumerate(released, 1)}

    return _answer


laplace = one_by_one(lambda epsilon, _: TotalsQuery((epsilon,)))
"""Noisy totals of one reward each."""
binary_tree = one_by_one(CounterQuery)
"""The nodes of a tree whose horizon is the number of items."""
hybrid_counter = one_by_one(lambda epsilon, _: CounterQuery(epsilon, None))
"""The nodes of a counter without a horizon."""


def above_threshold(epsilon: float, moves: list[int]) -> Facts:
    """Return the answers of tests of the spread of two arms, with an attempt to go on after the first yes.

    Args:
        epsilon: What a reward pays.
        moves: For each test what A is paid before it, what B is paid, and the limit, one after the other.
    """
    rows = list(zip(moves[::3], moves[1::3], moves[2::3], strict=True))
    totals: list[dict[Arm, int]] = [{"A": one, "B": other} for one, other, _ in rows]
    return _answers(epsilon, Measure.SPREAD, totals, [limit for *_, limit in rows], EACH)


def prefix_sums(epsilon: float, items: list[int]) -> Facts:
    """Return the answers of one-sided tests after each item, with an attempt to go on after the first yes.

    Args:
        epsilon: What an item pays.
        items: The items.
    """
    limits = [number * HALF for number in range(1, len(items) + 1)]
    return _answers(epsilon, Measure.ONE_SIDED, [{"A": item} for item in items], limits, 1)


def _answers(epsilon: float, measure: Measure, totals: list[dict[Arm, int]], limits: list[int], each: int) -> Facts:
    """Return the answers of a sparse vector, with an attempt to go on after the first yes."""
    made, facts, epoch = _curator(epsilon, list(totals[0])), Facts(), 1
    for number, (paid, limit) in enumerate(zip(totals, limits, strict=True), 1):
        query = ThresholdQuery((number * each,), (limit,), epsilon, None, measure)
        try:
            tests, *more = made.release(Plan(epoch, dict.fromkeys(paid, each), query), paid)
        except FinishedError:
            break
        facts[f"answer {number}"] = tests.above
        facts |= {f"total {place} at test {number}": one.steps for place, one in enumerate(more)}  # none is due
        epoch += tests.above
    return facts


def _tests(first: int, last: int, count: int) -> list[int]:
    """Return tests of a spread in which A's first reward counts.

    Args:
        first: That reward. If it is the largest, the spread is larger by all at tests in which A is not behind.
        last: The limit of the test at which B is ahead.
        count: The number of tests before it.
    """
    level = [0, 0, ALL]  # nobody is paid: the spread is what A's first reward has made it
    ahead, behind = [0, EACH * ALL, last], [EACH * ALL, 0, ALL]
    return [first, 0, ALL, *level * (count - 1), *ahead, *behind, *level]


MECHANISMS: dict[str, tuple[Answer, dict[str, tuple[list[int], list[int]]]]] = {
    "laplace": (laplace, {"the first of two values": ([0, HALF], [ALL, HALF]), "the second": ([HALF, 0], [HALF, ALL])}),
    "above-threshold": (
        above_threshold,
        {
            "four noes and a yes, tests that move against each other": (_tests(0, 2 * ALL, 4), _tests(ALL, 2 * ALL, 4)),
            "six noes and a sure yes": (_tests(0, -8 * ALL, 6), _tests(ALL, -8 * ALL, 6)),
        },
    ),
    "prefix-above-threshold": (
        prefix_sums,
        {"the first item of six": ([0, *[HALF] * 5], [ALL, *[HALF] * 5]), "the only item": ([0], [ALL])},
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
"""By name: what answers, and pairs of neighbouring inputs with what is special about them."""
