(* No reward twice: what the curator's counting sees to (Curator._taken, NoisyTotals._without_held).

   The curator knows how many rewards of each arm it has taken. The total of an arm covers the rewards of its epoch and
   those of the arm that have waited since earlier epochs, and nothing else: [taken - waiting + 1 .. taken + pulls]. When
   a series ends, what has waited is erased and never released. So each reward is in one total at most, whatever the
   plans are. *)
Require Import Arith List Lia.
Require Import Discreet.Rewards Discreet.Trees.
Import ListNotations.
Set Implicit Arguments.

Section Counting.

Variable arm : Type.
Variable arms : list arm.
Hypothesis arms_differ : NoDup arms.

(* A reward's place: its arm, and its number among the rewards of that arm, from 1. *)
Definition place : Type := arm * nat.

(* What happens in an epoch: how many rewards are taken of each arm (0 where it is not planned), which arms are released
   at its end, and of which others the rewards are kept. What is neither released nor kept is erased. *)
Record epoch := {
  pulls : arm -> nat;
  released : arm -> bool;
  kept : arm -> bool
}.

(* The rewards in the total of one arm, for what is taken and waiting before the epoch. *)
Definition span (taken waiting : arm -> nat) (e : epoch) (a : arm) : list place :=
  map (pair a) (seq (taken a - waiting a + 1) (waiting a + pulls e a)).

Definition taken_after (taken : arm -> nat) (e : epoch) (a : arm) : nat := taken a + pulls e a.

Definition waiting_after (waiting : arm -> nat) (e : epoch) (a : arm) : nat :=
  if released e a then 0 else if kept e a then waiting a + pulls e a else 0.

(* The rewards in the totals of an epoch, one list for each arm that is released. *)
Definition totals_of (taken waiting : arm -> nat) (e : epoch) : list (list place) :=
  map (span taken waiting e) (filter (released e) arms).

(* The same for all epochs, the first one first. *)
Fixpoint all_totals (taken waiting : arm -> nat) (epochs : list epoch) : list (list place) :=
  match epochs with
  | [] => []
  | e :: later => totals_of taken waiting e ++ all_totals (taken_after taken e) (waiting_after waiting e) later
  end.

(* What is released from now on is of rewards that come later, or that wait. *)
Lemma only_later : forall epochs taken waiting a i, (forall b, waiting b <= taken b) ->
  In (a, i) (concat (all_totals taken waiting epochs)) -> taken a - waiting a < i.
Proof.
  induction epochs as [|e later IH]; intros taken waiting a i fits inside; [contradiction|].
  simpl in inside. rewrite concat_app in inside. apply in_app_or in inside. destruct inside as [now|after].
  - apply in_concat in now. destruct now as [cells [is_total inside]]. apply in_map_iff in is_total.
    destruct is_total as [b [<- _]]. apply in_map_iff in inside. destruct inside as [n [same range]].
    injection same as -> ->. apply in_seq in range. lia.
  - apply IH in after.
    + specialize (fits a). unfold taken_after, waiting_after in after. destruct (released e a); [|destruct (kept e a)]; lia.
    + intro b. specialize (fits b). unfold taken_after, waiting_after. destruct (released e b); [|destruct (kept e b)]; lia.
Qed.

Lemma pairs_differ : forall (a : arm) (numbers : list nat), NoDup numbers -> NoDup (map (pair a) numbers).
Proof.
  intros a numbers differ. induction differ as [|n rest out differ IH]; simpl; constructor; auto.
  intro inside. apply in_map_iff in inside. destruct inside as [m [same inside]]. congruence.
Qed.

Lemma one_epoch_once : forall taken waiting e (some : list arm), NoDup some -> NoDup (concat (map (span taken waiting e) some)).
Proof.
  intros taken waiting e some differ. induction differ as [|a rest out differ IH]; simpl; [constructor|].
  apply nodup_both; [apply pairs_differ, seq_NoDup | exact IH|].
  intros x here there. apply in_map_iff in here. destruct here as [i [<- _]].
  apply in_concat in there. destruct there as [cells [is_total inside]]. apply in_map_iff in is_total.
  destruct is_total as [b [<- in_rest]]. apply in_map_iff in inside. destruct inside as [j [same _]]. congruence.
Qed.

(* No reward is in two totals, nor twice in one. *)
Theorem no_reward_twice : forall epochs taken waiting, (forall b, waiting b <= taken b) ->
  NoDup (concat (all_totals taken waiting epochs)).
Proof.
  induction epochs as [|e later IH]; intros taken waiting fits; simpl; [constructor|].
  assert (fits' : forall b, waiting_after waiting e b <= taken_after taken e b).
  { intro b. specialize (fits b). unfold taken_after, waiting_after. destruct (released e b); [|destruct (kept e b)]; lia. }
  rewrite concat_app. apply nodup_both.
  - apply one_epoch_once. apply NoDup_filter. exact arms_differ.
  - apply IH. exact fits'.
  - intros [a i] now after. apply only_later in after; [|exact fits'].
    apply in_concat in now. destruct now as [cells [is_total inside]]. apply in_map_iff in is_total.
    destruct is_total as [b [<- is_released]]. apply filter_In in is_released. destruct is_released as [_ is_released].
    apply in_map_iff in inside. destruct inside as [n [same range]]. injection same as -> ->. apply in_seq in range.
    unfold taken_after, waiting_after in after. rewrite is_released in after. specialize (fits a). lia.
Qed.

(* The start: nothing is taken, nothing waits. *)
Corollary no_reward_twice_from_the_start : forall epochs, NoDup (concat (all_totals (fun _ => 0) (fun _ => 0) epochs)).
Proof. intro epochs. apply no_reward_twice. auto. Qed.

(* So a unit with one reward is in one total at most. Counted.v takes it from here to Promises.rewards_are_private. *)
Corollary one_reward_enters_once : forall (mine : place -> bool) epochs,
  (forall x y, mine x = true -> mine y = true -> x = y) ->
  count_mine mine (concat (all_totals (fun _ => 0) (fun _ => 0) epochs)) <= 1.
Proof.
  intros mine epochs single. apply at_most_one; [apply no_reward_twice_from_the_start|]. intros x y _ _. apply single.
Qed.

End Counting.
