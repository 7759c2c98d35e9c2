"""Mistakes of drivers, files and mechanisms, each planted while a context lasts."""

from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np

from discreet.core.noise import scale_for
from discreet.drivers._base import Driver
from discreet.drivers.files import StateFile
from discreet.mechanisms import Curator, NoisyTotals, SparseVector, Trees


@contextmanager
def stored_noise(kind, hide=True):
    """Noise is drawn before the data and kept in files: as texts, so that no look at the file finds a number."""
    state, restore = kind.state, kind.restore

    def ready(self, name, count, fresh):
        pool = self.__dict__.setdefault("_ready", {}).setdefault(name, [])
        while len(pool) < count + 4:
            pool += fresh(4)
        taken, pool[:] = pool[:count], pool[count:]
        return taken

    def draw(self, sensitivity, epsilon, count):
        scale = scale_for(sensitivity, epsilon)
        return ready(self, str(scale), count, lambda n: self.noise.draws(scale, n).tolist()), scale

    def test_noise(self, count):
        return np.array(ready(self, "tests", count, lambda n: self.noise.draws(self.scale, n).tolist()), dtype=np.int64)

    def planted_state(self):
        pools = {name: list(map(str, pool) if hide else pool) for name, pool in self.__dict__.get("_ready", {}).items()}
        return {**state(self), "ready": pools}

    def planted_restore(self, saved):
        self._ready = {name: list(map(int, pool)) for name, pool in saved["ready"].items()}
        if len(saved) > 2:
            restore(self, saved)

    with ExitStack() as stack:
        for name, plant in (("_draw", draw), ("state", planted_state), ("restore", planted_restore)):
            stack.enter_context(patch.object(kind, name, plant))
        if kind is SparseVector:
            stack.enter_context(patch.object(kind, "_test_noise", test_noise))
        yield


@contextmanager
def shown_before_written():
    """A release counts as soon as it is drawn; the file comes later."""

    @contextmanager
    def write_later(self, file):
        yield
        unwritten, self._unwritten = self._unwritten, []
        file.commit(self._head(), unwritten)

    with patch.object(Driver, "_write_after", write_later):
        yield


@contextmanager
def curator_not_put_back():
    """After a refused write the driver goes on with the curator that has released."""
    make, restore = Driver._make_curator, Curator.restore
    with (
        patch.object(Driver, "_make_curator", lambda self: self.__dict__.get("_curator") or make(self)),
        patch.object(Curator, "restore", lambda self, *args: restore(self, *args) if self._mechanism is None else None),
    ):
        yield


@contextmanager
def secrets_of_the_finished():
    """Nothing is erased when an algorithm has finished."""
    with patch.object(Curator, "end", lambda self: None):
        yield


@contextmanager
def secrets_of_ended_series():
    """What is open of a series stays when the next plan begins another one."""
    honest = Curator.open

    def open_same(self, plan):
        if plan is None or plan.query is None:
            honest(self, plan)

    with patch.object(Curator, "open", open_same):
        yield


@contextmanager
def head_not_put_back():
    """After a commit that failed at its last step, its ledger's lines are written over at once."""
    with patch.object(StateFile, "_settle", lambda self: None):
        yield


@contextmanager
def one_draw_for_all():
    """The arms of an epoch share one draw."""
    draw = NoisyTotals._draw

    def shared(self, sensitivity, epsilon, count):
        (noise,), scale = draw(self, sensitivity, epsilon, 1)
        return [noise] * count, scale

    with patch.object(NoisyTotals, "_draw", shared):
        yield


@contextmanager
def charged_half():
    """Releases cost twice what is written down as their price, and the curator does not count."""
    answer = NoisyTotals.answer

    def twice(self, plan, totals, taken):
        return tuple(release._replace(epsilon=2 * release.epsilon) for release in answer(self, plan, totals, taken))

    with patch.object(NoisyTotals, "answer", twice):
        yield


PLANTS = {
    "noise is stored, of totals": (lambda: stored_noise(NoisyTotals), ("dp-se", "dp-se-sharp", "dp-chernoff-imed")),
    "noise is stored, of trees": (lambda: stored_noise(Trees), ("dp-ucb", "dp-ucb-hybrid")),
    "noise is stored, of sparse vectors": (
        lambda: stored_noise(SparseVector),
        ("dp-exp-nas", "dp-nas", "dp-inverse", "dp-se-svt"),
    ),
    "noise is stored in the open": (lambda: stored_noise(NoisyTotals, hide=False), ("dp-se",)),
    "shown before it is written": (shown_before_written, ("dp-se-sharp", "dp-nas", "dp-inverse", "dp-ucb")),
    "the curator is not put back": (curator_not_put_back, ("dp-se-sharp", "dp-se-svt", "dp-ucb", "lazy-dp-ts")),
    "the finished have secrets": (secrets_of_the_finished, ("dp-ucb", "dp-se-modified")),
    "an ended series has secrets": (secrets_of_ended_series, ("guess-and-double of dp-ucb",)),
    "the head is not put back": (head_not_put_back, ("dp-nas-released",)),
    "one draw for all arms": (one_draw_for_all, ("dp-se",)),
    "charged half": (charged_half, ("dp-se-person", "adap-ucb")),
}
