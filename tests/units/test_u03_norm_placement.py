"""Unit 03: the numbers in its prose, the verdicts of its claims on trial, and its experiments."""

import math
from pathlib import Path

import pytest
import torch
from anatomy.experiments import effective_depth, gradient_flow, warmup
from anatomy.experiments.wirings import INITS, WIRINGS, SelfAttention, build, run
from torch import nn

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


@pytest.mark.parametrize("name, block, step", [
    ("post", blocks.PostLN, ref.post_ln), ("pre", blocks.PreLN, ref.pre_ln),
    ("inside", blocks.NormInside, ref.norm_inside),
])
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


def test_the_puzzle():
    last = {}
    for name, stairs in (("Post-LN", 0), ("Post-LN", 50), ("Pre-LN", 0)):
        rate = lambda step, stairs=stairs: ref.warmup_rate(step, 3e-3, stairs)
        losses = warmup.train(FUNCTIONS, name, 8, rate, 150)[1]
        last[name, stairs] = warmup.smooth(losses)[-1]
    # The last digits depend on the machine; the order does not.
    assert last["Post-LN", 0] > 1.5 > 0.3 > last["Post-LN", 50] and last["Pre-LN", 0] < 0.05
    assert says("| A | 2.21 |") and f"{math.log(16):.2f}" == "2.77"


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
    ratio = lambda name, init, width: [c[0] / c[-1] for c in data["inits"][name][init][width][96]]
    assert max(ratio("Post-LN", "He", 32)) < 1.1e-3 and says("about a thousand or more")
    assert min(ratio("Post-LN", "He", 128)) > 0.2
    assert all(0.9 < r < 1.1 for width in (32, 128) for r in ratio("Post-LN", "normal 0.02", width))
    pre = ratio("Pre-LN", "Xavier", 32) + ratio("Pre-LN", "Xavier", 128)
    assert 7 < min(pre) and max(pre) < 16.5 and says("7 to 16 times")
    post, pre = (data["inits"][n]["Xavier"][128][96] for n in ("Post-LN", "Pre-LN"))
    assert sum(c[-1] for c in post) / sum(c[-1] for c in pre) == pytest.approx(8, abs=1) and says("about eight times")
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


def test_without_residuals_six_layers_do_not_learn_their_training_data():
    bare = {"pre_ln": lambda x, f, n: f(n(x))}
    final = {depth: warmup.smooth(warmup.train(bare, "Pre-LN", depth, lambda s: 3e-3, 110)[1])[-1] for depth in (2, 6)}
    assert final[2] < 0.5 and final[6] > 2.7


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
            model = warmup.Copier(FUNCTIONS, name, depth, scale=scale)
            ids = torch.randint(0, 16, (32, 12), generator=torch.Generator().manual_seed(5))
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
            before = run(model.layers, model.embed(ids))
            model.loss(ids).backward()
            optimizer.step()
            moved[name, depth] = ((run(model.layers, model.embed(ids)) - before).norm() / before.norm()).item()
    for depth in (6, 24):
        assert moved["Post-LN", depth] > 0.5 and moved["DeepNorm", depth] < 0.5 * moved["Pre-LN", depth]
    assert moved["Pre-LN", 24] > 2 * moved["Pre-LN", 6]


def test_recorded_warm_up_says_what_the_text_says():
    data = warmup.recorded()
    ends = lambda *key: [r["losses"][-1] for r in data["rows"] if (r["wiring"], r["peak"], r["warmup"]) == key]
    assert all(len(ends("Post-LN", peak, w)) == 3 for peak in (3e-3, 1e-3) for w in (0, 100))
    assert min(ends("Post-LN", 3e-3, 0)) > 2.7 and max(ends("Post-LN", 3e-3, 100)) < 0.3
    assert max(ends("Post-LN", 1e-3, 0)) < 2 and max(ends("Pre-LN", 3e-3, 0) + ends("DeepNorm", 3e-3, 0)) < 0.01


def test_recorded_depth_says_what_the_verdict_says():
    data = effective_depth.recorded()
    fresh = {n: [c[-1] for c in data["fresh"][n]["48"]] for n in ("Post-LN", "Pre-LN")}
    assert max(fresh["Pre-LN"]) < 0.25 < 0.7 < min(fresh["Post-LN"])
    rows = {n: [r for r in data["trained"] if r["wiring"] == n] for n in ("Post-LN", "Pre-LN")}
    late = {n: [loss / r["loss"] for r in rs for loss in r["without"][6:]] for n, rs in rows.items()}
    assert max(late["Pre-LN"]) < 2.3 and says("about doubles at most")
    assert 18 <= max(late["Post-LN"]) < 19 and sum(r > 2.3 for r in late["Post-LN"]) > len(late["Post-LN"]) / 2
    assert max(r["loss"] for r in rows["Pre-LN"]) < min(r["loss"] for r in rows["Post-LN"])
    assert max(loss for r in rows["Pre-LN"] for loss in r["without"][7:]) < 0.01
    assert min(loss for r in rows["Post-LN"] for loss in r["without"]) > 0.05


def test_deepnorm_shrinks_what_it_should():
    layers = build(FUNCTIONS, "DeepNorm", 2, 64, scale=(2.0, 0.25))
    gains = ref.deepnorm_gains([n for n, _ in layers.named_parameters()], 0.25)
    for name, p in layers.named_parameters():
        if p.dim() == 2:
            assert p.std().item() == pytest.approx(gains[name] * math.sqrt(2 / sum(p.shape)), rel=0.06), name
    with pytest.raises(ValueError, match="DeepNorm needs scale"):
        build(FUNCTIONS, "DeepNorm", 2, 64)
