"""All commands: help, completion, progress, exit codes, and that no mistake gives a traceback."""

import os
import subprocess
import sys

import pytest
import typer

import discreet
from discreet._install import install
from discreet.cli._run import app
from tests._tools.patience import LONG

SE = ["simulate", "se", "--horizon", "2_000", "--runs", "3"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("simulate", "Missing argument 'POLICY'"),
        ("simulat", "No such command 'simulat'"),
        ("--nonsense", "No such option"),
    ],
)
def test_bad_use_is_explained(refused, line, message):
    assert message in refused(line)


@pytest.mark.parametrize("missing", ["pandas", "typer"])
def test_a_missing_package_is_named(run, monkeypatch, tmp_path, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "discreet.cli._run", raising=False)
    code, _, err = run(*SE, "--csv", tmp_path / "x.csv")
    assert code == 1
    assert missing in err
    assert install("lab") in err


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


def test_shell_completion(program, completions):
    script = program(env={**os.environ, "_DISCREET_COMPLETE": "source_bash"}).stdout
    assert "complete -o default -F _discreet_completion discreet" in script
    assert {"dp-se", "dp-ucb", "dp-bai"} <= set(completions("discreet simulate dp-"))
    assert completions("discreet simulate dp-se --instance C") == ["C1", "C2", "C3", "C4"]
    assert completions("discreet compare --engine t") == ["threads"]


def test_help_imports_nothing_heavy():
    code = "import sys; from discreet.cli import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG)
    assert not {"numba", "pandas", "matplotlib", "scipy", "jinja2"} & set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "label", "extra"),
    [
        (SE, "simulating se", ()),
        (SE, "simulating se", ("--json",)),
        (["audit", "laplace", "--samples", "60"], "auditing 1 algorithm", ()),
    ],
    ids=["simulate", "simulate for a program", "audit"],
)
def test_the_progress_bar_is_for_people(words, label, extra):
    """On a terminal's stderr, and neither in a pipe nor beside JSON."""
    ours, theirs = pytest.importorskip("pty").openpty()  # not on Windows
    command = [sys.executable, "-m", "discreet", *words, *extra]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        out, _ = process.communicate(timeout=LONG)
    os.close(theirs)
    try:
        err = os.read(ours, 100_000).decode(errors="replace")  # a long bar may be cut within a letter
    except OSError:  # how Linux says that nothing was written
        err = ""
    os.close(ours)
    assert process.returncode == 0
    assert label not in out
    assert (label in err) == (not extra)


def test_no_flag_is_shown_as_if_it_took_a_value(run):
    for name in ["", *typer.main.get_command(app).commands]:
        code, out, _ = run(name, "--help")
        assert (code, "--help" in out, "<bool>" in out) == (0, True, False), name
