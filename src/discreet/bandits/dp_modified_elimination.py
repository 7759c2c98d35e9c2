"""The "modified DP-SE" of the paper's withdrawn text."""

from dataclasses import dataclass

from discreet.bandits.dp_sparse_vector_elimination import DPSparseVectorElimination
from discreet.core.registry import register


@register
@dataclass(kw_only=True)
class ModifiedDPSuccessiveElimination(DPSparseVectorElimination):
    """Sparse-vector elimination that halts as soon as the worst arm can go, not all arms of a similar gap.

    The same algorithm with 2 h_r for 10 h_r in the halting test and 4 for 16 in c_r; private for the same reason.

    Args:
        arms: The names of the arms.
        epsilon: The largest privacy loss of one reward, above 0.
        horizon: The number of pulls in all, T. Without one, give `beta`: it ends when one arm is left.
        beta: The probability of failure, by default 1/T.
        low: The least reward. Formulas are those of rewards rescaled to [0, 1].
        high: The largest reward.

    >>> from discreet import SimulatedNoise, Totals
    >>> policy = ModifiedDPSuccessiveElimination(["A", "B"], epsilon=1.0, horizon=10_000)
    >>> epochs = Totals(policy, noise=SimulatedNoise(seed=1))
    >>> while len(epochs.algorithm.viable) == 2:  # A always pays, B never does
    ...     pulls = epochs.plan().pulls
    ...     _ = epochs.close_steps({"A": pulls["A"] * policy.grid.width, "B": 0})
    >>> epochs.algorithm.best_arm, epochs.algorithm.taken
    ('A', {'A': 512, 'B': 512})
    """

    key = "dp-se-modified"
    halting_factor = 2
    release_factor = 4
