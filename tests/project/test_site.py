"""The site: every page is reached, every link leads somewhere, every public name is in the reference."""

import inspect
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="needs the extra docs")

from tools.site import command_line, http_api, pages, reference, tutorials
from tools.site.__main__ import fetched
from tools.site.docstrings import markdown
from tools.site.paths import DOCS, ROOT

import discreet

EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """Every page as Sphinx reads it, without the outputs of tutorials."""
    place, before = tmp_path_factory.mktemp("pages"), pages.STAGED
    pages.STAGED = place
    generated = {Path("reference", "command-line.md"): "# The command line\n", **reference.pages()}
    try:
        pages.stage(reference.names(), generated)
    finally:
        pages.STAGED = before
    return place


def test_every_page_of_docs_and_of_the_project_is_in_the_site(staged):
    for page in DOCS.rglob("*.md"):
        assert (staged / page.relative_to(DOCS)).exists()
    for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY"):
        assert (staged / "project" / f"{name}.md").exists()


def test_links_lead_to_staged_files(staged):
    for page in staged.rglob("*.md"):
        text = re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(), flags=re.M | re.S)
        for _, _, target in pages.LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
            path = target.partition("#")[0]
            if path and "://" not in path and page.parent.name != "reference":
                assert (page.parent / path).resolve().exists(), f"{page.relative_to(staged)} links to {target}"


def test_every_page_is_in_the_navigation_or_is_a_source(staged):
    index = (staged / "index.md").read_text()
    listed = set(re.findall(r"^([\w./-]+\.md)$", index, re.M))
    for page in staged.rglob("*.md"):
        name = str(page.relative_to(staged))
        assert name in listed or name == "index.md" or page.read_text().startswith("---\norphan: true"), name


def test_no_page_has_a_shell_variable_that_would_be_a_formula():
    for page in DOCS.rglob("*.md"):
        found = []
        pages.prose(page.read_text(), lambda lines, found=found: found.append(re.sub(r"`[^`]*`", "", lines)) or lines)
        assert not re.search(r"\$[A-Z]{2}", "\n".join(found)), f"{page.name} has code that is not indented"


def test_what_a_page_would_load_from_elsewhere_is_found(tmp_path):
    for name, text in {
        "a.html": '<script async src="https://x.org/a.js"></script> <a href="https://x.org">a link</a>',
        "b.html": '<link rel="stylesheet" href="//x.org/b.css"><img src="../_images/b.png">',
        "c.css": "@import 'http://x.org/c.css'; body { background: url(//x.org/c.png) } p { src: url(c.woff) }",
    }.items():
        (tmp_path / name).write_text(text)
    assert [line.partition(":")[0] for line in fetched(tmp_path)] == ["a.html", "b.html", "c.css", "c.css"]


def test_a_link_to_nothing_is_refused():
    with pytest.raises(pages.BrokenLink, match=r"docs/index\.md links to nowhere\.md"):
        pages.relinked("[here](nowhere.md)", DOCS / "index.md", set())


def test_a_link_to_a_source_leads_to_a_page_of_it():
    wanted = set()
    found = pages.relinked("[x](../src/discreet/recommend.py) `[x](y.md)`", DOCS / "privacy.md", wanted)
    assert found.startswith("[x](source/src/discreet/recommend.py.md)")
    assert ROOT / "src/discreet/recommend.py" in wanted


def test_code_is_left_alone():
    text = "`Bandit` and\n\n```python\n`Bandit`\n```\n\n    `Bandit`\n"
    assert pages.named(text, {"Bandit": "discreet.Bandit"}) == text.replace(
        "`Bandit` and", "{py:obj}`Bandit <discreet.Bandit>` and"
    )


def test_every_public_name_is_in_the_reference():
    text = "\n".join(reference.pages().values())
    for name in discreet.__all__:
        one = getattr(discreet, name)
        if inspect.isclass(one) or inspect.isfunction(one):
            assert re.search(rf"py:(class|function)}} {name}\b", text), name
    assert not re.search(r"at 0x[0-9a-f]+", text)


def test_options_have_the_names_of_their_types():
    (text,) = (text for page, text in reference.pages().items() if page.stem == "bandits")
    assert "epsilon: Positive" in text
    assert "Annotated" not in text


def test_sections_of_docstrings_become_lists():
    found = markdown(
        "Return it.\n\nArgs:\n    one: A word.\n    two: Another\n        word.\n\nRaises:\n    ValueError: Never."
    )
    assert "- `one`: A word.\n- `two`: Another word." in found
    assert "word.\n\n*Raises*\n\n- `ValueError`: Never." in found  # a heading of its own, and not the list's last line


def test_every_command_and_operation_is_described():
    text = command_line.page()
    for name in ("compare", "audit", "stop", "serve", "best-arm"):
        assert f"## discreet {name}" in text
    assert "`--epsilon`" in text
    paths = json.loads(http_api.openapi())["paths"]
    assert all(path in http_api.page() for path in paths)


@pytest.mark.parametrize("source", tutorials.sources(), ids=lambda source: source.stem)
def test_the_notebook_of_a_tutorial_is_up_to_date(source):
    assert tutorials.file(source).read_text() == tutorials.written(source), "run `make docs`"


def test_no_notebook_is_without_a_tutorial():
    assert {tutorials.file(one) for one in tutorials.sources()} == set(EXAMPLES.glob("*.ipynb"))
