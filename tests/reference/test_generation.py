"""Oracles: the forward pass without caches, Hugging Face's generate, its caches after the same prompt."""

import pytest
import torch

from autograder.reference.kv_cache import chunks
from autograder.reference.masks import left_padded
from autograder.reference.models import convert
from autograder.reference.models.generate import (
    greedy,
    greedy_cached,
    greedy_seq2seq,
    greedy_seq2seq_cached,
)
from autograder.reference.models.gpt2 import GPT3, GPTConfig
from autograder.reference.models.t5 import T5, T5Config, T5v11
from tests.reference.hf_float64 import float64, randomize
from tests.reference.test_models import ATOL, DECODERS, VOCAB, T, ids, pair

PLANS = [[1] * T, [2, 3, 1, 5], [4, 1, 6], [T]]


def gpt3():
    return randomize(GPT3(GPTConfig(VOCAB, 24, 3, 4, 32), window=3).double())


def ours(name):
    if name == "gpt3":
        return gpt3()
    with float64():
        return pair(DECODERS[name])[1]


@pytest.mark.parametrize("name", [*DECODERS, "gpt3"])
def test_any_chunk_plan_gives_the_full_forward(name, oracle_report):
    """Prefill and decode, one token at a time, uneven chunks; with and without left padding."""
    model = ours(name)
    padded = left_padded(torch.tensor([T, 7]), T)
    for real in (None, padded):
        with torch.no_grad():
            full = model(ids(), real)
        for plan in PLANS:
            caches = model.new_caches(2, T)
            with torch.no_grad():
                pieces = [
                    model(ids()[:, a:b], None if real is None else real[:, :b], caches) for a, b in chunks(T, plan)
                ]
            got = torch.cat(pieces, dim=1)
            keep = torch.ones_like(padded) if real is None else real
            atol = ATOL * float(full.abs().max())
            oracle_report(f"cached {name}, full forward", got[keep], full[keep], rtol=0, atol=atol)


@pytest.mark.parametrize("name", DECODERS)
def test_greedy_tokens_equal_hugging_faces_generate(name):
    prompt, steps = ids(seed=3), 8
    with float64():
        theirs, model = pair(DECODERS[name], seed=3)
        expected = theirs.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=steps, min_new_tokens=steps,
            do_sample=False, eos_token_id=None, pad_token_id=0,
        )  # fmt: skip
    assert torch.equal(greedy(model, prompt, steps), expected)
    assert torch.equal(greedy_cached(model, prompt, steps), expected)


def test_generation_with_left_padding_equals_each_prompt_alone():
    model = ours("llama")
    lengths = [T, 5]
    real = left_padded(torch.tensor(lengths), T)
    prompt = ids().masked_fill(~real, 0)
    batch = greedy_cached(model, prompt, 6, real)
    assert torch.equal(batch, greedy(model, prompt, 6, real))
    for b, n in enumerate(lengths):
        alone = greedy_cached(model, prompt[b : b + 1, T - n :], 6)
        assert torch.equal(batch[b, T - n :], alone[0])


@pytest.mark.parametrize("name", ["llama", "mistral", "gemma2", "deepseek_v3"])
def test_cache_contents_equal_hugging_faces(name, oracle_report):
    from transformers import DynamicCache

    with float64():
        theirs, model = pair(DECODERS[name])
        their_cache = DynamicCache(config=theirs.config)
        for a, b in chunks(T, [4, 1, 6]):
            theirs(ids()[:, a:b], past_key_values=their_cache)
    caches = model.new_caches(2, T)
    with torch.no_grad():
        for a, b in chunks(T, [4, 1, 6]):
            model(ids()[:, a:b], None, caches)
    for layer, cache in zip(their_cache.layers, caches, strict=True):
        positions = cache.key_positions(0)
        slots = positions % cache.window if hasattr(cache, "window") else positions
        keys, values = cache.keys[:, :, slots], cache.values[:, :, slots]
        if name == "deepseek_v3":
            # Their rotary keys are de-interleaved, which changes no score.
            values = torch.cat([values[..., 0::2], values[..., 1::2]], dim=-1)
        oracle_report(f"cached keys of {name}, Hugging Face", keys, layer.keys, atol=1e-11)
        oracle_report(f"cached values of {name}, Hugging Face", values, layer.values, atol=1e-11)


def test_rolling_caches_keep_only_the_window():
    model = ours("gemma2")
    caches = model.new_caches(1, 100)
    assert [c.keys.shape[2] for c in caches] == [4, 100, 4]
    latent = ours("deepseek_v3").new_caches(1, 100)
    assert {(c.keys.shape[3], c.values.shape[3]) for c in latent} == {(7, 4)}


@pytest.mark.parametrize("version, act", [(T5, "relu"), (T5v11, "gated-gelu")])
def test_t5_generation_equals_hugging_face_with_and_without_caches(version, act):
    from transformers import T5Config as Config
    from transformers import T5ForConditionalGeneration

    source, steps = ids(seed=4), 8
    with float64():
        config = Config(
            vocab_size=VOCAB, d_model=24, d_kv=5, num_heads=3, num_layers=2, d_ff=20,
            relative_attention_num_buckets=8, relative_attention_max_distance=10, feed_forward_proj=act,
            tie_word_embeddings=version is T5, attn_implementation="eager",
        )  # fmt: skip
        theirs = randomize(T5ForConditionalGeneration(config), seed=4)
        model = version(T5Config(VOCAB, 24, 2, 3, 5, 20, 8, 10)).double()
        model.load_state_dict(convert.from_t5(theirs.state_dict()), strict=True)
        expected = theirs.generate(
            source, attention_mask=torch.ones_like(source), max_new_tokens=steps, min_new_tokens=steps,
            do_sample=False, eos_token_id=None, pad_token_id=0, decoder_start_token_id=0,
        )  # fmt: skip
    assert torch.equal(greedy_seq2seq(model, source, 0, steps), expected)
    assert torch.equal(greedy_seq2seq_cached(model, source, 0, steps), expected)


def test_t5_decoder_in_chunks_and_its_two_caches(oracle_report):
    model = randomize(T5v11(T5Config(VOCAB, 24, 2, 3, 5, 20, 8, 10)).double())
    target = ids(1, length=9)
    with torch.no_grad():
        memory = model.encode(ids())
        full = model.decode(target, memory)
        for plan in ([1] * 9, [2, 3, 1, 3], [9]):
            caches = model.new_caches(2, 9)
            got = torch.cat([model.decode(target[:, a:b], memory, None, caches) for a, b in chunks(9, plan)], 1)
            atol = ATOL * float(full.abs().max())
            oracle_report("cached t5, full forward", got, full, rtol=0, atol=atol)
            assert [c.own.length for c in caches] == [9, 9]
            assert all(c.cross.keys.shape == (2, 3, T, 5) for c in caches)
