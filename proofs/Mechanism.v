(* What a mechanism is, and what it means that it is private at a price.

   A mechanism answers the questions of one series (mechanisms/_mechanism.py). It is described by the probability of its
   answers: [weight d l] is the probability that, on the data d, it gives all answers in l to the questions in l, where
   the latest question comes first. Where the questions came from does not matter: whoever asks may choose each one from
   the answers before it, at random or not. Noise that a mechanism keeps between its answers (a sparse vector's
   threshold) is averaged out in the weight. *)
Require Import Reals List Lra.
Import ListNotations.
Open Scope R_scope.
Set Implicit Arguments.

(* The exponential function keeps the order; the standard library says it for "less" alone. *)
Lemma exp_le : forall a b : R, a <= b -> exp a <= exp b.
Proof. intros a b [less | same]; [left; apply exp_increasing; exact less | right; rewrite same; reflexivity]. Qed.

Section Mechanism.

Variables data question answer : Type.

Record mechanism := {
  weight : data -> list (question * answer) -> R;
  weight_nonneg : forall d l, 0 <= weight d l;
  weight_nil : forall d, weight d [] = 1  (* nothing asked, nothing said *)
}.

(* The questions of a list of questions and answers. *)
Definition questions (l : list (question * answer)) : list question := map fst l.

(* Which inputs must be hard to tell apart. It is fixed for one unit: a reward, a row of rewards, a person. *)
Variable neighbours : data -> data -> Prop.

(* [bounded m price]: on neighbouring data, the probability of the same answers to the same questions differs by a
   factor of at most e^price. The price may depend on the questions: those that a unit's rewards are not in are free. *)
Definition bounded (m : mechanism) (price : list question -> R) : Prop :=
  forall d e, neighbours d e -> forall l, weight m d l <= exp (price (questions l)) * weight m e l.

(* The price of a mechanism that costs the same however many questions are asked: nothing while no question has a reward
   of the unit in it ([entered]), and [price] from then on. *)
Definition flat (entered : question -> bool) (price : R) (asked : list question) : R :=
  if existsb entered asked then price else 0.

(* The price of a mechanism that pays for each question by itself. *)
Definition each (price : question -> R) (asked : list question) : R :=
  fold_right (fun q rest => price q + rest) 0 asked.

(* Who may pay more is covered by a smaller price. *)
Lemma bounded_more : forall m (price more : list question -> R),
  (forall asked, price asked <= more asked) -> bounded m price -> bounded m more.
Proof.
  intros m price more larger private d e near l. apply Rle_trans with (exp (price (questions l)) * weight m e l).
  - apply private; exact near.
  - apply Rmult_le_compat_r; [apply weight_nonneg | apply exp_le, larger].
Qed.

(* A price of zero means that the answers say nothing at all about the unit. *)
Lemma bounded_same : forall m price d e l,
  (forall a b, neighbours a b -> neighbours b a) -> bounded m price -> neighbours d e ->
  price (questions l) = 0 -> weight m d l = weight m e l.
Proof.
  intros m price d e l symmetric private near free.
  pose proof (private d e near l) as there. pose proof (private e d (symmetric d e near) l) as back.
  rewrite free, exp_0 in there, back. lra.
Qed.

End Mechanism.
