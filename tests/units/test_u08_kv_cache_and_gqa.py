"""Unit 08: numbers in the text, and the verdicts of the claims on trial."""

from pathlib import Path

import pytest
import torch
from anatomy.experiments import named_models, recorded
from anatomy.experiments.decode import read_grouped, step_times, writing_times
from anatomy.experiments.roofline import measured
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.exercises.u08_kv_cache_and_gqa.step import cached_attention
from autograder.reference import gqa, intensity, mla
from autograder.reference.quantized_cache import dequantize, quantize

from .solved import solved

PROSE = (Path(__file__).parents[2] / "solutions" / "08-kv-cache-and-gqa.py").read_text(encoding="utf-8")


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").split())


def test_bytes_that_the_text_names():
    one = gqa.kv_bytes_per_token(1, 32, 128)
    assert (one, 32 * one, 32 * one * 8192) == (16 * 2**10, 512 * 2**10, 4 * 2**30)
    assert says(f"leaves {gqa.kv_bytes_per_token(32, 32, 128):,} bytes behind")
    assert says(f"a token of V3 takes {mla.mla_bytes_per_token(61, 512, 64):,} bytes")
    assert says(f"Llama-3-8B's {gqa.kv_bytes_per_token(32, 8, 128):,}")


def test_puzzle():
    assert gqa.users_that_fit(80 * 10**9, 13_480_000_000, gqa.kv_bytes_per_token(32, 32, 128), 4096) == 30


def test_intensity_of_decoding_is_h_over_g_and_does_not_depend_on_users():
    for B in (1, 64):
        assert intensity.attention_cost(B, 1, 4096, 32, 32, 128).intensity == pytest.approx(1, rel=1e-3)
    assert intensity.attention_cost(1, 1, 4096, 32, 8, 128).intensity == pytest.approx(4, rel=1e-2)
    assert round(intensity.attention_cost(1, 4096, 4096, 32, 32, 128).intensity) == 2048
    assert round(312e12 / 2.0e12) == 156


def test_a_whole_step_on_a_full_card():
    """The worked example, the prediction and the sentence below the figure of section 8."""
    fetched = lambda weights, per_token, users: weights + users * 4096 * per_token
    model = named_models.recorded()
    assert 2 * model["llama-2-7b"]["counted"] == 13_476_831_232 and 2 * model["llama-3-8b"]["counted"] == 16_060_522_496
    assert (2 * 32_000 * 4096, 2 * 128_256 * 4096) == (262_144_000, 1_050_673_152), "the input embeddings"
    old, new = (13_476_831_232 - 262_144_000, 524_288), (16_060_522_496 - 1_050_673_152, 131_072)
    one = fetched(*new, 1)
    told = f"{one / 1e9:.1f} GB, which takes {one / 2.0e9:.1f} ms: at most {2.0e12 / one:.0f} tokens per second"
    assert says(told)
    assert round(64 * one / fetched(*new, 64)) == 20
    users = [
        gqa.users_that_fit(80 * 10**9, 13_476_831_232, 524_288, 4096),
        gqa.users_that_fit(80 * 10**9, 16_060_522_496, 131_072, 4096),
    ]
    assert users == [30, 119]
    rates = [n / fetched(*m, n) for m, n in zip((old, new), users, strict=True)]
    assert 3.8 < rates[1] / rates[0] < 4
    assert all(0.78 < n * 4096 * m[1] / fetched(*m, n) < 0.84 for m, n in zip((old, new), users, strict=True))


def test_a_shared_prompt_is_stored_once(answers):
    """Eight requests share 1,000 tokens and have 200 tokens each of their own; blocks of 16 as in section 12."""
    per_token = gqa.kv_bytes_per_token(32, 8, 128)
    assert 8 * 1200 * per_token == 1_258_291_200 and 2600 * per_token == 340_787_200
    full = 1000 // 16
    assert full == 62 and 1000 % 16 == 8
    shared = full + 8 * (answers.blocks_needed(1200, 16) - full)
    assert (8 * answers.blocks_needed(1200, 16), shared) == (600, 166)
    prompt, text = torch.randn(3, 1, 2, 100, 2), torch.randn(3, 1, 2, 5, 2)
    _, past = answers.rotary_step(*prompt)
    alone = answers.rotary_step(*torch.cat([prompt, text], 3))[0][:, :, 100:]
    torch.testing.assert_close(answers.rotary_step(*text, past)[0], alone, rtol=1e-4, atol=1e-4)


def test_named_llamas_share_keys_or_not_as_the_verdict_says():
    models = named_models.recorded()
    for name in ("llama-1-7b", "llama-2-7b", "llama-2-13b"):
        assert models[name]["heads"] == models[name]["kv_heads"]
        near, far = (abs(models[name][k] - models[name]["published"]) for k in ("counted", "with_8_kv_heads"))
        assert near < far, "only with a key head per query head does the count give the published size"
    assert models["llama-2-70b"]["kv_heads"] == models["llama-3-8b"]["kv_heads"] == 8
    assert models["llama-2-7b"]["counted"] == 6_738_415_616
    assert round(models["llama-1-7b"]["with_8_kv_heads"] / 1e9, 1) == 5.9
    assert round(models["deepseek-v3"]["counted"] / 1e9) == 671


def test_deepseek_v3_has_671_billion_parameters():
    d, N, H, vocabulary = 7168, 61, 128, 129280
    attention = d * 1536 + 1536 * H * 192 + d * 576 + 512 * H * 256 + H * 128 * d
    rest = 3 * 3 * d * 18432 + 58 * (257 * 3 * d * 2048 + 256 * d) + 2 * vocabulary * d
    assert round((N * attention + rest) / 1e9) == 671


def test_recorded_decode_reads_less_with_fewer_heads_and_copying_costs():
    """True on any device. Starting a kernel dominates the time of short texts, so only the longest are compared."""
    record = recorded("decode")
    rows, H = record["rows"], record["setting"]["H"]
    longest = {r["G"]: r for r in rows if r["S"] == max(r["S"] for r in rows)}
    assert longest[1]["grouped"] < longest[8]["grouped"] < longest[H]["grouped"]
    assert all(r["copied"] > 1.5 * r["grouped"] for G, r in longest.items() if G < H)
    assert all(r["copying"] < r["copied"] for r in rows)
    assert all(r["copied"] > r["grouped"] for r in rows if r["G"] < H)


def test_recorded_dots_keep_to_the_roof_and_sharing_moves_them_right():
    """As drawn in the unit, with the reference's costs. Data in a chip's own memory may be read slightly faster."""
    peak, bandwidth, dots = measured(recorded("roofline"), intensity.attention_cost)
    *decoding, prefill = dots.values()
    assert len(decoding) == 3 and decoding == sorted(decoding) and prefill > decoding[-1], "right and up, MHA to MQA"
    for x, rate in dots.values():
        assert rate < 1.3 * intensity.attainable_flops(x, peak, bandwidth)


def test_the_store_saves_time_and_the_clock_is_not_fooled_by_threads():
    """In a notebook torch uses all threads; the experiments use one, since their clock would count waiting threads."""
    torch.set_num_threads(2)
    try:
        *_, last = writing_times(cached_attention, [32, 128])
        rows = step_times(gqa.repeat_kv, 4096, [1, 32], D=32)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    assert last["with"] < last["without"]
    assert rows[0]["grouped"] < rows[1]["grouped"]


def test_plots_of_recordings_take_lengths_and_device_from_the_recording():
    cells = [cell for cell in PROSE.split("# %%") if "record" in cell and "with described" in cell]
    assert len(cells) == 2
    for cell in cells:
        assert not any(str(S) in cell for S in (1024, 4096, 16384, 65536)) and "where(record)" in cell


def test_reading_in_place_equals_grouped_attention():
    q, k, v = torch.randn(2, 8, 4), torch.randn(2, 2, 9, 4), torch.randn(2, 2, 9, 4)
    torch.testing.assert_close(read_grouped(q, k, v), gqa.grouped_attention(q[:, :, None], k, v)[:, :, 0])
    rows = step_times(gqa.repeat_kv, 16, [1, 2], H=4, D=4, repeats=1)
    assert [r["bytes"] for r in rows] == [2 * 16 * 4 * 4, 2 * 2 * 16 * 4 * 4]
    assert [r["n"] for r in writing_times(cached_attention, [2, 4])] == [2, 4]


@pytest.mark.parametrize("G, copies", [(1, False), (2, True), (16, True), (32, False)])
def test_the_recorded_repetition_copies_nothing_at_either_end(G, copies):
    k = torch.randn(3, G, 5, 4)
    assert (gqa.repeat_kv(k, 32 // G).data_ptr() != k.data_ptr()) == copies


def test_one_large_channel_spoils_scales_per_token():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(200, 16, generator=generator)
    x[:, 3] *= 10
    others = torch.arange(16) != 3
    error = {dim: (dequantize(*quantize(x, dim, 4)) - x)[:, others].pow(2).mean().sqrt() for dim in (-1, -2)}
    assert error[-1] > 2 * error[-2]


# The unit's own answers, as run by a learner who has solved everything


@pytest.fixture(scope="module")
def answers():
    """Names that the setup and answer cells of the solved unit define."""
    return solved(PROSE)


T = 9
seeds = st.integers(0, 10**6)
drawn = settings(max_examples=50, deadline=None)


@st.composite
def plans(draw):
    cuts = sorted(draw(st.sets(st.integers(1, T - 1))))
    return [b - a for a, b in zip([0, *cuts], [*cuts, T], strict=True)]


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@given(plan=plans(), seed=seeds)
@drawn
def test_answers_in_chunks_equal_the_full_forward(answers, plan, seed):
    q, k, v = draw(seed, 3, 2, 3, T, 4)
    full = gqa.grouped_attention(q, k, v, torch.ones(T, T).tril().bool())
    buffer, past, start = answers.KVCache(2, 3, T, 4), None, 0
    for size in plan:
        chunk = [x[:, :, start : start + size] for x in (q, k, v)]
        got, past = answers.cached_attention(*chunk, past)
        torch.testing.assert_close(got, full[:, :, start : start + size])
        keys, values = buffer.append(*chunk[1:])
        assert torch.equal(keys, past[0]) and torch.equal(values, past[1])
        start += size


@given(plan=plans(), seed=seeds, G=st.sampled_from([1, 2, 4]), window=st.integers(1, T + 2))
@drawn
def test_answer_of_the_rolling_window_equals_the_banded_forward(answers, plan, seed, G, window):
    q, (k, v) = draw(seed, 2, 4, T, 6), draw(seed + 1, 2, 2, G, T, 6)
    full = gqa.grouped_attention(q, k, v, torch.ones(T, T).tril().triu(1 - window).bool())
    cache, start = answers.RollingCache(2, G, window, 6), 0
    for size in plan:
        keys, values = cache.append(k[:, :, start : start + size], v[:, :, start : start + size])
        S = keys.shape[2]
        band = torch.ones(size, S).tril(S - size).triu(S - size - window + 1).bool()
        got = answers.grouped_attention(q[:, :, start : start + size], keys, values, band)
        torch.testing.assert_close(got, full[:, :, start : start + size])
        start += size


@given(plan=plans(), seed=seeds, offset=st.integers(0, 500))
@drawn
def test_answer_with_positions_equals_the_full_forward_at_any_offset(answers, plan, seed, offset):
    """A text that starts after ``offset`` hidden tokens has the same scores, since only distances count."""
    q, k, v = draw(seed, 3, 1, 2, T, 2)
    at = offset + torch.arange(T)
    turned = [answers.rotate(x, at) for x in (q, k)]
    full = gqa.grouped_attention(*turned, v, torch.ones(T, T).tril().bool())
    past, start = None, 0
    for size in plan:
        got, past = answers.rotary_step(*(x[:, :, start : start + size] for x in (q, k, v)), past)
        torch.testing.assert_close(got, full[:, :, start : start + size], rtol=1e-4, atol=2e-4)
        start += size
    torch.testing.assert_close(past[0], answers.rotate(k, torch.arange(T)))


@given(length=st.integers(1, T), block=st.integers(1, 5), seed=seeds)
@drawn
def test_answer_of_the_pages_gives_the_tokens_back(answers, length, block, seed):
    keys, n = draw(seed, 2, length, 3), answers.blocks_needed(length, block)
    table = torch.randperm(n + 2, generator=torch.Generator().manual_seed(seed))[:n].tolist()
    pool = torch.zeros(n + 2, 2, block, 3)
    for t in range(length):
        where, place = answers.slot_of(table, t, block)
        pool[where, :, place] = keys[:, t]
    assert torch.equal(answers.gather(pool, table, length), keys)


def test_claims_stand_as_quoted_and_their_verdicts_hold(answers):
    """Tests numbers 22, 23, 24, 40 and 42 in the list of claims."""
    for quote in (
        "The LLaMA series uses GQA: where there are fewer key-value heads than heads, `repeat_kv` copies",
        "Per token, each layer stores 2·H·D numbers, H being the attention heads",
        "a fixed memory, so the KV cache does not grow with the input.",
        "efficient attention, such as FlashAttention and PagedAttention.",
        "DeepSeek (678B), 2024.",
    ):
        assert says(quote)
    k = torch.randn(1, 2, 5, 4)
    assert answers.repeat_kv(k, 4).nbytes == 4 * k.nbytes, "repeating stores more, never less"
    per_layer = lambda heads: answers.kv_bytes_per_token(1, heads, 128)
    assert per_layer(32) == 4 * per_layer(8) == 16 * per_layer(2), "4 and 16 times too large, as the verdict says"
    sizes = []
    for S in (100, 1000):
        layer = answers.CrossAttention(64)
        layer(torch.randn(1, 1, 64), torch.randn(1, S, 64))
        sizes.append(sum(t.nbytes for t in layer.stored))
    assert sizes[1] == 10 * sizes[0]
    q, v = torch.randn(1, 4, 1, 4), torch.randn(1, 2, 5, 4)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
        flash = torch.nn.functional.scaled_dot_product_attention(q, answers.repeat_kv(k, 2), answers.repeat_kv(v, 2))
    torch.testing.assert_close(flash, answers.grouped_attention(q, k, v))
