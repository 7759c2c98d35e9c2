(* What a binary tree keeps (mechanisms/trees.py, BinaryTree): the sums of its open nodes, one number for each level. The
   sum that it hands over with item t is that of the items which the node covers, the last 2^level of them. *)
Require Import ZArith Arith List Lia.
Require Import Discreet.Trees.
Import ListNotations.
Open Scope nat_scope.

(* The items, numbered from 1. *)
Definition items := nat -> Z.

(* The sum of items first ... first + n - 1. *)
Fixpoint sum_from (x : items) (first n : nat) : Z :=
  match n with
  | O => 0%Z
  | S less => (sum_from x first less + x (first + less)%nat)%Z
  end.

Lemma sum_splits : forall x first n m, sum_from x first (n + m) = (sum_from x first n + sum_from x (first + n)%nat m)%Z.
Proof.
  intros x first n m. induction m as [|m IH]; [rewrite Nat.add_0_r; simpl; lia|].
  rewrite Nat.add_succ_r. simpl sum_from. rewrite IH. replace (first + n + m) with (first + (n + m)) by lia. lia.
Qed.

(* Open sums by level: 0 where no node is open. *)
Definition open := nat -> Z.

(* The sum of the levels below one. *)
Fixpoint lower (o : open) (level : nat) : Z :=
  match level with
  | O => 0%Z
  | S below => (lower o below + o below)%Z
  end.

(* [BinaryTree.add]: item t closes all lower levels into its own. *)
Definition node_total (x : items) (t : nat) (o : open) : Z := (x t + lower o (level t))%Z.

Definition add (x : items) (t : nat) (o : open) : open := fun i =>
  if i <? level t then 0%Z else if i =? level t then node_total x t o else o i.

Fixpoint after (x : items) (t : nat) : open :=
  match t with
  | O => fun _ => 0%Z
  | S before => add x t (after x before)
  end.

(* What is open after t items: level i has a node if bit i of t is set, and it begins where the higher bits end. *)
Definition begins (t i : nat) : nat := t / 2 ^ S i * 2 ^ S i.
Definition has_bit (t i : nat) : bool := Nat.odd (t / 2 ^ i).
Definition right_at (x : items) (t : nat) (o : open) (i : nat) : Prop :=
  o i = if has_bit t i then sum_from x (S (begins t i)) (2 ^ i) else 0%Z.

Lemma halves : forall t i, t / 2 ^ i = 2 * (t / 2 ^ S i) + if has_bit t i then 1 else 0.
Proof.
  intros t i. unfold has_bit. pose proof (Nat.pow_nonzero 2 i ltac:(lia)).
  replace (2 ^ S i) with (2 ^ i * 2) by (simpl; lia). rewrite <- Nat.div_div by lia.
  pose proof (Nat.div2_odd (t / 2 ^ i)) as parts. rewrite Nat.div2_div in parts.
  destruct (Nat.odd (t / 2 ^ i)); simpl Nat.b2n in parts; lia.
Qed.

(* All levels below k together: the items after the last multiple of 2^k. *)
Lemma lower_is : forall x t o k, (forall i, right_at x t o i) ->
  lower o k = sum_from x (S (t / 2 ^ k * 2 ^ k)) (t - t / 2 ^ k * 2 ^ k).
Proof.
  intros x t o k right. induction k as [|k IH].
  - simpl lower. simpl Nat.pow. rewrite Nat.div_1_r, Nat.mul_1_r, Nat.sub_diag. reflexivity.
  - simpl lower. rewrite IH, (right k). pose proof (halves t k) as half. unfold begins.
    pose proof (Nat.mul_div_le t (2 ^ k)) as fits. pose proof (Nat.pow_nonzero 2 k ltac:(lia)) as some.
    assert (twice : t / 2 ^ S k * 2 ^ S k = 2 * (t / 2 ^ S k) * 2 ^ k) by (simpl Nat.pow; lia).
    destruct (has_bit t k).
    + assert (here : t / 2 ^ k * 2 ^ k = t / 2 ^ S k * 2 ^ S k + 2 ^ k) by (rewrite half, twice; lia).
      replace (t - t / 2 ^ S k * 2 ^ S k) with (2 ^ k + (t - t / 2 ^ k * 2 ^ k)) by (rewrite here in *; lia).
      rewrite sum_splits. replace (S (t / 2 ^ S k * 2 ^ S k) + 2 ^ k) with (S (t / 2 ^ k * 2 ^ k)) by lia. lia.
    + replace (t / 2 ^ k * 2 ^ k) with (t / 2 ^ S k * 2 ^ S k) by (rewrite half, twice; lia). lia.
Qed.

(* Item t = m 2^level, with m odd. *)
Lemma size_times_odd : forall t, 0 < t -> exists m, t = (2 * m + 1) * size t.
Proof.
  assert (of_positive : forall p, exists m, Pos.to_nat p = (2 * m + 1) * 2 ^ trailing_zeros p).
  { induction p as [p _ | p [m IH] |]; simpl trailing_zeros.
    - exists (Pos.to_nat p). rewrite Pos2Nat.inj_xI. simpl Nat.pow. lia.
    - exists m. rewrite Pos2Nat.inj_xO, IH. simpl Nat.pow. lia.
    - exists 0. reflexivity. }
  intros t some. destruct (of_positive (Pos.of_nat t)) as [m whole]. exists m.
  rewrite Nat2Pos.id in whole by lia. exact whole.
Qed.

(* Above its level, t has the bits of t - 1. *)
Lemma same_above : forall t i, level (S t) < i -> S t / 2 ^ i = t / 2 ^ i.
Proof.
  intros t i above. destruct (size_times_odd (S t) (Nat.lt_0_succ t)) as [m whole]. unfold size in whole.
  pose proof (Nat.pow_nonzero 2 (level (S t)) ltac:(lia)) as some.
  replace i with (level (S t) + 1 + (i - level (S t) - 1)) by lia.
  rewrite Nat.pow_add_r. pose proof (Nat.pow_nonzero 2 (i - level (S t) - 1) ltac:(lia)) as rest.
  assert (block : 2 ^ (level (S t) + 1) <> 0) by (apply Nat.pow_nonzero; lia).
  rewrite <- !Nat.div_div by assumption. f_equal.
  rewrite Nat.pow_add_r. simpl (2 ^ 1). set (size := 2 ^ level (S t)) in *.
  transitivity m; [|symmetry]; symmetry; [apply Nat.div_unique with size | apply Nat.div_unique with (size - 1)]; lia.
Qed.

(* The node of item t + 1 is right if what was open after t was. *)
Lemma node_is : forall x t o, (forall i, right_at x t o i) ->
  node_total x (S t) o = sum_from x (S (S t - size (S t))) (size (S t)).
Proof.
  intros x t o right. unfold node_total. rewrite (lower_is x t o (level (S t)) right).
  destruct (size_divides (Nat.lt_0_succ t)) as [m whole]. unfold size in *.
  pose proof (Nat.pow_nonzero 2 (level (S t)) ltac:(lia)) as some. set (size := 2 ^ level (S t)) in *.
  assert (start : t / size * size = S t - size).
  { assert (t / size = m - 1) as ->.
    { symmetry. apply Nat.div_unique with (size - 1); [lia|]. destruct m; [lia|]. nia. }
    destruct m; [lia|]. nia. }
  assert (fits : size <= S t) by (destruct m; nia).
  rewrite start.
  assert (count : sum_from x (S (S t - size)) size = sum_from x (S (S t - size)) (S (t - (S t - size)))) by (f_equal; lia).
  rewrite count. cbn [sum_from]. replace (S (S t - size) + (t - (S t - size))) with (S t) by lia. lia.
Qed.

(* After any number of items, every level has the sum that it must have. *)
Theorem open_sums_are_right : forall x t i, right_at x t (after x t) i.
Proof.
  intros x t. induction t as [|t IH]; intro i.
  - unfold right_at, has_bit. simpl after. pose proof (Nat.pow_nonzero 2 i ltac:(lia)).
    rewrite Nat.div_0_l by assumption. reflexivity.
  - unfold right_at. simpl after. unfold add.
    destruct (size_times_odd (S t) (Nat.lt_0_succ t)) as [m whole].
    destruct (Nat.ltb_spec i (level (S t))) as [under|over].
    + (* a lower level is closed, and its bit is 0 *)
      unfold has_bit, size in *.
      replace (level (S t)) with (i + 1 + (level (S t) - i - 1)) in whole by lia. rewrite !Nat.pow_add_r in whole.
      assert (even : S t / 2 ^ i = 2 * ((2 * m + 1) * 2 ^ (level (S t) - i - 1))).
      { rewrite whole at 1. symmetry. apply Nat.div_unique_exact; [apply Nat.pow_nonzero; lia|]. simpl (2 ^ 1). lia. }
      rewrite even, Nat.odd_mul. reflexivity.
    + destruct (Nat.eqb_spec i (level (S t))) as [same|other].
      * (* its own level *)
        rewrite (node_is x t (after x t) IH). subst i. unfold has_bit, begins. unfold size in *.
        pose proof (Nat.pow_nonzero 2 (level (S t)) ltac:(lia)) as some.
        assert (quotient : S t / 2 ^ level (S t) = 2 * m + 1)
          by (rewrite whole at 1; apply Nat.div_mul; exact some).
        rewrite quotient. replace (Nat.odd (2 * m + 1)) with true by (rewrite Nat.odd_add, Nat.odd_mul; reflexivity).
        assert (S t / 2 ^ S (level (S t)) = m) as ->.
        { symmetry. apply Nat.div_unique with (2 ^ level (S t)); simpl Nat.pow; lia. }
        f_equal. simpl Nat.pow. lia.
      * (* higher levels are as they were *)
        assert (above : level (S t) < i) by lia. rewrite (IH i). unfold has_bit, begins.
        rewrite (same_above t i above), (same_above t (S i)) by lia. reflexivity.
Qed.

(* What is released with item t, but for its noise: the sum of the items that its node covers. *)
Theorem released_node_is_right : forall x t, 0 < t ->
  node_total x t (after x (t - 1)) = sum_from x (S (t - size t)) (size t).
Proof.
  intros x [|t] some; [lia|]. simpl (S t - 1). rewrite Nat.sub_0_r. apply node_is. apply open_sums_are_right.
Qed.
