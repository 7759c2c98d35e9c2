"""discreet: private sequential decisions.

Which arm to pull next, and when enough has been seen, under pure differential privacy.

Bandits: `DPSuccessiveElimination`, `DPUCB`, `DPHybridUCB`, `DPBestArm`, `GuessAndDouble`, the withdrawn
`DPSparseVectorElimination` and `ModifiedDPSuccessiveElimination`, and the non-private `UCB` and
`SuccessiveElimination`; `Bandit` drives any of them by ask and tell.

Stopping rules: `DPExponentialNAS`, `DPNAS`, and the non-private `NAS`, `EBStop`, `EBGStop`.
"""

from discreet._version import __version__
from discreet.bandits import (
    DPUCB,
    UCB,
    DPBestArm,
    DPHybridUCB,
    DPSparseVectorElimination,
    DPSuccessiveElimination,
    GuessAndDouble,
    ModifiedDPSuccessiveElimination,
    Plan,
    Policy,
    SuccessiveElimination,
)
from discreet.driver import Bandit
from discreet.errors import (
    ArgumentError,
    DiscreetError,
    FinishedError,
    PrivacyError,
    StateError,
    TicketError,
    WaitingError,
)
from discreet.grid import Grid
from discreet.mechanisms import AboveThreshold, BinaryTreeCounter, HybridCounter, LaplaceMechanism
from discreet.noise import SimulatedNoise
from discreet.privacy import Neighbours, Privacy, Release, Unit
from discreet.registry import POLICIES, RULES, make_policy, make_rule, register
from discreet.stopping import (
    DPNAS,
    NAS,
    DPExponentialNAS,
    EBGStop,
    EBStop,
    StoppingResult,
    StoppingRule,
)
from discreet.tickets import Ticket, Told

__all__ = [
    "DPNAS",
    "DPUCB",
    "NAS",
    "POLICIES",
    "RULES",
    "UCB",
    "AboveThreshold",
    "ArgumentError",
    "Bandit",
    "BinaryTreeCounter",
    "DPBestArm",
    "DPExponentialNAS",
    "DPHybridUCB",
    "DPSparseVectorElimination",
    "DPSuccessiveElimination",
    "DiscreetError",
    "EBGStop",
    "EBStop",
    "FinishedError",
    "Grid",
    "GuessAndDouble",
    "HybridCounter",
    "LaplaceMechanism",
    "ModifiedDPSuccessiveElimination",
    "Neighbours",
    "Plan",
    "Policy",
    "Privacy",
    "PrivacyError",
    "Release",
    "SimulatedNoise",
    "StateError",
    "StoppingResult",
    "StoppingRule",
    "SuccessiveElimination",
    "Ticket",
    "TicketError",
    "Told",
    "Unit",
    "WaitingError",
    "__version__",
    "make_policy",
    "make_rule",
    "register",
]
