"""Tutorials: pages whose code runs when the site is built. Each is a notebook too, of the same text.

A block of Python is a cell; everything else is text. What a cell shows is put below it.
"""

from __future__ import annotations

import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from tools.site.paths import DOCS, EXAMPLES, ROOT, TUTORIALS

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
SECONDS = 600
_KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def sources() -> list[Path]:
    """Return the tutorials, in order of their names."""
    return sorted(TUTORIALS.glob("*.md"))


def notebook(source: Path) -> Any:
    """Return a tutorial as a notebook without outputs. Links to other pages become their plain words."""
    pieces = BLOCK.split(source.read_text())
    cells = []
    for index, piece in enumerate(pieces):
        text = piece.strip("\n")
        if not text:
            continue
        make = nbformat.v4.new_code_cell if index % 2 else nbformat.v4.new_markdown_cell
        cell = make(text if index % 2 else re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]*\)", r"\1", text))
        cell["id"] = f"cell-{len(cells)}"  # the same each time, so that a file changes only with its text
        cells.append(cell)
    return nbformat.v4.new_notebook(cells=cells, metadata=_KERNEL)


def file(source: Path) -> Path:
    """Return the file of a tutorial's notebook."""
    return EXAMPLES / f"{source.stem.replace('-', '_')}.ipynb"


def written(source: Path) -> str:
    """Return the text of a tutorial's notebook file."""
    return str(nbformat.writes(notebook(source))) + "\n"


def run(source: Path) -> Any:
    """Return a tutorial's notebook with its outputs. It runs in a folder of its own."""
    found = notebook(source)
    with tempfile.TemporaryDirectory() as folder:
        try:
            client = NotebookClient(found, timeout=SECONDS, resources={"metadata": {"path": folder}})
            client.coalesce_streams, client.startup_timeout = True, SECONDS
            client.extra_arguments = ["--log-level=ERROR"]  # it would warn that loopback has no encryption
            client.execute()
        except CellExecutionError as error:
            raise SystemExit(f"{source.relative_to(ROOT)}: {error.ename}: {error.evalue}") from None
    return found


def executed() -> dict[Path, str]:
    """Return every tutorial with what its cells show, by its place in the site."""
    with ThreadPoolExecutor(2) as threads:
        notebooks = list(threads.map(run, sources()))
    return {source.relative_to(DOCS): _page(source, found) for source, found in zip(sources(), notebooks, strict=True)}


def _page(source: Path, found: Any) -> str:
    cells = iter(cell for cell in found.cells if cell.cell_type == "code")

    def with_output(block: re.Match[str]) -> str:
        shown = map(_output, next(cells).outputs)
        return "\n\n".join([block[0], *filter(None, shown)])

    return BLOCK.sub(with_output, source.read_text())


def _output(one: Any) -> str:
    """Return an output as Markdown: a picture, HTML, or text, whose lines may be broken if it is no table."""
    data = one.get("data", {})
    if "image/png" in data:
        return _raw(f'<img alt="What the cell above draws" src="data:image/png;base64,{data["image/png"].strip()}">')
    if "text/html" in data:
        return _raw(data["text/html"])
    text = (one.get("text") or data.get("text/plain", "")).rstrip()
    kind = "" if re.search(r"\S {2,}\S|\n ", text) else ' class="words"'
    return _raw(f"<pre{kind}>{escape(text)}</pre>") if text else ""


def _raw(html: str) -> str:
    return f'````{{raw}} html\n<div class="output">{html}</div>\n````'


if __name__ == "__main__":
    for one in sources():
        file(one).write_text(written(one))
