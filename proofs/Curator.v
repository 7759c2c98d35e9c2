(* The curator's theorem: one for every algorithm.

   An algorithm is a function [plan] of what was answered before. It says which series is asked what, or that nothing is
   asked any more. It may do anything with the answers; what it draws itself (Thompson sampling) is public, so any
   outcome of it may be taken as a part of this function. Each series has a mechanism of its own, with noise of its own
   (mechanisms/curator.py). The theorem: whatever the plan is, the probability of everything that was answered differs
   between neighbouring data by a factor of at most e to the sum of what the series cost the unit. *)
Require Import Reals List Lra.
Require Import Discreet.Mechanism.
Import ListNotations.
Open Scope R_scope.
Set Implicit Arguments.

Section Curator.

Variables data question answer series : Type.
Variable same_series : forall a b : series, {a = b} + {a <> b}.

(* Which mechanism answers a series. The name of a series has all of its terms in it: its kind, its epsilons. *)
Variable mechanism_of : series -> mechanism data question answer.

(* All answers so far, the latest first. *)
Definition transcript := list answer.

(* The algorithm: any function of releases. None: it has stopped. *)
Variable plan : transcript -> option (series * question).

(* What was asked along a transcript, with the answers; None if the algorithm had stopped before its end. *)
Fixpoint history (t : transcript) : option (list (series * (question * answer))) :=
  match t with
  | [] => Some []
  | a :: past =>
      match history past, plan past with
      | Some before, Some (s, q) => Some ((s, (q, a)) :: before)
      | _, _ => None
      end
  end.

(* The part of it that one series has seen. *)
Fixpoint part (s : series) (h : list (series * (question * answer))) : list (question * answer) :=
  match h with
  | [] => []
  | (other, qa) :: before => if same_series other s then qa :: part s before else part s before
  end.

(* The series that were asked, each once. *)
Definition begun (h : list (series * (question * answer))) : list series := nodup same_series (map fst h).

(* Series are independent: the probability of all answers is the product of what each of them gave. That it is one, and
   adds up, is said at the end of this section ([an_answer_moves_one_weight]). *)
Definition product (d : data) (names : list series) (h : list (series * (question * answer))) : R :=
  fold_right (fun s rest => weight (mechanism_of s) d (part s h) * rest) 1 names.

Definition probability (d : data) (t : transcript) : R :=
  match history t with
  | None => 0
  | Some h => product d (begun h) h
  end.

Variable neighbours : data -> data -> Prop.

(* What each series costs the unit, by the questions that it was asked. *)
Variable price : series -> list question -> R.
Hypothesis each_is_bounded : forall s, bounded neighbours (mechanism_of s) (price s).

Definition prices (names : list series) (h : list (series * (question * answer))) : R :=
  fold_right (fun s rest => price s (questions (part s h)) + rest) 0 names.

(* What the unit has paid along a transcript: the sum of the prices of the series. *)
Definition paid (t : transcript) : R :=
  match history t with
  | None => 0
  | Some h => prices (begun h) h
  end.

Lemma product_nonneg : forall d names h, 0 <= product d names h.
Proof.
  intros d names h. induction names as [|s rest IH]; simpl; [lra|].
  apply Rmult_le_pos; [apply weight_nonneg | exact IH].
Qed.

Lemma probability_nonneg : forall d t, 0 <= probability d t.
Proof. intros d t. unfold probability. destruct (history t); [apply product_nonneg | lra]. Qed.

Lemma product_bounded : forall d e names h, neighbours d e ->
  product d names h <= exp (prices names h) * product e names h.
Proof.
  intros d e names h near. induction names as [|s rest IH]; simpl; [rewrite exp_0; lra|].
  rewrite exp_plus.
  apply Rle_trans with (exp (price s (questions (part s h))) * weight (mechanism_of s) e (part s h)
                        * (exp (prices rest h) * product e rest h)).
  - apply Rmult_le_compat; auto using weight_nonneg, product_nonneg. apply each_is_bounded; exact near.
  - right. ring.
Qed.

(* The theorem: what a transcript tells about a unit is at most what the unit has paid. *)
Theorem loss_is_at_most_the_price_paid : forall d e t, neighbours d e ->
  probability d t <= exp (paid t) * probability e t.
Proof.
  intros d e t near. unfold probability, paid. destruct (history t) as [h|]; [apply product_bounded; exact near|].
  lra.
Qed.

(* If nobody is let pay more than epsilon, every transcript is epsilon-private. *)
Corollary transcript_is_private : forall epsilon, (forall t, paid t <= epsilon) ->
  forall d e t, neighbours d e -> probability d t <= exp epsilon * probability e t.
Proof.
  intros epsilon budget d e t near. apply Rle_trans with (exp (paid t) * probability e t).
  - apply loss_is_at_most_the_price_paid; exact near.
  - apply Rmult_le_compat_r; [apply probability_nonneg | apply exp_le, budget].
Qed.

(* Rewards need not be fixed before: in each of two worlds they may depend on everything that was answered, as long as
   along each transcript the two worlds are neighbours. *)
Corollary adaptive_data_are_covered : forall epsilon, (forall t, paid t <= epsilon) ->
  forall world other : transcript -> data, (forall t, neighbours (world t) (other t)) ->
  forall t, probability (world t) t <= exp epsilon * probability (other t) t.
Proof. intros epsilon budget world other near t. apply transcript_is_private; auto. Qed.

(* The probability that the transcript is one of some, and of their union with post-processing: whatever somebody reads
   off a transcript (a decision, a stopping time, an estimate: [read]), and whatever event that may be in. *)
Definition chance (d : data) (outcomes : list transcript) : R :=
  fold_right (fun t rest => probability d t + rest) 0 outcomes.

Lemma chance_bounded : forall epsilon, (forall t, paid t <= epsilon) ->
  forall d e outcomes, neighbours d e -> chance d outcomes <= exp epsilon * chance e outcomes.
Proof.
  intros epsilon budget d e outcomes near. induction outcomes as [|t rest IH]; simpl; [lra|].
  rewrite Rmult_plus_distr_l. apply Rplus_le_compat; [apply transcript_is_private; auto | exact IH].
Qed.

(* Whatever is computed from a transcript is as private as the transcript. *)
Corollary post_processing_is_private : forall epsilon, (forall t, paid t <= epsilon) ->
  forall (view : Type) (read : transcript -> view) (event : view -> bool) d e outcomes, neighbours d e ->
  chance d (filter (fun t => event (read t)) outcomes) <= exp epsilon * chance e (filter (fun t => event (read t)) outcomes).
Proof. intros. apply chance_bounded; assumption. Qed.

(* The same for events of infinitely many transcripts, counted off in any order: limits keep the bound. *)
Corollary infinite_events_are_private : forall epsilon, (forall t, paid t <= epsilon) ->
  forall (nth : nat -> transcript) d e chance_d chance_e, neighbours d e ->
  infinite_sum (fun n => probability d (nth n)) chance_d -> infinite_sum (fun n => probability e (nth n)) chance_e ->
  chance_d <= exp epsilon * chance_e.
Proof.
  intros epsilon budget nth d e chance_d chance_e near sum_d sum_e.
  apply Rle_cv_lim with (Un := fun n => sum_f_R0 (fun n => probability d (nth n)) n)
                        (Vn := fun n => exp epsilon * sum_f_R0 (fun n => probability e (nth n)) n).
  - intro n. rewrite scal_sum. apply sum_Rle. intros k _. rewrite Rmult_comm. apply transcript_is_private; auto.
  - intros small positive. destruct (sum_d small positive) as [from close]. exists from. exact close.
  - apply CV_mult.
    + intros small positive. exists O. intros n _. rewrite R_dist_eq. exact positive.
    + intros small positive. destruct (sum_e small positive) as [from close]. exists from. exact close.
Qed.

(* ------------------------------------------------------------------ it is a probability *)

(* A series that was not asked has no part. *)
Lemma part_of_none : forall s h, ~ In s (map fst h) -> part s h = [].
Proof.
  intros s h. induction h as [|[other qa] before IH]; simpl; intro out; [reflexivity|].
  destruct (same_series other s); [subst; tauto | apply IH; tauto].
Qed.

(* An answer of one series is nothing to the others. *)
Lemma product_without : forall d names s qa h, ~ In s names -> product d names ((s, qa) :: h) = product d names h.
Proof.
  intros d names s qa h. induction names as [|other rest IH]; intro out; [reflexivity|]. simpl in *.
  destruct (same_series s other); [subst; tauto|]. rewrite IH by tauto. reflexivity.
Qed.

(* The weight of one series, and those of the others. *)
Lemma product_with : forall d names s h, NoDup names -> (In s names \/ part s h = []) ->
  product d names h = weight (mechanism_of s) d (part s h) * product d (remove same_series s names) h.
Proof.
  intros d names s h different there. induction names as [|other rest IH].
  - destruct there as [[]|none]. simpl. rewrite none, weight_nil. ring.
  - inversion different as [|other' rest' out different']; subst. simpl. destruct (same_series s other) as [<-|differ].
    + rewrite notin_remove by exact out. reflexivity.
    + rewrite IH; [simpl; ring | exact different' |]. destruct there as [[same|there]|none]; [congruence | auto | auto].
Qed.

(* An answer moves one weight alone, that of the series that was asked. So the probabilities of all next answers add up
   to the probability of what was answered before, since the weights of a mechanism do
   (NoisyTotals.answers_add_up, SparseVector.answers_add_up, SparseVector.totals_add_up). *)
Theorem an_answer_moves_one_weight : forall d t h s q, history t = Some h -> plan t = Some (s, q) ->
  exists others, 0 <= others
    /\ probability d t = weight (mechanism_of s) d (part s h) * others
    /\ forall a, probability d (a :: t) = weight (mechanism_of s) d ((q, a) :: part s h) * others.
Proof.
  intros d t h s q asked planned. exists (product d (remove same_series s (begun h)) h).
  assert (different : NoDup (begun h)) by (unfold begun; apply NoDup_nodup).
  assert (there : In s (begun h) \/ part s h = []).
  { destruct (in_dec same_series s (map fst h)) as [inside|out]; [left; apply nodup_In; exact inside | right; apply part_of_none, out]. }
  split; [|split].
  - induction (remove same_series s (begun h)) as [|other rest IH]; simpl; [lra|].
    apply Rmult_le_pos; [apply weight_nonneg | exact IH].
  - unfold probability. rewrite asked. apply product_with; assumption.
  - intro a. unfold probability. simpl. rewrite asked, planned.
    assert (mine : In s (begun ((s, (q, a)) :: h))) by (apply nodup_In; left; reflexivity).
    rewrite (@product_with d (begun ((s, (q, a)) :: h)) s ((s, (q, a)) :: h)) by (try (unfold begun; apply NoDup_nodup); auto).
    replace (remove same_series s (begun ((s, (q, a)) :: h))) with (remove same_series s (begun h)).
    + rewrite product_without by apply remove_In. simpl. destruct (same_series s s); [reflexivity | congruence].
    + unfold begun. simpl. destruct (in_dec same_series s (map fst h)); [reflexivity|].
      simpl. destruct (same_series s s); [reflexivity | congruence].
Qed.

End Curator.

(* The algorithm's own randomness is public: it draws a plan, with some chance for each, and goes by it. That costs
   nothing, since it does not look at the data. *)
Section PublicRandomness.

Variables data question answer series : Type.
Variable same_series : forall a b : series, {a = b} + {a <> b}.
Variable mechanism_of : series -> mechanism data question answer.
Variable neighbours : data -> data -> Prop.
Variable price : series -> list question -> R.
Hypothesis each_is_bounded : forall s, bounded neighbours (mechanism_of s) (price s).

Let plan_type := transcript answer -> option (series * question).

Definition mixed (plans : list (R * plan_type)) (d : data) (t : transcript answer) : R :=
  fold_right (fun drawn rest => fst drawn * probability same_series mechanism_of (snd drawn) d t + rest) 0 plans.

(* So the mixture of plans has the bound that each of them has. *)
Theorem public_randomness_is_free : forall epsilon plans,
  (forall chance plan, In (chance, plan) plans -> 0 <= chance /\ forall t, paid same_series plan price t <= epsilon) ->
  forall d e t, neighbours d e -> mixed plans d t <= exp epsilon * mixed plans e t.
Proof.
  intros epsilon plans budget d e t near. induction plans as [|[chance plan] rest IH]; simpl; [lra|].
  destruct (budget chance plan (or_introl eq_refl)) as [nonneg pays].
  rewrite Rmult_plus_distr_l. apply Rplus_le_compat.
  - rewrite <- Rmult_assoc, (Rmult_comm (exp epsilon) chance), Rmult_assoc.
    apply Rmult_le_compat_l; [exact nonneg|].
    apply (transcript_is_private same_series mechanism_of plan price each_is_bounded); assumption.
  - apply IH. intros other_chance other inside. apply budget. right. exact inside.
Qed.

End PublicRandomness.
