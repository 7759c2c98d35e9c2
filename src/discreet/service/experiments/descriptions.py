"""Descriptions of experiments: requests that were checked and filled in."""

import dataclasses
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal

import msgspec

from discreet.core import registry
from discreet.core.algorithm import Algorithm
from discreet.core.errors import ArgumentError
from discreet.core.grid import Grid
from discreet.core.options import required_options
from discreet.core.privacy import Unit
from discreet.core.registry import POLICIES, RULES
from discreet.core.statistics import Statistic
from discreet.service.errors import invalid, not_found
from discreet.service.experiments.epsilon import amount, not_above
from discreet.service.experiments.statements import testing
from discreet.service.experiments.tokens import MOST_SLOTS
from discreet.service.messages import AlgorithmView, Contribution, NewExperiment, PrivacyLabel
from discreet.service.storage import Experiment, Transaction
from discreet.service.storage.queries import find_experiment

MEAN_RULE = "dp-nas-released"
EVENT_POLICY = "dp-se-sharp"
PERSON_POLICY = "dp-se-sharp-person"
OURS = {"arms", "epsilon", "low", "high", "radius"}
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
    """An experiment as it is run: its request, with everything filled in.

    Args:
        request: The request.
        algorithm: The key of the algorithm.
        options: All options of the algorithm. Its arms are indexes.
        epsilon: The exact epsilon; the algorithm's is the largest float that is not above.
    """

    request: NewExperiment
    algorithm: str
    options: Mapping[str, Any]
    epsilon: Fraction

    def make(self) -> Algorithm:
        """Return the algorithm before its first epoch."""
        return registry.make(self.algorithm, self.options)

    @property
    def kind(self) -> type[Algorithm]:
        """The class of the algorithm."""
        return registry.find(self.algorithm)

    @cached_property
    def arms(self) -> tuple[str | None, ...]:
        """The names of the arms, by index; a rule has one without a name."""
        return tuple(self.request.arms) or (None,)

    def worth(self, reward: float) -> float:
        """Return what a reward counts as: moved into the range, and to the nearer end if rewards are binary."""
        low, high = self.request.low, self.request.high
        if self.request.binary:
            return high if reward >= (low + high) / 2 else low
        return min(max(reward, low), high)

    def encode(self, reward: float) -> int:
        """Return what a reward counts as, in steps of the grid."""
        return self.grid.encode(self.worth(reward) if self.request.binary else reward, clip=True)

    @cached_property
    def grid(self) -> Grid:
        """The grid that rewards are rounded to."""
        return Grid(self.request.low, self.request.high)

    @property
    def default_reward(self) -> float:
        """The value of a reward that never comes."""
        given = self.request.default_reward
        return self.request.low if given is None else given

    @property
    def control(self) -> str | None:
        """The arm that others are compared with; None for a rule."""
        return self.request.control or self.arms[0]

    @property
    def once(self) -> bool:
        """True if a unit contributes once in the whole experiment."""
        return self.request.contribution == "once"

    def charge(self, epsilon: float) -> Fraction:
        """Return the charge for an epoch that the algorithm runs with this epsilon: the same part of the exact whole.

        It is never less than the epoch costs, since the algorithm's epsilon is not above the exact one.
        """
        return self.epsilon * Fraction(epsilon) / Fraction(self.options["epsilon"])

    def cost(self, epochs: list[Fraction], promised: Fraction) -> Fraction:
        """Return what epochs have cost a unit of privacy that was in as many of them as it may be.

        The promise is larger than at first where backups were restored. Whoever may be in every epoch has paid that in
        the forfeited ones; whoever may be in one has paid it on top.

        Args:
            epochs: The charge for each closed or forfeited epoch.
            promised: The promise by now.
        """
        if self.request.contribution == "each-epoch":
            return sum(epochs, Fraction(0))
        return max(epochs, default=Fraction(0)) + promised - self.epsilon

    def cost_with(self, spent: Fraction, epoch: Fraction, promised: Fraction) -> Fraction:
        """Return what epochs have cost with one more of them, as `cost` adds it up from all.

        Args:
            spent: The cost of the epochs before.
            epoch: The charge for the new one.
            promised: The promise by now.
        """
        if self.request.contribution == "each-epoch":
            return spent + epoch
        return max(spent, epoch + promised - self.epsilon)

    def label(self) -> PrivacyLabel:
        """Return the promise in words."""
        request = self.request
        once = "A person counts once in the whole experiment. " if self.once else ""
        reason = self.kind.reason or ""
        return PrivacyLabel(
            epsilon=request.epsilon,
            unit=request.privacy_unit,
            contribution=request.contribution,
            neighbours=NEIGHBOURS[request.privacy_unit],
            reason=f"{once}{reason[:1].upper()}{reason[1:]}.",
            public=PUBLIC,
            not_promised=NOT_PROMISED,
            theorem=self.kind.theorem.words,
        )


def describe(request: NewExperiment) -> Description:
    """Check a request and fill it in.

    Raises:
        ServiceProblem: Something in it is wrong, or no service can run its algorithm.
    """
    if request.policy is not None and request.rule is not None:
        raise invalid("rule", "give a policy or a rule, not both")
    epsilon = amount("epsilon", request.epsilon)
    is_policy = request.rule is None and bool(request.arms or request.policy)
    if is_policy and len(request.arms) < 2:
        raise invalid("arms", f"arms must be at least two names, got {request.arms!r}")
    if len(set(request.arms)) < len(request.arms):
        raise invalid("arms", f"arms must have different names, got {request.arms!r}")
    if not is_policy and request.arms:
        raise invalid("arms", "a rule estimates one mean and has no arms")
    request = msgspec.structs.replace(request, contribution=_contribution(request, is_policy))
    key = _algorithm(request, is_policy)
    request = testing.fitted(request, key)
    try:
        algorithm = registry.make(key, _options(key, request, epsilon))
        plan = testing.first_plan(algorithm)
    except ArgumentError as error:
        raise invalid("options", str(error)) from None
    description = Description(request, key, algorithm.options(), epsilon)
    if not request.low <= description.default_reward <= request.high:
        raise invalid("default_reward", f"default_reward must lie in [{request.low:g}, {request.high:g}]")
    if request.binary and description.default_reward not in {request.low, request.high}:
        ends = f"{request.low:g} or {request.high:g}"
        raise invalid("default_reward", f"default_reward must be {ends} where rewards are binary")
    if request.control is not None and request.control not in request.arms:
        raise invalid("control", f"control must be one of the arms, got {request.control!r}")
    if plan is None or not plan.learns:
        raise invalid("options", f"{key} would have nothing to find out with these options")
    if plan.size > MOST_SLOTS:
        raise invalid("epsilon", f"the first epoch would take {plan.size:,} assignments; give more epsilon")
    return description


def find(transaction: Transaction, name: str, only: str | None = None) -> Experiment:
    """Return an experiment by its public id or its name.

    Args:
        transaction: The transaction.
        name: The id or the name.
        only: The id of the one experiment that the caller may see; None for all.

    Raises:
        ServiceProblem: There is none that the caller may see.
    """
    row = find_experiment(transaction, name)
    if row is None or only not in {None, row.uid}:
        raise not_found(f"experiment {name!r}")
    return row


def described(row: Experiment) -> Description:
    """Return the description of a stored experiment."""
    return _described(row.description, row.algorithm, row.options)


@lru_cache(maxsize=4096)
def _described(text: str, algorithm: str, options: str) -> Description:
    request = msgspec.json.decode(text, type=NewExperiment)
    return Description(request, algorithm, json.loads(options), amount("epsilon", request.epsilon))


# ---------------------------------------------------------------------- algorithms


def algorithms() -> list[AlgorithmView]:
    """Return everything that the service can run."""
    return [_view(kind) for table in (POLICIES, RULES) for kind in table.values() if can_run(kind)]


def can_run(kind: type[Algorithm]) -> bool:
    """Return True if an algorithm is private and keeps nothing but its releases and one sum an arm of an open epoch."""
    return _obstacle(kind) is None


def _obstacle(kind: type[Algorithm]) -> str | None:
    """Return why the service cannot run an algorithm; None if it can."""
    if kind.reason is None:
        return "is not private"
    if kind.keeps_secrets:
        return "keeps more between epochs than it releases"
    return None if kind.statistic is Statistic.TOTAL else "needs more of rewards than their sum"


def _view(kind: type[Algorithm]) -> AlgorithmView:
    options = {name: default for name, default in _defaults(kind).items() if name not in OURS}
    required = [name for name in required_options(kind) if name not in OURS and name not in DEFAULTS]
    about = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
    return AlgorithmView(kind.key, family(kind), about, options, required, ["person", "event"])


def family(kind: type[Algorithm]) -> Literal["policy", "rule"]:
    """Return "policy" or "rule"."""
    return "policy" if kind.family == "policy" else "rule"


def _defaults(kind: type[Algorithm]) -> dict[str, Any]:
    """Return the default of each option: the algorithm's own, or ours where it has none; None where there is none."""
    missing = dataclasses.MISSING
    known = {field.name: field.default for field in dataclasses.fields(kind) if field.init}
    return {name: DEFAULTS.get(name) if value in (missing, None) else value for name, value in known.items()}


def _contribution(request: NewExperiment, is_policy: bool) -> Contribution | None:
    """Return how often a person counts: as asked for, or as often as the algorithm allows."""
    if request.privacy_unit == "event":
        if request.contribution is not None:
            raise invalid("contribution", "contribution is for the privacy unit 'person'; an event counts once anyway")
        return None
    if request.contribution is not None:
        return request.contribution
    chosen = request.policy or (PERSON_POLICY if is_policy else request.rule or MEAN_RULE)
    return "each-epoch" if _counts_persons(chosen) else "once"


def _counts_persons(key: str) -> bool:
    """Return True if an algorithm's epsilon covers a person who is in every epoch."""
    return key in POLICIES and POLICIES[key].unit is Unit.PERSON


def _algorithm(request: NewExperiment, is_policy: bool) -> str:
    """Return the key of the policy or rule, which must fit the service and the privacy unit."""
    field, table = ("policy", POLICIES) if is_policy else ("rule", RULES)
    default = (PERSON_POLICY if request.contribution == "each-epoch" else EVENT_POLICY) if is_policy else MEAN_RULE
    key = (request.policy if is_policy else request.rule) or default
    fitting = [one for one, kind in table.items() if can_run(kind)]
    if key not in fitting:
        why = f", which {_obstacle(table[key])}" if key in table else ""
        raise invalid(field, f"{field} must be one of {', '.join(fitting)}, got {key!r}{why}")
    if request.contribution == "each-epoch" and not _counts_persons(key):
        fit = ", ".join(one for one in fitting if _counts_persons(one))
        raise invalid("contribution", f"with {key} a person may count once only; policies for each epoch: {fit}")
    return key


def _options(key: str, request: NewExperiment, epsilon: Fraction) -> dict[str, Any]:
    """Return the options of the algorithm: those that were given, our defaults, and those that the service sets."""
    known = _defaults(registry.find(key))
    for name in request.options:
        if name in OURS or name not in known:
            there = ", ".join(sorted(set(known) - OURS))
            raise invalid("options", f"{key} has no option {name!r} here; its options are {there}")
    options = dict(request.options)
    if options.get("horizon") is None:  # with a horizon T, beta is 1/T by default
        options = {**{name: known[name] for name in DEFAULTS if name in known}, **options}
    arms = {"arms": range(len(request.arms))} if request.arms else {}
    return {**options, **arms, "epsilon": not_above(epsilon), "low": request.low, "high": request.high}
