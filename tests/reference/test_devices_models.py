"""Masks, objectives, caches and models on one device: they run on the meta device, and mixing raises.

Code in which data decides the shape (spans, expert choice, GPT's check of learned positions) can't run on the meta
device; it is left out.
"""

import pytest
import torch

from autograder.reference import gqa, kv_cache, masks, objectives, optim, sparse, sparse_gather, stability
from autograder.reference.mla import LatentAttention
from autograder.reference.models.bert import Albert, BertConfig, BertForPretraining
from autograder.reference.models.deepseek import DeepSeek, DeepSeekConfig
from autograder.reference.models.gemma2 import Gemma2, Gemma2Config
from autograder.reference.models.glm import GLM, ChatGLM, ChatGLMConfig
from autograder.reference.models.gpt2 import GPTConfig
from autograder.reference.models.hybrid import HybridDecoder
from autograder.reference.models.llama import Llama, LlamaConfig, Mistral
from autograder.reference.models.olmo2 import Olmo2
from autograder.reference.models.qwen import Qwen2, Qwen3
from autograder.reference.models.t5 import T5Config, T5v11
from tests.reference.test_devices import OneDevice

META = torch.device("meta")


@pytest.fixture(autouse=True)
def no_mixing():
    with OneDevice():
        yield


LLAMA = LlamaConfig(20, 16, 2, 4, 2, 8)
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64]


def meta(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device=META)


def flags(*shape):
    return torch.empty(shape, dtype=torch.bool, device=META)


CALLS = {
    "causal": lambda: masks.causal_mask(3, 5, META),
    "padding": lambda: masks.causal_padding_mask(flags(2, 5), 3),
    "positions": lambda: masks.position_ids(flags(2, 5)),
    "prefix": lambda: masks.prefix_lm_mask(5, 2, META),
    "unilm": lambda: masks.unilm_mask("right-to-left", 2, 3, META),
    "glm": lambda: masks.glm_mask(2, 3, META),
    "additive": lambda: masks.to_additive(flags(3, 3)),
    "local": lambda: sparse.local_causal_mask(5, 2, META) & sparse.local_symmetric_mask(5, 3, META),
    "block": lambda: sparse.longformer_mask(5, 3, [1], META) & sparse.block_mask(5, 2, META),
    "strided": lambda: sparse.strided_masks(5, 2, META)[1] & sparse.fixed_masks(5, 2, 1, META)[1],
    "reach": lambda: sparse.reach(sparse.interleaved_masks(5, 4, 2, device=META)),
    "local attention": lambda: sparse_gather.local_attention(*(meta(1, 2, 7, 4) for _ in range(3)), w=3),
    "grouped attention": lambda: gqa.grouped_attention(
        meta(1, 4, 3, 4), meta(1, 2, 5, 4), meta(1, 2, 5, 4), masks.causal_mask(3, 5, META)
    ),
    "quantize": lambda: kv_cache.dequantize(*kv_cache.quantize(meta(1, 2, 3, 4), -1)),
    "z-loss": lambda: stability.z_loss_gradient(meta(3, 5)) + stability.z_loss(meta(3, 5)),
    "dropout": lambda: stability.dropout(meta(3, 5), 0.5, True),
    "adamw": lambda: optim.adamw_step(meta(3), meta(3), optim.adam_state(meta(3)))[0],
    "next token": lambda: objectives.next_token_loss(meta(2, 4, 9), meta(2, 4, dtype=torch.long), flags(2, 4)),
    "info nce": lambda: objectives.symmetric_info_nce(meta(4, 5), meta(4, 5)),
    "mask tokens": lambda: (
        objectives.mask_tokens(
            meta(2, 4, dtype=torch.long),
            objectives.select_exact(meta(2, 4), flags(2, 4)),
            meta(2, 4),
            meta(2, 4, dtype=torch.long),
            3,
        ).inputs
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_stay_on_the_device(name):
    assert CALLS[name]().is_meta


BUILD = {
    "llama": lambda: Llama(LLAMA),
    "mistral": lambda: Mistral(LLAMA, 3),
    "qwen2": lambda: Qwen2(LLAMA),
    "qwen3": lambda: Qwen3(LLAMA, 6),
    "olmo2": lambda: Olmo2(LLAMA),
    "hybrid": lambda: HybridDecoder(LLAMA, 3, 2),
    "gemma2": lambda: Gemma2(Gemma2Config(20, 16, 2, 4, 2, 4, 8, 3, query_scale=4)),
    "glm": lambda: ChatGLM(ChatGLMConfig(20, 16, 2, 4, 2, 8, rotary_dim=2)),
    "deepseek": lambda: DeepSeek(DeepSeekConfig(20, 16, 2, 4, 8, 6, 5, 4, 2, 3)),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", BUILD)
def test_decoders_stay_on_the_device_and_in_the_dtype(name, dtype):
    """Built on the CPU and moved, as a user would: attributes that are not parameters must follow."""
    model = BUILD[name]().to(META, dtype)
    caches = model.new_caches(2, 7)
    ids, real = meta(2, 4, dtype=torch.long), flags(2, 4)
    with torch.no_grad():
        for out in (model(ids), model(ids, real), model(ids, real, caches), model(ids[:, :3], None, caches)):
            assert out.is_meta and out.dtype == dtype
    assert caches[0].keys.dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_encoders_and_t5_stay_on_the_device_and_in_the_dtype(dtype):
    ids, real = meta(2, 4, dtype=torch.long), flags(2, 4)
    c = BertConfig(20, 16, 2, 4, 8, 16)
    outputs = [*BertForPretraining(c).to(META, dtype)(ids, ids, real), *Albert(c, 6).to(META, dtype)(ids)]
    outputs.append(GLM(GPTConfig(20, 16, 2, 4, 16), 8).to(META, dtype)(ids, ids, ids, masks.glm_mask(2, 2, META)))
    t5 = T5v11(T5Config(20, 16, 2, 4, 3, 8)).to(META, dtype)
    outputs += [t5(ids, ids, real), t5.decode(ids, t5.encode(ids), None, t5.new_caches(2, 4))]
    assert all(out.is_meta and out.dtype == dtype for out in outputs)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_both_forms_of_latent_attention_in_every_dtype(dtype):
    layer = LatentAttention(16, 4, 6, 5, 4, 2, 3).to(dtype)
    x, ids = torch.randn(2, 5, 16).to(dtype), torch.arange(5)
    expanded, absorbed = (f(x, masks.causal_mask(5), ids) for f in (layer.forward, layer.forward_absorbed))
    assert expanded.dtype == absorbed.dtype == dtype
    # Two orders of summation: they differ by a few roundings of values up to about 1.
    torch.testing.assert_close(expanded, absorbed, rtol=0, atol=20 * torch.finfo(dtype).eps)
