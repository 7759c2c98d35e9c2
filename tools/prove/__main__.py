"""Check the proofs: python -m tools.prove, from the project's folder. It is what `make prove` runs."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tools.prove import agreement, coq, mutations


def main() -> int:
    """Check everything, and return the exit code: 1 if something is not as it must be."""
    if not coq.is_there():
        print(f"SKIPPED: the proofs were not checked, since there is no coqc ({coq.HINT})")
        return 0
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        try:
            prove(Path(name))
        except (coq.CoqError, AssertionError, ValueError) as error:
            print(f"NOT PROVED: {error}", file=sys.stderr)
            return 1
    print(f"All of it in {time.perf_counter() - start:.0f} s.")
    return 0


def prove(folder: Path) -> None:
    """Check the proofs in an empty folder, and print theorems, axioms, agreements and refusals.

    Args:
        folder: The folder.

    Raises:
        CoqError: Coq refuses a proof.
        AssertionError: Something is assumed or left unproved, formulas disagree, or a broken proof goes through.
    """
    texts = coq.sources()
    for file, text in texts.items():
        assert not coq.unproved(text), f"{file}.v leaves something unproved: {coq.unproved(text)}"
    coq.check_all(texts, folder)
    print(
        f"Coq {coq.version()} accepts {len(texts)} files of {sum(map(len, map(str.splitlines, texts.values())))} lines."
    )

    names = coq.theorems(texts)
    print(f"\n{sum(map(len, names.values()))} theorems:")
    for file, of_file in names.items():
        if of_file:
            print(f"  {file}.v: {', '.join(of_file)}")
    axioms = coq.assumptions(folder, names)
    print("\nThey rest on the axioms of Coq's real numbers, and on no other:")
    for axiom in sorted(axioms):
        print(f"  {axiom}")
    assert axioms <= coq.AXIOMS, f"axioms that are not allowed: {sorted(axioms - coq.AXIOMS)}"

    print("\nThe formulas of the proofs and those of the code agree:")
    for formula, count in agreement.compare(folder).items():
        print(f"  {formula}: {count} numbers")

    print("\nBroken on purpose, and refused:")
    mutations.try_all(texts, folder)
    for one in mutations.MUTATIONS:
        print(f"  {one.words}: {one.refused}" + (f"; it is false, by {one.false_by}" if one.false_by else ""))


if __name__ == "__main__":
    sys.exit(main())
