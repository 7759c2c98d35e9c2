"""The formulas of `core.divergences` and `core.tails`, compiled from the same functions: one formula, two speeds."""

from inspect import isfunction

from numba.extending import register_jitable

from discreet.core import divergences, tails
from discreet.lab.kernels.compiled import compiled

for _function in (*vars(divergences).values(), *vars(tails).values()):
    if isfunction(_function):
        register_jitable(_function)  # a compiled function may call it

kl, kl_upper = compiled(divergences.kl), compiled(divergences.kl_upper)
private_kl, private_kl_upper = compiled(divergences.private_kl), compiled(divergences.private_kl_upper)
tail_exponent, paired_exponent = compiled(tails.tail_exponent), compiled(tails.paired_exponent)
lead_exponent, largest_mean = compiled(tails.lead_exponent), compiled(tails.largest_mean)
bernstein_radius, clearly_behind = compiled(tails.bernstein_radius), compiled(tails.clearly_behind)
