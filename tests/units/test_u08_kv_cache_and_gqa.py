"""Unit 08: numbers in the prose, and the verdicts of the claims on trial."""

from pathlib import Path

import pytest
import torch
from anatomy.experiments import recorded
from anatomy.experiments.decode import read_grouped, step_times, writing_times

from autograder.exercises.u08_kv_cache_and_gqa.stores import cached_attention
from autograder.reference import gqa, intensity, mla
from autograder.reference.quantized_cache import dequantize, quantize

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


def test_deepseek_v3_has_671_billion_parameters():
    d, N, H, vocabulary = 7168, 61, 128, 129280
    attention = d * 1536 + 1536 * H * 192 + d * 576 + 512 * H * 256 + H * 128 * d
    rest = 3 * 3 * d * 18432 + 58 * (257 * 3 * d * 2048 + 256 * d) + 2 * vocabulary * d
    assert round((N * attention + rest) / 1e9) == 671


def test_recorded_decode_reads_less_with_fewer_heads_and_copying_costs():
    """True of any device: short texts are ruled by the cost of starting a kernel, so order is asked of the longest."""
    record = recorded("decode")
    rows, H = record["rows"], record["setting"]["H"]
    longest = {r["G"]: r for r in rows if r["S"] == max(r["S"] for r in rows)}
    assert longest[1]["grouped"] < longest[8]["grouped"] < longest[H]["grouped"]
    assert all(r["copied"] > 2 * r["grouped"] for G, r in longest.items() if G < H)
    assert all(r["copied"] > r["grouped"] for r in rows if r["G"] < H)


def test_recorded_dots_lie_under_the_roof_and_sharing_moves_them_right():
    """As the unit draws them, with the reference's costs in place of the learner's."""
    record = recorded("roofline")
    s, chip, S = record["setting"], record["machine"], max(record["setting"]["contexts"])
    found = []
    for r in record["attention"]:
        G = {"MHA": s["heads"], "GQA": s["groups"], "MQA": 1}.get(r["kind"])
        if G and r["context"] == S:
            size = getattr(torch, s["dtype"]).itemsize
            cost = intensity.attention_cost(s["users"], 1, S, s["heads"], G, s["head_dim"], size)
            found.append((cost.intensity, cost.flops / min(map(min, r["seconds"].values()))))
    assert len(found) == 3 and found == sorted(found), "right and up, from MHA to MQA"
    prefill = [r for r in record["roofline"] if r["phase"] == "prefill"][-1]
    found.append((prefill["flops"] / prefill["bytes"], prefill["flops"] / min(prefill["seconds"])))
    for x, rate in found:
        assert rate < 1.05 * intensity.attainable_flops(x, chip["flops"], max(chip["copy"], chip["read"]))


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


def test_one_large_channel_spoils_scales_per_token():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(200, 16, generator=generator)
    x[:, 3] *= 10
    others = torch.arange(16) != 3
    error = {dim: (dequantize(*quantize(x, dim, 4)) - x)[:, others].pow(2).mean().sqrt() for dim in (-1, -2)}
    assert error[-1] > 2 * error[-2]
