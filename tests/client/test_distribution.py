"""discreet-client: the same clients without the library."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests._tools.live_service import running
from tests._tools.patience import LONG

SETUP = Path(__file__).parents[2] / "client" / "setup.py"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    runpy.run_path(str(SETUP), run_name="setup")["collect"](folder / "discreet_client")
    return folder


def test_it_imports_nothing_of_discreet_but_logs_when_asked(package):
    left = {
        (path.stem, line.strip())
        for path in (package / "discreet_client").glob("*.py")
        for line in path.read_text().splitlines()
        if re.match(r"\s*(from|import) discreet(\.|\s|$)", line)
    }
    assert {name for name, _ in left} == {"experiment"}
    assert all("discreet.logs" in line for _, line in left)


def test_it_talks_to_a_service_without_the_library(package, tmp_path):
    script = """
import sys
sys.modules.update(dict.fromkeys(("discreet", "numpy", "opendp")))  # importing one of them is an error
from discreet_client import Client, ServiceError
address, key = sys.argv[1:]
with Client(address, key) as client:
    client.create("banners", epsilon=1, arms=["blue", "green"], window=60)
    client.experiment("banners").start()
    with client.experiment("banners").trial("visitor-1") as trial:
        trial.reward = 1
    print(trial.arm)
    try:
        client.experiment("none").plan()
    except ServiceError as error:
        print(error.status)
"""
    with running(tmp_path / "a.db") as live:
        command = [sys.executable, "-c", script, live.address, live.key]
        done = subprocess.run(
            command, env={"PYTHONPATH": str(package)}, capture_output=True, text=True, check=False, timeout=LONG
        )
    assert done.returncode == 0, done.stderr
    arm, status = done.stdout.split()
    assert arm in ("blue", "green")
    assert status == "404"
