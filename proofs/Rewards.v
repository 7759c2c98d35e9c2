(* Rewards, whom a promise protects, and what is added up.

   A *cell* is the place of one reward: an arm and a number, say. Data gives each cell its reward in grid steps, a whole
   number between 0 and the grid's width (Grid.v shows that clipping and rounding see to that). A *unit* is whom the
   promise protects: the cells that it has are given by [mine]. One reward: one cell. A row: one cell of each arm. A
   person: one cell of each epoch at most. *)
Require Import ZArith List Bool Lia.
Import ListNotations.
Open Scope Z_scope.
Set Implicit Arguments.

(* Two lists without repetition that share nothing are one list without repetition. *)
Lemma nodup_both : forall (thing : Type) (l r : list thing),
  NoDup l -> NoDup r -> (forall x, In x l -> ~ In x r) -> NoDup (l ++ r).
Proof.
  intros thing l. induction l as [|x l IH]; intros r left right apart; simpl; auto. inversion left; subst. constructor.
  - intro inside. apply in_app_or in inside. destruct inside as [inside|inside]; auto. apply (apart x); simpl; auto.
  - apply IH; auto. intros y inside. apply apart. simpl. auto.
Qed.

Section Rewards.

Variable cell : Type.
Definition data := cell -> Z.

Variable width : Z.
Hypothesis width_pos : 0 < width.

(* All rewards are on the grid. *)
Definition on_grid (d : data) : Prop := forall x, 0 <= d x <= width.

Variable mine : cell -> bool.

(* Neighbours: the unit's rewards may all be others; everybody else's are the same. *)
Definition neighbours (d e : data) : Prop :=
  on_grid d /\ on_grid e /\ forall x, mine x = false -> d x = e x.

Lemma neighbours_symmetric : forall d e, neighbours d e -> neighbours e d.
Proof.
  intros d e [grid_d [grid_e same]]. split; [exact grid_e | split; [exact grid_d|]].
  intros x other. symmetry; auto.
Qed.

(* The exact total of some cells (core/statistics.py, TotalAccumulator). *)
Definition total (d : data) (cells : list cell) : Z := fold_right (fun x sum => d x + sum) 0 cells.

(* How many of some cells are the unit's. *)
Fixpoint count_mine (cells : list cell) : nat :=
  match cells with
  | [] => 0%nat
  | x :: rest => if mine x then S (count_mine rest) else count_mine rest
  end.

(* Whether any of them is. *)
Definition has_mine (cells : list cell) : bool := existsb mine cells.

Lemma count_none : forall cells, has_mine cells = false -> count_mine cells = 0%nat.
Proof. induction cells as [|x rest IH]; simpl; auto. destruct (mine x); simpl; [discriminate | exact IH]. Qed.

Lemma count_app : forall a b, count_mine (a ++ b) = (count_mine a + count_mine b)%nat.
Proof. induction a as [|x a IH]; intro b; simpl; auto. rewrite IH. destruct (mine x); reflexivity. Qed.

(* A total moves by at most the width for each of the unit's rewards in it. *)
Lemma total_moves : forall d e cells, neighbours d e ->
  Z.abs (total d cells - total e cells) <= Z.of_nat (count_mine cells) * width.
Proof.
  intros d e cells [grid_d [grid_e same]]. induction cells as [|x rest IH]; [simpl; lia|].
  pose proof (grid_d x). pose proof (grid_e x). simpl total. simpl count_mine. destruct (mine x) eqn:is_mine.
  - rewrite Nat2Z.inj_succ. lia.
  - rewrite (same x is_mine). lia.
Qed.

(* So one changed reward moves a total by at most the width: its declared sensitivity. *)
Theorem total_sensitivity : forall d e cells, neighbours d e -> (count_mine cells <= 1)%nat ->
  Z.abs (total d cells - total e cells) <= width.
Proof. intros d e cells near once. pose proof (total_moves cells near). nia. Qed.

(* A total without any of the unit's rewards does not move. *)
Lemma total_same : forall d e cells, neighbours d e -> has_mine cells = false -> total d cells = total e cells.
Proof. intros d e cells near none. pose proof (total_moves cells near) as moves. rewrite count_none in moves; auto; lia. Qed.

End Rewards.
