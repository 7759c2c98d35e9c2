"""Privacy without statistics: whole output distributions on tiny neighbouring inputs.

Each check runs the real object on every combination of small noises. The same checks are then run on objects with a
planted bug (test_mutants.py), and must fail.
"""

import itertools
import math

import pytest

import discreet
from discreet.audit.mechanisms import MECHANISMS
from discreet.testing import ScriptedNoise, worst_loss
from tests._tools import examples
from tests._tools.exact_cases import CASES, EPSILON, about, prefix
from tests._tools.mutants import MUTANTS
from tests._tools.noise_scales import SCALES, scales_of

TIGHT = 1e-9
PRIVATE = sorted(name for name in (*discreet.POLICIES, *discreet.RULES) if examples.is_private(name))


@pytest.mark.shown
@pytest.mark.parametrize("name", CASES)
def test_the_worst_log_ratio_is_at_most_epsilon(name, page):
    case = CASES[name]
    measured = case.loss()
    page("Privacy", algorithm=about(name), exact=measured / case.epsilon)
    assert measured <= case.epsilon + TIGHT
    assert measured > 0.1 * case.epsilon  # the inputs differ where it matters
    if case.lost is not None:
        assert measured == pytest.approx(case.lost * case.epsilon, abs=1e-6)


@pytest.mark.parametrize("name", ["lazy-ucb", "lazy-dp-ts"])
def test_a_block_of_several_epochs_is_one(name):
    """What that case is about: a changed reward that is told in one epoch and released in the next."""
    (first, second), (releases, *_) = CASES[f"{name}, a block of several epochs"].neighbour(ScriptedNoise([]))
    assert first[0][0] == "A"
    assert 0 < dict(first)["A"] < 8 == dict(first)["A"] + dict(second)["A"]
    assert [steps for _, _, steps, *_ in releases] == [0, 7]


def test_prefix_sums_are_private_on_all_pairs_of_bits_at_all_thresholds_near_them():
    """Every neighbour of every two bits; some pair spends all of epsilon."""
    most = 0.0
    for bits, place in itertools.product(itertools.product((0, 1), repeat=2), (0, 1)):
        changed = [bit ^ (index == place) for index, bit in enumerate(bits)]
        for limits in itertools.product((-1, 0, 1, 2), repeat=2):
            most = max(most, worst_loss(prefix(bits, limits), prefix(changed, limits), 1, 1))
            assert most <= EPSILON + TIGHT
    assert most == pytest.approx(EPSILON, abs=1e-2)


def test_prefix_sums_protect_a_changed_item_and_not_a_missing_one():
    """Without the first of 0, 1, 0 the first sum rises and the second stays: the documented limit of the proof."""
    whole, without = prefix([0, 1], [0, 4]), prefix([1, 0], [0, 4])
    assert EPSILON + 1 < worst_loss(whole, without, 5, 2) <= 2 * EPSILON + TIGHT


# ---------------------------------------------------------------------- nobody is left out


@pytest.mark.parametrize("name", [*MECHANISMS, *PRIVATE])
def test_everything_private_has_an_exact_case(name):
    assert name in map(about, CASES), f"add a case named {name!r} to tests/_tools/exact_cases.py"


@pytest.mark.parametrize("name", [*MECHANISMS, *PRIVATE])
def test_everything_private_has_a_mutant_that_its_case_catches(name):
    caught = {about(case) for bug in MUTANTS for case in bug.exact}
    assert name in caught, f"name a case of {name!r} in tests/_tools/mutants.py"


@pytest.mark.parametrize("name", [*discreet.POLICIES, *discreet.RULES])
def test_whatever_claims_an_epsilon_is_private(name):
    """So that nothing that claims to be private is left out here."""
    made = examples.policy(name) if name in discreet.POLICIES else examples.rule(name)
    assert examples.is_private(name) == math.isfinite(made.privacy.epsilon) == made.privacy.promised


# ---------------------------------------------------------------------- the scales of the proofs


@pytest.mark.parametrize(("name", "scales"), SCALES.items())
def test_every_noise_has_the_scale_of_the_proof(name, scales):
    assert scales_of(name) == scales


@pytest.mark.parametrize("name", PRIVATE)
def test_every_private_algorithm_has_its_scales_written_down(name):
    assert name in SCALES
