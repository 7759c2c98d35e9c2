"""`discreet stop`: a mean with its promise from a file or a pipe, and never a row more or less than the rule took."""

import json
import shlex
import shutil
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import discreet
from discreet._install import install
from tests._tools import examples
from tests._tools.patience import LONG

UNIT = ["--low", "0", "--high", "1"]
ROUGH = ["--alpha", "0.5", "--beta", "1e-6", *UNIT]
PRIVATE, NAS = ["--rule", "dp-exp-nas", "--epsilon", "1", *ROUGH], ["--rule", "nas", *ROUGH]
ENOUGH = discreet.NAS(alpha=0.5, beta=1e-6, low=0, high=1).run(np.ones(10_000)).samples  # ones that NAS takes
COMMAND = [sys.executable, "-m", "discreet", "stop"]


@pytest.fixture
def run(run):
    """Runs this command, also for the fixtures `data` and `refused`."""
    return partial(run, "stop")


@pytest.fixture
def samples(data):
    """The number of samples that NAS took; it must have halted."""
    return lambda *arguments: data(*arguments, *NAS)["samples"]


def ones(count):
    return "1\n" * count


def test_a_mean_with_its_promise(run, file):
    values = np.random.default_rng(1).random(40_000) < 0.35
    path = file("".join(f"{value:d}\n" for value in values))
    code, out, err = run(path, "--rule", "dp-exp-nas", "--epsilon", "1", "--alpha", "0.1", "--beta", "0.05", *UNIT)
    first, promise, private, again = out.splitlines()
    assert (code, err) == (0, "")
    assert first.startswith("mean 0.3")
    assert promise == (
        "It is within 10% of the true mean with probability 0.95, if the samples are independent draws. "
        "dp-exp-nas needed 8,192 samples in the order of the file; --shuffle takes a random one."
    )
    rule = discreet.DPExponentialNAS
    assert private == f"Private, epsilon = 1 for each sample: {rule.reason}; {rule.theorem.words}."
    assert again == "Another run on the same people spends epsilon again."


@pytest.mark.parametrize("rule", sorted(discreet.RULES.keys() - examples.TESTS))
def test_every_rule_keeps_its_promise(run, file, rule):
    low = 0 if rule in examples.ONE_SIDED else -1
    values = 10 * np.random.default_rng(2).beta(2, 3, 50_000) + low  # with mean 3, or 4
    path = file("".join(f"{value:.6f}\n" for value in values))
    private = ["--epsilon", "2"] if rule.startswith("dp-") else []
    line = [path, "--rule", rule, *private, "--alpha", "0.5", "--beta", "1e-9", "--low", low, "--high", low + 10]
    code, out, _ = run(*line, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["estimate"] == pytest.approx(low + 4, rel=0.5)
    assert found["samples"] < 50_000
    assert ("Not private: no noise is added." in run(*line)[1]) == (not private)


def test_json(run, file):
    path = file(ones(5000))
    code, out, err = run(path, *PRIVATE[:-4], "--radius", "1", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert abs(found.pop("estimate") - 1) < 0.5
    assert found.pop("samples") in (256, 512, 1024, 2048)
    assert found == {
        "rule": "dp-exp-nas", "low": -1.0, "high": 1.0, "reached": True, "alpha": 0.5, "beta": 1e-6, "epsilon": 1.0,
        "reason": "the rule halted", "simulated": False, "epsilon_spent": 1.0, "clip": False, "next_decision": None,
        "theorem": "Promises.rewards_are_private",
    }  # fmt: skip
    assert json.loads(run(path, *NAS, "--json")[1])["epsilon"] is None


def test_json_says_what_was_spent_and_when_it_decides_next(file, run):
    code, out, _ = run(file("1\n0\n1\n"), *PRIVATE, "--json")
    found = json.loads(out)
    assert code == 3
    assert (found["epsilon"], found["epsilon_spent"], found["next_decision"], found["clip"]) == (1.0, 0.5, 4, False)


def test_the_default_rule_is_the_recommended_one_and_spends_epsilon_once(file, run):
    clicks = "".join(f"{int(x)}\n" for x in np.random.default_rng(1).random(50_000) < 0.03)
    code, out, _ = run(file(clicks), "--epsilon", "1", *ROUGH, "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["rule"], found["epsilon_spent"]) == ("dp-inverse", pytest.approx(1.0))
    assert found["estimate"] == pytest.approx(0.03, rel=0.5)
    code, out, _ = run(file("1\n0\n1\n"), "--epsilon", "1", *ROUGH, "--json")
    found = json.loads(out)
    first = discreet.DPInverseSampling(epsilon=1, alpha=0.5, beta=1e-6, low=0, high=1).test(0).count
    assert (code, found["epsilon_spent"], found["next_decision"]) == (3, 0.0, first)


def test_the_noise_is_real(run, file):
    path = file(ones(5000))
    estimates = {json.loads(run(path, *PRIVATE, "--json")[1])["estimate"] for _ in range(3)}
    assert len(estimates) == 3
    assert 1.0 not in estimates


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("", PRIVATE, "no mean: 0 samples read, then the data ended, and dp-exp-nas needs more: it decides next at 2."),
        ("head\n", PRIVATE, "no mean: 0 samples read, "),
        ("0\n" * 100, PRIVATE, "no mean: 100 samples read, then the data ended, and dp-exp-nas needs more: it decides "
         "next at 128. A larger --alpha, --beta or --epsilon needs fewer; a mean near 0 needs many. "
         "The tests so far have spent epsilon = 0.5 on these people all the same.\n"),
        ("0\n" * 100, NAS, "100 samples read, then the data ended, and nas needs more. A larger --alpha or --beta "
         "needs fewer; a mean near 0 needs many.\n"),
        (ones(9000), [*PRIVATE, "--max-samples", "1e1"], "10 samples read, that is --max-samples, and dp-exp-nas"),
        (ones(9000), [*NAS, "--max-samples", ENOUGH - 1], f"{ENOUGH - 1} samples read, that is --max-samples"),
    ],
)  # fmt: skip
def test_no_mean_has_an_exit_code_of_its_own(run, file, text, more, message):
    path = file(text)
    code, out, err = run(path, *more)
    assert (code, out) == (3, "")
    assert message in err
    code, out, err = run(path, *more, "--json")
    found = json.loads(out)
    assert (code, err) == (3, "")
    assert (found["reached"], found["estimate"]) == (False, None)


def test_nothing_is_said_to_be_spent_before_a_test(run, file):
    assert "spent" not in run(file("1\n"), *PRIVATE)[2]


def test_the_cap_may_be_just_enough(samples, file):
    assert samples(file(ones(9000)), "--max-samples", ENOUGH) == ENOUGH


def test_clip(run, refused, file):
    path = file("-3\n" + "7\n" * 9000)
    assert "line 1 of " in refused(path, *PRIVATE)
    code, out, _ = run(path, *PRIVATE, "--clip")
    assert code == 0
    assert "the true mean of the values as moved into [0, 1] with" in out
    assert 0.5 <= float(out.split()[1]) <= 1.5
    assert "must hold a finite number, or true or false, got 'inf'" in refused(file("inf\n"), *PRIVATE, "--clip")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (ROUGH, "a private mean needs --epsilon"),
        ([*NAS, "--epsilon", "1"], "nas is not private and takes no --epsilon, got 1; private are dp-bernstein, "),
        ([*PRIVATE, "--rule", "nope"], f"rule must be one of {', '.join(sorted(discreet.RULES))}, got 'nope'"),
        ([*PRIVATE, "--epsilon", "0"], "epsilon must be a number above 0"),
        ([*PRIVATE, "--alpha", "10"], "alpha must lie strictly between 0 and 1, got 10.0"),
        (PRIVATE[:-4], "give the range of the samples as --low and --high, or as --radius: it must be known without"),
        (PRIVATE[:-2], "give the range of the samples as --low and --high, or as --radius"),
        ([*PRIVATE, "--low", "2"], "low must be below high, got low=2.0 and high=1.0"),
        ([*PRIVATE, "--radius", "2"], "give radius, or low and high, not both; got radius=2.0"),
        ([*PRIVATE, "--high", "x"], "'--high': 'x' is not a number"),
        ([*PRIVATE, "--max-samples", "1.5"], "'1.5' is not a whole number"),
        ([*PRIVATE, "--max-samples", "0"], "max_samples must be at least 1, got 0"),
    ],
)  # fmt: skip
def test_bad_use_is_explained_before_anything_is_read(refused, monkeypatch, line, message):
    monkeypatch.setattr(sys, "stdin", None)
    assert message in refused("-", *line)


def test_bad_sources(refused, tmp_path, monkeypatch, run):
    monkeypatch.setattr(sys, "stdin", None)
    assert "there is no standard input to read" in refused("-", *PRIVATE)
    assert f"there is no such file in {str(tmp_path)!r}" in refused(tmp_path, *PRIVATE)
    assert refused(tmp_path / "x", *PRIVATE, code=1) == f"error: {tmp_path / 'x'}: No such file or directory\n"
    assert "Missing argument 'FILE'" in run(*PRIVATE)[2]


def test_what_was_spent_before_a_bad_cell_of_a_pipe_is_said(refused, standard_input):
    standard_input(b"0\n" * 5 + b"x\n")
    assert refused("-", *PRIVATE).endswith(
        "quotes the data, and is not private. The tests so far have spent epsilon = 0.5 on these people all the same.\n"
    )
    standard_input(b"0\nx\n")
    assert refused("-", *PRIVATE).endswith("and is not private.\n")


def test_a_column_that_is_not_named_is_no_dirty_cell(refused, file):
    said = refused(file("a,b\n1,0\n"), *PRIVATE)
    assert said.endswith("'a', 'b'\n")
    assert "--missing" not in said


def test_nothing_is_spent_on_a_file_with_a_bad_cell(refused, file, monkeypatch):
    monkeypatch.setattr(discreet.Stream, "feed", lambda *_: pytest.fail("something was fed"))
    said = refused(file("0\n" * 5000 + "x\n"), *PRIVATE)
    assert "line 5001 of" in said
    assert said.endswith(
        "; --missing and --clip say what such cells count as. This message quotes the data, and is not private; "
        "nothing was drawn or spent\n"
    )


@pytest.mark.parametrize("bad", [b"x\n", b"\n1\n", b"1.5\n", b"1,1\n", b"\xff\n", b'"'])
def test_a_bad_line_of_a_pipe_counts_only_if_the_rule_comes_to_it(samples, refused, file, standard_input, bad):
    good = ones(ENOUGH).encode()
    standard_input(good, bad)
    assert samples("-") == ENOUGH
    assert f"line {ENOUGH} of" in refused(file(good[2:] + bad), *NAS)


def test_a_file_is_not_read_to_its_end(samples, standard_input):
    source = standard_input(*[ones(1000).encode()] * 1000)
    assert samples("-") == ENOUGH
    assert source.given == 2000 * -(-ENOUGH // 1000)


def test_an_interrupt_says_what_was_spent(run, standard_input):
    standard_input(b"0\n0\n0\n", KeyboardInterrupt)
    code, out, err = run("-", *PRIVATE)
    assert (code, out) == (130, "")
    assert err.startswith("interrupted; no mean after 3 samples. The tests so far have spent epsilon = 0.5 on these ")


def test_a_pipe():
    done = subprocess.run(
        [*COMMAND, "-", *NAS, "--json"], input=ones(100_000), capture_output=True, text=True, timeout=LONG, check=True
    )
    assert json.loads(done.stdout)["samples"] == ENOUGH
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("rule", "count"), [(NAS, ENOUGH), (["--epsilon", "1", *ROUGH], 4096)], ids=["nas", "dp-bernstein"]
)
def test_a_slow_pipe_is_not_waited_for(rule, count):
    """The command ends with the row that the rule needs, while the pipe is still open."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, "-", *rule, "--json"], bufsize=0, **pipes) as process:
        process.stdin.write(ones(count - 1).encode())
        if rule is NAS:  # the row that is missing
            process.stdin.write(b"1")
            process.stdin.write(b"\n")
        process.wait(LONG)
        found = json.loads(process.stdout.read())
        assert process.stderr.read() == b""
    assert process.returncode == 0
    assert found["samples"] == ENOUGH if rule is NAS else found["samples"] < count


@pytest.mark.skipif(not shutil.which("yes"), reason="needs a shell")
def test_a_writer_that_we_leave_is_not_our_trouble():
    line = f"yes 1 | {shlex.join([*COMMAND, '-', *PRIVATE])}"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=LONG, check=True)
    assert done.stdout.startswith("mean ")
    assert done.stderr == ""


def test_parquet_without_pyarrow(refused, table, monkeypatch):
    path = table(a=[1.0])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refused(path, *NAS, code=1) == f"error: Parquet needs pyarrow: {install('lab')}\n"


def test_help_says_what_one_must_know(run):
    code, out, _ = run("--help")
    said = " ".join(out.split())
    assert code == 0
    for words in ("random order", "known without looking at the data", "event level", "The exit code is 3"):
        assert words in said
    assert "discreet stop" in out.split("Examples:")[1]


def test_rules_complete(completions):
    private = [name for name in discreet.RULES if name.startswith("dp-")]
    assert sorted(completions("discreet stop --rule dp-")) == sorted(private)
