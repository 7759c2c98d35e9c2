"""Sphinx's settings. Nothing is fetched when the site is read: no fonts, no scripts, no search from elsewhere."""

from __future__ import annotations

import re
from typing import Any

from docutils.nodes import SkipNode, Text, entry, math, row, tbody
from tools.site.formulas import mathml, pieces, statements

from discreet._version import __version__

project = "discreet"
author = "The discreet developers"
copyright = "The discreet developers"  # noqa: A001  (Sphinx's name for it)
version = release = __version__
extensions = ["myst_parser", "sphinx_copybutton"]
root_doc = "index"
smartquotes = False  # it would make a dash of --option
html_theme = "furo"
html_title = f"discreet {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/favicon.svg"
html_show_sphinx = False
html_copy_source = False
html_permalinks_icon = "#"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0068a3", "color-brand-content": "#0068a3"},
    "dark_css_variables": {"color-brand-primary": "#6cbcf0", "color-brand-content": "#6cbcf0"},
}
pygments_style, pygments_dark_style = "friendly", "github-dark"
templates_path: list[str] = []
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist", "attrs_block"]
myst_heading_anchors = 5
myst_dmath_double_inline = True
suppress_warnings = ["misc.highlighting_failure"]  # a block of output is in no language
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 88
copybutton_exclude = ".linenos, .gp, .go"
html_math_renderer = "mathml"
SHORT, LONG = 14, 45  # characters of a table's cell


def _inline(self: Any, node: Any) -> None:
    *before, last = pieces(node.astext())
    self.body += [f"{mathml(piece)}<wbr>" for piece in before]
    self.body.append(f'<span class="together">{mathml(last)}{node.get("then", "")}</span>')
    raise SkipNode


def _block(self: Any, node: Any) -> None:
    found = " ".join(mathml(one, block=True) for one in statements(node.astext()))
    self.body.append(f'<div class="math">{found}</div>')
    raise SkipNode


def _together(_: Any, doctree: Any, __: str) -> None:
    """Hand a formula the comma that follows it, so that no line begins with one."""
    for node in list(doctree.findall(math)):
        place = node.parent.index(node) + 1
        following = node.parent[place] if place < len(node.parent) else None
        if isinstance(following, Text):
            node["then"] = re.match(r"[,.;:)'?]*", following.astext())[0]
            node.parent[place] = Text(following.astext()[len(node["then"]) :])


def _widths(_: Any, doctree: Any, __: str) -> None:
    """Mark columns of short cells, which are not wrapped, and of long ones, which are not squeezed."""
    for body in doctree.findall(tbody):
        cells = [[*one.findall(entry)] for one in body.findall(row)]
        for column in zip(*cells, strict=True):
            most = max(len(cell.astext()) for cell in column)
            kind = "short" if most <= SHORT else "long" if most > LONG else "middle"
            for cell in column:
                cell["classes"].append(kind)


def setup(app: Any) -> None:
    """Write formulas as MathML, which browsers draw by themselves, and tables that phones can show."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("doctree-resolved", _together)
    app.connect("doctree-resolved", _widths)
