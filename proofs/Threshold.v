(* Tests that share one noise: the heart of the sparse vector (mechanisms/sparse_vector.py).

   A test says yes if margin >= B + A ([SparseVector.is_above]), where the margin is a measure of the data minus a public
   limit, B is drawn once for all tests, and A for each. The theorem of this file is about any tests with the same B, in
   whatever order they were asked, by one run or by several copies of it:

     on other data, let B be larger by u. A no stays a no if its margin has grown by at most u. A yes stays a yes if its
     A is smaller by v, where v is what its margin lacks. That costs u for B and v for each yes, and nothing for a no. *)
Require Import Reals ZArith List Bool Lra Lia Psatz.
Require Import Discreet.Mechanism Discreet.Sums Discreet.Noise.
Import ListNotations.
Open Scope R_scope.

(* ------------------------------------------------------------------ two laws of noise *)

(* [ups rate law]: to be larger by u costs at most u * rate. [downs]: to be smaller. *)
Definition ups (rate : R) (law : Z -> R) : Prop :=
  forall z u, (0 <= u)%Z -> law z <= exp (IZR u * rate) * law (z + u)%Z.
Definition downs (rate : R) (law : Z -> R) : Prop :=
  forall z v, (0 <= v)%Z -> law z <= exp (IZR v * rate) * law (z - v)%Z.

(* A law of probability. *)
Definition adds_up_to_one (law : Z -> R) : Prop := exists H : summable law, sum law H = 1.

Lemma mass_adds_up : forall scale, 0 < scale -> adds_up_to_one (mass scale).
Proof. intros scale positive. exists (mass_summable scale positive). apply mass_sums_to_one; exact positive. Qed.

Lemma mass_ups : forall scale, 0 < scale -> ups (/ scale) (mass scale).
Proof. intros scale positive z u more. apply mass_ratio; [exact positive | lia]. Qed.

Lemma mass_downs : forall scale, 0 < scale -> downs (/ scale) (mass scale).
Proof. intros scale positive z v more. apply mass_ratio; [exact positive | lia]. Qed.

(* The absolute value of discrete Laplace noise, for one-sided tests. *)
Definition folded (scale : R) (z : Z) : R :=
  (if (0 <=? z)%Z then mass scale z else 0) + (if (0 <? z)%Z then mass scale z else 0).

Lemma folded_nonnegative : forall scale, 0 < scale -> nonnegative (folded scale).
Proof.
  intros scale positive z. unfold folded. pose proof (mass_nonnegative scale positive z).
  destruct (0 <=? z)%Z; destruct (0 <? z)%Z; lra.
Qed.

Lemma summable_where : forall f (at_z : Z -> bool), summable f -> summable (fun z => if at_z z then f z else 0).
Proof.
  intros f at_z H. pose proof (summable_nonnegative f H) as pos. apply summable_le with f; auto.
  - intro z. specialize (pos z). destruct (at_z z); lra.
  - intro z. specialize (pos z). destruct (at_z z); lra.
Qed.

Lemma folded_adds_up : forall scale, 0 < scale -> adds_up_to_one (folded scale).
Proof.
  intros scale positive. pose proof (mass_summable scale positive) as H.
  pose proof (summable_where _ (fun z => 0 <=? z)%Z H) as right_half.
  pose proof (summable_where _ (fun z => 0 <? z)%Z H) as above.
  pose proof (summable_plus _ _ right_half above) as both.
  exists both. change (sum (fun z => (if (0 <=? z)%Z then mass scale z else 0) + (if (0 <? z)%Z then mass scale z else 0)) both = 1).
  rewrite (sum_plus _ _ right_half above both).
  rewrite <- (sum_reflect _ above (summable_reflect _ above)).
  rewrite <- (sum_plus _ _ right_half (summable_reflect _ above) (summable_plus _ _ right_half (summable_reflect _ above))).
  rewrite <- (mass_sums_to_one scale H positive). apply sum_equal. intro z.
  rewrite mass_symmetric. destruct (Z.leb_spec 0 z); destruct (Z.ltb_spec 0 (- z)); try lia; lra.
Qed.

Lemma folded_ups : forall scale, 0 < scale -> ups (/ scale) (folded scale).
Proof.
  intros scale positive z u more. unfold folded.
  pose proof (mass_ups scale positive z u more) as ratio.
  pose proof (mass_nonnegative scale positive (z + u)%Z) as pos. pose proof (exp_pos (IZR u * / scale)).
  destruct (Z.leb_spec 0 z); destruct (Z.ltb_spec 0 z); destruct (Z.leb_spec 0 (z + u));
    destruct (Z.ltb_spec 0 (z + u)); try lia; nra.
Qed.

(* Turned round: the noise of a one-sided test is minus an absolute value. *)
Definition folded_down (scale : R) (z : Z) : R := folded scale (- z).

Lemma folded_down_adds_up : forall scale, 0 < scale -> adds_up_to_one (folded_down scale).
Proof.
  intros scale positive. destruct (folded_adds_up scale positive) as [H one].
  exists (summable_reflect _ H). rewrite <- one. apply sum_reflect.
Qed.

Lemma folded_down_downs : forall scale, 0 < scale -> downs (/ scale) (folded_down scale).
Proof.
  intros scale positive z v more. unfold folded_down. replace (- (z - v))%Z with (- z + v)%Z by lia.
  apply folded_ups; auto.
Qed.

(* ------------------------------------------------------------------ tests *)

Section Tests.

Variable rate : R.
Variables threshold_law test_law : Z -> R.
Hypothesis threshold_one : adds_up_to_one threshold_law.
Hypothesis test_one : adds_up_to_one test_law.
Hypothesis threshold_ups : ups rate threshold_law.
Hypothesis test_downs : downs rate test_law.

(* SparseVector.is_above *)
Definition is_above (margin threshold_noise test_noise : Z) : bool := (threshold_noise + test_noise <=? margin)%Z.

Lemma threshold_summable : summable threshold_law.
Proof. destruct threshold_one as [H _]. exact H. Qed.

Lemma test_summable : summable test_law.
Proof. destruct test_one as [H _]. exact H. Qed.

Lemma threshold_nonnegative : nonnegative threshold_law.
Proof. apply summable_nonnegative, threshold_summable. Qed.

Lemma test_nonnegative : nonnegative test_law.
Proof. apply summable_nonnegative, test_summable. Qed.

(* The probability of an answer to one test, given B = b. *)
Definition chance (b : Z) (test : Z * bool) : R :=
  sum (fun a => if eqb (is_above (fst test) b a) (snd test) then test_law a else 0)
      (summable_where _ (fun a => eqb (is_above (fst test) b a) (snd test)) test_summable).

(* The probability of all answers, given B = b: the A's are independent. *)
Definition chances (b : Z) (tests : list (Z * bool)) : R := fold_right (fun test rest => chance b test * rest) 1 tests.

Lemma chance_nonneg : forall b test, 0 <= chance b test.
Proof. intros. apply sum_nonnegative. Qed.

Lemma chance_at_most_one : forall b test, chance b test <= 1.
Proof.
  intros b test. destruct test_one as [H one]. rewrite <- one. apply sum_le. intro a.
  pose proof (test_nonnegative a). destruct (eqb _ _); lra.
Qed.

(* It says yes or no. *)
Lemma chance_of_either : forall b margin, chance b (margin, true) + chance b (margin, false) = 1.
Proof.
  intros b margin. destruct test_one as [H one]. rewrite <- one. unfold chance.
  rewrite <- (sum_plus _ _ _ _ (summable_plus _ _
    (summable_where _ (fun a => eqb (is_above (fst (margin, true)) b a) (snd (margin, true))) test_summable)
    (summable_where _ (fun a => eqb (is_above (fst (margin, false)) b a) (snd (margin, false))) test_summable))).
  apply sum_equal. intro a. simpl. destruct (is_above margin b a); simpl; lra.
Qed.

Lemma chances_between : forall b tests, 0 <= chances b tests <= 1.
Proof.
  intros b tests. induction tests as [|test rest IH]; simpl; [lra|].
  pose proof (chance_nonneg b test). pose proof (chance_at_most_one b test). nra.
Qed.

Lemma together_summable : forall tests, summable (fun b => threshold_law b * chances b tests).
Proof.
  intro tests. apply summable_le with threshold_law; [| |apply threshold_summable].
  - intro b. apply Rmult_le_pos; [apply threshold_nonnegative | apply chances_between].
  - intro b. pose proof (chances_between b tests). pose proof (threshold_nonnegative b). nra.
Qed.

(* The probability of all answers: B is averaged out. *)
Definition together (tests : list (Z * bool)) : R :=
  sum (fun b => threshold_law b * chances b tests) (together_summable tests).

Lemma together_nonneg : forall tests, 0 <= together tests.
Proof. intros. apply sum_nonnegative. Qed.

Lemma together_nil : together [] = 1.
Proof. destruct threshold_one as [H one]. rewrite <- one. apply sum_equal. intro b. simpl. lra. Qed.

(* It is a probability: those of yes and no add up to that of the tests before. *)
Theorem together_adds_up : forall margin tests,
  together ((margin, true) :: tests) + together ((margin, false) :: tests) = together tests.
Proof.
  intros margin tests. unfold together.
  rewrite <- (sum_plus _ _ _ _ (summable_plus _ _
    (together_summable ((margin, true) :: tests)) (together_summable ((margin, false) :: tests)))).
  apply sum_equal. intro b. pose proof (chance_of_either b margin) as either. simpl.
  rewrite <- Rmult_plus_distr_l, <- Rmult_plus_distr_r, either. lra.
Qed.

(* ------------------------------------------------------------------ what other data cost *)

(* A no stays a no. *)
Lemma no_is_free : forall b u margin other, (other <= margin + u)%Z ->
  chance b (margin, false) <= chance (b + u)%Z (other, false).
Proof.
  intros b u margin other grown. apply sum_le. intro a. pose proof (test_nonnegative a). unfold is_above. simpl.
  destruct (Z.leb_spec (b + a) margin); destruct (Z.leb_spec (b + u + a) other); simpl; try lia; lra.
Qed.

(* A yes stays a yes for an A that is smaller by v. *)
Lemma yes_pays : forall b u v margin other, (0 <= v)%Z -> (margin + u - v <= other)%Z ->
  chance b (margin, true) <= exp (IZR v * rate) * chance (b + u)%Z (other, true).
Proof.
  intros b u v margin other some lacks. unfold chance.
  apply sum_moved with (k := (- v)%Z); [left; apply exp_pos|].
  intro a. pose proof (test_downs a v some) as ratio. replace (a - v)%Z with (a + - v)%Z in ratio by lia.
  pose proof (test_nonnegative (a + - v)%Z). pose proof (exp_pos (IZR v * rate)). unfold is_above. simpl.
  destruct (Z.leb_spec (b + a) margin); destruct (Z.leb_spec (b + u + (a + - v)) other); simpl; try lia; nra.
Qed.

(* [moved u tests others cost]: the same answers to the same tests on other data, whose margins let a B that is larger
   by u give them at this cost. *)
Inductive moved (u : Z) : list (Z * bool) -> list (Z * bool) -> Z -> Prop :=
  | moved_nil : moved u [] [] 0
  | moved_no : forall margin other tests others cost,
      (other <= margin + u)%Z -> moved u tests others cost ->
      moved u ((margin, false) :: tests) ((other, false) :: others) cost
  | moved_yes : forall margin other tests others v cost,
      (0 <= v)%Z -> (margin + u - v <= other)%Z -> moved u tests others cost ->
      moved u ((margin, true) :: tests) ((other, true) :: others) (v + cost).

Lemma chances_moved : forall u tests others cost, moved u tests others cost ->
  forall b, chances b tests <= exp (IZR cost * rate) * chances (b + u)%Z others.
Proof.
  intros u tests others cost moves b. induction moves; simpl.
  - rewrite Rmult_0_l, exp_0. lra.
  - rewrite <- Rmult_assoc, (Rmult_comm (exp _)), Rmult_assoc.
    apply Rmult_le_compat; auto using chance_nonneg, no_is_free. apply chances_between.
  - rewrite plus_IZR, Rmult_plus_distr_r, exp_plus.
    apply Rle_trans with (exp (IZR v * rate) * chance (b + u)%Z (other, true) * (exp (IZR cost * rate) * chances (b + u)%Z others)).
    + apply Rmult_le_compat; auto using chance_nonneg, yes_pays. apply chances_between.
    + right. ring.
Qed.

(* What all tests with one B cost together: u for B, and what each yes lacks. *)
Theorem shared_threshold : forall u tests others cost, (0 <= u)%Z -> moved u tests others cost ->
  together tests <= exp (IZR (u + cost) * rate) * together others.
Proof.
  intros u tests others cost some moves. unfold together.
  apply sum_moved with (k := u); [left; apply exp_pos|].
  intro b. rewrite plus_IZR, Rmult_plus_distr_r, exp_plus.
  apply Rle_trans with (exp (IZR u * rate) * threshold_law (b + u)%Z * (exp (IZR cost * rate) * chances (b + u)%Z others)).
  - apply Rmult_le_compat; [apply threshold_nonnegative | apply chances_between | apply threshold_ups; exact some |].
    apply chances_moved; exact moves.
  - right. ring.
Qed.

End Tests.
