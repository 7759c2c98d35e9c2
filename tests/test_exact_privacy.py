"""Privacy without statistics: whole output distributions on tiny neighbouring inputs.

Each check runs the real object on every combination of small noises. The same checks are then run on
objects with a planted bug, and must fail.
"""

import math

import pytest

import discreet
from discreet import AboveThreshold, BinaryTreeCounter, HybridCounter, LaplaceMechanism
from discreet.noise import Reserve
from discreet.testing import coarse_grid, worst_loss

EPSILON = 2.0
TIGHT = 1e-9


def laplace(total):
    return lambda noise: LaplaceMechanism(1, EPSILON, noise).release(total)


def sparse(queries):
    def run(noise):
        mechanism = AboveThreshold(1, EPSILON, noise)
        return next((k for k, query in enumerate(queries) if mechanism.test(query, 1)), None)

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


def dp_se(first, second=None):
    """Released totals and surviving arms after one or two epochs."""

    def run(noise):
        with coarse_grid():
            policy = discreet.DPSuccessiveElimination(["A", "B"], epsilon=EPSILON, beta=0.5, noise=noise)
        for totals in (first, second) if second else (first,):
            policy.plan()
            policy.close(dict(zip("AB", totals, strict=True)))
        return tuple(entry.units for entry in policy.ledger), policy.viable

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


def svt_elimination(name, test, totals):
    """What a withdrawn variant says and releases at its given test, when it has not halted before."""

    def run(noise):
        with coarse_grid():
            policy = discreet.make_policy(name, ["A", "B"], epsilon=EPSILON, beta=0.9, noise=noise)
        policy.plan()
        policy._sparse.tests = test - 1  # as if the tests before had all said no
        policy._planned = None
        policy.plan()
        policy.close(dict(zip("AB", totals, strict=True)))
        return tuple((entry.what, entry.units) for entry in policy.ledger), policy.viable

    return run


def stopping(name, samples):
    """When a rule halts and what it then releases; the range [5, 6] makes halting likely at once."""

    def run(noise):
        with coarse_grid():
            rule = discreet.make_rule(name, epsilon=2 * EPSILON, alpha=0.99, beta=0.99, low=5, high=6, noise=noise)
        result = rule.run(samples)
        return result.samples, result.reached, rule.ledger[-1].units

    return run


CASES = {
    # name: (run, neighbour, epsilon, reach, shift, whether the bound is met with equality)
    "laplace": (laplace(5), laplace(6), EPSILON, 8, 1, True),
    "sparse vector": (sparse([0, 1, 0]), sparse([1, 0, 1]), EPSILON, 4, 2, False),
    "sparse vector, long": (sparse([1, 1, 1, 1]), sparse([2, 2, 2, 2]), EPSILON, 3, 2, False),
    "tree": (tree([0, 1, 1]), tree([1, 1, 1]), EPSILON, 3, 1, True),
    "hybrid": (hybrid([0, 1, 1, 1]), hybrid([0, 1, 0, 1]), EPSILON, 3, 1, True),
    "dp-se": (dp_se((200, 160)), dp_se((201, 160)), EPSILON, 8, 1, True),
    "dp-se, two epochs": (
        dp_se((200, 200), (800, 700)), dp_se((200, 200), (800, 699)), EPSILON, 3, 1, True,
    ),
    "dp-ucb": (
        stepwise("dp-ucb", [0, 1, 1], horizon=3), stepwise("dp-ucb", [1, 1, 1], horizon=3), EPSILON, 2, 1, False,
    ),
    "dp-ucb-hybrid": (
        stepwise("dp-ucb-hybrid", [1, 0, 1, 1, 0, 1], 20.0), stepwise("dp-ucb-hybrid", [1, 0, 1, 0, 0, 1], 20.0),
        20.0, 0, 1, True,
    ),
    "dp-se-modified": (
        svt_elimination("dp-se-modified", 7, (100, 22)), svt_elimination("dp-se-modified", 7, (100, 21)),
        EPSILON, 3, 2, False,
    ),
    "dp-se-svt": (
        svt_elimination("dp-se-svt", 10, (760, 34)), svt_elimination("dp-se-svt", 10, (760, 33)), EPSILON, 3, 2, False,
    ),
    "dp-exp-nas": (
        stopping("dp-exp-nas", [5, 6, 5, 6]), stopping("dp-exp-nas", [6, 6, 5, 6]), 2 * EPSILON, 2, 2, False,
    ),
    "dp-nas": (stopping("dp-nas", [5, 6]), stopping("dp-nas", [6, 6]), 2 * EPSILON, 3, 2, False),
}  # fmt: skip


def loss(case):
    run, neighbour, _, reach, shift, _ = CASES[case]
    return worst_loss(run, neighbour, reach, shift)


@pytest.mark.parametrize("case", CASES)
def test_the_worst_log_ratio_is_at_most_epsilon(case):
    epsilon, equality = CASES[case][2], CASES[case][5]
    measured = loss(case)
    assert measured <= epsilon + TIGHT
    assert measured > 0.1 * epsilon  # the inputs differ where it matters
    if equality:
        assert measured == pytest.approx(epsilon, abs=1e-6)


# ---------------------------------------------------------------------- planted bugs


def halved_sensitivity(monkeypatch):
    """The scale is computed for half of what one reward can change."""
    import discreet.noise

    honest = discreet.noise.scale_for
    for module in ("laplace", "above_threshold", "binary_tree", "hybrid"):
        monkeypatch.setattr(f"discreet.mechanisms.{module}.scale_for", lambda d, epsilon: honest(d, epsilon) / 2)


def shared_noise(monkeypatch):
    """One noise for all arms of an epoch, as in a public implementation."""

    def take(self):
        self.prepare(1)
        return self._ready[0]

    monkeypatch.setattr(Reserve, "take", take)


def natural_logarithm(monkeypatch):
    """ln T levels instead of log2 T, as in public implementations."""
    honest = BinaryTreeCounter.__init__

    def init(self, horizon, sensitivity, epsilon, noise=None):
        honest(self, horizon, sensitivity, epsilon, noise)
        self._reserve.scale *= math.log(2)

    monkeypatch.setattr(BinaryTreeCounter, "__init__", init)


def hybrid_spends_twice(monkeypatch):
    """Epsilon for each part of the hybrid counter, as in a public implementation."""

    def init(self, sensitivity, epsilon, noise=None):
        honest(self, sensitivity, 2 * epsilon, noise)

    honest = HybridCounter.__init__
    monkeypatch.setattr(HybridCounter, "__init__", init)


def no_threshold_noise(monkeypatch):
    """AboveThreshold compares with the bare threshold."""
    honest = AboveThreshold.__init__

    def init(self, sensitivity, epsilon, noise=None):
        honest(self, sensitivity, epsilon, noise)
        self._threshold_noise = 0

    monkeypatch.setattr(AboveThreshold, "__init__", init)


def no_query_noise(monkeypatch):
    """AboveThreshold perturbs the threshold only."""
    monkeypatch.setattr(Reserve, "take", lambda self: 0)


def first_pull_bare(monkeypatch):
    """The first reward of every arm is used without noise, as in public implementations."""
    honest = BinaryTreeCounter._add

    def add(self, item):
        if self.count == 0:
            self._reserve.prepare(1)
            self._reserve._ready[0] = 0
        return honest(self, item)

    monkeypatch.setattr(BinaryTreeCounter, "_add", add)


BUGS = {
    halved_sensitivity: [
        "laplace",
        "sparse vector",
        "tree",
        "dp-se",
        "dp-ucb",
        "dp-se-modified",
        "dp-exp-nas",
        "dp-nas",
    ],
    shared_noise: ["dp-se", "tree"],
    natural_logarithm: ["tree"],
    hybrid_spends_twice: ["hybrid", "dp-ucb-hybrid"],
    no_threshold_noise: ["sparse vector, long"],
    no_query_noise: ["sparse vector", "dp-se", "dp-exp-nas"],
    first_pull_bare: ["tree", "dp-ucb"],
}


@pytest.mark.parametrize(("bug", "case"), [(bug, case) for bug, cases in BUGS.items() for case in cases])
def test_planted_bugs_are_caught(monkeypatch, bug, case):
    bug(monkeypatch)
    assert loss(case) > CASES[case][2] + 1e-3
