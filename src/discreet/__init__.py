"""discreet: private sequential decisions.

Which arm to pull next, and when enough has been seen, under pure differential privacy.

Bandits: `DPSuccessiveElimination`, `DPUCB`, `DPHybridUCB`, `DPBestArm`, their sharper siblings
`DPSharpElimination` and `DPSharpBestArm`, `DPPersonElimination` and
`DPSharpPersonElimination`, `GuessAndDouble`, the withdrawn
`DPSparseVectorElimination` and `ModifiedDPSuccessiveElimination`, and the non-private `UCB`,
`KLUCB`, `IMED`, `ThompsonSampling` and `SuccessiveElimination`; `Bandit` drives any of them by ask and tell.

Stopping rules: `DPBernstein`, `DPReleasedNAS`, `DPOneSidedNAS`, `DPExponentialNAS`, `DPNAS`, and the non-private
`NAS`, `EBStop`, `EBGStop`.

A service for teams: `Client` and `AsyncClient` speak to it. They need more packages, and are imported when used.
"""

from typing import TYPE_CHECKING, Any

from discreet._version import __version__
from discreet.audit import Audit, audit
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
from discreet.core.errors import (
    ArgumentError,
    DiscreetError,
    FinishedError,
    PrivacyError,
    ServiceError,
    StateError,
    TicketError,
    UnreachableError,
    WaitingError,
)
from discreet.core.grid import Grid
from discreet.core.noise import SimulatedNoise
from discreet.core.privacy import Neighbours, Privacy, Release, Unit
from discreet.core.registry import POLICIES, RULES, make_policy, make_rule, register
from discreet.drivers.ask_tell import Bandit
from discreet.drivers.tickets import Ticket, Told
from discreet.mechanisms import (
    AboveThreshold,
    BinaryTreeCounter,
    HybridCounter,
    LaplaceMechanism,
    PrefixSumAboveThreshold,
)
from discreet.recommend import Recommendation, recommend
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

if TYPE_CHECKING:
    from discreet.client import AsyncClient as AsyncClient
    from discreet.client import Client as Client

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
    "ServiceError",
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
    "UnreachableError",
    "WaitingError",
    "__version__",
    "audit",
    "make_policy",
    "make_rule",
    "recommend",
    "register",
]


def __getattr__(name: str) -> Any:
    """The clients, whose packages the core does without."""
    if name not in ("AsyncClient", "Client"):
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    try:
        from discreet import client  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name in ("httpx", "msgspec"):
            message = f"discreet.{name} needs {error.name}: pip install 'discreet[client]'"
            raise ModuleNotFoundError(message, name=error.name) from None
        raise
    return getattr(client, name)
