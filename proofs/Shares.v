(* How epsilon is shared out over epochs whose number is not known (theory/person_level.py): each epoch takes a share c of
   what is left, epsilon c (1 - c)^(e - 1). After m epochs less than epsilon is spent, for every m. *)
Require Import Reals List Lra.
Import ListNotations.
Open Scope R_scope.

(* What epoch e may cost; epochs are counted from 0 here. *)
Definition share (epsilon c : R) (e : nat) : R := epsilon * c * (1 - c) ^ e.

(* What the first m epochs cost together. *)
Fixpoint spent (epsilon c : R) (m : nat) : R :=
  match m with
  | O => 0
  | S before => spent epsilon c before + share epsilon c before
  end.

(* What is left after m epochs is epsilon (1 - c)^m. *)
Theorem spent_is : forall epsilon c m, spent epsilon c m = epsilon * (1 - (1 - c) ^ m).
Proof.
  intros epsilon c m. induction m as [|m IH]; simpl; [ring|]. rewrite IH. unfold share. ring.
Qed.

(* It never runs out. *)
Theorem never_all : forall epsilon c m, 0 < epsilon -> 0 < c < 1 -> spent epsilon c m < epsilon.
Proof.
  intros epsilon c m positive between. rewrite spent_is.
  pose proof (pow_lt (1 - c) m ltac:(lra)) as left_over.
  rewrite <- (Rmult_1_r epsilon) at 2. apply Rmult_lt_compat_l; lra.
Qed.
