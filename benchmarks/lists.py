"""The processor time of the dashboard's pages with many experiments: python -m benchmarks.lists.

Experiments run, each with an open epoch and nothing released; one more has a thousand releases. A request is one to the
application, without a network.
"""

import asyncio
import re
import tempfile
import time
from html import unescape
from pathlib import Path

import httpx

from discreet.service.experiments.control import Control
from discreet.service.http.app import make_app
from discreet.service.messages import NewExperiment, NewPopulation
from discreet.service.storage import open_database

MANY, REPEATS, CLOSES = 1000, 50, 500
LONG = "long"


async def measure(control: Control, key: str) -> None:
    """Print the processor time of a request to each page, in this process."""
    app = make_app(control, tick=None)
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://lists") as browser:
        token = re.search(r'name="token" value="([^"]+)"', (await browser.get("/login")).text)
        assert token is not None
        await browser.post("/login", data={"token": unescape(token[1]), "key": key, "next": "/"})
        part = await browser.get("/refresh")
        pages = [
            ("list, whole page", "/", {}),
            ("list, page 20", "/?page=20", {}),
            ("list, refresh that changed", "/refresh", {}),
            ("list, refresh unchanged", "/refresh", {"If-None-Match": part.headers["etag"]}),
            ("list, search", "/?search=99&state=running", {}),
            ("ledger page", "/ledger?population=crowd", {}),
            ("API list of 50", "/v1/experiments", headers),
            ("page of 1,000 releases", f"/experiments/{control.experiment(LONG).id}", {}),
            ("API summary of them", f"/v1/experiments/{LONG}/summary", headers),
        ]
        for name, path, more in pages:
            began = time.process_time()
            await browser.get(path, headers=more)
            first = time.process_time() - began
            began = time.process_time()
            for _ in range(REPEATS):
                answer = await browser.get(path, headers=more)
            spent = (time.process_time() - began) / REPEATS
            size = f"{answer.status_code} {len(answer.content) / 1e3:8.1f} kB"
            print(f"{name:28} {size} {1e3 * spent:7.1f} ms, first {1e3 * first:.0f} ms")


def run_long(control: Control) -> None:
    """Run an experiment of two arms with a thousand releases."""
    new = NewExperiment(
        LONG, "1", arms=["blue", "green"], policy="dp-se-sharp", options={"growth": 1.01, "beta": 1e-9},
        population="crowd", source="totals", privacy_unit="event",
    )  # fmt: skip
    control.create(new)
    control.start(LONG)
    for _ in range(CLOSES):
        plan = control.open_plan(LONG)
        totals = {arm: pulls * plan.width // 10 for arm, pulls in plan.pulls.items()}
        control.close_with(LONG, plan.epoch, totals)
    print(f"{len(control.releases(LONG))} releases of {LONG}")


def main() -> None:
    """Make the experiments, and measure."""
    with tempfile.TemporaryDirectory() as folder:
        control = Control(open_database(Path(folder) / "lists.db"))
        key = control.set_up()
        assert key is not None
        control.create_population(NewPopulation("crowd", "1000"))
        for number in range(MANY):
            new = NewExperiment(f"experiment-{number}", "0.9", arms=["blue", "green"], population="crowd")
            control.create(new)
            control.start(new.name)
        run_long(control)
        print(f"{MANY} running experiments")
        asyncio.run(measure(control, key))
        control.database.close()


if __name__ == "__main__":
    main()
