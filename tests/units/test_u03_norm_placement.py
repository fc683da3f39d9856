"""Unit 03: the numbers in its text, the verdicts of its claims on trial, and its experiments."""

import math
import re
from pathlib import Path

import pytest
import torch
from anatomy.experiments import effective_depth, gradient_flow, named_models, recorded, warmup
from anatomy.experiments.wirings import INITS, WIRINGS, FeedForward, SelfAttention, build
from torch import nn

from autograder.recording.experiments import effective_depth as depth_record
from autograder.recording.experiments import gradient_flow as flow_record
from autograder.recording.experiments import residuals as residual_record
from autograder.recording.experiments import warmup as record
from autograder.reference import placement as blocks
from autograder.reference import residual as ref
from autograder.reference.norms import LayerNorm

PROSE = (Path(__file__).parents[2] / "solutions" / "03-norm-placement.py").read_text(encoding="utf-8")
FUNCTIONS = {w.function: getattr(ref, w.function) for w in WIRINGS.values()}
SEEDS = range(3)


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").split())


class Fixed(nn.Module):
    """A sublayer without weights."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


@pytest.mark.parametrize(
    "name, block, step",
    [
        ("post", blocks.PostLN, ref.post_ln),
        ("pre", blocks.PreLN, ref.pre_ln),
        ("inside", blocks.NormInside, ref.norm_inside),
    ],
)
def test_a_block_is_two_steps(name, block, step):
    torch.manual_seed(0)
    made, x = block(6, Fixed(torch.sin), Fixed(torch.tanh), LayerNorm), torch.randn(2, 3, 6)
    for p in made.parameters():
        nn.init.uniform_(p, 0.5, 2.0)
    expected = step(step(x, torch.sin, made.attention_norm), torch.tanh, made.ffn_norm)
    torch.testing.assert_close(made(x), expected)


def test_the_other_steps_are_those_of_the_blocks():
    torch.manual_seed(0)
    x, sin, tanh = torch.randn(2, 3, 6), Fixed(torch.sin), Fixed(torch.tanh)
    made = blocks.SandwichLN(6, sin, tanh)
    first = ref.sandwich(x, sin, made.attention_norm_in, made.attention_norm_out)
    torch.testing.assert_close(made(x), ref.sandwich(first, tanh, made.ffn_norm_in, made.ffn_norm_out))
    made = blocks.DeepNorm(6, sin, tanh, 1.7)
    first = ref.deepnorm(x, sin, made.attention_norm, 1.7)
    torch.testing.assert_close(made(x), ref.deepnorm(first, tanh, made.ffn_norm, 1.7))
    made = blocks.ParallelBlock(6, sin, tanh)
    torch.testing.assert_close(made(x), ref.parallel(x, sin, tanh, made.norm))


def test_fused_equals_parallel():
    torch.manual_seed(0)
    d, d_ff = 4, 10
    w = [torch.randn(s) for s in [(d, d)] * 3 + [(d_ff, d), (d, d), (d, d_ff)]]
    q, k, v, up, o, down = w
    attend = lambda h: nn.functional.scaled_dot_product_attention(h @ q.T, h @ k.T, h @ v.T) @ o.T
    norm, x = LayerNorm(d), torch.randn(2, 5, d)
    expected = ref.parallel(x, attend, lambda h: torch.relu(h @ up.T) @ down.T, norm)
    torch.testing.assert_close(ref.fused_parallel(x, norm, *ref.fuse(*w)), expected, rtol=1e-4, atol=1e-4)


def test_gains_are_those_of_the_initialization():
    torch.manual_seed(0)
    block = blocks.DeepNorm(64, SelfAttention(64), SelfAttention(64), 1.5)
    blocks.deepnorm_init_(block, 0.3)
    gains = ref.deepnorm_gains([n for n, _ in block.named_parameters()], 0.3)
    for name, p in block.named_parameters():
        if p.dim() == 2:
            assert p.std().item() == pytest.approx(gains.pop(name) * math.sqrt(2 / 128), rel=0.06), name
    assert not gains


def test_the_puzzle_is_told_from_the_recording():
    """In the recorded runs, A always stalls; B and C learn, C in every run."""
    told = record.facts(warmup_data())
    assert told["post_none"]["stalled"] == told["post_none"]["of"] >= 3 and told["post_none"]["min"] > 2.7
    assert told["post_warm"]["stalled"] == 0 and told["post_warm"]["median"] < 0.5
    assert told["no_need"]["max"] < 0.05
    for name in ("post_none", "post_warm", "pre_none"):
        assert f"{{{{warmup.{name}.median:" in PROSE and f"{{{{warmup.{name}.max:" in PROSE
    assert f"{math.log(16):.2f}" == "2.77"


def test_the_final_norm_keeps_logits_from_growing_with_depth():
    """As in the notebook's cell: a fresh stack with and without its final norm."""
    stream, logits, losses = {}, {}, {}
    for depth in (6, 24, 96):
        torch.manual_seed(0)
        stack = blocks.PreLNStack(64, [(SelfAttention(64), FeedForward(64)) for _ in range(depth)])
        for p in stack.parameters():
            if p.dim() == 2:
                nn.init.xavier_normal_(p)
        x, words = torch.randn(4, 16, 64), torch.randn(1000, 64) / 8
        for normed in (True, False):
            h = stack(x) if normed else nn.Sequential(*stack.blocks)(x)
            found = h @ words.T
            stream[depth, normed], logits[depth, normed] = h.square().mean().sqrt().item(), found.std().item()
            losses[depth, normed] = nn.functional.cross_entropy(found.flatten(0, 1), torch.arange(64)).item()
    for values in (stream, logits):
        assert values[96, False] / values[24, False] == pytest.approx(2, rel=0.1)
        assert values[96, True] / values[6, True] == pytest.approx(1, rel=0.05)
    assert losses[6, False] > 8.5 and losses[96, False] > 3 * losses[6, False]
    assert all(6.9 < losses[depth, True] < 8 for depth in (6, 24, 96)) and f"{math.log(1000):.1f}" == "6.9"


def test_the_last_layers_gradient_and_the_length_of_the_stream():
    depths = [6, 24, 96]
    last = {n: [gradient_flow.curve(FUNCTIONS, n, d, 64)[-1] for d in depths] for n in ("Post-LN", "Pre-LN")}
    assert ref.trend(depths, last["Post-LN"]) == "flat" and ref.trend(depths, last["Pre-LN"]) == "falls"
    assert ref.exponent(depths, last["Pre-LN"]) == pytest.approx(-0.5, abs=0.12)
    lengths = [effective_depth.fresh_streams(FUNCTIONS, "Pre-LN", n)[-1].square().mean().sqrt().item() for n in depths]
    assert ref.exponent(depths, lengths) == pytest.approx(0.5, abs=0.12)


def test_recorded_gradients_say_what_the_verdict_says():
    data = gradient_flow.recorded()
    assert data["made"]["device"] and data["made"]["command"] and len(data["made"]["seeds"]) == len(SEEDS)
    told = flow_record.facts(recorded("gradient_flow"))
    assert told["post_he_32"]["least"] > 900 and told["post_twice_xavier_32"]["least"] > 50
    assert told["post_wide"]["most"] < 8 and told["pre_xavier"]["least"] > 5
    assert told["last_post_over_pre"] == pytest.approx(8, abs=1)
    ratio = lambda name, init, width: [c[0] / c[-1] for c in data["inits"][name][init][width][96]]
    assert all(0.9 < r < 1.1 for width in (32, 128) for r in ratio("Post-LN", "normal 0.02", width))
    assert sum(r < 0.1 for r in ratio("Post-LN", "Xavier", 32)) == 1 and says("and at one seed Xavier's")
    assert max(r for init in INITS for width in (32, 128) for r in ratio("Post-LN", init, width)) < 4  # no explosion
    # DeepNorm's last layer: β/α = 1/(2√N) of Post-LN's gradient.
    for depth in (6, 24, 96):
        post, deep = (sum(c[-1] for c in data["curves"][name][128][depth]) for name in ("Post-LN", "DeepNorm"))
        assert deep / post == pytest.approx(1 / (2 * math.sqrt(depth)), rel=0.2)
    # The third claim: Pre-LN's first layer gets a larger gradient than its last, except with small weights.
    assert all(
        r > 5 for init in ("Xavier", "He", "twice Xavier") for width in (32, 128) for r in ratio("Pre-LN", init, width)
    )
    for init in INITS:
        for width in (32, 128):
            lasts = [sum(c[-1] for c in data["inits"]["Post-LN"][init][width][n]) for n in (6, 24, 96)]
            assert ref.trend([6, 24, 96], lasts) == "flat", (init, width)


def test_layer_norm_is_blind_to_other_sentences_and_batch_norm_is_not():
    torch.manual_seed(0)
    x, direction = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    other = torch.stack([x[0], 100 * torch.randn(3, 8)])
    layer = lambda x: nn.functional.layer_norm(x, (8,))
    batch = lambda x: nn.functional.batch_norm(x.flatten(0, 1), None, None, training=True).view_as(x)

    def slope(norm, x):
        x = x.clone().requires_grad_()
        ref.post_ln(x, torch.sin, norm).backward(direction)
        return x.grad[0]

    assert torch.equal(slope(layer, x), slope(layer, other))
    assert (slope(batch, x) - slope(batch, other)).abs().max() > 0.1


def test_without_residuals_deep_stacks_learn_slower():
    told = residual_record.facts(recorded("residuals"))
    assert told["seeds"] >= 3 and told["rates"] >= 2
    assert told["with"]["d6"]["learned"] == told["with"]["d6"]["of"] and told["with"]["d2"]["learned"] >= 6
    assert told["without"]["d2"]["learned"] == told["without"]["d2"]["of"]
    assert told["without"]["d6"]["learned"] <= told["without"]["d6"]["of"] // 2
    assert told["without"]["d6"]["low"]["nothing"] == 0, "slower, not unable"
    assert told["without"]["d6"]["high"]["nothing"] == 3


def test_identity_only_where_the_norm_is_off_the_stream():
    for name, wiring in WIRINGS.items():
        scale = (1.2, 0.5) if name == "DeepNorm" else None
        block, x = build(FUNCTIONS, name, 1, 32, scale=scale)[0], torch.randn(2, 5, 32)
        for p in (block.attention.o_proj, block.ffn.down_proj):
            nn.init.zeros_(p.weight)
        assert torch.equal(block(x), x) == (wiring.function not in ("post_ln", "deepnorm")), name


def test_the_first_step_moves_post_ln_most_and_deepnorm_least():
    moved = {}
    for name in ("Post-LN", "Pre-LN", "DeepNorm"):
        for depth in (6, 24):
            scale = blocks.deepnorm_decoder_only(depth) if name == "DeepNorm" else None
            moved[name, depth] = warmup.first_step(FUNCTIONS, name, depth, scale=scale)[1]
    for depth in (6, 24):
        assert moved["Post-LN", depth] > 1.5 * moved["Pre-LN", depth] > 3 * moved["DeepNorm", depth]


def test_adam_hardly_sees_the_scale_of_the_loss():
    gradient, moved = warmup.first_step(FUNCTIONS, "Post-LN", 12)
    smaller, as_far = warmup.first_step(FUNCTIONS, "Post-LN", 12, factor=0.01)
    assert smaller == pytest.approx(gradient / 100, rel=1e-3) and as_far == pytest.approx(moved, rel=0.05)
    told = record.facts(warmup_data())
    assert told["post_scaled"]["stalled"] == told["post_scaled"]["of"] >= 3
    for depth in told["first"]["post"].values():
        assert depth["scaled"] == pytest.approx(depth["moved"], rel=0.05)


def warmup_data():
    return recorded("warmup")


def test_recorded_warm_up_says_what_the_text_says():
    data = warmup_data()
    told = record.facts(data)
    assert record.seeds(data) >= 3 and record.controls(data)["learning rate"] >= 2
    assert told["post_low_none"]["stalled"] == 0 and told["no_need"]["stalled"] == 0
    first = told["first"]
    assert first["post"]["n12"]["moved"] > 1.5 * first["pre"]["n12"]["moved"] > 3 * first["deep"]["n12"]["moved"]
    assert first["post"]["n12"]["soft"] < 0.3 * first["post"]["n12"]["moved"]


def test_the_first_step_at_the_rates_of_the_verdicts_table():
    """Post-LN moves farthest at the rate at which it stalls, whatever the factor; the ranges over seeds overlap."""
    spans = {}
    for row, rate, factor in [
        ("| Post-LN | 0.003 |", 3e-3, 1),
        ("| Post-LN, loss times 0.01 | 0.003 |", 3e-3, 0.01),
        ("| Post-LN | 0.001 |", 1e-3, 1),
        ("| Pre-LN | 0.003 |", 3e-3, 1),
        ("| Post-LN, warm-up | 0.00003 |", 3e-5, 1),
    ]:
        name = row.strip("| ").split(" |")[0].split(",")[0]
        moved = [warmup.first_step(FUNCTIONS, name, 12, rate=rate, factor=factor, seed=seed)[1] for seed in SEEDS]
        (told,) = re.findall(re.escape(row) + r" ([\d.]+) to ([\d.]+) ", PROSE)
        assert [float(v) for v in told] == pytest.approx([min(moved), max(moved)], abs=0.02), row
        spans[row] = moved
    most, scaled, low, pre, soft = spans.values()
    assert sum(most) > sum(low) > sum(pre) > sum(soft) and scaled == pytest.approx(most, rel=0.02)
    assert 1 < min(most) < max(low) and max(pre) < min(most) and "ranges overlap" in PROSE
    assert record.facts(warmup_data())["no_need"]["stalled"] == 0 and says("| 0.81 to 0.98 | none |")


def test_recorded_depth_says_what_the_verdict_says():
    """Compares models of equal loss, since the comparison is unfair if one kind is trained better."""
    data = effective_depth.recorded()
    fresh = {n: [c[-1] for c in data["fresh"][n]["48"]] for n in ("Post-LN", "Pre-LN")}
    assert max(fresh["Pre-LN"]) < 0.25 < 0.7 < min(fresh["Post-LN"])
    for goal in data["goals"]:
        for layers, peak in {(r["layers"], r["peak"]) for r in data["trained"]}:
            losses = {
                n: [
                    r["loss"]
                    for r in data["trained"]
                    if (r["wiring"], r["layers"], r["peak"], r["goal"]) == (n, layers, peak, goal)
                ]
                for n in ("Post-LN", "Pre-LN")
            }
            assert len(losses["Post-LN"]) == len(losses["Pre-LN"]) == 3
            assert max(map(max, losses.values())) < goal
    told = depth_record.facts(data)
    assert told["pairs"]["held"] == told["pairs"]["of"] >= 9 and told["faster"]["held"] == told["faster"]["of"]


def test_named_models_say_what_the_verdict_says():
    models = named_models.recorded()
    norms = {
        "gpt1": "post",
        "bert-base": "post",
        "opt-350m": "post",
        "opt-1.3b": "pre",
        "gpt2": "pre",
        "llama-3-8b": "pre",
        "gemma2-9b": "pre+post",
        "olmo2-7b": "inside",
    }
    assert {name: models[name]["norm"] for name in norms} == norms


def test_deepnorm_shrinks_what_it_should():
    layers = build(FUNCTIONS, "DeepNorm", 2, 64, scale=(2.0, 0.25))
    gains = ref.deepnorm_gains([n for n, _ in layers.named_parameters()], 0.25)
    for name, p in layers.named_parameters():
        if p.dim() == 2:
            assert p.std().item() == pytest.approx(gains[name] * math.sqrt(2 / sum(p.shape)), rel=0.06), name
    with pytest.raises(ValueError, match="DeepNorm needs scale"):
        build(FUNCTIONS, "DeepNorm", 2, 64)
