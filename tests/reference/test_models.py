"""Oracle: Hugging Face models of random tiny sizes, same weights by name, in float64 throughout."""

import itertools

import pytest
import torch
from torch import nn

from autograder.reference.masks import glm_mask, left_padded, right_padded
from autograder.reference.models import convert
from autograder.reference.models.bert import Albert, Bert, BertConfig, BertForPretraining
from autograder.reference.models.deepseek import DeepSeek, DeepSeekConfig
from autograder.reference.models.gemma2 import Gemma2, Gemma2Config
from autograder.reference.models.glm import GLM, ChatGLM, ChatGLMConfig
from autograder.reference.models.gpt2 import GPT1, GPT2, GPT3, GPTConfig
from autograder.reference.models.hybrid import HybridDecoder
from autograder.reference.models.llama import Llama, LlamaConfig, Mistral
from autograder.reference.models.mixtral import Mixtral, MixtureOfExperts
from autograder.reference.models.olmo2 import Olmo2
from autograder.reference.models.qwen import Qwen2, Qwen3
from autograder.reference.models.t5 import T5, T5Config, T5v11
from tests.reference.hf_float64 import float64, randomize

VOCAB, T = 37, 11
ATOL = 2e-12
TINY_LLAMA = LlamaConfig(VOCAB, 24, 3, 6, 2, 20, base=500.0, eps=1e-5)


def ids(seed=0, B=2, length=T):
    return torch.randint(1, VOCAB, (B, length), generator=torch.Generator().manual_seed(seed))


def llama_like(config_class, c, **extra):
    return config_class(
        vocab_size=c.vocab, hidden_size=c.d_model, num_hidden_layers=c.n_layers, intermediate_size=c.d_ff,
        num_attention_heads=c.n_heads, num_key_value_heads=c.n_kv_heads, rms_norm_eps=c.eps,
        rope_parameters={"rope_type": "default", "rope_theta": c.base}, tie_word_embeddings=False,
        max_position_embeddings=64, pad_token_id=0, attn_implementation="eager", **extra,
    )  # fmt: skip


def llama():
    from transformers import LlamaConfig as Config
    from transformers import LlamaForCausalLM

    return LlamaForCausalLM(llama_like(Config, TINY_LLAMA)), Llama(TINY_LLAMA), convert.from_llama


def mistral():
    from transformers import MistralConfig, MistralForCausalLM

    theirs = MistralForCausalLM(llama_like(MistralConfig, TINY_LLAMA, sliding_window=4, head_dim=4))
    return theirs, Mistral(TINY_LLAMA, window=4), convert.from_llama


def olmo2():
    from transformers import Olmo2Config, Olmo2ForCausalLM

    return Olmo2ForCausalLM(llama_like(Olmo2Config, TINY_LLAMA)), Olmo2(TINY_LLAMA), convert.from_olmo2


def gemma2():
    from transformers import Gemma2Config as Config
    from transformers import Gemma2ForCausalLM

    c = Gemma2Config(VOCAB, 24, 3, 4, 2, 8, 20, 4, query_scale=11.0, score_cap=3.0, logit_cap=2.0, base=500.0)
    theirs = Gemma2ForCausalLM(
        Config(
            vocab_size=VOCAB, hidden_size=24, num_hidden_layers=3, intermediate_size=20,
            num_attention_heads=4, num_key_value_heads=2, head_dim=8, sliding_window=4,
            query_pre_attn_scalar=11, attn_logit_softcapping=3.0, final_logit_softcapping=2.0,
            rope_parameters={"rope_type": "default", "rope_theta": 500.0}, max_position_embeddings=64,
            pad_token_id=0, attn_implementation="eager",
        )
    )  # fmt: skip
    return theirs, Gemma2(c), convert.from_gemma2


def glm():
    from transformers import GlmConfig, GlmForCausalLM

    c = ChatGLMConfig(VOCAB, 24, 3, 3, 1, 20, rotary_dim=4, base=500.0)
    config = llama_like(GlmConfig, c, head_dim=8, attention_bias=True)
    config.rope_parameters["partial_rotary_factor"] = 0.5
    return GlmForCausalLM(config), ChatGLM(c), convert.from_glm


def deepseek_v3():
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

    c = DeepSeekConfig(VOCAB, 24, 3, 3, 20, q_rank=9, kv_rank=7, nope_dim=5, rope_dim=4, v_dim=6, base=500.0)
    config = DeepseekV3Config(
        vocab_size=VOCAB, hidden_size=24, num_hidden_layers=3, first_k_dense_replace=3, intermediate_size=20,
        num_attention_heads=3, num_key_value_heads=3, q_lora_rank=9, kv_lora_rank=7, qk_nope_head_dim=5,
        qk_rope_head_dim=4, v_head_dim=6, rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        max_position_embeddings=64, pad_token_id=0, attn_implementation="eager",
    )  # fmt: skip
    return DeepseekV3ForCausalLM(config), DeepSeek(c), convert.from_deepseek_v3


def qwen2():
    from transformers import Qwen2Config, Qwen2ForCausalLM

    return Qwen2ForCausalLM(llama_like(Qwen2Config, TINY_LLAMA)), Qwen2(TINY_LLAMA), convert.from_llama


def qwen3():
    from transformers import Qwen3Config, Qwen3ForCausalLM

    theirs = Qwen3ForCausalLM(llama_like(Qwen3Config, TINY_LLAMA, head_dim=6))
    return theirs, Qwen3(TINY_LLAMA, head_dim=6), convert.from_qwen3


def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM

    config = llama_like(
        MixtralConfig, TINY_LLAMA, num_local_experts=5, num_experts_per_tok=2, experts_implementation="eager"
    )
    return MixtralForCausalLM(config), Mixtral(TINY_LLAMA, n_experts=5, k=2), convert.from_mixtral


def hybrid():
    """SmolLM3's code allows any mix: here local layers use RoPE and every third layer is full without positions."""
    from transformers import SmolLM3Config, SmolLM3ForCausalLM

    kinds = ["sliding_attention", "sliding_attention", "full_attention"] * 2
    c = TINY_LLAMA._replace(n_layers=6)
    config = llama_like(
        SmolLM3Config, c, no_rope_layers=[1, 1, 0] * 2, layer_types=kinds, use_sliding_window=True,
        sliding_window=4, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return SmolLM3ForCausalLM(config), HybridDecoder(c, window=4, every=3), convert.from_llama


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=VOCAB, n_embd=24, n_layer=3, n_head=4, n_positions=32, attn_implementation="eager")
    return GPT2LMHeadModel(config), GPT2(GPTConfig(VOCAB, 24, 3, 4, 32)), convert.from_gpt2


def gpt1():
    from transformers import OpenAIGPTConfig, OpenAIGPTLMHeadModel

    config = OpenAIGPTConfig(vocab_size=VOCAB, n_embd=24, n_layer=3, n_head=4, n_positions=32)
    return OpenAIGPTLMHeadModel(config), GPT1(GPTConfig(VOCAB, 24, 3, 4, 32)), convert.from_gpt1


DECODERS = {
    f.__name__: f for f in (llama, mistral, mixtral, qwen2, qwen3, olmo2, gemma2, glm, deepseek_v3, hybrid, gpt2, gpt1)
}


def pair(build, seed=0):
    """Hugging Face's model with random weights, and ours with the same weights, loaded strictly."""
    theirs, ours, convert_state = build()
    randomize(theirs, seed)
    ours = ours.double().eval()
    ours.load_state_dict(convert_state(theirs.state_dict()), strict=True)
    return theirs, ours


@pytest.mark.parametrize("name", DECODERS)
def test_decoder_logits_equal_hugging_face(name, oracle_report):
    with float64():
        theirs, ours = pair(DECODERS[name])
        expected = theirs(ids()).logits
    assert expected.std() > 0.1
    got = ours(ids())
    oracle_report(f"logits of {name}, Hugging Face", got, expected, rtol=0, atol=ATOL * float(expected.abs().max()))
    count = sum(p.numel() for p in theirs.parameters())
    assert count == sum(p.numel() for p in ours.parameters())


@pytest.mark.parametrize("side", [left_padded, right_padded])
@pytest.mark.parametrize("name", sorted(set(DECODERS) - {"gpt1"}))
def test_padded_decoder_logits_equal_hugging_face(name, side, oracle_report):
    real = side(torch.tensor([T, 7]), T)
    positions = (real.long().cumsum(-1) - 1).clamp(min=0)
    with float64():
        theirs, ours = pair(DECODERS[name])
        expected = theirs(ids(), attention_mask=real.long(), position_ids=positions).logits
    got = ours(ids(), real)
    assert torch.isfinite(got).all()
    atol = ATOL * float(expected.abs().max())
    oracle_report(f"padded logits of {name}, Hugging Face", got[real], expected[real], rtol=0, atol=atol)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_gradients_equal_hugging_face(name, oracle_report):
    with float64():
        theirs, ours = pair(DECODERS[name])
        with torch.enable_grad():
            loss = theirs(ids(), labels=ids()).loss
            loss.backward()
    from autograder.reference.objectives import next_token_loss

    mine = next_token_loss(ours(ids()), ids())
    mine.backward()
    oracle_report(f"loss of {name}, Hugging Face", mine, loss)
    expected = {n: p.grad for n, p in theirs.named_parameters()}
    convert_state = DECODERS[name]()[2]
    for tied in ("lm_head.weight",):
        expected.setdefault(tied, torch.zeros(VOCAB, 24, dtype=torch.float64))
    renamed = convert_state(expected)
    for parameter_name, parameter in ours.named_parameters():
        oracle_report(f"gradients of {name}, Hugging Face", parameter.grad, renamed[parameter_name])


def test_gpt3_logits_equal_gpt_neos_whose_layers_alternate_too(oracle_report):
    """GPT-Neo has no biases on q, k and v and does not divide scores by √D: ours get zero biases and larger queries."""
    from transformers import GPTNeoConfig, GPTNeoForCausalLM

    with float64():
        config = GPTNeoConfig(
            vocab_size=VOCAB, hidden_size=24, num_layers=4, num_heads=4, attention_types=[[["global", "local"], 2]],
            window_size=3, max_position_embeddings=32, attn_implementation="eager",
        )  # fmt: skip
        theirs = randomize(GPTNeoForCausalLM(config))
        expected = theirs(ids()).logits
    layer, block = r"transformer\.h\.(\d+)", r"blocks.\1"
    state = convert.rename(
        theirs.state_dict(),
        [
            (r"transformer\.wte\.(.*)", r"tokens.\1"),
            (r"transformer\.wpe\.(.*)", r"positions.\1"),
            (r"transformer\.ln_f\.(.*)", r"final_norm.\1"),
            (r"lm_head\.(.*)", r"head.\1"),
            (rf"{layer}\.attn\.attention\.([qkv])_proj\.(.*)", rf"{block}.attention.\2_proj.\3"),
            (rf"{layer}\.attn\.attention\.out_proj\.(.*)", rf"{block}.attention.o_proj.\2"),
            (rf"{layer}\.mlp\.c_fc\.(.*)", rf"{block}.ffn.up_proj.\2"),
            (rf"{layer}\.mlp\.c_proj\.(.*)", rf"{block}.ffn.down_proj.\2"),
            (rf"{layer}\.ln_1\.(.*)", rf"{block}.attention_norm.\2"),
            (rf"{layer}\.ln_2\.(.*)", rf"{block}.ffn_norm.\2"),
        ],
    )
    for n, part in itertools.product(range(4), "qkv"):
        state[f"blocks.{n}.attention.{part}_proj.bias"] = torch.zeros(24, dtype=torch.float64)
        state[f"blocks.{n}.attention.{part}_proj.weight"] *= 6**0.5 if part == "q" else 1.0
    ours = GPT3(GPTConfig(VOCAB, 24, 4, 4, 32), window=3).double()
    ours.load_state_dict(state, strict=True)
    atol = ATOL * float(expected.abs().max())
    oracle_report("logits of gpt3, GPT-Neo of Hugging Face", ours(ids()), expected, rtol=0, atol=atol)


def test_bert_logits_equal_hugging_face(oracle_report):
    from transformers import BertConfig as Config
    from transformers import BertForPreTraining

    segments, real = ids(1) % 2, right_padded(torch.tensor([T, 6]), T)
    with float64():
        config = Config(
            vocab_size=VOCAB, hidden_size=24, num_hidden_layers=3, num_attention_heads=4,
            intermediate_size=20, max_position_embeddings=16, attn_implementation="eager",
        )  # fmt: skip
        theirs = randomize(BertForPreTraining(config))
        ours = BertForPretraining(BertConfig(VOCAB, 24, 3, 4, 20, 16)).double()
        ours.load_state_dict(convert.from_bert(theirs.state_dict()), strict=True)
        expected = theirs(ids(), token_type_ids=segments, attention_mask=real.long())
        plain = theirs(ids())
    tokens, next_sentence = ours(ids(), segments, real)
    oracle_report("masked tokens of bert, Hugging Face", tokens[real], expected.prediction_logits[real])
    oracle_report("next sentence of bert, Hugging Face", next_sentence, expected.seq_relationship_logits)
    oracle_report("masked tokens of bert, Hugging Face", ours(ids())[0], plain.prediction_logits)
    with pytest.raises(ValueError, match="end at 16"):
        ours(ids(length=17))


def test_albert_hidden_states_equal_hugging_face(oracle_report):
    from transformers import AlbertConfig, AlbertModel

    real = right_padded(torch.tensor([T, 6]), T)
    with float64():
        config = AlbertConfig(
            vocab_size=VOCAB, embedding_size=10, hidden_size=24, num_hidden_layers=3, num_attention_heads=4,
            intermediate_size=20, max_position_embeddings=16, attn_implementation="eager",
        )  # fmt: skip
        theirs = randomize(AlbertModel(config))
        ours = Albert(BertConfig(VOCAB, 24, 3, 4, 20, 16), d_embedding=10).double()
        ours.load_state_dict(convert.from_albert(theirs.state_dict()), strict=True)
        expected = theirs(ids(), attention_mask=real.long())
    hidden, pooled = ours(ids(), real=real)
    oracle_report("hidden states of albert, Hugging Face", hidden[real], expected.last_hidden_state[real])
    oracle_report("pooled state of albert, Hugging Face", pooled, expected.pooler_output)


@pytest.mark.parametrize("version, act", [(T5, "relu"), (T5v11, "gated-gelu")])
def test_t5_logits_equal_hugging_face(version, act, oracle_report):
    from transformers import T5Config as Config
    from transformers import T5ForConditionalGeneration

    real, target = right_padded(torch.tensor([T, 6]), T), ids(1, length=9)
    with float64():
        config = Config(
            vocab_size=VOCAB, d_model=24, d_kv=5, num_heads=3, num_layers=3, d_ff=20,
            relative_attention_num_buckets=8, relative_attention_max_distance=10, feed_forward_proj=act,
            tie_word_embeddings=version is T5, attn_implementation="eager",
        )  # fmt: skip
        theirs = randomize(T5ForConditionalGeneration(config))
        ours = version(T5Config(VOCAB, 24, 3, 3, 5, 20, 8, 10)).double()
        ours.load_state_dict(convert.from_t5(theirs.state_dict()), strict=True)
        expected = theirs(ids(), attention_mask=real.long(), decoder_input_ids=target).logits
    got = ours(ids(), target, real)
    atol = ATOL * float(expected.abs().max())
    oracle_report(f"logits of t5 ({act}), Hugging Face", got, expected, rtol=0, atol=atol)


def test_glm_equals_gpt2_under_the_same_mask_and_positions(oracle_report):
    """The original GLM is not in Hugging Face; this uses GPT-2's blocks with GLM's mask and two positions."""
    positions = torch.tensor([0, 1, 2, 3, 4, 4, 4, 4, 2, 2, 2]).expand(2, T)
    blank = torch.tensor([0, 0, 0, 0, 0, 1, 2, 3, 1, 2, 3]).expand(2, T)
    mask = glm_mask(5, 6)
    ours = randomize(GLM(GPTConfig(VOCAB, 24, 3, 4, 32), max_blank=8).double(), seed=5)
    with float64():
        theirs, gpt = pair(gpt2)
        own = {n: t for n, t in ours.state_dict().items() if n == "blank_positions.weight"}
        ours.load_state_dict({**own, **gpt.state_dict()}, strict=True)
        embedded = theirs.transformer.wte(ids()) + ours.blank_positions(blank)
        additive = torch.zeros(T, T).masked_fill(~mask, torch.finfo(torch.float64).min)
        expected = theirs(
            inputs_embeds=embedded, position_ids=positions, attention_mask=additive.expand(2, 1, T, T)
        ).logits
    oracle_report("logits of glm, GPT-2 of Hugging Face", ours(ids(), positions, blank, mask), expected)


def test_glm_does_not_mind_the_order_in_which_blanks_are_listed():
    """Lists the spans in another order: part A and the first-written span keep their outputs."""
    from autograder.reference.objectives import blank_infilling

    model = randomize(GLM(GPTConfig(VOCAB, 24, 3, 4, 32), max_blank=8).double())
    spans = [(1, 3), (5, 8)]
    outputs = []
    for order in ([0, 1], [1, 0]):
        e = blank_infilling(ids(B=1)[0], spans, order, 34, 35, 36)
        outputs.append((e, model(e.tokens[None], e.positions[None], e.blank_positions[None], e.mask)[0]))
    (first, a), (second, b) = outputs
    torch.testing.assert_close(a[: first.part_a], b[: second.part_a], rtol=0, atol=1e-12)
    assert (a[first.part_a :] - b[second.part_a :]).abs().max() > 1e-3


def test_strict_loading_notices_a_missing_and_an_unknown_name():
    with float64():
        theirs, ours = pair(llama)
    state = theirs.state_dict()
    with pytest.raises(KeyError, match="no rule for extra.weight"):
        convert.from_llama({**state, "extra.weight": torch.zeros(1)})
    state.pop("model.norm.weight")
    with pytest.raises(RuntimeError, match="final_norm.weight"):
        ours.load_state_dict(convert.from_llama(state), strict=True)


def test_mixture_of_experts_equals_a_loop_over_tokens():
    layer = randomize(MixtureOfExperts(6, 8, 5, k=2).double())
    x = torch.randn(2, 4, 6, dtype=torch.float64)
    for b in range(2):
        for t in range(4):
            scores = layer.router.weight @ x[b, t]
            best = sorted(range(5), key=lambda e: -float(scores.detach()[e]))[:2]
            shares = torch.stack([scores[e] for e in best]).softmax(0)
            expected = sum(share * layer.experts[e](x[b, t]) for share, e in zip(shares, best, strict=True))
            torch.testing.assert_close(layer(x)[b, t], expected)
    with pytest.raises(ValueError, match="1..5"):
        MixtureOfExperts(6, 8, 5, k=6)


def test_decoder_errors():
    model = Llama(TINY_LLAMA)
    with pytest.raises(ValueError, match="real must cover"):
        model(ids(), real=torch.ones(2, T + 1, dtype=torch.bool))
    with pytest.raises(ValueError, match="as many caches"):
        model(ids(), caches=model.new_caches(2, T)[:2])
    with pytest.raises(ValueError, match="learned positions end at 7"):
        GPT2(GPTConfig(VOCAB, 8, 1, 2, 8))(ids(length=9))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_models_run_in_lower_precision(dtype):
    with float64():
        _, ours = pair(llama)
    exact = ours(ids())
    rough = ours.to(dtype)(ids())
    assert rough.dtype == dtype
    error = (rough.double() - exact).abs().max() / exact.abs().max()
    # About √(terms) roundings of 2^-24 or 2^-8 through three layers.
    assert error < {torch.float32: 1e-5, torch.bfloat16: 0.1}[dtype]


def test_blocks_are_the_parts_of_this_package():
    """An assembled model contains no norm, attention or activation of torch."""
    models = [Bert(BertConfig(VOCAB, 8, 1, 2, 8)), Llama(TINY_LLAMA), T5(T5Config(VOCAB, 8, 1, 2, 4, 8))]
    own = (nn.Linear, nn.Embedding, nn.ModuleList)
    for model in models:
        for module in model.modules():
            assert isinstance(module, own) or type(module).__module__.startswith("autograder."), type(module)
