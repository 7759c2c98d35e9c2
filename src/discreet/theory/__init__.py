"""What is possible: bounds as plain functions of numbers and arrays, each naming its theorem.

Arguments are broadcast like numpy's; one number gives one number. What lies outside of a theorem is refused. Nothing
here imports the rest of this package but its errors and its tails of totals.
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
