"""Staging: every page is copied to where the site has it, and every link goes on leading to the same file.

Pages of `docs` keep their places. Markdown files in the project's folder become `project/...`, and any other file that
a page links to becomes a page that shows it, under `source/`. Pages are found, and not listed here: a page is in the
navigation because `docs/index.md` links it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tools.site.paths import DOCS, ROOT, STAGED

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
LINK_OR_CODE = re.compile(rf"{LINK.pattern}|`[^`\n]+`")
PICTURES = (".png", ".svg")
FENCE = re.compile(r"^(`{3,}|:{3,})")
LANGUAGES = {".py": "python", ".v": "coq", ".md": "markdown", ".toml": "toml", ".cff": "yaml", ".yml": "yaml"}
SECTION = re.compile(r"^## (.+)$", re.M)


class BrokenLink(Exception):
    """A page links to something that does not exist."""


def prose(text: str, change: Callable[[str], str]) -> str:
    """Return a page whose lines outside of code blocks are changed.

    Args:
        text: The page as Markdown.
        change: Takes a run of lines without code, and returns what stands for them.
    """
    parts: list[tuple[bool, list[str]]] = [(False, [])]
    fence = ""
    for line in text.split("\n"):
        found = FENCE.match(line)
        if fence:
            parts[-1][1].append(line)
            if line.rstrip() == fence:
                fence = ""
                parts.append((False, []))
        elif found and found[1][0] == "`":
            fence = found[1]
            parts.append((True, [line]))
        else:
            code = line.startswith("    ")
            if parts[-1][0] != code:
                parts.append((code, []))
            parts[-1][1].append(line)
    return "\n".join("\n".join(lines) if code else change("\n".join(lines)) for code, lines in parts if lines)


def place(file: Path) -> Path:
    """Return where the site has a file of the project, as a path from the site's root."""
    file = _file(file)
    if file.is_relative_to(DOCS):
        return file.relative_to(DOCS)
    inside = file.relative_to(ROOT)
    if inside.suffix == ".md":
        return Path("project", inside.name) if inside.parent == Path() else Path("project", *inside.parts)
    return Path("source", f"{inside}.md")


def _file(file: Path) -> Path:
    """Return a file; for a folder, the page about it."""
    if not file.is_dir():
        return file
    readme = file / "README.md"
    return readme if readme.exists() else DOCS / "index.md"


def relinked(text: str, page: Path, wanted: set[Path]) -> str:
    """Return a page whose links lead to where the site has their files.

    Args:
        text: The page as Markdown.
        page: The file in the project that it comes from.
        wanted: Takes every file that it links to.

    Raises:
        BrokenLink: There is no such file.
    """
    here = place(page).parent

    def change(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if target is None:  # code
            return found[0]
        path, _, anchor = target.partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return found[0]
        file = (page.parent / path).resolve()
        if not file.exists():
            raise BrokenLink(f"{page.relative_to(ROOT)} links to {target}, which does not exist")
        wanted.add(file)
        there = place(file) if file.suffix not in PICTURES else _picture(file)
        if Path(words).name == file.name and file.suffix == ".md":  # a file's name, on a page that is read as a file
            words = _title(file.read_text())
        return f"{picture}[{words}]({os.path.relpath(there, here)}{'#' * bool(anchor)}{anchor})"

    return prose(text, lambda lines: LINK_OR_CODE.sub(change, lines))


def _picture(file: Path) -> Path:
    return file.relative_to(DOCS) if file.is_relative_to(DOCS) else Path("pictures", file.name)


def named(text: str, names: Mapping[str, str]) -> str:
    """Return a page whose names of public objects lead to the reference.

    Args:
        text: The page as Markdown.
        names: The full name of each object, by the names that pages use for it.
    """

    def change(found: re.Match[str]) -> str:
        words = found[1]
        full = names.get(words.removesuffix("()"))
        return found[0] if full is None else f"{{py:obj}}`{words} <{full}>`"

    def outside_links(lines: str) -> str:
        pieces = re.split(r"(\[(?:[^\[\]]|\[[^\[\]]*\])*\]\([^)]*\)|^#.*$)", lines, flags=re.M)
        pieces[::2] = [re.sub(r"(?<!`)`([A-Za-z_][\w.]*(?:\(\))?)`(?!`)", change, piece) for piece in pieces[::2]]
        return "".join(pieces)

    return prose(text, outside_links)


def stage(names: Mapping[str, str], generated: Mapping[Path, str]) -> None:
    """Write all pages into the folder that Sphinx reads.

    Args:
        names: The names of public objects, for links to the reference.
        generated: The text of each generated page, by its place in the site.
    """
    shutil.rmtree(STAGED, ignore_errors=True)
    index = (DOCS / "index.md").read_text()
    waiting = sorted(DOCS.rglob("*.md"))
    done: set[Path] = set()
    while waiting:
        file = _file(waiting.pop())
        if file in done:
            continue
        done.add(file)
        if file.suffix in PICTURES:
            _write(_picture(file), file.read_bytes())
            continue
        if place(file).parts[0] == "source":
            _write(place(file), _shown(file).encode())
            continue
        wanted: set[Path] = set()
        text = generated.get(place(file)) or file.read_text()
        text = named(relinked(text, file, wanted), names)
        if file == DOCS / "index.md":
            text = _with_navigation(text, generated)
        elif place(file).parts[0] == "project" and f"({os.path.relpath(file, DOCS)})" not in index:
            text = f"---\norphan: true\n---\n\n{text}"
        _write(place(file), text.encode())
        waiting += sorted(wanted)
    for there, text in generated.items():
        if DOCS / there not in done:
            _write(there, text.encode())
    for picture in DOCS.rglob("*.svg"):
        _write(_picture(picture), picture.read_bytes())


def _write(there: Path, content: bytes) -> None:
    path = STAGED / there
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _shown(file: Path) -> str:
    """Return a page that shows a file of the project."""
    language = LANGUAGES.get(file.suffix, "text")
    heading = f"---\norphan: true\n---\n\n# {file.relative_to(ROOT)}"
    return f"{heading}\n\n````{{code-block}} {language}\n{file.read_text()}\n````\n"


def _with_navigation(text: str, generated: Mapping[Path, str]) -> str:
    """Return the index with a hidden table of contents for each of its sections: the pages that the section links."""
    pieces = SECTION.split(text)
    found = [pieces[0]]
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        text, pages = body, list(_pages(body))
        if title == "Reference":  # its pages exist in the site alone
            made = [page for page in generated if page.parts[0] == "reference"]
            pages += made
            listed = [f"- [{_title(generated[page])}]({page})" for page in made]
            text = "\n".join([text.rstrip(), *listed])
        lines = "\n".join(str(page) for page in dict.fromkeys(pages))
        tree = f"```{{toctree}}\n:hidden:\n:caption: {title}\n\n{lines}\n```\n" if lines else ""
        found.append(f"## {title}\n{text.rstrip()}\n\n{tree}\n")
    return "".join(found)


def _title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")


def _pages(body: str) -> Iterator[Path]:
    """Yield the pages that a section of the index links, where the site has them."""
    for _, _, target in LINK.findall(body):
        path = target.partition("#")[0]
        if path.endswith(".md") and "://" not in path:
            yield Path(path)
