"""Privacy without statistics: whole output distributions on tiny neighbouring inputs.

Each check runs the real object on every combination of small noises. The same checks are then run on
objects with a planted bug (tests/_tools/mutants.py), and must fail.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

import discreet
from discreet import (
    AboveThreshold,
    Bandit,
    BinaryTreeCounter,
    FinishedError,
    HybridCounter,
    LaplaceMechanism,
    PrefixSumAboveThreshold,
    mechanisms,
)
from discreet.audit.mechanisms import MECHANISMS as AUDITED
from discreet.testing import ScriptedNoise, coarse_grid, worst_loss
from tests._tools import examples
from tests._tools.mutants import MUTANTS, planted

EPSILON = 2.0
LARGE = 8.0  # keeps the several noises of composed mechanisms within a small reach
TIGHT = 1e-9


def laplace(total):
    return lambda noise: LaplaceMechanism(1, EPSILON, noise).release(total)


def reloaded(first, second):
    """Two totals, with a saved state in between."""

    def run(noise):
        mechanism = LaplaceMechanism(1, EPSILON, noise)
        released = mechanism.release(first)
        again = LaplaceMechanism(1, EPSILON, noise)
        again._restore(mechanism._state())
        return released, again.release(second)

    return run


def sparse(queries, epsilon=EPSILON):
    """Every answer, with an attempt to go on after the first yes."""

    def run(noise):
        mechanism, answers = AboveThreshold(1, epsilon, noise), []
        for query in queries:
            try:
                answers.append(mechanism.test(query, 1))
            except FinishedError:
                break
        return tuple(answers)

    return run


def prefix(bits, thresholds, kind=PrefixSumAboveThreshold):
    """The first test that says yes, of one after each bit."""

    def run(noise):
        mechanism = kind(1, EPSILON, noise)
        for k, (bit, threshold) in enumerate(zip(bits, thresholds, strict=True)):
            mechanism.add(bit)
            if mechanism.test(threshold):
                return k
        return None

    return run


def counter(kind, bits):
    def run(noise):
        made = kind(noise)
        return tuple(made.add(bit).units for bit in bits)

    return run


def tree(bits):
    return counter(lambda noise: BinaryTreeCounter(len(bits), 1, EPSILON, noise), bits)


def hybrid(bits):
    return counter(lambda noise: HybridCounter(1, EPSILON, noise), bits)


def dp_se(first, second=None, name="dp-se"):
    """Released totals, surviving arms and the leader after one or two epochs."""

    def run(noise):
        with coarse_grid():
            policy = discreet.make_policy(name, ["A", "B"], epsilon=EPSILON, beta=0.5, noise=noise)
        for totals in (first, second) if second else (first,):
            policy.plan()
            policy.close(dict(zip("AB", totals, strict=True)))
        return tuple(entry.units for entry in policy.ledger), policy.viable, policy.best_arm

    return run


def person(*epochs, name="dp-se-person"):
    """What elimination for people releases and plans. A person of the neighbour has another reward in every epoch."""

    def run(noise):
        with coarse_grid():
            policy = discreet.make_policy(name, ["A", "B"], epsilon=EPSILON, beta=0.9, noise=noise)
        plans = []
        for totals in epochs:
            plan = policy.plan()
            plans.append(tuple(plan.pulls.items()) if plan else ())
            if policy.settled:
                break
            policy.close(dict(zip("AB", totals, strict=True)))
        return tuple(plans), tuple(entry.units for entry in policy.ledger), policy.viable, policy.best_arm

    return run


def sharp(*epochs, name="dp-se-sharp"):
    """What the elimination with sharp constants releases and decides, and how often it then pulls the arms."""

    def run(noise):
        with coarse_grid():
            policy = discreet.make_policy(name, ["A", "B"], epsilon=EPSILON, beta=0.5, window=2, noise=noise)
        for totals in epochs:
            if policy.settled:
                break
            policy.plan()
            policy.close(dict(zip("AB", totals, strict=True)))
        plan = policy.plan()
        return tuple(entry.units for entry in policy.ledger), policy.viable, tuple(plan.pulls.items()) if plan else ()

    return run


def stepwise(name, rewards, epsilon=EPSILON, **options):
    """The arms that an index policy pulls, and all it releases, when pull number t pays rewards[t]."""

    def run(noise):
        with coarse_grid():
            policy = discreet.make_policy(name, ["A", "B"], epsilon=epsilon, noise=noise, **options)
        arms = []
        for reward in rewards:
            (arm,) = policy.plan().pulls
            arms.append(arm)
            policy.close({arm: reward})
        return tuple(arms), tuple(entry.units for entry in policy.ledger)

    return run


def batched(name, *totals, epsilon=EPSILON, **options):
    """The arms that a batched policy pulls, and all it releases: the first batches of both arms, then one at a time."""

    def run(noise):
        with coarse_grid():
            policy = discreet.make_policy(name, ["A", "B"], epsilon=epsilon, noise=noise, **options)
        arms = []
        for total in totals:
            pulls = policy.plan().pulls
            arms.append(tuple(pulls))
            policy.close(dict.fromkeys(pulls, total) if len(pulls) == 1 else dict(zip("AB", total, strict=True)))
        return tuple(arms), tuple(entry.units for entry in policy.ledger)

    return run


def lazy(name, changed=None, epochs=2, later=False, **options):
    """The pulls that a lazy policy plans and all it releases, when A pays 1 but at pull number `changed` and B nothing.

    `later`: begins with blocks of 4 and of 1 behind it, and so that by the index A is overtaken within its block of 8.
    """

    def run(noise):
        with coarse_grid():
            policy = discreet.make_policy(name, ["A", "B"], epsilon=EPSILON, noise=noise, **options)
        if later:
            policy._totals, policy._counts, policy._pulls, policy.time = [12, -1], [4, 1], [7, 1], 8
        plans = []
        for _ in range(epochs):
            past, pulls = policy.pulls, policy.plan().pulls
            plans.append(tuple(pulls.items()))
            paid = {"A": pulls.get("A", 0) - (past["A"] < (changed or 0) <= past["A"] + pulls.get("A", 0)), "B": 0}
            policy.close({arm: paid[arm] for arm in pulls})
        return tuple(plans), tuple(entry.units for entry in policy.ledger)

    return run


def paired(*totals):
    """What a paired policy pulls and releases: two arms in turn, and in between its leader alone, which it ignores."""

    def run(noise):
        with coarse_grid():
            policy = discreet.DPPairedIMED(["A", "B"], epsilon=EPSILON, noise=noise, first_batch=1)
        arms = []
        for total in totals:
            while not (plan := policy.plan()).learns:
                arms.append(tuple(plan.pulls))
                policy.close()
            arms.append(tuple(plan.pulls))
            policy.close({arm: total["AB".index(arm)] for arm in plan.pulls})
        return tuple(arms), tuple(entry.units for entry in policy.ledger), policy.best_arm

    return run


def svt_elimination(name, test, above, more=0):
    """What a withdrawn variant says and releases at its given test, when it has not halted before.

    The spread of the totals is the threshold rounded down, plus `above`; neighbours differ by one in A's total.
    """

    def run(noise):
        with coarse_grid():
            policy = discreet.make_policy(name, ["A", "B"], epsilon=LARGE, beta=0.9, noise=noise)
        spread = math.floor(policy.halting_threshold(2**test, 2, test)) + above
        policy.plan()
        policy._sparse.tests = test - 1  # as if the tests before had all said no
        policy._open = None
        policy.plan()
        policy.close({"A": spread + 5 + more, "B": 5})
        return tuple((entry.what, entry.units) for entry in policy.ledger), policy.viable

    return run


def stopping(name, samples, low):
    """When a rule halts and what it then releases; samples are counted from `low`, which puts tests near halting."""

    def run(noise):
        with coarse_grid():
            rule = discreet.make_rule(name, epsilon=LARGE, alpha=0.99, beta=0.99, low=low, high=low + 1, noise=noise)
        result = rule.run(np.array(samples) + low)
        return result.samples, result.reached, rule.ledger[-1].units

    return run


def released(name, samples, low=0):
    """What a rule releases in blocks of two samples, and when it halts: with `low` > 0 at once, if noises allow it."""

    def run(noise):
        with coarse_grid():
            rule = discreet.make_rule(
                name, epsilon=EPSILON, alpha=0.5, beta=0.5, low=low, high=low + 1, window=1, noise=noise
            )
        rule._ends = tuple(range(0, 2 * len(samples), 2))
        result = rule.run(np.array(samples, dtype=float) + low)
        return result.samples, result.reached, tuple(entry.units for entry in rule.ledger)

    return run


def phases(name, *totals):
    """Guess and double over two phases of one pull of each arm: what each epoch pays, of one arm or of both."""

    def run(noise):
        with coarse_grid():
            policy = discreet.GuessAndDouble(["A", "B"], policy=name, epsilon=EPSILON, first_guess=4, noise=noise)
            for total in totals:
                pulls = policy.plan().pulls
                policy.close(dict(zip(pulls, total if len(pulls) > 1 else [total], strict=True)))
        return tuple(entry.units for entry in policy.ledger)

    return run


def tickets(*answers):
    """What is released by ask and tell, when of the first batches of A these tickets are answered with 1."""

    def run(noise):
        with coarse_grid():
            policy = discreet.DPIMED(["A", "B"], epsilon=EPSILON, first_batch=2, noise=noise)
        bandit = Bandit(policy, default_reward=0.0, seed=1)
        asked = bandit.ask(4)
        for number in answers:
            bandit.tell([ticket for ticket in asked if ticket.arm == "A"][number], 1.0)
        bandit.expire()
        return tuple(entry.units for entry in bandit.ledger), bandit.best_arm

    return run


CASES = {
    # name: (run, neighbour, epsilon, reach, shift, whether the bound is met with equality)
    "laplace": (laplace(5), laplace(6), EPSILON, 8, 1, True),
    "laplace, reloaded": (reloaded(5, 1), reloaded(5, 0), EPSILON, 4, 1, True),
    "above-threshold": (sparse([0, 1, 0]), sparse([1, 0, 1]), EPSILON, 4, 2, False),
    "above-threshold, long": (sparse([1, 1, 1, 1]), sparse([2, 2, 2, 2]), EPSILON, 3, 2, False),
    "above-threshold, back and forth": (sparse([0, 0, 0, 2]), sparse([1, 1, 1, 1]), EPSILON, 2, 2, False),
    "above-threshold, no and yes": (sparse([1, 0, 1, 0], LARGE), sparse([2, -1, 2, -1], LARGE), LARGE, 1, 2, False),
    "prefix-above-threshold, no yes": (prefix([0], [0]), prefix([1], [0]), EPSILON, 8, 1, True),
    "prefix-above-threshold, first test": (prefix([0], [2]), prefix([1], [2]), EPSILON, 8, 1, True),
    "prefix-above-threshold, second test": (prefix([0, 1], [0, 1]), prefix([1, 1], [0, 1]), EPSILON, 6, 1, False),
    "prefix-above-threshold, after a no": (prefix([0, 0], [0, 0]), prefix([0, 1], [0, 0]), EPSILON, 6, 1, False),
    "prefix-above-threshold, long": (
        prefix([1, 0, 1, 0], [2, 2, 3, 3]), prefix([1, 1, 1, 0], [2, 2, 3, 3]), EPSILON, 3, 1, False,
    ),
    "binary-tree": (tree([0, 1, 1]), tree([1, 1, 1]), EPSILON, 3, 1, True),
    "hybrid-counter": (hybrid([0, 1, 1, 1]), hybrid([0, 1, 0, 1]), EPSILON, 3, 1, True),
    "dp-se": (dp_se((200, 160)), dp_se((201, 160)), EPSILON, 8, 1, True),
    "dp-se, two epochs": (
        dp_se((200, 200), (800, 700)), dp_se((200, 200), (800, 699)), EPSILON, 3, 1, True,
    ),
    "dp-se, first of two epochs": (
        dp_se((200, 200), (800, 700)), dp_se((201, 200), (800, 700)), EPSILON, 1, 1, True,
    ),
    "dp-se, a tie": (dp_se((200, 200)), dp_se((200, 201)), EPSILON, 8, 1, True),
    "dp-bai": (dp_se((200, 160), name="dp-bai"), dp_se((201, 160), name="dp-bai"), EPSILON, 8, 1, True),
    **{
        f"{name}, {where}": (person(*inputs, name=name), person(*others, name=name), EPSILON, reach, 1, False)
        for name, lead in (("dp-se-person", 50), ("dp-se-sharp-person", 12))  # at which the noises of epoch 1 decide
        for where, inputs, others, reach in (
            ("one epoch", [(52, 52 - lead)], [(53, 52 - lead)], 8),
            ("two epochs", [(52, 52), (99, 98)], [(53, 52), (99, 99)], 1),
            ("two epochs if noises allow it", [(52, 52 - lead), (99, 98)], [(53, 52 - lead), (98, 98)], 1),
            ("three epochs", [(52, 52), (99, 99), (99, 99)], [(53, 52), (99, 98), (98, 99)], 0),
        )
    },
    "dp-imed, by tickets": (tickets(0), tickets(), EPSILON, 4, 1, True),
    "dp-se-sharp": (sharp((10, 3)), sharp((10, 4)), EPSILON, 8, 1, True),
    "dp-se-sharp, first of two epochs": (
        sharp((8, 4), (4, 2)), sharp((9, 4), (4, 2)), EPSILON, 1, 1, True,
    ),
    "dp-se-sharp, second of two epochs": (
        sharp((8, 4), (4, 2)), sharp((8, 4), (4, 3)), EPSILON, 1, 1, True,
    ),
    "dp-bai-sharp": (
        sharp((10, 3), name="dp-bai-sharp"), sharp((10, 4), name="dp-bai-sharp"), EPSILON, 8, 1, True,
    ),
    "dp-ucb": (
        stepwise("dp-ucb", [0, 1, 1], horizon=3), stepwise("dp-ucb", [1, 1, 1], horizon=3), EPSILON, 2, 1, False,
    ),
    "dp-ucb-hybrid": (
        stepwise("dp-ucb-hybrid", [1, 0, 1, 1, 0, 1], 20.0), stepwise("dp-ucb-hybrid", [1, 0, 1, 0, 0, 1], 20.0),
        20.0, 0, 1, True,
    ),
    **{
        f"{name}, {where}": (
            batched(name, (1, 0), 1, **options), batched(name, *changed, **options), EPSILON, 3, 1, True,
        )
        for name, options in (
            ("adap-ucb", {}), ("adap-klucb", {}), ("dp-klucb", {}), ("dp-imed", {"first_batch": 1}),
            ("dp-chernoff-imed", {"first_batch": 1}),
        )
        for where, changed in (("first batch", ((0, 0), 1)), ("second batch", ((1, 0), 0)))
    },
    **{
        f"{name}, {where}": (lazy(name, **options), lazy(name, changed, **options), EPSILON, 1, 1, True)
        for name, more in (("lazy-ucb", {}), ("lazy-dp-ts", {"seed": 3}))
        for where, changed, options in (
            ("first block", 1, more),
            ("second block", 3, {"epochs": 3, **more}),
            ("a block of several epochs", 8, {"later": True, **more}),
        )
    },
    "dp-paired-imed": (
        paired((0, 0), (1, 0)), paired((0, 0), (1, 1)), EPSILON, 2, 1, True,
    ),
    "guess-and-double": (
        phases("dp-ucb", 0, 1, 1, 1), phases("dp-ucb", 0, 1, 0, 1), EPSILON, 1, 1, False,
    ),
    "guess-and-double, batches": (
        phases("adap-ucb", (0, 1), (1, 1)), phases("adap-ucb", (0, 1), (0, 1)), EPSILON, 1, 1, True,
    ),
    "dp-se-modified": (
        svt_elimination("dp-se-modified", 7, 0), svt_elimination("dp-se-modified", 7, 0, more=1), LARGE, 1, 2, False,
    ),
    "dp-se-svt": (
        svt_elimination("dp-se-svt", 10, 0), svt_elimination("dp-se-svt", 10, 0, more=1), LARGE, 1, 2, False,
    ),
    **{
        f"{name}, {where}": (released(name, *inputs), released(name, *others), EPSILON, reach, 1, True)
        for name, reach in (("dp-nas-released", 3), ("dp-bernstein", 2))
        for where, inputs, others in (
            ("first block", ([0, 1, 0, 0],), ([0, 0, 0, 0],)),
            ("second block", ([0, 1, 0, 0],), ([0, 1, 1, 0],)),
            ("halting", ([1, 0], 8), ([0, 0], 8)),
        )
    },
    "dp-exp-nas": (stopping("dp-exp-nas", [0, 1], 4), stopping("dp-exp-nas", [1, 1], 4), LARGE, 2, 2, False),
    "dp-nas": (stopping("dp-nas", [0], 8), stopping("dp-nas", [1], 8), LARGE, 2, 2, False),
    "dp-nas, second sample": (stopping("dp-nas", [0, 0], 4), stopping("dp-nas", [0, 1], 4), LARGE, 3, 2, False),
    "dp-nas-one-sided": (
        stopping("dp-nas-one-sided", [0, 0], 3), stopping("dp-nas-one-sided", [1, 0], 3), LARGE, 4, 1, True,
    ),
    "dp-nas-one-sided, at the limit": (
        stopping("dp-nas-one-sided", [0], 5), stopping("dp-nas-one-sided", [1], 5), LARGE, 4, 1, False,
    ),
    "dp-nas-one-sided, second test": (
        stopping("dp-nas-one-sided", [0, 0], 6), stopping("dp-nas-one-sided", [1, 0], 6), LARGE, 3, 1, False,
    ),
}  # fmt: skip


def about(case):
    """The mechanism, rule or policy of a case."""
    return case.split(", ")[0]


def loss(case):
    run, neighbour, _, reach, shift, _ = CASES[case]
    return worst_loss(run, neighbour, reach, shift)


@pytest.mark.shown
@pytest.mark.parametrize("case", CASES)
def test_the_worst_log_ratio_is_at_most_epsilon(case, page):
    epsilon, equality = CASES[case][2], CASES[case][5]
    measured = loss(case)
    page("Privacy", algorithm=about(case), exact=measured / epsilon)
    assert measured <= epsilon + TIGHT
    assert measured > 0.1 * epsilon  # the inputs differ where it matters
    if equality:
        assert measured == pytest.approx(epsilon, abs=1e-6)


@pytest.mark.parametrize(("name", "kept"), [("dp-se-person", 1 / 2), ("dp-se-sharp-person", 2 / 3)])
def test_a_person_pays_for_every_epoch_and_never_all_of_epsilon(name, kept):
    """Epochs cost epsilon (1 - kept^m) together: all of what composition allows is really lost."""
    cases = {"one epoch": 1, "two epochs": 2, "two epochs if noises allow it": 2, "three epochs": 3}
    for case, epochs in cases.items():
        assert loss(f"{name}, {case}") == pytest.approx(EPSILON * (1 - kept**epochs), abs=1e-6)


@pytest.mark.parametrize("name", ["lazy-ucb", "lazy-dp-ts"])
def test_a_block_of_several_epochs_is_one(name):
    """What that case is about: a changed reward that is told in one epoch and released in the next."""
    _, run, *_ = CASES[f"{name}, a block of several epochs"]
    (first, second), units = run(ScriptedNoise([]))
    assert first[0][0] == "A"
    assert 0 < dict(first)["A"] < 8 == dict(first)["A"] + dict(second)["A"]
    assert units == (0, 7)


def telling():
    """Bugs and cases, so many that each bug is there and each algorithm; the studies have all of them."""
    bugs, algorithms = set(), set()
    for bug in MUTANTS:
        for case in bug.exact:
            if bug.name not in bugs or about(case) not in algorithms:
                bugs.add(bug.name)
                algorithms.add(about(case))
                yield pytest.param(bug, case, id=f"{bug.name} in {case}")


@pytest.mark.parametrize(("bug", "case"), list(telling()))
def test_planted_bugs_are_caught(bug, case):
    with planted(bug):
        assert loss(case) > CASES[case][2] + 1e-3


def test_prefix_sums_are_private_on_all_pairs_of_bits_at_all_thresholds_near_them():
    """Every neighbour of every two bits; some pair spends all of epsilon."""
    most = 0.0
    for bits, place in itertools.product(itertools.product((0, 1), repeat=2), (0, 1)):
        changed = [bit ^ (k == place) for k, bit in enumerate(bits)]
        for thresholds in itertools.product((-1, 0, 1, 2), repeat=2):
            most = max(most, worst_loss(prefix(bits, thresholds), prefix(changed, thresholds), 2, 1))
            assert most <= EPSILON + TIGHT
    assert most == pytest.approx(EPSILON, abs=1e-3)


def test_prefix_sums_protect_a_changed_item_and_not_a_missing_one():
    """Without the first of 0, 1, 0 the first sum rises and the second stays: the documented limit of the proof."""
    whole, without = prefix([0, 1], [0, 4]), prefix([1, 0], [0, 4])
    assert EPSILON + 1 < worst_loss(whole, without, 6, 2) <= 2 * EPSILON + TIGHT


# ---------------------------------------------------------------------- nobody is left out


def private_algorithms():
    return sorted(name for name in (*discreet.POLICIES, *discreet.RULES) if examples.is_private(name))


@pytest.mark.parametrize("name", [*examples.MECHANISMS, *private_algorithms()])
def test_everything_private_has_an_exact_case(name):
    assert name in map(about, CASES), f"add a case named {name!r} to CASES"


@pytest.mark.parametrize("name", [*examples.MECHANISMS, *private_algorithms()])
def test_everything_private_has_a_mutant_that_its_case_catches(name):
    caught = {about(case) for bug in MUTANTS for case in bug.exact}
    assert name in caught, f"name a case of {name!r} in tests/_tools/mutants.py"


def test_no_mechanism_is_left_out():
    shared = ("Counter", "Node")  # by two of them
    kinds = {getattr(mechanisms, name) for name in mechanisms.__all__ if name not in shared}
    kinds = {kind for kind in kinds if isinstance(kind, type)}
    assert kinds == {type(make()) for make in examples.MECHANISMS.values()}, "add it to tests/_tools/examples.py"
    assert set(examples.MECHANISMS) == set(AUDITED), "add it to discreet.audit.mechanisms"


@pytest.mark.parametrize("name", [*discreet.POLICIES, *discreet.RULES])
def test_whatever_claims_an_epsilon_has_noise(name):
    """So that nothing that claims to be private is left out here."""
    made = examples.policy(name) if name in discreet.POLICIES else examples.rule(name)
    assert examples.is_private(name) == math.isfinite(made.privacy.epsilon)


# ---------------------------------------------------------------------- the scales of the proofs


class Asked:
    """Noise of zeros that remembers every scale it was asked for."""

    simulated = True

    def __init__(self):
        self.scales = set()

    def draws(self, scale, count):
        self.scales.add(scale)
        return np.zeros(count, dtype=np.int64)


def scales_of(name):
    """The scales that a rule or policy asks for in a short life, in units of one full reward over epsilon."""
    noise = Asked()
    if name in discreet.RULES:
        made = examples.rule(name, noise=noise, epsilon=0.5)
        made.feed(np.ones(300))
    else:
        options = {"preset": "mishra-thakurta-2015"} if name == "mishra-thakurta-2015" else {}
        made = examples.policy("dp-ucb" if options else name, noise=noise, epsilon=0.5, **options)
        for _ in range(8):
            if plan := made.plan():
                made.close({arm: count * made.grid.width for arm, count in plan.pulls.items()})
    return {round(scale * 0.5 / made.grid.width, 5) for scale in noise.scales}


def one_sided_scales(alpha, beta):
    """1/x and 1/(1 - x) for the share x of epsilon that makes ln(8/beta)/x + ln(4/beta)/(alpha (1 - x)) least."""
    tests, release = math.log(8 / beta), math.log(4 / beta) / alpha
    share = optimize.minimize_scalar(lambda x: tests / x + release / (1 - x), bounds=(0.01, 0.99), method="bounded",
                                     options={"xatol": 1e-12}).x  # fmt: skip
    return {round(1 / share, 5), round(1 / (1 - share), 5)}


SCALES = {
    "dp-nas": {6, 2},  # 3 d/(epsilon/2) for the tests, d/(epsilon/2) for the release
    "dp-exp-nas": {6, 2},
    "dp-nas-released": {1},
    "dp-bernstein": {round(1 / 0.9, 5), 10},  # the total at nine tenths of epsilon, the squares at one
    "dp-nas-one-sided": one_sided_scales(alpha=0.5, beta=0.1),
    "dp-se-svt": {6, 2},
    "dp-se-modified": {6, 2},
    "dp-se": {1},
    "dp-bai": {1},
    "dp-se-sharp": {1},
    "dp-bai-sharp": {1},
    "dp-se-person": {2, 4, 8, 16},  # a half of epsilon, a quarter, and so on: four epochs fit into the horizon
    "dp-se-sharp-person": {round(3 * 1.5**epoch, 5) for epoch in range(5)},
    "adap-ucb": {1},
    "adap-klucb": {1},
    "dp-klucb": {1},
    "dp-imed": {1},
    "dp-chernoff-imed": {1},
    "dp-paired-imed": {1},
    "lazy-ucb": {1},
    "lazy-dp-ts": {1},
    "guess-and-double": {1},
    "dp-ucb": {11},  # floor(log2 2000) + 1 levels
    "mishra-thakurta-2015": {22},  # and two arms
    "dp-ucb-hybrid": {2, 4},  # blocks at epsilon/2; trees of one and of two levels at epsilon/2
}


@pytest.mark.parametrize(("name", "scales"), SCALES.items())
def test_every_noise_has_the_scale_of_the_proof(name, scales):
    assert scales_of(name) == scales


@pytest.mark.parametrize(
    ("bug", "name"), [pytest.param(bug, name, id=f"{bug.name} in {name}") for bug in MUTANTS for name in bug.scales]
)
def test_wrong_scales_are_noticed(bug, name):
    with planted(bug):
        assert scales_of(name) != SCALES[name]


@pytest.mark.parametrize("name", private_algorithms())
def test_every_private_algorithm_has_its_scales_written_down(name):
    assert name in SCALES
