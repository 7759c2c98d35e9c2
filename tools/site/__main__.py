"""Build the site: `make docs`, or `python -m tools.site --fast` without running the tutorials."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from sphinx.cmd.build import main as sphinx
from tools.site import command_line, http_api, pages, reference, tutorials
from tools.site.paths import SITE, STAGED


def main() -> int:
    """Stage all pages, have Sphinx build them, and return an exit code. Warnings are errors."""
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
    print(f"{SITE / 'index.html'}: built in {time.perf_counter() - start:.0f} s" if code == 0 else "the site is broken")
    return code


if __name__ == "__main__":
    sys.exit(main())
