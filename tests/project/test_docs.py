"""The pages: code that runs, links and paths that exist, a generated page that is up to date."""

import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

import discreet

ROOT = Path(__file__).parents[2]
WRITTEN_BY_VERIFY = ROOT / "verification.md"
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - {WRITTEN_BY_VERIFY})
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
WITH_CODE = (
    "docs/accounting.md", "docs/architecture.md", "docs/choosing.md", "docs/index.md", "docs/inference.md",
    "docs/lab.md", "docs/logs.md", "docs/paper.md", "docs/tests.md", "docs/theory.md",
    "docs/tutorials/own-algorithm.md", "docs/which-algorithm.md",
)  # fmt: skip
RUN_ELSEWHERE = ("README.md", "docs/service-clients.md")  # by test_readme.py and by tests/client/test_docs.py
WRAPPED_ELSEWHERE = ("docs/benchmarks.md", "docs/results.md", "docs/verification.md")  # generated
LEADING = re.compile(r"[#|<]|    |!\[")  # headings, tables, comments, code and pictures are not wrapped


@pytest.mark.parametrize("name", WITH_CODE)
def test_code_blocks_run_in_order(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    known = dict(discreet.POLICIES)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.S)
    assert blocks
    try:
        page = ModuleType("a_page_of_the_docs")
        monkeypatch.setitem(sys.modules, page.__name__, page)
        for block in blocks:
            exec(block, vars(page))
    finally:
        for key in set(discreet.POLICIES) - set(known):
            del discreet.POLICIES[key]
    said = capsys.readouterr().out
    assert name != "docs/theory.md" or "1,661,752 pulls of 4 arms in 5 epochs" in said


def test_no_page_with_code_is_left_out():
    """Tutorials run when the site is built."""
    found = [name for name in NAMES if "```python" in (ROOT / name).read_text() and "docs/tutorials/" not in name]
    assert set(found) <= {*WITH_CODE, *RUN_ELSEWHERE}


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name):
    page = ROOT / name
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{name} links to {target}"
        if anchor:
            assert anchor in map(_anchor, re.findall(r"^#+ (.*)$", found.read_text(), re.M)), f"{name}: {target}"


def _anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("name", NAMES)
def test_named_files_exist(name):
    for path in re.findall(r"`((?:[\w.]+/)+[\w]+\.(?:py|js|md))`", (ROOT / name).read_text()):
        places = (ROOT / path, ROOT / "src/discreet" / path, ROOT / "src/discreet/lab" / path, ROOT / "docs" / path)
        assert any(place.exists() for place in places), f"{name} names {path}"


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WRAPPED_ELSEWHERE])
def test_prose_is_wrapped(name):
    text = re.sub(r"```.*?```", "", (ROOT / name).read_text(), flags=re.S)
    long = [line for line in text.splitlines() if len(line) > 120 and not LEADING.match(line)]
    assert not long, f"{name} has lines of more than 120 columns"


def test_the_index_links_every_page():
    index = (ROOT / "docs/index.md").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        name = str(page.relative_to(ROOT / "docs"))
        assert name == "index.md" or f"({name})" in index


def test_the_page_of_algorithms_is_up_to_date():
    tool = runpy.run_path(str(ROOT / "tools/generate_docs.py"))
    assert tool["PAGE"].read_text() == tool["algorithms_page"](), "run `make docs`"


def test_the_page_of_algorithms_has_all():
    page = (ROOT / "docs/algorithms.md").read_text()
    for key, kind in {**discreet.POLICIES, **discreet.RULES}.items():
        if kind.__module__.startswith("discreet."):
            assert f"[`{key}`](#{key})" in page
            assert f"[`discreet.{kind.__name__}`]" in page
