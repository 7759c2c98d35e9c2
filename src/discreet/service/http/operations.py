"""Every operation of the API in one table: its path, who may call it, what it takes and what it gives.

The routes, the checks of keys and the OpenAPI document are made from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.service.http import messages as m
from discreet.service.http.messages import Scope


@dataclass(frozen=True)
class Operation:
    """One line of the table. `name` is the method that does it; without `scopes`, anybody may call it."""

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
    "start": "Start a draft: its epsilon is set aside, and its first epoch opens.",
    "pause": "Assign nobody new and release nothing for a while.",
    "resume": "Go on after a pause.",
    "stop": "End it. The open epoch is thrown away unreleased; what was not spent goes back.",
    "archive": "Put a stopped experiment away.",
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
        "What units get: the same again within an epoch. Safe to repeat.",
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
        "GET", f"{ONE}/plan", "plan", "What the open epoch needs, for whoever aggregates an event log.",
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
        "PUT", "/v1/populations/{population}", "set_budget", "Change a budget; never to less than is set aside.", ADMIN,
        m.PopulationView, body=m.NewBudget, problems=(404, 409),
    ),
    Operation(
        "GET", "/v1/populations/{population}/ledger", "ledger", "What a population has lost, line by line.", READ,
        m.Ledger, problems=(404,),
    ),
    Operation("GET", "/v1/keys", "keys", "All keys, without their secrets.", ADMIN, m.Keys),
    Operation(
        "POST", "/v1/keys", "make_key", "Make a key. It is shown this once.", ADMIN, m.MadeKey, body=m.NewKey,
        status=201, problems=(404,),
    ),
    Operation("DELETE", "/v1/keys/{key}", "revoke_key", "End a key.", ADMIN, m.KeyView, problems=(404,)),
    Operation("GET", "/v1/algorithms", "algorithms", "The policies and rules that can be run.", READ, m.Algorithms),
    Operation(
        "GET", "/v1/planner", "planner", "How many assignments it takes, before it is run.", READ, m.ExperimentPlan,
        query=m.PlannerRequest,
    ),
    Operation("GET", "/healthz", "health", "Whether the process is there.", None, m.Health),
    Operation("GET", "/readyz", "ready", "Whether the database answers.", None, m.Health, problems=(503,)),
)  # fmt: skip
