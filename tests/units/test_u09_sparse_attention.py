"""Unit 09: numbers in the text, verdicts of the claims on trial, its experiments, less work in less time."""

import math
from pathlib import Path

import pytest
import torch
from anatomy.experiments import recorded, sparse, where
from anatomy.experiments.norm_bandwidth import best_time

from autograder.recording.experiments.sparse_attention import facts as sparse_facts
from autograder.reference import sparse as ref
from autograder.reference.attention import scaled_dot_product_attention
from autograder.reference.sparse_gather import gather_attention, local_attention, neighbor_index

SOURCE = Path(__file__).parents[2] / "solutions" / "09-sparse-attention.py"
PROSE = SOURCE.read_text(encoding="utf-8")


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").split())


def gen(seed=0):
    return torch.Generator().manual_seed(seed)


# -- numbers in the text --------------------------------------------------------------------------------------------


def test_puzzle_just_reaches_the_first_word():
    T = ref.causal_reach(4096, 32)
    assert T == 131_041 and says(f"A text is {T:,} tokens long") and ref.layers_needed(4096, T - 1) == 32
    assert ref.layers_needed(4096, T) == 33  # "one more token in front would be out of reach"
    assert says("off by almost a factor of 2, for 4,096 by 0.02 %")
    assert 20 / ref.causal_reach(2, 10) > 1.8 and round(100 * (32 * 4096 / T - 1), 2) == 0.02


def test_caches_of_the_three_designs():
    share = ref.interleaved_cache_tokens(131_072, 32, 4096) / (32 * 131_072)
    assert 0.25 < share < 0.29 and says("about a quarter of the cache")
    local = 20 * 1024 / ref.interleaved_cache_tokens(100_000, 24, 1024, every=6)
    assert round(100 * local) == 5 and says('"about 5 %": (True, "20 · 1,024 against 4 · 100,000 tokens.")')


def test_worked_examples():
    assert ref.local_causal_pairs(4, 2) == 1 + 2 + 2 + 2 == 4 * 2 - 1
    near, far = ref.strided_masks(11, 4)
    assert near[10].nonzero().flatten().tolist() == [7, 8, 9, 10]
    assert far[10].nonzero().flatten().tolist() == [2, 6, 10]
    assert ref.fixed_masks(12, 4)[1][11].nonzero().flatten().tolist() == [3, 7, 11]


# -- claims on trial ------------------------------------------------------------------------------------------------


def test_a_score_of_zero_has_weight():
    mask, scores = ref.local_causal_mask(512, 16), torch.randn(512, 512, generator=gen())
    outside = lambda fill: scores.masked_fill(~mask, fill).softmax(-1).masked_fill(mask, 0).sum(-1).mean().item()
    assert outside(0.0) > 0.9 and outside(-math.inf) == 0


@pytest.mark.parametrize("w", [2, 3, 8])
def test_field_is_less_than_windows_in_a_row(w):
    measured = int(ref.reach([ref.local_causal_mask(100, w)] * 10)[-1].sum())
    assert measured == ref.causal_reach(w, 10) == 1 + 10 * (w - 1) < 10 * w
    # The notes behind the claim take w/2 words to each side (w even), that is w + 1 keys: 1 + L·w.
    if w % 2 == 0:
        assert int(ref.reach([ref.local_symmetric_mask(200, w + 1)] * 10)[100].sum()) == 1 + 10 * w


@pytest.mark.parametrize("w", [2, 3, 8])
def test_gradients_reach_as_far_as_the_formula_says(w):
    x = torch.randn(100, 16, dtype=torch.float64, generator=gen())
    felt = sparse.influence(ref.residual_stack, [ref.local_causal_mask(100, w)] * 10, x)
    assert int((felt > 0).sum()) == ref.causal_reach(w, 10)


def test_what_grows_linearly_and_what_does_not():
    def growth(count, n=512):
        return count(4 * n) / count(n)

    # Counted as in the unit, without masks.
    far = lambda n, s: sum(i // s + 1 for i in range(n))
    for n, s in ((64, 8), (60, 7)):
        assert ref.local_causal_pairs(n, s) + far(n, s) == sum(int(m.sum()) for m in ref.strided_masks(n, s))
    logarithmic = lambda n: sum(1 + i.bit_length() for i in range(n))
    assert logarithmic(9) == 1 + 2 + 3 + 3 + 4 + 4 + 4 + 4 + 5, "word 8: distances 0, 1, 2, 4, 8"
    assert growth(logarithmic) == pytest.approx(4 * 10 / 8, rel=0.05)

    both = lambda masks: sum(int(m.sum()) for m in masks)
    assert growth(lambda n: ref.local_causal_pairs(n, 64)) == pytest.approx(4, rel=0.1)
    assert growth(lambda n: ref.block_pairs(n, 64)) == 4
    assert growth(lambda n: int(ref.longformer_mask(n, 63, [0, 1]).sum())) == pytest.approx(4, rel=0.1)
    assert growth(lambda n: both(ref.strided_masks(n, 8))) > 13 and growth(lambda n: both(ref.fixed_masks(n, 8))) > 13
    assert growth(lambda n: both(ref.strided_masks(n, math.isqrt(n)))) == pytest.approx(8, rel=0.05)
    far = int(ref.strided_masks(2048, 8)[1].sum())
    assert far == pytest.approx(2048**2 / 16, rel=0.05), "n²/16, as the verdict says"


def test_two_hops_and_their_order():
    T, causal = 64, int(torch.ones(64, 64).tril().sum())
    share = lambda layers: int(ref.reach(layers).sum()) / causal
    strided, fixed = list(ref.strided_masks(T, 8)), list(ref.fixed_masks(T, 8))
    assert share(strided) == share(strided[::-1]) == share(fixed) == 1
    assert share(fixed[::-1]) < 0.3 and max(share([m]) for m in strided + fixed) < 0.25
    assert not ref.reach([ref.block_mask(8, 4)] * 100)[4, 3]


def test_built_in_attention_leaves_no_pair_out():
    q, k, v = torch.randn(3, 1, 2, 96, 16, generator=gen())
    full = scaled_dot_product_attention(q, k, v, torch.ones(96, 96).tril().bool())
    built_in = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(built_in, full, atol=1e-5, rtol=1e-4)
    assert (local_attention(q, k, v, 8) - full).abs().max() > 0.5


def test_recording_says_its_device_and_shows_what_the_text_says():
    record = recorded("sparse_attention")
    s, made = record["setting"], record["made"]
    assert where(record).startswith(f"{made['device']} (")
    at = {(r["way"], r["T"]): r for r in record["rows"]}
    seconds = lambda way, T: min(at[way, T]["seconds"])
    longest = s["longest_dense"]
    assert seconds("window, gathered", longest) < seconds("SDPA, full causal", longest), "the square wins in the end"
    assert seconds("window, gathered", longest) < seconds("dense, masked", longest) / 4
    assert seconds("SDPA, full causal", s["lengths"][0]) < seconds("window, gathered", s["lengths"][0])
    dense, flash = at["dense, masked", longest], at["SDPA, full causal", longest]
    assert dense["pairs"] == longest**2 and flash["pairs"] == longest * (longest + 1) // 2
    assert dense["bytes"] > 20 * flash["bytes"], "the kernel stores no scores"


def test_recorded_kernel_does_the_same_arithmetic_with_fewer_bytes():
    """Checks section 4 on attention without a mask, by formula and by kernel, and on the causal kernel."""
    record = recorded("sparse_attention")
    found, s = sparse_facts(record), record["setting"]
    rows = {r["way"]: r for r in record["rows"] if r["T"] == s["longest_dense"]}
    plain, kernel, causal = rows["dense, no mask"], rows["SDPA, no mask"], rows["SDPA, full causal"]
    assert plain["pairs"] == kernel["pairs"] == s["longest_dense"] ** 2
    itemsize = getattr(torch, s["dtype"]).itemsize
    assert kernel["moved"] < 1.01 * 4 * s["heads"] * s["longest_dense"] * s["head_dim"] * itemsize, "q, k, v, result"
    assert found["same_pairs"]["less_moved"] > 50 and found["same_pairs"]["less_held"] > 50
    assert 1 < found["same_pairs"]["faster"] and 1.4 < found["causal"]["faster"]
    if record["made"]["device"] == "cpu":
        assert found["same_pairs"]["faster"] < 2, "the text says that a CPU gains little by the bytes alone"
    assert min(causal["seconds"]) < min(kernel["seconds"])
    flops = 4 * s["heads"] * s["head_dim"] * plain["pairs"]
    assert plain["moved"] / 2 / 2.0e12 > 5 * flops / 312e12, "on the A100 of unit 08 the formula waits for memory"


def test_order_reaches_a_full_layer_through_the_local_ones():
    mask, x = torch.ones(20, 20).tril().bool(), torch.randn(20, 2, dtype=torch.float64, generator=gen())
    shuffled = torch.cat([x[:18][torch.randperm(18, generator=gen(1))], x[18:]])
    last = [scaled_dot_product_attention(y, y, y, mask)[-1] for y in (x, shuffled)]
    torch.testing.assert_close(*last, atol=1e-12, rtol=0)


# -- helpers of the experiments -------------------------------------------------------------------------------------


def test_influence_ends_at_the_edge_and_fades_before_it():
    x = torch.randn(160, 16, dtype=torch.float64, generator=gen())
    for n, edge in ((2, 30), (4, 60), (8, 120)):
        felt = sparse.influence(ref.residual_stack, [ref.local_causal_mask(160, 16)] * n, x).flip(0)
        assert int(felt.nonzero().max()) == edge == ref.causal_reach(16, n) - 1
        assert felt[:5].max() > 100 * felt[edge]


def test_window_times_measures_both_and_their_gap():
    rows = sparse.window_times(
        scaled_dot_product_attention, ref.local_causal_mask, local_attention, [16, 33], 4, H=1, D=4, repeats=1
    )
    assert [r["T"] for r in rows] == [16, 33] and all(r["dense"] > 0 and r["gathered"] > 0 for r in rows)
    assert max(r["gap"] for r in rows) < 1e-5
    off = lambda q, k, v, w: local_attention(q, k, v, w) + 1
    (row,) = sparse.window_times(scaled_dot_product_attention, ref.local_causal_mask, off, [16], 4, repeats=1)
    assert row["gap"] == pytest.approx(1, abs=1e-4)


def learners_local_attention():
    """(local_attention, attention) from the source of the solved notebook."""
    start, end = "def local_attention(", '# %% [markdown] hints="sparse.local_attention"'
    body = PROSE[PROSE.index(start) : PROSE.index(end)]
    setup = PROSE[PROSE.index("def attention(") : PROSE.index("def stack(")]
    space = {"torch": torch, "math": math, "F": torch.nn.functional}
    exec(setup + body, space)
    return space["local_attention"], space["attention"]


def test_the_notebooks_window_is_faster_than_dense_at_4096():
    """It computes 16 times fewer scores; the limit of a third of the time leaves ample room for a busy machine."""
    local, dense = learners_local_attention()
    (row,) = sparse.window_times(dense, ref.local_causal_mask, local, [4096], 128)
    assert row["gap"] < 1e-4 and row["gathered"] < row["dense"] / 3, row


def test_gathered_lists_beat_dense_where_they_are_short():
    T = 2048
    mask = ref.local_causal_mask(T, 8)
    q, k, v = torch.randn(3, 1, 1, T, 16, generator=gen())
    index, valid = neighbor_index(mask)
    assert index.shape == (T, 8)
    fast = best_time(lambda: gather_attention(q, k, v, index, valid), repeats=3)
    slow = best_time(lambda: scaled_dot_product_attention(q, k, v, mask), repeats=3)
    assert fast < slow / 2, (fast, slow)
