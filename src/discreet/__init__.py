"""discreet: private sequential decisions.

Which arm to pull next, and when enough has been seen, under pure differential privacy.

Algorithms are values: bandit policies such as `DPSuccessiveElimination` and `DPChernoffIMED`, stopping rules such as
`DPBernstein` and `DPExponentialNAS`, and tests: `DPTwoSampleTest` (A/B) and `DPSequentialTest`. `recommend` names one
for a goal. Drivers run them: `Bandit` by ask and tell, `Stream` on a stream of samples (`rule.run(stream)` for short),
`Totals` by hand. `inference` says what may be said at any time from what was released. `audit` looks for privacy
violations.

Answers from a log in one call: `best_arm`, `ab_test`, `mean`, and `replay` for any algorithm. They need more packages,
and are imported when used.

`discreet.lab` simulates and compares them. `OwnPolicy` is the template of one of your own.

A service for teams: `Client` and `AsyncClient` speak to it. They need more packages, and are imported when used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet import bandits, sequential, stopping
from discreet._install import needs
from discreet._version import __version__
from discreet.audit import Audit, audit
from discreet.bandits import *  # noqa: F403
from discreet.core.algorithm import Algorithm
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
from discreet.core.ledger import Ledger, spent, spent_by_person
from discreet.core.noise import SimulatedNoise
from discreet.core.plans import Plan
from discreet.core.privacy import Privacy, Theorem, Unit
from discreet.core.registry import POLICIES, RULES, make_policy, make_rule, register
from discreet.core.releases import Kind, Release
from discreet.drivers import Bandit, Status, StoppingResult, Stream, Sum, Ticket, Told, Totals
from discreet.mechanisms import Curator
from discreet.recommend import Recommendation, recommend
from discreet.sequential import *  # noqa: F403
from discreet.stopping import *  # noqa: F403

if TYPE_CHECKING:
    from discreet import inference as inference
    from discreet import lab as lab
    from discreet import theory as theory
    from discreet.client import AsyncClient as AsyncClient
    from discreet.client import Client as Client
    from discreet.forecasting import Forecast as Forecast
    from discreet.forecasting import forecast as forecast
    from discreet.logs import Answer as Answer
    from discreet.logs import TestAnswer as TestAnswer
    from discreet.logs import ab_test as ab_test
    from discreet.logs import best_arm as best_arm
    from discreet.logs import mean as mean
    from discreet.logs import replay as replay
    from discreet.reporting import PrivacyReport as PrivacyReport
    from discreet.reporting import privacy_report as privacy_report

__all__ = [
    "POLICIES",
    "RULES",
    "Algorithm",
    "ArgumentError",
    "Audit",
    "Bandit",
    "Curator",
    "DiscreetError",
    "FinishedError",
    "Forecast",
    "Grid",
    "Kind",
    "Ledger",
    "Plan",
    "Privacy",
    "PrivacyError",
    "PrivacyReport",
    "Recommendation",
    "Release",
    "ServiceError",
    "SimulatedNoise",
    "StateError",
    "Status",
    "StoppingResult",
    "Stream",
    "Sum",
    "Theorem",
    "Ticket",
    "TicketError",
    "Told",
    "Totals",
    "Unit",
    "UnreachableError",
    "WaitingError",
    "__version__",
    "audit",
    "forecast",
    "inference",
    "make_policy",
    "make_rule",
    "privacy_report",
    "recommend",
    "register",
    "spent",
    "spent_by_person",
]
__all__ += bandits.__all__
__all__ += stopping.__all__
__all__ += sequential.__all__


_LATER = {
    **dict.fromkeys(("Forecast", "forecast"), "forecasting"),
    **dict.fromkeys(("PrivacyReport", "privacy_report"), "reporting"),
    **dict.fromkeys(("AsyncClient", "Client"), "client"),
    **dict.fromkeys(("Answer", "TestAnswer", "ab_test", "best_arm", "mean", "replay"), "logs"),
}


def __getattr__(name: str) -> Any:
    """Import when it is used what takes long to import, or needs packages that the core does without."""
    if name in ("inference", "interop", "lab", "theory"):
        return import_module(f"discreet.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    room = _LATER[name]
    with needs(f"discreet.{name}", room):
        module = import_module(f"discreet.{room}")
    return getattr(module, name)
