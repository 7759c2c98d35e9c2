"""discreet: private sequential decisions.

Which arm to pull next, and when enough has been seen, under pure differential privacy.

Bandits: `DPSuccessiveElimination`, `DPUCB`, `DPHybridUCB`, `DPBestArm`, their sharper siblings
`DPSharpElimination` and `DPSharpBestArm`, `DPPersonElimination` and
`DPSharpPersonElimination`, `GuessAndDouble`, the withdrawn
`DPSparseVectorElimination` and `ModifiedDPSuccessiveElimination`, and the non-private `UCB`,
`KLUCB`, `IMED`, `ThompsonSampling` and `SuccessiveElimination`; `Bandit` drives any of them by ask and tell.

Stopping rules: `DPBernstein`, `DPReleasedNAS`, `DPOneSidedNAS`, `DPExponentialNAS`, `DPNAS`, and the non-private
`NAS`, `EBStop`, `EBGStop`.
"""

from discreet._version import __version__
from discreet.auditing import Audit, audit
from discreet.bandits import (
    DPIMED,
    DPKLUCB,
    DPUCB,
    IMED,
    KLUCB,
    UCB,
    AdaPKLUCB,
    AdaPUCB,
    AnytimeLazyUCB,
    DPBestArm,
    DPChernoffIMED,
    DPHybridUCB,
    DPPairedIMED,
    DPPersonElimination,
    DPSharpBestArm,
    DPSharpElimination,
    DPSharpPersonElimination,
    DPSparseVectorElimination,
    DPSuccessiveElimination,
    GuessAndDouble,
    LazyDPTS,
    ModifiedDPSuccessiveElimination,
    Plan,
    Policy,
    SuccessiveElimination,
    ThompsonSampling,
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
from discreet.mechanisms import (
    AboveThreshold,
    BinaryTreeCounter,
    HybridCounter,
    LaplaceMechanism,
    PrefixSumAboveThreshold,
)
from discreet.noise import SimulatedNoise
from discreet.privacy import Neighbours, Privacy, Release, Unit
from discreet.recommendation import Recommendation, recommend
from discreet.registry import POLICIES, RULES, make_policy, make_rule, register
from discreet.stopping import (
    DPNAS,
    NAS,
    DPBernstein,
    DPExponentialNAS,
    DPOneSidedNAS,
    DPReleasedNAS,
    EBGStop,
    EBStop,
    StoppingResult,
    StoppingRule,
)
from discreet.tickets import Ticket, Told

__all__ = [
    "DPIMED",
    "DPKLUCB",
    "DPNAS",
    "DPUCB",
    "IMED",
    "KLUCB",
    "NAS",
    "POLICIES",
    "RULES",
    "UCB",
    "AboveThreshold",
    "AdaPKLUCB",
    "AdaPUCB",
    "AnytimeLazyUCB",
    "ArgumentError",
    "Audit",
    "Bandit",
    "BinaryTreeCounter",
    "DPBernstein",
    "DPBestArm",
    "DPChernoffIMED",
    "DPExponentialNAS",
    "DPHybridUCB",
    "DPOneSidedNAS",
    "DPPairedIMED",
    "DPPersonElimination",
    "DPReleasedNAS",
    "DPSharpBestArm",
    "DPSharpElimination",
    "DPSharpPersonElimination",
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
    "LazyDPTS",
    "ModifiedDPSuccessiveElimination",
    "Neighbours",
    "Plan",
    "Policy",
    "PrefixSumAboveThreshold",
    "Privacy",
    "PrivacyError",
    "Recommendation",
    "Release",
    "SimulatedNoise",
    "StateError",
    "StoppingResult",
    "StoppingRule",
    "SuccessiveElimination",
    "ThompsonSampling",
    "Ticket",
    "TicketError",
    "Told",
    "Unit",
    "WaitingError",
    "__version__",
    "audit",
    "make_policy",
    "make_rule",
    "recommend",
    "register",
]
