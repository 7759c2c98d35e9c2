"""Assignments and rewards are served past the framework, and answer errors as it does."""

import logging

import pytest
from starlette.responses import Response

from discreet.service.errors import ServiceProblem
from discreet.service.storage import UNAVAILABLE
from tests._tools.service_tools import small

ASK = "/v1/experiments/banners/assignments"


@pytest.fixture
def web(world):
    world.start("banners", **small())
    with world.web() as web:
        yield web


def fail_with(web, monkeypatch, error):
    """Have every writer fail."""

    async def do(self, work):
        raise error

    monkeypatch.setattr("discreet.service.experiments.assignments.Writer.do", do)


def test_frequent_operations_do_not_reach_the_framework(web, monkeypatch):
    async def refuse(self, scope, receive, send):
        await Response(status_code=418)(scope, receive, send)

    (token,) = (one["assignment"] for one in web.post(ASK, json={"units": ["ann"]}).json()["assignments"])
    monkeypatch.setattr("starlette.applications.Starlette.__call__", refuse)
    assert web.put(f"/v1/rewards/{token}", json={"reward": 1}).status_code == 202
    batch = {"rewards": [{"assignment": token, "reward": 1}]}
    assert web.post("/v1/rewards:batch", json=batch).json() == {"statuses": ["accepted"]}
    assert web.get("/healthz").status_code == 418


def test_other_methods_and_other_paths_are_the_frameworks(web):
    assert web.get(ASK).status_code == 405
    assert web.post("/v1/rewards/abc/more", json={}).status_code == 404
    assert web.post("/v1/experiments//assignments", json={}).status_code == 404


def test_a_problem_is_answered_as_one(web, monkeypatch):
    fail_with(web, monkeypatch, ServiceProblem(503, "overloaded", "too many"))
    answer = web.post(ASK, json={"units": ["ann"]})
    assert (answer.status_code, answer.json()["title"], answer.headers["retry-after"]) == (503, "overloaded", "1")
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_database_that_does_not_answer_is_a_503(web, monkeypatch):
    fail_with(web, monkeypatch, UNAVAILABLE[0]("gone", None, None))
    answer = web.post(ASK, json={"units": ["ann"]})
    assert (answer.status_code, answer.json()["title"]) == (503, "unavailable")


def test_an_error_that_nobody_foresaw_is_logged_by_its_kind_alone(web, monkeypatch, caplog):
    fail_with(web, monkeypatch, KeyError("reward 17"))
    with caplog.at_level(logging.ERROR, "discreet.service"):
        answer = web.post(ASK, json={"units": ["ann"]})
    assert (answer.status_code, answer.json()["title"]) == (500, "internal error")
    assert "POST failed: KeyError" in caplog.text
    assert "17" not in caplog.text


def test_the_access_log_names_the_route(web, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("discreet.access"), "disabled", False)
    with caplog.at_level(logging.INFO, "discreet.access"):
        web.post(ASK, json={"units": ["ann"]})
        web.put("/v1/rewards/no-token-of-ours", json={"reward": 1})
    lines = [record.getMessage() for record in caplog.records if record.name == "discreet.access"]
    assert lines[0].startswith("* /v1 assignments and rewards 2xx")
    assert lines[1].startswith("PUT /v1/rewards/{assignment} 404")
