(* The formulas of the proofs, computable: on rational numbers, where the theorems have real ones.

   A float is a rational number. Each formula comes with a lemma that it is the one of the theorems. `make prove` computes
   them here and in the Python code, on many inputs, and compares (tools/prove/agreement.py). What is made of integers
   alone (Grid.v, Trees.v, Hybrid.v, Counting.v, OpenNodes.v) is computed as it is. *)
Require Import Reals ZArith QArith Qreals List Lra Lia.
Require Import Discreet.Mechanism Discreet.Noise Discreet.NoisyTotals Discreet.Rewards Discreet.Shares.
Require Import Discreet.Threshold Discreet.SparseVector.
Import ListNotations.
Open Scope Q_scope.

(* ------------------------------------------------------------------ the mass function *)

Fixpoint power (x : Q) (n : nat) : Q := match n with O => 1 | S less => x * power x less end.

(* The probability of z, by the factor from one integer to the next. *)
Definition mass_by_decay (x : Q) (z : Z) : Q := (1 - x) / (1 + x) * power x (Z.to_nat (Z.abs z)).

Lemma inject_zero : Q2R 0 = 0%R.
Proof. unfold Q2R. simpl. field. Qed.

Lemma power_is : forall x n, Q2R (power x n) = (Q2R x ^ n)%R.
Proof.
  intros x n. induction n as [|n IH]; simpl; [unfold Q2R; simpl; field|]. rewrite Q2R_mult, IH. reflexivity.
Qed.

(* It is the mass function of the theorems. *)
Theorem mass_by_decay_is_mass : forall x z scale, (0 < scale)%R -> Q2R x = decay scale ->
  Q2R (mass_by_decay x z) = mass scale z.
Proof.
  intros x z scale positive same. unfold mass_by_decay, mass.
  pose proof (decay_between scale positive) as between.
  replace (Z.abs z) with (Z.of_nat (Z.to_nat (Z.abs z))) at 2 by lia. rewrite exp_is_power.
  rewrite Q2R_mult, power_is, same, Q2R_div, Q2R_minus, Q2R_plus, same.
  - unfold Q2R at 1 2. simpl. field. lra.
  - intro zero. apply Qeq_eqR in zero. rewrite Q2R_plus, same in zero. unfold Q2R in zero. simpl in zero. lra.
Qed.

(* The absolute value of noise. *)
Definition folded_by_decay (x : Q) (z : Z) : Q :=
  (if (0 <=? z)%Z then mass_by_decay x z else 0) + (if (0 <? z)%Z then mass_by_decay x z else 0).

(* It is the noise of one-sided tests: B as it is, A turned round. *)
Theorem folded_by_decay_is_folded : forall x z scale, (0 < scale)%R -> Q2R x = decay scale ->
  Q2R (folded_by_decay x z) = folded scale z.
Proof.
  intros x z scale positive same. unfold folded_by_decay, folded. rewrite Q2R_plus.
  pose proof (mass_by_decay_is_mass x z scale positive same) as is_mass. pose proof (inject_zero) as zero.
  destruct (0 <=? z)%Z; destruct (0 <? z)%Z; rewrite ?is_mass, ?zero; reflexivity.
Qed.

(* ------------------------------------------------------------------ scales, losses and prices *)

(* Whether a scale is enough (core/noise.py, scale_for). *)
Definition is_enough (scale sensitivity epsilon : Q) : bool := Qle_bool (sensitivity / epsilon) scale.

(* What it grants is enough for the theorems. *)
Theorem is_enough_means_it : forall scale sensitivity epsilon, 0 < epsilon -> is_enough scale sensitivity epsilon = true ->
  scale_is_enough (Q2R scale) (Q2R sensitivity) (Q2R epsilon).
Proof.
  intros scale sensitivity epsilon positive enough. apply Qle_bool_iff, Qle_Rle in enough.
  rewrite Q2R_div in enough; [exact enough|]. intro zero. rewrite zero in positive. discriminate.
Qed.

(* What a number with that many rewards of the unit in it costs. *)
Definition loss_of (count width : Z) (scale : Q) : Q := inject_Z count * inject_Z width / scale.

Lemma inject_is : forall z, Q2R (inject_Z z) = IZR z.
Proof. intro z. unfold Q2R, inject_Z. simpl. field. Qed.

(* It is the loss of the theorems. *)
Theorem loss_of_is_loss : forall cell (width : Z) (mine : cell -> bool) (q : number cell) (s : Q), Q2R s = scale q ->
  Q2R (loss_of (Z.of_nat (count_mine mine (cells q))) width s) = loss width mine q.
Proof.
  intros cell width mine q s same. unfold loss_of, loss. rewrite Q2R_div, Q2R_mult, !inject_is, same, <- INR_IZR_INZ; auto.
  intro zero. apply Qeq_eqR in zero. rewrite same in zero. pose proof (scale_pos q). unfold Q2R in zero. simpl in zero. lra.
Qed.

(* Whether prices are at most what was promised (Curator._charge). *)
Definition sum_of (prices : list Q) : Q := fold_right Qplus 0 prices.
Definition is_paid_by (epsilon : Q) (prices : list Q) : bool := Qle_bool (sum_of prices) epsilon.

(* What it grants adds up to at most epsilon. *)
Theorem is_paid_by_means_it : forall epsilon prices, is_paid_by epsilon prices = true ->
  (fold_right Rplus 0 (map Q2R prices) <= Q2R epsilon)%R.
Proof.
  intros epsilon prices paid. apply Qle_bool_iff, Qle_Rle in paid. eapply Rle_trans; [|exact paid].
  right. unfold sum_of. clear paid. induction prices as [|p rest IH]; simpl; [unfold Q2R; simpl; field|].
  rewrite Q2R_plus, IH. reflexivity.
Qed.

(* What one reward pays for a sparse vector (ThresholdQuery.prices): for its tests, and for totals if there are any. *)
Definition release_price (release : option Q) : Q := match release with Some price => price | None => 0 end.
Definition vector_price (epsilon : Q) (release : option Q) : Q := epsilon + release_price release.

(* It is the price of the theorems. *)
Theorem vector_price_is_price : forall cell arm kind first others mine epsilon release asked,
  entered cell arm first others mine asked = 1%nat ->
  Q2R (vector_price epsilon release)
  = sparse_price cell arm kind first others mine (Q2R epsilon) (Q2R (release_price release)) asked.
Proof.
  intros cell arm kind first others mine epsilon release asked one. unfold vector_price, sparse_price, shares.
  rewrite one, Q2R_plus. simpl. rewrite Bool.andb_false_r. simpl. ring.
Qed.

(* What epoch e of a policy for persons may cost (theory/person_level.py), from 0. *)
Definition share_of (epsilon c : Q) (e : nat) : Q := epsilon * c * power (1 - c) e.

(* It is the share of Shares.v. *)
Theorem share_of_is_share : forall epsilon c e, Q2R (share_of epsilon c e) = share (Q2R epsilon) (Q2R c) e.
Proof.
  intros epsilon c e. unfold share_of, share. rewrite !Q2R_mult, power_is, Q2R_minus. unfold Q2R at 3. simpl.
  replace (1 * / 1)%R with 1%R by field. reflexivity.
Qed.
