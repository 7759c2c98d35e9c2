"""What is released: one version everywhere, workflows that do what .ci/run does, a paper that is cited in full."""

import re
import tomllib
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github/workflows"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

PAPER = ("Sajed", "Touqir", "Sheffet", "97", "5579", "5588", "2019", "36th International Conference", "sajed19a")


@pytest.mark.parametrize("name", ["CITATION.cff", "docs/citing.md", "CHANGELOG.md"])
def test_the_version_is_the_same_everywhere(name):
    text = (ROOT / name).read_text()
    found = re.search(r"^(?:version: | *version = \{|## )v?(\d+\.\d+\.\d+)", text, re.M)
    assert found is not None
    assert found[1] == discreet.__version__


def steps(text):
    """The targets of make that a script runs, in order."""
    return re.findall(r"^(?:\s*- run: )?make ([\w-]+)", text, re.M)


def test_the_workflow_runs_what_the_script_runs():
    script = steps((ROOT / ".ci/run").read_text())
    assert script == steps((WORKFLOWS / "ci.yml").read_text())
    assert {"lint", "prove", "docs", "build", "test", "test-system"} <= set(script)


def test_every_target_of_a_workflow_exists():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for path in WORKFLOWS.glob("*.yml"):
        assert set(steps(path.read_text())) <= targets, path.name
    matrix = re.search(r"target: \[(.*)\]", (WORKFLOWS / "nightly.yml").read_text())
    assert set(matrix[1].split(", ")) <= targets


def test_workflows_try_every_supported_version_of_python():
    lowest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    versions = re.search(r"python: \[(.*)\]", (WORKFLOWS / "ci.yml").read_text())[1]
    assert versions.startswith(f'"{lowest}"')


def test_every_extra_that_users_install_is_tried():
    tool = pytest.importorskip("tools.release")
    assert set(tool.users_extras()) == set(tool.EXTRA)
    assert set(EXTRAS) >= tool.NOT_USERS


def test_the_citation_is_whole():
    text = (ROOT / "CITATION.cff").read_text()
    bibtex = (ROOT / "docs/citing.md").read_text()
    for word in PAPER:
        assert word in text
        assert word in bibtex


def test_the_version_needs_no_other_package(capsys, monkeypatch):
    from discreet import cli

    monkeypatch.setitem(__import__("sys").modules, "discreet.cli._run", None)
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"discreet {discreet.__version__}\n"
