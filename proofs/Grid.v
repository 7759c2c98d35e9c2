(* The grid (core/grid.py) and the statistics (core/statistics.py): rewards become whole numbers between 0 and the
   width, and one changed reward moves a statistic by at most its declared sensitivity.

   Floats are rational numbers, so rewards are rationals here. Dividing by the step, a power of two, is exact where
   nothing underflows; the theorem needs only that rounding keeps the order, which holds for underflow too. *)
Require Import ZArith QArith List Bool Lia.
Require Import Discreet.Rewards.
Import ListNotations.
Open Scope Z_scope.

(* ------------------------------------------------------------------ rounding *)

(* The nearest whole number; of two equally near ones, the even one. So round Python's [round] and numpy's [rint]. *)
Definition round (q : Q) : Z :=
  let n := Qnum q in
  let d := Zpos (Qden q) in
  let below := n / d in
  match 2 * (n mod d) ?= d with
  | Lt => below
  | Gt => below + 1
  | Eq => if Z.even below then below else below + 1
  end.

Lemma round_near : forall q, Qnum q / Zpos (Qden q) <= round q <= Qnum q / Zpos (Qden q) + 1.
Proof. intro q. unfold round. destruct (_ ?= _); try lia. destruct (Z.even _); lia. Qed.

(* A larger number is never rounded to a smaller one. *)
Theorem round_keeps_order : forall p q, (p <= q)%Q -> round p <= round q.
Proof.
  intros [m c] [n d] order. unfold Qle in order. simpl in order.
  pose proof (Z.div_mod m (Zpos c) ltac:(lia)) as split_m. pose proof (Z.div_mod n (Zpos d) ltac:(lia)) as split_n.
  pose proof (Z.mod_pos_bound m (Zpos c) ltac:(lia)) as rest_m.
  pose proof (Z.mod_pos_bound n (Zpos d) ltac:(lia)) as rest_n.
  assert (floors : m / Zpos c <= n / Zpos d).
  { apply Z.div_le_lower_bound; [lia|]. apply Z.mul_le_mono_pos_r with (p := Zpos c); [lia|]. nia. }
  destruct (Z.eq_dec (m / Zpos c) (n / Zpos d)) as [same | less].
  - unfold round. simpl Qnum. simpl Qden. rewrite <- same in *.
    set (f := m / Zpos c) in *. set (r := m mod Zpos c) in *. set (s := n mod Zpos d) in *.
    assert (rests : r * Zpos d <= s * Zpos c) by nia.
    destruct (Z.compare_spec (2 * r) (Zpos c)); destruct (Z.compare_spec (2 * s) (Zpos d));
      destruct (Z.even f); try lia; exfalso; nia.
  - pose proof (round_near (m # c)%Q). pose proof (round_near (n # d)%Q). simpl in *. lia.
Qed.

(* ------------------------------------------------------------------ the grid *)

(* Rewards are declared to lie between low and high; a step is a power of two. *)
Record grid := { low : Q; high : Q; step : Q }.

Definition well_formed (g : grid) : Prop := (low g <= high g)%Q /\ (0 < step g)%Q.

Definition floor (g : grid) : Z := round (low g / step g).
Definition width (g : grid) : Z := round (high g / step g) - floor g.

(* A reward from outside of the range is moved to its nearest end. *)
Definition clip (g : grid) (reward : Q) : Q :=
  if Qle_bool reward (low g) then low g else if Qle_bool (high g) reward then high g else reward.

Definition encode (g : grid) (reward : Q) : Z := round (clip g reward / step g) - floor g.

Lemma clip_within : forall g reward, well_formed g -> (low g <= clip g reward <= high g)%Q.
Proof.
  intros g reward [order _]. unfold clip.
  destruct (Qle_bool reward (low g)) eqn:under; [split; [apply Qle_refl | exact order]|].
  destruct (Qle_bool (high g) reward) eqn:over; [split; [exact order | apply Qle_refl]|].
  split; apply Qlt_le_weak, Qnot_le_lt; intro no; apply Qle_bool_iff in no; congruence.
Qed.

(* Whatever the reward, what is stored of it is a whole number between 0 and the width. *)
Theorem encode_on_grid : forall g reward, well_formed g -> 0 <= encode g reward <= width g.
Proof.
  intros g reward good. pose proof (clip_within g reward good) as [above below]. destruct good as [_ positive].
  assert (divided : forall a b, (a <= b)%Q -> (a / step g <= b / step g)%Q).
  { intros a b less. unfold Qdiv. apply Qmult_le_compat_r; [exact less|]. apply Qlt_le_weak, Qinv_lt_0_compat, positive. }
  pose proof (round_keeps_order _ _ (divided _ _ above)). pose proof (round_keeps_order _ _ (divided _ _ below)).
  unfold encode, width, floor. lia.
Qed.

(* ------------------------------------------------------------------ statistics *)

Set Implicit Arguments.

Section Statistics.

Variable cell : Type.
Variable width : Z.
Hypothesis width_pos : 0 < width.
Variable mine : cell -> bool.

(* The squared difference of two rewards, divided by the width and rounded up (PairsAccumulator). *)
Definition square (x y : Z) : Z := - ((- (x - y) * (x - y)) / width).

Lemma square_within : forall x y, 0 <= x <= width -> 0 <= y <= width -> 0 <= square x y <= width.
Proof.
  intros x y near_x near_y. unfold square.
  pose proof (Z.square_nonneg (x - y)) as nonneg.
  assert (most : (x - y) * (x - y) <= width * width) by nia.
  assert (upper : - (x - y) * (x - y) / width <= 0) by (apply Z.div_le_upper_bound; nia).
  assert (lower : - width <= - (x - y) * (x - y) / width) by (apply Z.div_le_lower_bound; nia).
  lia.
Qed.

(* The sum of them over disjoint pairs: first and second reward, third and fourth, and so on. *)
Fixpoint squares (d : data cell) (cells : list cell) : Z :=
  match cells with
  | x :: y :: rest => square (d x) (d y) + squares d rest
  | _ => 0
  end.

(* Induction by two: a statement about lists that holds for none, for one, and for two more. *)
Lemma by_pairs : forall P : list cell -> Prop,
  P [] -> (forall x, P [x]) -> (forall x y rest, P rest -> P (x :: y :: rest)) -> forall cells, P cells.
Proof.
  intros P none one more. assert (both : forall cells, P cells /\ forall x, P (x :: cells)); [|apply both].
  induction cells as [|y rest [IH IH']]; split; auto.
Qed.

(* A changed reward is in one pair, so it moves the sum by at most the width. *)
Theorem squares_move : forall d e cells, neighbours width mine d e ->
  Z.abs (squares d cells - squares e cells) <= Z.of_nat (count_mine mine cells) * width.
Proof.
  intros d e cells [grid_d [grid_e same]]. induction cells as [| x | x y rest IH] using by_pairs; try (simpl; lia).
  pose proof (square_within (grid_d x) (grid_d y)).
  pose proof (square_within (grid_e x) (grid_e y)).
  simpl squares. simpl count_mine.
  destruct (mine x) eqn:mine_x; destruct (mine y) eqn:mine_y; try rewrite !Nat2Z.inj_succ; try nia.
  rewrite (same x mine_x), (same y mine_y). lia.
Qed.

(* With one reward of the unit: the declared sensitivity. *)
Theorem squares_sensitivity : forall d e cells, neighbours width mine d e -> (count_mine mine cells <= 1)%nat ->
  Z.abs (squares d cells - squares e cells) <= width.
Proof. intros d e cells near once. pose proof (squares_move cells near). nia. Qed.

(* What a curator refuses to believe is no statistic of rewards on the grid (Statistic.largest). *)
Theorem total_at_most : forall (d : data cell) cells, on_grid width d -> 0 <= total d cells <= Z.of_nat (length cells) * width.
Proof.
  intros d cells grid. induction cells as [|x rest IH]; simpl total; simpl length; [lia|].
  pose proof (grid x). rewrite Nat2Z.inj_succ. nia.
Qed.

(* The same for squared differences: there are half as many pairs. *)
Theorem squares_at_most : forall (d : data cell) cells, on_grid width d ->
  0 <= squares d cells <= Z.of_nat (length cells) / 2 * width.
Proof.
  intros d cells grid. induction cells as [| x | x y rest IH] using by_pairs; try (simpl; lia).
  pose proof (square_within (grid x) (grid y)). simpl squares. simpl length.
  replace (Z.of_nat (S (S (length rest)))) with (Z.of_nat (length rest) + 1 * 2) by lia.
  rewrite Z.div_add by lia. nia.
Qed.

End Statistics.
