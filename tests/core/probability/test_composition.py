"""What pure promises cost together: the law of losses, against sums over all cases and against another formula."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import ArgumentError
from discreet.core.probability import composition
from discreet.core.probability.composition import composed_epsilon

MIXED = {Fraction(1, 2): 3, Fraction(1, 3): 2, Fraction(5, 7): 2}


def delta_at(epsilons, epsilon):
    """The delta of randomized responses together: the sum over all their answers."""
    each = [float(one) for one, count in epsilons.items() for _ in range(count)]
    found = 0.0
    for signs in itertools.product((1, -1), repeat=len(each)):
        likely = math.prod(
            math.exp(max(sign, 0) * one) / (1 + math.exp(one)) for sign, one in zip(signs, each, strict=True)
        )
        loss = sum(sign * one for sign, one in zip(signs, each, strict=True))
        found += likely * max(0.0, -math.expm1(epsilon - loss))
    return found


@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.05, 0.3])
@pytest.mark.parametrize("epsilons", [MIXED, {Fraction(1, 10): 8}, {Fraction(2): 1}])
def test_it_is_the_least_epsilon_of_all_answers_together(epsilons, delta):
    found = composed_epsilon(epsilons, delta)
    assert delta_at(epsilons, found) <= delta
    if found:
        assert delta_at(epsilons, found * (1 - 1e-6)) > delta * (1 - 1e-9)


def kairouz_oh_viswanath(epsilon, count, delta):
    """The theorem's own form, for equal epsilons: the least of (count - 2i) epsilon whose delta is small enough."""
    for i in reversed(range(count // 2 + 1)):
        terms = (
            math.comb(count, k) * (math.exp((count - k) * epsilon) - math.exp((count - 2 * i + k) * epsilon))
            for k in range(i)
        )
        if sum(terms) / (1 + math.exp(epsilon)) ** count <= delta:
            return (count - 2 * i) * epsilon
    return count * epsilon


@pytest.mark.parametrize(("epsilon", "count"), [(Fraction(1, 10), 100), (Fraction(1, 4), 40), (Fraction(1), 5)])
def test_it_lies_within_a_step_below_the_theorems_own_form(epsilon, count):
    found, theirs = composed_epsilon({epsilon: count}, 1e-6), kairouz_oh_viswanath(float(epsilon), count, 1e-6)
    assert theirs - 2 * float(epsilon) <= found <= theirs + 1e-9


def test_a_hundred_of_a_tenth_are_ten_by_addition_and_less_at_a_delta():
    assert composed_epsilon({Fraction(1, 10): 100}, 1e-6) == pytest.approx(4.7746, abs=1e-4)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
def test_rounded_losses_never_cost_less_than_exact_ones(monkeypatch, delta):
    exact = composed_epsilon(MIXED, delta)
    monkeypatch.setattr(composition, "_CELLS", 150)
    composition._composed.cache_clear()
    rounded = composed_epsilon(MIXED, delta)
    composition._composed.cache_clear()
    assert exact <= rounded <= float(sum(one * count for one, count in MIXED.items()))
    assert rounded < exact + 0.2


def test_a_loss_that_is_rounded_down_is_seen(monkeypatch):
    monkeypatch.setattr(composition, "_CELLS", 150)
    monkeypatch.setattr(composition.math, "ceil", math.floor)
    composition._composed.cache_clear()
    assert delta_at(MIXED, composed_epsilon(MIXED, 1e-3)) > 1e-3
    composition._composed.cache_clear()


def test_it_is_never_above_the_sum_and_falls_with_delta():
    found = [composed_epsilon(MIXED, delta) for delta in np.geomspace(1e-12, 0.5, 12)]
    assert found == sorted(found, reverse=True)
    assert found[0] <= float(sum(one * count for one, count in MIXED.items()))
    assert composed_epsilon({Fraction(400): 2}, 1e-6) == 800.0  # no float has e^800
    assert composed_epsilon({Fraction(100): 2}, 1e-6) == pytest.approx(200)
    assert composed_epsilon({Fraction(699): 1}, 1e-6) == pytest.approx(699)
    assert composed_epsilon({Fraction(0): 5, Fraction(1): 0}, 1e-6) == 0.0


@pytest.mark.parametrize(("parts", "delta"), [({Fraction(1): 700}, 1e-14), ({Fraction(1, 100): 60_000}, 1e-6)])
def test_of_very_many_parts_it_is_the_sum(parts, delta):
    """Each loss is rounded up so far, or its chance is so small, that no float has what follows."""
    assert composed_epsilon(parts, delta) == float(sum(one * count for one, count in parts.items()))


def test_what_is_wrong_is_refused():
    with pytest.raises(ArgumentError, match="delta"):
        composed_epsilon(MIXED, 0.0)
    with pytest.raises(ArgumentError, match="epsilons must be numbers from 0 on"):
        composed_epsilon({Fraction(-1): 1}, 1e-6)
