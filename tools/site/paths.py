"""Where the site's parts lie in the project."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
TUTORIALS = DOCS / "tutorials"
BUILD = ROOT / "build" / "docs"
STAGED = BUILD / "pages"
SITE = BUILD / "site"
