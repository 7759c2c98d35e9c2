"""Joint evidence that an arm is better: by the formulas, by exact expectations, and its search against dense grids."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

from discreet.core.probability.evidence import noise_cost, reward_cost
from discreet.core.probability.lead_evidence import alone, evidence_at, factor, lead_evidence

FINE = 2**20


def by_formula(x, total, count, noises, other, rest, others, epsilon):
    """The evidence at a shared mean, written from docs/proofs/evidence-best-arm.md."""
    sizes = 40 / min(epsilon, 1) * 4.0 ** np.arange(19)
    sizes, cap = sizes[sizes <= 100 * (count + rest)], min(0.85 * epsilon, 3)
    weights = np.array([0.8 / 7] * 7 + [0.1 / 12] * 12)[: sizes.size]
    joint = 1 / (np.sqrt(x * (1 - x) + 4 / (sizes * epsilon**2)) * np.sqrt(sizes) / 3.2 + 1 / cap)
    single = cap * 0.02 ** (np.arange(8) / 7)

    def above(s):
        return s * total - count * reward_cost(s, x) - noises * noise_cost(s, epsilon, FINE)

    def below(s):
        return -s * other - rest * reward_cost(-s, x) - others * noise_cost(s, epsilon, FINE)

    terms = [above(joint) + below(joint), above(single), below(single)]
    return logsumexp(np.concatenate(terms), b=np.concatenate([weights, np.full(16, 0.1 / 16)]))


def pairs(count, seed):
    """Pairs of totals such as searches have, some with much noise."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        epsilon = math.exp(rng.uniform(math.log(0.02), math.log(8)))
        size = int(math.exp(rng.uniform(math.log(20), math.log(1e6))))
        rest = 1 + int(size * math.exp(rng.uniform(-1.5, 1.5)))
        mean = rng.random() ** rng.choice([1, 4])
        spread = math.sqrt(mean * (1 - mean) / min(size, rest) + 2 / (epsilon * min(size, rest)) ** 2)
        low = max(mean * 0.3, mean - rng.uniform(0, 6) * spread)
        noises = [int(each) for each in rng.integers(1, 12, 2)]
        totals = [rng.binomial(n, p) + rng.laplace(0, 1 / epsilon, m).sum()
                  for n, p, m in zip((size, rest), (mean, low), noises, strict=True)]  # fmt: skip
        yield totals[0], size, noises[0], totals[1], rest, noises[1], epsilon


def test_evidence_at_a_mean_is_the_formula():
    rng = np.random.default_rng(1)
    for total, count, noises, other, rest, others, epsilon in pairs(60, 2):
        for x in (0.0, rng.random(), 1.0):
            found = evidence_at(x, total, count, noises, rest - other, rest, others, epsilon)
            assert found == pytest.approx(by_formula(x, total, count, noises, other, rest, others, epsilon), abs=1e-6)


def test_the_least_evidence_is_found():
    some = 0
    for total, count, noises, other, rest, others, epsilon in pairs(150, 3):
        found = lead_evidence(total, count, noises, other, rest, others, epsilon)
        near = np.linspace(min(total / count, other / rest), max(total / count, other / rest), 150)
        tried = np.clip(np.concatenate([np.linspace(0, 1, 100), near]), 0, 1)
        below = rest - other
        least = min(evidence_at(x, total, count, noises, below, rest, others, epsilon) for x in tried.tolist())
        assert found <= max(0.0, least) + 1e-4 * max(1.0, least)
        if total / count > other / rest:
            assert found >= least - 0.3
            some += least > 1
    assert some > 30


@pytest.mark.parametrize(
    "seen",
    [
        (4.278048, 73, 1, 435.221, 435221, 14, 5.0),
        (60.17042, 343, 11, 4453.81455, 129380, 9, 2.900471),
        (882.493108, 890, 12, 2398.932376, 48026, 13, 0.983826),
        (13576.36814, 20721, 11, 32.097395, 239, 14, 5.87121),
    ],
)
def test_the_least_evidence_of_unequal_counts_is_found_but_for_the_slack(seen):
    total, count, noises, other, rest, others, epsilon = seen
    between = np.linspace(other / rest, total / count, 3000)
    tried = np.concatenate([between, np.geomspace(1e-9, 1, 1000), np.linspace(0, 1, 500)])
    least = min(evidence_at(x, total, count, noises, rest - other, rest, others, epsilon) for x in tried.tolist())
    assert 0.999 * least - 0.01 < lead_evidence(*seen) <= least


def test_evidence_of_one_arm_alone_falls():
    values = [alone(300.0, 1000, 3, x, 0.5) for x in np.linspace(0, 1, 101).tolist()]
    assert all(later < earlier for earlier, later in itertools.pairwise(values))


def law(count, mean, epsilon):
    """Totals of a block on a grid of one step, and their chances."""
    reach = math.ceil(34 / epsilon)
    noise = math.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(np.arange(-reach, reach + 1)))
    return np.arange(-reach, count + reach + 1), np.convolve(binom.pmf(np.arange(count + 1), count, mean), noise)


def expected(mean, count, rest, epsilon, evidence):
    """The expectation of the evidence at the mean that both arms have."""
    (ours, chances), (theirs, others) = law(count, mean, epsilon), law(rest, mean, epsilon)
    values = [[math.exp(evidence(mean, float(t), count, 1, rest - float(o), rest, 1, epsilon)) for o in theirs.tolist()]
              for t in ours.tolist()]  # fmt: skip
    return float(chances @ np.array(values) @ others)


@pytest.mark.parametrize(("mean", "count", "rest", "epsilon"), [(0.5, 8, 5, 1.0), (0.03, 6, 12, 2.0), (0.9, 5, 5, 0.7)])
def test_evidence_is_at_most_one_on_average(mean, count, rest, epsilon):
    """Exactly, by all totals that may come. Sizes that are left out are what is missing to 1."""
    assert 0.4 < expected(mean, count, rest, epsilon, evidence_at) <= 1


def expected_factor(stake, count, mean, supposed, epsilon, noises=1):
    """The expectation of a factor against a supposed mean, for one block of a true mean."""
    totals, chances = law(count, mean, epsilon)
    return float(
        chances @ np.exp([factor(stake, total, count, noises, supposed, epsilon) for total in totals.tolist()])
    )


@pytest.mark.parametrize(("mean", "epsilon"), [(0.5, 1.0), (0.03, 2.0), (0.9, 0.3)])
def test_a_factor_is_at_most_one_on_average_and_an_error_makes_it_more(mean, epsilon):
    for stake in (0.1 * epsilon, 0.5 * epsilon, 0.85 * epsilon):
        assert 0.5 < expected_factor(stake, 20, mean, mean, epsilon) <= 1 + 1e-9
        assert expected_factor(stake, 20, 0.9 * mean, mean, epsilon) < expected_factor(stake, 20, mean, mean, epsilon)
    assert expected_factor(0.5 * epsilon, 20, mean, mean, epsilon, noises=0) > 1
    assert expected_factor(0.5 * epsilon, 200, mean, 0.6 * mean, epsilon) > 1
