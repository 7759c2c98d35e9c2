"""What discreet stands on: versions that fit each other, without known holes, as old and as new as it declares.

`make supply-chain` runs this alone. Each set of versions has an environment of its own within .venv, which the first
run makes. What needs a network and has none is skipped, and the page says so.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.study
ROOT = Path(__file__).parents[2]
PLACE = ROOT / ".venv"
SECTION = "Supply chain"
PATIENCE = 1800  # seconds, on a busy machine too
ELSEWHERE = ("discreet",)  # ourselves
QUICK = [
    "tests/core/test_noise.py", "tests/mechanisms", "tests/bandits/test_contract.py", "tests/drivers/test_files.py",
    "tests/stopping/test_rule_contract.py", "tests/lab/kernels/test_ucb.py", "tests/lab/kernels/test_dp_ucb.py",
]  # fmt: skip


def declared():
    """What the core, the lab and the tests need, as pyproject.toml says it; peers of ours and engines are left out."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["reproduce"], *extras["lab"], *extras["test"]]
    return sorted({one for one in needed if not one.startswith(ELSEWHERE)})


def oldest():
    """The same at their lower bounds."""
    return [re.sub(r">=([\w.]+).*", r"==\1", one) for one in declared()]


def environment(name, requirements, *options):
    """The Python of an environment with these in it; skips where they cannot be had."""
    python = PLACE / name / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", PLACE / name)
    made = run(python, "-m", "pip", "install", "--quiet", *options, *requirements)
    if made.returncode and re.search("connection|network|No matching distribution", made.stderr, re.IGNORECASE):
        return None, made.stderr.strip().splitlines()[-1]
    assert made.returncode == 0, made.stderr
    return python, None


def run(*command, **options):
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=PATIENCE,
        check=False,
        **options,
    )


def test_installed_versions_fit_each_other(page):
    found = run(sys.executable, "-m", "pip", "check")
    page(SECTION, check="pip check", result=found.stdout.strip().splitlines()[-1])
    assert found.returncode == 0, found.stdout


def audited(python, *service):
    """The pinned packages that a service knows about, and the holes it knows of; or why it could not be asked."""
    command = ["-m", "pip_audit", "-r", "constraints.txt", "--no-deps", "--disable-pip", "--timeout", "5"]
    found = run(python, *command, "--format", "json", "--progress-spinner", "off", *service)
    if not found.stdout.strip():
        return [], [], (found.stderr.strip().splitlines() or ["no answer"])[-1]
    packages = json.loads(found.stdout)["dependencies"]
    known = [one for one in packages if "skip_reason" not in one]  # a service that cannot be reached knows none
    holes = [f"{one['name']} {one['version']}: {hole['id']}" for one in known for hole in one["vulns"]]
    return known, holes, f"it could look up {len(known)} of {len(packages)} packages"


def test_pinned_versions_have_no_known_vulnerabilities(page):
    python, why = environment("vulnerabilities", ["pip-audit"])
    known, holes = [], []
    for service in ([], ["--vulnerability-service", "osv"]):
        if python and not known:
            known, holes, why = audited(python, *service)
    if not known:
        page(SECTION, check="known vulnerabilities", result="not available offline: skipped")
        pytest.skip(f"not available offline: {why}")
    page(SECTION, check="known vulnerabilities", result=f"{len(holes)} in {len(known)} packages")
    assert not holes


@pytest.mark.parametrize("which", ["oldest", "newest"])
def test_supported_versions(which, page):
    """Contracts, kernels and states on the lower bounds of pyproject.toml, and on what is newest."""
    wanted, options = (oldest(), []) if which == "oldest" else (declared(), ["--upgrade"])
    python, why = environment(which, wanted, *options)
    if python is None:
        page(SECTION, check=f"{which} versions", result="not available offline: skipped")
        pytest.skip(why)
    versions = {
        one["name"]: one["version"] for one in json.loads(run(python, "-m", "pip", "list", "--format", "json").stdout)
    }
    # What is old warns of its age; what is new must not warn of ours.
    lenient = ["-W", "default::DeprecationWarning"] if which == "oldest" else []
    home = {"PYTHONPATH": "src", "NUMBA_CACHE_DIR": str(PLACE / which / "kernels")}
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "NUMBA_"))}
    chosen = ["-m", "not study", "-k", "not planted and not law", *QUICK]  # what tries the algorithms, not the versions
    found = run(python, "-m", "pytest", "-p", "no:cacheprovider", *lenient, *chosen, "-o", "addopts=--strict-markers",
                env={**clean, **home})  # fmt: skip
    last = (found.stdout.strip().splitlines() or ["nothing ran"])[-1].strip("= ")
    core = ", ".join(f"{name} {versions[name]}" for name in ("numpy", "numba", "scipy", "pandas"))
    helped = run(python, "-m", "discreet", "audit", "--help", env={**clean, **home})
    print(f"{which}: {last}; {', '.join(f'{name} {version}' for name, version in versions.items())}")
    page(SECTION, check=f"{which} versions", result=f"{core}: {re.sub(' in .*', '', last)}")
    assert found.returncode == 0, found.stdout[-5000:] + found.stderr[-2000:]
    assert helped.returncode == 0, helped.stderr[-2000:]
