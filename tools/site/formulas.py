"""Formulas of pages as MathML, which browsers draw by themselves: nothing is fetched, and no script runs.

Pages have `$...$` within a line and `$$` on lines of their own around a formula that stands alone, which forges draw
too. The converter knows most of LaTeX; what it writes in another way than a browser needs it is put right here.
"""

from __future__ import annotations

import re

from latex2mathml.converter import convert

NAMES = ("ln", "log", "exp", "cosh", "sinh", "max", "min", "sup", "inf", "Pr", "kl", "KL", "sign", "most")
FENCES = {r"\lvert": r"\left|", r"\rvert": r"\right|"} | {
    rf"\{side[0]}{kind}": rf"\{side} \{side[0]}{kind}" for side in ("left", "right") for kind in ("floor", "ceil")
}
FENCE = re.compile(rf"(?:{'|'.join(map(re.escape, FENCES))})(?![a-z])")
NAME = re.compile(rf"<m[io]([^>]*)>({'|'.join(NAMES)})</m[io]>")
PARENTHESIS = r"<mo[^>]*>(?:&#x00028;|\(|\[)"
OPENED = re.compile(rf"{PARENTHESIS}</mo>(?:<m[a-z]+>)*$|^<math[^>]*>(?:<m[a-z]+>)*$")
OPENING = re.compile(rf"(?:</m[a-z]+>|<(?!mo)m[a-z]+[^>]*>)*{PARENTHESIS}")
SIGN = re.compile(
    r"(<mo[^>]*>(?:&#x00028;|&#x0005B;|\(|\[|=|&#x0003D;|&#x02264;|&#x02265;|&#x0003C;|&#x0003E;|,|&#x0002C;)</mo>(?:<m[a-z]+>)*)"
    r"<mo>(&#x02212;|&#x000B1;)</mo>"
)
LONG = 36
RELATION = re.compile(r" (?=(?:=|<|>|\\(?:le|ge|ne|sim|to)(?![a-z]))(?: |$))")
LATEX = re.compile(r"<m[a-z]+[^>]*>(?:\\|&amp;|&<)")


class UnknownCommand(ValueError):
    """A formula has a command that the converter does not know."""


def mathml(latex: str, *, block: bool = False) -> str:
    """Return a formula as MathML.

    Args:
        latex: The formula.
        block: It stands alone, and not within a line.

    Raises:
        UnknownCommand: The converter does not know a part of it.
    """
    text = FENCE.sub(lambda found: f"{FENCES[found[0]]} ", latex)
    text = re.sub(r"(?<=\d)\{,\}(?=\d)", r"\\text{,}", text.replace("{aligned}", "{align*}"))
    if block:
        text = re.sub(r"\\(sup|inf|max|min)_", r"\\\1\\limits_", text)
    found = convert(text, display="block" if block else "inline")
    if LATEX.search(found):
        raise UnknownCommand(latex)
    found = re.sub(r' columnalign="(\w+)"', r' class="\1"', found)
    found = re.sub(r"<mi>(&#x000B1;)</mi>", r"<mo>\1</mo>", found)
    found = found.replace("<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>")
    found = found.replace("<mo>&#x0002F;</mo>", '<mo lspace="0" rspace="0">&#x0002F;</mo>')
    found = re.sub(r"<mi>(&#x0203[234];)</mi>", r'<mo class="prime">\1</mo>', found)
    found = SIGN.sub(r'\1<mo form="prefix">\2</mo>', found)
    return NAME.sub(_spaced, found)


def statements(latex: str) -> list[str]:
    """Return the parts of a formula that stands alone which may go on lines of their own: between wide spaces.

    Args:
        latex: The formula. Rows that are aligned stay together.
    """
    if r"\begin" in latex:
        return [latex]
    return [part.strip() for part in latex.split(r"\qquad") if part.strip()]


def pieces(latex: str) -> list[str]:
    """Return the parts of a formula between which a line may end: before each relation that no bracket encloses.

    Args:
        latex: The formula. A short one is a single part.
    """
    if len(latex) < LONG:
        return [latex]
    found = [""]
    for part in RELATION.split(latex):
        if found[0] and _closed(found[-1]):
            found.append(part)
        else:
            found[-1] = f"{found[-1]} {part}".strip()
    return found


def _closed(latex: str) -> bool:
    """Return True if every bracket and brace of a part of a formula is closed in it."""
    left = sum(latex.count(bracket) for bracket in ("(", "[", "{", "lvert"))
    return left == sum(latex.count(bracket) for bracket in (")", "]", "}", "rvert"))


def _spaced(found: re.Match[str]) -> str:
    """Return the name of a function with a thin space on either side, but none next to a parenthesis."""
    text = found.string
    before = "0" if OPENED.search(text, max(0, found.start() - 80), found.start()) else "0.17em"
    after = "0" if OPENING.match(text, found.end()) else "0.17em"
    return f'<mo{found[1]} lspace="{before}" rspace="{after}">{found[2]}</mo>'
