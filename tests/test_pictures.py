"""Figures: nothing overlaps, and files are written in both formats."""

import sys

import pytest

from discreet._pictures import Cloud, Colour, Line, Panel, Picture, paint, write_picture

LINES = [Line(f"DP-UCB, ε = {i}", [1, 1e3, 5e7], [1, 1e2 * (i + 1), 1e5], colour) for i, colour in enumerate(Colour)]
CLOUDS = [Cloud("", place, [1, 20, 300], Colour.BLUE, note="20×") for place in range(14)]
TICKS = [(place, "dp-\nchernoff-\nimed") for place in range(14)]
PICTURES = [
    Picture("one", "One panel", [Panel("C1", LINES)], columns=1),
    Picture("two", "Two panels", [Panel("C1", LINES[:3], x_log=True, y_log=True), Panel("C2", LINES[3:])]),
    Picture("many", "Eight panels", [Panel(f"K = {k}", LINES[:4], x_log=True, y_log=True) for k in range(8)]),
    Picture("wide", "Clouds", [Panel("", LINES[:1], CLOUDS, ticks=TICKS, y_log=True)], columns=1, stretch=2.5),
]


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_nothing_overlaps_the_legend_or_leaves_the_picture(picture):
    figure = paint(picture)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box, page = legend.get_window_extent(), figure.bbox
    assert page.x0 <= box.x0
    assert box.x1 <= page.x1
    assert page.y0 <= box.y0
    for ax in figure.axes:
        tight = ax.get_tightbbox()
        assert not box.overlaps(tight)
        assert tight.x0 >= page.x0 - 1
        assert tight.x1 <= page.x1 + 1
        assert tight.y1 <= page.y1 + 1


def test_a_picture_is_written_as_png_and_pdf(tmp_path):
    png = write_picture(PICTURES[0], tmp_path)
    assert png.startswith(b"\x89PNG")
    assert (tmp_path / "one.png").read_bytes() == png
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")


def test_ticks_of_logarithmic_axes_are_powers_of_ten():
    (ax,) = paint(Picture("log", "", [Panel("", LINES[:1], x_log=True, y_log=True)], columns=1)).axes
    formatter = ax.yaxis.get_major_formatter()
    assert [formatter(value, 0) for value in (0.01, 1, 1e4)] == ["10⁻²", "10⁰", "10⁴"]


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    for name in ("matplotlib", "discreet._chart"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=r"a picture needs matplotlib: pip install .*\[lab\]'"):
        paint(PICTURES[0])


def test_bars_and_whole_epochs_are_drawn_for_a_single_point():
    line = Line("A", [1], [0.5], Colour.BLUE, marker="o", low=[0.4], high=[0.6], bars=True)
    (ax,) = paint(Picture("point", "", [Panel("", [line], whole_x=True)], columns=1)).axes
    assert ax.get_xlim() == (0.5, 1.5)
    assert [tick for tick in ax.get_xticks() if 0.5 <= tick <= 1.5] == [1.0]
    assert len(ax.collections) == 1
