"""Algorithms of one's own travel to other processes, or the message says why they cannot."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import discreet
from discreet import ArgumentError
from discreet.core.registry import POLICIES
from discreet.lab import carried

SCRIPT = """
import discreet
from discreet.lab import compare

class TestMine(discreet.OwnPolicy):
    rounds: int = 50

    def plan(self):
        return dict.fromkeys(self.arms, self.rounds) if self.best_arm is None else {self.best_arm: None}

    def learn(self, means):
        pass

GUARD:
    several = [compare(TestMine, "C2", 1000, 4, epsilon=1.0, engine=engine) for engine in ENGINES]
    found = [one[0].regret.tolist() for one in several]
    print(all(one == found[0] for one in found), len(found[0]))
"""


def run_script(folder, guard, engines):
    path = folder / "script.py"
    path.write_text(SCRIPT.replace("GUARD", guard).replace("ENGINES", repr(engines)))
    return subprocess.run([sys.executable, path], capture_output=True, text=True, check=False, cwd=folder)


def test_a_class_of_a_script_runs_on_processes_with_the_same_numbers(tmp_path):
    done = run_script(tmp_path, 'if __name__ == "__main__"', ("serial", "processes"))
    assert (done.stdout, done.stderr) == ("True 4\n", "")


@pytest.mark.system
def test_a_class_of_a_script_runs_on_dask_and_ray(tmp_path):
    done = run_script(tmp_path, 'if __name__ == "__main__"', ("serial", "dask", "ray"))
    assert done.stdout.splitlines()[-1:] == ["True 4"], done.stderr


@pytest.mark.parametrize("guard", ["if True", "# no __main__ here\nif True", 'if "__main__"'])
def test_a_script_that_workers_would_run_again_is_refused(guard, tmp_path):
    """By the script itself; where it looks as if it had the line, by the workers that run it again."""
    done = run_script(tmp_path, guard, ("processes",))
    assert "ArgumentError: engine 'processes' needs an `if __name__" in done.stderr
    assert "around what script.py does" in done.stderr
    assert done.stdout == ""


class Holding(discreet.UCB):
    """Holds on to something of this process."""

    key = "test-holding"
    lock = threading.Lock()


Holding.__module__ = "__main__"  # as if it were defined in a script


@pytest.fixture
def holding():
    discreet.register(Holding)
    yield "test-holding"
    del POLICIES["test-holding"]


def test_what_cannot_travel_is_said(holding, monkeypatch):
    with pytest.raises(ArgumentError, match=r"Holding cannot be sent .*lock.*use the engine 'threads'"):
        carried.pack_class(holding)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(ArgumentError, match="Holding is defined in __main__, which workers do not have: pip install"):
        carried.pack_class(holding)


def test_algorithms_of_the_package_travel_by_name():
    assert len(carried.pack_class("dp-se")) < 200
    assert carried.unpack_class(carried.pack_class("dp-se")) is POLICIES["dp-se"]


def test_a_class_of_a_file_that_was_loaded_by_its_path_travels_as_a_whole(tmp_path):
    path = tmp_path / "of_mine.py"
    path.write_text("import discreet\n\nclass Own(discreet.UCB):\n    key = 'test-of-mine'\n\ndiscreet.register(Own)\n")
    code = (
        "import sys; from discreet.cli._modules import load; from discreet.lab import carried\n"
        f"load({str(path)!r}); sys.stdout.buffer.write(carried.pack_class('test-of-mine'))"
    )
    packed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    kind = carried.unpack_class(packed)
    try:
        assert issubclass(kind, discreet.UCB)
        assert Path(path).exists()
    finally:
        del POLICIES["test-of-mine"]
