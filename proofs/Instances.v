(* Not vacuous: all hypotheses of the promises can be met together.

   Three runs on a grid of width 1, with one arm: a noisy total and then a test of a sparse vector, with a total at its
   end or one-sided without; and a binary tree of any horizon. Each promise is applied to a run of its own, for any
   reward, and the data differ in fact. *)
Require Import Reals ZArith Arith List Bool Lra Lia.
Require Import Discreet.Mechanism Discreet.Noise Discreet.Rewards Discreet.NoisyTotals Discreet.Prices Discreet.Trees.
Require Import Discreet.SparseVector Discreet.Curator Discreet.Promises.
Import ListNotations.
Open Scope R_scope.

(* Rewards are numbered. There are two data sets that differ in reward 1. *)
Definition zeros : data nat := fun _ => 0%Z.
Definition one_of_them : data nat := fun x => if Nat.eqb 1 x then 1%Z else 0%Z.

Lemma they_are_neighbours : neighbours 1 (Nat.eqb 1) zeros one_of_them.
Proof.
  unfold zeros, one_of_them. repeat split; try lia; try (destruct (Nat.eqb 1 x); lia).
  intros x other. rewrite other. reflexivity.
Qed.

(* There is one group, and one sparse vector. *)
Definition same_unit : forall a b : unit, {a = b} + {a <> b}.
Proof. decide equality. Defined.

Lemma three_positive : 0 < 3. Proof. lra. Qed.
Lemma one_positive : 0 < 1. Proof. lra. Qed.

Lemma tests_enough : scale_is_enough 3 (IZR (factor Distance * 1)) 1.
Proof. unfold scale_is_enough, factor. simpl. lra. Qed.

Lemma total_enough : scale_is_enough 1 (IZR 1) 1.
Proof. unfold scale_is_enough. lra. Qed.

Lemma total_paid : pays_for 1 (Some 1) 1.
Proof. split; [exact one_positive | exact total_enough]. Qed.

(* One sparse vector of one arm, with an epsilon of 1 for its tests and of 1 for its total. *)
Definition its_terms (_ : unit) : sparse_terms unit 1 :=
  @Build_sparse_terms unit 1 Distance tt [] 1 1 3 (Some 1) one_positive three_positive one_positive tests_enough
    total_paid.

(* ------------------------------------------------------------------ a total and a test *)

(* The total of reward 1, and a test of reward 2. *)
Definition the_total : number nat := {| kind := Total; cells := [1%nat]; scale := 1; scale_pos := one_positive |}.
Definition the_test : SparseVector.test nat unit := SparseVector.Build_test nat unit (fun _ => [2%nat]) 0%Z.

(* The plan: the one, then the other, then nothing. *)
Definition total_then_test (t : transcript answer) : option (series unit * question nat unit unit) :=
  match t with
  | [] => Some (None, Number unit tt the_total)
  | [_] => Some (Some tt, Test unit the_test)
  | _ => None
  end.

(* Every history of it is one of three. *)
Lemma three_histories : forall t h, history_of total_then_test t = Some h ->
  h = []
  \/ (exists a, h = [(None, (Number unit tt the_total, a))])
  \/ (exists a b, h = [(Some tt, (Test unit the_test, b)); (None, (Number unit tt the_total, a))]).
Proof.
  unfold history_of. intros [|a [|b [|c t]]] h asked; simpl in asked.
  - injection asked as <-. auto.
  - injection asked as <-. eauto.
  - injection asked as <-. eauto.
  - destruct (history total_then_test t); destruct t; simpl in asked; try discriminate;
      repeat match type of asked with context [match ?x with _ => _ end] => destruct x end; discriminate.
Qed.

(* A reward is in one release at most, and is private at the dearer one's price, 2. *)
Theorem a_total_and_a_test : forall reward d e t, neighbours 1 (Nat.eqb reward) d e ->
  probability_of 0 same_unit its_terms total_then_test d t
  <= exp 2 * probability_of 0 same_unit its_terms total_then_test e t.
Proof.
  intro reward. apply rewards_are_private with (same_group := same_unit) (price := fun _ => 1); try lia; try lra; [intros; lra|].
  intros t h asked. destruct (three_histories t h asked) as [->|[[a ->]|[a [b ->]]]]; clear asked.
  - split; [intros [] q [] | split; [intros []; simpl; lia | split; [intros []; unfold in_tests, entered; simpl; lia|]]].
    unfold price_of_entered, tests_entered, begun. simpl. lra.
  - unfold tests_entered, begun. simpl. split; [|split; [|split]].
    + intros [] q [<-|[]]. exact total_enough.
    + intros []. simpl. destruct reward as [|[|more]]; simpl; lia.
    + intros []. unfold in_tests, entered. simpl. lia.
    + unfold price_of_entered, groups_of. simpl. destruct reward as [|[|more]]; simpl; lra.
  - unfold tests_entered, begun. simpl. split; [|split; [|split]].
    + intros [] q [<-|[]]. exact total_enough.
    + intros []. simpl. destruct reward as [|[|more]]; simpl; lia.
    + intros []. unfold in_tests, entered. simpl. destruct reward as [|[|[|more]]]; simpl; lia.
    + unfold price_of_entered, groups_of, in_tests, entered. simpl. destruct reward as [|[|[|more]]]; simpl; lra.
Qed.

(* The same with a one-sided sparse vector that releases nothing but its answers, at an epsilon of 1. *)
Lemma alone_enough : scale_is_enough 1 (IZR (factor OneSided * 1)) 1.
Proof. unfold scale_is_enough, factor. simpl. lra. Qed.

Definition alone_terms (_ : unit) : sparse_terms unit 1 :=
  @Build_sparse_terms unit 1 OneSided tt [] 1 0 1 None one_positive one_positive I alone_enough eq_refl.

(* The price is 1: that of the total, or that of the tests. *)
Theorem a_total_and_a_test_alone : forall reward d e t, neighbours 1 (Nat.eqb reward) d e ->
  probability_of 0 same_unit alone_terms total_then_test d t
  <= exp 1 * probability_of 0 same_unit alone_terms total_then_test e t.
Proof.
  intro reward. apply rewards_are_private with (same_group := same_unit) (price := fun _ => 1); try lia; try lra; [intros; lra|].
  intros t h asked. destruct (three_histories t h asked) as [->|[[a ->]|[a [b ->]]]]; clear asked.
  - split; [intros [] q [] | split; [intros []; simpl; lia | split; [intros []; unfold in_tests, entered; simpl; lia|]]].
    unfold price_of_entered, tests_entered, begun. simpl. lra.
  - unfold tests_entered, begun. simpl. split; [|split; [|split]].
    + intros [] q [<-|[]]. exact total_enough.
    + intros []. simpl. destruct reward as [|[|more]]; simpl; lia.
    + intros []. unfold in_tests, entered. simpl. lia.
    + unfold price_of_entered, groups_of. simpl. destruct reward as [|[|more]]; simpl; lra.
  - unfold tests_entered, begun. simpl. split; [|split; [|split]].
    + intros [] q [<-|[]]. exact total_enough.
    + intros []. simpl. destruct reward as [|[|more]]; simpl; lia.
    + intros []. unfold in_tests, entered. simpl. destruct reward as [|[|[|more]]]; simpl; lia.
    + unfold price_of_entered, groups_of, in_tests, entered. simpl. destruct reward as [|[|[|more]]]; simpl; lra.
Qed.

(* ------------------------------------------------------------------ a tree *)

Section Tree.

Variable horizon : nat.

(* Noise for an epsilon of 1. *)
Lemma levels_positive : 0 < INR (levels horizon).
Proof. unfold levels. rewrite S_INR. pose proof (pos_INR (Nat.log2 horizon)). lra. Qed.

(* Item i of the one tree is reward i. *)
Definition item (_ : unit) (i : nat) : nat := i.

(* One node for each item, up to the horizon. *)
Definition one_tree (t : transcript answer) : option (series unit * question nat unit unit) :=
  if (length t <? horizon)%nat
  then Some (None, Number unit tt (node (item tt) levels_positive (S (length t)))) else None.

(* What was asked along a transcript: a node for each answer. *)
Lemma asked_of_it : forall t h, history_of one_tree t = Some h ->
  (length t <= horizon)%nat
  /\ within same_unit tt (numbers_in same_unit h) = map snd (nodes (item tt) levels_positive (length t))
  /\ tests_in same_unit tt h = [].
Proof.
  unfold history_of. induction t as [|a t IH]; intros h asked; simpl in asked.
  - injection asked as <-. repeat split; simpl; lia.
  - destruct (history one_tree t) as [before|]; [|discriminate]. destruct (IH before eq_refl) as [fits [tree no_tests]].
    unfold one_tree in asked. destruct (Nat.ltb_spec (length t) horizon); [|discriminate]. injection asked as <-.
    split; [simpl; lia|]. unfold numbers_in, tests_in in *. simpl. split; [|exact no_tests]. f_equal. exact tree.
Qed.

(* Every reward is private at an epsilon of 1. *)
Theorem a_tree_of_any_horizon : forall reward d e t, neighbours 1 (Nat.eqb reward) d e ->
  probability_of 0 same_unit its_terms one_tree d t <= exp 1 * probability_of 0 same_unit its_terms one_tree e t.
Proof.
  intro reward.
  apply trees_are_private with (same_group := same_unit) (place := item) (horizon := fun _ => horizon)
    (node_scale_pos := fun _ => levels_positive); try lia; try lra.
  - intros [] i [] j mine_i mine_j. apply Nat.eqb_eq in mine_i, mine_j. unfold item in *. split; congruence.
  - intros _. unfold scale_is_enough. simpl. lra.
  - intros t h asked. destruct (asked_of_it t h asked) as [fits [tree no_tests]]. split.
    + intros []. rewrite no_tests. reflexivity.
    + intros []. exists (length t). auto.
Qed.

End Tree.
