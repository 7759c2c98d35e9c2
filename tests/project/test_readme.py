"""The README's code runs as written, and what it says about the registry is complete."""

import re
from pathlib import Path

import discreet

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_code_blocks_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", README, re.S):
        exec(block, namespace)
    said = capsys.readouterr().out
    assert "within 10% of the true mean with probability 0.95, from 44,044 samples (epsilon = 1)" in said
    assert "red ('red',)" in said
    assert [entry.arms for entry in namespace["released"]] == [("blue",), ("green",), ("red",)]
    assert all(abs(entry.mean - namespace["rate"][entry.arms[0]]) < 0.1 for entry in namespace["released"])
    assert namespace["bandit"].best_arm == "red"


def test_every_registered_name_is_in_the_table():
    for name in (*discreet.POLICIES, *discreet.RULES):
        assert f"`{name}`" in README


def test_every_public_name_has_a_docstring():
    for name in discreet.__all__:
        if name not in ("__version__", "POLICIES", "RULES"):
            assert getattr(discreet, name).__doc__
