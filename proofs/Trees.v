(* Continual counters (mechanisms/trees.py): binary trees. Hybrid counters are in Hybrid.v.

   Item t of a binary tree completes the node that covers the last 2^level items, where level is the number of trailing
   zero bits of t. An item lies in at most one node of each level, and there are floor(log2 horizon) + 1 levels. *)
Require Import Reals ZArith Arith List Lra Lia.
Require Import Discreet.Mechanism Discreet.Noise Discreet.Rewards Discreet.NoisyTotals Discreet.Prices.
Import ListNotations.
Open Scope nat_scope.
Set Implicit Arguments.

(* ------------------------------------------------------------------ levels *)

(* The number of trailing zero bits. *)
Fixpoint trailing_zeros (p : positive) : nat :=
  match p with
  | xO half => S (trailing_zeros half)
  | _ => 0
  end.

Definition level (t : nat) : nat := trailing_zeros (Pos.of_nat t).

(* The node that item t completes covers this many items. *)
Definition size (t : nat) : nat := 2 ^ level t.

(* The number of levels: Python's [horizon.bit_length()]. *)
Definition levels (horizon : nat) : nat := S (Nat.log2 horizon).

Lemma size_divides : forall t, 0 < t -> exists m, t = m * size t.
Proof.
  assert (of_positive : forall p, exists m, Pos.to_nat p = m * 2 ^ trailing_zeros p).
  { induction p as [p _ | p [m IH] |]; simpl trailing_zeros.
    - exists (Pos.to_nat p~1). simpl Nat.pow. lia.
    - exists m. rewrite Pos2Nat.inj_xO, IH. simpl. lia.
    - exists 1. reflexivity. }
  intros t some. destruct (of_positive (Pos.of_nat t)) as [m whole]. exists m.
  rewrite Nat2Pos.id in whole by lia. exact whole.
Qed.

Lemma size_positive : forall t, 0 < size t.
Proof. intro t. unfold size. pose proof (Nat.pow_nonzero 2 (level t)). lia. Qed.

Lemma size_at_most : forall t, 0 < t -> size t <= t.
Proof. intros t some. destruct (size_divides some) as [m whole]. destruct m; nia. Qed.

Lemma level_below : forall t horizon, 0 < t <= horizon -> level t < levels horizon.
Proof.
  intros t horizon [some most]. unfold levels. apply le_n_S. apply Nat.log2_le_pow2; [lia|].
  pose proof (size_at_most some). unfold size in *. lia.
Qed.

(* ------------------------------------------------------------------ counting entries *)

Section Counting.

Variable cell : Type.
Variable mine : cell -> bool.

(* If the unit's places in a list are all the same one, and the list has none twice, there is one at most. *)
Lemma at_most_one : forall l, NoDup l ->
  (forall x y, In x l -> In y l -> mine x = true -> mine y = true -> x = y) -> count_mine mine l <= 1.
Proof.
  induction l as [|x rest IH]; intros different same; simpl; [lia|].
  inversion different as [|x' rest' out different']; subst.
  destruct (mine x) eqn:is_mine; [|apply IH; auto; intros; apply same; simpl; auto].
  replace (count_mine mine rest) with 0; [lia|]. symmetry. apply count_none.
  unfold has_mine. apply Bool.not_true_iff_false. intro some. apply existsb_exists in some. destruct some as [y [inside is_y]].
  rewrite (same x y) in out; simpl; auto.
Qed.

(* How many of the unit's places are in the numbers asked: those in all of their cells. *)
Lemma entries_of_cells : forall asked : list (number cell), entries mine asked = count_mine mine (flat_map (@cells cell) asked).
Proof. induction asked as [|q rest IH]; simpl; auto. rewrite count_app, IH. reflexivity. Qed.

Lemma count_placed : forall (place : nat -> cell) l, count_mine mine (map place l) = count_mine (fun i => mine (place i)) l.
Proof. induction l as [|i rest IH]; simpl; auto. rewrite IH. reflexivity. Qed.

(* Who is in some numbers about the items of a counter has one of its items. *)
Lemma someone_there : forall (group : Type) (place : nat -> cell) (asked : list (group * number cell)),
  (forall g q, In (g, q) asked -> exists items, cells q = map place items) ->
  entries mine (map snd asked) <> 0 -> exists i, mine (place i) = true.
Proof.
  intros group place asked. induction asked as [|[g q] rest IH]; intros of_items some; simpl in some; [congruence|].
  destruct (Nat.eq_dec (count_mine mine (cells q)) 0) as [none|here].
  - apply IH; [|rewrite none in some; exact some]. intros h p inside. apply (of_items h p). right. exact inside.
  - destruct (of_items g q (or_introl eq_refl)) as [items is_of].
    destruct (has_mine mine (cells q)) eqn:any; [|exfalso; apply here, count_none, any].
    apply existsb_exists in any. destruct any as [x [inside is_mine]]. rewrite is_of in inside.
    apply in_map_iff in inside. destruct inside as [i [<- _]]. exists i. exact is_mine.
Qed.

End Counting.

(* ------------------------------------------------------------------ a binary tree *)

Section Tree.

Variable cell : Type.
Variable width : Z.
Hypothesis width_pos : (0 < width)%Z.
Variable mine : cell -> bool.

(* The place of the tree's item number i; the unit has at most one of them. *)
Variable place : nat -> cell.
Hypothesis one_item : forall i j, mine (place i) = true -> mine (place j) = true -> i = j.

(* All nodes have noise of one scale. *)
Variable node_scale : R.
Hypothesis node_scale_pos : (0 < node_scale)%R.

(* The numbers of the items that node t covers: the last ones, up to t. *)
Definition covered (t : nat) : list nat := seq (S (t - size t)) (size t).

Definition node (t : nat) : number cell :=
  {| kind := Total; cells := map place (covered t); scale := node_scale; scale_pos := node_scale_pos |}.

(* The nodes of the first n items, each with its level. *)
Fixpoint nodes (n : nat) : list (nat * number cell) :=
  match n with
  | O => []
  | S before => (level n, node n) :: nodes before
  end.

(* The items that the nodes of one level cover. *)
Fixpoint covered_at (i n : nat) : list nat :=
  match n with
  | O => []
  | S before => if Nat.eq_dec (level n) i then covered n ++ covered_at i before else covered_at i before
  end.

Lemma cells_at : forall i n,
  flat_map (@cells cell) (within Nat.eq_dec i (nodes n)) = map place (covered_at i n).
Proof.
  intros i n. induction n as [|n IH]; [reflexivity|]. simpl nodes. simpl within. simpl covered_at.
  destruct (Nat.eq_dec (level (S n)) i); [|exact IH]. simpl flat_map. rewrite map_app, IH. reflexivity.
Qed.

(* Nodes of one level end at multiples of their size, so those of the past are over when the next one begins. *)
Lemma covered_before : forall i n x, In x (covered_at i n) -> x <= n / 2 ^ i * 2 ^ i.
Proof.
  intros i n x. pose proof (Nat.pow_nonzero 2 i ltac:(lia)) as some. induction n as [|n IH]; simpl; [contradiction|].
  assert (later : n / 2 ^ i <= S n / 2 ^ i) by (apply Nat.div_le_mono; lia).
  destruct (Nat.eq_dec (level (S n)) i) as [here|_]; [|intro inside; specialize (IH inside); nia].
  intro inside. apply in_app_or in inside. destruct inside as [inside|inside]; [|specialize (IH inside); nia].
  destruct (size_divides (Nat.lt_0_succ n)) as [m whole].
  pose proof (size_at_most (Nat.lt_0_succ n)) as fits.
  unfold covered in inside. apply in_seq in inside. unfold size in *. rewrite here in *.
  assert (S n / 2 ^ i = m) by (rewrite whole; apply Nat.div_mul; exact some). nia.
Qed.

Lemma covered_once : forall i n, NoDup (covered_at i n).
Proof.
  intros i n. induction n as [|n IH]; simpl; [constructor|].
  destruct (Nat.eq_dec (level (S n)) i) as [here|_]; [|exact IH].
  apply nodup_both; [apply seq_NoDup | exact IH|]. intros x now before. apply covered_before in before.
  destruct (size_divides (Nat.lt_0_succ n)) as [m whole].
  pose proof (size_at_most (Nat.lt_0_succ n)) as fits.
  unfold covered in now. apply in_seq in now. unfold size in *. rewrite here in *.
  pose proof (Nat.pow_nonzero 2 i ltac:(lia)) as some.
  assert (earlier : n / 2 ^ i < m) by (apply Nat.div_lt_upper_bound; lia). nia.
Qed.

(* An item is in at most one node of each level. *)
Theorem one_node_a_level : forall i n, entries mine (within Nat.eq_dec i (nodes n)) <= 1.
Proof.
  intros i n. rewrite entries_of_cells, cells_at, count_placed.
  apply at_most_one; [apply covered_once|]. intros x y _ _. apply one_item.
Qed.

Lemma known_levels : forall n horizon g q, n <= horizon -> In (g, q) (nodes n) -> In g (seq 0 (levels horizon)).
Proof.
  intros n horizon g q fits. induction n as [|n IH]; [simpl; contradiction|]. simpl nodes. intros [same|inside].
  - injection same as <- _. apply in_seq. pose proof (level_below (t := S n) (horizon := horizon)). lia.
  - apply IH; [lia | exact inside].
Qed.

Lemma scale_of_node : forall n g q, In (g, q) (nodes n) -> scale q = node_scale.
Proof.
  intros n g q. induction n as [|n IH]; simpl; [contradiction|]. intros [same|inside]; auto.
  injection same as _ <-. reflexivity.
Qed.

Lemma node_items : forall n g q, In (g, q) (nodes n) -> exists items, cells q = map place items.
Proof.
  intros n g q. induction n as [|n IH]; [simpl; contradiction|]. simpl nodes. intros [same|inside]; auto.
  injection same as _ <-. exists (covered (S n)). reflexivity.
Qed.

(* A tree whose noise is that of sensitivity levels * width costs each of its items epsilon. *)
Theorem tree_pays : forall epsilon horizon n, n <= horizon -> (0 < epsilon)%R ->
  scale_is_enough node_scale (INR (levels horizon) * IZR width) epsilon ->
  (paid_for width mine (map snd (nodes n)) <= epsilon)%R.
Proof.
  intros epsilon horizon n fits positive noise.
  apply shares_pay with (same_group := Nat.eq_dec) (groups := seq 0 (levels horizon)); auto.
  - unfold levels. simpl. congruence.
  - apply seq_NoDup.
  - intros g q. apply known_levels. exact fits.
  - intros g q inside. rewrite (scale_of_node n g q inside), seq_length. exact noise.
  - intros g _. apply one_node_a_level.
Qed.

End Tree.
