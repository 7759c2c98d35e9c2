"""Proofs that are broken on purpose: each change of a hypothesis or a definition must make Coq refuse a proof."""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tools.prove import coq


class Mutation(NamedTuple):
    """A change after which a proof must not go through.

    Attributes:
        words: What is wrong.
        file: The file that is changed.
        changes: Pieces of its text, each of which is there once, and what stands there instead.
        refused: The file and the statement that Coq must refuse; anything that comes before must still be proved.
        false_by: Where the promise is not only unproved but false: the theorem that says so.
    """

    words: str
    file: str
    changes: tuple[tuple[str, str], ...]
    refused: str
    false_by: str = ""

    def mutated(self, text: str) -> str:
        """Return the text of the file with the changes.

        Args:
            text: The text of the file.

        Raises:
            ValueError: A piece is not there exactly once.
        """
        for old, new in self.changes:
            if text.count(old) != 1:
                raise ValueError(f"{self.file}.v must have this once, and has it {text.count(old)} times: {old}")
            text = text.replace(old, new)
        return text


MUTATIONS = (
    Mutation(
        "a reward may be in two totals of a group",
        "Prices",
        (
            (
                "  (forall g, (entries (within g asked) <= 1)%nat) ->\n"
                "  paid_for (map snd asked) <= price_of_entered price asked.",
                "  paid_for (map snd asked) <= price_of_entered price asked.",
            ),
            (
                "intros price asked positive noise once. rewrite paid_by_group with (groups := groups_of",
                "intros price asked positive noise. rewrite paid_by_group with (groups := groups_of",
            ),
        ),
        "Prices.entered_groups_pay",
        "Needed.a_reward_twice_is_not_private",
    ),
    Mutation(
        "half of the scale",
        "Noise",
        (("sensitivity / epsilon <= scale.", "sensitivity / epsilon / 2 <= scale."),),
        "Noise.rounded_up_costs_no_more",
        "Needed.half_the_scale_is_not_private",
    ),
    Mutation(
        "a person in two epochs, each at full price",
        "Promises",
        (
            (
                "total_price price (groups_of same_group (numbers_in h)) <= epsilon (*",
                "(forall g, price g <= epsilon) (*",
            ),
        ),
        "Promises.persons_are_private",
        "Needed.epochs_at_full_price_are_not_private",
    ),
    Mutation(
        "a node's noise is used again for all later ones",
        "NoisyTotals",
        (
            (
                "fold_right (fun qa rest => mass (scale (fst qa)) (snd qa - exact d (fst qa)) * rest) 1 l.",
                "match l with\n  | [] => 1\n"
                "  | (q, a) :: past => if forallb (fun qa => (snd qa - exact d (fst qa) =? a - exact d q)%Z) past\n"
                "                      then mass (scale q) (a - exact d q) else 0\n  end.",
            ),
            (
                "intros d l. induction l as [|[q a] rest IH]; simpl; [lra|].\n"
                "  apply Rmult_le_pos; [left; apply mass_positive, scale_pos | exact IH].",
                "intros d [|[q a] past]; simpl; [lra|]. destruct (forallb _ past); [|lra].\n"
                "  left. apply mass_positive, scale_pos.",
            ),
        ),
        "NoisyTotals.noisy_totals_bounded",
        "StaleCopies.stored_noise_is_not_private",
    ),
    Mutation(
        "a plan looks at the data",
        "Curator",
        (
            ("Variable plan : transcript -> option", "Variable plan : data -> transcript -> option"),
            ("Fixpoint history (t : transcript)", "Fixpoint history (d : data) (t : transcript)"),
            ("match history past, plan past with", "match history d past, plan d past with"),
            (
                "Definition probability (d : data) (t : transcript) : R :=\n  match history t with",
                "Definition probability (d : data) (t : transcript) : R :=\n  match history d t with",
            ),
            (
                "Definition paid (t : transcript) : R :=\n  match history t with",
                "Definition paid (d : data) (t : transcript) : R :=\n  match history d t with",
            ),
            (
                "Proof. intros d t. unfold probability. destruct (history t); [",
                "Proof. intros d t. unfold probability. destruct (history d t); [",
            ),
            (
                "probability d t <= exp (paid t) * probability e t.\nProof.",
                "probability d t <= exp (paid d t) * probability e t.\nProof.",
            ),
            (
                "unfold probability, paid. destruct (history t) as [h|]; [apply product_bounded; exact near|].",
                "unfold probability, paid. destruct (history d t) as [h|]; [apply product_bounded; exact near|].",
            ),
        ),
        "Curator.loss_is_at_most_the_price_paid",
    ),
    Mutation(
        "a tree of log2 T levels, without the last",
        "Trees",
        (
            (
                "Definition levels (horizon : nat) : nat := S (Nat.log2 horizon).",
                "Definition levels (horizon : nat) : nat := Nat.log2 horizon.",
            ),
        ),
        "Trees.level_below",
    ),
    Mutation(
        "a node covers twice as many items",
        "Trees",
        (("Definition size (t : nat) : nat := 2 ^ level t.", "Definition size (t : nat) : nat := 2 ^ S (level t)."),),
        "Trees.size_divides",
    ),
    Mutation(
        "each part of a hybrid counter at the whole epsilon",
        "Hybrid",
        (("scale_is_enough sum_scale (2 * IZR width) epsilon ->", "scale_is_enough sum_scale (IZR width) epsilon ->"),),
        "Hybrid.hybrid_pays",
    ),
    Mutation(
        "each arm of a row at the whole epsilon",
        "Promises",
        (
            (
                "0 < epsilon -> 0 <= share ->\n  INR (length arms_of_row) * share <= epsilon ->",
                "0 < epsilon -> 0 <= share ->\n  share <= epsilon ->",
            ),
        ),
        "Promises.rows_are_private",
    ),
    Mutation(
        "rewards are not clipped",
        "Grid",
        (("round (clip g reward / step g) - floor g.", "round (reward / step g) - floor g."),),
        "Grid.encode_on_grid",
    ),
    Mutation(
        "squared differences are not divided by the width",
        "Grid",
        (
            (
                "- ((- (x - y) * (x - y)) / width).",
                "- (- (x - y) * (x - y)).",
            ),
        ),
        "Grid.square_within",
    ),
    Mutation(
        "what has waited is released again",
        "Counting",
        (("if released e a then 0 else", "if released e a then waiting a + pulls e a else"),),
        "Counting.no_reward_twice",
    ),
    Mutation(
        "a total begins one reward too early",
        "Counting",
        (
            (
                "seq (taken a - waiting a + 1) (waiting a + pulls e a)",
                "seq (taken a - waiting a) (waiting a + pulls e a + 1)",
            ),
        ),
        "Counting.only_later",
    ),
    Mutation(
        "tests with two thirds of the noise",
        "SparseVector",
        (("if one_sided m then 1 else 3.", "if one_sided m then 1 else 2."),),
        "SparseVector.tests_price",
    ),
    Mutation(
        "one-sided noise for a distance from 0",
        "SparseVector",
        (
            (
                "match m with OneSided => true | _ => false end.",
                "match m with OneSided | Distance => true | _ => false end.",
            ),
        ),
        "SparseVector.tests_price",
    ),
    Mutation(
        "the noise of one-sided tests is folded up, as that of their threshold",
        "SparseVector",
        (
            (
                "if one_sided m then folded_down scale else mass scale.",
                "if one_sided m then folded scale else mass scale.",
            ),
            ("auto using mass_adds_up, folded_down_adds_up.", "auto using mass_adds_up, folded_adds_up."),
        ),
        "SparseVector.test_goes_down",
    ),
    Mutation(
        "totals at the halt, where only answers are paid for",
        "SparseVector",
        (("match release_scale with Some _ => arms | None => [] end.", "match release_scale with _ => arms end."),),
        "SparseVector.told_cost",
    ),
    Mutation(
        "the totals at the halt are free",
        "SparseVector",
        (
            (
                "shares (entered asked) * epsilon + INR (entered asked) * release_epsilon.",
                "shares (entered asked) * epsilon + INR (entered asked) * 0.",
            ),
        ),
        "SparseVector.sparse_vector_is_private",
    ),
    Mutation(
        "a sparse vector goes on after a yes",
        "SparseVector",
        (("| _ :: past => all_no past end.", "| _ :: past => true end."),),
        "SparseVector.tests_cost",
    ),
)
"""All changes, in the order in which they are tried."""


def try_all(texts: dict[str, str], folder: Path) -> None:
    """Try each mutation.

    Args:
        texts: The text of each file, in order.
        folder: The folder in which they have been checked.

    Raises:
        AssertionError: A broken proof goes through, or something else than what it breaks is refused.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(lambda one: try_one(one, texts, folder), MUTATIONS):
            pass


def try_one(mutation: Mutation, texts: dict[str, str], folder: Path) -> str:
    """Return the statement that Coq refuses.

    Args:
        mutation: The mutation.
        texts: The text of each file, in order.
        folder: The folder in which they have been checked.

    Raises:
        AssertionError: The broken proof goes through, or something else than what it breaks is refused.
    """
    last = mutation.refused.partition(".")[0]
    changed = {mutation.file}
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for path in folder.glob("*.vo"):
            shutil.copy(path, copy)
        try:
            for file, text in texts.items():
                if file == mutation.file:
                    coq.check(file, mutation.mutated(text), copy)
                elif changed & set(coq.needs(text)):
                    changed.add(file)
                    coq.check(file, text, copy)
                if file == last:
                    break
        except coq.CoqError as error:
            if f"{error.file}.{error.statement}" == mutation.refused:
                return mutation.refused
            raise AssertionError(
                f"{mutation.words}: Coq refuses something else than {mutation.refused}: {error}"
            ) from error
    raise AssertionError(f"{mutation.words}: {last}.v goes through all the same")
