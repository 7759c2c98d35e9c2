(* Counting keeps the promise: an algorithm that runs epochs of noisy totals, with arms that are held, and sparse
   vectors, has no reward in two releases, since the curator counts rewards off (Curator.release). So the hypotheses of
   Promises.rewards_are_private need not be assumed of it.

   Here the plan is made of what the algorithm chooses and of what has been counted. Cells are places: an arm, and a
   reward's number among those of the arm. A test takes the rewards that it is about and no more: of a query of many
   tests that halts, the rest is never taken. *)
Require Import Reals ZArith Arith List Bool Lra Lia.
Require Import Discreet.Mechanism Discreet.Noise Discreet.Rewards Discreet.NoisyTotals Discreet.Prices Discreet.Trees.
Require Import Discreet.Hybrid Discreet.SparseVector Discreet.Curator Discreet.Counting Discreet.Promises.
Import ListNotations.
Open Scope nat_scope.
Set Implicit Arguments.

Section Counted.

(* The run: its arms, its grid, and what is promised. *)
Variable arm : Type.
Variable arms : list arm.                           (* of the run *)
Hypothesis arms_differ : NoDup arms.
Variables width floor : Z.
Hypothesis width_pos : (0 < width)%Z.
Variable epsilon : R.
Hypothesis epsilon_pos : (0 < epsilon)%R.

(* Sparse vectors cost at most epsilon, and their arms differ. *)
Variable name : Type.
Variable same_name : forall a b : name, {a = b} + {a <> b}.
Variable terms : name -> sparse_terms arm width.
Definition arms_of (n : name) : list arm := its_first (terms n) :: its_others (terms n).
Hypothesis sparse_arms_differ : forall n, NoDup (arms_of n).
Hypothesis sparse_charged : forall n, (its_epsilon (terms n) + its_release_epsilon (terms n) <= epsilon)%R.

(* Noise for a total. *)
Record noise := {
  noise_scale : R;
  noise_pos : (0 < noise_scale)%R;
  noise_enough : scale_is_enough noise_scale (IZR width) epsilon
}.

Notation place := (Counting.place arm).
Notation question := (Promises.question place arm unit).
Notation history_list := (list (series name * (question * Promises.answer))).

(* What an algorithm may do when everything that it asked for is released: run epochs until something is released, make
   the next test of a sparse vector with so many new rewards of each arm, or stop. *)
Inductive action :=
  | Epochs (of : noise) (epochs : list (epoch arm))
  | NextTest (n : name) (rewards : arm -> nat) (limit : Z)
  | Stop.

Variable choose : transcript Promises.answer -> action.

(* What the curator knows: how many rewards of each arm are taken, how many of them wait, and which totals are still to
   be released of the epochs that were run. *)
Record state := { taken : arm -> nat; waiting : arm -> nat; queue : list (number place) }.

(* Nothing is taken. *)
Definition start : state := {| taken := fun _ => 0; waiting := fun _ => 0; queue := [] |}.

(* A total of some rewards, with noise. *)
Definition total_of (of : noise) (cells : list place) : number place :=
  {| kind := Total; cells := cells; scale := noise_scale of; scale_pos := noise_pos of |}.

(* What is taken and what waits after some epochs. *)
Fixpoint after (s_taken s_waiting : arm -> nat) (epochs : list (epoch arm)) : (arm -> nat) * (arm -> nat) :=
  match epochs with
  | [] => (s_taken, s_waiting)
  | e :: later => after (taken_after s_taken e) (waiting_after s_waiting e) later
  end.

(* The new rewards of a test are those that come next; what has waited is erased. *)
Definition test_of (s : state) (rewards : arm -> nat) (limit : Z) : test place arm :=
  Build_test place arm (fun a => map (pair a) (seq (taken s a + 1) (rewards a))) limit.

(* What is asked next, and the state after it: the totals that are left of what was run, one by one; then what the
   algorithm chooses by the transcript. Epochs that release nothing end the run. *)
Definition next (t : transcript Promises.answer) (s : state) : option (series name * question) * state :=
  match queue s with
  | q :: later => (Some (None, Number arm tt q), {| taken := taken s; waiting := waiting s; queue := later |})
  | [] =>
      match choose t with
      | Epochs of epochs =>
          match all_totals arms (taken s) (waiting s) epochs with
          | [] => (None, s)
          | first :: later =>
              (Some (None, Number arm tt (total_of of first)),
               {| taken := fst (after (taken s) (waiting s) epochs);
                  waiting := snd (after (taken s) (waiting s) epochs);
                  queue := map (total_of of) later |})
          end
      | NextTest n rewards limit =>
          (Some (Some n, Test unit (test_of s rewards limit)),
           {| taken := fun a => taken s a + rewards a; waiting := fun _ => 0; queue := [] |})
      | Stop => (None, s)
      end
  end.

(* The state after a transcript. *)
Fixpoint state_after (t : transcript Promises.answer) : state :=
  match t with
  | [] => start
  | _ :: past => snd (next past (state_after past))
  end.

(* The plan: the algorithm, with the curator's counting. *)
Definition counted_plan (t : transcript Promises.answer) : option (series name * question) := fst (next t (state_after t)).

(* ------------------------------------------------------------------ no reward twice *)

(* The rewards in a question, and in all. *)
Definition cells_of (one : series name * (question * Promises.answer)) : list place :=
  match one with
  | (_, (Number _ _ q, _)) => cells q
  | (Some n, (Test _ q, _)) => flat_map (new place arm q) (arms_of n)
  | (None, (Test _ _, _)) => []
  end.

Definition used (h : history_list) : list place := flat_map cells_of h.

(* No more waits than is taken. *)
Lemma fits_after : forall epochs t w, (forall a, w a <= t a) -> forall a, snd (after t w epochs) a <= fst (after t w epochs) a.
Proof.
  induction epochs as [|e later IH]; intros t w fits a; simpl; [apply fits|]. apply IH. intro b. specialize (fits b).
  unfold taken_after, waiting_after. destruct (released e b); [|destruct (kept e b)]; lia.
Qed.

(* What is taken and does not wait grows. *)
Lemma grows : forall epochs t w, (forall a, w a <= t a) ->
  forall a, t a - w a <= fst (after t w epochs) a - snd (after t w epochs) a.
Proof.
  induction epochs as [|e later IH]; intros t w fits a; simpl; [lia|].
  assert (fits' : forall b, waiting_after w e b <= taken_after t e b).
  { intro b. specialize (fits b). unfold taken_after, waiting_after. destruct (released e b); [|destruct (kept e b)]; lia. }
  specialize (IH _ _ fits' a). specialize (fits a).
  assert (t a - w a <= taken_after t e a - waiting_after w e a); [|lia].
  unfold taken_after, waiting_after. destruct (released e a); [|destruct (kept e a)]; lia.
Qed.

(* What epochs release is taken after them, and waits no more. *)
Lemma only_before : forall epochs t w a i, (forall b, w b <= t b) -> In (a, i) (concat (all_totals arms t w epochs)) ->
  i <= fst (after t w epochs) a - snd (after t w epochs) a.
Proof.
  induction epochs as [|e later IH]; intros t w a i fits inside; [contradiction|].
  assert (fits' : forall b, waiting_after w e b <= taken_after t e b).
  { intro b. specialize (fits b). unfold taken_after, waiting_after. destruct (released e b); [|destruct (kept e b)]; lia. }
  simpl in inside |- *. rewrite concat_app in inside. apply in_app_or in inside. destruct inside as [now|then_]; [|apply IH; auto].
  pose proof (grows later _ _ fits' a) as up. apply in_concat in now. destruct now as [some [is_total inside]].
  apply in_map_iff in is_total. destruct is_total as [b [<- is_released]]. apply filter_In in is_released.
  destruct is_released as [_ is_released]. apply in_map_iff in inside. destruct inside as [j [same range]].
  injection same as -> ->. apply in_seq in range. specialize (fits a). unfold taken_after, waiting_after in up.
  rewrite is_released in up. unfold taken_after, waiting_after. lia.
Qed.

(* Lists without anything twice, in another order. *)
Lemma nodup_parts : forall l r : list place, NoDup (l ++ r) -> NoDup l /\ NoDup r /\ forall x, In x l -> ~ In x r.
Proof.
  induction l as [|x l IH]; intros r different; simpl in *; [repeat split; [constructor | exact different | tauto]|].
  inversion different as [|x' rest out different']; subst. rewrite in_app_iff in out.
  destruct (IH r different') as [left [right apart]]. repeat split; [constructor; tauto | exact right|].
  intros y [<-|inside]; [tauto | apply apart; exact inside].
Qed.

Lemma nodup_swap : forall l r : list place, NoDup (l ++ r) -> NoDup (r ++ l).
Proof. intros l r different. destruct (nodup_parts l r different) as [left [right apart]]. apply nodup_both; firstorder. Qed.

(* All that was asked or is still to be released: no reward twice, and none of those that wait or come later. *)
Definition well_counted (s : state) (h : history_list) : Prop :=
  (forall a, waiting s a <= taken s a)
  /\ NoDup (flat_map (@cells place) (queue s) ++ used h)
  /\ (forall a i, In (a, i) (flat_map (@cells place) (queue s) ++ used h) -> i <= taken s a - waiting s a).

(* The rewards in totals, and in the new rewards of a test. *)
Lemma cells_of_totals : forall of lists, flat_map (@cells place) (map (total_of of) lists) = concat lists.
Proof. intros of lists. induction lists as [|l rest IH]; simpl; [|rewrite IH]; reflexivity. Qed.

Lemma new_of_arms : forall s rewards limit some, flat_map (new place arm (test_of s rewards limit)) some
  = concat (map (fun a => map (pair a) (seq (taken s a + 1) (rewards a))) some).
Proof. intros. rewrite flat_map_concat_map. reflexivity. Qed.

(* Along every transcript. *)
Theorem always_well_counted : forall t h, history_of counted_plan t = Some h -> well_counted (state_after t) h.
Proof.
  unfold history_of. induction t as [|a t IH]; intros h asked; simpl in asked.
  - injection asked as <-. repeat split; simpl; [lia | constructor | contradiction].
  - destruct (history counted_plan t) as [before|]; [|discriminate]. destruct (IH before eq_refl) as [fits [once below]]. clear IH.
    unfold counted_plan in asked. simpl state_after. unfold next in *.
    destruct (queue (state_after t)) as [|q later] eqn:waiting_totals.
    + simpl in once, below. destruct (choose t) as [of epochs | n rewards limit |]; [| |discriminate].
      * destruct (all_totals arms (taken (state_after t)) (waiting (state_after t)) epochs) as [|first later] eqn:totals;
          [discriminate|]. injection asked as <-. repeat split; simpl.
        -- intro b. apply fits_after. exact fits.
        -- rewrite cells_of_totals, app_assoc. apply nodup_both.
           ++ pose proof (no_reward_twice arms_differ epochs _ _ fits) as different. rewrite totals in different.
              apply nodup_swap. exact different.
           ++ exact once.
           ++ intros [b i] new old. apply below in old.
              assert (from : In (b, i) (concat (all_totals arms (taken (state_after t)) (waiting (state_after t)) epochs))).
              { rewrite totals. simpl. apply in_or_app. apply in_app_or in new. tauto. }
              apply only_later in from; [lia | exact fits].
        -- intros b i inside. rewrite cells_of_totals, app_assoc in inside. apply in_app_or in inside. destruct inside as [new|old].
           ++ apply only_before; [exact fits|]. rewrite totals. simpl. apply in_or_app. apply in_app_or in new. tauto.
           ++ apply below in old. pose proof (grows epochs _ _ fits b). lia.
      * injection asked as <-. unfold well_counted, used. cbn [flat_map cells_of queue taken waiting app fst snd].
        rewrite new_of_arms. fold (used before).
        assert (is_new : forall b i,
          In (b, i) (concat (map (fun c => map (pair c) (seq (taken (state_after t) c + 1) (rewards c))) (arms_of n))) ->
          taken (state_after t) b < i <= taken (state_after t) b + rewards b).
        { intros b i inside. apply in_concat in inside. destruct inside as [some [is_some inside]].
          apply in_map_iff in is_some. destruct is_some as [c [<- _]]. apply in_map_iff in inside.
          destruct inside as [j [same range]]. injection same as -> ->. apply in_seq in range. lia. }
        repeat split; [intro b; lia | |].
        -- apply nodup_both; [| exact once |].
           ++ pose proof (one_epoch_once (taken (state_after t)) (fun _ => 0)
                {| pulls := rewards; released := fun _ => true; kept := fun _ => true |} (sparse_arms_differ n)) as different.
              erewrite map_ext; [exact different|]. intro c. unfold span. rewrite Nat.sub_0_r. reflexivity.
           ++ intros [b i] new old. apply is_new in new. apply below in old. lia.
        -- intros b i inside. apply in_app_or in inside. destruct inside as [new|old].
           ++ apply is_new in new. lia.
           ++ apply below in old. lia.
    + injection asked as <-. simpl in once, below |- *. rewrite <- app_assoc in once, below.
      repeat split; simpl.
      * exact fits.
      * rewrite app_assoc in once. destruct (nodup_parts _ _ once) as [now [old apart]].
        rewrite app_assoc. apply nodup_both; [apply nodup_swap; exact now | exact old|].
        intros x inside. apply apart. rewrite in_app_iff in *. tauto.
      * intros b i inside. apply below. apply in_or_app. apply in_app_or in inside. rewrite in_app_iff in *. tauto.
Qed.

(* ------------------------------------------------------------------ one reward, one release *)

(* The unit: one reward. *)
Variable mine : place -> bool.
Hypothesis single : forall x y, mine x = true -> mine y = true -> x = y.

(* How often it enters a series: the noisy totals (None), or a sparse vector. *)
Definition enters (s : series name) (h : history_list) : nat :=
  match s with
  | None => entries mine (map snd (numbers_in same_name h))
  | Some n => in_tests terms mine n (tests_in same_name n h)
  end.

(* A test adds its new rewards. *)
Lemma enters_test : forall n q asked,
  in_tests terms mine n (q :: asked) = count_mine mine (flat_map (new place arm q) (arms_of n)) + in_tests terms mine n asked.
Proof.
  intros n q asked. unfold in_tests. change (q :: asked) with ([q] ++ asked). rewrite entered_app. f_equal.
  unfold entered. fold (arms_of n). change (SparseVector.arms arm (its_first (terms n)) (its_others (terms n))) with (arms_of n).
  induction (arms_of n) as [|a more IH]; [reflexivity|]. cbn [fold_right flat_map]. rewrite IH, count_app.
  unfold rewards_of. cbn [flat_map]. rewrite app_nil_r. reflexivity.
Qed.

(* A question is of one series, and only there it counts. *)
Lemma enters_more : forall s other qa h,
  enters s ((other, qa) :: h)
  <= (if same_series same_name other s then count_mine mine (cells_of (other, qa)) else 0) + enters s h.
Proof.
  intros s other [q a] h. destruct s as [n|]; unfold enters, numbers_in, tests_in; simpl part;
    destruct (same_series same_name other _) as [->|_]; simpl; try lia; destruct q; simpl; try lia.
  rewrite enters_test. simpl. lia.
Qed.

(* It enters two series together no more often than all. *)
Lemma enters_two : forall h s other, s <> other -> enters s h + enters other h <= count_mine mine (used h).
Proof.
  induction h as [|[which qa] h IH]; intros s other differ.
  - destruct s, other; simpl; unfold in_tests, entered; simpl;
      repeat match goal with |- context [fold_right ?f 0 ?l] => replace (fold_right f 0 l) with 0 by (induction l; simpl; auto) end; lia.
  - pose proof (enters_more s which qa h). pose proof (enters_more other which qa h). specialize (IH s other differ).
    unfold used in *. cbn [flat_map]. rewrite count_app.
    destruct (same_series same_name which s); destruct (same_series same_name which other); congruence || lia.
Qed.

(* And one. *)
Lemma enters_one : forall h s, enters s h <= count_mine mine (used h).
Proof.
  induction h as [|[which qa] h IH]; intro s.
  - destruct s as [n|]; simpl; [|lia]. unfold in_tests, entered.
    induction (SparseVector.arms arm (its_first (terms n)) (its_others (terms n))) as [|a more IH]; simpl; [lia | exact IH].
  - pose proof (enters_more s which qa h). specialize (IH s). unfold used in *. cbn [flat_map]. rewrite count_app.
    destruct (same_series same_name which s); lia.
Qed.

(* And all of them once. *)
Lemma one_reward_is_used_once : forall t h, history_of counted_plan t = Some h -> count_mine mine (used h) <= 1.
Proof.
  intros t h asked. destruct (always_well_counted t asked) as [_ [once _]]. apply nodup_parts in once.
  apply at_most_one; [apply once|]. intros x y _ _. apply single.
Qed.

(* So it is not in two. *)
Lemma one_release : forall t h, history_of counted_plan t = Some h -> forall s other, s <> other -> enters s h + enters other h <= 1.
Proof.
  intros t h asked s other differ. eapply Nat.le_trans; [apply enters_two; exact differ | apply (one_reward_is_used_once t asked)].
Qed.

(* All totals are one group. *)
Definition same_unit : forall a b : unit, {a = b} + {a <> b}.
Proof. decide equality. Defined.

Lemma one_group : forall asked : list (unit * number place), within same_unit tt asked = map snd asked.
Proof. induction asked as [|[[] q] rest IH]; simpl; [|rewrite IH]; reflexivity. Qed.

(* Every total has noise for epsilon. *)
Lemma all_enough : forall t h, history_of counted_plan t = Some h ->
  enough width epsilon (map snd (numbers_in same_name h)) /\ enough width epsilon (queue (state_after t)).
Proof.
  unfold history_of. induction t as [|a t IH]; intros h asked; simpl in asked.
  - injection asked as <-. split; intros q [].
  - destruct (history counted_plan t) as [before|]; [|discriminate]. destruct (IH before eq_refl) as [old waits]. clear IH.
    unfold counted_plan in asked. simpl state_after. unfold next in *.
    destruct (queue (state_after t)) as [|q later]; [destruct (choose t) as [of epochs | n rewards limit |]; [| |discriminate]|].
    + destruct (all_totals arms _ _ epochs) as [|first later]; [discriminate|]. injection asked as <-.
      unfold numbers_in in *. simpl part. destruct (same_series same_name None None); [|congruence]. simpl. split.
      * intros q [<-|inside]; [apply noise_enough | apply old; exact inside].
      * intros q inside. apply in_map_iff in inside. destruct inside as [some [<- _]]. apply noise_enough.
    + injection asked as <-. unfold numbers_in in *. simpl part.
      destruct (same_series same_name (Some n) None); [discriminate|]. split; [exact old | intros q []].
    + injection asked as <-. unfold numbers_in in *. simpl part. destruct (same_series same_name None None); [|congruence]. simpl. split.
      * intros p [<-|inside]; [apply waits; left; reflexivity | apply old; exact inside].
      * intros p inside. apply waits. right. exact inside.
Qed.

(* It enters one release at most, and pays for that. *)
Lemma one_release_is_charged : forall t h, history_of counted_plan t = Some h ->
  (price_of_entered mine same_unit (fun _ => epsilon) (numbers_in same_name h) + tests_entered same_name terms mine h <= epsilon)%R.
Proof.
  intros t h asked. pose proof (one_release t asked) as two.
  set (pays := fun s : series name => match s with
    | None => 0%R
    | Some n => (if enters (Some n) h =? 0 then 0 else its_epsilon (terms n) + its_release_epsilon (terms n))%R end).
  assert (sum : tests_entered same_name terms mine h = total_price pays (begun (same_series same_name) h)).
  { unfold tests_entered. induction (begun (same_series same_name) h) as [|[n|] rest IH]; simpl; auto.
    - rewrite IH. reflexivity.
    - rewrite IH. ring. }
  rewrite sum.
  destruct (Nat.eq_dec (enters None h) 0) as [none|some].
  - assert (free : price_of_entered mine same_unit (fun _ => epsilon) (numbers_in same_name h) = 0%R).
    { unfold price_of_entered. induction (groups_of same_unit (numbers_in same_name h)) as [|[] rest IH]; simpl; auto.
      rewrite IH, one_group. change (entries mine (map snd (numbers_in same_name h))) with (enters None h). rewrite none. simpl. ring. }
    rewrite free, Rplus_0_l. apply one_part_pays.
    + lra.
    + unfold begun. apply NoDup_nodup.
    + intros [n|] _; simpl; [|lra]. destruct (_ =? 0); [lra | apply sparse_charged].
    + intros s other _ _ in_s in_other. destruct (same_series same_name s other) as [same|differ]; [exact same|].
      specialize (two s other differ). destruct s as [n|]; [|contradiction in_s; reflexivity].
      destruct other as [m|]; [|contradiction in_other; reflexivity]. unfold pays in in_s, in_other.
      destruct (Nat.eqb_spec (enters (Some n) h) 0); [contradiction in_s; reflexivity|].
      destruct (Nat.eqb_spec (enters (Some m) h) 0); [contradiction in_other; reflexivity|]. lia.
  - assert (free : total_price pays (begun (same_series same_name) h) = 0%R).
    { assert (each_free : forall s, pays s = 0%R).
      { intros [n|]; simpl; [|reflexivity]. assert (differ : @None name <> Some n) by discriminate.
        specialize (two None (Some n) differ). unfold enters in some, two. replace (in_tests _ _ _ _) with 0 by lia. reflexivity. }
      clear - each_free. induction (begun (same_series same_name) h) as [|s rest IH]; simpl; [reflexivity|].
      rewrite each_free, IH. ring. }
    rewrite free, Rplus_0_r. unfold price_of_entered.
    assert (different : NoDup (groups_of same_unit (numbers_in same_name h))) by (unfold groups_of; apply NoDup_nodup).
    destruct (groups_of same_unit (numbers_in same_name h)) as [|[] [|[] rest]]; simpl; [lra | destruct (_ =? 0); lra |].
    inversion different as [|x l out _]. exfalso. apply out. left. reflexivity.
Qed.

(* So whatever is chosen, one reward is private at epsilon: its totals, those that were held too, and its tests. *)
Theorem counted_rewards_are_private : forall d e t, neighbours width mine d e ->
  (probability_of floor same_name terms counted_plan d t <= exp epsilon * probability_of floor same_name terms counted_plan e t)%R.
Proof.
  apply rewards_are_private with (same_group := same_unit) (price := fun _ => epsilon); auto.
  intros t h asked.
  assert (once : forall s, enters s h <= 1)
    by (intro s; eapply Nat.le_trans; [apply enters_one | apply (one_reward_is_used_once t asked)]).
  split; [|split; [|split]].
  - intros []. rewrite one_group. apply (all_enough t asked).
  - intros []. rewrite one_group. exact (once None).
  - intro n. exact (once (Some n)).
  - exact (one_release_is_charged t asked).
Qed.

End Counted.
