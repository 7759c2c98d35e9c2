"""The command that installs an extra: one that works for this installation."""

import json
from importlib import metadata

import pytest

from discreet._install import install


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
