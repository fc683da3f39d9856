"""Unit 14: numbers in the text, and the verdicts of the claims on trial."""

import math
from pathlib import Path

import pytest
import torch
from anatomy.cost import Meter
from anatomy.experiments import choosing, recall, recorded
from torch.nn import functional as F

from autograder.reference.indexer import best_visible, index_scores
from autograder.reference.linear_attention import delta_rule, hybrid_bytes, linear_recurrent, state_bytes
from autograder.reference.online_softmax import attention_in_blocks, causal_in_tiles
from autograder.reference.sinks import sink_attention

PROSE = (Path(__file__).parents[2] / "solutions" / "14-cheaper-attention.py").read_text(encoding="utf-8")


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").split())


def counts(run):
    with torch.no_grad(), Meter() as meter:
        run()
    return meter.counts


def test_puzzle_and_the_worked_examples_of_the_first_sections():
    assert round(2 * 131_072**2 / 1e9) == 34
    assert (2 * 20 + 6 * 60) / 8 == 50
    assert math.isinf(float(torch.tensor(89.0).exp())) and torch.tensor(88.0).exp().isfinite()
    assert round(math.exp(-1) + 1, 3) == 1.368 and says("= 1.368")


def test_blocks_hold_few_scores_and_save_no_flops():
    q, k, v = torch.randn(3, 1, 2048, 64)
    whole, some, few = (counts(lambda b=b: attention_in_blocks(q, k, v, b)) for b in (2048, 128, 16))
    assert (whole["largest"], some["largest"], few["largest"]) == (4_194_304, 262_144, 2048 * 64)
    assert whole["flops"] == some["flops"] == 4 * 2048 * 2048 * 64 and some["work"] > whole["work"]
    assert says("All scores are 4.2 million numbers") or "All scores are 4.2 million numbers" in PROSE


def test_causal_tiles():
    q, k, v = torch.randn(3, 1, 2048, 8)
    share = (
        counts(lambda: causal_in_tiles(q, k, v, 256))["flops"]
        / counts(lambda: attention_in_blocks(q, k, v, 256))["flops"]
    )
    assert share == 36 / 64


def by_topk(scores, n):
    seen = torch.ones(scores.shape[-2:]).tril().bool()
    order = scores.masked_fill(~seen, -math.inf).topk(n, dim=-1).indices
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, order, True) & seen


@pytest.mark.parametrize("seed", range(3))
def test_ties_let_the_future_in_unless_the_earlier_key_wins(seed):
    torch.manual_seed(seed)
    changed = {}
    for J in (1, 8):
        scores = index_scores(torch.randn(1, 200, J, 16), torch.randn(1, 200, 16), torch.rand(1, 200, J))
        for name, pick in (("topk", by_topk), ("stable", best_visible)):
            apart = pick(scores[:, :150, :150], 64) != pick(scores, 64)[:, :150, :150]
            changed[J, name] = int(apart.any(-1).sum())
        zeros = (scores == 0).float().mean()
        assert (0.45 < zeros < 0.55) if J == 1 else zeros < 0.02
    assert changed[1, "topk"] > 10 and changed[1, "stable"] == changed[8, "stable"] == 0


def test_what_the_indexer_costs():
    per_index, per_pair = 64 * 128, 128 * (576 + 512)
    assert per_pair / per_index == 17
    S = 131_072
    assert 3 < S * per_index / (2048 * per_pair) < 5, "several times as much as the attention that it serves"
    assert S * per_pair / (2048 * per_pair + S * per_index) < 17


def test_the_trained_model_has_no_sinks():
    for layer in choosing.layers(choosing.rows(16)):
        assert layer.weights.sum(-1).allclose(torch.ones(1), atol=1e-4)
        assert layer.weights[:, :, 32:, 0].mean((0, 2)).max() < 0.014
    assert round(sum(1 / (t + 1) for t in range(32, 128)) / 96, 3) == 0.014


def test_choosing_reads_the_model_as_it_is():
    """The weights are those of a forward pass whose loss is the model's: each layer's input depends on them."""
    from anatomy.language import shipped
    from transformers import AutoModelForCausalLM

    ids = choosing.rows(2)
    model = AutoModelForCausalLM.from_pretrained(shipped.folder(), attn_implementation="eager", dtype=torch.float32)
    with torch.no_grad():
        theirs = model.eval()(ids, output_attentions=True).attentions
    for layer, weights in zip(choosing.layers(ids), theirs, strict=True):
        torch.testing.assert_close(layer.weights, weights, atol=2e-5, rtol=1e-3)


def test_a_trained_indexer_finds_more_than_chance_and_less_than_the_best():
    learn, test = choosing.layers(choosing.rows(16, False))[0], choosing.layers(choosing.rows(4))[0]
    indexer = choosing.train_indexer(learn, index_scores, steps=60)
    share = lambda chosen: choosing.share(test, chosen, 8)
    found = share(best_visible(index_scores(*indexer(test.x)).detach(), 8))
    best, chance = share(best_visible(test.weights.mean(1), 8)), share(best_visible(torch.rand(4, 128, 128), 8))
    assert chance + 0.3 < found < best <= 1
    assert best_visible(test.weights.mean(1), 128).sum() == 4 * 128 * 129 / 2


def read_back(N, write, D=32):
    g = torch.Generator().manual_seed(N)
    k, v = F.normalize(torch.randn(8, 1, N, D, generator=g), dim=-1), torch.randn(8, 1, N, D, generator=g)
    wrong = (k @ write(k, v, torch.ones(8, 1, N))[1] - v).norm(dim=-1) / v.norm(dim=-1)
    return wrong.mean().item(), wrong[..., -1].mean().item()


def test_what_memories_read_back():
    for N in (4, 32, 128):
        added = read_back(N, lambda k, v, one: linear_recurrent(k, k, v, one))
        delta = read_back(N, lambda k, v, one: delta_rule(k, k, v, one, one))
        assert delta[0] < added[0] and delta[1] < 1e-5
    assert delta[0] > 0.5, "more pairs than numbers in a key"


def test_recorded_recall_and_the_same_with_the_unit_s_functions():
    rows = recorded("recall")["rows"]
    last = max(r["steps"] for r in rows)
    right = lambda way, again: [
        r["accuracy"] for r in rows if (r["way"], r["rewritten"], r["steps"]) == (way, again, last)
    ]
    assert all(a > 0.99 for way in ("softmax", "delta rule") for again in (True, False) for a in right(way, again))
    assert all(0.4 < a < 0.7 for a in right("added", True)) and all(a > 0.99 for a in right("added", False))
    assert len(right("added", True)) >= 3
    q, k = F.normalize(torch.randn(2, 3, 8, 5), dim=-1)
    v, rate = torch.randn(3, 8, 6), torch.rand(3, 8)
    state = delta_rule(k[:, None], k[:, None], v[:, None], torch.ones(3, 1, 8), rate[:, None])[1][:, 0]
    torch.testing.assert_close(recall.by_delta_rule(q, k, v, rate), q @ state)
    state = linear_recurrent(k[:, None], k[:, None], v[:, None], torch.ones(3, 1, 8))[1][:, 0]
    torch.testing.assert_close(recall.by_adding(q, k, v, rate), q @ state)


def test_the_last_value_of_a_key_is_the_answer():
    keys, values, asked, answers = recall.draw(5, 24, True, torch.Generator().manual_seed(0))
    for b in range(5):
        held = dict(zip(keys[b].tolist(), values[b].tolist(), strict=True))
        assert [held[k] for k in asked[b].tolist()] == answers[b].tolist()
    keys = recall.draw(5, 16, False, torch.Generator().manual_seed(0))[0]
    assert all(len(set(row)) == 16 for row in keys.tolist())


def test_bytes_that_the_text_names():
    state, per_token = state_bytes(32, 128, 128), 2 * 2 * 256 * 2
    assert state / per_token == 1024
    assert hybrid_bytes(6, 3, 50, 8, 100) == 1200 and says("= 1{,}200$ bytes")
    long = 2**18
    assert 0.25 < hybrid_bytes(48, 4, long, per_token, state) / hybrid_bytes(48, 1, long, per_token, state) < 0.26


def test_sinks_of_the_examples():
    zeros = torch.zeros(1, 1, 1, 1)
    out = sink_attention(zeros, torch.zeros(1, 1, 2, 1), torch.ones(1, 1, 2, 1), torch.tensor([math.log(2)]))
    assert out.item() == pytest.approx(0.5)
    out = sink_attention(zeros, torch.zeros(1, 1, 7, 1), torch.ones(1, 1, 7, 1), torch.tensor([0.0]))
    assert out.item() == pytest.approx(7 / 8)
    assert round(math.log(math.e**2 + math.e**5), 2) == 5.05
