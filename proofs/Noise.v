(* The discrete Laplace distribution (core/noise.py): probability proportional to exp(-|z|/scale) on each integer z.

   Three facts are used of it: it is a distribution (its probabilities add up to one); moving it by k changes no
   probability by more than a factor of e^(k/scale); and a scale that was rounded up is as good as the exact one. *)
Require Import Reals ZArith Lra Lia Psatz.
Require Import Discreet.Mechanism Discreet.Sums.
Open Scope R_scope.

(* The factor from one integer to the next, away from 0. *)
Definition decay (scale : R) : R := exp (- / scale).

Definition mass (scale : R) (z : Z) : R :=
  (1 - decay scale) / (1 + decay scale) * exp (- (IZR (Z.abs z) / scale)).

Lemma decay_between : forall scale, 0 < scale -> 0 < decay scale < 1.
Proof.
  intros scale positive. split; [apply exp_pos|]. unfold decay. rewrite <- exp_0.
  apply exp_increasing. pose proof (Rinv_0_lt_compat scale positive). lra.
Qed.

Lemma normaliser_positive : forall scale, 0 < scale -> 0 < (1 - decay scale) / (1 + decay scale).
Proof. intros scale positive. pose proof (decay_between scale positive). apply Rdiv_lt_0_compat; lra. Qed.

(* Every integer is possible. *)
Theorem mass_positive : forall scale z, 0 < scale -> 0 < mass scale z.
Proof. intros scale z positive. apply Rmult_lt_0_compat; [apply normaliser_positive; auto | apply exp_pos]. Qed.

Lemma mass_nonnegative : forall scale, 0 < scale -> nonnegative (mass scale).
Proof. intros scale positive z. left. apply mass_positive; exact positive. Qed.

(* It is symmetric. *)
Lemma mass_symmetric : forall scale z, mass scale (- z) = mass scale z.
Proof. intros scale z. unfold mass. rewrite Z.abs_opp. reflexivity. Qed.

(* ------------------------------------------------------------------ it adds up to one *)

Lemma exp_is_power : forall scale n, exp (- (IZR (Z.of_nat n) / scale)) = decay scale ^ n.
Proof.
  intros scale n. induction n as [|n IH].
  - simpl. unfold Rdiv. rewrite Rmult_0_l, Ropp_0. apply exp_0.
  - rewrite Nat2Z.inj_succ, succ_IZR. unfold Rdiv in *. simpl pow.
    replace (- ((IZR (Z.of_nat n) + 1) * / scale)) with (- / scale + - (IZR (Z.of_nat n) * / scale)) by ring.
    rewrite exp_plus, IH. reflexivity.
Qed.

Lemma mass_of_nat : forall scale n,
  mass scale (Z.of_nat n) = (1 - decay scale) / (1 + decay scale) * decay scale ^ n.
Proof. intros scale n. unfold mass. rewrite Z.abs_eq by lia. rewrite exp_is_power. reflexivity. Qed.

(* The probability of -n ... n. *)
Lemma mass_within : forall scale n, 0 < scale ->
  range (mass scale) (- Z.of_nat n) (2 * n + 1) = 1 - 2 * decay scale ^ (n + 1) / (1 + decay scale).
Proof.
  intros scale n positive. pose proof (decay_between scale positive) as between. induction n as [|n IH].
  - change (2 * 0 + 1)%nat with 1%nat. change (- Z.of_nat 0)%Z with (Z.of_nat 0). simpl range.
    change (mass scale 0) with (mass scale (Z.of_nat 0)). rewrite mass_of_nat. simpl. field. lra.
  - replace (2 * S n + 1)%nat with (S (S (2 * n + 1))) by lia.
    rewrite range_last.
    replace (- Z.of_nat (S n) + Z.of_nat (S (2 * n + 1)))%Z with (Z.of_nat (S n)) by lia.
    change (range (mass scale) (- Z.of_nat (S n)) (S (2 * n + 1)))
      with (mass scale (- Z.of_nat (S n)) + range (mass scale) (- Z.of_nat (S n) + 1) (2 * n + 1)).
    replace (- Z.of_nat (S n) + 1)%Z with (- Z.of_nat n)%Z by lia.
    rewrite IH, mass_symmetric, mass_of_nat.
    replace (n + 1)%nat with (S n) by lia. replace (S n + 1)%nat with (S (S n)) by lia. simpl. field. lra.
Qed.

Lemma mass_below_one : forall scale, 0 < scale -> below (mass scale) 1.
Proof.
  intros scale positive a n. pose proof (decay_between scale positive) as between.
  set (far := Z.to_nat (Z.max (Z.abs a) (Z.abs (a + Z.of_nat n)))).
  apply Rle_trans with (range (mass scale) (- Z.of_nat far) (2 * far + 1)).
  - apply range_within; [apply mass_nonnegative; exact positive | unfold far; lia | unfold far; lia].
  - rewrite mass_within by exact positive.
    assert (0 <= 2 * decay scale ^ (far + 1) / (1 + decay scale)); [|lra].
    unfold Rdiv. apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; lra].
    pose proof (pow_lt (decay scale) (far + 1)). lra.
Qed.

Lemma mass_summable : forall scale, 0 < scale -> summable (mass scale).
Proof. intros scale positive. split; [apply mass_nonnegative; auto | exists 1; apply mass_below_one; auto]. Qed.

(* It is a distribution. *)
Theorem mass_sums_to_one : forall scale (H : summable (mass scale)), 0 < scale -> sum (mass scale) H = 1.
Proof.
  intros scale H positive. pose proof (decay_between scale positive) as between.
  apply sum_is; [apply mass_below_one; exact positive|].
  intros gap some. destruct (pow_lt_1_zero (decay scale)) with (y := gap / 2) as [far small]; [|lra|].
  - rewrite Rabs_right; lra.
  - exists (- Z.of_nat far)%Z, (2 * far + 1)%nat. rewrite mass_within by exact positive.
    specialize (small (far + 1)%nat ltac:(lia)).
    rewrite Rabs_right in small by (left; apply pow_lt; lra).
    assert (2 * decay scale ^ (far + 1) / (1 + decay scale) <= 2 * decay scale ^ (far + 1)); [|lra].
    unfold Rdiv. rewrite <- (Rmult_1_r (2 * decay scale ^ (far + 1))) at 2.
    apply Rmult_le_compat_l; [pose proof (pow_lt (decay scale) (far + 1)); lra|].
    rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
Qed.

(* ------------------------------------------------------------------ what moving it costs *)

(* Two integers at a distance of at most k: their probabilities differ by a factor of at most e^(k/scale). *)
Theorem mass_ratio : forall scale k y z, 0 < scale -> (Z.abs (y - z) <= k)%Z ->
  mass scale y <= exp (IZR k / scale) * mass scale z.
Proof.
  intros scale k y z positive close. unfold mass.
  rewrite <- Rmult_assoc, (Rmult_comm (exp _)), Rmult_assoc, <- exp_plus.
  apply Rmult_le_compat_l; [left; apply normaliser_positive; exact positive|].
  apply exp_le. unfold Rdiv.
  assert (triangle : IZR (Z.abs z) <= IZR (Z.abs y) + IZR k) by (rewrite <- plus_IZR; apply IZR_le; lia).
  pose proof (Rinv_0_lt_compat scale positive). nra.
Qed.

(* A total x with noise: the probability that x + noise is the number a. One that moves by at most the sensitivity
   costs sensitivity/scale. *)
Corollary noisy_ratio : forall scale sensitivity a x y, 0 < scale -> (Z.abs (x - y) <= sensitivity)%Z ->
  mass scale (a - x) <= exp (IZR sensitivity / scale) * mass scale (a - y).
Proof. intros. apply mass_ratio; [assumption | lia]. Qed.

(* ------------------------------------------------------------------ scales *)

(* [scale_for] returns a float that is no less than sensitivity/epsilon. *)
Definition scale_is_enough (scale sensitivity epsilon : R) : Prop := sensitivity / epsilon <= scale.

(* Rounding a scale up only helps. *)
Theorem rounded_up_costs_no_more : forall scale sensitivity epsilon,
  0 < scale -> 0 < epsilon -> scale_is_enough scale sensitivity epsilon -> sensitivity / scale <= epsilon.
Proof.
  intros scale sensitivity epsilon positive some enough. unfold scale_is_enough, Rdiv in *.
  apply Rmult_le_reg_r with scale; [exact positive|].
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply (Rmult_le_compat_r epsilon) in enough; [|lra].
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r in enough by lra. lra.
Qed.

(* The Laplace mechanism on one number, as [Mechanism._draw] and [NoisyTotals] have it. *)
Corollary noisy_number_is_private : forall scale sensitivity epsilon a x y,
  0 < scale -> 0 < epsilon -> scale_is_enough scale (IZR sensitivity) epsilon -> (Z.abs (x - y) <= sensitivity)%Z ->
  mass scale (a - x) <= exp epsilon * mass scale (a - y).
Proof.
  intros scale sensitivity epsilon a x y positive some enough close.
  apply Rle_trans with (exp (IZR sensitivity / scale) * mass scale (a - y)).
  - apply noisy_ratio; assumption.
  - apply Rmult_le_compat_r; [left; apply mass_positive; exact positive|].
    apply exp_le, rounded_up_costs_no_more; assumption.
Qed.
