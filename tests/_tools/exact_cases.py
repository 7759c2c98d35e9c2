"""Tiny neighbouring inputs for every mechanism and every private algorithm, whose exact privacy loss can be computed.

`run(noise)` runs the real object and returns all that it shows. Nothing in the privacy of an algorithm depends on the
number of grid steps, nor on the limits of tests: both are made small, so that small noises decide.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

import discreet
from discreet import Bandit, Plan, Stream, Totals
from discreet.audit.play import Session
from discreet.core.errors import FinishedError
from discreet.core.plans import CounterQuery, Measure, ThresholdQuery, TotalsQuery
from discreet.core.registry import find
from discreet.core.statistics import Statistic
from discreet.testing import coarse_grid, worst_loss
from tests._tools import curators
from tests._tools.curators import COINS, SIGNED, OnlyTests, seen

EPSILON = 2.0
LARGE = 8.0  # keeps the several noises of composed mechanisms within a small reach
TOTALS = TotalsQuery((EPSILON,))


# ---------------------------------------------------------------------- the curator, by kinds of queries


def laplace(total):
    return curators.released(TOTALS, total)


def pairs(squares, total):
    query = TotalsQuery((EPSILON / 4, 3 * EPSILON / 4))
    return curators.released(query, (squares, total), statistic=Statistic.PAIRS)


def reloaded(first, second):
    """Two totals, with a saved state in between."""
    plans = [Plan(epoch, {"A": 9}, TOTALS) for epoch in (1, 2)]

    def run(noise):
        before, after = (curators.make(EPSILON, noise, epoch=epoch, taken={"A": 9 * epoch}) for epoch in (0, 1))
        released = before.release(plans[0], {"A": first})
        after.restore(before.state(), plans[1])
        return seen(released), seen(after.release(plans[1], {"A": second}))

    return run


def held(first, second):
    """A total that waits for another one."""
    plans = [Plan(1, {"A": 9}, TotalsQuery((EPSILON,), frozenset("A"))), Plan(2, {"A": 9}, TOTALS)]

    def run(noise):
        made = curators.make(EPSILON, noise, arms="A")
        return tuple(seen(made.release(plan, {"A": n})) for plan, n in zip(plans, (first, second), strict=True))

    return run


def answers(measure, totals, limits, epsilon=EPSILON, grid=COINS, each=2):
    """All that a sparse vector without totals shows, with an attempt to go on after the first yes."""
    pulls = dict.fromkeys(totals[0], each)
    queries = [
        ThresholdQuery((each * number,), (limit,), epsilon, None, measure) for number, limit in enumerate(limits, 1)
    ]

    def run(noise):
        made = curators.make(epsilon, noise, arms=tuple(pulls), grid=grid)
        found, epoch = [], 1
        for query, paid in zip(queries, totals, strict=True):
            try:
                answer, *more = made.release(Plan(epoch, pulls, query), paid)
            except FinishedError:
                break
            found.append((answer.above, answer.steps, *seen(more)))
            epoch += answer.above
        return tuple(found)

    return run


def spread(*rows, first=0, epsilon=EPSILON):
    """Tests of the spread of two arms: each row has what A and B are paid, and the limit. `first` is more for A."""
    totals = [{"A": a + (first if not number else 0), "B": b} for number, (a, b, _) in enumerate(rows)]
    return answers(Measure.SPREAD, totals, [limit for *_, limit in rows], epsilon)


def prefix(bits, limits):
    """One-sided tests of sums, one after each bit."""
    return answers(Measure.ONE_SIDED, [{"A": bit} for bit in bits], limits, each=1)


def distance(*totals):
    """Tests of the distance from 0 of a sum of rewards between -1 and 1, one after each two."""
    return answers(Measure.DISTANCE, [{"A": total} for total in totals], [1] * len(totals), grid=SIGNED)


def counter(horizon, bits):
    return curators.released(CounterQuery(EPSILON, horizon), *bits)


# ---------------------------------------------------------------------- policies


def policy(name, **options):
    """Return a policy of two arms with rewards 0 or 1."""
    with coarse_grid():
        return discreet.make_policy(name, ["A", "B"], **{"epsilon": EPSILON, **options})


def shown(driver):
    """Return what a policy has released and decided, and what it pulls next."""
    known, plan = driver.algorithm, driver.plan()
    return seen(known.ledger), known.viable, known.best_arm, plan and (tuple(plan.pulls.items()), plan.learns)


def epochs(made, *totals):
    """Run a policy on the totals of both arms, epoch by epoch, as long as it learns."""

    def run(noise):
        driver = Totals(made, noise)
        for paid in totals:
            plan = driver.plan()
            if plan is None or not plan.learns:
                break
            driver.close_steps({arm: paid["AB".index(arm)] for arm in plan.pulls})
        return shown(driver)

    return run


def batches(name, *totals, **options):
    """Run a policy on totals of the arms that it pulls: of both, or of one. Epochs without a query pass by."""
    made = policy(name, **options)

    def run(noise):
        driver, arms = Totals(made, noise), []
        with coarse_grid():  # guess and double makes policies on the way
            for paid in totals:
                while not (plan := driver.plan()).learns:
                    arms.append(tuple(plan.pulls))
                    driver.close()
                arms.append(tuple(plan.pulls))
                several = paid if isinstance(paid, tuple) else (paid,)
                driver.close_steps(dict(zip(plan.pulls, several, strict=True)))
            return tuple(arms), shown(driver)

    return run


def rounds(first, second):
    """Run a search with a budget on the totals of three arms, and then of the two that are kept."""
    with coarse_grid():
        made = discreet.DPBudgetBestArm(["A", "B", "C"], epsilon=LARGE, horizon=400)

    def run(noise):
        driver, arms = Totals(made, noise), []
        for paid in (first, second):
            arms.append(tuple(driver.plan().pulls.items()))
            driver.close_steps(dict(zip(driver.plan().pulls, paid, strict=False)))
        return tuple(arms), shown(driver)

    return run


def lazy(name, changed=None, closes=2, later=False, **options):
    """Run a lazy policy when A pays 1 but at pull number `changed`, and B nothing.

    `later`: it begins with blocks of 4 and of 1 behind it, so that by the index A is overtaken within its block of 8.
    """
    made = policy(name, **options)
    if later:
        learned = {"_totals": [12, -1], "_counts": [4, 1], "pulls": [7, 1], "time": 8}
        made.resume({**made.snapshot(), **learned})

    def run(noise):
        driver, plans = Session(made, noise), []
        for _ in range(closes):
            past, pulls = driver.algorithm.taken, driver.plan().pulls
            plans.append(tuple(pulls.items()))
            first, last = past["A"] + 1, past["A"] + pulls.get("A", 0)
            paid = {"A": pulls.get("A", 0) - (first <= (changed or 0) <= last), "B": 0}
            driver.close_steps({arm: paid[arm] for arm in pulls})
        return tuple(plans), shown(driver)

    return run


def near_elimination(name, *totals, rounding=0, epsilon=LARGE):
    """Run an elimination by a sparse vector, whose tests are near their limits, when A is paid this and B nothing."""
    kind = find(name)
    near = type(kind.__name__, (kind,), {"halting_threshold": lambda self, *rounds_and_test: 0.5 - rounding})
    with coarse_grid():
        made = near(["A", "B"], epsilon=epsilon, beta=0.9)
    return epochs(made, *((total, 0) for total in totals))


def near_lags(total):
    """Test once whether either of two arms lies one behind when A is paid this and B nothing, and show who is left.

    The totals at a yes, which decide nothing, have larger noises and are not looked at.
    """
    kind = find("dp-se-arms")
    near = type(kind.__name__, (kind,), {"halting_threshold": lambda self, *rounds_and_test: -5.0})
    with coarse_grid():
        made = near(["A", "B"], epsilon=4 * LARGE, beta=0.9)

    def run(noise):
        driver = Session(made, OnlyTests(noise, 0.0, 0.5))
        driver.close_steps({"A": total, "B": 0})
        return driver.algorithm.viable

    return run


def tickets(*answers):
    """Run by ask and tell, when of the first batches of A these tickets are answered with 1, and the rest expire."""
    made = policy("dp-imed", first_batch=2)

    def run(noise):
        bandit = Bandit(made, noise, default_reward=0.0, seed=1)
        asked = [ticket for ticket in bandit.ask(4) if ticket.arm == "A"]
        for index in answers:
            bandit.tell(asked[index], 1.0)
        bandit.expire()
        return seen(bandit.ledger), bandit.best_arm

    return run


def tickets_in_a_window(*answers):
    """Run by ask and tell, when of the first batches of A these tickets are answered with 1, and the rest never."""
    made = policy("dp-imed", first_batch=2)

    def run(noise):
        bandit = Bandit(made, noise, default_reward=0.0, window=5, seed=1)
        asked = [ticket for ticket in bandit.ask(4) if ticket.arm == "A"]
        for index in answers:
            bandit.tell(asked[index], 1.0)
        moments = tuple(bandit.ask().epoch for _ in range(7))
        return seen(bandit.ledger), bandit.best_arm, moments, str(bandit.status())

    return run


# ---------------------------------------------------------------------- stopping rules


def rule(name, low, **options):
    with coarse_grid():
        return discreet.make_rule(name, low=low, high=low + 1, **options)


def stopping(name, samples, low, epsilon=LARGE):
    """Run a rule on samples that are counted from `low`, which puts tests near halting."""
    made = rule(name, low, epsilon=epsilon, alpha=0.99, beta=0.99)

    def run(noise):
        stream = Stream(made, noise)
        stream.feed(np.array(samples, dtype=float) + low)
        return stream.samples, stream.result.reached, seen(stream.ledger)

    return run


def sequential(*ones):
    """Run a test of a mean on blocks with so many ones each, near its limits."""
    with coarse_grid():
        made = discreet.make_rule("dp-test", epsilon=EPSILON, null=0.3, alternative=0.6, alpha=0.2, beta=0.2)

    def run(noise):
        driver = Totals(made, noise)
        for paid in ones:
            if driver.plan() is None:
                break
            driver.close_steps({None: paid})
        return driver.algorithm.samples, driver.algorithm.verdict, seen(driver.ledger)

    return run


def inverse(samples, alpha):
    """Run inverse sampling, whose first tests come after a few samples at a large alpha and beta."""
    made = discreet.make_rule("dp-inverse", epsilon=LARGE, alpha=alpha, beta=0.99, low=0, high=1)

    def run(noise):
        stream = Stream(made, noise)
        stream.feed(np.array(samples, dtype=float))
        return stream.samples, stream.result.reached, stream.result.estimate, seen(stream.ledger)

    return run


def looking(samples, alpha=0.9):
    """Run the rule that looks at four samples, and then at more unless these are enough; and then chooses."""
    with coarse_grid(), patch("discreet.stopping.dp_mean.look_pays", return_value=True):
        made = discreet.make_rule("dp-mean", epsilon=LARGE, alpha=alpha, beta=0.99, low=0, high=1)
    assert made.chosen is None

    def run(noise):
        stream = Stream(made, noise)
        for sample in samples:
            if not stream.finished:
                stream.feed(float(sample))
        return stream.algorithm.chosen, stream.samples, stream.result.estimate, seen(stream.ledger)

    return run


def released(name, samples, low=0):
    """Run a rule in blocks of two samples: with `low` > 0 it halts after the first one, if noises allow it."""
    made = rule(name, low, epsilon=EPSILON, alpha=0.5, beta=0.5, window=1)
    assert made.level  # by its own blocks
    made.__dict__["ends"] = tuple(range(0, 2 * len(samples), 2))

    def run(noise):
        stream = Stream(made, noise)
        stream.feed(np.array(samples, dtype=float) + low)
        return stream.samples, stream.result.reached, seen(stream.ledger)

    return run


# ---------------------------------------------------------------------- the cases


@dataclass(frozen=True)
class Case:
    """Two neighbouring inputs.

    `shift` is what the proof moves a noise by; `lost` is the share of epsilon that is lost, where it is known.
    """

    run: Callable[[Any], Any]
    neighbour: Callable[[Any], Any]
    reach: int
    shift: int = 1
    epsilon: float = EPSILON
    lost: float | None = 1.0

    def loss(self):
        """Return the largest log-ratio of the probabilities of an output."""
        return worst_loss(self.run, self.neighbour, self.reach, self.shift)


def loose(run, neighbour, reach, shift=2, epsilon=EPSILON):
    """Return a case of a sparse vector, whose tiny inputs lose less than epsilon."""
    return Case(run, neighbour, reach, shift, epsilon, lost=None)


LEVEL = (0, 0, 1)  # a test of a spread that nobody is paid for

MECHANISM_CASES = {
    "laplace": Case(laplace(5), laplace(6), 4),
    "laplace, pairs": Case(pairs(1, 5), pairs(2, 4), 2),
    "laplace, reloaded": Case(reloaded(5, 1), reloaded(5, 0), 2),
    "laplace, held": Case(held(5, 1), held(4, 1), 4),
    "above-threshold": loose(spread(LEVEL, (0, 1, 1), (1, 0, 1)), spread(LEVEL, (0, 1, 1), (1, 0, 1), first=1), 3),
    **{
        f"above-threshold, {where}": loose(
            spread(*rows, epsilon=LARGE), spread(*rows, first=1, epsilon=LARGE), 1, epsilon=LARGE,
        )
        for where, rows in (
            ("long", ((1, 0, 1), LEVEL, LEVEL, LEVEL)),
            ("back and forth", (LEVEL, LEVEL, LEVEL, (0, 2, 1))),
            ("no and yes", ((1, 0, 1), (0, 2, 2), (2, 0, 1), (0, 2, 2))),  # the lead changes at every test
        )
    },
    "above-threshold, across zero": loose(distance(4, 0), distance(2, 0), 3, 4),
    "prefix-above-threshold, no yes": Case(prefix([0], [0]), prefix([1], [0]), 4),
    "prefix-above-threshold, first test": Case(prefix([0], [2]), prefix([1], [2]), 4),
    "prefix-above-threshold, second test": loose(prefix([0, 1], [0, 1]), prefix([1, 1], [0, 1]), 4, 1),
    "prefix-above-threshold, after a no": loose(prefix([0, 0], [0, 0]), prefix([0, 1], [0, 0]), 4, 1),
    "prefix-above-threshold, long": loose(
        prefix([1, 0, 1, 0], [2, 2, 3, 3]), prefix([1, 1, 1, 0], [2, 2, 3, 3]), 2, 1,
    ),
    "binary-tree": Case(counter(3, [0, 1, 1]), counter(3, [1, 1, 1]), 1),
    "hybrid-counter": Case(counter(None, [0, 1, 1, 1]), counter(None, [0, 1, 0, 1]), 1),
}  # fmt: skip

# The lead at which the noises of epoch 1 decide, and the share of what is left of epsilon that an epoch does not spend.
PERSON = {"dp-se-person": (50, 1 / 2), "dp-se-sharp-person": (12, 2 / 3)}


def elimination(name, one, other, reach, **options):
    made = policy(name, beta=0.5, **options)
    return Case(epochs(made, *one), epochs(made, *other), reach)


def person(name, one, other, reach, left):
    """Return a case of a person in all epochs, who really loses all that composition allows."""
    made = policy(name, beta=0.9)
    return Case(epochs(made, *one), epochs(made, *other), reach, lost=1 - left ** len(one))


def tested(name, *totals):
    """Run a test of an arm against a control on the totals of both, block by block."""
    return epochs(policy(name, base_rate=0.3, effect=0.3, alpha=0.2, beta=0.2), *totals)


TEST_CASES = {
    **{
        case: Case(tested(name, *one), tested(name, *other), reach)
        for name, low, high in (("dp-ab", 2, 6), ("dp-ab-open", 1, 2))
        for case, one, other, reach in (
            (name, [(low, high)], [(low, high + 1)], 4),
            (f"{name}, first of two looks", [(low, high), (low, high)], [(low + 1, high), (low, high)], 1),
            (f"{name}, second of two looks", [(low, high), (low, high)], [(low, high), (low, high + 1)], 1),
        )
    },
    "dp-test": Case(sequential(1), sequential(2), 4),
    "dp-test, second of two looks": Case(sequential(2, 0), sequential(2, 1), 2),
}  # fmt: skip

ELIMINATION_CASES = {
    "dp-se": elimination("dp-se", [(200, 160)], [(201, 160)], 4),
    "dp-se, a tie": elimination("dp-se", [(200, 200)], [(200, 201)], 2),
    "dp-se, two epochs": elimination("dp-se", [(200, 200), (800, 700)], [(200, 200), (800, 699)], 1),
    "dp-se, first of two epochs": elimination("dp-se", [(200, 200), (800, 700)], [(201, 200), (800, 700)], 1),
    "dp-bai": elimination("dp-bai", [(200, 160)], [(201, 160)], 4),
    "dp-se-sharp": elimination("dp-se-sharp", [(10, 3)], [(10, 4)], 4, window=2),
    "dp-se-sharp, first of two epochs": elimination(
        "dp-se-sharp", [(8, 4), (4, 2)], [(9, 4), (4, 2)], 1, window=2,
    ),
    "dp-se-sharp, second of two epochs": elimination(
        "dp-se-sharp", [(8, 4), (4, 2)], [(8, 4), (4, 3)], 1, window=2,
    ),
    "dp-bai-sharp": elimination("dp-bai-sharp", [(10, 3)], [(10, 4)], 4, window=2),
    **{
        f"{name}, {where}": person(name, one, other, reach, left)
        for name, (lead, left) in PERSON.items()
        for where, one, other, reach in (
            ("one epoch", [(52, 52 - lead)], [(53, 52 - lead)], 4),
            ("two epochs", [(52, 52), (99, 98)], [(53, 52), (99, 99)], 1),
            ("two epochs if noises allow it", [(52, 52 - lead), (99, 98)], [(53, 52 - lead), (98, 98)], 1),
            ("three epochs", [(52, 52), (99, 99), (99, 99)], [(53, 52), (99, 98), (98, 99)], 0),
        )
    },
    "dp-se-modified": loose(near_elimination("dp-se-modified", 1), near_elimination("dp-se-modified", 2), 1, 2, LARGE),
    "dp-se-svt": loose(near_elimination("dp-se-svt", 1), near_elimination("dp-se-svt", 2), 1, 2, LARGE),
    **{
        name: loose(near_elimination(name, 1, rounding=more), near_elimination(name, 2, rounding=more), 1, 2, LARGE)
        for name, more in {"dp-se-difference": 12, "dp-se-pairs": 6, "dp-se-one-vector": 6}.items()
    },
    "dp-se-arms": loose(near_lags(0), near_lags(1), 1, 1, 4 * LARGE),
}  # fmt: skip

BATCHED = {
    "adap-ucb": {}, "adap-klucb": {}, "dp-klucb": {}, "dp-imed": {"first_batch": 1},
    "dp-chernoff-imed": {"first_batch": 1}, "dp-bai-evidence": {"first_batch": 1, "beta": 0.1},
}  # fmt: skip
TREE, HYBRID = {"horizon": 3}, {"epsilon": 20.0}
STEPPED = {"horizon": 3, "epsilon": LARGE, "preset": "all-trees"}

INDEX_CASES = {
    "dp-imed, by tickets": Case(tickets(0), tickets(), 2),
    "dp-imed, by tickets in a window": Case(tickets_in_a_window(0), tickets_in_a_window(), 2),
    "dp-imed, all answered in a window": Case(tickets_in_a_window(0, 1), tickets_in_a_window(0), 2),
    **{
        f"{name}, {where}": Case(batches(name, (1, 0), 1, **options), batches(name, *changed, **options), 1)
        for name, options in BATCHED.items()
        for where, changed in (("first batch", ((0, 0), 1)), ("second batch", ((1, 0), 0)))
    },
    **{
        f"{name}, the leader": Case(batches(name, (0, 0), 0, **more), batches(name, (0, 1), 0, **more), 1)
        for name, more in BATCHED.items()
        if name.startswith("dp-bai")
    },
    **{
        f"dp-bai-budget, {where}": Case(rounds((2, 1, 1), (0, 0)), rounds(*changed), 1, epsilon=LARGE)
        for where, changed in (
            ("first round", ((1, 1, 1), (0, 0))),
            ("who is kept", ((2, 1, 2), (0, 0))),
            ("second round", ((2, 1, 1), (0, 1))),
        )
    },
    "dp-bai-budget, one round": Case(
        batches("dp-bai-budget", (3, 4), horizon=9), batches("dp-bai-budget", (3, 3), horizon=9), 4
    ),
    "dp-paired-imed": Case(
        batches("dp-paired-imed", (0, 0), (1, 0), first_batch=1),
        batches("dp-paired-imed", (0, 0), (1, 1), first_batch=1), 1,
    ),
    **{
        f"{name}, {where}": Case(lazy(name, **options), lazy(name, changed, **options), 1)
        for name, more in (("lazy-ucb", {}), ("lazy-dp-ts", {"seed": 3}))
        for where, changed, options in (
            ("first block", 1, more),
            ("second block", 3, {"closes": 3, **more}),
            ("a block of several epochs", 8, {"later": True, **more}),
        )
    },
    "dp-ucb": Case(batches("dp-ucb", 0, 1, 1, **TREE), batches("dp-ucb", 1, 1, 1, **TREE), 2, lost=None),
    **{
        f"dp-ucb, all trees, {where}": Case(
            batches("dp-ucb", 0, 1, 0, **STEPPED), batches("dp-ucb", *changed, **STEPPED), 0, epsilon=LARGE, lost=lost
        )
        for where, changed, lost in (("first step", (1, 1, 0), 1.0), ("second step", (0, 0, 0), 0.5))
    },
    "dp-ucb-hybrid": Case(
        batches("dp-ucb-hybrid", 1, 0, 1, 1, 0, 1, **HYBRID), batches("dp-ucb-hybrid", 1, 0, 1, 0, 0, 1, **HYBRID),
        0, epsilon=HYBRID["epsilon"],
    ),
    "guess-and-double": Case(
        batches("guess-and-double", 0, 1, 1, 1, policy="dp-ucb", first_guess=4),
        batches("guess-and-double", 0, 1, 0, 1, policy="dp-ucb", first_guess=4), 1, lost=None,
    ),
    "guess-and-double, batches": Case(
        batches("guess-and-double", (0, 1), (1, 1), policy="adap-ucb", first_guess=4),
        batches("guess-and-double", (0, 1), (0, 1), policy="adap-ucb", first_guess=4), 1,
    ),
}  # fmt: skip

RULE_CASES = {
    **{
        f"{name}, {where}": Case(released(name, *one), released(name, *other), 1)
        for name in ("dp-nas-released", "dp-bernstein")
        for where, one, other in (
            ("first block", ([0, 1, 0, 0],), ([0, 0, 0, 0],)),
            ("second block", ([0, 1, 0, 0],), ([0, 1, 1, 0],)),
            ("halting", ([1, 0], 8), ([0, 0], 8)),
        )
    },
    "dp-exp-nas": loose(stopping("dp-exp-nas", [0, 1], 4), stopping("dp-exp-nas", [1, 1], 4), 2, 2, LARGE),
    "dp-nas": loose(stopping("dp-nas", [0], 8), stopping("dp-nas", [1], 8), 2, 2, LARGE),
    "dp-nas, second sample": loose(
        stopping("dp-nas", [0, 0], 4, 2 * LARGE), stopping("dp-nas", [0, 1], 4, 2 * LARGE), 2, 2, 2 * LARGE,
    ),
    "dp-inverse": loose(inverse([0, 0], 0.9), inverse([1, 0], 0.9), 6, 1, LARGE),
    "dp-inverse, a later sample": loose(inverse([1, 0, 0], 0.9), inverse([1, 0, 1], 0.9), 6, 1, LARGE),
    "dp-inverse, halting": loose(inverse([1, 1, 1], 0.99), inverse([1, 0, 1], 0.99), 6, 1, LARGE),
    "dp-mean": Case(looking([0, 0, 0, 0]), looking([1, 0, 0, 0]), 3, epsilon=LARGE),
    "dp-mean, a look and a test": Case(looking([0, 0, 0, 0, 0, 0]), looking([1, 0, 0, 0, 0, 0]), 1, epsilon=LARGE),
    "dp-mean, the rule that was chosen": loose(
        looking([1, 0, 1, 0, 0, 0]), looking([1, 0, 1, 0, 1, 0]), 1, 1, LARGE,
    ),
    "dp-nas-one-sided": Case(
        stopping("dp-nas-one-sided", [0, 0], 3), stopping("dp-nas-one-sided", [1, 0], 3), 3, epsilon=LARGE,
    ),
    "dp-nas-one-sided, at the limit": loose(
        stopping("dp-nas-one-sided", [0], 5), stopping("dp-nas-one-sided", [1], 5), 3, 1, LARGE,
    ),
    "dp-nas-one-sided, second test": loose(
        stopping("dp-nas-one-sided", [0, 0], 6), stopping("dp-nas-one-sided", [1, 0], 6), 2, 1, LARGE,
    ),
}  # fmt: skip

CASES = {**MECHANISM_CASES, **ELIMINATION_CASES, **TEST_CASES, **INDEX_CASES, **RULE_CASES}


def about(case):
    """Return the mechanism, rule or policy of a case."""
    return case.split(", ")[0]
