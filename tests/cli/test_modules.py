"""`discreet --module mine.py <any command>`: algorithms from a file of one's own."""

import json

import pytest

from discreet.core.registry import POLICIES

MINE = '''
import discreet

class TestFromAFile(discreet.OwnPolicy):
    """Pulls every arm for a while, and then the best."""

    rounds: int = 50

    def plan(self):
        return dict.fromkeys(self.arms, self.rounds) if self.best_arm is None else {self.best_arm: None}

    def learn(self, means):
        pass
'''


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    yield path
    POLICIES.pop("test-from-a-file", None)


@pytest.mark.parametrize("command", ["compare", "simulate"])
@pytest.mark.parametrize("first", [True, False])
def test_a_policy_from_a_file_is_simulated(run, mine, command, first):
    words = [command, "test-from-a-file", "--epsilon", "1", "--horizon", "1000", "--runs", "2", "--json"]
    code, out, err = run(*(["--module", mine, *words] if first else [*words, f"--module={mine}"]))
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found[0] if command == "compare" else found)["policy"] == "test-from-a-file"


def test_other_commands_know_it_too(run, mine):
    code, out, _ = run("--module", mine, "policies")
    assert code == 0
    assert "test-from-a-file" in out
    code, out, _ = run("--module", mine, "audit", "test-from-a-file", "--samples", "60")
    assert code == 0
    assert "no violation found" in out


def test_what_is_no_module_is_named(run, tmp_path):
    assert "there is no file 'nowhere.py'" in run("--module", "nowhere.py", "policies")[2]
    assert "got 'no_such_module'" in run("--module", "no_such_module", "policies")[2]
    (tmp_path / "broken.py").write_text("raise ValueError('no')")
    with pytest.raises(ValueError, match="no"):
        run("--module", tmp_path / "broken.py", "policies")
