(* Who pays what: the ways in which the curator keeps a unit's losses at or below epsilon (Curator._charge).

   Numbers are released in groups, such as "the totals of epoch 3" or "the nodes of level 2 of arm B". If each of the
   unit's rewards is in at most one number of each group, and a group's noise is enough for its price, then the unit
   loses at most the sum of the prices of those groups that it is in. Promises.v takes from it what holds for rewards,
   persons and rows. *)
Require Import Reals ZArith List Bool Lra Lia.
Require Import Discreet.Mechanism Discreet.Noise Discreet.Rewards Discreet.NoisyTotals.
Import ListNotations.
Open Scope R_scope.
Set Implicit Arguments.

Section Prices.

Variable cell : Type.
Variable width : Z.
Hypothesis width_pos : (0 < width)%Z.
Variable mine : cell -> bool.

Let number := number cell.

(* How often the unit's rewards enter some numbers. *)
Fixpoint entries (asked : list number) : nat :=
  match asked with
  | [] => 0%nat
  | q :: rest => (count_mine mine (cells q) + entries rest)%nat
  end.

(* What the unit pays for all of them. *)
Definition paid_for (asked : list number) : R := each (loss width mine) asked.

(* All of them have noise for a price. *)
Definition enough (epsilon : R) (asked : list number) : Prop :=
  forall q, In q asked -> scale_is_enough (scale q) (IZR width) epsilon.

(* k entries cost at most k times epsilon. *)
Theorem contributes_at_most : forall epsilon k asked, 0 < epsilon -> enough epsilon asked -> (entries asked <= k)%nat ->
  paid_for asked <= INR k * epsilon.
Proof.
  intros epsilon k asked positive noise few.
  apply Rle_trans with (INR (entries asked) * epsilon).
  - clear few. induction asked as [|q rest IH]; unfold paid_for in *; simpl; [lra|].
    rewrite plus_INR, Rmult_plus_distr_r. apply Rplus_le_compat.
    + apply loss_at_most; [exact positive|]. apply noise. left. reflexivity.
    + apply IH. intros p inside. apply noise. right. exact inside.
  - apply Rmult_le_compat_r; [lra | apply le_INR; exact few].
Qed.

(* ------------------------------------------------------------------ one reward, once *)

(* The case of k = 1: parallel composition over arms and epochs. *)
Theorem one_reward_once : forall epsilon asked, 0 < epsilon -> enough epsilon asked -> (entries asked <= 1)%nat ->
  paid_for asked <= epsilon.
Proof.
  intros epsilon asked positive noise once. pose proof (contributes_at_most positive noise once) as pays.
  simpl in pays. lra.
Qed.

(* ------------------------------------------------------------------ groups *)

Variable group : Type.
Variable same_group : forall a b : group, {a = b} + {a <> b}.

(* The numbers of one group. *)
Fixpoint within (g : group) (asked : list (group * number)) : list number :=
  match asked with
  | [] => []
  | (other, q) :: rest => if same_group other g then q :: within g rest else within g rest
  end.

Definition total_price (price : group -> R) (groups : list group) : R :=
  fold_right (fun g rest => price g + rest) 0 groups.

Lemma paid_nonneg : forall asked, 0 <= paid_for asked.
Proof.
  intro asked. unfold paid_for. induction asked as [|q rest IH]; simpl; [lra|].
  pose proof (loss_nonneg width_pos mine q). lra.
Qed.

(* What is paid is what is paid for all groups. *)
Lemma paid_by_group : forall groups asked, NoDup groups -> (forall g q, In (g, q) asked -> In g groups) ->
  paid_for (map snd asked) = total_price (fun g => paid_for (within g asked)) groups.
Proof.
  intros groups asked different. induction asked as [|[g q] rest IH]; intro known.
  - clear. unfold paid_for. simpl. induction groups as [|g more IH]; simpl; lra.
  - unfold paid_for in *. simpl. rewrite IH by (intros h p inside; apply (known h p); right; exact inside). clear IH.
    assert (there : In g groups) by (apply (known g q); left; reflexivity). clear known.
    assert (apart : forall others, ~ In g others ->
      total_price (fun h => each (loss width mine) (if same_group g h then q :: within h rest else within h rest)) others
      = total_price (fun h => each (loss width mine) (within h rest)) others).
    { induction others as [|h others IHo]; intro out; [reflexivity|]. simpl in out. simpl.
      destruct (same_group g h) as [same|_]; [subst; exfalso; intuition|]. rewrite IHo; intuition. }
    induction groups as [|h more IH]; [destruct there|].
    inversion different as [|h' more' out different']; subst. simpl.
    destruct (same_group g h) as [same|other].
    + subst h. rewrite apart by exact out. simpl. lra.
    + destruct there as [same|there]; [congruence|]. rewrite <- (IH different' there). lra.
Qed.

Lemma total_price_le : forall price most groups, (forall g, In g groups -> price g <= most g) ->
  total_price price groups <= total_price most groups.
Proof.
  intros price most groups le. induction groups as [|g rest IH]; simpl; [lra|].
  apply Rplus_le_compat; [apply le; left; reflexivity | apply IH; intros; apply le; right; assumption].
Qed.

(* The lemma that all others come from. *)
Theorem groups_pay : forall (price : group -> R) groups asked,
  NoDup groups -> (forall g q, In (g, q) asked -> In g groups) ->
  (forall g, 0 < price g) ->
  (forall g, In g groups -> enough (price g) (within g asked)) ->       (* noise of this scale *)
  (forall g, In g groups -> (entries (within g asked) <= 1)%nat) ->     (* no reward twice *)
  paid_for (map snd asked) <= total_price price groups.
Proof.
  intros price groups asked different known positive noise once. rewrite (paid_by_group asked different known).
  apply total_price_le. intros g inside. apply one_reward_once; auto.
Qed.

(* What is not entered is free. *)
Lemma nothing_entered_nothing_paid : forall asked, entries asked = 0%nat -> paid_for asked = 0.
Proof.
  intros asked none. unfold paid_for. induction asked as [|q rest IH]; simpl in *; [reflexivity|].
  rewrite IH by lia. unfold loss. replace (count_mine mine (cells q)) with 0%nat by lia. simpl. unfold Rdiv. ring.
Qed.

(* The groups that were asked, each once. *)
Definition groups_of (asked : list (group * number)) : list group := nodup same_group (map fst asked).

(* The sum of the prices of the groups that the unit is in. *)
Definition price_of_entered (price : group -> R) (asked : list (group * number)) : R :=
  total_price (fun g => if (entries (within g asked) =? 0)%nat then 0 else price g) (groups_of asked).

(* The lemma in its strongest form: who is not in a group does not pay for it. *)
Theorem entered_groups_pay : forall (price : group -> R) asked,
  (forall g, 0 < price g) ->
  (forall g, enough (price g) (within g asked)) ->
  (forall g, (entries (within g asked) <= 1)%nat) ->
  paid_for (map snd asked) <= price_of_entered price asked.
Proof.
  intros price asked positive noise once. rewrite paid_by_group with (groups := groups_of asked).
  - apply total_price_le. intros g _. destruct (Nat.eqb_spec (entries (within g asked)) 0) as [none|some].
    + rewrite nothing_entered_nothing_paid by exact none. lra.
    + apply one_reward_once; auto.
  - apply NoDup_nodup.
  - intros g q inside. apply nodup_In. apply in_map_iff. exists (g, q). auto.
Qed.

(* ------------------------------------------------------------------ equal shares *)

Lemma total_price_const : forall c groups, total_price (fun _ => c) groups = INR (length groups) * c.
Proof.
  intros c groups. induction groups as [|g rest IH]; simpl total_price; simpl length; [simpl; lra|].
  rewrite IH, S_INR. lra.
Qed.

(* Noise for epsilon/shares is noise of sensitivity shares * width for epsilon, which is what the code asks for. *)
Theorem shares_pay : forall epsilon groups asked, groups <> [] ->
  NoDup groups -> (forall g q, In (g, q) asked -> In g groups) -> 0 < epsilon ->
  (forall g q, In (g, q) asked -> scale_is_enough (scale q) (INR (length groups) * IZR width) epsilon) ->
  (forall g, In g groups -> (entries (within g asked) <= 1)%nat) ->
  paid_for (map snd asked) <= epsilon.
Proof.
  intros epsilon groups asked some different known positive noise once.
  assert (shares : 0 < INR (length groups)).
  { apply lt_0_INR. destruct groups; [congruence | simpl; lia]. }
  replace epsilon with (total_price (fun _ : group => epsilon / INR (length groups)) groups)
    by (rewrite total_price_const; field; lra).
  apply groups_pay; auto.
  - intro g. apply Rdiv_lt_0_compat; assumption.
  - intros g _ q inside. assert (from : In (g, q) asked).
    { clear - inside. induction asked as [|[h p] rest IH]; simpl in *; [contradiction|].
      destruct (same_group h g) as [same|_]; [|right; auto]. simpl in inside.
      destruct inside as [<-|inside]; [left; rewrite same; reflexivity | right; auto]. }
    specialize (noise g q from). unfold scale_is_enough in *.
    replace (IZR width / (epsilon / INR (length groups))) with (INR (length groups) * IZR width / epsilon)
      by (field; lra). exact noise.
Qed.

End Prices.
