"""What `make prove` does: check proofs, print theorems and axioms, compare formulas, break proofs on purpose."""
