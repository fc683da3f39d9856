"""Unit 15: its numbers by hand, its claims by recordings, and by answers to other inputs than those of the text."""

import math
from pathlib import Path

import pytest
import torch
from anatomy.experiments import balancing, drafting, fewer_bits, recorded
from anatomy.experiments import muon as training

from autograder.recording.experiments import balancing as balancing_script
from autograder.recording.experiments import muon as muon_script
from autograder.reference.muon import muon_step
from autograder.reference.rope import apply_rope_half

from .solved import solved

PROSE = (Path(__file__).parents[2] / "solutions" / "15-experts-and-drafts.py").read_text(encoding="utf-8")


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").split())


@pytest.fixture(scope="module")
def answers():
    """Names that the setup and answer cells of the solved unit define."""
    return solved(PROSE)


def test_both_routers_of_the_worked_examples(answers):
    weights, chosen = answers.route(torch.tensor([6.0, 3.0, 1.0]).log(), 2)
    assert weights.tolist() == pytest.approx([0.6, 0.3]) and chosen.tolist() == [0, 1]
    scores = torch.tensor([0.8, 0.6, 0.4])
    weights, chosen = answers.route_biased((scores / (1 - scores)).log(), torch.tensor([0.0, 0.0, 0.5]), 2)
    assert chosen.tolist() == [2, 0] and weights.tolist() == pytest.approx([1 / 3, 2 / 3])


def test_a_single_expert_s_router_learns_only_if_the_softmax_comes_first(answers):
    logits = torch.randn(5, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    answers.route(logits, 1)[0].sum().backward()
    assert logits.grad.abs().max() > 0.01
    after = torch.autograd.grad(logits.topk(1).values.softmax(-1).sum(), logits)[0]
    assert after.abs().max() == 0


def test_balance_by_hand(answers):
    p = torch.tensor([[[0.7, 0.3]] * 4])
    assert answers.balance_loss(p, torch.tensor([[[0], [0], [0], [1]]])).item() == pytest.approx(1.2)
    moved = answers.balanced_bias(torch.zeros(3), torch.tensor([0, 0, 0, 0, 1, 1]), 0.1)
    assert moved.tolist() == pytest.approx([-0.1, 0, 0.1])
    kept = answers.within_capacity(torch.tensor([[0, 1], [1, 0], [0, 1]]), 2, 2)
    assert kept.tolist() == [[True, True], [True, False], [True, False]]


def test_the_verdict_on_balance_is_what_was_recorded():
    found = balancing_script.facts(recorded("balancing"))
    assert found["seeds"] >= 3
    for way in ("loss", "bias"):
        assert found[way]["most"] == 0 and found[way]["loss"] < found["nothing"]["loss"]
        assert found[way]["worst"] < found["nothing"]["best"], "says that balance improves: no run may contradict it"
    assert found["nothing"]["fewest"] >= 1


def test_a_short_live_run_starves_no_expert_with_a_bias(answers):
    free, kept = (balancing.train(bias=bias, steps=150) for bias in (None, answers.balanced_bias))
    assert kept.busiest < free.busiest and sum(kept.load) == pytest.approx(1)


def test_acceptance_and_speed_by_hand(answers):
    p, q = torch.tensor([0.5, 0.5]), torch.tensor([0.8, 0.2])
    assert answers.acceptance(p, q).item() == pytest.approx(0.7)
    assert answers.tokens_per_call(0.5, 2) == 1.75 and round(answers.speedup(0.5, 2, 0.1), 2) == 1.46
    assert says("so it is $1.75 / 1.2 = 1.46$ times faster")
    assert [round(answers.tokens_per_call(a, 1), 2) for a in (0.85, 0.9)] == [1.85, 1.9]


def test_the_table_drafts_about_two_tokens_a_call_as_predicted(answers):
    """A hundred calls: their mean is off by a third at most with a chance far below 1e-6."""
    p, q = drafting.laws(n=120)
    predicted = answers.tokens_per_call(answers.acceptance(p, q).mean().item(), 4)
    runs = [drafting.write(answers.verify, "The captain was", 60, 4, seed) for seed in range(3)]
    measured = sum(r.tokens for r in runs) / sum(r.calls for r in runs)
    assert measured == pytest.approx(predicted, rel=1 / 3) and 1.5 < measured < 2.6


def test_a_draft_that_never_passes_writes_the_model_s_own_text(answers):
    """Tokens of calls without a draft are those of ordinary writing, one per call."""
    alone = drafting.write(answers.verify, "It was", 12, 0, seed=3)
    assert alone.tokens == alone.calls == 12


def test_a_cut_cache_changes_nothing(answers):
    """With drafts, the model reads each kept token once, and its laws are those of the whole text."""
    seen = []

    def watched(drafted, q, p, u):
        out = answers.verify(drafted, q, p, u)
        seen.append((p, len(out)))
        return out

    written = drafting.write(watched, "The captain was", 30, 3, seed=1)
    ids = drafting.shipped.tokenizer().encode(written.text).ids
    with torch.no_grad():
        whole = drafting.model()(torch.tensor([ids]))[0][0].softmax(-1)
    at = len(ids) - written.tokens - 1
    for p, n in seen[:5]:
        assert (p[0] - whole[at]).abs().max() < 1e-4
        at += n


def test_gains_of_the_wide_road(answers):
    torch.manual_seed(0)
    made = [answers.doubly_stochastic(3 * torch.eye(4) + torch.randn(4, 4)) for _ in range(96)]
    product = torch.linalg.multi_dot(made)
    assert product.sum(0).max() < 1.05 and product.sum(1).max() < 1.05


def test_muons_verdict_is_what_was_recorded():
    data = recorded("muon")
    found = muon_script.facts(data)
    assert found["seeds"] >= 3 and found["better"] == found["seeds"] and found["lowest"] > 0
    for name in muon_script.OPTIMIZERS:
        rates = sorted({r["rate"] for r in data["rows"] if r["optimizer"] == name})
        assert rates[0] < muon_script.chosen(data, name) < rates[-1], "the best rate must lie inside those tried"


def test_live_muon_is_further_than_adamw(answers):
    losses = [training.train(step, rate, seed=1, steps=100) for step, rate in ((None, 0.01), (answers.muon_step, 0.05))]
    assert losses[1] < losses[0]


def test_a_step_changes_nothing_in_place():
    weight, gradient, momentum = (torch.randn(3, 4) for _ in range(3))
    kept = [t.clone() for t in (weight, gradient, momentum)]
    muon_step(weight, gradient, momentum, 0.1)
    assert all(torch.equal(a, b) for a, b in zip(kept, (weight, gradient, momentum), strict=True))


def test_bits_by_hand_and_on_the_model(answers):
    codes, scale = answers.quantize_groups(torch.tensor([[0.1, -0.2, 0.3, 6.0]]), 4, 3)
    assert codes.tolist() == [[0, 0, 0, 3]] and scale.tolist() == [[2.0]]
    assert answers.bits_per_weight(3, 2) == 11 and answers.bits_per_weight(3, 32) == 3.5
    assert answers.bits_per_weight(4, 32, 8) == 4.25 and says("so 4.25 bits per weight")
    exact = fewer_bits.bits_per_byte()
    cost = [
        fewer_bits.bits_per_byte(lambda w, b=bits: answers.restore_groups(*answers.quantize_groups(w, 16, b)))
        for bits in (8, 4, 2)
    ]
    assert cost[0] < 1.001 * exact and cost[1] < 1.01 * exact and cost[2] > 1.1 * exact


def test_the_written_answer_s_numbers():
    p, q, u = 0.5, 0.8, 0.625
    assert q * u == pytest.approx(p) and q * u + 0.3 * p == pytest.approx(0.65)
    assert math.isclose(1 - q * u - 0.2, 0.3)


# ---- positions since RoPE --------------------------------------------------------------------------------------------
def cell_with(start):
    """What the text's cell with this line defines."""
    cell = next(c for c in PROSE.split("\n# %%") if f"\n{start}" in c)
    names = {"torch": torch, "math": math, "llama3_frequencies": None}
    exec(cell.split("\n", 1)[1].split("\n\n")[0], names)
    return names


@pytest.mark.parametrize("factor, D", [(8.0, 128), (32.0, 64)])
def test_llama_3_s_frequencies_are_the_library_s(factor, D):
    """Of Llama 3.1 and of Llama 3.2 1B."""
    from transformers import LlamaConfig  # takes two seconds: not while tests are collected
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    c = LlamaConfig(
        hidden_size=D * 4,
        num_attention_heads=4,
        max_position_embeddings=131_072,
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 500_000.0,
            "factor": factor,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8_192,
        },
    )
    theirs, attention_factor = ROPE_INIT_FUNCTIONS["llama3"](c, device="cpu")
    ours = cell_with("def llama3_frequencies")["llama3_frequencies"](D, factor=factor)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=0)
    assert attention_factor == 1.0 and ours.shape == (D // 2,)


def test_three_positions_turn_as_in_the_library(answers):
    """Qwen2-VL's code, in which sections choose among tables of the three positions."""
    from transformers import Qwen2VLTextConfig
    from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2_vl

    g = torch.Generator().manual_seed(0)
    B, H, T, sections = 2, 3, 5, (2, 3, 3)
    D = 2 * sum(sections)
    q, k = (torch.randn(B, H, T, D, generator=g) for _ in range(2))
    positions = torch.randint(0, 200, (3, B, T), generator=g)
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": list(sections)}
    c = Qwen2VLTextConfig(hidden_size=H * D, num_attention_heads=H, num_key_value_heads=H, rope_parameters=rope)
    theirs = qwen2_vl.apply_rotary_pos_emb(q, k, *qwen2_vl.Qwen2VLRotaryEmbedding(c)(q, positions))
    for x, expected in zip((q, k), theirs, strict=True):
        torch.testing.assert_close(answers.turn_by_sections(x, positions, sections), expected, rtol=1e-4, atol=1e-5)


def test_a_word_s_three_positions_are_rope(answers):
    x = torch.randn(2, 2, 6, 12, generator=torch.Generator().manual_seed(1))
    places = torch.randint(0, 500, (2, 6), generator=torch.Generator().manual_seed(2))
    turned = answers.turn_by_sections(x, places.expand(3, -1, -1), (1, 2, 3))
    torch.testing.assert_close(turned, apply_rope_half(x, places), rtol=1e-4, atol=1e-5)


def test_sections_by_hand(answers):
    x = torch.tensor([1.0] * 4 + [0.0] * 4).reshape(1, 1, 1, 8)
    turned = answers.turn_by_sections(x, torch.tensor([3, 5, 7]).reshape(3, 1, 1), (2, 1, 1)).flatten()
    angles = torch.atan2(turned[4:], turned[:4])
    assert angles.tolist() == pytest.approx([3.0, 0.3, 0.05, 0.007], rel=1e-4)
    assert says("by $3 \\cdot 1$, $3 \\cdot 0.1$, $5 \\cdot 0.01$ and $7 \\cdot 0.001$")


def test_only_xpos_decays_whatever_the_phases_are():
    """As its cell says: RoPE's score is largest at the distance that its phases prefer, xPos's is bounded by less."""
    i = torch.arange(32) / 32
    theta, zeta = 10_000**-i, ((i + 0.4) / 1.4) ** (1 / 512)
    distance = torch.arange(0, 9_000, 500)[:, None]
    planes = ((distance - 2_000) * theta).cos()
    rope, bound = planes.mean(1), (zeta**distance).mean(1)
    assert rope.argmax() == 4 and rope[4] == 1 and (bound.diff() < 0).all() and bound[4] < 0.3
    assert ((zeta**distance * planes).mean(1).abs() <= bound + 1e-6).all() and zeta.max() < 1


def test_a_rounded_table_is_a_smaller_mistake_than_rounded_angles():
    """Bits of bfloat16: a cosine near 1 is off by 2⁻⁹ at most, an angle near 130,000 by 256 radians."""
    angles = torch.arange(0, 131_072, 37)[:, None] * 500_000.0 ** (-torch.arange(0, 128, 2) / 128)
    table = torch.stack([angles.cos(), angles.sin()])
    rounded = torch.stack([angles.bfloat16().float().cos(), angles.bfloat16().float().sin()])
    assert (table.bfloat16().float() - table).abs().max() <= 2**-9 < 1.9 < (rounded - table).abs().max()
