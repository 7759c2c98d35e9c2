"""Formulas of the pages: every one is known to the converter, and is written so that forges draw it too."""

import re
from xml.etree import ElementTree

import pytest

pytest.importorskip("latex2mathml", reason="needs the extra docs")

from tools.site.formulas import UnknownCommand, mathml, pieces, statements
from tools.site.pages import prose
from tools.site.paths import DOCS

PAGES = sorted(DOCS.rglob("*.md"))
NAMES = [str(page.relative_to(DOCS)) for page in PAGES]
CODE = re.compile(r"`[^`\n]+`")
BLOCK = re.compile(r"^\$\$\n(.*?)\n\$\$$", re.M | re.S)
INLINE = re.compile(r"(.?)\$([^$]+)\$(.?)", re.S)


def formulas(text):
    """The formulas of a page that stand alone, and those within lines with the characters around them."""
    kept = []
    prose(text, lambda lines: kept.append(lines) or lines)
    text = CODE.sub("", "\n".join(kept))
    return BLOCK.findall(text), INLINE.findall(BLOCK.sub("", text))


@pytest.mark.parametrize("name", NAMES)
def test_every_formula_becomes_mathml(name):
    blocks, inline = formulas((DOCS / name).read_text())
    for latex in blocks:
        for statement in statements(latex):
            ElementTree.fromstring(mathml(statement, block=True))
    for _, latex, _ in inline:
        for piece in pieces(latex):
            ElementTree.fromstring(mathml(piece))


@pytest.mark.parametrize("name", NAMES)
def test_forges_draw_them_too(name):
    """A forge wants a space or a parenthesis before, no letter after, and reads escapes and stars as Markdown."""
    _, inline = formulas((DOCS / name).read_text())
    for before, latex, after in inline:
        shown = f"{before}${latex}${after}"
        assert before in tuple(' \n(*"') or not before, shown
        assert not after.isalnum(), shown
        assert not re.search(r"\\[^A-Za-z]|\*|<[a-z]|\n", latex), shown


def test_all_proofs_have_formulas():
    for page in (DOCS / "proofs").glob("*.md"):
        assert len(formulas(page.read_text())[1]) > 20, page.name


def test_the_pieces_of_a_formula_are_the_formula():
    latex = r"\Pr(T > n \Delta) \ge \text{a long left side} - \lvert y_k = 3 \rvert = x_k < 4"
    assert pieces(latex) == [
        r"\Pr(T > n \Delta)",
        r"\ge \text{a long left side} - \lvert y_k = 3 \rvert",
        "= x_k",
        "< 4",
    ]
    assert pieces("x = 0") == ["x = 0"]


def test_a_formula_that_stands_alone_is_cut_at_wide_spaces():
    assert statements(r"a = b, \qquad \text{for } c") == ["a = b,", r"\text{for } c"]
    rows = r"\begin{aligned} a &= b, \qquad c \end{aligned}"
    assert statements(rows) == [rows]


@pytest.mark.parametrize("latex", [r"\nosuchcommand{x}", r"x & y"])
def test_what_the_converter_does_not_know_is_refused(latex):
    with pytest.raises(UnknownCommand):
        mathml(latex)


def test_names_signs_and_columns_are_put_right():
    assert '<mo lspace="0.17em" rspace="0">ln</mo>' in mathml(r"n \ln(x)")
    assert '<mo lspace="0" rspace="0.17em">ln</mo>' in mathml(r"(\ln x)")
    assert '<mo form="prefix">&#x02212;</mo>' in mathml(r"\exp(-x)")
    assert "<munder><mo" in mathml(r"\sup_{x} f", block=True)
    assert '<mtd class="right">' in mathml(r"\begin{aligned} a &= b \end{aligned}", block=True)
