"""Bounds from the literature as plain functions, each naming its theorem.

Arguments are numbers or arrays and are broadcast as in numpy; plain numbers yield a plain number. Arguments outside of
a theorem's assumptions raise `ArgumentError`. These modules import nothing of the package but `core.errors` and
`core.tails`.
"""

from discreet.theory.divergence import divergence, private_divergence
from discreet.theory.elimination import (
    EliminationPlan,
    dp_se_epoch_length,
    dp_se_last_epoch,
    dp_se_minimax_bound,
    dp_se_pull_bound,
    dp_se_pulls,
    dp_se_regret_bound,
    dp_se_sure_regret,
    dp_se_threshold,
    plan_elimination,
    resolvable_gap,
)
from discreet.theory.person_level import PersonSchedule
from discreet.theory.regret import lai_robbins_bound, minimax_lower_bound, private_regret_order, regret_lower_bound
from discreet.theory.sharp_elimination import SharpSchedule, sharp_pulls, sharp_sure_regret
from discreet.theory.stopping import (
    nonprivate_stopping_lower_bound,
    private_stopping_lower_bound,
    stopping_lower_bound,
    stopping_upper_bound,
    stopping_upper_bound_parts,
    sure_samples,
    two_point_lower_bound,
    typical_samples,
)

__all__ = [
    "EliminationPlan",
    "PersonSchedule",
    "SharpSchedule",
    "divergence",
    "dp_se_epoch_length",
    "dp_se_last_epoch",
    "dp_se_minimax_bound",
    "dp_se_pull_bound",
    "dp_se_pulls",
    "dp_se_regret_bound",
    "dp_se_sure_regret",
    "dp_se_threshold",
    "lai_robbins_bound",
    "minimax_lower_bound",
    "nonprivate_stopping_lower_bound",
    "plan_elimination",
    "private_divergence",
    "private_regret_order",
    "private_stopping_lower_bound",
    "regret_lower_bound",
    "resolvable_gap",
    "sharp_pulls",
    "sharp_sure_regret",
    "stopping_lower_bound",
    "stopping_upper_bound",
    "stopping_upper_bound_parts",
    "sure_samples",
    "two_point_lower_bound",
    "typical_samples",
]
