"""The command that installs an extra: one that works for this installation."""

import json
import sys
from importlib import metadata

import pytest

import discreet
from discreet._install import install, needs


class Distribution:
    def __init__(self, source):
        self.source = source

    def read_text(self, name):
        assert name == "direct_url.json"
        return None if self.source is None else json.dumps(self.source)


@pytest.mark.parametrize(
    ("source", "command"),
    [
        (None, "pip install 'discreet[lab]'"),
        ({"url": "file:///a/b%20c", "dir_info": {}}, "pip install '/a/b c[lab]'"),
        ({"url": "file:///a/b", "dir_info": {"editable": True}}, "pip install -e '/a/b[lab]'"),
        ({"url": "https://a.example/d.git", "vcs_info": {"vcs": "git"}},
         "pip install 'discreet[lab] @ git+https://a.example/d.git'"),
        ({"url": "https://a.example/d.whl", "archive_info": {}}, "pip install 'discreet[lab] @ https://a.example/d.whl'"),
    ],
)  # fmt: skip
def test_it_names_where_discreet_came_from(source, command, monkeypatch):
    monkeypatch.setattr(metadata, "distributions", lambda name: [Distribution(None), Distribution(source)])
    install.cache_clear()
    assert install("lab") == command
    install.cache_clear()


def test_a_source_tree_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(metadata, "distributions", lambda name: [])
    install.cache_clear()
    assert install("lab") == "pip install '.[lab]'"
    install.cache_clear()


def forecast():
    return discreet.forecast([0.1, 0.5], epsilon=1.0)


def runs():
    return discreet.lab.simulate("dp-se", "C2", epsilon=1.0, horizon=10_000, runs=2)


def bandit():
    return discreet.Bandit(discreet.UCB(["A", "B"]))


def summary():
    return discreet.inference.summary(bandit().ledger)


@pytest.mark.parametrize(
    ("package", "extra", "ask"),
    [
        ("matplotlib", "lab", lambda: forecast().plot()),
        ("matplotlib", "lab", lambda: runs().plot()),
        ("matplotlib", "lab", lambda: bandit().plot()),
        ("matplotlib", "lab", lambda: summary().plot()),
        ("pandas", "lab", lambda: forecast().to_pandas()),
        ("pandas", "lab", lambda: runs().summary()),
        ("pandas", "lab", lambda: runs().to_pandas()),
        ("pandas", "lab", lambda: summary().to_pandas()),
        ("dp_accounting", "accounting", lambda: discreet.recommend(4, epsilon=1.0, goal="best-arm").make().dp_event()),
        ("river", "interop", lambda: discreet.interop.river),
        ("gymnasium", "interop", lambda: discreet.interop.gymnasium),
    ],
)
def test_what_needs_a_package_that_is_missing_says_how_to_install_it(package, extra, ask, monkeypatch):
    for loaded in [name for name in sys.modules if name.split(".")[0] == package or name == "discreet._chart"]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, package, None)
    for own in ("river", "gymnasium"):
        monkeypatch.delitem(sys.modules, f"discreet.interop.{own}", raising=False)
        monkeypatch.delattr(discreet.interop, own, raising=False)
    with pytest.raises(ModuleNotFoundError, match=rf"needs {package}: pip install .*\[{extra}\]'"):
        ask()


def test_a_fault_of_ours_is_no_missing_package():
    with pytest.raises(ModuleNotFoundError, match=r"No module named .discreet\.nothing."), needs("all", "lab"):
        import discreet.nothing  # noqa: F401
