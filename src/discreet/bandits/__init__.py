"""The bandits: one file each, behind one interface."""

from discreet.bandits.base import Plan, Policy
from discreet.bandits.dp_best_arm import DPBestArm
from discreet.bandits.dp_hybrid_ucb import DPHybridUCB
from discreet.bandits.dp_sparse_vector_elimination import (
    DPSparseVectorElimination,
    ModifiedDPSuccessiveElimination,
)
from discreet.bandits.dp_successive_elimination import DPSuccessiveElimination
from discreet.bandits.dp_ucb import DPUCB
from discreet.bandits.guess_and_double import GuessAndDouble
from discreet.bandits.successive_elimination import SuccessiveElimination
from discreet.bandits.ucb import UCB

__all__ = [
    "DPUCB",
    "UCB",
    "DPBestArm",
    "DPHybridUCB",
    "DPSparseVectorElimination",
    "DPSuccessiveElimination",
    "GuessAndDouble",
    "ModifiedDPSuccessiveElimination",
    "Plan",
    "Policy",
    "SuccessiveElimination",
]
