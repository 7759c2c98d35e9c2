"""A store: only what is missing is simulated, and damage or an interrupt costs nothing that was finished."""

import sys

import pytest

from discreet.lab import Instance, Setting, simulate_all
from discreet.lab.engines import Serial
from discreet.lab.simulate import run_part, run_setting
from discreet.lab.store import Store

module = sys.modules["discreet.lab.simulate"]
SWEEP = [
    Setting.of("dp-se", "C2", horizon=20_000, runs=5, epsilon=1.0),
    Setting.of("nas", "uniform(0, 1)", runs=5, alpha=0.5, beta=0.1),
    Setting.of("se", ["beta(2, 5)", 0.6, "uniform(0, 0.8)"], horizon=5000, runs=5),
    Setting.of("dp-exp-nas", 0.5, runs=5, alpha=0.5, beta=0.1, epsilon=1.0),
]


@pytest.fixture
def calls(monkeypatch):
    """The settings and runs that are simulated, in order."""
    made = []

    def counted(part):
        made.append(part)
        return run_part(part)

    monkeypatch.setattr(module, "run_part", counted)
    return made


def simulated(calls):
    return [setting for setting, numbers in calls for _ in numbers]


def check_same(results, expected):
    for one, other in zip(results, expected, strict=True):
        assert one.setting == other.setting
        assert all(array.tobytes() == other.arrays[name].tobytes() for name, array in one.arrays.items())


@pytest.fixture(scope="module")
def expected():
    return [run_setting(setting) for setting in SWEEP]


def test_only_what_is_missing_is_simulated(tmp_path, calls, expected):
    settings, store = SWEEP, Store(tmp_path / "new" / "folder")
    check_same(simulate_all(settings[1:3], store=store), expected[1:3])
    assert simulated(calls) == [settings[1]] * 5 + [settings[2]] * 5
    calls.clear()
    told = []
    check_same(simulate_all(settings, store=store, on_progress=told.append), expected)
    assert simulated(calls) == [settings[0]] * 5 + [settings[3]] * 5
    assert sum(told) == 20
    calls.clear()
    check_same(simulate_all(settings, store=store), expected)
    assert not calls
    assert sorted(path.suffix for path in store.folder.iterdir()) == [".npz"] * 4  # nothing temporary is left


def test_no_engine_is_started_when_nothing_is_missing(tmp_path):
    class Unwanted(Serial):
        def __enter__(self):
            pytest.fail("started")

    setting = Setting.of("se", "C2", horizon=500, runs=2)
    first = simulate_all([setting], store=Store(tmp_path))
    check_same(simulate_all([setting], Unwanted(), store=Store(tmp_path)), first)
    assert len(simulate_all([], Unwanted())) == 0


@pytest.mark.parametrize("damage", ["cut", "empty", "changed", "text"])
def test_a_damaged_file_is_simulated_again_and_replaced(tmp_path, calls, damage):
    setting, store = Setting.of("se", "C2", horizon=500, runs=2), Store(tmp_path)
    first = simulate_all([setting], store=store)
    path = store.path(setting)
    whole = path.read_bytes()
    middle = len(whole) // 3
    path.write_bytes(
        {
            "cut": whole[:-40],
            "empty": b"",
            "changed": whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :],
            "text": b"not a results file",
        }[damage]
    )
    assert store.get(setting) is None
    calls.clear()
    check_same(simulate_all([setting], store=store), first)
    assert simulated(calls) == [setting] * 2
    check_same([store.get(setting)], first)


def test_other_settings_have_other_files(tmp_path, monkeypatch):
    store, setting = Store(tmp_path), Setting.of("se", [0.2, 0.8], horizon=500, runs=2)
    own_name = Instance("mine", setting.instance.rewards)
    others = [
        setting.with_(seed=1),
        setting.with_(runs=3),
        setting.with_(checkpoints=(500,)),
        setting.with_(instance=own_name),
        Setting.of("se", [0.2, 0.8], horizon=501, runs=2),
        Setting.of("se", [0.2, 0.8], horizon=500, runs=2, beta=0.1),
        Setting.of("se", [0.2, 0.81], horizon=500, runs=2),
        Setting.of("ucb", [0.2, 0.8], horizon=500, runs=2),
    ]
    paths = {store.path(one) for one in [setting, *others]}
    monkeypatch.setattr("discreet._version.__version__", "99.0")
    paths.add(store.path(setting))
    assert len(paths) == len(others) + 2
    assert store.get(setting) is None


class Interrupted(Serial):
    """Someone presses Ctrl-C after some results."""

    def __init__(self, after):
        self.after = after

    def run(self, work, tasks):
        for index, result in super().run(work, tasks):
            if index == self.after:
                raise KeyboardInterrupt
            yield index, result


@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interrupt_loses_nothing_that_was_finished(tmp_path, calls, expected, after):
    settings, store = SWEEP, Store(tmp_path)  # four settings in this thread: a task is a whole setting
    with pytest.raises(KeyboardInterrupt):
        simulate_all(settings, Interrupted(after), store=store)
    assert [store.get(setting) is not None for setting in settings] == [index < after for index in range(4)]
    calls.clear()
    check_same(simulate_all(settings, store=store), expected)
    assert simulated(calls) == [setting for setting in settings[after:] for _ in range(5)]


def test_a_setting_of_which_some_runs_are_missing_is_not_stored(tmp_path):
    setting, store = Setting.of("se", "C2", horizon=500, runs=8), Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        simulate_all([setting], Interrupted(3), store=store)  # alone, so in four pieces
    assert store.get(setting) is None
