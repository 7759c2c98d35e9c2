"""A service in memory with the shape of the real one: it assigns, takes rewards, and fails on command."""

from __future__ import annotations

import json
import threading
from collections import deque

import httpx

KEY = "dk_test"
LABEL = {
    "epsilon": "1", "unit": "person", "contribution": "each-epoch", "neighbours": "", "reason": "", "public": "",
    "not_promised": "",
}  # fmt: skip


def view(name, **changes):
    return {
        "id": "e1", "name": name, "state": "running", "description": "", "algorithm": "dp-se", "kind": "policy",
        "options": {}, "low": 0.0, "high": 1.0, "default_reward": 0.25, "window": 60.0, "population": "everybody",
        "source": "assignments", "privacy": LABEL, "spent": "0", "arms": [], "epoch": None,
        "best": None, "settled": False, "estimate": None, "answer": None, "created_at": 0.0, "started_at": 0.0,
        "ended_at": None, **changes,
    }  # fmt: skip


def problem(status, title, detail):
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return httpx.Response(status, json=body, headers={"content-type": "application/problem+json"})


class Stub:
    """Answers requests of httpx. `trouble` holds what happens to the next requests: a status, an exception, or None."""

    def __init__(self, arms=("blue", "green")):
        self.arms = arms
        self.lock = threading.Lock()
        self.trouble = deque()
        self.always = None  # trouble of every request
        self.seen = []  # (method, path, body)
        self.rewards = {}
        self.deals = {}
        self.lose_answers = 0  # so many requests are carried out and their answers lost
        self.may_read = True
        self.view = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        with self.lock:
            trouble = self.trouble.popleft() if self.trouble else self.always
            body = json.loads(request.content) if request.content else None
            self.seen.append((request.method, request.url.path, body))
            if isinstance(trouble, Exception):
                raise trouble
            if isinstance(trouble, httpx.Response):
                return trouble
            if trouble is not None:
                return problem(trouble, "Trouble", "on command")
            if request.headers.get("authorization") != f"Bearer {KEY}":
                return problem(401, "Unauthorized", "this key is not known")
            answer = self.answer(request.method, request.url.path, body)
            if self.lose_answers:
                self.lose_answers -= 1
                raise httpx.ReadTimeout("lost")
            return answer

    def answer(self, method, path, body):  # noqa: PLR0911
        match method, path.strip("/").split("/")[1:]:
            case "POST", ["experiments", name, "assignments"]:
                units = body.get("units") or [None] * body["count"]
                return httpx.Response(200, json={"assignments": [self.deal(name, unit) for unit in units]})
            case "POST", ["rewards:batch"]:
                return httpx.Response(200, json={"statuses": [self.take(**item) for item in body["rewards"]]})
            case "GET", ["experiments", name]:
                if not self.may_read:
                    return problem(403, "Forbidden", "the key lacks the scope analyse")
                return httpx.Response(200, json=view(name, **self.view))
            case "POST", ["experiments"]:
                return httpx.Response(201, json=view(body["name"], state="draft"))
            case "POST", ["experiments", name, "start"]:
                return httpx.Response(200, json=view(name))
            case "GET", ["experiments", _, "releases"]:
                return httpx.Response(200, json={"releases": []})
            case "DELETE", ["experiments", _]:
                return httpx.Response(204)
        return problem(404, "Not found", f"there is nothing at {path}")

    def deal(self, name, unit):
        number = len(self.deals)
        unit_key = unit if unit is not None else f"nameless-{number}"
        arm, token = self.deals.setdefault((name, unit_key), (self.arms[number % len(self.arms)], f"t{number}"))
        return {"unit": unit, "arm": arm, "assignment": token, "epoch": 1, "learn": True, "deadline": 1e12}

    def take(self, assignment, reward):
        if assignment in self.rewards:
            return "accepted"
        self.rewards[assignment] = reward
        return "accepted"

    def requests(self, ending):
        return [body for _, path, body in self.seen if path.endswith(ending)]
