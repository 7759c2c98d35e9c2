"""Requests that nobody should send get a 4xx that says what is wrong, on both databases."""

import json
import re
from fractions import Fraction

import pytest

from discreet.service.experiments import assignments as traffic
from discreet.service.http.api import OPERATIONS
from discreet.service.storage import schema
from tests._tools.service_tools import small

PROBLEM = "application/problem+json"
NEW = {"name": "x", "epsilon": "1", "arms": ["a", "b"], "privacy_unit": "event"}


@pytest.fixture
def web(world):
    world.start("running", **small())
    with world.web() as opened:
        yield opened


def send(web, method, path, body):
    return web.request(method, path, content=body, headers={"Content-Type": "application/json"})


def refused(answer, *statuses):
    assert answer.status_code in statuses, answer.text
    assert answer.headers["content-type"] == PROBLEM
    said = answer.json()
    assert said["status"] == answer.status_code
    assert said["detail"]
    return said


@pytest.mark.parametrize("method", ["TRACE", "OPTIONS", "PATCH", "BREW"])
@pytest.mark.parametrize("path", ["/v1/experiments/running", "/v1/rewards:batch", "/healthz", "/metrics"])
def test_other_methods(web, method, path):
    answer = web.request(method, path)
    refused(answer, 405)
    assert answer.headers["allow"]


@pytest.mark.parametrize("path", ["/v1/experiments/running", "/healthz", "/openapi.json"])
def test_a_head_is_a_get_without_its_body(web, path):
    answer = web.request("HEAD", path)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/v1/experiments/%00", "/v1/experiments/a%00b/releases", "/v1/experiments/%ff%fe", "/v1/experiments/%ed%a0%80",
        "/v1/populations/%00/ledger", "/v1/populations/%ed%a0%80/ledger", f"/v1/experiments/{'a' * 5000}", "/nothing",
    ],
)  # fmt: skip
def test_names_that_nothing_has(web, path):
    refused(web.get(path), 404)


@pytest.mark.parametrize("token", ["A" * 40, "é" * 40, "!" * 40, "A", "%00", "A" * 4000])
def test_tokens_that_nobody_made(web, token):
    refused(send(web, "PUT", f"/v1/rewards/{token}", b'{"reward": 1}'), 404)


@pytest.mark.parametrize(
    "reward", [b"NaN", b"Infinity", b"1e999", b"1" + b"0" * 400, b"true", b"null", b'"1"', b"{}", b""]
)
def test_rewards_that_are_no_numbers(web, world, reward):
    (given,) = world.ask("running", "ann")
    refused(send(web, "PUT", f"/v1/rewards/{given.assignment}", b'{"reward": ' + reward + b"}"), 400, 422)
    assert world.sums("running") == {}


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[", b"\xff", b'{"units": ["a"]} and more', b"[" * 100_000, b'{"units": ["\\ud800"]}', b"\xef\xbb\xbf{}",
        b'{"units": ["\xed\xa0\x80"]}', b'{"units": [1]}', b'{"units": [""]}', b'{"count": 99999999999999999999}',
        '{"units": ["a"]}'.encode("utf-16"), b'{"units": ["a"], "more": 1}', b'{"units": ["a"], "count": 1}', b"{}",
    ],
)  # fmt: skip
def test_bodies_that_say_nothing(web, world, body):
    refused(send(web, "POST", "/v1/experiments/running/assignments", body), 400, 422)
    assert world.control.experiment("running").epoch.dealt == 0


def test_a_unit_may_have_any_name_that_unicode_has(web):
    """It is never written down: only its keyed hash is."""
    answer = send(web, "POST", "/v1/experiments/running/assignments", b'{"units": ["a\\u0000b", "\\n"]}')
    assert answer.status_code == 200
    assert [one["unit"] for one in answer.json()["assignments"]] == ["a\0b", "\n"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("arms", b'["a", "\\u0000"]'), ("arms", b'["a", "\\ud800"]'), ("name", b'"a\\n"'), ("name", b'"\\u0000"'),
        ("policy", b'"\\u0000"'), ("population", b'"nobody"'), ("epsilon", b'"1\\n"'),
        ("epsilon", '"\u0661"'.encode()), ("epsilon", b'"0"'), ("epsilon", b'"0.000000000000000001"'),
        ("low", b"-1e308"), ("high", b"1e308"), ("high", b"1e999"), ("high", b"0"), ("low", b"0.9999999999999999"),
        ("default_reward", b"5"), ("options", b'{"beta": {}}'), ("options", b'{"beta": 0}'),
        ("options", b'{"\\u0000": 1}'), ("options", b'{"a":' * 2000 + b"1" + b"}" * 2000),
    ],
)  # fmt: skip
def test_experiments_that_cannot_be(web, field, value):
    fields = {key: json.dumps(one).encode() for key, one in NEW.items()} | {field: value}
    body = b"{" + b", ".join(b'"%s": %s' % (key.encode(), one) for key, one in fields.items()) + b"}"
    refused(send(web, "POST", "/v1/experiments", body), 400, 422)


def test_a_description_may_have_any_character(web):
    new = {**NEW, "description": "a\0b\n\u2028"}
    made = web.post("/v1/experiments", json=new)
    assert made.status_code == 201
    assert web.get("/v1/experiments/x").json()["description"] == new["description"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"epoch": 99999999999999999999, "totals": {}}', b'{"epoch": -1, "totals": {"a": 1, "b": 1}}',
        b'{"epoch": 1, "totals": {"a": 99999999999999999999, "b": 0}}', b'{"epoch": 1, "totals": {"\\u0000": 1}}',
        b'{"epoch": 9223372036854775808, "totals": {"a": 1, "b": 1}}', b'{"epoch": 1, "totals": {"a": -1, "b": 0}}',
    ],
)  # fmt: skip
def test_totals_that_no_log_has(web, world, body):
    world.start("fed", **small(source="totals"))
    refused(send(web, "POST", "/v1/experiments/fed/totals", body), 400, 409, 422)


def test_a_request_that_nobody_foresaw_does_not_take_others_with_it(web, world, monkeypatch):
    """Requests share a transaction; what breaks one of them leaves the others alone."""
    world.start("broken", **small())
    real = traffic._slots

    def slots(transaction, writer, one, *rest):
        if one.experiment.description.request.name == "broken":
            raise ZeroDivisionError
        return real(transaction, writer, one, *rest)

    monkeypatch.setattr(traffic, "_slots", slots)
    asks = [("POST", f"/v1/experiments/{name}/assignments", {"units": ["ann"]}) for name in ("running", "broken")]
    statuses = [one.status_code for one in web.together(*asks * 5)]
    assert statuses == [200, 503] * 5


def test_an_epoch_that_no_token_could_name_is_refused(web):
    answer = web.post("/v1/experiments", json={**NEW, "policy": "dp-imed", "options": {"first_batch": 10**12}})
    assert "assignments" in refused(answer, 422)["detail"]


# ---------------------------------------------------------------------- amounts, and messages in words


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (b"1", "1"), (b"0.5", "0.5"), (b'"0.5"', "0.5"), (b"2.50", "2.50"),
        (b"0.123456789012345678", "0.123456789012345678"),
    ],
)  # fmt: skip
def test_an_epsilon_is_a_number_or_its_text(web, world, written, kept):
    body = b'{"name": "x", "arms": ["a", "b"], "epsilon": ' + written + b"}"
    said = send(web, "POST", "/v1/experiments", body)
    assert said.status_code == 201, said.text
    assert said.json()["privacy"]["epsilon"] == kept


def test_an_epsilon_is_exactly_the_decimal_that_is_written(web, world):
    """A float of this number would be another one, and two halves of a budget would not add up to it."""
    written = "0.100000000000000001"
    send(web, "POST", "/v1/populations", f'{{"name": "exact", "budget": {written}}}'.encode())
    row = next(row for row in world.rows(schema.population) if row["name"] == "exact")
    assert row["budget"] == Fraction(written) != Fraction(0.1)


@pytest.mark.parametrize(
    "epsilon",
    [
        b"0", b"-1", b"-0", b"1001", b"1e0", b"1e-3", b"1E2", b"1e400", b"1e99999999", b"0.1234567890123456789",
        b'"NaN"',
        b'"Infinity"', b'"one"', b'""', b'"1/2"', b"true", b"null", b"[1]", b'{"value": 1}', b"1" * 100_000,
    ],
)  # fmt: skip
def test_an_epsilon_that_is_none(web, world, epsilon):
    body = b'{"name": "x", "arms": ["a", "b"], "epsilon": ' + epsilon + b"}"
    said = refused(send(web, "POST", "/v1/experiments", body), 422)
    assert said["field"] == "epsilon"
    assert said["detail"].startswith("epsilon must be")
    assert len(said["detail"]) < 200
    assert len(world.rows(schema.experiment)) == 1


def test_every_message_is_in_words(web):
    """Each field of each request with values of all kinds: no pattern, no name of a type of Python."""
    values = [1, -1, 10**30, 0.5, "", "A b\0", "x" * 5000, True, None, [], [1], ["x"] * 2000, {}, {"a": "b"}, [[]]]
    asked = 0
    for one in OPERATIONS:
        if one.body is None:
            continue
        path = one.path.replace("{experiment}", "running").replace("{assignment}", "x").replace("{population}", "crowd")
        for field in (*one.body.__struct_fields__, "unknown"):
            for value in values:
                said = web.request(one.method, path, json={field: value})
                if said.status_code == 422:
                    asked += 1
                    detail = said.json()["detail"]
                    assert not re.search(r"regex|`|\bstr\b|\bint\b|\bfloat\b|\barray\b|\$|\^", detail), detail
                    assert len(detail) < 300
                    assert "something else" not in detail, (one.name, field, value, detail)
    assert asked > 100


def test_a_query_has_no_null(web):
    """It would be taken for a value that was left out, which the document of the API does not say."""
    said = refused(web.get("/v1/experiments/running/summary", params={"drifting": "null"}), 422)
    assert said["detail"] == "drifting must be left out or have a value, got null"
    assert web.get("/v1/experiments/running/summary", params={"control": "a"}).status_code == 200
