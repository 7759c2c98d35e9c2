"""The README's code runs as written."""

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
    assert re.search(r"within 10% of the true mean with probability 0.95, from [\d,]+ samples \(epsilon = 1\)", said)
    assert f"{namespace['rule'].forecast(mean=0.03):,} samples" in README
    assert "red ('red',)" in said
    assert "dp-chernoff-imed(epsilon=0.5, horizon=1000000)" in said
    grid, rate, bandit = discreet.Grid(0, 1), namespace["rate"], namespace["bandit"]
    assert {release.arm for release in bandit.ledger} == set(rate)
    assert all(abs(grid.mean(one.steps, one.rewards) - rate[one.arm]) < 0.1 for one in bandit.ledger)
    assert bandit.best_arm == "red"
    assert "red is better than blue: lift +" in said
    assert namespace["answer"].best_arm == "b"
    assert namespace["policy"].key == "dp-bai-evidence"


def test_what_is_experimental_is_marked():
    marked = [key for key, kind in {**discreet.POLICIES, **discreet.RULES}.items() if kind.experimental]
    page = (Path(__file__).parents[2] / "docs/which-algorithm.md").read_text()
    assert all(f"`{key}`" in page for key in marked)
    assert {"lazy-ucb", "lazy-dp-ts"} <= set(marked)


def test_it_is_short():
    assert len(README.splitlines()) <= 111


def test_every_public_name_has_a_docstring():
    for name in discreet.__all__:
        if name not in ("__version__", "POLICIES", "RULES"):
            assert getattr(discreet, name).__doc__
