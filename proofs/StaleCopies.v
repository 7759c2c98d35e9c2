(* What running an old copy of a file costs.

   Noise is drawn at the release and never stored, but for a sparse vector's threshold noise. So somebody who goes on
   from copies of one saved file pays for every answer that is shown, and no more: copies compose like independent
   mechanisms. Where a sparse vector is open, its copies share B, and the sums below say what that costs. At the end:
   what would happen if noise were stored and used again. *)
Require Import Reals ZArith List Bool Lra Lia Psatz.
Require Import Discreet.Mechanism Discreet.Rewards Discreet.Sums Discreet.Noise Discreet.NoisyTotals.
Require Import Discreet.Threshold Discreet.SparseVector.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ noisy totals and trees: all noise is fresh *)

Section FreshNoise.

Variables data question answer : Type.

(* The probability of an answer, given what the file's own lineage was asked before (what is held, open nodes). The
   noise is drawn for this answer, so it depends on no answer before. *)
Variable answered : data -> list question -> question -> answer -> R.
Hypothesis answered_nonneg : forall d asked q a, 0 <= answered d asked q a.

Variable neighbours : data -> data -> Prop.
Variable price : list question -> question -> R.
Hypothesis answered_bounded : forall d e, neighbours d e -> forall asked q a,
  answered d asked q a <= exp (price asked q) * answered e asked q a.

(* The answers that were shown since a file was saved, the latest first; [saved] was asked before. *)
Fixpoint since (d : data) (saved : list question) (l : list (question * answer)) : R :=
  match l with
  | [] => 1
  | (q, a) :: past => answered d (questions past ++ saved) q a * since d saved past
  end.

Fixpoint cost_since (saved : list question) (l : list (question * answer)) : R :=
  match l with
  | [] => 0
  | (q, a) :: past => price (questions past ++ saved) q + cost_since saved past
  end.

(* Everything that was shown: before the file was saved, and by each copy that went on from it. *)
Definition all_copies (d : data) (past : list (question * answer)) (copies : list (list (question * answer))) : R :=
  since d [] past * fold_right (fun l rest => since d (questions past) l * rest) 1 copies.

Definition cost_of_copies (past : list (question * answer)) (copies : list (list (question * answer))) : R :=
  cost_since [] past + fold_right (fun l rest => cost_since (questions past) l + rest) 0 copies.

Lemma since_nonneg : forall d saved l, 0 <= since d saved l.
Proof. intros d saved l. induction l as [|[q a] past IH]; simpl; [lra|]. apply Rmult_le_pos; auto. Qed.

Lemma since_bounded : forall d e saved l, neighbours d e -> since d saved l <= exp (cost_since saved l) * since e saved l.
Proof.
  intros d e saved l near. induction l as [|[q a] past IH]; simpl; [rewrite exp_0; lra|]. rewrite exp_plus.
  apply Rle_trans with (exp (price (questions past ++ saved) q) * answered e (questions past ++ saved) q a
                        * (exp (cost_since saved past) * since e saved past)).
  - apply Rmult_le_compat; auto using since_nonneg.
  - right. ring.
Qed.

(* Copies add up: what was shown before the file was saved is paid once, and what each copy shows once more. *)
Theorem copies_compose : forall d e past copies, neighbours d e ->
  all_copies d past copies <= exp (cost_of_copies past copies) * all_copies e past copies.
Proof.
  intros d e past copies near. unfold all_copies, cost_of_copies. rewrite exp_plus.
  assert (nonneg : forall f, 0 <= fold_right (fun l rest => since f (questions past) l * rest) 1 copies).
  { intro f. induction copies as [|l rest IH]; simpl; [lra|]. apply Rmult_le_pos; auto using since_nonneg. }
  assert (later : fold_right (fun l rest => since d (questions past) l * rest) 1 copies
    <= exp (fold_right (fun l rest => cost_since (questions past) l + rest) 0 copies)
       * fold_right (fun l rest => since e (questions past) l * rest) 1 copies).
  { clear nonneg. induction copies as [|l rest IH]; simpl; [rewrite exp_0; lra|]. rewrite exp_plus.
    eapply Rle_trans.
    - apply Rmult_le_compat; [apply since_nonneg | | apply since_bounded; exact near | exact IH].
      clear IH. induction rest as [|k more IH]; simpl; [lra|]. apply Rmult_le_pos; auto using since_nonneg.
    - right. ring. }
  apply Rle_trans with (exp (cost_since [] past) * since e [] past
    * (exp (fold_right (fun l rest => cost_since (questions past) l + rest) 0 copies)
       * fold_right (fun l rest => since e (questions past) l * rest) 1 copies)).
  - apply Rmult_le_compat; auto using since_nonneg, since_bounded.
  - right. ring.
Qed.

(* If every lineage alone costs at most epsilon, m copies cost at most m epsilon. *)
Corollary copies_cost_their_number : forall epsilon past copies, copies <> [] -> 0 <= cost_since [] past ->
  (forall l, In l copies -> cost_since [] past + cost_since (questions past) l <= epsilon) ->
  cost_of_copies past copies <= INR (length copies) * epsilon.
Proof.
  intros epsilon past copies some before each.
  assert (all : fold_right (fun l rest => cost_since (questions past) l + rest) 0 copies
    <= INR (length copies) * (epsilon - cost_since [] past)).
  { clear some. induction copies as [|l rest IH]; [simpl; lra|].
    assert (cost_since [] past + cost_since (questions past) l <= epsilon) by (apply each; left; reflexivity).
    assert (K := IH (fun k inside => each k (or_intror inside))).
    change (length (l :: rest)) with (S (length rest)). rewrite S_INR. simpl. lra. }
  unfold cost_of_copies. destruct copies as [|l rest]; [contradiction|].
  change (length (l :: rest)) with (S (length rest)) in *. rewrite S_INR in *. pose proof (pos_INR (length rest)). nra.
Qed.

End FreshNoise.

(* Copies of noisy totals and of trees: each number costs its own loss, in whichever copy it is shown. *)
Theorem copies_of_numbers : forall (cell : Type) (width : Z) (mine : cell -> bool), (0 < width)%Z ->
  let answered := fun d (_ : list (number cell)) q a => mass (scale q) (a - exact width d q) in
  forall d e past copies, neighbours width mine d e ->
  all_copies _ _ _ answered d past copies
  <= exp (cost_of_copies _ _ (fun _ q => loss width mine q) past copies) * all_copies _ _ _ answered e past copies.
Proof.
  intros cell width mine positive answered d e past copies near.
  apply copies_compose with (neighbours := neighbours width mine); [| |exact near].
  - intros f asked q a. left. apply mass_positive, scale_pos.
  - intros f g close asked q a. unfold loss. rewrite INR_IZR_INZ, <- mult_IZR.
    apply noisy_ratio; [apply scale_pos | apply exact_moves; assumption].
Qed.

(* ------------------------------------------------------------------ a sparse vector: copies share B *)

Section SharedThreshold.

Variables cell arm : Type.
Variable width floor : Z.
Hypothesis width_pos : (0 < width)%Z.
Variable kind : measure.
Variable first : arm.
Variable others : list arm.
Variable scale : R.
Variable release_scale : option R.            (* None: nothing is released but answers *)
Hypothesis scale_pos : 0 < scale.
Hypothesis release_scale_pos : is_noise release_scale.

Notation test := (test cell arm).
Notation measured := (measured cell arm floor kind first others).
Notation running := (running cell arm).

(* Everything that all copies have shown, each answered test once: what the copy was asked since the series began, this
   test being the latest, and its answer. Copies of copies, made at any time, are covered: nothing is said of how the
   lists hang together. *)
Definition shown := list (list test * answer).

Definition limit_of (asked : list test) : Z := match asked with [] => 0%Z | q :: _ => limit cell arm q end.

Definition margin_of (d : data cell) (one : list test * answer) : Z * bool :=
  ((measured d (fst one) - limit_of (fst one))%Z, above (snd one)).

Definition totals_of (d : data cell) (one : list test * answer) : R :=
  match snd one with
  | No => 1
  | Yes totals => noisy cell arm release_scale d (fst one) (told arm first others release_scale) totals
  end.

Definition all_tests := all_tests kind scale scale_pos.

(* The probability of all of it: one B, averaged out; fresh noise for everything else. *)
Definition shared_weight (d : data cell) (all : shown) : R :=
  all_tests (map (margin_of d) all) * fold_right (fun one rest => totals_of d one * rest) 1 all.

(* One lineage alone is the sparse vector. *)
Fixpoint lineage (l : list (test * answer)) : shown :=
  match l with
  | [] => []
  | (q, a) :: past => (q :: questions past, a) :: lineage past
  end.

Lemma one_copy_is_a_sparse_vector : forall d l, possible cell arm l = true ->
  shared_weight d (lineage l)
  = sparse_weight cell arm floor kind first others scale release_scale scale_pos d l.
Proof.
  intros d l once. unfold shared_weight, sparse_weight. rewrite once.
  assert (same : forall k, map (margin_of d) (lineage k) = margins cell arm floor kind first others d k).
  { induction k as [|[q a] past IH]; simpl; auto. rewrite IH. reflexivity. }
  rewrite same. unfold all_tests. f_equal.
  assert (quiet : forall k, all_no cell arm k = true -> fold_right (fun one rest => totals_of d one * rest) 1 (lineage k) = 1).
  { induction k as [|[q a] past IH]; simpl; auto. intro no. apply andb_prop in no. destruct no as [now then_no].
    destruct a; [|discriminate]. rewrite IH by exact then_no. unfold totals_of. simpl. lra. }
  destruct l as [|[q a] past]; simpl in *; [reflexivity|]. rewrite quiet by exact once. rewrite Rmult_1_r.
  destruct a; reflexivity.
Qed.

(* The unit: one reward. *)
Variable reward : cell.
Variable is_reward : cell -> bool.
Hypothesis is_reward_spec : forall x, is_reward x = true <-> x = reward.
Notation near := (neighbours width is_reward).
Notation entered := (entered cell arm first others is_reward).

(* The yeses of copies that have the reward, and those of copies that do not. *)
Definition has (one : list test * answer) : bool := (1 <=? entered (fst one))%nat.
Definition yeses (with_it : bool) (all : shown) : nat :=
  length (filter (fun one => above (snd one) && eqb (has one) with_it) all).

Lemma yeses_no : forall with_it asked rest, yeses with_it ((asked, No) :: rest) = yeses with_it rest.
Proof. reflexivity. Qed.

Lemma yeses_yes : forall with_it asked totals rest,
  yeses with_it ((asked, Yes totals) :: rest)
  = if eqb (1 <=? entered asked)%nat with_it then S (yeses with_it rest) else yeses with_it rest.
Proof.
  intros with_it asked totals rest. unfold yeses, has. cbn [filter fst snd above andb].
  destruct (eqb (1 <=? entered asked)%nat with_it); reflexivity.
Qed.

(* No copy counts the reward twice. *)
Definition each_once (all : shown) : Prop := forall one, In one all -> (entered (fst one) <= 1)%nat.

Lemma all_tests_nonneg : forall tests, 0 <= all_tests tests.
Proof. intros. apply together_nonneg. Qed.

(* Two-sided: B moves by the width; a yes of a copy with the reward by twice that, a yes of another copy by the width,
   since B has moved under it. *)
Lemma two_sided_moves : forall d e all, near d e -> each_once all ->
  moved width (map (margin_of d) all) (map (margin_of e) all)
    (width * Z.of_nat (yeses false all) + 2 * width * Z.of_nat (yeses true all)).
Proof.
  intros d e all close once. induction all as [|[asked a] rest IH].
  - replace (width * Z.of_nat (yeses false []) + 2 * width * Z.of_nat (yeses true []))%Z with 0%Z
      by (change (yeses false []) with O; change (yeses true []) with O; lia).
    constructor.
  - assert (single : (entered asked <= 1)%nat) by (apply (once (asked, a)); left; reflexivity).
    assert (IH' : moved width (map (margin_of d) rest) (map (margin_of e) rest)
      (width * Z.of_nat (yeses false rest) + 2 * width * Z.of_nat (yeses true rest)))
      by (apply IH; intros one inside; apply once; right; exact inside).
    pose proof (measured_rises cell arm width floor width_pos kind first others is_reward d e asked close) as rise.
    pose proof (measured_rises cell arm width floor width_pos kind first others is_reward e d asked (neighbours_symmetric close)) as fall.
    destruct a as [|totals].
    + rewrite !yeses_no. apply moved_no; [|exact IH']. simpl fst. nia.
    + rewrite !yeses_yes. destruct (Nat.leb_spec 1 (entered asked)) as [inside | outside]; cbv beta iota delta [eqb].
      * replace (width * Z.of_nat (yeses false rest) + 2 * width * Z.of_nat (S (yeses true rest)))%Z
          with (2 * width + (width * Z.of_nat (yeses false rest) + 2 * width * Z.of_nat (yeses true rest)))%Z by lia.
        apply moved_yes; [lia | simpl fst; nia | exact IH'].
      * replace (width * Z.of_nat (S (yeses false rest)) + 2 * width * Z.of_nat (yeses true rest))%Z
          with (width + (width * Z.of_nat (yeses false rest) + 2 * width * Z.of_nat (yeses true rest)))%Z by lia.
        apply moved_yes; [lia | simpl fst; nia | exact IH'].
Qed.

(* A reward moves the totals that have it by one and the same step. *)
Lemma total_steps : forall d e cells, near d e ->
  total e cells = (total d cells + Z.of_nat (count_mine is_reward cells) * (e reward - d reward))%Z.
Proof.
  intros d e cells [_ [_ same]]. induction cells as [|x rest IH]; [simpl; lia|].
  simpl total. simpl count_mine. destruct (is_reward x) eqn:it.
  - apply is_reward_spec in it. subst x. rewrite Nat2Z.inj_succ. lia.
  - rewrite (same x it). lia.
Qed.

Lemma one_sided_steps : forall d e asked, kind = OneSided -> others = [] -> near d e ->
  (measured e asked = measured d asked + Z.of_nat (entered asked) * (e reward - d reward))%Z.
Proof.
  intros d e asked side alone close. unfold SparseVector.measured. rewrite side.
  unfold SparseVector.entered, arms. rewrite alone. simpl.
  unfold SparseVector.running. rewrite (total_steps d e _ close). lia.
Qed.

(* One-sided: where the reward grows, B moves, and the yeses of copies without it pay; where it falls, those with it. *)
Lemma one_sided_moves : forall d e all, kind = OneSided -> others = [] -> near d e -> each_once all ->
  let step := (e reward - d reward)%Z in
  moved (Z.max 0 step) (map (margin_of d) all) (map (margin_of e) all)
    (Z.max 0 step * Z.of_nat (yeses false all) + Z.max 0 (- step) * Z.of_nat (yeses true all)).
Proof.
  intros d e all side alone close once step. induction all as [|[asked a] rest IH].
  - replace (Z.max 0 step * Z.of_nat (yeses false []) + Z.max 0 (- step) * Z.of_nat (yeses true []))%Z with 0%Z
      by (change (yeses false []) with O; change (yeses true []) with O; lia).
    constructor.
  - assert (single : (entered asked <= 1)%nat) by (apply (once (asked, a)); left; reflexivity).
    assert (IH' : moved (Z.max 0 step) (map (margin_of d) rest) (map (margin_of e) rest)
      (Z.max 0 step * Z.of_nat (yeses false rest) + Z.max 0 (- step) * Z.of_nat (yeses true rest)))
      by (apply IH; intros one inside; apply once; right; exact inside).
    pose proof (one_sided_steps d e asked side alone close) as steps. fold step in steps.
    assert (either : entered asked = O \/ entered asked = 1%nat) by lia.
    destruct a as [|totals].
    + rewrite !yeses_no. apply moved_no; [|exact IH']. simpl fst.
      destruct either as [none | one]; rewrite ?none, ?one in steps; lia.
    + rewrite !yeses_yes. destruct either as [none | one].
      * rewrite none in *. cbv beta iota delta [eqb Nat.leb].
        replace (Z.max 0 step * Z.of_nat (S (yeses false rest)) + Z.max 0 (- step) * Z.of_nat (yeses true rest))%Z
          with (Z.max 0 step + (Z.max 0 step * Z.of_nat (yeses false rest) + Z.max 0 (- step) * Z.of_nat (yeses true rest)))%Z by lia.
        apply moved_yes; [lia | simpl fst; lia | exact IH'].
      * rewrite one in *. cbv beta iota delta [eqb Nat.leb].
        replace (Z.max 0 step * Z.of_nat (yeses false rest) + Z.max 0 (- step) * Z.of_nat (S (yeses true rest)))%Z
          with (Z.max 0 (- step) + (Z.max 0 step * Z.of_nat (yeses false rest) + Z.max 0 (- step) * Z.of_nat (yeses true rest)))%Z by lia.
        apply moved_yes; [lia | simpl fst; lia | exact IH'].
Qed.

(* ------------------------------------------------------------------ the price *)

Variables epsilon release_epsilon : R.
Hypothesis epsilon_pos : 0 < epsilon.
Hypothesis scale_enough : scale_is_enough scale (IZR (factor kind * width)) epsilon.
Hypothesis release_paid : pays_for width release_scale release_epsilon.

(* How many epsilons all tests of all copies together cost, by the yeses of copies with and without the reward. *)
Definition shared_shares (with_it without : nat) : R :=
  if one_sided kind then Rmax (1 + INR without) (INR with_it) else (1 + INR without + 2 * INR with_it) / 3.

Lemma tests_of_copies : forall d e all, (kind = OneSided -> others = []) -> near d e -> each_once all ->
  all_tests (map (margin_of d) all)
  <= exp (shared_shares (yeses true all) (yeses false all) * epsilon) * all_tests (map (margin_of e) all).
Proof.
  intros d e all alone close once.
  pose proof (rounded_up_costs_no_more _ _ _ scale_pos epsilon_pos scale_enough) as unit_cost. unfold Rdiv in unit_cost.
  pose proof (Rinv_0_lt_compat scale scale_pos) as rate_pos.
  set (m := yeses false all). set (j := yeses true all). pose proof (pos_INR m). pose proof (pos_INR j).
  assert (pay : forall u cost, (0 <= u)%Z -> moved u (map (margin_of d) all) (map (margin_of e) all) cost ->
    IZR (u + cost) * / scale <= shared_shares j m * epsilon ->
    all_tests (map (margin_of d) all) <= exp (shared_shares j m * epsilon) * all_tests (map (margin_of e) all)).
  { intros u cost some moves cheap.
    eapply Rle_trans; [exact (shared_threshold (/ scale) _ _ _ _ (threshold_goes_up kind scale scale_pos)
      (test_goes_down kind scale scale_pos) u _ _ cost some moves)|].
    apply Rmult_le_compat_r; [apply together_nonneg | apply exp_le; exact cheap]. }
  unfold shared_shares in *. destruct (one_sided kind) eqn:side.
  - assert (is_one : kind = OneSided) by (destruct kind; simpl in side; auto; discriminate).
    unfold factor in unit_cost. rewrite side, Z.mul_1_l in unit_cost.
    apply pay with (2 := one_sided_moves d e all is_one (alone is_one) close once); [lia|].
    fold m. fold j. set (step := (e reward - d reward)%Z).
    assert (size : (Z.abs step <= width)%Z).
    { destruct close as [on_d [on_e _]]. specialize (on_d reward). specialize (on_e reward). unfold step. lia. }
    pose proof (Rmax_l (1 + INR m) (INR j)). pose proof (Rmax_r (1 + INR m) (INR j)).
    set (most := Rmax (1 + INR m) (INR j)) in *.
    apply Rle_trans with (most * IZR width * / scale).
    + apply Rmult_le_compat_r; [lra|]. rewrite plus_IZR, plus_IZR, !mult_IZR, <- !INR_IZR_INZ.
      assert (W : 0 < IZR width) by (apply IZR_lt; exact width_pos).
      destruct (Z.le_gt_cases 0 step) as [up | down].
      * rewrite (Z.max_r 0 step), (Z.max_l 0 (- step)) by lia.
        assert (0 <= IZR step <= IZR width) by (split; apply IZR_le; lia). nra.
      * rewrite (Z.max_l 0 step), (Z.max_r 0 (- step)) by lia.
        assert (0 <= IZR (- step) <= IZR width) by (split; apply IZR_le; lia). nra.
    + rewrite Rmult_assoc. apply Rmult_le_compat_l; lra.
  - unfold factor in unit_cost. rewrite side, mult_IZR in unit_cost.
    apply pay with (2 := two_sided_moves d e all close once); [lia|]. fold m. fold j.
    rewrite plus_IZR, plus_IZR, !mult_IZR, <- !INR_IZR_INZ.
    assert (third : IZR width * / scale <= epsilon / 3) by lra.
    assert (0 < IZR width * / scale) by (apply Rmult_lt_0_compat; [apply IZR_lt; exact width_pos | exact rate_pos]).
    nra.
Qed.

Lemma totals_of_nonneg : forall d one, 0 <= totals_of d one.
Proof. intros d [asked [|totals]]; unfold totals_of; simpl snd; [lra|]. apply noisy_nonneg; exact release_scale_pos. Qed.

Lemma all_totals_nonneg : forall d all, 0 <= fold_right (fun one rest => totals_of d one * rest) 1 all.
Proof. intros d all. induction all as [|one rest IH]; simpl; [lra|]. apply Rmult_le_pos; auto using totals_of_nonneg. Qed.

Lemma totals_of_copies : forall d e all, near d e -> each_once all ->
  fold_right (fun one rest => totals_of d one * rest) 1 all
  <= exp (INR (yeses true all) * release_epsilon) * fold_right (fun one rest => totals_of e one * rest) 1 all.
Proof.
  intros d e all close once.
  induction all as [|[asked a] rest IH]; [simpl; rewrite Rmult_0_l, exp_0; lra|].
  assert (single : (entered asked <= 1)%nat) by (apply (once (asked, a)); left; reflexivity).
  specialize (IH (fun one inside => once one (or_intror inside))).
  destruct a as [|totals].
  - rewrite yeses_no. cbn [fold_right]. change (totals_of d (asked, No)) with 1. change (totals_of e (asked, No)) with 1. lra.
  - change (totals_of d (asked, Yes totals) * fold_right (fun one rest => totals_of d one * rest) 1 rest
      <= exp (INR (yeses true ((asked, Yes totals) :: rest)) * release_epsilon)
         * (totals_of e (asked, Yes totals) * fold_right (fun one rest => totals_of e one * rest) 1 rest)).
    assert (paid : totals_of d (asked, Yes totals)
      <= exp (INR (entered asked) * release_epsilon) * totals_of e (asked, Yes totals)).
    { unfold totals_of. simpl snd. simpl fst. cbv beta iota. eapply told_cost; eassumption. }
    assert (count : INR (yeses true ((asked, Yes totals) :: rest)) = INR (entered asked) + INR (yeses true rest)).
    { rewrite yeses_yes. assert (either : entered asked = O \/ entered asked = 1%nat) by lia.
      destruct either as [none | one]; rewrite ?none, ?one; cbv beta iota delta [eqb Nat.leb]; rewrite ?S_INR; simpl; lra. }
    rewrite count, Rmult_plus_distr_r, exp_plus.
    eapply Rle_trans.
    + apply Rmult_le_compat; [apply totals_of_nonneg | apply all_totals_nonneg | exact paid | exact IH].
    + right. ring.
Qed.

(* The theorem about copies of a sparse vector: the tests of all of them cost (1 + without + 2 with)/3 epsilons, where
   these are the yeses of copies without and with the reward (one-sided: the larger of 1 + without, and with); the
   totals at the end, if there are any, cost their epsilon for each copy that has the reward and halts. *)
Theorem shared_threshold_costs : forall d e all, (kind = OneSided -> others = []) -> near d e -> each_once all ->
  shared_weight d all
  <= exp (shared_shares (yeses true all) (yeses false all) * epsilon + INR (yeses true all) * release_epsilon)
     * shared_weight e all.
Proof.
  intros d e all alone close once. unfold shared_weight. rewrite exp_plus.
  eapply Rle_trans.
  - apply Rmult_le_compat; [apply all_tests_nonneg | apply all_totals_nonneg | apply tests_of_copies | apply totals_of_copies]; eauto.
  - right. ring.
Qed.

(* The table of docs/privacy.md. m copies, all of which have the reward. *)
Corollary all_copies_have_it : forall m, one_sided kind = false -> shared_shares m 0 = (1 + 2 * INR m) / 3.
Proof. intros m two. unfold shared_shares. rewrite two. simpl. lra. Qed.

(* m copies, one of which has it. *)
Corollary one_copy_has_it : forall m, one_sided kind = false -> (1 <= m)%nat -> shared_shares 1 (m - 1) = (INR m + 2) / 3.
Proof. intros m two some. unfold shared_shares. rewrite two, minus_INR by exact some. simpl. lra. Qed.

(* More yeses never cost less. *)
Lemma more_yeses_cost_more : forall with_it more_with without more_without,
  (with_it <= more_with)%nat -> (without <= more_without)%nat ->
  shared_shares with_it without <= shared_shares more_with more_without.
Proof.
  intros with_it more_with without more_without W N. apply le_INR in W, N. unfold shared_shares.
  destruct (one_sided kind); [|lra]. apply Rmax_lub.
  - eapply Rle_trans; [|apply Rmax_l]. lra.
  - eapply Rle_trans; [|apply Rmax_r]. exact W.
Qed.

(* m copies, one of which at least has it, so that fewer than m are without: never more than m epsilon, one-sided or
   not. A copy that is still open has no yes, so it may be that fewer than m have said yes, or none of those with it. *)
Corollary never_more_than_the_number_of_copies : forall m with_it without, (without < m)%nat -> (with_it + without <= m)%nat ->
  shared_shares with_it without <= INR m.
Proof.
  intros m with_it without fewer all. unfold shared_shares. apply le_INR in fewer, all. rewrite S_INR in fewer. rewrite plus_INR in all.
  pose proof (pos_INR without). destruct (one_sided kind); [apply Rmax_lub; lra | lra].
Qed.

(* And if no copy has it, all of them together say nothing about it. *)
Corollary copies_without_it_say_nothing : forall d e all, near d e -> (forall one, In one all -> entered (fst one) = 0%nat) ->
  shared_weight d all = shared_weight e all.
Proof.
  intros d e all close nobody. pose proof (neighbours_symmetric close) as back. unfold shared_weight. f_equal.
  - f_equal. apply map_ext_in. intros one inside. unfold margin_of. f_equal. specialize (nobody one inside).
    pose proof (measured_rises cell arm width floor width_pos kind first others is_reward d e (fst one) close) as rise.
    pose proof (measured_rises cell arm width floor width_pos kind first others is_reward e d (fst one) back) as fall.
    rewrite nobody in rise, fall. lia.
  - assert (once : each_once all) by (intros one inside; rewrite (nobody one inside); lia).
    assert (none : yeses true all = 0%nat).
    { unfold yeses. replace (filter _ all) with (@nil (list test * answer)); [reflexivity|]. symmetry.
      clear - nobody. induction all as [|one rest IH]; [reflexivity|]. cbn [filter]. unfold has at 1.
      rewrite (nobody one (or_introl eq_refl)), IH by (intros other inside; apply nobody; right; exact inside).
      rewrite andb_false_r. reflexivity. }
    pose proof (totals_of_copies d e all close once) as there. pose proof (totals_of_copies e d all back once) as here.
    rewrite none in there, here. simpl INR in there, here. rewrite Rmult_0_l, exp_0 in there, here. lra.
Qed.

(* And one copy alone costs epsilon. *)
Corollary one_copy_costs_epsilon : shared_shares 1 0 = 1.
Proof. unfold shared_shares. destruct (one_sided kind); simpl; [rewrite Rmax_left; lra | lra]. Qed.

End SharedThreshold.

(* ------------------------------------------------------------------ why no other noise is stored *)

(* Two totals x and y with one and the same noise: the probability that a and b are released. *)
Definition same_noise_twice (scale : R) (x y a b n : Z) : R :=
  if ((x + n =? a) && (y + n =? b))%Z%bool then mass scale n else 0.

Lemma same_noise_summable : forall scale x y a b, 0 < scale -> summable (same_noise_twice scale x y a b).
Proof.
  intros scale x y a b positive.
  apply (summable_where (mass scale) (fun n => ((x + n =? a) && (y + n =? b))%Z%bool)), mass_summable, positive.
Qed.

(* Somebody whose reward is in y alone moves it, and what was possible is impossible: no price covers that. *)
Theorem stored_noise_is_not_private : forall scale x y other, 0 < scale -> other <> y ->
  forall (Hd : summable (same_noise_twice scale x y x y)) (He : summable (same_noise_twice scale x other x y)) price,
  ~ sum _ Hd <= exp price * sum _ He.
Proof.
  intros scale x y other positive differ Hd He price.
  assert (never : sum _ He = 0).
  { apply Rle_antisym; [|apply sum_nonnegative]. apply sum_least. intros a n. revert a.
    induction n as [|n IH]; intro a; simpl; [lra|]. specialize (IH (a + 1)%Z). unfold same_noise_twice at 1.
    destruct (Z.eqb_spec (x + a) x); destruct (Z.eqb_spec (other + a) y); simpl; try lra. lia. }
  rewrite never, Rmult_0_r. pose proof (sum_term _ Hd 0%Z) as term. unfold same_noise_twice at 1 in term.
  rewrite !Z.add_0_r, !Z.eqb_refl in term. simpl in term. pose proof (mass_positive scale 0 positive). lra.
Qed.
