(* What the curator promises, to whom: its theorem with the mechanisms that this library has (mechanisms/curator.py).

   All noisy numbers (totals, squares, nodes of trees) may be seen as one series: each has noise of its own. A sparse
   vector is a series of its own, with terms that do not change. A plan, which is any function of what was released, says
   at each step which number is released, or which sparse vector makes its next test, or that all has ended. A query of
   several arms or several statistics is several steps whose plans do not look at each other's answers.

     anybody_who_pays         what a transcript tells about a unit is at most what the unit has paid
     rewards_are_private      rewards that enter one release: totals, statistics of several parts, sparse vectors
     persons_are_private      one reward in each epoch, and the epochs' prices add up to at most epsilon
     trees_are_private        a binary tree for each arm of each series
     hybrids_are_private      a hybrid counter for each arm of each series
     rows_are_private         a row of rewards, one of each arm, at epsilon/K each *)
Require Import Reals ZArith Arith List Bool Lra Lia.
Require Import Discreet.Mechanism Discreet.Noise Discreet.Rewards Discreet.NoisyTotals Discreet.Prices Discreet.Trees.
Require Import Discreet.Hybrid Discreet.SparseVector Discreet.Curator.
Import ListNotations.
Open Scope R_scope.
Set Implicit Arguments.

(* ------------------------------------------------------------------ a mechanism among others *)

Section Among.

(* A mechanism with questions and answers of its own kind becomes one with those of all kinds. What is not of its kind
   it never answers. *)
Variables data question answer own_question own_answer : Type.
Variable ask : question -> option own_question.
Variable say : answer -> option own_answer.
Variable m : mechanism data own_question own_answer.

Fixpoint own (l : list (question * answer)) : option (list (own_question * own_answer)) :=
  match l with
  | [] => Some []
  | (q, a) :: past =>
      match ask q, say a, own past with
      | Some q', Some a', Some past' => Some ((q', a') :: past')
      | _, _, _ => None
      end
  end.

Definition asks (asked : list question) : list own_question :=
  flat_map (fun q => match ask q with Some q' => [q'] | None => [] end) asked.

Definition among_weight (d : data) (l : list (question * answer)) : R :=
  match own l with Some l' => weight m d l' | None => 0 end.

Lemma among_nonneg : forall d l, 0 <= among_weight d l.
Proof. intros d l. unfold among_weight. destruct (own l); [apply weight_nonneg | lra]. Qed.

Lemma among_nil : forall d, among_weight d [] = 1.
Proof. intro d. apply weight_nil. Qed.

Definition among : mechanism data question answer := Build_mechanism among_weight among_nonneg among_nil.

Lemma own_questions : forall l l', own l = Some l' -> asks (questions l) = questions l'.
Proof.
  induction l as [|[q a] past IH]; intros l' same; simpl in *; [injection same as <-; reflexivity|].
  destruct (ask q); [|discriminate]. destruct (say a); [|discriminate]. destruct (own past) as [past'|]; [|discriminate].
  injection same as <-. simpl. rewrite (IH past' eq_refl). reflexivity.
Qed.

Lemma among_bounded : forall neighbours price, bounded neighbours m price ->
  bounded neighbours among (fun asked => price (asks asked)).
Proof.
  intros neighbours price private d e near l. simpl. unfold among_weight.
  destruct (own l) as [l'|] eqn:mine; [|lra]. rewrite (own_questions l mine). apply private. exact near.
Qed.

End Among.

(* ------------------------------------------------------------------ the curator *)

Section Promises.

Variables cell arm : Type.
Variables width floor : Z.                          (* of the grid *)
Hypothesis width_pos : (0 < width)%Z.

(* Numbers are released in groups: "the totals of epoch 3", "the squares of epoch 5", "the nodes of arm B". *)
Variable group : Type.
Variable same_group : forall a b : group, {a = b} + {a <> b}.

(* The terms of a sparse vector (ThresholdQuery.terms), and its noise. *)
Record sparse_terms := {
  its_measure : measure;
  its_first : arm;
  its_others : list arm;
  its_epsilon : R;
  its_release_epsilon : R;                          (* 0 where no totals are released *)
  its_scale : R;
  its_release_scale : option R;                     (* None: no totals are released *)
  its_epsilon_pos : 0 < its_epsilon;
  its_scale_pos : 0 < its_scale;
  its_release_scale_pos : is_noise its_release_scale;
  its_scale_enough : scale_is_enough its_scale (IZR (factor its_measure * width)) its_epsilon;
  its_release_paid : pays_for width its_release_scale its_release_epsilon
}.

(* The names of sparse vectors: any type whose values can be told apart, such as the releases before it began. *)
Variable name : Type.
Variable same_name : forall a b : name, {a = b} + {a <> b}.
Variable terms : name -> sparse_terms.

Definition series := option name.                   (* None: all noisy numbers *)
Definition same_series : forall a b : series, {a = b} + {a <> b}.
Proof. decide equality. Defined.

Inductive question := Number (g : group) (q : number cell) | Test (q : test cell arm).
Inductive answer := Noisy (steps : Z) | Tested (a : SparseVector.answer).

Definition ask_number (q : question) : option (group * number cell) :=
  match q with Number g number => Some (g, number) | _ => None end.
Definition ask_test (q : question) : option (test cell arm) := match q with Test q => Some q | _ => None end.
Definition say_number (a : answer) : option Z := match a with Noisy steps => Some steps | _ => None end.
Definition say_test (a : answer) : option SparseVector.answer := match a with Tested a => Some a | _ => None end.

(* Noisy totals do not look at the groups, which are there for the proofs. *)
Definition numbers_weight (d : data cell) (l : list (group * number cell * Z)) : R :=
  weight (noisy_totals cell width) d (map (fun x => (snd (fst x), snd x)) l).

Definition numbers : mechanism (data cell) (group * number cell) Z :=
  Build_mechanism numbers_weight (fun d l => weight_nonneg _ d _) (fun d => eq_refl).

Definition sparse (n : name) : mechanism (data cell) (test cell arm) SparseVector.answer :=
  sparse_vector cell arm floor (its_measure (terms n)) (its_first (terms n)) (its_others (terms n)) (its_scale (terms n))
    (its_release_scale (terms n)) (its_scale_pos (terms n)) (its_release_scale_pos (terms n)).

Definition mechanism_of (s : series) : mechanism (data cell) question answer :=
  match s with
  | None => among ask_number say_number numbers
  | Some n => among ask_test say_test (sparse n)
  end.

(* The algorithm: any function of what was released. *)
Variable plan : transcript answer -> option (series * question).

Definition probability_of := probability same_series mechanism_of plan.

(* ------------------------------------------------------------------ prices *)

Variable mine : cell -> bool.
Notation near := (neighbours width mine).

Lemma numbers_bounded : bounded near numbers (fun asked => paid_for width mine (map snd asked)).
Proof.
  intros d e close l. unfold numbers, numbers_weight, weight at 1 3.
  replace (map snd (questions l)) with (questions (map (fun x => (snd (fst x), snd x)) l)).
  - apply noisy_totals_bounded; assumption.
  - unfold questions. rewrite !map_map. apply map_ext. reflexivity.
Qed.

(* How many of the unit's rewards are in the tests of a sparse vector. *)
Definition in_tests (n : name) (asked : list (test cell arm)) : nat :=
  entered cell arm (its_first (terms n)) (its_others (terms n)) mine asked.

Definition price_of_tests (n : name) (asked : list (test cell arm)) : R :=
  sparse_price cell arm (its_measure (terms n)) (its_first (terms n)) (its_others (terms n)) mine
    (its_epsilon (terms n)) (its_release_epsilon (terms n)) asked.

Definition price_of (s : series) (asked : list question) : R :=
  match s with
  | None => paid_for width mine (map snd (asks ask_number asked))
  | Some n => price_of_tests n (asks ask_test asked)
  end.

Lemma all_bounded : forall s, bounded near (mechanism_of s) (price_of s).
Proof.
  intros [n|]; simpl.
  - apply (among_bounded ask_test say_test (m := sparse n) (price := price_of_tests n)).
    unfold sparse, price_of_tests. destruct (terms n). simpl. apply sparse_vector_is_private; assumption.
  - apply (among_bounded ask_number say_number (m := numbers)
             (price := fun asked => paid_for width mine (map snd asked))). apply numbers_bounded.
Qed.

Definition paid_along (t : transcript answer) : R := paid same_series plan price_of t.

(* The curator's theorem for this library: whoever never pays more than epsilon is protected at epsilon. *)
Theorem anybody_who_pays : forall epsilon, (forall t, paid_along t <= epsilon) ->
  forall d e t, near d e -> probability_of d t <= exp epsilon * probability_of e t.
Proof.
  intros epsilon budget d e t close. unfold probability_of.
  apply (transcript_is_private same_series mechanism_of plan price_of all_bounded budget d e t close).
Qed.

(* ------------------------------------------------------------------ what was asked *)

Definition history_of := history plan.

(* Numbers and tests that were asked along a history. *)
Definition numbers_in (h : list (series * (question * answer))) : list (group * number cell) :=
  asks ask_number (questions (part same_series None h)).
Definition tests_in (n : name) (h : list (series * (question * answer))) : list (test cell arm) :=
  asks ask_test (questions (part same_series (Some n) h)).

(* The prices of the sparse vectors that the unit is in. *)
Definition tests_entered (h : list (series * (question * answer))) : R :=
  fold_right (fun s rest =>
    match s with
    | None => rest
    | Some n => (if (in_tests n (tests_in n h) =? 0)%nat then 0
                 else its_epsilon (terms n) + its_release_epsilon (terms n)) + rest
    end) 0 (begun same_series h).

Lemma tests_pay : forall n h, (in_tests n (tests_in n h) <= 1)%nat ->
  price_of_tests n (tests_in n h)
  <= if (in_tests n (tests_in n h) =? 0)%nat then 0 else its_epsilon (terms n) + its_release_epsilon (terms n).
Proof.
  intros n h once. unfold price_of_tests, sparse_price. fold (in_tests n (tests_in n h)). unfold shares.
  destruct (in_tests n (tests_in n h)) as [|[|more]]; [| |lia]; simpl; rewrite andb_false_r; simpl; lra.
Qed.

(* Whether any numbers were asked. *)
Definition has_numbers (names : list series) : bool := existsb (fun s => match s with None => true | Some _ => false end) names.

Lemma numbers_once : forall names, ~ In None names -> has_numbers names = false.
Proof.
  intros names out. apply not_true_iff_false. intro some. apply existsb_exists in some.
  destruct some as [[n|] [inside is_none]]; [discriminate | contradiction].
Qed.

(* The unit pays for the groups of numbers that it is in, and for the sparse vectors that it is in: at most one of its
   rewards in each. *)
Theorem paid_for_what_was_entered : forall (price : group -> R) h, (forall g, 0 < price g) ->
  (forall g, enough width (price g) (within same_group g (numbers_in h))) ->
  (forall g, (entries mine (within same_group g (numbers_in h)) <= 1)%nat) ->
  (forall n, (in_tests n (tests_in n h) <= 1)%nat) ->
  prices same_series price_of (begun same_series h) h
  <= price_of_entered mine same_group price (numbers_in h) + tests_entered h.
Proof.
  intros price h positive noise once tests_once. unfold tests_entered.
  assert (numbers_pay : paid_for width mine (map snd (numbers_in h)) <= price_of_entered mine same_group price (numbers_in h))
    by (apply entered_groups_pay; assumption).
  assert (nonneg : 0 <= paid_for width mine (map snd (numbers_in h))) by (apply paid_nonneg; assumption).
  assert (different : NoDup (begun same_series h)) by (unfold begun; apply NoDup_nodup).
  (* the numbers are one series at most; every other is a sparse vector *)
  enough (sum : prices same_series price_of (begun same_series h) h
    <= (if has_numbers (begun same_series h) then paid_for width mine (map snd (numbers_in h)) else 0)
       + fold_right (fun s rest =>
           match s with
           | None => rest
           | Some n => (if (in_tests n (tests_in n h) =? 0)%nat then 0
                        else its_epsilon (terms n) + its_release_epsilon (terms n)) + rest
           end) 0 (begun same_series h)).
  { destruct (has_numbers (begun same_series h)); lra. }
  induction (begun same_series h) as [|s rest IH]; simpl prices; [simpl; lra|].
  inversion different as [|s' rest' out different']; subst. specialize (IH different').
  destruct s as [n|]; simpl fold_right.
  - pose proof (tests_pay n h (tests_once n)) as pays.
    change (price_of (Some n) (questions (part same_series (Some n) h))) with (price_of_tests n (tests_in n h)).
    change (has_numbers (Some n :: rest)) with (has_numbers rest). lra.
  - rewrite (numbers_once rest out) in IH. change (has_numbers (None :: rest)) with true. cbv iota.
    change (price_of None (questions (part same_series None h))) with (paid_for width mine (map snd (numbers_in h))). lra.
Qed.

(* ------------------------------------------------------------------ rewards and persons *)

(* The rule of the curator for rewards: a unit is in one release, or in several whose prices add up to at most epsilon.
   For a reward: the parts of one statistic, or one sparse vector with its totals. *)
Theorem rewards_are_private : forall epsilon (price : group -> R), 0 < epsilon -> (forall g, 0 < price g) ->
  (forall t h, history_of t = Some h ->
    (forall g, enough width (price g) (within same_group g (numbers_in h)))               (* noise of this scale *)
    /\ (forall g, (entries mine (within same_group g (numbers_in h)) <= 1)%nat)           (* no reward twice *)
    /\ (forall n, (in_tests n (tests_in n h) <= 1)%nat)
    /\ price_of_entered mine same_group price (numbers_in h) + tests_entered h <= epsilon (* price charged *)) ->
  forall d e t, near d e -> probability_of d t <= exp epsilon * probability_of e t.
Proof.
  intros epsilon price positive prices_positive rule. apply anybody_who_pays. intro t. unfold paid_along, paid.
  destruct (history plan t) as [h|] eqn:asked; [|lra].
  destruct (rule t h asked) as [noise [once [tests_once charged]]].
  eapply Rle_trans; [apply paid_for_what_was_entered with (price := price); assumption | exact charged].
Qed.

Lemma entered_at_most : forall (price : group -> R) groups asked, (forall g, 0 < price g) -> NoDup groups ->
  incl (groups_of same_group asked) groups -> price_of_entered mine same_group price asked <= total_price price groups.
Proof.
  intros price groups asked positive different known.
  apply Rle_trans with (total_price price (groups_of same_group asked)).
  - apply total_price_le. intros g _. specialize (positive g). destruct (_ =? 0)%nat; lra.
  - assert (once : NoDup (groups_of same_group asked)) by (unfold groups_of; apply NoDup_nodup).
    revert known once. generalize (groups_of same_group asked). induction groups as [|g rest IH]; intros some known once.
    + destruct some as [|s some]; [simpl; lra|]. exfalso. apply (known s). left. reflexivity.
    + inversion different as [|g' rest' out different']; subst. simpl total_price.
      destruct (in_dec same_group g some) as [inside|outside].
      * destruct (in_split g some inside) as [before [after ->]].
        apply NoDup_remove in once. destruct once as [once apart].
        specialize (IH different' (before ++ after)).
        assert (less : total_price price (before ++ after) <= total_price price rest).
        { apply IH; [|exact once]. intros x inside'.
          assert (from : In x (g :: rest)) by (apply known; apply in_or_app; apply in_app_or in inside'; simpl; tauto).
          destruct from as [same|from]; [subst; contradiction | exact from]. }
        enough (total_price price (before ++ g :: after) = price g + total_price price (before ++ after)) by lra.
        clear. induction before as [|b before IH]; simpl; [lra|]. rewrite IH. lra.
      * specialize (IH different' some). assert (total_price price some <= total_price price rest).
        { apply IH; [|exact once]. intros x inside. destruct (known x inside) as [same|from]; [subst; contradiction | exact from]. }
        specialize (positive g). lra.
Qed.

(* The rule for persons: groups are epochs (or the parts of a statistic in an epoch); in each a person has at most one
   reward; and what all groups cost together, whether she was there or not, is at most epsilon. *)
Theorem persons_are_private : forall epsilon (price : group -> R), 0 < epsilon -> (forall g, 0 < price g) ->
  (forall t h, history_of t = Some h ->
    (forall g, enough width (price g) (within same_group g (numbers_in h)))
    /\ (forall g, (entries mine (within same_group g (numbers_in h)) <= 1)%nat)           (* one reward in each epoch *)
    /\ (forall n, in_tests n (tests_in n h) = 0%nat)                                      (* noisy totals only *)
    /\ total_price price (groups_of same_group (numbers_in h)) <= epsilon (* the prices of epochs add up *)) ->
  forall d e t, near d e -> probability_of d t <= exp epsilon * probability_of e t.
Proof.
  intros epsilon price positive prices_positive rule. apply rewards_are_private with (price := price); auto.
  intros t h asked. destruct (rule t h asked) as [noise [once [no_tests charged]]].
  repeat split; auto; [intro n; rewrite no_tests; lia|].
  assert (free : tests_entered h = 0).
  { unfold tests_entered. induction (begun same_series h) as [|[n|] rest IH]; simpl; auto. rewrite no_tests, IH. simpl. lra. }
  rewrite free, Rplus_0_r. eapply Rle_trans; [|exact charged].
  apply entered_at_most; [exact prices_positive | unfold groups_of; apply NoDup_nodup | apply incl_refl].
Qed.

(* ------------------------------------------------------------------ trees *)

(* Where only numbers are asked, it is enough to add up what they cost. *)
Lemma only_numbers : forall epsilon, 0 < epsilon ->
  (forall t h, history_of t = Some h ->
    (forall n, in_tests n (tests_in n h) = 0%nat) /\ paid_for width mine (map snd (numbers_in h)) <= epsilon) ->
  forall d e t, near d e -> probability_of d t <= exp epsilon * probability_of e t.
Proof.
  intros epsilon positive rule. apply anybody_who_pays. intro t. unfold paid_along, paid.
  destruct (history plan t) as [h|] eqn:asked; [|lra]. destruct (rule t h asked) as [no_tests pays].
  assert (different : NoDup (begun same_series h)) by (unfold begun; apply NoDup_nodup).
  assert (nonneg : 0 <= paid_for width mine (map snd (numbers_in h))) by (apply paid_nonneg; assumption).
  assert (free : forall n, price_of (Some n) (questions (part same_series (Some n) h)) = 0).
  { intro n. simpl. unfold price_of_tests, sparse_price. specialize (no_tests n). unfold in_tests, tests_in in no_tests.
    rewrite no_tests. unfold shares. simpl. rewrite andb_false_r. simpl. lra. }
  enough (sum : prices same_series price_of (begun same_series h) h
    <= if has_numbers (begun same_series h) then paid_for width mine (map snd (numbers_in h)) else 0).
  { destruct (has_numbers (begun same_series h)); lra. }
  induction (begun same_series h) as [|s rest IH]; simpl prices; [simpl; lra|].
  inversion different as [|s' rest' out different']; subst. specialize (IH different'). destruct s as [n|].
  - rewrite free. change (has_numbers (Some n :: rest)) with (has_numbers rest). lra.
  - rewrite (numbers_once rest out) in IH. change (has_numbers (None :: rest)) with true. cbv iota.
    change (price_of None (questions (part same_series None h))) with (paid_for width mine (map snd (numbers_in h))). lra.
Qed.

(* A counter for each arm: here a group is an arm in a series, which has a counter of its own, and [place a i] is the
   i-th reward that this counter takes. A run of several series (guess-and-double) has several trees of an arm, each of
   its own horizon and with noise for it. *)
Variable place : group -> nat -> cell.

(* What a unit pays for all counters is what it pays for each. *)
Lemma paid_by_arm : forall asked,
  paid_for width mine (map snd asked)
  = total_price (fun a => paid_for width mine (within same_group a asked)) (groups_of same_group asked).
Proof.
  intro asked. apply paid_by_group.
  - unfold groups_of. apply NoDup_nodup.
  - intros g q inside. unfold groups_of. apply nodup_In. apply in_map_iff. exists (g, q). auto.
Qed.

(* If a unit has places of one counter only, it pays for one. *)
Lemma one_arm_pays : forall asked epsilon, 0 <= epsilon ->
  (forall a, paid_for width mine (within same_group a asked) <= epsilon) ->
  (forall a b, entries mine (within same_group a asked) <> 0%nat -> entries mine (within same_group b asked) <> 0%nat -> a = b) ->
  paid_for width mine (map snd asked) <= epsilon.
Proof.
  intros asked epsilon nonneg bound single. rewrite paid_by_arm. apply one_part_pays; auto.
  - unfold groups_of. apply NoDup_nodup.
  - intros a b _ _ some_a some_b. apply single; intro none; [apply some_a | apply some_b];
      apply nothing_entered_nothing_paid; exact none.
Qed.

(* A unit with one reward: one counter, one item. *)
Definition one_reward : Prop := forall a i b j, mine (place a i) = true -> mine (place b j) = true -> a = b /\ i = j.

(* A unit with at most one reward in each counter, such as a row. *)
Definition one_reward_an_arm : Prop := forall a i j, mine (place a i) = true -> mine (place a j) = true -> i = j.

(* All that was asked of counter a are the nodes of its first items, each once. Each tree has a horizon and a scale. *)
Definition asked_tree (horizon : group -> nat) (node_scale : group -> R) (node_scale_pos : forall a, 0 < node_scale a)
    (h : list (series * (question * answer))) : Prop :=
  forall a, exists n, (n <= horizon a)%nat
    /\ within same_group a (numbers_in h) = map snd (nodes (place a) (node_scale_pos a) n).

(* The same with hybrid counters, which need no horizon. *)
Definition asked_hybrid (sum_scale : group -> R) (sum_scale_pos : forall a, 0 < sum_scale a) (tree_scale : group -> nat -> R)
    (tree_scale_pos : forall a k, 0 < tree_scale a k) (h : list (series * (question * answer))) : Prop :=
  forall a, exists n, within same_group a (numbers_in h)
    = map snd (hybrid_nodes (place a) (sum_scale_pos a) (tree_scale a) (tree_scale_pos a) n).

(* A binary tree for each arm of each series, of any horizons: a reward is in one tree, there in one node of each level,
   and pays epsilon/levels for each. *)
Theorem trees_are_private : forall epsilon horizon node_scale (node_scale_pos : forall a, 0 < node_scale a), 0 < epsilon ->
  one_reward -> (forall a, scale_is_enough (node_scale a) (INR (levels (horizon a)) * IZR width) epsilon) ->
  (forall t h, history_of t = Some h ->
    (forall n, in_tests n (tests_in n h) = 0%nat) /\ asked_tree horizon node_scale node_scale_pos h) ->
  forall d e t, near d e -> probability_of d t <= exp epsilon * probability_of e t.
Proof.
  intros epsilon horizon node_scale node_scale_pos positive single noise rule. apply only_numbers; [exact positive|].
  intros t h asked. destruct (rule t h asked) as [no_tests trees]. split; [exact no_tests|].
  apply one_arm_pays; [lra | |].
  - intro a. destruct (trees a) as [n [fits ->]]. apply tree_pays with (horizon := horizon a); auto.
    intros i j mine_i mine_j. apply (single a i a j); assumption.
  - assert (item : forall a, entries mine (within same_group a (numbers_in h)) <> 0%nat -> exists i, mine (place a i) = true).
    { intros a some. destruct (trees a) as [n [_ same]]. rewrite same in some.
      apply (someone_there mine (place a) (nodes (place a) (node_scale_pos a) n)); [apply node_items | exact some]. }
    intros a b some_a some_b. destruct (item a some_a) as [i mine_i]. destruct (item b some_b) as [j mine_j].
    apply (single a i b j); assumption.
Qed.

(* A hybrid counter for each arm of each series: a reward is in one sum and in one tree, and pays epsilon/2 for each. *)
Theorem hybrids_are_private : forall epsilon sum_scale (sum_scale_pos : forall a, 0 < sum_scale a) tree_scale
    (tree_scale_pos : forall a k, 0 < tree_scale a k), 0 < epsilon -> one_reward ->
  (forall a, scale_is_enough (sum_scale a) (2 * IZR width) epsilon) ->
  (forall a k, scale_is_enough (tree_scale a k) (INR (2 * levels (2 ^ k - 1)) * IZR width) epsilon) ->
  (forall t h, history_of t = Some h ->
    (forall n, in_tests n (tests_in n h) = 0%nat) /\ asked_hybrid sum_scale sum_scale_pos tree_scale tree_scale_pos h) ->
  forall d e t, near d e -> probability_of d t <= exp epsilon * probability_of e t.
Proof.
  intros epsilon sum_scale sum_scale_pos tree_scale tree_scale_pos positive single sum_noise tree_noise rule.
  apply only_numbers; [exact positive|].
  intros t h asked. destruct (rule t h asked) as [no_tests counters]. split; [exact no_tests|].
  apply one_arm_pays; [lra | |].
  - intro a. destruct (counters a) as [n ->]. apply hybrid_pays; auto.
    intros i j mine_i mine_j. apply (single a i a j); assumption.
  - assert (item : forall a, entries mine (within same_group a (numbers_in h)) <> 0%nat -> exists i, mine (place a i) = true).
    { intros a some. destruct (counters a) as [n same]. rewrite same in some.
      apply (someone_there mine (place a) (hybrid_nodes (place a) (sum_scale_pos a) (tree_scale a) (tree_scale_pos a) n));
        [apply hybrid_items | exact some]. }
    intros a b some_a some_b. destruct (item a some_a) as [i mine_i]. destruct (item b some_b) as [j mine_j].
    apply (single a i b j); assumption.
Qed.

(* Rows: whatever is asked of a counter costs its reward at most [share]; a row that is in K counters pays K shares. *)
Theorem rows_are_private : forall epsilon share arms_of_row, 0 < epsilon -> 0 <= share ->
  INR (length arms_of_row) * share <= epsilon ->
  (forall t h, history_of t = Some h ->
    (forall n, in_tests n (tests_in n h) = 0%nat)
    /\ (forall a, entries mine (within same_group a (numbers_in h)) <> 0%nat -> In a arms_of_row)
    /\ forall a, paid_for width mine (within same_group a (numbers_in h)) <= share) ->
  forall d e t, near d e -> probability_of d t <= exp epsilon * probability_of e t.
Proof.
  intros epsilon share arms_of_row positive nonneg whole rule. apply only_numbers; [exact positive|].
  intros t h asked. destruct (rule t h asked) as [no_tests [known pays]]. split; [exact no_tests|].
  rewrite paid_by_arm.
  assert (different : NoDup (groups_of same_group (numbers_in h))) by (unfold groups_of; apply NoDup_nodup).
  set (there := fun a => negb (entries mine (within same_group a (numbers_in h)) =? 0)%nat).
  apply Rle_trans with (INR (length (filter there (groups_of same_group (numbers_in h)))) * share).
  - clear different. induction (groups_of same_group (numbers_in h)) as [|a rest IH]; [simpl; lra|].
    unfold there in *. simpl filter. simpl total_price.
    destruct (Nat.eqb_spec (entries mine (within same_group a (numbers_in h))) 0) as [none|some]; simpl negb; cbv iota.
    + rewrite nothing_entered_nothing_paid by exact none. lra.
    + simpl length. rewrite S_INR. specialize (pays a). lra.
  - eapply Rle_trans; [|exact whole]. apply Rmult_le_compat_r; [exact nonneg|].
    apply le_INR, NoDup_incl_length; [apply NoDup_filter; exact different|].
    intros a inside. apply filter_In in inside. destruct inside as [_ inside]. apply known.
    intro none. unfold there in inside. rewrite none in inside. discriminate.
Qed.

(* The counters that a row has a place in: one of each arm, in whichever series. *)
Definition row_of (arms_of_row : list group) : Prop := forall a i, mine (place a i) = true -> In a arms_of_row.

(* Rows with a binary tree for each arm of each series. *)
Corollary rows_of_trees_are_private : forall epsilon share arms_of_row horizon node_scale
    (node_scale_pos : forall a, 0 < node_scale a),
  0 < epsilon -> 0 < share -> INR (length arms_of_row) * share <= epsilon -> row_of arms_of_row -> one_reward_an_arm ->
  (forall a, scale_is_enough (node_scale a) (INR (levels (horizon a)) * IZR width) share) ->
  (forall t h, history_of t = Some h ->
    (forall n, in_tests n (tests_in n h) = 0%nat) /\ asked_tree horizon node_scale node_scale_pos h) ->
  forall d e t, near d e -> probability_of d t <= exp epsilon * probability_of e t.
Proof.
  intros epsilon share arms_of_row horizon node_scale node_scale_pos positive some whole row single noise rule.
  apply rows_are_private with (share := share) (arms_of_row := arms_of_row); auto; [lra|].
  intros t h asked. destruct (rule t h asked) as [no_tests trees]. repeat split; auto.
  { intros a inside. destruct (trees a) as [n [_ same]]. rewrite same in inside.
    destruct (someone_there mine (place a) (nodes (place a) (node_scale_pos a) n)) as [i is_mine];
      [apply node_items | exact inside | exact (row a i is_mine)]. }
  intro a. destruct (trees a) as [n [fits ->]]. apply tree_pays with (horizon := horizon a); auto. apply single.
Qed.

(* And with hybrid counters. *)
Corollary rows_of_hybrids_are_private : forall epsilon share arms_of_row sum_scale (sum_scale_pos : forall a, 0 < sum_scale a)
    tree_scale (tree_scale_pos : forall a k, 0 < tree_scale a k),
  0 < epsilon -> 0 < share -> INR (length arms_of_row) * share <= epsilon -> row_of arms_of_row -> one_reward_an_arm ->
  (forall a, scale_is_enough (sum_scale a) (2 * IZR width) share) ->
  (forall a k, scale_is_enough (tree_scale a k) (INR (2 * levels (2 ^ k - 1)) * IZR width) share) ->
  (forall t h, history_of t = Some h ->
    (forall n, in_tests n (tests_in n h) = 0%nat) /\ asked_hybrid sum_scale sum_scale_pos tree_scale tree_scale_pos h) ->
  forall d e t, near d e -> probability_of d t <= exp epsilon * probability_of e t.
Proof.
  intros epsilon share arms_of_row sum_scale sum_scale_pos tree_scale tree_scale_pos positive some whole row single
    sum_noise tree_noise rule.
  apply rows_are_private with (share := share) (arms_of_row := arms_of_row); auto; [lra|].
  intros t h asked. destruct (rule t h asked) as [no_tests counters]. repeat split; auto.
  { intros a inside. destruct (counters a) as [n same]. rewrite same in inside.
    destruct (someone_there mine (place a) (hybrid_nodes (place a) (sum_scale_pos a) (tree_scale a) (tree_scale_pos a) n))
      as [i is_mine]; [apply hybrid_items | exact inside | exact (row a i is_mine)]. }
  intro a. destruct (counters a) as [n ->]. apply hybrid_pays; auto. apply single.
Qed.

End Promises.
