"""The formulas of `bandits/coins.py` and `tails.py`, compiled from the very same code: one formula, two speeds."""

from __future__ import annotations

import math
from types import FunctionType, ModuleType
from typing import Any

from discreet.core import divergences as coins
from discreet.core import tails
from discreet.lab.kernels.compiled import compiled


def compile_all(module: ModuleType, *names: str) -> dict[str, Any]:
    """Compiled copies of these functions, in the order given, each of which sees the ones before it."""
    constants = {name: value for name, value in vars(module).items() if isinstance(value, int | float)}
    space: dict[str, Any] = {"math": math, "__name__": __name__, **constants}
    for name in names:
        space[name] = compiled(FunctionType(getattr(module, name).__code__, space, name))
    return space


_COINS = compile_all(coins, "_part", "kl", "kl_upper", "free_up_to", "private_kl", "private_kl_upper")
kl, kl_upper, private_kl, private_kl_upper = (
    _COINS[name] for name in ("kl", "kl_upper", "private_kl", "private_kl_upper")
)
_TAILS = compile_all(
    tails, "bernoulli_exponent", "tail_exponent", "paired_exponent", "largest_mean", "lead_exponent",
    "largest_variance", "clearly_behind", "hoeffding_radius", "bernstein_radius",
)  # fmt: skip
tail_exponent, paired_exponent, largest_mean, lead_exponent, bernstein_radius = (
    _TAILS[name] for name in ("tail_exponent", "paired_exponent", "largest_mean", "lead_exponent", "bernstein_radius")
)
clearly_behind = _TAILS["clearly_behind"]
