"""`discreet reproduce`: what it writes, and an interrupted reproduction that goes on."""

import json
import sys
from functools import partial
from types import SimpleNamespace

import pytest

from discreet.cli import reproduce
from discreet.lab.store import Store
from discreet.reproduction.distributions import LawGrid
from discreet.reproduction.evaluation import Evaluation
from discreet.reproduction.league import LeagueStudy
from discreet.reproduction.report import Reproduced
from discreet.reproduction.stopping import StoppingStudy


@pytest.fixture
def tiny(monkeypatch):
    """An evaluation of few settings, with a stand-in for its report."""
    small = {"instances": ("C2",), "arms": (5,), "epsilons": (1.0,), "constants": (3,), "wide_sweep": None}
    monkeypatch.setattr(reproduce, "Evaluation", partial(Evaluation, **small))
    few = {"runs": 2, "failure_runs": 2, "means": (0.5,), "alphas": (0.9,), "epsilons": (1.0,), "betas": (0.05,)}
    few |= {"failure_betas": (0.3,), "laws": LawGrid(runs=2)}
    monkeypatch.setattr(reproduce, "StoppingStudy", partial(StoppingStudy, **few))

    few = {"arms": (5,), "epsilons": (1.0,), "policies": ("dp-se", "dp-chernoff-imed"), "many_runs": 2}
    monkeypatch.setattr(reproduce, "LeagueStudy", partial(LeagueStudy, **few))

    def write_report(found, folder, *, seconds, on_progress):
        assert seconds > 0
        assert found.stopping.results
        assert found.league.results
        on_progress(2)
        (folder / "report.html").write_text(str(len(found.paper.results)))
        return folder / "report.html"

    report = SimpleNamespace(
        Reproduced=Reproduced, steps=lambda *_: 2, headlines=lambda *_: ["DP-SE is better."], write_report=write_report
    )
    monkeypatch.setitem(sys.modules, "discreet.reproduction.report", report)
    return Evaluation(**small, horizon=2000, runs=2)


def test_reproduce(run, tiny, tmp_path):
    arguments = ["reproduce", "--horizon", "2000", "--runs", "2", "--output", tmp_path / "here"]
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert out.startswith("- DP-SE is better.\n")
    for place in ("report.html", "figures", "data", "settings"):
        assert str(tmp_path / "here" / place) in out
    assert (tmp_path / "here" / "report.html").read_text() == str(len(tiny.settings()))
    code, out, _ = run(*arguments, "--json", "--engine", "serial")
    assert code == 0
    assert json.loads(out)["headlines"] == ["DP-SE is better."]


def test_an_interrupted_reproduction_goes_on(run, tiny, tmp_path, monkeypatch):
    stored, put = [], Store.put

    def put_three(store, simulation):
        if len(stored) == 3:
            raise KeyboardInterrupt
        stored.append(simulation)
        put(store, simulation)

    arguments = ["reproduce", "--horizon", "2000", "--runs", "2", "--output", tmp_path]
    league = reproduce.LeagueStudy(horizon=2000, runs=2)
    total = len({*tiny.settings(), *reproduce.StoppingStudy().settings(), *league.settings()})
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
