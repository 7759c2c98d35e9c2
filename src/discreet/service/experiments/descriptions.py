"""What is run: a request checked into a description that cannot be misread."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import msgspec

from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.options import parameters_of
from discreet.core.privacy import Unit
from discreet.core.registry import POLICIES, RULES
from discreet.service.experiments import course
from discreet.service.experiments.epsilon import amount, not_above
from discreet.service.http.errors import invalid, not_found
from discreet.service.http.messages import AlgorithmView, NewExperiment, PrivacyLabel, PrivacyUnit
from discreet.service.http.tokens import MOST_SLOTS
from discreet.service.storage import experiments
from discreet.service.storage.database import Transaction
from discreet.service.storage.experiments import Experiment

MEAN_RULE = "dp-nas-released"
EVENT_POLICY = "dp-se-sharp"
PERSON_POLICY = "dp-se-sharp-person"
OURS = {"arms", "epsilon", "low", "high", "radius", "noise", "clip"}
"""Options that the service sets by itself, or that have no meaning in it."""
DEFAULTS = {"beta": 0.05, "alpha": 0.1}

PUBLIC = (
    "Who took part and when, how many were assigned to each arm, the noisy totals, which arms are left, the "
    "thresholds, the epochs and their times, and the ledger."
)
NOT_PROMISED = (
    "Who took part is not hidden. Whoever runs the service sees rewards as they arrive. Other experiments on the same "
    "people cost more: see the population's ledger."
)
NEIGHBOURS = {
    "event": "two histories that differ in one reward, or in whether it came",
    "person": "two histories that differ in all rewards of one person, or in whether they came",
}


@dataclass(frozen=True)
class Description:
    """An experiment as it will be run: what was asked for, with everything filled in."""

    request: NewExperiment
    kind: str
    algorithm: str
    options: Mapping[str, Any]
    epsilon: Fraction

    @cached_property
    def arms(self) -> tuple[str | None, ...]:
        """The names of the arms; a running mean has one without a name."""
        return tuple(self.request.arms) or (None,)

    @cached_property
    def grid(self) -> Grid:
        """What rewards are rounded to."""
        return Grid(self.request.low, self.request.high)

    @property
    def default_reward(self) -> float:
        """What a reward that never comes counts as."""
        given = self.request.default_reward
        return self.request.low if given is None else given

    @property
    def once(self) -> bool:
        """Whether a unit contributes once in the whole experiment."""
        return self.request.contribution == "once"

    def begin(self) -> course.Course:
        """The algorithm before its first epoch."""
        return course.begin(self.kind, self.algorithm, len(self.request.arms), self.options)

    def charge(self, epsilon: float) -> Fraction:
        """What an epoch that the algorithm runs with this epsilon is charged: the same part of the exact whole.

        It is never less than the epoch costs, since the algorithm's epsilon is not above the exact one.
        """
        return self.epsilon * Fraction(epsilon) / Fraction(self.options["epsilon"])

    def cost(self, epochs: list[Fraction], promised: Fraction) -> Fraction:
        """What epochs of these epsilons have cost a unit of privacy that was in as many of them as it may be.

        What is promised by now is more than at first where backups were restored. Whoever may be in every epoch has
        paid that in the burnt ones; whoever may be in one has paid it on top.
        """
        if self.request.contribution == "each-epoch":
            return sum(epochs, Fraction(0))
        return max(epochs, default=Fraction(0)) + promised - self.epsilon

    def label(self) -> PrivacyLabel:
        """What is promised, in words."""
        request = self.request
        kind: type[Algorithm] = (POLICIES if self.kind == "policy" else RULES)[self.algorithm]
        how = {
            "each-epoch": "",
            "once": "A person counts once in the whole experiment. ",
            None: "",
        }[request.contribution]
        return PrivacyLabel(
            epsilon=request.epsilon,
            unit=request.privacy_unit,
            contribution=request.contribution,
            neighbours=NEIGHBOURS[request.privacy_unit],
            reason=f"{how}{_sentence(kind.privacy_reason or '')}",
            public=PUBLIC,
            not_promised=NOT_PROMISED,
        )


def describe(request: NewExperiment) -> Description:
    """Check a request and fill it in; a `ServiceProblem` says what is wrong with it."""
    if request.policy is not None and request.rule is not None:
        raise invalid("rule", "give a policy or a rule, not both")
    epsilon = amount("epsilon", request.epsilon)
    bandit = request.rule is None and bool(request.arms or request.policy)
    if bandit and len(request.arms) < 2:
        raise invalid("arms", f"arms must be at least two names, got {request.arms!r}")
    if len(set(request.arms)) < len(request.arms):
        raise invalid("arms", f"arms must have different names, got {request.arms!r}")
    if not bandit and request.arms:
        raise invalid("arms", "a rule estimates one mean and has no arms")
    request = msgspec.structs.replace(request, contribution=_contribution(request, bandit))
    name = _algorithm(request, bandit)
    options = _options(name, request, epsilon)
    description = Description(request, "policy" if bandit else "rule", name, options, epsilon)
    try:
        opening = description.begin().plan()
    except ArgumentError as error:
        raise invalid("options", str(error)) from None
    if not request.low <= description.default_reward <= request.high:
        raise invalid("default_reward", f"default_reward must lie in [{request.low:g}, {request.high:g}]")
    if opening is None or not opening.learns:
        raise invalid("options", f"{name} would have nothing to find out with these options")
    if opening.size > MOST_SLOTS:
        raise invalid("epsilon", f"the first epoch would take {opening.size:,} assignments; give more epsilon")
    return description


def find(transaction: Transaction, name: str) -> Experiment:
    """Return an experiment by its public id or its name.

    Args:
        transaction: The transaction.
        name: The id or the name.

    Raises:
        ServiceProblem: There is none.
    """
    row = experiments.find(transaction, name)
    if row is None:
        raise not_found(f"experiment {name!r}")
    return row


def described(row: Experiment) -> Description:
    """Return the description of a stored experiment."""
    return _described(row.description)


@lru_cache(maxsize=4096)
def _described(text: str) -> Description:
    return describe(msgspec.json.decode(text, type=NewExperiment))


def algorithms() -> list[AlgorithmView]:
    """Everything that the service can run."""
    return [_view(name, kind) for kind, table in (("policy", POLICIES), ("rule", RULES)) for name in _fitting(table)]


def _fitting(table: Mapping[str, type[Algorithm]]) -> list[str]:
    return [name for name, kind in table.items() if kind.open_book]


def _view(name: str, kind: str) -> AlgorithmView:
    algorithm: Any = (POLICIES if kind == "policy" else RULES)[name]
    known = {key: one for key, one in parameters_of(algorithm).items() if key not in OURS}
    options = {key: _default(key, one) for key, one in known.items()}
    required = [key for key, one in known.items() if one.default is one.empty and key not in DEFAULTS]
    units: list[PrivacyUnit] = ["person", "event"]
    about = (inspect.getdoc(algorithm) or "").split("\n\n")[0].replace("\n", " ")
    return AlgorithmView(name, "policy" if kind == "policy" else "rule", about, options, required, units)


def _default(key: str, parameter: inspect.Parameter) -> Any:
    """What an option is if nothing is said: the algorithm's own default, or ours where it has none."""
    given = None if parameter.default is parameter.empty else parameter.default
    return DEFAULTS.get(key) if given is None else given


def _contribution(request: NewExperiment, bandit: bool) -> Any:
    """How often a person counts: as asked for, or as often as the algorithm allows."""
    if request.privacy_unit == "event":
        if request.contribution is not None:
            raise invalid("contribution", "contribution is for the privacy unit 'person'; an event counts once anyway")
        return None
    if request.contribution is not None:
        return request.contribution
    chosen = request.policy or (PERSON_POLICY if bandit else request.rule or MEAN_RULE)
    return "each-epoch" if _counts_persons(chosen) else "once"


def _counts_persons(name: str) -> bool:
    """Whether an algorithm's epsilon covers a person who is in every epoch."""
    kind: Any = POLICIES.get(name)
    return kind is not None and getattr(kind, "privacy_unit", None) == Unit.PERSON


def _algorithm(request: NewExperiment, bandit: bool) -> str:
    """The policy or rule, which must fit the service and the privacy unit."""
    field, table = ("policy", POLICIES) if bandit else ("rule", RULES)
    default = (PERSON_POLICY if request.contribution == "each-epoch" else EVENT_POLICY) if bandit else MEAN_RULE
    name = (request.policy if bandit else request.rule) or default
    fitting = _fitting(table)
    if name not in fitting:
        known = "" if name not in table else " (it is there, but keeps more than it releases, so no service can run it)"
        raise invalid(field, f"{field} must be one of {', '.join(fitting)}, got {name!r}{known}")
    if request.contribution == "each-epoch" and not _counts_persons(name):
        fit = ", ".join(one for one in fitting if _counts_persons(one))
        raise invalid("contribution", f"with {name} a person may count once only; policies for each epoch: {fit}")
    return name


def _options(name: str, request: NewExperiment, epsilon: Fraction) -> dict[str, Any]:
    """All options of the algorithm, with those that the service knows."""
    kind: Any = POLICIES.get(name) or RULES.get(name)
    known = parameters_of(kind)
    for key in request.options:
        if key in OURS or key not in known:
            there = ", ".join(sorted(set(known) - OURS))
            raise invalid("options", f"{name} has no option {key!r} here; its options are {there}")
    options = dict(request.options)
    if options.get("horizon") is None:
        options = {**{key: _default(key, known[key]) for key in DEFAULTS if key in known}, **options}
    return {**options, "epsilon": not_above(epsilon), "low": request.low, "high": request.high}


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""
