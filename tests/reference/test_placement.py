"""Oracles: Hugging Face and torch layers with the same sublayers and weights; formulas worked by hand."""

import math

import pytest
import torch
from torch import nn

from autograder.reference import placement
from autograder.reference.activations import gelu, silu
from autograder.reference.attention import MultiHeadAttention
from autograder.reference.ffn import FeedForward, GatedFeedForward
from autograder.reference.norms import LayerNorm, RMSNorm
from tests.reference.draws import draw, seeded
from tests.reference.hf_float64 import float64

from . import hugging_face as hf

D_MODEL, HEADS, D_FF = 16, 4, 24
WIRINGS = {
    "post": placement.PostLN,
    "pre": placement.PreLN,
    "sandwich": placement.SandwichLN,
    "pre-post": placement.PrePostNorm,
    "inside": placement.NormInside,
    "deep": lambda d, a, f, *norm: placement.DeepNorm(d, a, f, 1.7, *norm),
    "parallel": placement.ParallelBlock,
    "parallel, two norms": placement.ParallelBlockTwoNorms,
}


class Adapter(nn.Module):
    """A sublayer from another library, called like ours."""

    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, x, **kwargs):
        return self.call(x)


def with_norms(block, weights):
    """Loads each norm's state into the block by attribute name."""
    for name, state in weights.items():
        getattr(block, name).load_state_dict(state, strict=True)
    return block.double()


def own_block(name, *norm):
    return WIRINGS[name](D_MODEL, MultiHeadAttention(D_MODEL, HEADS), FeedForward(D_MODEL, D_FF, gelu), *norm)


# wiring against other libraries


@pytest.mark.parametrize("norm_first", [False, True])
def test_post_and_pre_equal_torchs_encoder_layer(oracle_report, norm_first):
    theirs = seeded(
        nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, 0.0, "gelu", norm_first=norm_first, batch_first=True)
    )
    block = own_block("pre" if norm_first else "post").double()
    state = theirs.state_dict()
    ours = {}
    for part in ("weight", "bias"):
        for p, piece in zip("qkv", state[f"self_attn.in_proj_{part}"].chunk(3), strict=True):
            ours[f"attention.{p}_proj.{part}"] = piece
        ours[f"attention.o_proj.{part}"] = state[f"self_attn.out_proj.{part}"]
        ours[f"ffn.up_proj.{part}"] = state[f"linear1.{part}"]
        ours[f"ffn.down_proj.{part}"] = state[f"linear2.{part}"]
        ours[f"attention_norm.{part}"] = state[f"norm1.{part}"]
        ours[f"ffn_norm.{part}"] = state[f"norm2.{part}"]
    block.load_state_dict(ours, strict=True)
    x = draw(3, 7, D_MODEL)
    name = f"{'PreLN' if norm_first else 'PostLN'} / nn.TransformerEncoderLayer"
    oracle_report(name, block(x), theirs(x))
    causal = torch.ones(7, 7, dtype=torch.bool).tril()
    oracle_report(name + ", causal", block(x, mask=causal), theirs(x, src_mask=~causal))


def test_post_equals_bert(oracle_report):
    config = hf.BertConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        intermediate_size=D_FF,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        layer_norm_eps=1e-5,
    )
    config._attn_implementation = "eager"
    layer = seeded(hf.BertLayer(config))
    attend = lambda x: layer.attention.output.dense(layer.attention.self(x)[0])
    feed = lambda x: layer.output.dense(layer.intermediate(x))
    block = with_norms(
        placement.PostLN(D_MODEL, Adapter(attend), Adapter(feed)),
        {
            "attention_norm": layer.attention.output.LayerNorm.state_dict(),
            "ffn_norm": layer.output.LayerNorm.state_dict(),
        },
    )
    x = draw(2, 5, D_MODEL)
    out = layer(x)
    oracle_report("PostLN / BertLayer", block(x), out[0] if isinstance(out, tuple) else out)


def first(output):
    return output[0] if isinstance(output, tuple) else output


def test_pre_post_equals_gemma2(oracle_report):
    config = hf.Gemma2Config(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=2,
        head_dim=4,
        intermediate_size=D_FF,
        num_hidden_layers=2,
    )
    config._attn_implementation = "eager"
    layer = seeded(hf.gemma2.Gemma2DecoderLayer(config, 1))
    x = draw(2, 6, D_MODEL)
    positions = hf.gemma2.Gemma2RotaryEmbedding(config)(x, torch.arange(6)[None])
    attend = lambda h: layer.self_attn(h, position_embeddings=positions, attention_mask=None)[0]
    states = {
        "attention_norm_in": "input_layernorm",
        "attention_norm_out": "post_attention_layernorm",
        "ffn_norm_in": "pre_feedforward_layernorm",
        "ffn_norm_out": "post_feedforward_layernorm",
    }
    block = with_norms(
        placement.PrePostNorm(D_MODEL, Adapter(attend), Adapter(layer.mlp)),
        {mine: getattr(layer, theirs).state_dict() for mine, theirs in states.items()},
    )
    with float64():
        got, expected = block(x), first(layer(x, position_embeddings=positions, attention_mask=None))
    oracle_report("PrePostNorm / Gemma 2", got, expected)


def test_norm_inside_equals_olmo2(oracle_report):
    config = hf.Olmo2Config(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=2,
        intermediate_size=D_FF,
        rms_norm_eps=1e-6,
    )
    config._attn_implementation = "eager"
    layer = seeded(hf.olmo2.Olmo2DecoderLayer(config, 0))
    x = draw(2, 6, D_MODEL)
    positions = hf.olmo2.Olmo2RotaryEmbedding(config)(x, torch.arange(6)[None])
    attend = lambda h: layer.self_attn(h, position_embeddings=positions, attention_mask=None)[0]
    block = with_norms(
        placement.NormInside(D_MODEL, Adapter(attend), Adapter(layer.mlp)),
        {
            "attention_norm": layer.post_attention_layernorm.state_dict(),
            "ffn_norm": layer.post_feedforward_layernorm.state_dict(),
        },
    )
    with float64():
        got, expected = block(x), first(layer(x, position_embeddings=positions, attention_mask=None))
    oracle_report("NormInside / OLMo 2", got, expected)


def test_parallel_equals_gpt_j(oracle_report):
    config = hf.GPTJConfig(
        n_embd=D_MODEL,
        n_head=HEADS,
        n_inner=D_FF,
        rotary_dim=4,
        n_positions=32,
        resid_pdrop=0.0,
        attn_pdrop=0.0,
    )
    config._attn_implementation = "eager"
    layer = seeded(hf.GPTJBlock(config, 0))
    x, ids = draw(2, 6, D_MODEL), torch.arange(6)[None].expand(2, 6)
    attend = lambda h: layer.attn(h, position_ids=ids)[0]
    block = with_norms(
        placement.ParallelBlock(D_MODEL, Adapter(attend), Adapter(layer.mlp)),
        {"norm": layer.ln_1.state_dict()},
    )
    oracle_report("ParallelBlock / GPT-J", block(x), layer(x, position_ids=ids)[0])


def test_parallel_with_two_norms_equals_gpt_neox(oracle_report):
    config = hf.GPTNeoXConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        intermediate_size=D_FF,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        use_parallel_residual=True,
    )
    config._attn_implementation = "eager"
    layer = seeded(hf.neox.GPTNeoXLayer(config, 0))
    x = draw(2, 6, D_MODEL)
    positions = hf.neox.GPTNeoXRotaryEmbedding(config)(x, torch.arange(6)[None])
    attend = lambda h: layer.attention(h, attention_mask=None, position_embeddings=positions)[0]
    block = with_norms(
        placement.ParallelBlockTwoNorms(D_MODEL, Adapter(attend), Adapter(layer.mlp)),
        {
            "attention_norm": layer.input_layernorm.state_dict(),
            "ffn_norm": layer.post_attention_layernorm.state_dict(),
        },
    )
    expected = first(layer(x, attention_mask=None, position_embeddings=positions))
    oracle_report("ParallelBlockTwoNorms / GPT-NeoX", block(x), expected)


def test_wirings_equal_their_formulas_on_scalars():
    """Sublayers A(x) = 2x, F(x) = 3x and norm n(x) = x + 1, from x = 1: each wiring gives a different number."""
    block = {
        name: wiring(1, Adapter(lambda x: 2 * x), Adapter(lambda x: 3 * x), lambda d: Adapter(lambda x: x + 1))
        for name, wiring in WIRINGS.items()
    }
    got = {name: float(b(torch.ones(1, 1, 1))) for name, b in block.items()}
    deep = (1.7 + 2) + 1
    assert got == pytest.approx(
        {
            "post": 17,  # n(1 + 2) = 4; n(4 + 12) = 17
            "pre": 23,  # 1 + 2·2 = 5; 5 + 3·6 = 23
            "sandwich": 6 + 3 * 7 + 1,  # 1 + n(4) = 6; 6 + n(21) = 28
            "pre-post": 28,
            "inside": 4 + 13,  # 1 + n(2) = 4; 4 + n(12) = 17
            "deep": 1.7 * deep + 3 * deep + 1,
            "parallel": 1 + 4 + 6,
            "parallel, two norms": 11,
        }
    )


# structure


@pytest.mark.parametrize("name", WIRINGS)
def test_zeroed_output_projections_leave_the_identity_only_where_the_stream_is_bare(name):
    block = own_block(name).double()
    for linear in (block.attention.o_proj, block.ffn.down_proj):
        nn.init.zeros_(linear.weight)
        nn.init.zeros_(linear.bias)
    x = draw(2, 5, D_MODEL)
    if name in ("post", "deep"):
        assert float((block(x) - x).detach().abs().max()) > 0.1
        twice = block.ffn_norm(block.attention_norm(x))
        torch.testing.assert_close(block(x), twice, rtol=1e-4, atol=1e-4)  # a norm cancels α
    else:
        assert torch.equal(block(x), x)


def test_sandwich_and_pre_post_are_one_wiring():
    sandwich, pre_post = own_block("sandwich", RMSNorm), own_block("pre-post", RMSNorm)
    seeded(sandwich)
    pre_post.double().load_state_dict(sandwich.state_dict(), strict=True)
    x = draw(2, 5, D_MODEL)
    assert torch.equal(sandwich(x), pre_post(x))


def test_number_of_norms():
    count = {n: sum(isinstance(m, LayerNorm) for m in own_block(n, LayerNorm).modules()) for n in WIRINGS}
    assert count == {
        "post": 2,
        "pre": 2,
        "sandwich": 4,
        "pre-post": 4,
        "inside": 2,
        "deep": 2,
        "parallel": 1,
        "parallel, two norms": 2,
    }


@pytest.mark.parametrize("name", WIRINGS)
def test_mask_reaches_the_attention(name):
    block = seeded(own_block(name))
    x = draw(2, 5, D_MODEL)
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    changed = x.clone()
    changed[:, 3:] += 1
    assert torch.equal(block(x, mask=causal)[:, :3], block(changed, mask=causal)[:, :3])
    assert not torch.equal(block(x)[:, :3], block(changed)[:, :3])


def test_stack_runs_blocks_in_order_and_ends_with_its_norm():
    blocks = [seeded(own_block("pre")), own_block("post").double()]
    norm = LayerNorm(D_MODEL).double()
    x = draw(2, 5, D_MODEL)
    assert torch.equal(placement.Stack(blocks, norm)(x), norm(blocks[1](blocks[0](x))))
    assert torch.equal(placement.Stack(blocks)(x), blocks[1](blocks[0](x)))


@pytest.mark.parametrize("norm", [LayerNorm, RMSNorm])
def test_fused_parallel_forward_equals_the_plain_one(oracle_report, norm):
    attention, feed = MultiHeadAttention(D_MODEL, HEADS, bias=False), GatedFeedForward(D_MODEL, 21, silu)
    block = seeded(placement.ParallelBlock(D_MODEL, attention, feed, norm))
    x, causal = draw(2, 7, D_MODEL), torch.ones(7, 7, dtype=torch.bool).tril()
    expected = block(x, mask=causal)
    oracle_report("fused_parallel_forward / block", placement.fused_parallel_forward(block, x, causal), expected)


def test_fused_parallel_forward_errors():
    biased = placement.ParallelBlock(8, MultiHeadAttention(8, 2), GatedFeedForward(8, 9))
    with pytest.raises(ValueError, match="biases"):
        placement.fused_parallel_forward(biased, torch.zeros(1, 2, 8))
    with pytest.raises(TypeError, match="GatedFeedForward"):
        placement.fused_parallel_forward(own_block("parallel"), torch.zeros(1, 2, D_MODEL))


# DeepNorm


def test_deepnorm_scales_pinned():
    # N = 18: α = 36^¼, β = 144^-¼. The paper's 1000-layer models: 6 decimals by hand.
    assert placement.deepnorm_encoder_only(18) == pytest.approx((2.4494897, 0.2886751))
    assert placement.deepnorm_decoder_only(18) == placement.deepnorm_encoder_only(18)
    encoder, decoder = placement.deepnorm_encoder_decoder(6, 6)
    assert encoder == pytest.approx((0.81 * 6 ** (5 / 16), 0.87 * 6 ** (-5 / 16)))
    assert decoder == pytest.approx((18**0.25, 72**-0.25))
    encoder, decoder = placement.deepnorm_encoder_decoder(100, 4)
    assert encoder == pytest.approx((0.81 * 100**0.25 * 4 ** (1 / 16), 0.87 / (100**0.25 * 4 ** (1 / 16))))
    assert decoder == pytest.approx((12**0.25, 48**-0.25))
    for call in (
        lambda: placement.deepnorm_encoder_only(0),
        lambda: placement.deepnorm_encoder_decoder(3, 0),
    ):
        with pytest.raises(ValueError, match="positive"):
            call()


def test_deepnorm_init_scales_the_right_matrices():
    torch.manual_seed(0)
    d, beta = 128, 0.2
    block = placement.DeepNorm(d, MultiHeadAttention(d, 4), GatedFeedForward(d, 256, bias=True), 1.5)
    placement.deepnorm_init_(block, beta)
    for name, parameter in block.named_parameters():
        if "norm" in name:
            assert torch.equal(parameter, torch.full((d,), float(name.endswith("weight"))))
        elif parameter.dim() == 1:
            assert not parameter.any()
        else:
            gain = 1.0 if "q_proj" in name or "k_proj" in name else beta
            expected = gain * math.sqrt(2 / sum(parameter.shape))
            assert float(parameter.detach().std()) == pytest.approx(expected, rel=0.05), name


# gradients at initialization


def last_block_gradient(wiring, depth, d=64):
    """Gradient norm of the last block for a random direction, Xavier weights, mean over positions."""
    torch.manual_seed(0)
    blocks = [wiring(d, MultiHeadAttention(d, 4), FeedForward(d, 4 * d)) for _ in range(depth)]
    stack = placement.Stack(blocks, LayerNorm(d) if wiring is placement.PreLN else None)
    for p in stack.blocks.parameters():
        if p.dim() == 2:
            nn.init.xavier_normal_(p)
    torch.manual_seed(1)
    x, direction = torch.randn(2, 16, d), torch.randn(2, 16, d)
    (stack(x) * direction).mean().backward()
    return placement.gradient_norms(stack)


def test_last_layers_gradient_shrinks_with_depth_in_pre_ln_only():
    pre = [last_block_gradient(placement.PreLN, depth)[-1] for depth in (2, 8, 32)]
    post = [last_block_gradient(placement.PostLN, depth)[-1] for depth in (2, 8, 32)]
    assert pre[0] > 1.3 * pre[1] > 1.3 * 1.3 * pre[2]
    assert min(post) > 0.8 * max(post)


def test_gradient_norms_equal_a_concatenation_and_need_a_backward_pass():
    stack = placement.Stack([seeded(own_block("pre")), seeded(own_block("post"))])
    with pytest.raises(ValueError, match="block 0 has no gradients"):
        placement.gradient_norms(stack)
    stack(draw(2, 5, D_MODEL)).square().sum().backward()
    expected = [torch.cat([p.grad.flatten() for p in b.parameters()]).norm().item() for b in stack.blocks]
    assert placement.gradient_norms(stack) == pytest.approx(expected)
