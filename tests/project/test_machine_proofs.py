"""The machine-checked proofs and the code: every name of the table exists, and no hypothesis is taken out unseen."""

import inspect
import re
import shutil

import pytest

import discreet
from discreet.core.privacy import Theorem
from tests._tools import examples
from tests._tools.hypotheses import PAGE, REMOVED, ROOT, fails_without, hypotheses

ROWS = hypotheses()
IDS = [row.words for row in ROWS]
PRIVATE = sorted(name for name in (*discreet.POLICIES, *discreet.RULES) if examples.is_private(name))
DECLARED = "Theorem|Corollary|Lemma|Definition|Fixpoint|Inductive|Record|Variables?|Hypothesis"


def stated(name):
    """Return True if a file of `proofs` states a name."""
    file, _, word = name.partition(".")
    path = ROOT / "proofs" / f"{file}.v"
    return path.exists() and bool(re.search(rf"^\s*(?:{DECLARED})\b[^:(.]*\b{word}\b", path.read_text(), re.M))


def test_every_hypothesis_has_a_row_and_can_be_taken_out():
    assert len(set(IDS)) == len(IDS) == PAGE.read_text().count("`tests/") - 1  # one is named in the text
    assert set(IDS) == set(REMOVED)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_every_name_of_the_table_exists(row):
    assert stated(row.theorem), f"no file of proofs states {row.theorem}"
    _, function = row.found()
    assert REMOVED[row.words][0] in inspect.getsource(function)
    path, _, test = row.test.partition("::")
    assert f"def {test}(" in (ROOT / path).read_text()


@pytest.mark.study
@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_test_fails_without_each_hypothesis(row, tmp_path, page):
    failed, said = fails_without(row, tmp_path)
    shutil.rmtree(tmp_path)
    page("Hypotheses of the proofs", hypothesis=row.words, theorem=row.theorem, missed=int(failed))
    assert failed, said


def test_every_theorem_is_stated_and_in_words_on_the_page():
    for theorem in Theorem:
        if theorem is not Theorem.BY_HAND:
            assert stated(theorem)
        assert theorem in PAGE.read_text()


def test_every_name_in_the_text_is_stated():
    for name in re.findall(r"`([A-Z]\w+\.[a-z]\w+)`", PAGE.read_text()):
        file = name.partition(".")[0]
        assert stated(name) or not (ROOT / "proofs" / f"{file}.v").exists() or name.endswith(".v"), name


@pytest.mark.shown
@pytest.mark.parametrize("name", PRIVATE)
def test_every_private_algorithm_is_under_a_theorem(name, page):
    algorithm = examples.policy(name) if name in discreet.POLICIES else examples.rule(name)
    page("Theorems", algorithm=name, theorem=algorithm.privacy.theorem.words)
    assert algorithm.privacy.theorem is not Theorem.BY_HAND


def test_what_is_not_private_names_no_theorem():
    for name in (*discreet.POLICIES, *discreet.RULES):
        if not examples.is_private(name):
            algorithm = examples.policy(name) if name in discreet.POLICIES else examples.rule(name)
            assert algorithm.privacy.theorem is None
