"""Compiled formulas are the plain ones."""

from inspect import isfunction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.probability import divergences, tails
from discreet.lab.kernels.compiled import compiled

FORMULAS = {name: one for room in (divergences, tails) for name, one in vars(room).items() if isfunction(one)}
COMPILED = {name: compiled(one) for name, one in FORMULAS.items()}
MEANS, EPSILONS = st.floats(0.0, 1.0), st.floats(0.01, 20.0)


@given(x=MEANS, y=MEANS, epsilon=EPSILONS, budget=st.floats(1e-6, 10))
def test_compiled_formulas_are_the_same_formulas(x, y, epsilon, budget):
    for name, arguments in {
        "kl": (x, y),
        "kl_upper": (x, budget),
        "private_kl": (x, y, epsilon),
        "private_kl_upper": (x, budget, epsilon),
        "tail_exponent": (100 * x - 1 / epsilon, 100.0, 3, y, epsilon),
        "paired_exponent": (100 * x - y / epsilon, 100.0, 4, epsilon),
        "lead_exponent": (50 * x, 100.0, 4, y / 4, epsilon),
        "largest_mean": (100 * x, 100.0, 3, epsilon, budget),
        "bernstein_radius": (100.0, y / 4, 3, epsilon, budget),
    }.items():
        assert COMPILED[name](*arguments) == pytest.approx(FORMULAS[name](*arguments), rel=1e-9, abs=1e-12)
    behind = 40 * x, 100 * y, 100.0, 3, epsilon, budget, 2 * budget
    assert COMPILED["clearly_behind"](*behind) == tails.clearly_behind(*behind)
