"""Oracles: per-element loops, worked examples of the papers, torch losses, exhaustive enumeration."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference import objectives as obj
from autograder.reference.masks import causal_mask, dependence, unilm_mask

quick = settings(max_examples=60, deadline=None)


def gen(seed=0):
    return torch.Generator().manual_seed(seed)


# Masked language modeling


@given(st.integers(1, 4), st.integers(1, 12), st.integers(0, 10**6))
@quick
def test_mask_tokens_equals_a_loop(B, T, seed):
    g = gen(seed)
    ids, random_ids = (torch.randint(10, 99, (B, T), generator=g) for _ in range(2))
    special = torch.rand(B, T, generator=g) < 0.3
    u, action = torch.rand(2, B, T, generator=g)
    selected = obj.select_independent(u, special, 0.5)
    got = obj.mask_tokens(ids, selected, action, random_ids, mask_id=3)
    for b, t in itertools.product(range(B), range(T)):
        chosen = u[b, t] < 0.5 and not special[b, t]
        expected = ids[b, t]
        if chosen and action[b, t] < 0.8:
            expected = 3
        elif chosen and action[b, t] < 0.9:
            expected = random_ids[b, t]
        assert got.inputs[b, t] == expected
        assert got.labels[b, t] == (ids[b, t] if chosen else -100)


@given(st.integers(1, 30), st.floats(0, 1), st.integers(0, 10**6))
@quick
def test_select_exact_takes_the_smallest_draws_of_ordinary_tokens(T, rate, seed):
    g = gen(seed)
    u, special = torch.rand(2, T, generator=g), torch.rand(2, T, generator=g) < 0.4
    selected = obj.select_exact(u, special, rate)
    for row in range(2):
        ordinary = [t for t in range(T) if not special[row, t]]
        count = min(max(1, round(rate * len(ordinary))), len(ordinary))
        expected = sorted(ordinary, key=lambda t: float(u[row, t]))[:count]
        assert selected[row].nonzero().flatten().tolist() == sorted(expected)


def test_mlm_rates_are_15_and_80_10_10():
    ids = torch.full((200, 500), 7)
    special = torch.zeros(200, 500, dtype=torch.bool)
    special[:, 0] = True
    inputs, labels = obj.sample_mlm(ids, special, 1, 1000, gen())
    chosen = labels != obj.IGNORE
    n = int(chosen.sum())  # about 15,000: one standard deviation is 0.4 % of the 80 %
    assert not chosen[:, 0].any()
    assert n / special.logical_not().sum() == pytest.approx(0.15, abs=0.006)
    assert (inputs[chosen] == 1).sum() / n == pytest.approx(0.8, abs=0.02)
    assert (inputs[chosen] == 7).sum() / n == pytest.approx(0.1, abs=0.015)
    assert (inputs[~chosen] == 7).all() and (labels[chosen] == 7).all()
    assert len(inputs.unique()) > 500  # the random tokens come from the whole vocabulary


def test_dynamic_masks_change_every_epoch_and_static_ones_repeat():
    ids, special = torch.arange(400).view(4, 100), torch.zeros(4, 100, dtype=torch.bool)
    static = [obj.static_mlm(ids, special, 999, 400, 5, e, copies=3).inputs for e in range(6)]
    dynamic = [obj.dynamic_mlm(ids, special, 999, 400, 5, e).inputs for e in range(6)]
    assert torch.equal(static[1], static[4]) and not torch.equal(static[0], static[1])
    assert all(not torch.equal(a, b) for a, b in itertools.combinations(dynamic, 2))
    assert torch.equal(dynamic[2], obj.dynamic_mlm(ids, special, 999, 400, 5, 2).inputs)
    assert not torch.equal(dynamic[2], obj.dynamic_mlm(ids, special, 999, 400, 6, 2).inputs)


def test_masked_loss_equals_cross_entropy_of_the_selected(oracle_report):
    logits, labels = torch.randn(2, 3, 5, dtype=torch.float64), torch.tensor([[1, -100, 2], [-100, -100, 4]])
    keep = labels != -100
    expected = F.cross_entropy(logits[keep], labels[keep])
    oracle_report("masked_loss / F.cross_entropy", obj.masked_loss(logits, labels), expected)
    assert obj.masked_loss(logits, torch.full_like(labels, -100)) == 0
    assert obj.masked_loss(logits.half(), labels).dtype == torch.float32


def test_mlm_errors():
    ids = torch.zeros(1, 2, dtype=torch.long)
    with pytest.raises(ValueError, match="one shape"):
        obj.mask_tokens(ids, ids.bool(), torch.rand(1, 3), ids, 1)
    with pytest.raises(ValueError, match="rate"):
        obj.select_independent(torch.rand(1, 2), ids.bool(), 1.5)


# Span corruption


def test_span_corruption_of_the_papers_example():
    words = "Thank you for inviting me to your party last week".split()
    noise = torch.tensor([w in ("for", "inviting", "last") for w in words])
    inputs, targets = obj.span_corruption(torch.arange(10), noise, first_sentinel=99)
    spell = lambda ids: [f"<{99 - i}>" if i > 90 else words[i] for i in ids.tolist()]
    assert spell(inputs) == "Thank you <0> me to your party <1> week".split()
    assert spell(targets) == "<0> for inviting <1> last <2>".split()


@given(st.lists(st.booleans(), min_size=0, max_size=25), st.integers(0, 10**6))
@quick
def test_span_corruption_equals_a_loop_and_loses_nothing(noise, seed):
    ids = torch.randint(0, 50, (len(noise),), generator=gen(seed))
    inputs, targets, k = [], [], -1
    for t, hidden in enumerate(noise):
        if hidden and (t == 0 or not noise[t - 1]):
            k += 1
            inputs.append(99 - k)
            targets.append(99 - k)
        (targets if hidden else inputs).append(int(ids[t]))
    got = obj.span_corruption(ids, torch.tensor(noise, dtype=torch.bool), 99)
    assert got.inputs.tolist() == inputs and got.targets.tolist() == [*targets, 99 - k - 1]
    assert torch.equal(obj.restore_spans(*got, 99), ids)


@given(st.integers(2, 200), st.floats(0.01, 0.9), st.floats(1, 6), st.integers(0, 10**6))
@quick
def test_noise_masks_have_the_promised_counts(T, density, mean_span, seed):
    noise, spans = obj.noise_counts(T, density, mean_span)
    mask = obj.sample_noise_mask(T, gen(seed), density, mean_span)
    starts = mask & ~torch.cat([torch.tensor([False]), mask[:-1]])
    assert mask.shape == (T,) and int(mask.sum()) == noise and int(starts.sum()) == spans
    assert not mask[0] and mask[-1]
    inputs, targets = obj.span_corruption(torch.zeros(T, dtype=torch.long), mask, 10**6)
    assert len(inputs) == T - noise + spans and len(targets) == noise + spans + 1


def test_lengths_of_t5s_own_training():
    """568 raw tokens give the 512 inputs (one of them end-of-sequence) and 114 targets of the release."""
    noise, spans = obj.noise_counts(568)
    assert (568 - noise + spans + 1, noise + spans + 1) == (512, 114)


def test_noise_compositions_are_uniform():
    """All ways to cut 4 into 2 positive parts are equally frequent: 3 ways, for gaps and for spans."""
    g, counts = gen(), {}
    for _ in range(900):
        mask = tuple(obj.sample_noise_mask(8, g, 0.5, 2.0).tolist())
        counts[mask] = counts.get(mask, 0) + 1
    assert len(counts) == 9 and min(counts.values()) > 60 and max(counts.values()) < 140


def test_span_corruption_errors():
    ids, noise = torch.tensor([1, 99, 3]), torch.tensor([True, False, False])
    with pytest.raises(ValueError, match="sentinels here"):
        obj.span_corruption(ids, noise, 99)
    with pytest.raises(ValueError, match="boolean noise"):
        obj.span_corruption(ids, noise.long(), 50)
    with pytest.raises(ValueError, match="inputs hold 0 sentinels"):
        obj.restore_spans(torch.tensor([1]), torch.tensor([99, 5, 98]), 99)
    for targets in ([5], [99, 5]):
        with pytest.raises(ValueError, match="sentinel"):
            obj.restore_spans(torch.tensor([99]), torch.tensor(targets), 99)
    with pytest.raises(ValueError, match="T >= 2"):
        obj.noise_counts(1)


# Blank infilling


def test_blank_infilling_of_the_papers_figure():
    """Du et al. 2021, figure 2: x3 and x5 x6 are masked, the later span is written first."""
    M, S, E = 100, 101, 102
    example = obj.blank_infilling(torch.arange(1, 7), [(2, 3), (4, 6)], [1, 0], M, S, E)
    assert example.tokens.tolist() == [1, 2, M, 4, M, S, 5, 6, S, 3]
    assert example.labels.tolist() == [-100] * 5 + [5, 6, E, 3, E]
    assert [p + 1 for p in example.positions.tolist()] == [1, 2, 3, 4, 5, 5, 5, 5, 3, 3]
    assert example.blank_positions.tolist() == [0, 0, 0, 0, 0, 1, 2, 3, 1, 2]
    assert example.part_a == 5
    for i, j in itertools.product(range(10), range(10)):
        assert example.mask[i, j] == (j < 5 or (i >= 5 and j <= i))


@given(st.integers(1, 60), st.integers(0, 10**6))
@quick
def test_sampled_blanks_are_apart_cover_the_ratio_and_lose_nothing(T, seed):
    g = gen(seed)
    ids = torch.randint(0, 50, (T,), generator=g)
    spans, order = obj.sample_glm_spans(T, g)
    assert sum(stop - start for start, stop in spans) == max(1, round(0.15 * T))
    example = obj.blank_infilling(ids, spans, order, 100, 101, 102)
    assert torch.equal(obj.fill_blanks(example, 100), ids)
    assert len(example.tokens) == T + 2 * len(spans) == len(example.mask)


def test_sampled_blanks_reach_every_place_and_order():
    g, places, orders = gen(), set(), set()
    for _ in range(400):
        spans, order = obj.sample_glm_spans(12, g, ratio=0.3, mean_span=1.0)
        places |= {start for start, _ in spans}
        orders.add(tuple(order))
    assert places == set(range(12)) and {(0, 1), (1, 0)} <= orders


@pytest.mark.parametrize("spans", [[(2, 2)], [(0, 2), (2, 3)], [(3, 4), (0, 1)], [(4, 6)], [(-1, 1)]])
def test_blank_infilling_rejects_bad_spans(spans):
    with pytest.raises(ValueError, match="spans must be"):
        obj.blank_infilling(torch.arange(5), spans, range(len(spans)), 9, 10, 11)


def test_blank_infilling_errors_and_loss():
    with pytest.raises(ValueError, match="permutation"):
        obj.blank_infilling(torch.arange(5), [(0, 1), (3, 4)], [0, 0], 9, 10, 11)
    with pytest.raises(ValueError, match="ratio"):
        obj.sample_glm_spans(5, gen(), ratio=0.7)
    example = obj.blank_infilling(torch.arange(5), [(1, 3)], [0], 9, 10, 11)
    logits = torch.randn(len(example.tokens), 12, dtype=torch.float64)
    expected = F.cross_entropy(logits[4:], torch.tensor([1, 2, 11]))
    torch.testing.assert_close(obj.blank_infilling_loss(logits, example.labels), expected)
    with pytest.raises(ValueError, match="no \\[MASK\\]"):
        obj.fill_blanks(example._replace(tokens=torch.zeros_like(example.tokens)), 9)


# Next-token prediction


def test_next_token_loss_equals_a_loop_with_either_padding(oracle_report):
    torch.manual_seed(0)
    logits, ids = torch.randn(2, 5, 7, dtype=torch.float64), torch.randint(7, (2, 5))
    for real in (None, torch.tensor([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]).bool()):
        terms = [
            -logits[b, t].log_softmax(-1)[ids[b, t + 1]]
            for b, t in itertools.product(range(2), range(4))
            if real is None or (real[b, t] and real[b, t + 1])
        ]
        oracle_report("next_token_loss / loop", obj.next_token_loss(logits, ids, real), torch.stack(terms).mean())


def test_next_token_loss_equals_hugging_face(oracle_report):
    from transformers.loss.loss_utils import ForCausalLMLoss

    logits, ids = torch.randn(3, 6, 11), torch.randint(11, (3, 6))
    theirs = ForCausalLMLoss(logits, ids, 11)
    oracle_report("next_token_loss / ForCausalLMLoss", obj.next_token_loss(logits, ids), theirs)


def test_next_token_pairs_and_errors():
    inputs, targets = obj.next_token_pairs(torch.tensor([[5, 6, 7]]))
    assert inputs.tolist() == [[5, 6]] and targets.tolist() == [[6, 7]]
    with pytest.raises(ValueError, match="two tokens"):
        obj.next_token_pairs(torch.zeros(2, 1))
    with pytest.raises(ValueError, match="do not fit"):
        obj.next_token_loss(torch.zeros(1, 3, 4), torch.zeros(1, 4, dtype=torch.long))


def tiny_model(mask, vocab=3, T=3):
    """A softmax over a mixture of one-hot inputs (start token first): causal if and only if its mask is."""
    torch.manual_seed(3)
    weights, readout = torch.randn(T, T, dtype=torch.float64), torch.randn(vocab + 1, vocab).double()
    hidden = lambda inputs: (weights * mask) @ (F.one_hot(inputs, vocab + 1).double() @ readout)
    return lambda targets: hidden(torch.cat([torch.full_like(targets[:, :1], vocab), targets[:, :-1]], 1))


def test_probabilities_of_all_sequences_sum_to_one_only_without_a_leak():
    everything = torch.tensor(list(itertools.product(range(3), repeat=3)))

    def total(mask):
        return obj.sequence_log_probability(tiny_model(mask)(everything), everything).exp().sum()

    torch.testing.assert_close(total(causal_mask(3)), torch.tensor(1.0, dtype=torch.float64))
    assert abs(total(unilm_mask("bidirectional", 1, 2)) - 1) > 0.02
    # The leak itself: without a causal mask, the logits at position 0 depend on the token at position 2.
    embed = torch.randn(3, 4, dtype=torch.float64)
    for mask, leaks in ((causal_mask(3), False), (unilm_mask("bidirectional", 1, 2), True)):
        future = dependence(lambda x, mask=mask: mask.double() @ x, embed).triu(1)
        assert bool(future.any()) is leaks


def test_perplexity_of_a_uniform_guess_and_of_a_corpus():
    assert obj.perplexity(10 * math.log(7), 10) == pytest.approx(7)
    batches = [(8.0, 4), (1.0, 10)]
    assert obj.perplexity(9.0, 14) == pytest.approx(math.exp(9 / 14))
    assert obj.perplexity(9.0, 14) < sum(obj.perplexity(*b) for b in batches) / 2
    with pytest.raises(ValueError, match="at least one"):
        obj.perplexity(1.0, 0)


# Sentence pairs

DOCUMENTS = [[[1], [2, 3], [4]], [[11], [12, 13]], [[21, 22]]]


def test_nsp_pairs():
    assert obj.nsp_pair(DOCUMENTS, 0, 1, None) == ([2, 3], [4], 0)
    assert obj.nsp_pair(DOCUMENTS, 0, 1, (2, 0)) == ([2, 3], [21, 22], 1)
    with pytest.raises(ValueError, match="no successor"):
        obj.nsp_pair(DOCUMENTS, 2, 0, None)
    with pytest.raises(ValueError, match="another document"):
        obj.nsp_pair(DOCUMENTS, 0, 0, (0, 2))
    with pytest.raises(ValueError, match="two non-empty"):
        obj.sample_nsp(DOCUMENTS[:1] + [[]], gen())


def test_sampled_nsp_is_half_random_and_honest():
    g = gen()
    pairs = [pair for _ in range(300) for pair in obj.sample_nsp(DOCUMENTS, g)]
    assert len(pairs) == 900
    assert sum(p.label for p in pairs) / 900 == pytest.approx(0.5, abs=0.06)
    natural = {(tuple(a), tuple(b)) for d in DOCUMENTS for a, b in itertools.pairwise(d)}
    for first, second, label in pairs:
        assert ((tuple(first), tuple(second)) in natural) == (label == 0)
    assert {tuple(p.second) for p in pairs if p.label and p.first == [1]} == {(11,), (12, 13), (21, 22)}


def test_sop_pairs_swap_neighbors_of_one_document():
    assert obj.sop_pair([1], [2, 3], False) == ([1], [2, 3], 0)
    assert obj.sop_pair([1], [2, 3], True) == ([2, 3], [1], 1)
    pairs = [pair for _ in range(200) for pair in obj.sample_sop(DOCUMENTS, gen(_))]
    assert len(pairs) == 600 and sum(p.label for p in pairs) / 600 == pytest.approx(0.5, abs=0.08)
    natural = [(a, b) for d in DOCUMENTS for a, b in itertools.pairwise(d)]
    assert all(((s, f) if label else (f, s)) in natural for f, s, label in pairs)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(5, 16))
@quick
def test_packed_pairs(n, m, T):
    a, b = list(range(10, 10 + n)), list(range(30, 30 + m))
    packed = obj.pack_pair(a, b, T, cls_id=1, sep_id=2)
    length = int(packed.real.sum())
    assert length == min(n + m + 3, T) and packed.real[:length].all()
    ids = packed.ids[:length].tolist()
    first_end = ids.index(2)
    kept_a, kept_b = ids[1:first_end], ids[first_end + 1 : -1]
    assert ids[0] == 1 and ids[-1] == 2 and kept_a == a[: len(kept_a)] and kept_b == b[: len(kept_b)]
    assert packed.segments[: first_end + 1].sum() == 0 and packed.segments[first_end + 1 : length].all()
    assert not packed.ids[length:].any() and not packed.segments[length:].any()
    if len(kept_a) < n and len(kept_b) < m:
        assert abs(len(kept_a) - len(kept_b)) <= 1  # only the longer one is ever cut


def test_pack_pair_needs_room():
    with pytest.raises(ValueError, match="T >= 5"):
        obj.pack_pair([1], [2], 4, 7, 8)


# InfoNCE


@given(st.integers(1, 6), st.integers(1, 5), st.floats(0.05, 2), st.integers(0, 10**6))
@quick
def test_info_nce_equals_a_loop(oracle_report, B, d, temperature, seed):
    g = gen(seed)
    a, b = torch.randn(2, B, d, generator=g, dtype=torch.float64)
    loss = 0.0
    for i in range(B):
        scores = [float(a[i] @ b[j] / (a[i].norm() * b[j].norm())) / temperature for j in range(B)]
        loss -= scores[i] - math.log(sum(math.exp(s) for s in scores))
    got = obj.info_nce(a, b, temperature)
    oracle_report("info_nce / loop", got, torch.tensor(loss / B, dtype=torch.float64))
    both = (got + obj.info_nce(b, a, temperature)) / 2
    torch.testing.assert_close(obj.symmetric_info_nce(a, b, temperature), both)
    torch.testing.assert_close(obj.info_nce(3 * a, b / 7, temperature), got)  # only directions count


def test_symmetric_info_nce_equals_hugging_faces_clip_loss(oracle_report):
    from transformers.models.clip.modeling_clip import image_text_contrastive_loss as clip_loss

    a, b = torch.randn(2, 5, 8, dtype=torch.float64)
    cosine = F.cosine_similarity(a[:, None], b[None], dim=-1)
    oracle_report("symmetric_info_nce / CLIP", obj.symmetric_info_nce(a, b, 0.2), clip_loss(cosine / 0.2))


def test_info_nce_extremes_and_errors():
    same = torch.ones(8, 3)
    assert float(obj.info_nce(same, same)) == pytest.approx(math.log(8), abs=1e-6)
    eye = torch.eye(8)
    assert float(obj.info_nce(eye, eye, 0.02)) < 1e-6
    assert obj.mutual_information_bound(float(obj.info_nce(eye, eye, 0.02)), 8) <= math.log(8)
    half = (300 * torch.randn(4, 16)).half()
    assert torch.isfinite(obj.info_nce(half, half))
    with pytest.raises(ValueError, match="temperature"):
        obj.info_nce(eye, eye, 0.0)
    with pytest.raises(ValueError, match="both be"):
        obj.info_nce(eye, eye[:4])
