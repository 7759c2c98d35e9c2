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
from discreet.theory.group_privacy import karwa_vadhan_loss, product_privacy_loss
from discreet.theory.logarithms import Bracket, log_bracket, loglog_bracket
from discreet.theory.minimax_stopping import least_level
from discreet.theory.nas import doubling_nas_upper_bound, nas_upper_bound, stopping_excess
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
from discreet.theory.successive_elimination import se_pull_bound, se_regret_bound
from discreet.theory.tree import tree_error_bound, tree_levels, tree_union_bound, tree_variance
from discreet.theory.ucb import dp_ucb_regret_bound, dp_ucb_regret_order, ucb_minimax_bound, ucb_regret_bound

__all__ = [
    "Bracket",
    "EliminationPlan",
    "PersonSchedule",
    "SharpSchedule",
    "divergence",
    "doubling_nas_upper_bound",
    "dp_se_epoch_length",
    "dp_se_last_epoch",
    "dp_se_minimax_bound",
    "dp_se_pull_bound",
    "dp_se_pulls",
    "dp_se_regret_bound",
    "dp_se_sure_regret",
    "dp_se_threshold",
    "dp_ucb_regret_bound",
    "dp_ucb_regret_order",
    "karwa_vadhan_loss",
    "lai_robbins_bound",
    "least_level",
    "log_bracket",
    "loglog_bracket",
    "minimax_lower_bound",
    "nas_upper_bound",
    "nonprivate_stopping_lower_bound",
    "plan_elimination",
    "private_divergence",
    "private_regret_order",
    "private_stopping_lower_bound",
    "product_privacy_loss",
    "regret_lower_bound",
    "resolvable_gap",
    "se_pull_bound",
    "se_regret_bound",
    "sharp_pulls",
    "sharp_sure_regret",
    "stopping_excess",
    "stopping_lower_bound",
    "stopping_upper_bound",
    "stopping_upper_bound_parts",
    "sure_samples",
    "tree_error_bound",
    "tree_levels",
    "tree_union_bound",
    "tree_variance",
    "two_point_lower_bound",
    "typical_samples",
    "ucb_minimax_bound",
    "ucb_regret_bound",
]
