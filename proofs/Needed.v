(* Each hypothesis is needed: without it, the promise is not only unproved but false.

   All examples are of one reward that is 0 or 1 (a grid of width 1), and of the answer 0, which a noisy total gives to
   both, e^(1/scale) times as often to the first. *)
Require Import Reals ZArith List Bool Lra Lia.
Require Import Discreet.Mechanism Discreet.Noise Discreet.Rewards Discreet.NoisyTotals Discreet.Prices.
Import ListNotations.
Open Scope R_scope.

(* There is one reward, and it is the unit's. *)
Definition everything (_ : unit) : bool := true.
Definition zero : data unit := fun _ => 0%Z.
Definition one : data unit := fun _ => 1%Z.

Lemma they_are_neighbours : neighbours 1 everything zero one.
Proof. repeat split; unfold zero, one; try lia. discriminate. Qed.

(* The total of this reward, with noise of some scale. *)
Definition its_total (s : R) (positive : 0 < s) : number unit :=
  {| kind := Total; cells := [tt]; scale := s; scale_pos := positive |}.

Definition chance (d : data unit) (l : list (number unit * Z)) : R := weight (noisy_totals unit 1) d l.

Lemma answer_zero : forall s (positive : 0 < s) rest,
  chance zero ((its_total s positive, 0%Z) :: rest)
  = mass s 0 * chance zero rest
  /\ chance one ((its_total s positive, 0%Z) :: rest) = exp (- / s) * (mass s 0 * chance one rest).
Proof.
  intros s positive rest. split; [reflexivity|].
  change (chance one ((its_total s positive, 0%Z) :: rest)) with (mass s (-1) * chance one rest).
  unfold mass. simpl Z.abs. replace (- (0 / s)) with 0 by (unfold Rdiv; ring). rewrite exp_0.
  replace (- (1 / s)) with (- / s) by (unfold Rdiv; ring). ring.
Qed.

(* How much more often: the losses of the answers add up. *)
Lemma one_answer : forall s (positive : 0 < s),
  chance zero [(its_total s positive, 0%Z)] = exp (/ s) * chance one [(its_total s positive, 0%Z)].
Proof.
  intros s positive. destruct (answer_zero s positive []) as [-> ->].
  rewrite <- Rmult_assoc, <- exp_plus, Rplus_opp_r, exp_0. unfold chance. simpl. ring.
Qed.

Lemma two_answers : forall s (positive : 0 < s),
  chance zero [(its_total s positive, 0%Z); (its_total s positive, 0%Z)]
  = exp (2 * / s) * chance one [(its_total s positive, 0%Z); (its_total s positive, 0%Z)].
Proof.
  intros s positive. destruct (answer_zero s positive [(its_total s positive, 0%Z)]) as [-> ->]. rewrite one_answer.
  replace (2 * / s) with (/ s + / s) by ring. rewrite exp_plus, exp_Ropp. field.
  pose proof (exp_pos (/ s)). lra.
Qed.

Lemma chance_positive : forall d l, 0 < chance d l.
Proof.
  intros d l. unfold chance. simpl. induction l as [|[q a] rest IH]; simpl; [lra|].
  apply Rmult_lt_0_compat; [apply mass_positive, scale_pos | exact IH].
Qed.

Lemma too_much : forall a b d l, a < b -> ~ exp b * chance d l <= exp a * chance d l.
Proof. intros a b d l less no. pose proof (chance_positive d l). pose proof (exp_increasing a b less). nra. Qed.

(* ------------------------------------------------------------------ no reward twice *)

(* Without it: a reward in two totals, each with noise enough for epsilon. Also: a person in two epochs at full price. *)
Theorem a_reward_twice_is_not_private : forall epsilon, 0 < epsilon ->
  exists asked : list (number unit * Z),
    enough 1 epsilon (questions asked)
    /\ ~ chance zero asked <= exp epsilon * chance one asked.
Proof.
  intros epsilon positive. assert (scale_positive : 0 < / epsilon) by (apply Rinv_0_lt_compat; exact positive).
  exists [(its_total (/ epsilon) scale_positive, 0%Z); (its_total (/ epsilon) scale_positive, 0%Z)]. split.
  - intros q [<-|[<-|[]]]; unfold scale_is_enough, its_total; simpl; unfold Rdiv; lra.
  - rewrite two_answers, Rinv_inv. apply too_much. lra.
Qed.

(* ------------------------------------------------------------------ noise of this scale *)

(* Without it: one total, with half of the noise. *)
Theorem half_the_scale_is_not_private : forall epsilon, 0 < epsilon ->
  exists asked : list (number unit * Z),
    (entries everything (questions asked) <= 1)%nat
    /\ enough 1 epsilon (map (fun q => its_total (2 * scale q) (Rmult_lt_0_compat _ _ Rlt_0_2 (scale_pos q))) (questions asked))
    /\ ~ chance zero asked <= exp epsilon * chance one asked.
Proof.
  intros epsilon positive. assert (scale_positive : 0 < / (2 * epsilon)) by (apply Rinv_0_lt_compat; lra).
  exists [(its_total (/ (2 * epsilon)) scale_positive, 0%Z)]. repeat split.
  - simpl. lia.
  - intros q [<-|[]]. unfold scale_is_enough. simpl. right. field. lra.
  - rewrite one_answer, Rinv_inv. apply too_much. lra.
Qed.

(* ------------------------------------------------------------------ the price of each epoch *)

(* Without adding up: two epochs that cost epsilon each. The person has one reward in each. *)
Theorem epochs_at_full_price_are_not_private : forall epsilon, 0 < epsilon ->
  exists asked : list (nat * number unit * Z),
    (forall epoch, enough 1 epsilon (within Nat.eq_dec epoch (map fst asked)))
    /\ (forall epoch, (entries everything (within Nat.eq_dec epoch (map fst asked)) <= 1)%nat)
    /\ ~ chance zero (map (fun x => (snd (fst x), snd x)) asked) <= exp epsilon * chance one (map (fun x => (snd (fst x), snd x)) asked).
Proof.
  intros epsilon positive. assert (scale_positive : 0 < / epsilon) by (apply Rinv_0_lt_compat; exact positive).
  exists [(1%nat, its_total (/ epsilon) scale_positive, 0%Z); (2%nat, its_total (/ epsilon) scale_positive, 0%Z)]. repeat split.
  - intros epoch q. unfold within, map, fst. destruct (Nat.eq_dec 1 epoch); destruct (Nat.eq_dec 2 epoch); simpl;
      intros inside; repeat destruct inside as [<-|inside]; try contradiction; unfold scale_is_enough; simpl; unfold Rdiv; lra.
  - intro epoch. unfold within, map, fst. destruct (Nat.eq_dec 1 epoch); destruct (Nat.eq_dec 2 epoch); subst; simpl; lia.
  - unfold map, fst, snd. rewrite two_answers, Rinv_inv. apply too_much. lra.
Qed.
