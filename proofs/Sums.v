(* Sums over all integers, of functions that are never negative.

   Noise is drawn from the integers, so probabilities are sums over all of them. A sum of terms that are never negative
   is the least upper bound of its finite parts, in any order; that is the definition here, and no limit is needed.

     summable f          f is never negative, and its finite parts have a bound
     sum f H             its sum; H is a proof that it has one, and the value does not depend on which
     sum_is              how to show that a number is the sum
     sum_le              larger terms, larger sum
     sum_equal           equal terms, equal sums
     sum_scale           a constant factor comes out
     sum_plus            the sum of two functions
     sum_shift           moving all terms by a constant changes nothing
     sum_reflect         neither does turning them round
     sum_moved           f z <= c g (z + k) for all z: the sum of f is at most c times that of g *)
Require Import Reals ZArith Lra Lia.
Open Scope R_scope.

(* f a + f (a + 1) + ... + f (a + n - 1) *)
Fixpoint range (f : Z -> R) (a : Z) (n : nat) : R :=
  match n with
  | O => 0
  | S less => f a + range f (a + 1)%Z less
  end.

Definition nonnegative (f : Z -> R) : Prop := forall z, 0 <= f z.

(* No finite part of the sum is above s. *)
Definition below (f : Z -> R) (s : R) : Prop := forall a n, range f a n <= s.

Definition summable (f : Z -> R) : Prop := nonnegative f /\ exists s, below f s.

Definition parts (f : Z -> R) (x : R) : Prop := exists a n, x = range f a n.

Lemma sum_exists : forall f, summable f -> { s : R | is_lub (parts f) s }.
Proof.
  intros f H. apply completeness.
  - destruct H as [_ [s bound]]. exists s. intros x [a [n ->]]. apply bound.
  - exists 0, 0%Z, O. reflexivity.
Qed.

Definition sum (f : Z -> R) (H : summable f) : R := proj1_sig (sum_exists f H).

(* ------------------------------------------------------------------ the two facts that all others follow from *)

Lemma sum_above : forall f H a n, range f a n <= sum f H.
Proof.
  intros f H a n. unfold sum. destruct (sum_exists f H) as [s [upper least]]. simpl.
  apply upper. exists a, n. reflexivity.
Qed.

Lemma sum_least : forall f H s, below f s -> sum f H <= s.
Proof.
  intros f H s bound. unfold sum. destruct (sum_exists f H) as [t [upper least]]. simpl.
  apply least. intros x [a [n ->]]. apply bound.
Qed.

(* A number is the sum if no finite part is above it, and finite parts come as near to it as one likes. *)
Lemma sum_is : forall f H s, below f s -> (forall gap, 0 < gap -> exists a n, s - gap < range f a n) -> sum f H = s.
Proof.
  intros f H s bound near. apply Rle_antisym; [apply sum_least; auto|].
  destruct (Rle_or_lt s (sum f H)) as [|less]; auto.
  destruct (near (s - sum f H)) as [a [n big]]; [lra|].
  pose proof (sum_above f H a n). lra.
Qed.

(* ------------------------------------------------------------------ finite parts *)

Lemma range_nonnegative : forall f a n, nonnegative f -> 0 <= range f a n.
Proof.
  intros f a n pos. revert a. induction n as [|n IH]; intro a; simpl; [lra|].
  pose proof (pos a). pose proof (IH (a + 1)%Z). lra.
Qed.

Lemma range_le : forall f g a n, (forall z, f z <= g z) -> range f a n <= range g a n.
Proof.
  intros f g a n le. revert a. induction n as [|n IH]; intro a; simpl; [lra|].
  pose proof (le a). pose proof (IH (a + 1)%Z). lra.
Qed.

Lemma range_split : forall f a n m, range f a (n + m) = range f a n + range f (a + Z.of_nat n)%Z m.
Proof.
  intros f a n m. revert a. induction n as [|n IH]; intro a.
  - simpl. replace (a + 0)%Z with a by lia. lra.
  - change (f a + range f (a + 1)%Z (n + m) = f a + range f (a + 1)%Z n + range f (a + Z.of_nat (S n))%Z m).
    rewrite IH. replace (a + 1 + Z.of_nat n)%Z with (a + Z.of_nat (S n))%Z by lia. lra.
Qed.

Lemma range_last : forall f a n, range f a (S n) = range f a n + f (a + Z.of_nat n)%Z.
Proof. intros f a n. replace (S n) with (n + 1)%nat by lia. rewrite range_split. simpl. lra. Qed.

Lemma range_scale : forall f c a n, range (fun z => c * f z) a n = c * range f a n.
Proof.
  intros f c a n. revert a. induction n as [|n IH]; intro a; simpl; [lra|]. rewrite IH. lra.
Qed.

Lemma range_plus : forall f g a n, range (fun z => f z + g z) a n = range f a n + range g a n.
Proof.
  intros f g a n. revert a. induction n as [|n IH]; intro a; simpl; [lra|]. rewrite IH. lra.
Qed.

Lemma range_shift : forall f k a n, range (fun z => f (z + k)%Z) a n = range f (a + k)%Z n.
Proof.
  intros f k a n. revert a. induction n as [|n IH]; intro a; simpl; auto.
  rewrite IH. replace (a + 1 + k)%Z with (a + k + 1)%Z by lia. reflexivity.
Qed.

Lemma range_reflect : forall f a n, range (fun z => f (- z)%Z) a n = range f (1 - a - Z.of_nat n)%Z n.
Proof.
  intros f a n. revert a. induction n as [|n IH]; intro a; [reflexivity|].
  rewrite (range_last f). change (range (fun z => f (- z)%Z) a (S n)) with (f (- a)%Z + range (fun z => f (- z)%Z) (a + 1)%Z n).
  rewrite IH.
  replace (1 - (a + 1) - Z.of_nat n)%Z with (1 - a - Z.of_nat (S n))%Z by lia.
  replace (1 - a - Z.of_nat (S n) + Z.of_nat n)%Z with (- a)%Z by lia. lra.
Qed.

(* A longer part is no smaller. *)
Lemma range_within : forall f a n b m, nonnegative f ->
  (b <= a)%Z -> (a + Z.of_nat n <= b + Z.of_nat m)%Z -> range f a n <= range f b m.
Proof.
  intros f a n b m pos left right.
  set (before := Z.to_nat (a - b)). set (after := (m - before - n)%nat).
  assert (B : (b + Z.of_nat before = a)%Z) by (unfold before; lia).
  replace m with (before + (n + after))%nat by (unfold after, before; lia).
  rewrite !range_split, B.
  pose proof (range_nonnegative f b before pos).
  pose proof (range_nonnegative f (a + Z.of_nat n)%Z after pos). lra.
Qed.

(* ------------------------------------------------------------------ sums *)

Lemma sum_nonnegative : forall f H, 0 <= sum f H.
Proof. intros f H. pose proof (sum_above f H 0 0). simpl in *. lra. Qed.

(* Every term is at most the sum. *)
Lemma sum_term : forall f H z, f z <= sum f H.
Proof. intros f H z. pose proof (sum_above f H z 1). simpl in *. lra. Qed.

Lemma summable_nonnegative : forall f, summable f -> nonnegative f.
Proof. intros f [pos _]. exact pos. Qed.

Lemma summable_le : forall f g, nonnegative f -> (forall z, f z <= g z) -> summable g -> summable f.
Proof.
  intros f g pos le [_ [s bound]]. split; auto. exists s. intros a n.
  eapply Rle_trans; [apply range_le; eauto | apply bound].
Qed.

Lemma sum_le : forall f g Hf Hg, (forall z, f z <= g z) -> sum f Hf <= sum g Hg.
Proof.
  intros f g Hf Hg le. apply sum_least. intros a n.
  eapply Rle_trans; [apply range_le; eauto | apply sum_above].
Qed.

Lemma sum_equal : forall f g Hf Hg, (forall z, f z = g z) -> sum f Hf = sum g Hg.
Proof. intros. apply Rle_antisym; apply sum_le; intro z; rewrite H; lra. Qed.

Lemma summable_scale : forall f c, 0 <= c -> summable f -> summable (fun z => c * f z).
Proof.
  intros f c C [pos [s bound]]. split.
  - intro z. apply Rmult_le_pos; auto.
  - exists (c * s). intros a n. rewrite range_scale. apply Rmult_le_compat_l; auto.
Qed.

Lemma sum_scale : forall f c Hf Hc, 0 <= c -> sum (fun z => c * f z) Hc = c * sum f Hf.
Proof.
  intros f c Hf Hc C. apply Rle_antisym.
  - apply sum_least. intros a n. rewrite range_scale. apply Rmult_le_compat_l; auto. apply sum_above.
  - destruct (Req_dec c 0) as [-> | some]; [rewrite Rmult_0_l; apply sum_nonnegative|].
    assert (P : 0 < c) by lra.
    apply Rmult_le_reg_l with (/ c); [apply Rinv_0_lt_compat; auto|].
    rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by auto.
    apply sum_least. intros a n. apply Rmult_le_reg_l with c; auto.
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by auto. rewrite <- range_scale.
    apply (sum_above (fun z => c * f z) Hc).
Qed.

Lemma summable_plus : forall f g, summable f -> summable g -> summable (fun z => f z + g z).
Proof.
  intros f g [pf [s bf]] [pg [t bg]]. split.
  - intro z. specialize (pf z). specialize (pg z). lra.
  - exists (s + t). intros a n. rewrite range_plus. specialize (bf a n). specialize (bg a n). lra.
Qed.

Lemma sum_plus : forall f g Hf Hg H, sum (fun z => f z + g z) H = sum f Hf + sum g Hg.
Proof.
  intros f g Hf Hg H. apply Rle_antisym.
  - apply sum_least. intros a n. rewrite range_plus.
    pose proof (sum_above f Hf a n). pose proof (sum_above g Hg a n). lra.
  - assert (K : sum f Hf <= sum (fun z => f z + g z) H - sum g Hg); [|lra].
    apply sum_least. intros a n.
    assert (L : sum g Hg <= sum (fun z => f z + g z) H - range f a n); [|lra].
    apply sum_least. intros b m.
    pose (start := Z.min a b). pose (stop := Z.max (a + Z.of_nat n) (b + Z.of_nat m)).
    pose proof (sum_above (fun z => f z + g z) H start (Z.to_nat (stop - start))) as whole.
    rewrite range_plus in whole.
    pose proof (range_within f a n start (Z.to_nat (stop - start)) (summable_nonnegative f Hf) ltac:(lia) ltac:(lia)).
    pose proof (range_within g b m start (Z.to_nat (stop - start)) (summable_nonnegative g Hg) ltac:(lia) ltac:(lia)).
    lra.
Qed.

Lemma summable_shift : forall f k, summable f -> summable (fun z => f (z + k)%Z).
Proof.
  intros f k [pos [s bound]]. split; [intro z; apply pos|]. exists s. intros a n. rewrite range_shift. apply bound.
Qed.

Lemma sum_shift : forall f k Hf Hk, sum (fun z => f (z + k)%Z) Hk = sum f Hf.
Proof.
  intros f k Hf Hk. apply Rle_antisym; apply sum_least; intros a n.
  - rewrite range_shift. apply sum_above.
  - replace a with (a - k + k)%Z by lia. rewrite <- range_shift. apply (sum_above (fun z => f (z + k)%Z) Hk).
Qed.

Lemma summable_reflect : forall f, summable f -> summable (fun z => f (- z)%Z).
Proof.
  intros f [pos [s bound]]. split; [intro z; apply pos|]. exists s. intros a n. rewrite range_reflect. apply bound.
Qed.

Lemma sum_reflect : forall f Hf Hr, sum (fun z => f (- z)%Z) Hr = sum f Hf.
Proof.
  intros f Hf Hr. apply Rle_antisym; apply sum_least; intros a n.
  - rewrite range_reflect. apply sum_above.
  - replace (range f a n) with (range (fun z => f (- z)%Z) (1 - a - Z.of_nat n)%Z n).
    + apply (sum_above (fun z => f (- z)%Z) Hr).
    + rewrite range_reflect. f_equal. lia.
Qed.

(* The step of every argument by change of variables: if f at z is at most c times g at z + k, for every z, then the
   sum of f is at most c times the sum of g. Different z give different z + k, so no term of g is used twice. *)
Lemma sum_moved : forall f g k c Hf Hg, 0 <= c -> (forall z, f z <= c * g (z + k)%Z) -> sum f Hf <= c * sum g Hg.
Proof.
  intros f g k c Hf Hg C le.
  pose proof (summable_shift g k Hg) as Hs. pose proof (summable_scale _ c C Hs) as Hc.
  rewrite <- (sum_shift g k Hg Hs), <- (sum_scale _ c Hs Hc C). apply sum_le. exact le.
Qed.
