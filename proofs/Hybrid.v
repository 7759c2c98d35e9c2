(* Hybrid counters (mechanisms/trees.py, HybridCounter), which never end.

   Items 1, 2, 4, 8, ... complete the sum since the last power of two, at epsilon/2. The items between two powers of two
   are those of a tree of their own, at epsilon/2. An item lies in one such sum and in one tree. *)
Require Import Reals ZArith Arith List FinFun Lra Lia.
Require Import Discreet.Mechanism Discreet.Noise Discreet.Rewards Discreet.NoisyTotals Discreet.Prices Discreet.Trees.
Import ListNotations.
Open Scope nat_scope.
Set Implicit Arguments.

(* The last power of two up to t, and its exponent. *)
Definition exponent (t : nat) : nat := Nat.log2 t.
Definition is_power (t : nat) : bool := 2 ^ exponent t =? t.

(* By what epsilon is divided for the node that item t completes (HybridCounter.next_share). *)
Definition share (t : nat) : nat := if is_power t then 2 else 2 * levels (2 ^ exponent t - 1).

Lemma exponent_bounds : forall t, 0 < t -> 2 ^ exponent t <= t < 2 * 2 ^ exponent t.
Proof. intros t some. pose proof (Nat.log2_spec t some) as bounds. simpl Nat.pow in bounds. unfold exponent. lia. Qed.

Lemma exponent_is : forall t k, 2 ^ k <= t < 2 * 2 ^ k -> exponent t = k.
Proof. intros t k bounds. apply Nat.log2_unique; simpl; lia. Qed.

Lemma power_positive : forall k, 0 < 2 ^ k.
Proof. intro k. pose proof (Nat.pow_nonzero 2 k). lia. Qed.

Section Hybrid.

Variable cell : Type.
Variable width : Z.
Hypothesis width_pos : (0 < width)%Z.
Variable mine : cell -> bool.
Variable place : nat -> cell.
Hypothesis one_item : forall i j, mine (place i) = true -> mine (place j) = true -> i = j.

(* The noise of the sums, and of the tree after 2^k. *)
Variable sum_scale : R.
Hypothesis sum_scale_pos : (0 < sum_scale)%R.
Variable tree_scale : nat -> R.
Hypothesis tree_scale_pos : forall k, (0 < tree_scale k)%R.

(* The items of the sum that item t = 2^k completes: those after 2^(k - 1). *)
Definition block (t : nat) : list nat := seq (S (t / 2)) (t - t / 2).

Definition block_sum (t : nat) : number cell :=
  {| kind := Total; cells := map place (block t); scale := sum_scale; scale_pos := sum_scale_pos |}.

(* The tree after 2^k counts from there. *)
Definition tree_place (k i : nat) : cell := place (2 ^ k + i).
Definition tree_nodes (k n : nat) : list (nat * number cell) := nodes (tree_place k) (tree_scale_pos k) n.

(* The groups: the sums (None), and the nodes of each tree (Some k). *)
Definition same_part (a b : option nat) : {a = b} + {a <> b}.
Proof. decide equality. apply Nat.eq_dec. Qed.

Definition hybrid_node (t : nat) : option nat * number cell :=
  if is_power t then (None, block_sum t)
  else (Some (exponent t), node (tree_place (exponent t)) (tree_scale_pos (exponent t)) (t - 2 ^ exponent t)).

(* The nodes of the first n items. *)
Fixpoint hybrid_nodes (n : nat) : list (option nat * number cell) :=
  match n with
  | O => []
  | S before => hybrid_node n :: hybrid_nodes before
  end.

(* ------------------------------------------------------------------ the sums *)

Fixpoint blocks (n : nat) : list nat :=
  match n with
  | O => []
  | S before => if is_power n then block n ++ blocks before else blocks before
  end.

Lemma cells_of_blocks : forall n,
  flat_map (@cells cell) (within same_part None (hybrid_nodes n)) = map place (blocks n).
Proof.
  induction n as [|n IH]; [reflexivity|]. simpl hybrid_nodes. unfold hybrid_node. simpl blocks.
  destruct (is_power (S n)); cbn [within].
  - destruct (same_part None None); [|congruence]. simpl flat_map. rewrite map_app, IH. reflexivity.
  - destruct (same_part (Some (exponent (S n))) None); [discriminate | exact IH].
Qed.

Lemma blocks_before : forall n x, In x (blocks n) -> 0 < n /\ x <= 2 ^ exponent n.
Proof.
  intros n x. induction n as [|n IH]; [simpl; contradiction|]. intro inside. split; [lia|].
  pose proof (exponent_bounds (Nat.lt_0_succ n)) as now.
  assert (older : In x (blocks n) -> x <= 2 ^ exponent (S n)).
  { intros earlier. destruct (IH earlier) as [some most].
    assert (2 ^ exponent n <= 2 ^ exponent (S n)); [|lia].
    apply Nat.pow_le_mono_r; [lia|]. apply Nat.log2_le_mono. lia. }
  simpl blocks in inside. destruct (is_power (S n)) eqn:power; [|auto].
  apply Nat.eqb_eq in power. apply in_app_or in inside. destruct inside as [inside|inside]; [|auto].
  unfold block in inside. apply in_seq in inside. pose proof (Nat.div_le_upper_bound (S n) 2 (S n)). lia.
Qed.

Lemma blocks_once : forall n, NoDup (blocks n).
Proof.
  induction n as [|n IH]; [constructor|]. simpl blocks. destruct (is_power (S n)) eqn:power; [|exact IH].
  apply nodup_both; [apply seq_NoDup | exact IH|]. intros x now before.
  apply blocks_before in before. destruct before as [some most]. apply Nat.eqb_eq in power.
  unfold block in now. apply in_seq in now. pose proof (exponent_bounds some) as earlier.
  assert (half : 2 ^ exponent n <= S n / 2); [|lia].
  apply Nat.div_le_lower_bound; [lia|].
  destruct (exponent (S n)) as [|k] eqn:which; [simpl in power; lia|].
  assert (exponent n <= k).
  { assert (below : n < 2 ^ S k) by lia. apply Nat.log2_lt_pow2 in below; [unfold exponent; lia | lia]. }
  pose proof (Nat.pow_le_mono_r 2 (exponent n) k). simpl Nat.pow in power. lia.
Qed.

Lemma one_sum : forall n, entries mine (within same_part None (hybrid_nodes n)) <= 1.
Proof.
  intro n. rewrite entries_of_cells, cells_of_blocks, count_placed.
  apply at_most_one; [apply blocks_once|]. intros x y _ _. apply one_item.
Qed.

(* ------------------------------------------------------------------ the trees *)

Lemma nodes_of_tree : forall k n,
  within same_part (Some k) (hybrid_nodes n) = map snd (tree_nodes k (Nat.min (n - 2 ^ k) (2 ^ k - 1))).
Proof.
  intros k n. pose proof (power_positive k) as some. induction n as [|n IH]; [reflexivity|].
  simpl hybrid_nodes. unfold hybrid_node.
  pose proof (exponent_bounds (Nat.lt_0_succ n)) as bounds.
  destruct (is_power (S n)) eqn:power; cbn [within].
  - destruct (same_part None (Some k)); [discriminate|]. apply Nat.eqb_eq in power. rewrite IH. f_equal. f_equal.
    destruct (Nat.le_gt_cases (exponent (S n)) k) as [less|more].
    + pose proof (Nat.pow_le_mono_r 2 _ _ ltac:(lia) less). lia.
    + pose proof (Nat.pow_le_mono_r 2 (S k) _ ltac:(lia) more) as twice. simpl Nat.pow in twice. lia.
  - apply Nat.eqb_neq in power. destruct (same_part (Some (exponent (S n))) (Some k)) as [same|other].
    + injection same as same. rewrite same in *. rewrite IH. clear IH.
      replace (Nat.min (S n - 2 ^ k) (2 ^ k - 1)) with (S (n - 2 ^ k)) by lia.
      replace (Nat.min (n - 2 ^ k) (2 ^ k - 1)) with (n - 2 ^ k) by lia.
      replace (S n - 2 ^ k) with (S (n - 2 ^ k)) by lia. reflexivity.
    + rewrite IH. f_equal. f_equal. destruct (Nat.lt_trichotomy (exponent (S n)) k) as [less|[same|more]].
      * pose proof (Nat.pow_le_mono_r 2 (S (exponent (S n))) k ltac:(lia) less) as twice. simpl Nat.pow in twice. lia.
      * congruence.
      * pose proof (Nat.pow_le_mono_r 2 (S k) _ ltac:(lia) more) as twice. simpl Nat.pow in twice. lia.
Qed.

(* Whoever is in some node of a tree is one of its items. *)
Lemma items_of_nodes : forall k n, entries mine (map snd (tree_nodes k n)) <> 0 ->
  exists i, 1 <= i <= n /\ mine (tree_place k i) = true.
Proof.
  intros k n. induction n as [|n IH]; [simpl; congruence|]. simpl tree_nodes. intro some. simpl in some.
  destruct (Nat.eq_dec (count_mine mine (map (tree_place k) (covered (S n)))) 0) as [none|here].
  - rewrite none in some. destruct (IH some) as [i [range is_mine]]. exists i. split; [lia | exact is_mine].
  - rewrite count_placed in here.
    destruct (has_mine (fun i => mine (tree_place k i)) (covered (S n))) eqn:any;
      [|exfalso; apply here, count_none, any].
    apply existsb_exists in any. destruct any as [i [inside is_mine]]. exists i. split; [|exact is_mine].
    unfold covered in inside. apply in_seq in inside. pose proof (size_at_most (Nat.lt_0_succ n)). lia.
Qed.

(* If at most one part of a sum is not zero, the sum is at most what one part is at most. *)
Lemma one_part_pays : forall (part : Type) (pays : part -> R) most parts, (0 <= most)%R -> NoDup parts ->
  (forall g, In g parts -> (pays g <= most)%R) ->
  (forall g h, In g parts -> In h parts -> pays g <> 0%R -> pays h <> 0%R -> g = h) ->
  (total_price pays parts <= most)%R.
Proof.
  intros part pays most parts nonneg. induction parts as [|g rest IH]; intros different bound single; simpl; [exact nonneg|].
  inversion different as [|g' rest' out different']; subst.
  destruct (Req_dec (pays g) 0) as [zero|some].
  - rewrite zero, Rplus_0_l. apply IH; auto; intros; [apply bound | apply single]; simpl; auto.
  - assert (others : total_price pays rest = 0%R).
    { assert (zeros : forall h, In h rest -> pays h = 0%R).
      { intros h inside. destruct (Req_dec (pays h) 0) as [zero|other]; auto. exfalso. apply out.
        rewrite (single g h); simpl; auto. }
      clear - zeros. induction rest as [|h rest IH]; simpl; [reflexivity|].
      rewrite (zeros h) by (left; reflexivity). rewrite IH by (intros g inside; apply zeros; right; exact inside). ring. }
    rewrite others, Rplus_0_r. apply bound. simpl. auto.
Qed.

Lemma hybrid_items : forall n g q, In (g, q) (hybrid_nodes n) -> exists items, cells q = map place items.
Proof.
  intros n g q. induction n as [|n IH]; [simpl; contradiction|]. simpl hybrid_nodes. intros [same|inside]; auto.
  unfold hybrid_node in same. destruct (is_power (S n)); injection same as _ <-.
  - exists (block (S n)). reflexivity.
  - set (k := exponent (S n)). exists (map (fun i => 2 ^ k + i) (covered (S n - 2 ^ k))). simpl. rewrite map_map. reflexivity.
Qed.

(* ------------------------------------------------------------------ the theorem *)

(* A hybrid counter costs each of its items epsilon: half for its sum, half for its tree. *)
Theorem hybrid_pays : forall epsilon n, (0 < epsilon)%R ->
  scale_is_enough sum_scale (2 * IZR width) epsilon ->
  (forall k, scale_is_enough (tree_scale k) (INR (2 * levels (2 ^ k - 1)) * IZR width) epsilon) ->
  (paid_for width mine (map snd (hybrid_nodes n)) <= epsilon)%R.
Proof.
  intros epsilon n positive sum_noise tree_noise.
  set (trees := map (@Some nat) (seq 0 (S (exponent n)))).
  assert (is_tree : forall g, In g trees -> exists k, g = Some k).
  { intros g inside. apply in_map_iff in inside. destruct inside as [k [<- _]]. exists k. reflexivity. }
  assert (some_tree : forall k, k <= exponent n -> In (Some k) trees) by (intros k most; apply in_map, in_seq; lia).
  assert (different : NoDup trees).
  { apply Injective_map_NoDup; [intros a b same; congruence | apply seq_NoDup]. }
  clearbody trees. rewrite paid_by_group with (same_group := same_part) (groups := None :: trees).
  - replace epsilon with (epsilon / 2 + epsilon / 2)%R by field. simpl total_price. apply Rplus_le_compat.
    + apply one_reward_once; [lra | | apply one_sum]. intros q inside.
      assert (its_scale : scale q = sum_scale).
      { clear - inside. induction n as [|n IH]; simpl in inside; [contradiction|].
        unfold hybrid_node in inside. destruct (is_power (S n)); destruct (same_part _ _) in inside; auto; try discriminate.
        destruct inside as [same|inside]; [rewrite <- same; reflexivity | auto]. }
      rewrite its_scale. unfold scale_is_enough in *.
      replace (IZR width / (epsilon / 2))%R with (2 * IZR width / epsilon)%R by (field; lra). exact sum_noise.
    + apply one_part_pays; [lra | exact different | |].
      * intros g inside. destruct (is_tree g inside) as [k ->]. rewrite nodes_of_tree.
        unfold tree_nodes. apply tree_pays with (horizon := 2 ^ k - 1); [ | lia | lra |].
        -- intros i j mine_i mine_j. pose proof (@one_item _ _ mine_i mine_j). lia.
        -- specialize (tree_noise k). rewrite mult_INR in tree_noise. unfold scale_is_enough in *.
           replace (INR (levels (2 ^ k - 1)) * IZR width / (epsilon / 2))%R
             with (INR 2 * INR (levels (2 ^ k - 1)) * IZR width / epsilon)%R by (simpl; field; lra). exact tree_noise.
      * intros g h in_g in_h some_g some_h. destruct (is_tree g in_g) as [k ->]. destruct (is_tree h in_h) as [m ->].
        f_equal.
        assert (item : forall j, paid_for width mine (within same_part (Some j) (hybrid_nodes n)) <> 0%R ->
                exists x, exponent x = j /\ mine (place x) = true).
        { intros j some. rewrite nodes_of_tree in some.
          destruct (items_of_nodes j (Nat.min (n - 2 ^ j) (2 ^ j - 1))) as [i [range is_mine]].
          - intro none. apply some, nothing_entered_nothing_paid, none.
          - exists (2 ^ j + i). split; [apply exponent_is; lia | exact is_mine]. }
        destruct (item k some_g) as [x [<- mine_x]]. destruct (item m some_h) as [y [<- mine_y]].
        rewrite (@one_item _ _ mine_x mine_y). reflexivity.
  - constructor; [|exact different]. intro inside. destruct (is_tree None inside) as [k no]. discriminate.
  - intros g q inside. assert (known : g = None \/ exists k, g = Some k /\ k <= exponent n).
    { clear - inside. induction n as [|n IH]; simpl in inside; [contradiction|].
      assert (grows : exponent n <= exponent (S n)) by (apply Nat.log2_le_mono; lia).
      destruct inside as [now|before].
      - unfold hybrid_node in now. destruct (is_power (S n)); injection now as <- _; [left; reflexivity|].
        right. exists (exponent (S n)). split; [reflexivity | lia].
      - destruct (IH before) as [none|[k [is_k most]]]; [left; exact none|]. right. exists k. split; [exact is_k | lia]. }
    destruct known as [->|[k [-> most]]]; [left; reflexivity|]. right. apply some_tree, most.
Qed.

End Hybrid.
