"""The model answers to the written questions are right: their numbers are computed here, with the references."""

import math

import nbformat
import pytest
import torch

from autograder import ROOT, exercises
from autograder.notebooks import written
from autograder.reference import indexer, linear_attention, masks, norms, rope, sparse
from autograder.reference.attention import scaled_dot_product_attention

UNITS = {unit[:2]: unit for unit in exercises.units()}


def answer(number):
    """The model answer of a unit and its rubric, joined in one line."""
    unit = UNITS[number]
    book = nbformat.read(ROOT / "solutions" / unit / f"{unit}.ipynb", as_version=4)
    (cell,) = [c for c in book.cells if written.is_written(c)]
    return " ".join(" ".join(part.split()) for part in written.parts_of(cell.source))


def gen(seed=0):
    return torch.Generator().manual_seed(seed)


def scores(turn, q, k, at):
    return turn(q, at) @ turn(k, at).mT


@pytest.mark.unit("00-start-here")
def test_00_the_two_averages_agree_where_the_weights_sum_to_the_number_of_words():
    right = lambda v, w: (w @ v / w.sum()).item()
    friend = lambda v, w: (w @ v / len(v)).item()
    one, two = torch.tensor([5.0]), torch.tensor([2.0])
    assert (right(one, two), friend(one, two)) == (5, 10) and "The right answer is 5" in answer("00")
    for weights in ([1.0, 1.0, 1.0], [0.5, 1.5]):
        w = torch.tensor(weights)
        v = torch.randn(len(w), generator=gen())
        assert str(tuple(weights)).replace(".0", "") in answer("00") and math.isclose(
            right(v, w), friend(v, w), rel_tol=1e-5
        )
        assert math.isclose(friend(v, 10 * w), 10 * friend(v, w), rel_tol=1e-5)
        assert math.isclose(right(v, 10 * w), right(v, w), rel_tol=1e-5)


@pytest.mark.unit("01-attention")
def test_01_scores_of_a_fresh_model_are_narrow_and_grow_with_the_root():
    """Queries and keys of BERT's and of PyTorch's initialization, with heads of 64 from 768 numbers."""
    x = torch.randn(400, 768, generator=gen())
    for w in (
        torch.empty(768, 128).normal_(0, 0.02, generator=gen(1)),
        torch.empty(768, 128).uniform_(-1, 1, generator=gen(1)) / 768**0.5,
    ):
        q, k = x @ w[:, :64], x @ w[:, 64:]
        assert 0.25 < q.var() < 0.4 and (q @ k.mT).std() < 3 and "less than 3 wide" in answer("01")
    width = {d: (torch.randn(300, d, generator=gen()) @ torch.randn(d, 300, generator=gen(1))).std() for d in (16, 256)}
    assert abs(width[256] / width[16] - 4) < 0.2 and "4 times as wide" in answer("01")
    assert abs((width[256] / 16) / (width[16] / 4) - 1) < 0.05


@pytest.mark.unit("02-normalization")
def test_02_the_norms_differ_by_the_centering():
    same, far = torch.tensor([-2.0, 0, 2]), torch.tensor([101.0, 103, 105])
    torch.testing.assert_close(norms.layer_norm(same), norms.rms_norm(same))
    assert [round(v, 2) for v in norms.layer_norm(far).tolist()] == [-1.22, 0, 1.22]
    assert "(-1.22, 0, 1.22)" in answer("02")
    assert (norms.rms_norm(far) - 1).abs().max() < 0.03 and "three numbers near 1" in answer("02")


@pytest.mark.unit("06-rope")
def test_06_neither_a_shift_nor_one_token_finds_the_wrong_layout():
    q, k = torch.randn(2, 5, 8, generator=gen(), dtype=torch.float64)
    at = torch.arange(5)
    ours, theirs = scores(rope.apply_rope, q, k, at), scores(rope.apply_rope_half, q, k, at)
    torch.testing.assert_close(scores(rope.apply_rope, q, k, at + 1000), ours)
    torch.testing.assert_close(ours.diagonal(), theirs.diagonal())
    off = ~torch.eye(5, dtype=torch.bool)
    assert (ours - theirs)[off].abs().min() > 1e-3, "every other score is wrong, from two tokens on"
    order = rope.interleaved_to_half_permutation(8)
    reordered = [scores(rope.apply_rope, q[:, p], k[:, p], at) for p in (order, order.argsort())]
    assert any(torch.allclose(r, theirs) for r in reordered), "rows reordered once make the two agree"


@pytest.mark.unit("08-kv-cache-and-gqa")
def test_08_each_fault_does_what_the_answer_says():
    plan = [4, 1, 1]
    seen = [i for n in plan for i in range(n)]  # positions when every chunk starts at 0
    assert seen[5] - 3 == -3 and 5 - 3 == 2 and "stands at −3 from key 3 instead of 2" in answer("08")
    assert [key for key in range(6) if seen[5] - (seen[key] if key == 5 else key) == 5 - key] == [5]
    first = masks.causal_mask(6)[:1]
    assert first.nonzero()[:, 1].tolist() == [0] and "sees key 0 alone" in answer("08")
    q, k, v = torch.randn(3, 6, 4, generator=gen())
    moved = k.clone()
    moved[3] += 1
    every = torch.ones_like(first)
    wrong, right = ([scaled_dot_product_attention(q[5:], x, v, m) for x in (k, moved)] for m in (first, every))
    assert torch.equal(*wrong) and not torch.allclose(*right)


@pytest.mark.unit("09-sparse-attention")
def test_09_the_reach_the_way_and_the_price():
    said = answer("09").replace("{,}", ",")
    assert f"{sparse.causal_reach(4096, 32):,}" in said
    assert sparse.layers_needed(4096, 99_999) == 25 and "at least 25 layers" in said
    mix, windows, full = (
        sparse.interleaved_cache_tokens(100_000, 32, 4096),
        32 * 4096,
        32 * 100_000,
    )
    assert all(f"{n:,}" in said for n in (mix, windows, full))
    assert round(mix / windows) == 7 and round(100 * mix / full) == 28 and "28 % of 32 full layers" in said


@pytest.mark.unit("14-cheaper-attention")
def test_14_what_stays_in_memory_and_what_is_done():
    """A model of 32 layers, each adding some bytes per token; states of any size that does not grow."""
    said = answer("14")
    tokens, per_token, state = 500_000, 2_048, 2_097_152
    whole = linear_attention.hybrid_bytes(32, 1, tokens, per_token, state)
    saved = 1 - linear_attention.hybrid_bytes(32, 4, tokens, per_token, state) / whole
    assert abs(saved - 0.75) < 0.01 and "three quarters of the caches are gone" in said
    scores = torch.randn(1, 4_096, generator=gen())
    few = indexer.best_visible(scores, 2_048)
    assert few.sum() == 2_048 and "2,048 keys instead of 500,000" in said
    later = indexer.best_visible(torch.randn(1, 4_097, generator=gen(1)), 2_048)[:, :-1]
    assert (later & ~few).any() and "a later query may choose what this one passed over" in said
