"""Build the site: `make docs`, or `python -m tools.site --fast` without running the tutorials."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path

from sphinx.cmd.build import main as sphinx
from tools.site import command_line, http_api, pages, reference, tutorials
from tools.site.paths import SITE, STAGED

FETCHES = re.compile(
    r"""<(?:script|img|link|iframe|source|object)\b[^>]*?\b(?:src|href|data)=["'](?:https?:)?//[^"'>]+"""
    r"""|(?:url\(|@import\s)["']?(?:https?:)?//[^)"';]+"""
)


def fetched(site: Path) -> list[str]:
    """Return what pages and styles of a site would load from elsewhere when they are read, with the file.

    Args:
        site: Its folder.
    """
    files = sorted([*site.rglob("*.html"), *site.rglob("*.css")])
    return [f"{file.relative_to(site)}: {found}" for file in files for found in FETCHES.findall(file.read_text())]


def main() -> int:
    """Stage all pages, have Sphinx build them, and return an exit code. Warnings and outside requests are errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fast", action="store_true", help="do not run the tutorials: show their code alone")
    fast = parser.parse_args().fast
    start = time.perf_counter()
    generated = {
        Path("reference", "index.md"): reference.index(),
        Path("reference", "command-line.md"): command_line.page(),
        Path("reference", "http-api.md"): http_api.page(),
        **reference.pages(),
    }
    if not fast:
        generated |= tutorials.executed()
    pages.stage(reference.names(), generated)
    (STAGED / "reference" / "openapi.json").write_text(http_api.openapi())
    workers = str(min(4, os.cpu_count() or 1))
    command = ["-b", "html", "-q", "-W", "--keep-going", "-j", workers, "-c", str(Path(__file__).parent)]
    code = sphinx([*command, str(STAGED), str(SITE)])
    for outside in fetched(SITE):
        print(f"this would be loaded from elsewhere: {outside}", file=sys.stderr)
        code = code or 1
    print(f"{SITE / 'index.html'}: built in {time.perf_counter() - start:.0f} s" if code == 0 else "the site is broken")
    return code


if __name__ == "__main__":
    sys.exit(main())
