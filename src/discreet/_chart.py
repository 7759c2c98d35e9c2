"""A figure of matplotlib that a notebook shows once, whether it is the cell's last word or not."""

import io
import sys
from typing import Any

from matplotlib.figure import Figure

_DPI = 110  # of what a notebook shows
_waiting: list["Chart"] = []  # drawn in the cell that runs, and not shown yet


class Chart(Figure):
    """A figure without pyplot: no window, no global state. Notebooks show it as a picture."""

    def _repr_png_(self) -> bytes:
        return self.png()

    def png(self, dpi: int = _DPI) -> bytes:
        """Return the picture as the bytes of a PNG file."""
        file = io.BytesIO()
        self.savefig(file, dpi=dpi, metadata={"Software": None})
        return file.getvalue()

    def show_in_notebook(self) -> "Chart":
        """Have the cell that runs show the picture at its end, as those of pyplot are, and return the figure.

        Outside of a notebook nothing happens.
        """
        shell = _notebook()
        if shell is not None:
            if _show_waiting not in shell.events.callbacks["post_execute"]:
                shell.events.register("post_execute", _show_waiting)
            _waiting.append(self)
        return self

    def _ipython_display_(self) -> None:
        """Show the picture at once: the cell's last word, or `display(figure)`. Its end does not show it again."""
        _waiting[:] = [chart for chart in _waiting if chart is not self]
        sys.modules["IPython.display"].display({"image/png": self.png(), "text/plain": repr(self)}, raw=True)


def _show_waiting() -> None:
    for chart in list(_waiting):
        chart._ipython_display_()


def _notebook() -> Any:
    """Return the shell of a notebook; None in a terminal or a script, which have no place for a picture."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None
