"""Oracles: models built on the meta device, here and in Hugging Face; a numerical minimum; published figures."""

import numpy as np
import pytest
import torch

from autograder.reference import scaling
from autograder.reference.models import sizes
from autograder.reference.models.bert import Albert, Bert
from autograder.reference.models.decoder import parameter_count
from autograder.reference.models.gemma2 import Gemma2
from autograder.reference.models.glm import ChatGLM
from autograder.reference.models.gpt2 import GPT1, GPT2
from autograder.reference.models.llama import Llama, Mistral
from autograder.reference.models.mixtral import Mixtral
from autograder.reference.models.olmo2 import Olmo2
from autograder.reference.models.qwen import Qwen2, Qwen3
from autograder.reference.models.t5 import T5, T5v11


def on_meta(build):
    """Counts parameters without allocating memory: 70 billion of them in a second."""
    with torch.device("meta"):
        model = build()
    assert all(p.is_meta for p in model.parameters())
    return parameter_count(model)


EXACT = {
    "BERT base": (109_482_240, lambda: Bert(sizes.BERT_BASE), scaling.bert_parameters(sizes.BERT_BASE)),
    "BERT large": (335_141_888, lambda: Bert(sizes.BERT_LARGE), scaling.bert_parameters(sizes.BERT_LARGE)),
    "ALBERT base": (
        11_683_584,
        lambda: Albert(sizes.ALBERT_BASE, sizes.ALBERT_EMBEDDING),
        scaling.albert_parameters(sizes.ALBERT_BASE, sizes.ALBERT_EMBEDDING),
    ),
    "GPT-2": (124_439_808, lambda: GPT2(sizes.GPT2_SMALL), scaling.gpt2_parameters(sizes.GPT2_SMALL)),
    "GPT-2 XL": (1_557_611_200, lambda: GPT2(sizes.GPT2_XL), scaling.gpt2_parameters(sizes.GPT2_XL)),
    "T5 small": (60_506_624, lambda: T5(sizes.T5_SMALL), scaling.t5_parameters(sizes.T5_SMALL)),
    "T5 base": (222_903_552, lambda: T5(sizes.T5_BASE), scaling.t5_parameters(sizes.T5_BASE)),
    "T5 v1.1 base": (
        247_577_856, lambda: T5v11(sizes.T5_V11_BASE), scaling.t5_parameters(sizes.T5_V11_BASE, gated=True)
    ),
    "LLaMA 2 7B": (6_738_415_616, lambda: Llama(sizes.LLAMA_2_7B), scaling.llama_parameters(sizes.LLAMA_2_7B)),
    "LLaMA 2 13B": (
        13_015_864_320, lambda: Llama(sizes.LLAMA_2_13B), scaling.llama_parameters(sizes.LLAMA_2_13B)
    ),
    "LLaMA 2 70B": (
        68_976_648_192, lambda: Llama(sizes.LLAMA_2_70B), scaling.llama_parameters(sizes.LLAMA_2_70B)
    ),
    "Llama 3 8B": (8_030_261_248, lambda: Llama(sizes.LLAMA_3_8B), scaling.llama_parameters(sizes.LLAMA_3_8B)),
    "Mistral 7B": (
        7_241_732_096,
        lambda: Mistral(sizes.MISTRAL_7B, sizes.MISTRAL_7B_WINDOW),
        scaling.llama_parameters(sizes.MISTRAL_7B),
    ),
    "Mixtral 8x7B": (
        46_702_792_704,
        lambda: Mixtral(sizes.MIXTRAL_8X7B, n_experts=8, k=2),
        scaling.mixtral_parameters(sizes.MIXTRAL_8X7B, 8),
    ),
    "ChatGLM2 6B": (
        6_243_584_000, lambda: ChatGLM(sizes.CHATGLM2_6B), scaling.chatglm_parameters(sizes.CHATGLM2_6B)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_exact_counts_of_real_sizes(name):
    published, build, formula = EXACT[name]
    assert on_meta(build) == published == formula


def hf_count(model_class, config):
    with torch.device("meta"):
        return sum(p.numel() for p in model_class(config).parameters())


def test_counts_equal_hugging_faces_default_sizes(oracle_report):
    """The defaults of these classes are the released sizes, so an independent source confirms the figures above."""
    import transformers as hf

    xxlarge = scaling.albert_parameters(sizes.ALBERT_XXLARGE, sizes.ALBERT_EMBEDDING)
    counts = {
        "BERT base": (EXACT["BERT base"][0], hf.BertModel, hf.BertConfig()),
        "GPT-2": (EXACT["GPT-2"][0], hf.GPT2LMHeadModel, hf.GPT2Config()),
        "T5 small": (EXACT["T5 small"][0], hf.T5ForConditionalGeneration, hf.T5Config()),
        "LLaMA 2 7B": (EXACT["LLaMA 2 7B"][0], hf.LlamaForCausalLM, hf.LlamaConfig()),
        "Mistral 7B": (EXACT["Mistral 7B"][0], hf.MistralForCausalLM, hf.MistralConfig()),
        "GPT-1": (on_meta(lambda: GPT1(sizes.GPT1)), hf.OpenAIGPTLMHeadModel, hf.OpenAIGPTConfig()),
        "Gemma 2 2B": (on_meta(lambda: Gemma2(sizes.GEMMA_2_2B)), hf.Gemma2ForCausalLM, hf.Gemma2Config()),
        "GLM-4 9B": (on_meta(lambda: ChatGLM(sizes.GLM_4_9B)), hf.GlmForCausalLM, hf.GlmConfig(attention_bias=True)),
        "Mixtral 8x7B": (EXACT["Mixtral 8x7B"][0], hf.MixtralForCausalLM, hf.MixtralConfig()),
        "OLMo 2 7B": (on_meta(lambda: Olmo2(sizes.OLMO_2_7B)), hf.Olmo2ForCausalLM, hf.Olmo2Config(vocab_size=100352)),
        "ALBERT xxlarge": (xxlarge, hf.AlbertModel, hf.AlbertConfig(num_hidden_layers=12)),
    }
    for name, (ours, model_class, config) in counts.items():
        theirs = torch.tensor(hf_count(model_class, config))
        oracle_report(f"parameters of {name} / Hugging Face", torch.tensor(ours), theirs)


def test_counts_of_qwen_and_the_active_part_of_mixtral():
    assert on_meta(lambda: Qwen2(sizes.QWEN2_7B)) == 7_615_616_512
    assert on_meta(lambda: Qwen3(sizes.QWEN3_8B, sizes.QWEN3_HEAD_DIM)) == 8_190_735_360
    active = scaling.mixtral_parameters(sizes.MIXTRAL_8X7B, 8, active=2)
    assert active / 1e9 == pytest.approx(12.9, abs=0.05)  # the paper's 13 billion


def test_deepseek_v3_has_671_billion_of_which_37_work(oracle_report):
    import transformers as hf

    config = scaling.DeepSeekV3Config()
    total = scaling.deepseek_v3_parameters(config)
    theirs = torch.tensor(hf_count(hf.DeepseekV3ForCausalLM, hf.DeepseekV3Config()))
    oracle_report("parameters of DeepSeek-V3 / Hugging Face", torch.tensor(total), theirs)
    assert round(total / 1e9) == 671
    assert round(scaling.deepseek_v3_parameters(config, active=True) / 1e9) == 37


def test_albert_saves_by_factorizing_and_by_sharing():
    c, E = sizes.ALBERT_BASE, sizes.ALBERT_EMBEDDING
    full = c.vocab * c.d_model
    assert c.vocab * E + E * c.d_model < full / 5
    deeper = c._replace(n_layers=24)
    assert scaling.albert_parameters(deeper, E) == scaling.albert_parameters(c, E)
    assert scaling.bert_parameters(c) / scaling.albert_parameters(c, E) > 9


def test_gpt_widths_are_not_hidden_sizes():
    """3072, 6400 and 49152 are feed-forward widths: only 768, 1600 and 12288 reproduce the known counts."""
    for config, millions in ((sizes.GPT2_SMALL, 124), (sizes.GPT2_XL, 1558), (sizes.GPT3_175B, 174604)):
        assert round(scaling.gpt2_parameters(config) / 1e6) == millions
        assert 4 * config.d_model in (3072, 6400, 49152)
        wrong = config._replace(d_model=4 * config.d_model)
        assert scaling.gpt2_parameters(wrong) > 3 * scaling.gpt2_parameters(config)


def test_training_compute():
    assert scaling.training_flops(175e9, 300e9) == pytest.approx(3.15e23)
    # Narayanan et al.: GPT-3 on 1024 A100 at 140 TFLOP/s with recomputation would take 34 days.
    days = scaling.training_days(scaling.training_flops(175e9, 300e9, recompute=True), 1024, 140e12)
    assert round(days) == 34


@pytest.mark.parametrize("fit", [scaling.HOFFMANN, scaling.BESIROGLU])
@pytest.mark.parametrize("flops", [1e19, 5.76e23])
def test_compute_optimal_is_a_minimum(fit, flops):
    best = scaling.compute_optimal(flops, fit)
    assert 6 * best.parameters * best.tokens == pytest.approx(flops)
    loss = scaling.scaling_loss(*best, fit)
    for factor in (0.5, 0.9, 1.1, 2.0):
        other = scaling.scaling_loss(best.parameters * factor, best.tokens / factor, fit)
        assert other > loss
    # A step of 0.1 % in either direction changes the loss quadratically, not linearly.
    slope = scaling.scaling_loss(best.parameters * 1.001, best.tokens / 1.001, fit) - loss
    assert slope < 1e-6


def test_tokens_per_parameter():
    chinchilla = scaling.training_flops(70e9, 1.4e12)
    rule = scaling.twenty_tokens_rule(chinchilla)
    assert rule == pytest.approx((70e9, 1.4e12))
    ratio = lambda fit: (lambda best: best.tokens / best.parameters)(scaling.compute_optimal(chinchilla, fit))
    assert round(ratio(scaling.BESIROGLU)) == 18 and round(ratio(scaling.HOFFMANN)) == 93
    with pytest.raises(ValueError, match="flops"):
        scaling.compute_optimal(0.0)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_power_law_is_the_least_squares_of_numpy(oracle_report, noise):
    torch.manual_seed(0)
    x = 10 ** (17 + 8 * torch.rand(9, dtype=torch.float64))
    y = 0.3 * x**0.55 * torch.exp(noise * torch.randn(9, dtype=torch.float64))
    slope, intercept = np.polyfit(x.log().numpy(), y.log().numpy(), 1)
    law = torch.tensor(scaling.fit_power_law(x, y), dtype=torch.float64)
    expected = torch.tensor([np.exp(intercept), slope])
    oracle_report("fit_power_law / numpy's polyfit of the logarithms", law, expected, 1e-9, 0.0)
    if not noise:
        assert law.tolist() == pytest.approx([0.3, 0.55], rel=1e-9)
    assert scaling.fit_power_law(x.float(), y.float()) == pytest.approx(law.tolist(), rel=1e-5)


def test_allocation_spends_the_budget_and_follows_chinchillas_first_row():
    """Table 3 of arXiv:2203.15556: 67 billion parameters and 1.5 trillion tokens for 5.76e23 FLOPs."""
    rows = torch.tensor([[1.21e20, 1e9], [5.76e23, 67e9], [1.27e26, 1e12]], dtype=torch.float64)
    law = scaling.fit_power_law(*rows.T)
    N, D = scaling.allocation(5.76e23, law)
    assert 6 * N * D == pytest.approx(5.76e23)
    assert N == pytest.approx(67e9, rel=0.05) and D == pytest.approx(1.5e12, rel=0.08)


@pytest.mark.parametrize("name", ["GPT2_SMALL", "GPT2_XL", "GPT3_175B"])
def test_width_comes_back_from_an_exact_and_from_a_rounded_count(name):
    c = getattr(sizes, name)
    exact = scaling.gpt2_parameters(c)
    for count in (exact, float(f"{exact:.2e}")):
        assert scaling.gpt2_width(count, c.n_layers, c.vocab, c.max_positions) == c.d_model
    off = lambda d: abs(scaling.gpt2_parameters(c._replace(d_model=d)) - 0.9 * exact)
    nearest = min(range(64, 20_000, 64), key=off)
    assert scaling.gpt2_width(0.9 * exact, c.n_layers, c.vocab, c.max_positions) == nearest


def test_shape_ratios():
    c = sizes.LLAMA_2_7B
    ratios = scaling.shape_ratios(c.d_model, c.n_layers, c.n_heads, c.d_model // c.n_heads, c.d_ff)
    assert ratios == pytest.approx((2.6875, 1.0, 128.0))
