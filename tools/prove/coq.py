"""Coq files: checked in a folder of their own, in the order of what they need."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from bisect import bisect_right
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PROOFS = ROOT / "proofs"
HINT = "apt-get install coq, or see coq.inria.fr; 8.16 or newer"
AXIOMS = {  # those of the real numbers in Coq's standard library, and no other
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
_STATEMENT = re.compile(r"^(Theorem|Corollary|Lemma|Definition|Fixpoint) (\w+)", re.M)
_UNPROVED = re.compile(
    r"\b(?:Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Abort|bypass_check"
    r"|Unset\s+(?:Guard|Positivity|Universe)\s+Checking|Type\s+In\s+Type)\b"
)
_COMMENT = re.compile(r"\(\*.*?\*\)", re.S)
_LIBRARY = "Discreet"


class Statement(NamedTuple):
    """Something that a file states.

    Attributes:
        kind: Theorem, Corollary, Lemma, Definition or Fixpoint.
        name: Its name.
        line: The line on which it begins.
    """

    kind: str
    name: str
    line: int


class CoqError(Exception):
    """Coq refuses a file.

    Attributes:
        file: The name of the file, without its ending.
        statement: The name of what it was checking, or an empty string.
        said: What it said.
    """

    def __init__(self, file: str, statement: str, said: str) -> None:
        super().__init__(f"{file}.v, {statement}: {said}")
        self.file, self.statement, self.said = file, statement, said


def is_there() -> bool:
    """Return True if Coq is installed."""
    return shutil.which("coqc") is not None


def version() -> str:
    """Return Coq's version."""
    said = subprocess.run(["coqc", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\S+)", said)
    return found[1] if found else "of an unknown version"


def sources() -> dict[str, str]:
    """Return the text of each file of `proofs`, by its name without ending, each after what it needs."""
    texts = {path.stem: path.read_text() for path in sorted(PROOFS.glob("*.v"))}
    order: dict[str, str] = {}

    def add(name: str) -> None:
        for other in needs(texts[name]):
            add(other)
        order.setdefault(name, texts[name])

    for name in texts:
        add(name)
    return order


def needs(text: str) -> list[str]:
    """Return the names of our own files that a file imports."""
    lines = re.findall(r"^Require Import ([^.]*(?:\.\w+[^.]*)*)\.$", text, re.M)
    return [name for line in lines for name in re.findall(rf"\b{_LIBRARY}\.(\w+)", line)]


def statements(text: str) -> list[Statement]:
    """Return what a file states, in order."""
    return [
        Statement(found[1], found[2], text.count("\n", 0, found.start()) + 1) for found in _STATEMENT.finditer(text)
    ]


def unproved(text: str) -> list[str]:
    """Return the words of a file, outside of comments, that would leave something unproved or assume it."""
    return _UNPROVED.findall(_COMMENT.sub("", text))


def check(name: str, text: str, folder: Path) -> str:
    """Check one file, whose needs have been checked in the same folder, and return what Coq prints.

    Args:
        name: The file's name, without its ending.
        text: Its text.
        folder: The folder.

    Raises:
        CoqError: Coq refuses it.
    """
    (folder / f"{name}.v").write_text(text)
    command = ["coqc", "-q", "-Q", ".", _LIBRARY, f"{name}.v"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        line = re.search(r"line (\d+)", done.stderr)
        known = statements(text)
        at = bisect_right([one.line for one in known], int(line[1])) if line else 0
        said = " ".join(done.stderr.partition("Error:")[2].split())
        raise CoqError(name, known[at - 1].name if at else "", said or done.stderr)
    return done.stdout


def check_all(texts: dict[str, str], folder: Path) -> None:
    """Check files, several at a time.

    Args:
        texts: The text of each file, after what it needs.
        folder: The folder.

    Raises:
        CoqError: Coq refuses one.
    """
    checked: dict[str, Future[str]] = {}

    def one(name: str) -> str:
        for other in needs(texts[name]):
            checked[other].result()  # it began before this one, so nobody waits for ever
        return check(name, texts[name], folder)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in texts:
            checked[name] = pool.submit(one, name)
    for done in checked.values():
        done.result()


def theorems(texts: dict[str, str]) -> dict[str, list[str]]:
    """Return the names of the theorems and corollaries of each file.

    Args:
        texts: The text of each file.
    """
    kinds = {"Theorem", "Corollary"}
    return {file: [one.name for one in statements(text) if one.kind in kinds] for file, text in texts.items()}


def assumptions(folder: Path, names: dict[str, list[str]]) -> set[str]:
    """Return the axioms that theorems rest on, all of them together: one by one would take Coq a second for each.

    Args:
        folder: The folder in which all files have been checked.
        names: The names of the theorems of each file.
    """
    imports = "".join(f"Require {_LIBRARY}.{file}.\n" for file in names)
    all_of_them = ", ".join(f"@{_LIBRARY}.{file}.{name}" for file, of_file in names.items() for name in of_file)
    asked = f"Definition all_of_them := ({all_of_them}).\nPrint Assumptions all_of_them.\n"
    said = check("Assumptions", imports + asked, folder)
    assert said.startswith(("Axioms:", "Closed under")), f"Coq did not answer: {said}"
    assert "is assumed" not in said, f"Coq was told to leave something unchecked: {said}"
    return set(re.findall(r"^([\w.]+)\s*:", said, re.M)) - {"Axioms"}
