(* Noisy totals (mechanisms/noisy_totals.py) and noisy nodes of trees (mechanisms/trees.py) as a mechanism: each number
   that is released is an exact statistic of some cells, plus discrete Laplace noise that was drawn for it alone.

   What a unit loses by a number is the number of its rewards in it, times width/scale. *)
Require Import Reals ZArith List Lra Lia.
Require Import Discreet.Mechanism Discreet.Sums Discreet.Noise Discreet.Rewards Discreet.Grid.
Import ListNotations.
Open Scope R_scope.
Set Implicit Arguments.

(* What is added up (core/statistics.py): the rewards, or the squared differences of disjoint pairs. *)
Inductive statistic := Total | Squares.

Section NoisyTotals.

Variable cell : Type.
Variable width : Z.
Hypothesis width_pos : (0 < width)%Z.

(* A question: which statistic of which rewards, with noise of which scale. *)
Record number := {
  kind : statistic;
  cells : list cell;
  scale : R;
  scale_pos : 0 < scale
}.

Definition exact (d : data cell) (q : number) : Z :=
  match kind q with
  | Total => total d (cells q)
  | Squares => squares width d (cells q)
  end.

(* Each number has noise of its own, so probabilities are multiplied. *)
Definition weight_of_numbers (d : data cell) (l : list (number * Z)) : R :=
  fold_right (fun qa rest => mass (scale (fst qa)) (snd qa - exact d (fst qa)) * rest) 1 l.

Lemma weight_of_numbers_nonneg : forall d l, 0 <= weight_of_numbers d l.
Proof.
  intros d l. induction l as [|[q a] rest IH]; simpl; [lra|].
  apply Rmult_le_pos; [left; apply mass_positive, scale_pos | exact IH].
Qed.

Definition noisy_totals : mechanism (data cell) number Z :=
  {| weight := weight_of_numbers; weight_nonneg := weight_of_numbers_nonneg; weight_nil := fun _ => eq_refl |}.

(* ------------------------------------------------------------------ what it costs *)

Variable mine : cell -> bool.

Definition loss (q : number) : R := INR (count_mine mine (cells q)) * IZR width / scale q.

Lemma loss_nonneg : forall q, 0 <= loss q.
Proof.
  intro q. unfold loss, Rdiv. pose proof (Rinv_0_lt_compat _ (scale_pos q)). pose proof (pos_INR (count_mine mine (cells q))).
  assert (0 < IZR width) by (apply (IZR_lt 0); exact width_pos). apply Rmult_le_pos; [apply Rmult_le_pos|]; lra.
Qed.

(* A statistic moves by at most the width for each of the unit's rewards in it. *)
Lemma exact_moves : forall d e q, neighbours width mine d e ->
  (Z.abs (exact d q - exact e q) <= Z.of_nat (count_mine mine (cells q)) * width)%Z.
Proof.
  intros d e q near. unfold exact. destruct (kind q).
  - apply total_moves; assumption.
  - apply squares_move; assumption.
Qed.

(* Noisy totals are private at the price of their numbers, each paid for by itself. *)
Theorem noisy_totals_bounded : bounded (neighbours width mine) noisy_totals (each loss).
Proof.
  intros d e near l. simpl. induction l as [|[q a] rest IH]; simpl; [rewrite exp_0; lra|].
  rewrite exp_plus.
  apply Rle_trans with (exp (loss q) * mass (scale q) (a - exact e q)
                        * (exp (each loss (questions rest)) * weight_of_numbers e rest)).
  - apply Rmult_le_compat; auto using weight_of_numbers_nonneg.
    + left. apply mass_positive, scale_pos.
    + unfold loss. rewrite INR_IZR_INZ, <- mult_IZR. apply noisy_ratio; [apply scale_pos | apply exact_moves; exact near].
  - right. ring.
Qed.

(* A scale that is enough for epsilon: each of the unit's rewards costs at most epsilon. *)
Lemma loss_at_most : forall q epsilon, 0 < epsilon -> scale_is_enough (scale q) (IZR width) epsilon ->
  loss q <= INR (count_mine mine (cells q)) * epsilon.
Proof.
  intros q epsilon positive enough.
  pose proof (rounded_up_costs_no_more (scale q) (IZR width) epsilon (scale_pos q) positive enough) as less.
  unfold loss, Rdiv in *. rewrite Rmult_assoc. apply Rmult_le_compat_l; [apply pos_INR | exact less].
Qed.

(* ------------------------------------------------------------------ it is a probability *)

(* The chances of all answers to the next question add up to that of the answers before. *)
Lemma next_answer_summable : forall d q l, summable (fun a => weight noisy_totals d ((q, a) :: l)).
Proof.
  intros d q l. simpl. pose proof (scale_pos q) as positive. pose proof (weight_of_numbers_nonneg d l) as nonneg.
  apply summable_le with (g := fun a => weight_of_numbers d l * mass (scale q) (a + - exact d q)%Z).
  - intro a. apply Rmult_le_pos; [left; apply mass_positive; exact positive | exact nonneg].
  - intro a. rewrite Rmult_comm. right. reflexivity.
  - apply summable_scale; [exact nonneg|].
    apply (summable_shift (mass (scale q)) (- exact d q)), mass_summable, positive.
Qed.

(* So nothing is lost and nothing is added, whatever is asked. *)
Theorem answers_add_up : forall d q l,
  sum (fun a => weight noisy_totals d ((q, a) :: l)) (next_answer_summable d q l) = weight noisy_totals d l.
Proof.
  intros d q l. pose proof (scale_pos q) as positive. pose proof (weight_of_numbers_nonneg d l) as nonneg.
  pose proof (mass_summable (scale q) positive) as one.
  pose proof (summable_shift (mass (scale q)) (- exact d q) one) as moved.
  pose proof (summable_scale _ _ nonneg moved) as scaled.
  rewrite (sum_equal _ _ _ scaled) by (intro a; simpl; rewrite Rmult_comm; reflexivity).
  rewrite (sum_scale _ _ moved scaled nonneg), (sum_shift _ _ one moved), mass_sums_to_one by exact positive.
  simpl. lra.
Qed.

End NoisyTotals.
