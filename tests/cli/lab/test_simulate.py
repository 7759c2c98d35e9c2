"""`discreet simulate`: its numbers, its tables and its files."""

import json
import shlex
import sys

import pytest

import discreet
from discreet.lab import Results, kernels, simulate

PAPER = shlex.split("simulate dp-se --instance C2 --arms 5 --epsilon 0.25 --horizon 5e7 --runs 30 --seed 7 --json")
SMALL = ["--horizon", "2_000", "--runs", "3"]


def test_the_result_is_one_json_document(run):
    code, out, err = run(*PAPER)
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["final_regret"]["mean"] == pytest.approx(4830, abs=1)
    assert (found["policy"], found["epsilon"], found["horizon"], found["seed"]) == ("dp-se", 0.25, 50_000_000, 7)
    assert len(found["regret_by_run"]) == 30
    assert found["simulated"]


def test_as_a_program(program):
    done = program(*PAPER)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["final_regret"]["failures"] == 0


def regrets(data, *arguments):
    return data(*arguments)["regret_by_run"]


def test_the_seed_decides_the_numbers(data):
    se = ["simulate", "se", "--horizon", "1e4", "--runs", "3", "--seed"]
    assert regrets(data, *se, "7") == regrets(data, *se, "7") != regrets(data, *se, "8")
    assert regrets(data, *se, "7") == simulate("se", "C2", 1e4, 3, 7).final.tolist()


def test_engines_agree(data):
    se = ["simulate", "se", "--horizon", "1e4", "--runs", "5", "--engine"]
    assert (
        regrets(data, *se, "threads")
        == regrets(data, *se, "processes", "--workers", "2")
        == regrets(data, *se, "serial")
    )


def test_a_table_for_people(run):
    code, out, err = run("simulate", "dp-se", "--epsilon", "0.25", "--seed", "7")
    assert (code, err) == (0, "")
    assert "dp-se(epsilon=0.25) on C2, K = 5, T = 50000000" in out
    assert "30 runs on simulated noise, seed 7" in out
    for word in ("mean", "95 % interval", "5 %", "25 %", "median", "75 %", "95 %", "worst", "0 of 30", "seconds"):
        assert word in out
    assert "4,830 to 4,830" in out
    assert "30 of 30  36,129" in out  # the second arm's elimination


def test_one_run_has_no_interval(run):
    assert run("simulate", "se", "--horizon", "1000", "--runs", "1")[0] == 0
    code, out, _ = run("simulate", "ucb", "--horizon", "1000", "--runs", "1", "--json")
    assert code == 0
    assert json.loads(out)["final_regret"]["low"] is None


def test_own_arms_options_and_checkpoints(run, tmp_path):
    (tmp_path / "clicks.csv").write_text("day,rate\n1,0.25\n2,0.75\n")
    arms = ["--arm", "0.3", "--arm", "beta(2,5)", "--arm", f"csv({tmp_path / 'clicks.csv'},rate)"]
    saved = tmp_path / "new" / "result.npz"
    code, out, _ = run(
        "simulate", "dp-bai", *arms, "--epsilon", "1", *SMALL, "-O", "beta=0.1", "--option", "max-pulls=1e3",
        "--checkpoint", "100", "--checkpoint", "1e3", "--output", saved, "--csv", tmp_path / "curves.csv", "--json",
    )  # fmt: skip
    found = json.loads(out)
    assert code == 0
    assert found["options"] == {"beta": 0.1, "epsilon": 1.0, "max_pulls": 1000}
    assert found["arm_means"] == [0.3, pytest.approx(2 / 7), 0.5]
    (loaded,) = Results.load(saved)
    assert loaded.setting.checkpoints == (100, 1000, 2000)
    lines = (tmp_path / "curves.csv").read_text().splitlines()
    assert lines[0].startswith("policy,epsilon,")
    assert len(lines) == 1 + 3 * 3


def test_options_are_numbers_where_they_can_be(data):
    for given, expected in (("preset=thesis", {"preset": "thesis"}), ("relaxation=500", {"relaxation": 500.0})):
        found = data("simulate dp-ucb --epsilon 1", *SMALL, "-O", given)
        assert found["options"] == {"epsilon": 1.0, **expected}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("simulate dp-sex --epsilon 1", "policy must be one of adap-klucb, "),
        (
            "simulate dp-se --instance C9 --epsilon 1",
            "instance must be C1, C2, C3, C4, R1, R2, R3 or a list of arms, got 'C9'",
        ),
        ("simulate dp-se", "dp-se needs the option 'epsilon'"),
        ("simulate ucb --epsilon 1", "ucb has no option 'epsilon'"),
        ("simulate dp-se --epsilon abc", "'--epsilon': 'abc' is not a number"),
        ("simulate dp-se --epsilon nan", "epsilon must be a finite number"),
        ("simulate se --horizon 5x", "'--horizon': '5x' is not a whole number"),
        ("simulate se --horizon 1.5", "'1.5' is not a whole number"),
        ("simulate se --horizon inf", "'inf' is not a whole number"),
        ("simulate se --horizon 3", "horizon must allow one pull of each of the 5 arms, got 3"),
        ("simulate se --runs 0", "runs must be at least 1, got 0"),
        ("simulate se --instance C2 --arm 0.3", "give --instance or --arm, not both"),
        ("simulate se --arms 3 --arm 0.3 --arm 0.2", "with --arm it must be left out, got 3"),
        ("simulate se --arm 0.3", "an instance needs at least two arms"),
        ("simulate se --arm gamma(2) --arm 0.3", "the arm 'gamma(2)' is of no known form"),
        ("simulate se --arm uniform(0,10) --arm 0.3", "outside the algorithm's range"),
        ("simulate se -O beta", "an option must look like name=value, got 'beta'"),
        ("simulate se -O beta=x", "beta must be a number, got 'x'"),
        ("simulate se -O bet=0.1", "se has no option 'bet'"),
        ("simulate se -O runs=3", "use --runs"),
        ("simulate dp-se --epsilon 1 -O epsilon=2", "epsilon must be given once"),
        ("simulate se --checkpoint 1e9", "checkpoints must not lie past the horizon"),
        ("simulate se --engine spark", "engine must be 'serial', 'threads', "),
        ("simulate se --engine threads --address host:1", "address must be left out"),
        ("simulate se --workers 0", "workers must be at least 1"),
    ],
)
def test_bad_use_is_explained(refused, line, message):
    assert message in refused(line)


@pytest.mark.parametrize("line", ["simulate se --output", "compare se ucb --csv"])
def test_files_that_cannot_be_written_are_refused_at_once(run, line, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.cli.lab._simulation.simulate_all", None)  # nothing is simulated before
    (tmp_path / "file").write_text("")
    code, out, err = run(*line.split(), tmp_path / "file" / "inside")
    assert (code, out) == (1, "")
    assert f"error: {tmp_path / 'file' / 'inside'}" in err
    assert "cannot be written" in err


def test_a_folder_is_no_file(run, tmp_path):
    code, _, err = run("simulate", "se", "--output", tmp_path)
    assert (code, err) == (1, f"error: {tmp_path}: is a folder, not a file to write\n")


def test_files_that_turn_out_bad_too(run, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(28, "No space left on device", "result.npz")

    monkeypatch.setattr(Results, "save", full)
    code, _, err = run("simulate", "se", *SMALL, "--output", tmp_path / "result.npz")
    assert (code, err) == (1, "error: result.npz: No space left on device\n")


@pytest.mark.filterwarnings("default")
def test_a_slow_way_is_a_hint(run, monkeypatch):
    for name in ("ucb", "steps"):
        monkeypatch.setitem(sys.modules, f"discreet.lab.kernels.{name}", None)
    monkeypatch.setattr(kernels, "warn_slow", kernels.warn_slow.__wrapped__)  # it warns once in a process
    monkeypatch.setenv("PYTHONWARNINGS", "default")
    code, out, err = run("simulate", "ucb", "--horizon", "500", "--runs", "1", "--engine", "serial", "--json")
    assert code == 0
    assert json.loads(out)["final_regret"]["method"] == "object"
    assert err.startswith("hint: discreet.lab.kernels.ucb is not installed, so algorithms are simulated as objects")


class Slow(discreet.UCB):
    """A policy of one's own, which no kernel plays."""

    key = "test-slow"


def test_a_long_wait_is_announced(run, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.cli.lab._simulation.simulate_all", stop)
    monkeypatch.setitem(discreet.POLICIES, "test-slow", Slow)
    slow = "simulate", "test-slow", "--arm", "0.5", "--arm", "beta(2, 5)"
    code, out, err = run(*slow, "--horizon", "1e9", "--runs", "100")
    assert (code, out) == (130, "")
    hint, end = err.splitlines()
    assert hint.startswith("hint: test-slow: played one pull at a time here, which takes about ")
    assert end == "interrupted; nothing was written"
