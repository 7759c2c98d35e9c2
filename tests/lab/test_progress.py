"""Progress bars: in a terminal and in a notebook, gone at the end, and nowhere else."""

import io
import sys
from types import SimpleNamespace

import pytest

from discreet.lab import progress, simulate
from discreet.lab.progress import bar, progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves by five seconds at each look."""
    moments = iter(range(0, 10**6, 5))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(moments)))


def test_a_terminal_has_a_line_that_is_gone_at_the_end(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar("working", 4) as advance:
        for _ in range(4):
            advance(1)
    said = sys.stderr.getvalue().split("\r")
    assert said[1].startswith("working ███████")
    assert "25 %, about 15 seconds left" in said[1]
    assert "100 %" in said[4]
    assert said[5].strip() == said[6] == ""


def test_a_moment_needs_no_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar("working", 4) as advance:
        advance(4)
    assert sys.stderr.getvalue() == ""


@pytest.mark.parametrize("wanted", [None, False])
def test_a_pipe_has_none_unless_it_is_asked_for(monkeypatch, clock, wanted):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar("working", 4, wanted) as advance:
        advance(1)
    assert sys.stderr.getvalue() == ""
    with progress_bar("working", 4, True) as advance:
        advance(1)
    assert "25 %" in sys.stderr.getvalue()


def test_a_notebook_has_one_output_that_is_replaced(monkeypatch, clock):
    shown = []
    handle = SimpleNamespace(update=lambda bundle, raw: shown.append(bundle["text/plain"]))

    def display(bundle, raw, display_id):
        shown.append(bundle["text/plain"])
        return handle

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    with progress_bar("working", 2) as advance:
        advance(1)
        advance(1)
    assert [text[-30:].strip() for text in shown][2] == ""
    assert "50 %, about 5 seconds left" in shown[0]
    assert "100 %" in shown[1]


def test_simulations_have_one(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    simulate("dp-se", "C2", 1000, 3, epsilon=1.0, engine=None, progress=True)
    assert "simulating dp-se" in sys.stderr.getvalue()


def test_nothing_to_do_is_done():
    assert bar("working", 0, 0, 1.0).endswith("100 %")
