"""Unit 01: the numbers in its text, the claims on trial, and its experiments."""

import math
from pathlib import Path

import pytest
import torch
from anatomy import evaluate
from anatomy.experiments import bottleneck, root_d
from anatomy.experiments.word_order import SETTINGS, OrderReader, recorded, sentences, train_reader
from torch.utils.flop_counter import FlopCounterMode

from autograder.recording.experiments import bottleneck as record_bottleneck
from autograder.recording.experiments import root_d as record_root_d
from autograder.reference import attention as ref

PROSE = (Path(__file__).parents[2] / "solutions" / "01-attention.py").read_text(encoding="utf-8")


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").split())


def test_worked_examples():
    e = torch.tensor([2.0, 1.0, 0.0]).exp()
    assert says(f"have exponentials {e[0]:.2f}, {e[1]:.2f}, 1. Their sum is {e.sum():.2f}")
    w = e / e.sum()
    assert says(f"so the weights are {w[0]:.2f}, {w[1]:.2f}, {w[2]:.2f}")
    assert says(f"= {w @ torch.tensor([10.0, 20.0, 40.0]):.1f}$$")


@pytest.fixture
def puzzle():
    x = {"dog": [2.0, 0.0], "bites": [0.0, 2.0], "man": [1.0, 1.0]}
    W_Q, W_K, W_V = torch.eye(2), torch.tensor([[0.0, 2.0], [1.0, 0.0]]), torch.tensor([[1.0], [3.0]])

    def read(sentence):
        t = torch.tensor([x[w] for w in sentence.split()])
        return ref.scaled_dot_product_attention(t @ W_Q, t @ W_K, t @ W_V).flatten()

    return read


def test_the_puzzle(puzzle):
    numbers = puzzle("dog bites man")
    assert says("| dog | bites | man | |---|---|---| | " + " | ".join(f"{n:.2f}" for n in numbers) + " |")
    torch.testing.assert_close(puzzle("man bites dog"), numbers.flip(0))
    assert len({f"{n:.2f}" for n in numbers}) == 3, "equal numbers would give the answer away"


def test_scores_are_not_symmetric_and_neither_are_weights_of_symmetric_scores():
    x = torch.tensor([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    W_K = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
    S, tied = x @ (x @ W_K).T, (x @ W_K) @ (x @ W_K).T
    assert S[0, 2] != S[2, 0]
    assert torch.equal(tied, tied.T)
    weights = ref.softmax(tied)
    assert abs(weights[0, 2] - weights[2, 0]) > 0.5


def test_permutation_is_broken_by_a_causal_mask_and_by_places():
    torch.manual_seed(0)
    x, W = torch.randn(7, 8), torch.randn(3, 8, 8) / math.sqrt(8)
    p = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    run = lambda x, mask=None: ref.scaled_dot_product_attention(*(x @ w for w in W), mask)
    causal, places = torch.ones(7, 7).tril().bool(), torch.randn(7, 8)
    torch.testing.assert_close(run(x)[p], run(x[p]))
    assert (run(x, causal)[p] - run(x[p], causal)).abs().max() > 0.1
    assert (run(x + places)[p] - run(x[p] + places)).abs().max() > 0.1


def test_variance_of_scores_is_d():
    torch.manual_seed(0)
    for D in (4, 64, 1024):
        scores = torch.randn(300, D) @ torch.randn(300, D).T
        assert scores.var() / D == pytest.approx(1, abs=0.1)


def test_fresh_layers_have_variance_1_after_xavier_only():
    torch.manual_seed(0)
    x, spread = torch.randn(200, 768), {}
    for name, init in {
        "Linear": lambda w: w,
        "Xavier": torch.nn.init.xavier_uniform_,
        "0.02": lambda w: torch.nn.init.normal_(w, std=0.02),
    }.items():
        q, k = torch.nn.Linear(768, 768), torch.nn.Linear(768, 768)
        init(q.weight.data), init(k.weight.data)
        spread[name] = (q(x).var().item(), (q(x)[:, :64] @ k(x)[:, :64].T).std().item())
    assert spread["Xavier"] == pytest.approx((1, 8), rel=0.05)
    assert spread["Linear"][0] == pytest.approx(1 / 3, rel=0.05) and spread["0.02"][0] == pytest.approx(0.31, rel=0.05)
    assert 2 < spread["Linear"][1] < 3 and 2 < spread["0.02"][1] < 3 and says("less than 3 wide before any division")


def test_the_three_ways_start_as_the_text_says():
    for D in (16, 256):
        start = {way: root_d.train_lookup(D, way, 1e-3, steps=1)["spread"] for way in root_d.WAYS}
        assert start["divided"] == pytest.approx(start["small start"], rel=1e-3)
        assert start["not divided"] == pytest.approx(math.sqrt(D) * start["divided"], rel=1e-3)


def test_a_lookup_is_learned():
    found = root_d.train_lookup(16, "divided", 3e-3, steps=150)
    assert found["accuracy"] > 0.9 and set(found) == {"spread", "loss", "accuracy"}


def test_recorded_lookups():
    data = root_d.recorded()
    facts, controls = record_root_d.facts(data), record_root_d.controls(data)
    assert record_root_d.seeds(data) == 5 and controls == {"learning rate": 3, "head dim": 3, "start": 3}
    assert facts["not_divided"]["of"] == facts["small_start"]["of"] == 45 and says("narrow as with the division")
    assert facts["not_divided"]["worse"] > 40 and facts["small_start"]["worse"] > 35, "the division helps"
    assert facts["not_divided"]["lowest_at_rate0"] > 0.99 and facts["not_divided"]["d256"]["rate2"]["accuracy"] < 0.8
    assert facts["small_start"]["d256"]["rate2"]["accuracy"] < 0.9 < facts["divided"]["d256"]["rate2"]["accuracy"]


def test_both_readers_begin_with_the_same_weights_and_one_of_them_looks_at_one_state():
    readers = []
    for way in bottleneck.WAYS:
        torch.manual_seed(3)
        readers.append(bottleneck.Recaller(way, 5, 8))
    assert all(torch.equal(a, b) for a, b in zip(*(r.state_dict().values() for r in readers), strict=True))
    words, place = torch.randint(16, (4, 5)), torch.tensor([0, 1, 2, 3])
    for way, reader in zip(bottleneck.WAYS, readers, strict=True):
        states, _ = reader.encoder(reader.words(words) + reader.places.weight)
        (grad,) = torch.autograd.grad(reader(words, place).sum(), reader.words.weight)
        assert reader(words, place).shape == (4, 16) and grad.abs().sum() > 0 and states.shape == (4, 5, 8), way


def test_recorded_recall_falls_for_the_last_state_only():
    facts = record_bottleneck.facts(bottleneck.recorded())
    assert facts["seeds"] == 3 and says("16 different ones exist") and bottleneck.VOCABULARY == 16
    for size in ("size16", "size64"):
        means = [facts["last_state"][size][f"length{n}"]["mean"] for n in (2, 4, 8, 16)]
        assert means == sorted(means, reverse=True) and means[0] > 0.95
    assert facts["last_state"]["size64"]["length8"]["mean"] > facts["last_state"]["size16"]["length8"]["mean"]
    assert facts["attention"]["lowest"] > 0.95 and 0.15 < facts["last_state"]["size16"]["length8"]["mean"] < 0.25


def test_the_layer_stays_finite_on_an_empty_sentence():
    torch.manual_seed(0)
    layer, x = ref.MultiHeadAttention(12, 3), torch.randn(2, 4, 12)
    out = layer(x, mask=ref.padding_mask(torch.tensor([0, 4]), 4))
    out.sum().backward()
    torch.testing.assert_close(out[0], layer.o_proj.bias.expand(4, 12))
    assert all(p.grad.isfinite().all() for p in layer.parameters())


def test_minus_1e9_is_right_for_ordinary_float32_rows_only():
    row, some = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[True, True, False]])
    ordinary = torch.softmax(row.masked_fill(~some, -1e9), -1)
    assert ordinary[0, 2] == 0 and torch.equal(ordinary, ref.attention_weights(row, some))
    nothing = torch.zeros(1, 3, dtype=torch.bool)
    torch.testing.assert_close(torch.softmax(row.masked_fill(~nothing, -1e9), -1), torch.full((1, 3), 1 / 3))
    assert (ref.attention_weights(row, nothing) == 0).all()
    with pytest.raises(RuntimeError, match="overflow"):
        row.half().masked_fill(~some, -1e9)
    assert torch.finfo(torch.float16).max == 65504 and says("Float16 ends at 65504")


def test_an_encoder_changes_earlier_rows_and_an_rnn_does_not():
    torch.manual_seed(0)
    x = torch.randn(1, 5, 12)
    encoder, rnn = ref.MultiHeadAttention(12, 3), torch.nn.RNN(12, 12, batch_first=True)
    assert (encoder(x)[:, :4] - encoder(x[:, :4])).abs().max() > 0.01
    torch.testing.assert_close(rnn(x)[0][:, :4], rnn(x[:, :4])[0])
    assert encoder(x[:, :3], context=x).shape[1] == 3


def test_costs_in_the_prose():
    assert f"{ref.attention_parameters(768):,}" == "2,362,368"
    assert says("= 2{,}362{,}368$ parameters")
    share = lambda T, d: 4 * T * T * d / ref.attention_flops(1, T, T, d, 1)
    assert share(512, 768) == pytest.approx(0.25) and says("about 25 %")
    assert share(2 * 768, 768) == pytest.approx(0.5) and says("T = 2·d_model = 1536")
    decoder, encoder = ref.decoder_only_counts(12, 1, 1024, 768, 12), ref.encoder_only_counts(12, 1, 1024, 768, 12)
    assert (1 - decoder.allowed_pairs / encoder.allowed_pairs) * share(1024, 768) == pytest.approx(0.2, abs=1e-3)


def test_more_parameters_and_less_work():
    one, both = ref.decoder_only_counts(12, 1, 640, 768, 12), ref.encoder_decoder_counts(6, 6, 1, 512, 128, 768, 12)
    assert both.parameters == 1.5 * one.parameters and says("50 % more attention parameters")
    assert both.flops < one.flops and both.allowed_pairs < one.allowed_pairs


@pytest.mark.parametrize("masked", [False, True])
def test_torch_counts_the_same_flops_with_and_without_a_mask(masked):
    mask = torch.ones(6, 10, dtype=torch.bool).tril(4) if masked else None
    with FlopCounterMode(display=False) as counter:
        ref.MultiHeadAttention(12, 3)(torch.randn(2, 6, 12), torch.randn(2, 10, 12), mask)
    assert counter.get_total_flops() == ref.attention_flops(2, 6, 10, 12, 3)


def test_sentences_hold_both_words_once_and_the_right_answer():
    words, answers = sentences(200, 8, torch.Generator().manual_seed(0))
    assert ((words == 0).sum(1) == 1).all() and ((words == 1).sum(1) == 1).all()
    first = (words == 0).int().argmax(1) < (words == 1).int().argmax(1)
    assert torch.equal(first.float(), answers) and 60 < answers.sum() < 140


def test_exchanging_the_two_words_changes_no_answer_without_positions():
    torch.manual_seed(0)
    words, _ = sentences(50, 8, torch.Generator().manual_seed(1))
    exchanged = torch.where(words < 2, 1 - words, words)
    logits = {name: OrderReader(ref.MultiHeadAttention, 8, **kw) for name, kw in SETTINGS.items()}
    gap = {name: (m(words) - m(exchanged)).abs().max().item() for name, m in logits.items()}
    assert gap["no positions"] < 1e-5 < 1e-3 < min(gap["vector per place"], gap["causal mask"])


def test_word_order_is_learned_with_places_or_a_causal_mask_only():
    last = {
        name: train_reader(ref.MultiHeadAttention, **kw, steps=100, every=100)[-1][1] for name, kw in SETTINGS.items()
    }
    assert abs(last["no positions"] - 0.5) < 0.07
    assert last["vector per place"] > 0.95 and last["causal mask"] > 0.95


def test_recorded_runs_say_where_they_come_from_and_what_the_text_says():
    data = recorded()
    assert data["made"]["device"] in ("cpu", "cuda") and data["made"]["torch"] and data["made"]["command"]
    assert set(data["curves"]) == set(SETTINGS) and says(f"recorded: {data['length']} words, 5 seeds each")
    for name, seeds in data["curves"].items():
        assert len(seeds) == len(data["made"]["seeds"]) == 5
        final = [curve[-1][1] for curve in seeds]
        assert max(abs(f - 0.5) for f in final) < 0.07 if name == "no positions" else min(final) > 0.9, (name, final)
    assert all(abs(end - 0.5) < 0.08 for row in data["rows"] if row["setting"] == "no positions" for end in row["ends"])


def test_a_missing_earlier_answer_is_named_and_so_is_the_second_function_of_a_pair():
    def stub(*args, **kwargs):
        raise NotImplementedError("attention.softmax: shift, exp, divide")

    verdict = evaluate("attention.scaled_dot_product", lambda q, k, v, mask=None: stub())
    assert "uses your answer to attention.softmax" in verdict.mistakes[0].message
    assert verdict.mistakes[0].name == "generic.needs_another", "whatever language says so"

    def merge_heads(x):
        raise NotImplementedError("attention.split_heads: reshape and swap axes")

    verdict = evaluate("attention.split_heads", ref.split_heads, merge_heads)
    assert verdict.mistakes[0].message.startswith("merge_heads is not written yet")


def test_dogs_way_through_the_layer():
    q, k = torch.tensor([2.0, 0.0]), torch.tensor([[0.0, 4.0], [2.0, 0.0], [1.0, 2.0]])
    weights = (k @ q / math.sqrt(2)).softmax(0)
    out = float(weights @ torch.tensor([2.0, 6.0, 4.0]))
    told = ", ".join(f"{w:.3f}" for w in weights[:-1]) + f" and {weights[-1]:.3f}"
    assert told == "0.045, 0.768 and 0.187" and told in PROSE and f"= {out:.2f}$$" in PROSE
