"""The command line: what it prints and where, its exit codes, and that no mistake gives a traceback."""

import json
import os
import shlex
import subprocess
import sys

import pytest

import discreet
from discreet.cli import console, main
from discreet.lab import Results, fast, simulate
from discreet.lab.store import Store
from discreet.reproduction.evaluation import Evaluation
from discreet.reproduction.league import LeagueStudy
from discreet.reproduction.reproduce import Report, Reproduction

ISSUE = shlex.split("simulate dp-se --instance C2 --arms 5 --epsilon 0.25 --horizon 5e7 --runs 30 --seed 7 --json")
SMALL = ["--epsilon", "1", "--horizon", "2_000", "--runs", "3"]


@pytest.fixture
def run(capsys):
    """Runs a command in this process: exit code, stdout and stderr."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


def in_a_process(*arguments, **options):
    command = [sys.executable, "-m", "discreet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)


# ---------------------------------------------------------------------- simulate


def test_the_result_is_one_json_document(run):
    code, out, err = run(*ISSUE)
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["final_regret"]["mean"] == pytest.approx(4830, abs=1)
    assert (found["policy"], found["epsilon"], found["horizon"], found["seed"]) == ("dp-se", 0.25, 50_000_000, 7)
    assert len(found["regret_by_run"]) == 30
    assert found["simulated"]


def test_as_a_program():
    done = in_a_process(*ISSUE)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["final_regret"]["failures"] == 0


def regrets(run, *arguments):
    code, out, _ = run(*arguments, "--json")
    assert code == 0
    return json.loads(out)["regret_by_run"]


def test_the_seed_decides_the_numbers(run):
    se = ["simulate", "se", "--horizon", "1e4", "--runs", "3", "--seed"]
    assert regrets(run, *se, "7") == regrets(run, *se, "7") != regrets(run, *se, "8")
    assert regrets(run, *se, "7") == simulate("se", "C2", 1e4, 3, 7).final.tolist()


def test_engines_agree(run):
    se = ["simulate", "se", "--horizon", "1e4", "--runs", "5", "--engine"]
    assert (
        regrets(run, *se, "threads") == regrets(run, *se, "processes", "--workers", "2") == regrets(run, *se, "serial")
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
        "simulate", "dp-bai", *arms, *SMALL, "-O", "beta=0.1", "--option", "max-pulls=1e3",
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


def test_options_are_numbers_where_they_can_be(run):
    for given, expected in (("preset=thesis", {"preset": "thesis"}), ("relaxation=500", {"relaxation": 500.0})):
        _, out, _ = run("simulate", "dp-ucb", *SMALL, "-O", given, "--json")
        assert json.loads(out)["options"] == {"epsilon": 1.0, **expected}


# ---------------------------------------------------------------------- what goes wrong

BAD_USE = [
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
    ("simulate se --arm uniform(0,10) --arm 0.3", "outside the policy's range"),
    ("simulate se -O beta", "an option must look like name=value, got 'beta'"),
    ("simulate se -O beta=x", "beta must be a number, got 'x'"),
    ("simulate se -O bet=0.1", "se has no option 'bet'"),
    ("simulate se -O runs=3", "use --runs"),
    ("simulate dp-se --epsilon 1 -O epsilon=2", "epsilon must be given once"),
    ("simulate se --checkpoint 1e9", "checkpoints must not lie past the horizon"),
    ("simulate se --engine spark", "engine must be 'serial' or 'threads'"),
    ("simulate se --engine threads --address host:1", "address must be left out"),
    ("simulate se --workers 0", "workers must be at least 1"),
    ("compare dp-se uc --epsilon 1", "policy must be one of"),
    ("compare dp-se se --epsilon 1 -O gamma=0.1", "none of dp-se, se has an option 'gamma'"),
    ("compare", "dp-se needs the option 'epsilon'"),
    ("reproduce --runs 0", "runs must be at least 1"),
    ("plot nothing.npz", "there is no results file 'nothing.npz'"),
    ("plot nothing.npz --output x.gif", "output must end in .png, .pdf, .svg, got 'x.gif'"),
    ("simulate", "Missing argument 'POLICY'"),
    ("simulat", "No such command 'simulat'"),
    ("--nonsense", "No such option"),
]


@pytest.mark.parametrize(("line", "message"), BAD_USE, ids=[line for line, _ in BAD_USE])
def test_bad_use_is_explained(run, line, message):
    code, out, err = run(*line.split())
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err


@pytest.mark.parametrize("line", ["simulate se --output", "compare se ucb --csv", "reproduce --quick --output"])
def test_files_that_cannot_be_written_are_refused_at_once(run, line, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.cli.simulation.simulate_all", None)  # nothing is simulated before
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
    code, _, err = run("simulate", "se", *SMALL[2:], "--output", tmp_path / "result.npz")
    assert (code, err) == (1, "error: result.npz: No space left on device\n")


def test_a_damaged_results_file(run, tmp_path):
    (tmp_path / "bad.npz").write_text("nothing")
    code, _, err = run("plot", tmp_path / "bad.npz")
    assert code == 2
    assert "is not a file of simulation results" in err


@pytest.mark.parametrize("missing", ["pandas", "typer"])
def test_a_missing_package_is_named(run, monkeypatch, tmp_path, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "discreet.cli.run")
    code, _, err = run("simulate", "se", *SMALL[2:], "--csv", tmp_path / "x.csv")
    assert code == 1
    assert missing in err
    assert "pip install 'discreet[lab]'" in err


@pytest.mark.filterwarnings("default")
def test_a_slow_way_is_a_hint(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "discreet.lab.kernels.dispatch", None)
    monkeypatch.setattr(fast, "hint", fast.hint.__wrapped__)  # it speaks once in a process
    monkeypatch.setenv("PYTHONWARNINGS", "default")
    monkeypatch.setattr("discreet.cli.simulation.FEW_PULLS", 1e9)
    code, out, err = run("simulate", "ucb", "--horizon", "500", "--runs", "1", "--json")
    assert code == 0
    assert json.loads(out)["final_regret"]["method"] == "object"
    assert err.startswith("hint: discreet.lab.kernels.dispatch is not installed, so every policy is simulated as the ")


def test_a_long_wait_is_announced(run, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.cli.simulation.simulate_all", stop)
    slow = "simulate", "dp-ucb-hybrid", "--arm", "0.5", "--arm", "beta(2, 5)"  # no kernel plays these arms
    code, out, err = run(*slow, "--epsilon", "1", "--horizon", "1e9", "--runs", "100")
    assert (code, out) == (130, "")
    hint, end = err.splitlines()
    assert hint.startswith("hint: dp-ucb-hybrid: played one pull at a time here, which takes about ")
    assert end == "interrupted; nothing was written"


# ---------------------------------------------------------------------- compare


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


def test_compare_has_a_league_of_its_own(run, tmp_path):
    code, out, _ = run("compare", *SMALL, "--json", "--output", tmp_path / "league.npz")
    assert code == 0
    assert {one["policy"] for one in json.loads(out)} == {"dp-se", "dp-ucb", "se", "ucb"}
    assert len(Results.load(tmp_path / "league.npz")) == 4


def test_tables_fit_a_narrow_terminal(run, monkeypatch):
    monkeypatch.setattr(console, "WIDE", 70)
    _, out, _ = run("compare", "dp-se", "se", "--epsilon", "0.25", "--horizon", "1e5", "--runs", "3")
    assert max(len(line) for line in out.splitlines()[3:6]) <= 70
    assert "25 %" not in out
    assert "worst" in out


# ---------------------------------------------------------------------- reproduce


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
    assert (tmp_path / "here" / "report.html").read_text() == "2"
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


# ---------------------------------------------------------------------- the small commands


def test_policies(run):
    code, out, _ = run("policies")
    assert code == 0
    everything = {**discreet.POLICIES, **discreet.RULES}
    for name, kind in everything.items():
        assert f"{name} " in out
        assert kind.__name__ in out
    found = {row["name"]: row for row in json.loads(run("policies", "--json")[1])}
    assert set(found) == set(everything)
    assert found["dp-se"]["private"] == "yes"
    assert found["dp-se"]["needs"] == ["epsilon"]
    assert found["ucb"]["private"] == "no"
    assert found["guess-and-double"]["private"] == "as wrapped"
    assert found["dp-ucb"]["options"]["preset"] == "event-level"


def test_plot(run, tmp_path):
    run("simulate", "se", *SMALL[2:], "--output", tmp_path / "result.npz")
    assert run("plot", tmp_path / "result.npz")[:2] == (0, f"{tmp_path / 'result.png'}\n")
    assert (tmp_path / "result.png").read_bytes().startswith(b"\x89PNG")
    assert run("plot", tmp_path / "result.npz", "--log", "--output", tmp_path / "new" / "figure.pdf")[0] == 0
    assert (tmp_path / "new" / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_a_league_has_variants_of_one_policy(run):
    line = ("compare", "dp-ucb", "dp-ucb:preset=thesis", "--epsilon", "1", "--horizon", "2000", "--runs", "2", "--json")
    code, out, _ = run(*line)
    assert code == 0
    presets = sorted(one["options"].get("preset", "-") for one in json.loads(out))
    assert presets == ["-", "thesis"]


def test_version_and_help(run):
    assert run("--version") == (0, f"discreet {discreet.__version__}\n", "")
    for arguments in ((), ("--help",)):
        code, out, _ = run(*arguments)
        assert code == 0
        assert all(command in out for command in ("simulate", "compare", "reproduce", "policies", "plot"))
    for command in ("simulate", "compare", "reproduce", "plot"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert f"discreet {command}" in out.split("Examples:")[1]


def completions(line):
    words = line.split(" ")
    asked = {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return in_a_process(env={**os.environ, **asked}).stdout.split()


def test_shell_completion():
    script = in_a_process(env={**os.environ, "_DISCREET_COMPLETE": "source_bash"}).stdout
    assert "complete -o default -F _discreet_completion discreet" in script
    assert {"dp-se", "dp-ucb", "dp-bai"} <= set(completions("discreet simulate dp-"))
    assert completions("discreet simulate dp-se --instance C") == ["C1", "C2", "C3", "C4"]
    assert completions("discreet compare --engine t") == ["threads"]


def test_help_imports_nothing_heavy():
    code = "import sys; from discreet.cli import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert not {"numba", "pandas", "matplotlib", "scipy", "jinja2"} & set(done.stdout.split())


@pytest.mark.parametrize("extra", [(), ("--json",)])
@pytest.mark.parametrize(
    ("words", "label"),
    [
        (["simulate", "se", *SMALL[2:]], "simulating se"),
        (["audit", "laplace", "--samples", "60"], "auditing 1 algorithm"),
    ],
    ids=["simulate", "audit"],
)
def test_the_progress_bar_is_for_people(words, label, extra):
    """On a terminal's stderr, and neither in a pipe nor beside JSON."""
    ours, theirs = pytest.importorskip("pty").openpty()  # not on Windows
    command = [sys.executable, "-m", "discreet", *words, *extra]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        out, _ = process.communicate(timeout=60)
    os.close(theirs)
    try:
        err = os.read(ours, 100_000).decode()
    except OSError:  # how Linux says that nothing was written
        err = ""
    os.close(ours)
    assert process.returncode == 0
    assert label not in out
    assert (label in err) == (not extra)
