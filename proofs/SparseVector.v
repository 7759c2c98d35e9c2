(* The sparse vector (mechanisms/sparse_vector.py): many tests of running totals for one epsilon, until the first yes,
   and then the noisy total of each arm, or nothing more.

   Its privacy in one line: a unit with one reward in the series pays epsilon for all tests together, and
   release_epsilon for the totals at the end, if there are any; a unit with none pays nothing. So it is one of the
   curator's mechanisms, at the price that its query declares ([ThresholdQuery.prices]). *)
Require Import Reals ZArith List Bool Lra Lia Psatz.
Require Import Discreet.Mechanism Discreet.Rewards Discreet.Sums Discreet.Noise Discreet.Threshold.
Import ListNotations.
Open Scope R_scope.

(* core/plans.py, Measure *)
Inductive measure := Distance | Spread | OneSided | Lag.

Definition one_sided (m : measure) : bool := match m with OneSided => true | _ => false end.

(* Both noises of the tests have the scale factor * width / epsilon, rounded up. *)
Definition factor (m : measure) : Z := if one_sided m then 1 else 3.

(* The law of B, drawn once, and that of A, drawn for each test. *)
Definition threshold_law (m : measure) (scale : R) : Z -> R := if one_sided m then folded scale else mass scale.
Definition test_law (m : measure) (scale : R) : Z -> R := if one_sided m then folded_down scale else mass scale.

Lemma threshold_adds_up : forall m scale, 0 < scale -> adds_up_to_one (threshold_law m scale).
Proof. intros [] scale positive; simpl; auto using mass_adds_up, folded_adds_up. Qed.

Lemma test_adds_up : forall m scale, 0 < scale -> adds_up_to_one (test_law m scale).
Proof. intros [] scale positive; simpl; auto using mass_adds_up, folded_down_adds_up. Qed.

Lemma threshold_goes_up : forall m scale, 0 < scale -> ups (/ scale) (threshold_law m scale).
Proof. intros [] scale positive; simpl; auto using mass_ups, folded_ups. Qed.

Lemma test_goes_down : forall m scale, 0 < scale -> downs (/ scale) (test_law m scale).
Proof. intros [] scale positive; simpl; auto using mass_downs, folded_down_downs. Qed.

(* The noise of the totals at the end, and what they cost: nothing where none are released. *)
Definition is_noise (scale : option R) : Prop := match scale with Some s => 0 < s | None => True end.
Definition pays_for (width : Z) (scale : option R) (price : R) : Prop :=
  match scale with Some s => 0 < price /\ scale_is_enough s (IZR width) price | None => price = 0 end.

(* ------------------------------------------------------------------ largest minus smallest *)

Definition largest (first : Z) (others : list Z) : Z := fold_right Z.max first others.
Definition smallest (first : Z) (others : list Z) : Z := fold_right Z.min first others.

(* By how much numbers differ, all together. *)
Fixpoint apart (xs ys : list Z) : Z :=
  match xs, ys with
  | x :: xs, y :: ys => (Z.abs (x - y) + apart xs ys)%Z
  | _, _ => 0%Z
  end.

Lemma apart_nonneg : forall xs ys, (0 <= apart xs ys)%Z.
Proof. induction xs as [|x xs IH]; intros [|y ys]; simpl; try lia. specialize (IH ys). lia. Qed.

(* How far the largest can rise, and the smallest fall, together. *)
Lemma spread_moves : forall x y xs ys, length xs = length ys ->
  (largest x xs - smallest x xs <= largest y ys - smallest y ys + (Z.abs (x - y) + apart xs ys))%Z.
Proof.
  intros x y xs ys same.
  assert (both : exists up down, (0 <= up)%Z /\ (0 <= down)%Z /\ (up + down <= Z.abs (x - y) + apart xs ys)%Z
    /\ (largest x xs <= largest y ys + up)%Z /\ (smallest y ys - down <= smallest x xs)%Z).
  - revert ys same. induction xs as [|a xs IH]; intros [|b ys] same; simpl in same; try discriminate.
    + exists (Z.max 0 (x - y)), (Z.max 0 (y - x)). simpl. lia.
    + destruct (IH ys) as [up [down [U [D [cost [rise fall]]]]]]; [lia|].
      exists (up + Z.max 0 (a - b))%Z, (down + Z.max 0 (b - a))%Z. simpl. lia.
  - destruct both as [up [down H]]. lia.
Qed.

(* The largest, and the number that lies behind it. *)
Lemma lag_moves : forall x y xs ys, length xs = length ys ->
  (largest x xs - x <= largest y ys - y + (Z.abs (x - y) + apart xs ys))%Z.
Proof.
  intros x y xs ys same. revert ys same. induction xs as [|a xs IH]; intros [|b ys] same; simpl in *; try discriminate.
  - lia.
  - specialize (IH ys (eq_add_S _ _ same)). pose proof (apart_nonneg xs ys). lia.
Qed.

(* ------------------------------------------------------------------ the mechanism *)

Section SparseVector.

Variables cell arm : Type.
Variable width floor : Z.                     (* of the grid *)
Hypothesis width_pos : (0 < width)%Z.

Variable kind : measure.
Variable first : arm.                         (* the arms of the series: one, but for the spread and the lag *)
Variable others : list arm.
Definition arms := first :: others.

Variable scale : R.                           (* of the noise of tests *)
Variable release_scale : option R.            (* and of totals at the end; None: nothing is released but answers *)
Hypothesis scale_pos : 0 < scale.
Hypothesis release_scale_pos : is_noise release_scale.

(* The arms whose totals are released at the yes, and the scale of their noise. Where there are none, none is drawn. *)
Definition told : list arm := match release_scale with Some _ => arms | None => [] end.
Definition drawn : R := match release_scale with Some s => s | None => 1 end.

Lemma drawn_pos : 0 < drawn.
Proof. unfold drawn. destruct release_scale; [exact release_scale_pos | lra]. Qed.

(* One test: the rewards of each arm since the test before, and the limit. Both are public. Many tests in one query
   ([counts], [limits]) are many of these. *)
Record test := { new : arm -> list cell; limit : Z }.

(* Not yet; or yes, with the noisy total of each arm that is told. *)
Inductive answer := No | Yes (totals : list Z).

Definition above (a : answer) : bool := match a with No => false | Yes _ => true end.

(* All rewards of an arm in the series so far. *)
Definition rewards_of (asked : list test) (a : arm) : list cell := flat_map (fun q => new q a) asked.

Definition running (d : data cell) (asked : list test) (a : arm) : Z := total d (rewards_of asked a).

(* [SparseVector._measured] *)
Definition measured (d : data cell) (asked : list test) : Z :=
  let shifted := (running d asked first + Z.of_nat (length (rewards_of asked first)) * floor)%Z in
  match kind with
  | Distance => Z.abs shifted
  | OneSided => shifted
  | Spread =>
      (largest (running d asked first) (map (running d asked) others)
       - smallest (running d asked first) (map (running d asked) others))%Z
  | Lag => (largest (running d asked first) (map (running d asked) others) - running d asked first)%Z
  end.

(* Every test with its margin and its answer. *)
Fixpoint margins (d : data cell) (l : list (test * answer)) : list (Z * bool) :=
  match l with
  | [] => []
  | (q, a) :: past => ((measured d (q :: questions past) - limit q)%Z, above a) :: margins d past
  end.

(* The probability of noisy totals. A list of another length is impossible. *)
Fixpoint noisy (d : data cell) (asked : list test) (of : list arm) (totals : list Z) : R :=
  match of, totals with
  | [], [] => 1
  | a :: more, y :: ys => mass drawn (y - running d asked a) * noisy d asked more ys
  | _, _ => 0
  end.

(* The probability of what is released beside the tests. *)
Definition released (d : data cell) (l : list (test * answer)) : R :=
  match l with
  | (q, Yes totals) :: past => noisy d (q :: questions past) told totals
  | _ => 1
  end.

Definition all_no (l : list (test * answer)) : bool := forallb (fun qa => negb (above (snd qa))) l.

(* After a yes it answers no more ([FinishedError]). *)
Definition possible (l : list (test * answer)) : bool := match l with [] => true | _ :: past => all_no past end.

Definition all_tests (tests : list (Z * bool)) : R :=
  together (threshold_law kind scale) (test_law kind scale)
           (threshold_adds_up kind scale scale_pos) (test_adds_up kind scale scale_pos) tests.

Definition sparse_weight (d : data cell) (l : list (test * answer)) : R :=
  if possible l then all_tests (margins d l) * released d l else 0.

Lemma noisy_nonneg : forall d asked of totals, 0 <= noisy d asked of totals.
Proof.
  intros d asked of. induction of as [|a more IH]; intros [|y ys]; simpl; try lra.
  apply Rmult_le_pos; auto. left. apply mass_positive; exact drawn_pos.
Qed.

Lemma released_nonneg : forall d l, 0 <= released d l.
Proof.
  intros d [|[q [|totals]] past]; unfold released; try lra. apply noisy_nonneg.
Qed.

Lemma all_tests_nonneg : forall tests, 0 <= all_tests tests.
Proof. intros. apply together_nonneg. Qed.

Lemma sparse_nonneg : forall d l, 0 <= sparse_weight d l.
Proof.
  intros d l. unfold sparse_weight. destruct (possible l); [|lra].
  apply Rmult_le_pos; [apply all_tests_nonneg | apply released_nonneg].
Qed.

Lemma sparse_nil : forall d, sparse_weight d [] = 1.
Proof. intro d. unfold sparse_weight. simpl. unfold all_tests. rewrite together_nil. lra. Qed.

Definition sparse_vector : mechanism (data cell) test answer :=
  Build_mechanism sparse_weight sparse_nonneg sparse_nil.

(* ------------------------------------------------------------------ how far a unit moves the measure *)

Variable mine : cell -> bool.
Notation near := (neighbours width mine).

(* How many of the unit's rewards are in the series. *)
Definition entered (asked : list test) : nat :=
  fold_right (fun a rest => (count_mine mine (rewards_of asked a) + rest)%nat) O arms.

Lemma running_moves : forall d e asked a, near d e ->
  (Z.abs (running d asked a - running e asked a) <= Z.of_nat (count_mine mine (rewards_of asked a)) * width)%Z.
Proof. intros. apply total_moves; assumption. Qed.

Lemma arms_move : forall d e asked of, near d e ->
  (apart (map (running d asked) of) (map (running e asked) of)
   <= Z.of_nat (fold_right (fun a rest => count_mine mine (rewards_of asked a) + rest)%nat O of) * width)%Z.
Proof.
  intros d e asked of close. induction of as [|a more IH]; simpl; [lia|].
  pose proof (running_moves d e asked a close). lia.
Qed.

Lemma measured_rises : forall d e asked, near d e ->
  (measured e asked <= measured d asked + Z.of_nat (entered asked) * width)%Z.
Proof.
  intros d e asked close. pose proof (neighbours_symmetric close) as back.
  pose proof (running_moves e d asked first back) as one.
  assert (more : (Z.of_nat (count_mine mine (rewards_of asked first)) * width <= Z.of_nat (entered asked) * width)%Z).
  { unfold entered. simpl. apply Z.mul_le_mono_nonneg_r; lia. }
  pose proof (arms_move e d asked arms back) as all. simpl in all.
  pose proof (spread_moves (running e asked first) (running d asked first)
    (map (running e asked) others) (map (running d asked) others)) as spreads.
  pose proof (lag_moves (running e asked first) (running d asked first)
    (map (running e asked) others) (map (running d asked) others)) as lags.
  rewrite !map_length in spreads, lags. specialize (spreads eq_refl). specialize (lags eq_refl).
  unfold measured. destruct kind; try lia; unfold entered; simpl; lia.
Qed.

Lemma rewards_of_app : forall before asked a, rewards_of (before ++ asked) a = rewards_of before a ++ rewards_of asked a.
Proof. intros. unfold rewards_of. apply flat_map_app. Qed.

Lemma entered_app : forall before asked, entered (before ++ asked) = (entered before + entered asked)%nat.
Proof.
  intros before asked. unfold entered. induction arms as [|a more IH]; simpl; auto.
  rewrite IH, rewards_of_app, count_app. lia.
Qed.

(* ------------------------------------------------------------------ from one measure to all tests *)

(* If all measures along a series rise by at most u, and the last one lacks at most v, then u + v is what the tests
   cost, in steps. *)
Lemma noes_move : forall u d e whole,
  (forall before asked, whole = before ++ asked -> measured e asked <= measured d asked + u)%Z ->
  forall l before, whole = before ++ questions l -> all_no l = true -> moved u (margins d l) (margins e l) 0.
Proof.
  intros u d e whole rises l. induction l as [|[q a] past IH]; intros before same no; simpl; [constructor|].
  simpl in no. apply andb_prop in no. destruct no as [now then_no]. destruct a; [|discriminate].
  pose proof (rises before (q :: questions past) same). apply moved_no; [lia|].
  apply IH with (before ++ [q]); auto. rewrite <- app_assoc. exact same.
Qed.

Lemma tests_cost : forall u v d e l, (0 <= u)%Z -> (0 <= v)%Z ->
  (forall before asked, questions l = before ++ asked -> measured e asked <= measured d asked + u)%Z ->
  (measured d (questions l) + u - v <= measured e (questions l))%Z -> possible l = true ->
  all_tests (margins d l) <= exp (IZR (u + v) * / scale) * all_tests (margins e l).
Proof.
  intros u v d e l U V rises lacks once. unfold all_tests.
  assert (pay : forall cost, (cost <= v)%Z -> moved u (margins d l) (margins e l) cost ->
    together (threshold_law kind scale) (test_law kind scale) (threshold_adds_up kind scale scale_pos)
      (test_adds_up kind scale scale_pos) (margins d l)
    <= exp (IZR (u + v) * / scale) * together (threshold_law kind scale) (test_law kind scale)
      (threshold_adds_up kind scale scale_pos) (test_adds_up kind scale scale_pos) (margins e l)).
  { intros cost cheap moves.
    eapply Rle_trans; [exact (shared_threshold (/ scale) _ _ _ _ (threshold_goes_up kind scale scale_pos)
      (test_goes_down kind scale scale_pos) u _ _ cost U moves)|].
    apply Rmult_le_compat_r; [apply together_nonneg|]. apply exp_le.
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; exact scale_pos | apply IZR_le; lia]. }
  destruct l as [|[q a] past]; simpl in once.
  - apply pay with 0%Z; [lia | constructor].
  - assert (past_moves : moved u (margins d past) (margins e past) 0).
    { apply noes_move with (whole := questions ((q, a) :: past)) (before := [q]); auto. }
    destruct a as [|totals]; simpl.
    + apply (pay 0%Z); [lia|]. simpl. apply moved_no; auto. pose proof (rises [] (q :: questions past) eq_refl). lia.
    + apply (pay (v + 0)%Z); [lia|]. simpl. apply moved_yes; auto. simpl in lacks. lia.
Qed.

(* Two-sided: B moves by what the unit can move the measure, and the A that halts by twice as much. It holds for every
   measure. *)
Lemma two_sided_cost : forall d e l, near d e -> possible l = true ->
  all_tests (margins d l) <= exp (IZR (3 * (Z.of_nat (entered (questions l)) * width)) * / scale) * all_tests (margins e l).
Proof.
  intros d e l close once. set (most := (Z.of_nat (entered (questions l)) * width)%Z).
  replace (3 * most)%Z with (most + 2 * most)%Z by lia.
  assert (0 <= most)%Z by (unfold most; lia).
  apply tests_cost; try lia; auto.
  - intros before asked same. pose proof (measured_rises d e asked close) as rises.
    assert (Z.of_nat (entered asked) * width <= most)%Z; [|lia].
    unfold most. rewrite same, entered_app. apply Z.mul_le_mono_nonneg_r; lia.
  - pose proof (measured_rises e d (questions l) (neighbours_symmetric close)). fold most in H0. lia.
Qed.

(* A unit with one reward moves all later totals of its arm by one and the same amount, and none before it. *)
Lemma one_step : forall d e before asked a, near d e -> (count_mine mine (rewards_of (before ++ asked) a) <= 1)%nat ->
  (running e asked a - running d asked a = 0
   \/ running e asked a - running d asked a = running e (before ++ asked) a - running d (before ++ asked) a)%Z.
Proof.
  intros d e before asked a close once. unfold running. rewrite rewards_of_app in *. rewrite count_app in once.
  destruct (count_mine mine (rewards_of asked a)) eqn:late.
  - left. pose proof (running_moves d e asked a close) as moves. unfold running in moves. rewrite late in moves. lia.
  - right. assert (early : count_mine mine (rewards_of before a) = O) by lia.
    pose proof (running_moves d e before a close) as moves. unfold running in moves. rewrite early in moves.
    assert (split : forall f x y, total f (x ++ y) = (@total cell f x + total f y)%Z).
    { intros f x y. induction x as [|c x IH]; simpl; [lia|]. rewrite IH. lia. }
    rewrite !split. lia.
Qed.

(* One-sided: where the later totals are higher, B moves alone; where they are lower, the A that halts moves alone. *)
Lemma one_sided_cost : forall d e l, kind = OneSided -> near d e -> (entered (questions l) <= 1)%nat -> possible l = true ->
  all_tests (margins d l) <= exp (IZR width * / scale) * all_tests (margins e l).
Proof.
  intros d e l side close single once.
  set (step := (running e (questions l) first - running d (questions l) first)%Z).
  assert (count : (count_mine mine (rewards_of (questions l) first) <= 1)%nat) by (unfold entered in single; simpl in single; lia).
  assert (size : (Z.abs step <= width)%Z).
  { unfold step. pose proof (running_moves e d (questions l) first (neighbours_symmetric close)). nia. }
  assert (cost : all_tests (margins d l) <= exp (IZR (Z.max 0 step + Z.max 0 (- step)) * / scale) * all_tests (margins e l)).
  { apply tests_cost; try lia; auto.
    - intros before asked same. rewrite same in count.
      pose proof (one_step d e before asked first close count) as steps. rewrite <- same in steps. fold step in steps.
      unfold measured. rewrite side. lia.
    - unfold measured. rewrite side. unfold step. lia. }
  eapply Rle_trans; [exact cost|]. apply Rmult_le_compat_r; [apply all_tests_nonneg|]. apply exp_le.
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; exact scale_pos | apply IZR_le; lia].
Qed.

(* ------------------------------------------------------------------ the totals at the end *)

Lemma noisy_cost : forall d e asked of totals, near d e ->
  noisy d asked of totals
  <= exp (IZR (apart (map (running d asked) of) (map (running e asked) of)) * / drawn) * noisy e asked of totals.
Proof.
  intros d e asked of. induction of as [|a more IH]; intros [|y ys] close; simpl; try lra.
  - rewrite Rmult_0_l, exp_0. lra.
  - rewrite plus_IZR, Rmult_plus_distr_r, exp_plus.
    apply Rle_trans with (exp (IZR (Z.abs (running d asked a - running e asked a)) * / drawn)
        * mass drawn (y - running e asked a)
        * (exp (IZR (apart (map (running d asked) more) (map (running e asked) more)) * / drawn)
        * noisy e asked more ys)).
    + apply Rmult_le_compat; auto using noisy_nonneg.
      * left. apply mass_positive; exact drawn_pos.
      * apply noisy_ratio; [exact drawn_pos | lia].
    + right. ring.
Qed.


(* ------------------------------------------------------------------ the theorem *)

Variables epsilon release_epsilon : R.
Hypothesis epsilon_pos : 0 < epsilon.

(* What the code draws: scale_for(factor * width, epsilon), scale_for(width, release_epsilon). *)
Hypothesis scale_enough : scale_is_enough scale (IZR (factor kind * width)) epsilon.
Hypothesis release_paid : pays_for width release_scale release_epsilon.

Lemma release_epsilon_nonneg : 0 <= release_epsilon.
Proof. pose proof release_paid as paid. unfold pays_for in paid. destruct release_scale; lra. Qed.

(* The totals at the yes cost release_epsilon for each reward of the unit. *)
Lemma told_cost : forall d e asked totals, near d e ->
  noisy d asked told totals <= exp (INR (entered asked) * release_epsilon) * noisy e asked told totals.
Proof.
  intros d e asked totals close. eapply Rle_trans; [apply noisy_cost; exact close|].
  apply Rmult_le_compat_r; [apply noisy_nonneg|]. apply exp_le. pose proof (pos_INR (entered asked)) as some.
  pose proof release_paid as paid. pose proof drawn_pos as positive. unfold told, drawn, pays_for in *.
  destruct release_scale as [s|].
  - destruct paid as [price_pos enough].
    pose proof (rounded_up_costs_no_more _ _ _ positive price_pos enough) as unit_cost. unfold Rdiv in unit_cost.
    apply Rle_trans with (IZR (Z.of_nat (entered asked) * width) * / s).
    + apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; exact positive | apply IZR_le, arms_move; exact close].
    + rewrite mult_IZR, <- INR_IZR_INZ. nra.
  - simpl. rewrite paid. lra.
Qed.

Lemma released_cost : forall d e l, near d e ->
  released d l <= exp (INR (entered (questions l)) * release_epsilon) * released e l.
Proof.
  intros d e l close.
  assert (free : 1 <= exp (INR (entered (questions l)) * release_epsilon) * 1).
  { rewrite Rmult_1_r, <- exp_0. apply exp_le. apply Rmult_le_pos; [apply pos_INR | apply release_epsilon_nonneg]. }
  destruct l as [|[q [|totals]] past]; try exact free. apply told_cost. exact close.
Qed.

(* How many epsilons of the tests a unit with that many rewards in the series pays. One reward pays one. (More than one
   in a one-sided series do not move all totals by the same amount: they fall back on the two-sided argument, which at
   this scale costs three times as much. The curator lets no unit get there.) *)
Definition shares (rewards : nat) : R :=
  if one_sided kind && (2 <=? rewards)%nat then 3 * INR rewards else INR rewards.

Definition sparse_price (asked : list test) : R :=
  shares (entered asked) * epsilon + INR (entered asked) * release_epsilon.

Lemma tests_price : forall d e l, near d e -> possible l = true ->
  all_tests (margins d l) <= exp (shares (entered (questions l)) * epsilon) * all_tests (margins e l).
Proof.
  intros d e l close once. set (n := entered (questions l)).
  pose proof (rounded_up_costs_no_more _ _ _ scale_pos epsilon_pos scale_enough) as unit_cost.
  unfold Rdiv in unit_cost. pose proof (pos_INR n) as some.
  assert (two : all_tests (margins d l) <= exp (IZR (3 * (Z.of_nat n * width)) * / scale) * all_tests (margins e l))
    by (apply two_sided_cost; assumption).
  assert (less : forall cost price, cost <= price -> all_tests (margins d l) <= exp cost * all_tests (margins e l) ->
    all_tests (margins d l) <= exp price * all_tests (margins e l)).
  { intros cost price cheap paid. eapply Rle_trans; [exact paid|].
    apply Rmult_le_compat_r; [apply all_tests_nonneg | apply exp_le; exact cheap]. }
  rewrite !mult_IZR, <- INR_IZR_INZ in two.
  unfold shares. destruct (one_sided kind) eqn:side.
  - assert (is_one : kind = OneSided) by (destruct kind; simpl in side; auto; discriminate).
    unfold factor in unit_cost. rewrite side, Z.mul_1_l in unit_cost.
    rewrite andb_true_l. destruct (Nat.leb_spec 2 n) as [many | few].
    + apply less with (2 := two). pose proof (Rmult_le_compat_l _ _ _ some unit_cost). lra.
    + assert (split : n = O \/ n = 1%nat) by lia. destruct split as [none | single].
      * rewrite none in *. apply less with (2 := two). simpl. lra.
      * rewrite single. apply less with (cost := IZR width * / scale); [simpl; lra|].
        apply one_sided_cost; auto. unfold n in single. lia.
  - unfold factor in unit_cost. rewrite side, mult_IZR in unit_cost.
    rewrite andb_false_l. apply less with (2 := two). pose proof (Rmult_le_compat_l _ _ _ some unit_cost). lra.
Qed.

(* The sparse vector is one of the curator's mechanisms. *)
Theorem sparse_vector_is_private : bounded near sparse_vector sparse_price.
Proof.
  intros d e close l. simpl. unfold sparse_weight. destruct (possible l) eqn:once; [|lra].
  unfold sparse_price. rewrite exp_plus.
  pose proof (tests_price d e l close once) as tests.
  pose proof (released_cost d e l close) as totals.
  apply Rle_trans with (exp (shares (entered (questions l)) * epsilon) * all_tests (margins e l)
                        * (exp (INR (entered (questions l)) * release_epsilon) * released e l)).
  - apply Rmult_le_compat; auto using all_tests_nonneg, released_nonneg.
  - right. ring.
Qed.

(* With at most one reward in the series, a unit pays what the query declares: epsilon + release_epsilon. *)
Corollary one_reward_pays_its_price : forall d e l, near d e -> (entered (questions l) <= 1)%nat ->
  sparse_weight d l <= exp (epsilon + release_epsilon) * sparse_weight e l.
Proof.
  intros d e l close single. pose proof release_epsilon_nonneg.
  eapply Rle_trans; [exact (sparse_vector_is_private d e close l)|].
  apply Rmult_le_compat_r; [apply sparse_nonneg|]. apply exp_le. unfold sparse_price, shares.
  destruct (entered (questions l)) as [|[|more]]; [| |lia]; simpl; rewrite andb_false_r; simpl; lra.
Qed.

(* A sparse vector that releases nothing but its answers: a unit pays the tests' epsilon alone. One-sided, that is for
   noises of the scale width/epsilon, whichever of the two moves ([one_sided_cost]): the larger price, not the sum. *)
Corollary tests_alone_pay_their_epsilon : release_scale = None -> forall d e l, near d e ->
  (entered (questions l) <= 1)%nat -> sparse_weight d l <= exp epsilon * sparse_weight e l.
Proof.
  intros alone d e l close single. pose proof (one_reward_pays_its_price d e l close single) as paid.
  pose proof release_paid as nothing. rewrite alone in nothing. simpl in nothing. rewrite nothing, Rplus_0_r in paid.
  exact paid.
Qed.

(* And no total is ever told. *)
Theorem nothing_but_answers : release_scale = None -> forall d q total totals past,
  sparse_weight d ((q, Yes (total :: totals)) :: past) = 0.
Proof.
  intros alone d q total totals past. unfold sparse_weight, released, told. rewrite alone. simpl.
  destruct (all_no past); [ring | reflexivity].
Qed.

(* And nothing if it has none. *)
Corollary nobody_else_pays : forall d e l, near d e -> entered (questions l) = O -> sparse_weight d l = sparse_weight e l.
Proof.
  intros d e l close none.
  apply (bounded_same (neighbours := near) (m := sparse_vector) (price := sparse_price));
    auto using sparse_vector_is_private, neighbours_symmetric.
  unfold sparse_price, shares. rewrite none. simpl. rewrite andb_false_r. simpl. lra.
Qed.

(* ------------------------------------------------------------------ it is a probability *)

(* Yes and no to the next test add up to what was answered before. *)
Theorem answers_add_up : forall d q past, all_no past = true ->
  all_tests (margins d ((q, Yes []) :: past)) + sparse_weight d ((q, No) :: past) = sparse_weight d past.
Proof.
  intros d q past no. unfold sparse_weight. simpl possible. rewrite no.
  assert (possible past = true) as ->.
  { destruct past as [|[p a] before]; auto. simpl in no. apply andb_prop in no. apply no. }
  assert (plain : released d past = 1).
  { destruct past as [|[p []] before]; auto. simpl in no. discriminate. }
  rewrite plain. simpl released. rewrite !Rmult_1_r. apply together_adds_up.
Qed.

(* A yes is divided among all noisy totals of an arm, and so on arm by arm. *)
Theorem totals_add_up : forall d asked a more ys H,
  sum (fun y => noisy d asked (a :: more) (y :: ys)) H = noisy d asked more ys.
Proof.
  intros d asked a more ys H. pose proof (mass_summable drawn drawn_pos) as one.
  pose proof (summable_shift _ (- running d asked a) one) as shifted.
  rewrite <- (Rmult_1_r (noisy d asked more ys)), <- (mass_sums_to_one drawn one drawn_pos).
  rewrite <- (sum_shift _ (- running d asked a) one shifted).
  rewrite <- (sum_scale _ _ shifted (summable_scale _ _ (noisy_nonneg d asked more ys) shifted) (noisy_nonneg d asked more ys)).
  apply sum_equal. intro y. simpl. apply Rmult_comm.
Qed.

End SparseVector.
