"""The parts of a reproduction, in the order of the report: a line for each study, and its field of `Reproduced`."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from discreet._pictures import Picture
from discreet.reproduction.headlines import ENOUGH, bandit_headlines, league_headlines, stopping_headlines
from discreet.reproduction.pictures.evaluation import evaluation_pictures
from discreet.reproduction.pictures.league import league_picture
from discreet.reproduction.pictures.stopping import stopping_pictures
from discreet.reproduction.studies.evaluation import EvaluationFindings
from discreet.reproduction.studies.evidence import EvidenceFindings, evidence_headlines, evidence_pictures
from discreet.reproduction.studies.league import LeagueFindings
from discreet.reproduction.studies.roads import RoadsFindings, roads_headlines, roads_picture
from discreet.reproduction.studies.sequential import SequentialFindings, sequential_headlines, sequential_pictures
from discreet.reproduction.studies.stopping import StoppingFindings
from discreet.reproduction.tables import bandit_tables, claim_table, stopping_tables


class Reproduced(NamedTuple):
    """The results that a report is about.

    Attributes:
        paper: The paper's evaluation.
        stopping: The stopping study; None if it was left out.
        league: The league; None if it was left out.
        roads: Regret against the number of arms; None if it was left out.
        evidence: Intervals and searches for the best arm; None if it was left out.
        tests: Sequential tests; None if they were left out.
    """

    paper: EvaluationFindings
    stopping: StoppingFindings | None = None
    league: LeagueFindings | None = None
    roads: RoadsFindings | None = None
    evidence: EvidenceFindings | None = None
    tests: SequentialFindings | None = None


class Part(NamedTuple):
    """One study of a reproduction.

    Attributes:
        name: Its field of `Reproduced`.
        doing: What is being done while it is simulated.
        topic: The title of its findings.
        headlines: Returns its findings in sentences.
        pictures: Returns its pictures.
        tables: Returns its tables, by name.
    """

    name: str
    doing: str
    topic: str
    headlines: Callable[[Any], list[str]]
    pictures: Callable[[Any], Sequence[Picture]]
    tables: Callable[[Any], dict[str, Any]]


PARTS = (
    Part(
        "paper", "simulating DP-SE and DP-UCB", "The paper's bandits", bandit_headlines, evaluation_pictures,
        lambda found: {**bandit_tables(found.results), "claim": claim_table(found)},
    ),
    Part(
        "league", "simulating the league", "Beyond them", league_headlines, lambda found: [league_picture(found)],
        lambda found: {"league": found.rows},
    ),
    Part(
        "roads", "simulating the roads not taken", "The roads not taken", roads_headlines,
        lambda found: [roads_picture(found)], lambda found: {"roads": found.rows},
    ),
    Part(
        "stopping", "simulating stopping rules", "Stopping rules", stopping_headlines, stopping_pictures,
        lambda found: stopping_tables(found.results),
    ),
    Part(
        "evidence", "simulating searches by evidence", "Evidence at any time", evidence_headlines, evidence_pictures,
        lambda found: {"best_arm": found.rows, "widths": found.width_rows},
    ),
    Part(
        "tests", "planning tests", "Sequential tests", sequential_headlines, sequential_pictures,
        lambda found: {"tests": found.rows, "ab_tests": found.ab_rows},
    ),
)  # fmt: skip


def _there(found: Reproduced) -> list[tuple[Part, Any]]:
    """The parts that were not left out, with their results."""
    return [(part, getattr(found, part.name)) for part in PARTS if getattr(found, part.name) is not None]


def is_preview(found: Reproduced) -> bool:
    """Return True if there are too few runs for more than a first look."""
    return found.paper.study.runs < ENOUGH


def headlines(found: Reproduced) -> dict[str, list[str]]:
    """Return the findings by topic; topics that were left out are not there."""
    return {part.topic: part.headlines(results) for part, results in _there(found)}


def every_picture(found: Reproduced) -> list[Picture]:
    """Return all pictures of the parts that were not left out."""
    return [picture for part, results in _there(found) for picture in part.pictures(results)]


def every_table(found: Reproduced) -> dict[str, Any]:
    """Return all tables of the parts that were not left out, by name."""
    return {name: table for part, results in _there(found) for name, table in part.tables(results).items()}
