"""The checker of the proofs: nothing is left unproved, what is broken is refused, and formulas that differ are seen."""

import re

import pytest
from tools.prove import __main__ as prove
from tools.prove import agreement, coq, mutations

TEXTS = coq.sources()
NEEDS_COQ = pytest.mark.skipif(not coq.is_there(), reason=f"no coqc: {coq.HINT}")
TRUE = "(* It is so. *)\nTheorem it_is_so : 1 + 1 = 2.\nProof. reflexivity. Qed.\n"
FALSE = TRUE + "\nTheorem it_is_not : 1 + 1 = 3.\nProof. reflexivity. Qed.\n"


def test_files_come_after_what_they_need():
    assert len(TEXTS) == len(list(coq.PROOFS.glob("*.v")))
    names = list(TEXTS)
    for name, text in TEXTS.items():
        assert all(names.index(other) < names.index(name) for other in coq.needs(text))


def test_files_import_the_standard_library_and_each_other_alone():
    for text in TEXTS.values():
        assert not re.search(r"\bFrom\b|\bLoad\b|\bDeclare ML\b", text)
        for line in re.findall(r"^Require Import (.*)\.$", text, re.M):
            for name in line.split():
                assert name.removeprefix("Discreet.") in TEXTS or name in (
                    ["Reals", "ZArith", "QArith", "Qreals", "Arith", "List", "Bool", "FinFun", "Lra", "Lia", "Psatz"]
                ), name


def test_nothing_is_left_unproved_or_assumed():
    for name, text in TEXTS.items():
        assert coq.unproved(text) == [], name
        assert "Proof." in text
    unguarded = "Unset Guard Checking.", "#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n."
    for bad in ("Admitted.", "Axiom wish : False.", "Parameter c : nat.", "Proof. admit. Qed.", "Abort.", *unguarded):
        assert coq.unproved(TRUE + bad)
    assert coq.unproved("(* Admitted. *)") == []


def test_every_file_says_what_it_is_about_and_every_theorem_what_it_says():
    for name, text in TEXTS.items():
        lines = text.splitlines()
        assert lines[0].startswith("(* "), name
        assert max(map(len, lines)) <= 140, name
        for one in coq.statements(text):
            explained = one.kind not in {"Theorem", "Corollary"} or lines[one.line - 2].endswith("*)")
            assert explained, f"{name}.{one.name} needs a comment"


@pytest.mark.parametrize("mutation", mutations.MUTATIONS, ids=lambda one: one.words)
def test_a_mutation_changes_its_file_and_names_statements(mutation):
    assert mutation.mutated(TEXTS[mutation.file]) != TEXTS[mutation.file]
    for name in filter(None, (mutation.refused, mutation.false_by)):
        file, _, statement = name.partition(".")
        assert statement in {one.name for one in coq.statements(TEXTS[file])}


def test_a_mutation_whose_piece_is_gone_is_an_error():
    mutation = mutations.Mutation("gone", "Noise", (("no such piece", ""),), "Noise.mass_ratio")
    with pytest.raises(ValueError, match=r"Noise\.v must have this once, and has it 0 times: no such piece"):
        mutation.mutated(TEXTS["Noise"])


def test_without_coq_nothing_is_checked_and_the_hint_is_shown(monkeypatch, capsys):
    monkeypatch.setattr(coq, "is_there", lambda: False)
    assert prove.main() == 0
    assert coq.HINT in capsys.readouterr().out


@NEEDS_COQ
def test_coq_says_which_proof_is_wrong(tmp_path):
    coq.check("True", TRUE, tmp_path)
    with pytest.raises(coq.CoqError, match=r"False\.v, it_is_not: ") as caught:
        coq.check("False", FALSE, tmp_path)
    assert (caught.value.file, caught.value.statement) == ("False", "it_is_not")


@NEEDS_COQ
def test_axioms_are_found(tmp_path):
    texts = {
        "Honest": TRUE,
        "Wishful": "Axiom wish : 1 = 2.\nTheorem wished : 2 = 1.\nProof. symmetry. exact wish. Qed.\n",
    }
    for name, text in texts.items():
        coq.check(name, text, tmp_path)
    names = coq.theorems(texts)
    assert names == {"Honest": ["it_is_so"], "Wishful": ["wished"]}
    assert coq.assumptions(tmp_path, {"Honest": names["Honest"]}) == set()
    assert coq.assumptions(tmp_path, names) == {"Wishful.wish"}


@NEEDS_COQ
def test_what_coq_was_told_not_to_check_is_found(tmp_path):
    wish = (
        "Fixpoint wish (n : nat) : 1 = 2 := wish n.\nTheorem wished : 2 = 1.\nProof. symmetry. exact (wish 0). Qed.\n"
    )
    texts = {"Unguarded": f"Unset Guard Checking.\n{wish}"}
    coq.check("Unguarded", texts["Unguarded"], tmp_path)
    with pytest.raises(AssertionError, match="leave something unchecked"):
        coq.assumptions(tmp_path, coq.theorems(texts))


@NEEDS_COQ
def test_a_mutation_that_breaks_nothing_is_caught(tmp_path):
    texts = {"True": TRUE}
    coq.check("True", TRUE, tmp_path)
    harmless = mutations.Mutation("harmless", "True", (("It is so.", "It really is so."),), "True.it_is_so")
    with pytest.raises(AssertionError, match=r"harmless: True\.v goes through all the same"):
        mutations.try_one(harmless, texts, tmp_path)
    breaking = mutations.Mutation("breaking", "True", (("1 + 1 = 2", "1 + 1 = 3"),), "True.it_is_so")
    assert mutations.try_one(breaking, texts, tmp_path) == "True.it_is_so"
    with pytest.raises(AssertionError, match=r"Coq refuses something else than True\.other"):
        mutations.try_one(breaking._replace(refused="True.other"), texts, tmp_path)


@NEEDS_COQ
def test_formulas_that_differ_are_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(
        agreement, "_IMPORTS", "Require Import ZArith List.\nImport ListNotations.\nOpen Scope Z_scope.\n"
    )
    right, wrong = agreement.Comparison("sums", "[1 + 1]", [2]), agreement.Comparison("sums", "[1 + 1]", [3])
    monkeypatch.setattr(agreement, "_comparisons", lambda: iter([right, right]))
    assert agreement.compare(tmp_path) == {"sums": 2}
    monkeypatch.setattr(agreement, "_comparisons", lambda: iter([right, wrong]))
    with pytest.raises(AssertionError, match="the proofs and the code disagree on sums"):
        agreement.compare(tmp_path)


def test_every_comparison_has_numbers_to_compare():
    comparisons = list(agreement._comparisons())
    assert all(one.expected for one in comparisons)
    granted = [number for one in comparisons if one.name == "prices granted" for number in one.expected]
    assert 10 < sum(granted) < len(granted) - 10


@NEEDS_COQ
@pytest.mark.study
def test_all_of_it(tmp_path, capsys):
    prove.prove(tmp_path)
    assert "theorems" in capsys.readouterr().out
