"""Every operation of the API in one table: its path, its scopes, its request and its answer.

The routes, the checks of keys and the OpenAPI document are made from it.
"""

from dataclasses import dataclass

from discreet.service import messages as m
from discreet.service.messages import Scope


@dataclass(frozen=True)
class Operation:
    """One line of the table.

    Args:
        method: The HTTP method.
        path: The path, with parameters in braces.
        name: The method of `API` that does it.
        about: A sentence about it.
        scopes: The scopes of which a key must have one; None if anybody may call it.
        answer: The type of its answer; None if it has none.
        body: The type of its request, if it takes one.
        status: The status of its answer.
        query: The type of its query, if it takes one.
        problems: Further statuses of its refusals.
    """

    method: str
    path: str
    name: str
    about: str
    scopes: tuple[Scope, ...] | None
    answer: type | None
    body: type | None = None
    status: int = 200
    query: type | None = None
    problems: tuple[int, ...] = ()


ONE = "/v1/experiments/{experiment}"
READ: tuple[Scope, ...] = ("analyse",)
ADMIN: tuple[Scope, ...] = ()
VERBS = {
    "start": "Start a draft: its epsilon is reserved, and its first epoch opens.",
    "pause": "Assign nobody new and release nothing for a while.",
    "resume": "Go on after a pause.",
    "stop": "End it. The open epoch is discarded without a release; what was not spent is refunded.",
    "archive": "Archive a stopped experiment: it assigns nobody any more.",
}

OPERATIONS = (
    Operation("GET", "/v1/experiments", "list_experiments", "All experiments.", READ, m.Experiments),
    Operation(
        "POST", "/v1/experiments", "create_experiment", "Make an experiment, as a draft.", ADMIN, m.ExperimentView,
        body=m.NewExperiment, status=201, problems=(409,),
    ),
    Operation("GET", ONE, "show_experiment", "One experiment, by id or name.", READ, m.ExperimentView, problems=(404,)),
    Operation(
        "PUT", ONE, "replace_experiment", "Change a draft.", ADMIN, m.ExperimentView, body=m.NewExperiment,
        problems=(404, 409),
    ),
    Operation("DELETE", ONE, "delete_experiment", "Delete a draft.", ADMIN, None, status=204, problems=(404, 409)),
    *[
        Operation("POST", f"{ONE}/{verb}", f"{verb}_experiment", about, ADMIN, m.ExperimentView, problems=(404, 409))
        for verb, about in VERBS.items()
    ],
    Operation(
        "POST", f"{ONE}/assignments", "assign",
        "Assign units: to the same arms again within an epoch. Safe to repeat.",
        ("assign",), m.Assignments, body=m.AssignRequest, problems=(404, 409, 503),
    ),
    Operation(
        "PUT", "/v1/rewards/{assignment}", "reward",
        "Report one reward. The first one stands; safe to repeat.",
        ("report",), m.Receipt, body=m.RewardRequest, status=202, problems=(404, 503),
    ),
    Operation(
        "POST", "/v1/rewards:batch", "rewards", "Report many rewards; each has its own status. Safe to repeat.",
        ("report",), m.Receipts, body=m.RewardBatch, problems=(503,),
    ),
    Operation("GET", f"{ONE}/epochs", "epochs", "Its epochs, oldest first.", READ, m.Epochs, problems=(404,)),
    Operation("GET", f"{ONE}/releases", "releases", "Its releases, oldest first.", READ, m.Releases, problems=(404,)),
    Operation(
        "GET", f"{ONE}/plan", "plan", "The plan of the open epoch, for whoever aggregates an event log.",
        ("analyse", "report"), m.PlanView, problems=(404, 409),
    ),
    Operation(
        "POST", f"{ONE}/totals", "totals", "Close the open epoch with exact totals from an event log; once.",
        ("report",), None, body=m.EpochTotals, status=204, problems=(404, 409),
    ),
    Operation("GET", "/v1/populations", "populations", "All populations and their budgets.", READ, m.Populations),
    Operation(
        "POST", "/v1/populations", "create_population", "Make a population with its budget.", ADMIN, m.PopulationView,
        body=m.NewPopulation, status=201, problems=(409,),
    ),
    Operation(
        "PUT", "/v1/populations/{population}", "set_budget", "Change a budget; never to less than is reserved.", ADMIN,
        m.PopulationView, body=m.NewBudget, problems=(404, 409),
    ),
    Operation(
        "GET", "/v1/populations/{population}/ledger", "ledger", "A population's ledger, line by line.", READ,
        m.Ledger, problems=(404,),
    ),
    Operation("GET", "/v1/keys", "keys", "All keys, without their secrets.", ADMIN, m.Keys),
    Operation(
        "POST", "/v1/keys", "make_key", "Make a key. It is shown this once.", ADMIN, m.MadeKey, body=m.NewKey,
        status=201, problems=(404,),
    ),
    Operation("DELETE", "/v1/keys/{key}", "revoke_key", "Revoke a key.", ADMIN, m.KeyView, problems=(404,)),
    Operation("GET", "/v1/algorithms", "algorithms", "The policies and rules that can be run.", READ, m.Algorithms),
    Operation(
        "GET", "/v1/planner", "planner", "The length of an experiment before it is run.", READ, m.ExperimentPlan,
        query=m.PlannerRequest,
    ),
    Operation("GET", "/healthz", "health", "Answers if the process is alive.", None, m.Health),
    Operation("GET", "/readyz", "ready", "Answers 200 if the database does.", None, m.Health, problems=(503,)),
)  # fmt: skip
