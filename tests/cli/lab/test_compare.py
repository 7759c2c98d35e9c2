"""`discreet compare`: policies by their regret, the best first."""

import json

import pytest

from discreet.cli import _console
from discreet.lab import Results


def test_compare_ranks_policies(run):
    code, out, err = run("compare", "dp-se", "se", "dp-se-svt", "--epsilon", "1", "--horizon", "1e5", "--runs", "3")
    assert (code, err) == (0, "")
    rows = {line.split()[0]: line for line in out.splitlines() if line.startswith(("dp-se", "se"))}
    assert "x best private" in out
    assert "yes, 1" in rows["dp-se"]
    assert " no " in rows["se"]
    assert "simulated noise" in out

    code, out, err = run(
        "compare", "dp-se", "se", "dp-se-svt", "--epsilon", "1", "--horizon", "1e5", "--runs", "3", "--json"
    )
    found = json.loads(out)
    assert (code, err) == (0, "")
    means = [one["final_regret"]["mean"] for one in found]
    assert means == sorted(means)
    assert [one["policy"] for one in found] == list(rows)


def test_compare_has_a_league_of_its_own(data, tmp_path):
    found = data("compare --epsilon 1 --horizon 2_000 --runs 3 --output", tmp_path / "league.npz")
    assert {one["policy"] for one in found} == {"dp-se", "dp-ucb", "se", "ucb"}
    assert len(Results.load(tmp_path / "league.npz")) == 4


def test_a_league_is_drawn(run, refused, tmp_path):
    line = "compare dp-se se --epsilon 0.5,1 --horizon 2_000 --runs 2 --figure"
    _, out, _ = run(line, tmp_path / "new" / "league.png")
    assert (tmp_path / "new" / "league.png").read_bytes().startswith(b"\x89PNG")
    assert f"saved {tmp_path / 'new' / 'league.png'}" in out
    assert "a picture's name must end in .png, .pdf, .svg" in refused(line, "league.gif")


def test_a_league_has_variants_of_one_policy(data):
    found = data("compare dp-ucb dp-ucb:preset=thesis --epsilon 1 --horizon 2000 --runs 2")
    assert sorted(one["options"].get("preset", "-") for one in found) == ["-", "thesis"]


def test_tables_fit_a_narrow_terminal(run, monkeypatch):
    monkeypatch.setattr(_console, "WIDE", 70)
    _, out, _ = run("compare", "dp-se", "se", "--epsilon", "0.25", "--horizon", "1e5", "--runs", "3")
    assert max(len(line) for line in out.splitlines()[3:6]) <= 70
    assert "25 %" not in out
    assert "worst" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("compare dp-se uc --epsilon 1", "policy must be one of"),
        ("compare dp-se se --epsilon 1 -O gamma=0.1", "none of dp-se, se has an option 'gamma'"),
        ("compare", "dp-se needs the option 'epsilon', such as --epsilon 1"),
    ],
)
def test_bad_use_is_explained(refused, line, message):
    assert message in refused(line)


def test_a_sweep_has_a_row_for_each_value(run, tmp_path):
    sweep = ["compare", "dp-se", "se", "--epsilon", "0.5,1", "--arms", "3,4", "--horizon", "1e4", "--runs", "2"]
    code, out, err = run(*sweep, "--summary", tmp_path / "sweep.csv")
    assert (code, err) == (0, "")
    assert out.startswith("C2, T = 10000\n")
    header, *rows = (tmp_path / "sweep.csv").read_text().splitlines()
    assert header.startswith("policy,epsilon,options,instance,arms,horizon,seed,mean,")
    assert sorted(tuple(row.split(",")[:2]) for row in rows) == [
        *(("dp-se", "0.5"),) * 2,
        *(("dp-se", "1.0"),) * 2,
        *(("se", ""),) * 2,
    ]
    assert f"saved {tmp_path / 'sweep.csv'}" in out
    code, _, err = run("simulate", "dp-se", "--epsilon", "0.5,1")
    assert code == 2
    assert "epsilon must be a number, got [0.5, 1.0]" in err
