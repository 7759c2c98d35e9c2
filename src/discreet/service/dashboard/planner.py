"""The planner: the length of an experiment before it is run. Asking changes nothing and costs nothing."""

from starlette.responses import Response

from discreet.core.registry import POLICIES
from discreet.service.dashboard.forms.experiment import SECONDS
from discreet.service.dashboard.forms.fields import Fields
from discreet.service.dashboard.pages import Visit, page
from discreet.service.experiments.planning import PLANNABLE
from discreet.service.experiments.statements import testing
from discreet.service.messages import MOST_ARMS, ExperimentPlan, PlannerRequest, PrivacyUnit

FIRST = {
    "arms": "4",
    "epsilon": "1",
    "beta": "",
    "alpha": "0.05",
    "gap": "",
    "base_rate": "3",
    "lift": "20",
    "privacy_unit": "person",
    "policy": "",
    "per_hour": "",
    "window": "1",
    "window_unit": "hours",
}


def show(visit: Visit) -> Response:
    """Show the form and, once it is filled in, the plan. It is asked with GET, so that a plan has an address."""
    asked = {name: visit.query[name].strip() for name in FIRST if name in visit.query}
    unsaid = dict.fromkeys(("base_rate", "lift"), "") if asked.get("gap") else {}  # a gap stands for itself
    fields = Fields(FIRST | unsaid | asked)
    plan = _plan(visit, fields) if asked else None
    known = [each.name for each in visit.control.algorithms() if _can_plan(each.name)]
    policies = [("", "The recommended one"), *((name, _named(name)) for name in known)]
    return page(visit, "planner.html", fields.status, fields=fields, plan=plan, policies=policies, units=SECONDS)


def _plan(visit: Visit, fields: Fields) -> ExperimentPlan | None:
    arms = fields.whole("arms", least=2, most=MOST_ARMS)
    epsilon = fields.decimal("epsilon")
    beta = fields.optional_number("beta", above=0, below=1)
    alpha = fields.number("alpha", above=0, below=1, empty=0.05)
    gap = fields.optional_number("gap", above=0)
    base_rate, lift = _share(fields, "base_rate"), _share(fields, "lift")
    if gap is None and lift is None:
        fields.refuse("gap", "Give the gap; or a base rate and a lift, which say more.")
    elif gap is not None and lift is not None:
        fields.refuse("gap", "Give a gap or a lift, not both.")
    elif lift is not None and base_rate is None:
        fields.refuse("base_rate", "Give the rate that the lift is a share of.")
    per_hour = fields.optional_number("per_hour", above=0)
    window = fields.number("window", least=0, empty=0) * SECONDS.get(fields.text("window_unit"), 1.0)
    unit: PrivacyUnit = "event" if fields.text("privacy_unit") == "event" else "person"
    policy = fields.text("policy") or None
    wanted = PlannerRequest(arms, epsilon, gap, base_rate, lift, beta, policy, per_hour, window, unit, alpha)
    return fields.submit(lambda: visit.control.plan(wanted))


def _can_plan(name: str) -> bool:
    return name in testing.KEYS or issubclass(POLICIES.get(name, int), PLANNABLE)


def _named(policy: str) -> str:
    return f"{policy}, an A/B test against the first arm" if policy in testing.KEYS else policy


def _share(fields: Fields, name: str) -> float | None:
    """Return a percentage as a share; None if nothing was typed."""
    value = fields.optional_number(name, above=0)
    return None if value is None else value / 100
