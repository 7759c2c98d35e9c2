"""`discreet reproduce`: what it writes, and an interrupted reproduction that goes on."""

import json

import pytest

from discreet.lab.store import Store
from discreet.reproduction.reproduce import Report, Reproduction
from discreet.reproduction.studies.evaluation import Evaluation
from discreet.reproduction.studies.league import LeagueStudy


@pytest.fixture
def tiny(monkeypatch):
    """A reproduction of few settings, with a stand-in for its report."""
    small = {"instances": ("C2",), "arms": (5,), "epsilons": (1.0,), "horizon": 2000, "runs": 2}
    league = {"arms": (5,), "epsilons": (1.0,), "policies": ("dp-se", "dp-chernoff-imed"), "horizon": 2000, "runs": 2}
    wanted = Reproduction(Evaluation(**small), league=LeagueStudy(**league, many_runs=2))

    def write_report(found, folder, seconds, engine, on_progress):
        assert seconds > 0
        assert found.stopping is None
        on_progress("drawing", 2, 2)
        (folder / "report.html").write_text(str(len(found.paper.results)))
        return Report(folder / "report.html", ["DP-SE is better."])

    monkeypatch.setattr(Reproduction, "of", lambda **given: wanted)
    monkeypatch.setattr("discreet.reproduction.reproduce.write_report", write_report)
    return wanted


def test_reproduce(run, tiny, tmp_path):
    code, out, err = run("reproduce", "--output", tmp_path / "here", "--engine", "serial")
    assert (code, err) == (0, "")
    assert out.startswith("- DP-SE is better.\n")
    for place in ("report.html", "figures", "data", "settings"):
        assert str(tmp_path / "here" / place) in out
    assert (tmp_path / "here" / "report.html").read_text() == "3"  # DP-SE, and two forms of DP-UCB
    code, out, _ = run("reproduce", "--output", tmp_path / "here", "--json", "--engine", "serial")
    assert code == 0
    assert json.loads(out)["headlines"] == ["DP-SE is better."]


def test_an_interrupted_reproduction_goes_on(run, tiny, tmp_path, monkeypatch):
    stored, put = [], Store.put

    def put_three(store, simulation):
        if len(stored) == 3:
            raise KeyboardInterrupt
        stored.append(simulation)
        put(store, simulation)

    arguments = ["reproduce", "--output", tmp_path, "--engine", "serial"]
    total = len(tiny.settings())
    monkeypatch.setattr(Store, "put", put_three)
    code, out, err = run(*arguments)
    assert (code, out) == (130, "")
    assert err == (
        f"interrupted; 3 of {total} settings are finished and kept in {tmp_path}: the same command goes on from there\n"
    )
    monkeypatch.setattr(Store, "put", lambda store, simulation: (stored.append(simulation), put(store, simulation)))
    assert run(*arguments)[0] == 0
    assert len(stored) == total  # the three were not simulated again


def test_a_folder_that_cannot_be_written_is_refused_at_once(refused, tmp_path, monkeypatch):
    monkeypatch.setattr(Evaluation, "run", None)  # nothing is simulated before
    (tmp_path / "file").write_text("")
    inside = tmp_path / "file" / "inside"
    said = refused("reproduce --quick --output", inside, code=1)
    assert said.startswith(f"error: {inside}")
    assert "cannot be written" in said


def test_bad_use_is_explained(refused):
    assert "runs must be at least 1" in refused("reproduce --runs 0")
