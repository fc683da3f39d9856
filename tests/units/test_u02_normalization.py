"""Unit 02: computes the numbers and verdicts of its text, and tests its bandwidth experiment."""

import math
from pathlib import Path

import torch
from anatomy.experiments import norm_bandwidth, recorded
from torch.autograd.functional import jacobian

from autograder.exercises.u02_normalization import running
from autograder.reference import norms as ref

PROSE = (Path(__file__).parents[2] / "solutions" / "02-normalization.py").read_text(encoding="utf-8")


def says(text):
    return " ".join(text.split()) in " ".join(PROSE.replace("\n# ", "\n").split())


def test_the_puzzle_and_the_worked_examples():
    words = torch.tensor([[1.0, 3, 5], [101, 103, 105], [10, 30, 50]])
    layer, rms = ref.layer_norm(words, eps=0.0), ref.rms_norm(words, eps=0.0)
    assert torch.allclose(layer[0], layer[1], atol=1e-5) and torch.allclose(layer[0], layer[2])
    assert torch.allclose(rms[0], rms[2]) and (rms[0] - rms[1]).abs().max() > 0.4
    assert says(f"$(-2, 0, 2)/{math.sqrt(8 / 3):.3f} = ({layer[0, 0]:.3f}, 0, {layer[0, 2]:.3f})$")
    assert says(f"| its root | {math.sqrt(35 / 3):.3f} |")
    assert says("$(" + ", ".join(f"{v:.3f}" for v in rms[0]) + ")$")
    assert says(f"with a deviation of {math.sqrt(800 / 3):.2f}")


def test_growth_and_the_missing_mean():
    assert math.isclose(1.5**30, 190_000, rel_tol=0.01) and says("30} \\approx 190{,}000$")
    x = torch.randn(4096, generator=torch.Generator().manual_seed(0))
    ratio = ref.rms_norm(x) / (x / x.norm())
    assert torch.allclose(ratio, torch.full_like(x, 64.0), rtol=1e-4) and says("see everything 64 times too small")


def test_llama_has_no_room_for_a_bias():
    d, ff, layers = 4096, 11008, 32
    matrices = 2 * 32000 * d + layers * (4 * d * d + 3 * d * ff)
    assert matrices + (2 * layers + 1) * d == 6_738_415_616


def test_jacobian_of_one_word_ignores_the_others_in_layer_norm_only():
    torch.manual_seed(0)
    words = torch.randn(5, 4)
    other = words.clone()
    other[1] *= 5
    moved = {}
    for name, norm in (("layer", lambda x: ref.layer_norm(x)), ("batch", lambda x: ref.batch_norm(x))):
        before, after = (jacobian(lambda x, norm=norm: norm(x)[0], x)[:, 0] for x in (words, other))
        moved[name] = (before - after).abs().max().item()
    assert moved["layer"] == 0 and moved["batch"] > 0.1


def test_half_precision_facts():
    big = torch.tensor([1000.0, 3000, 5000]).half()
    assert (big / (big**2).mean().add(1e-6).sqrt()).tolist() == [0, 0, 0]
    assert torch.finfo(torch.float16).max == 65504 and says("float16 ends at 65,504")
    smallest = torch.finfo(torch.float16).smallest_normal * 2**-10
    assert math.isclose(smallest, 6e-8, rel_tol=0.01) and torch.tensor(1e-8).half() == 0


def test_instance_norm_keeps_samples_and_channels_apart():
    x = torch.randn(3, 6, 4, 5)
    nudged = x.clone()
    nudged[0, 0, 0, 0] += 1
    moved = (ref.instance_norm(nudged) - ref.instance_norm(x)).abs() > 1e-6
    assert moved[0, 0].all() and not moved[1:].any() and not moved[0, 1:].any()


def test_operations_of_norms_beside_those_of_weights():
    d = 4096
    assert says(f"one operation to every {round(24 * d**2 / (2 * (7 * d + 5)), -3):,.0f} of these")


def test_the_claim_about_operations_is_decided_by_the_recording():
    record = recorded("norm_bandwidth")
    row = next(r for r in record["rows"] if r["tokens"] == 1024 and r["dtype"] == "float32")
    at, d = row["ns_per_entry"], row["d"]
    assert at["x·x + x"] < 1.2 * at["copy"]  # extra operations in a pass cost nothing
    assert at["fused LayerNorm"] < 1.5 * at["copy"]  # "about as long"
    assert at["fused LayerNorm"] < at["RMSNorm by steps"] < at["LayerNorm by steps"]
    per_operation, per_pass = at["matrix product"] / (2 * d), at["copy"] / 2
    for name, operations, passes in (("LayerNorm by steps", 7, 12), ("RMSNorm by steps", 4, 7)):
        assert operations * per_operation / at[name] < 0.1  # operations don't explain the time
        assert 0.8 < passes * per_pass / at[name] < 1.1  # passes do
    assert {"device", "torch", "date", "command"} <= set(record["made"])


def test_measure_times_what_it_is_given():
    calls = []

    def norm(x, weight, bias):
        calls.append((x.shape, weight.shape, bias.shape, x.requires_grad))
        return x

    times = norm_bandwidth.measure({"mine": norm}, tokens=8, d=16, repeats=3)
    assert calls == [((8, 16), (16,), (16,), False)] * 5  # two of them warm up
    assert set(times) == {"copy", "times 2", "x·x + x", "matrix product", "fused LayerNorm", "mine"}
    assert all(t >= 0 for t in times.values())
    slow = lambda: sum(range(20_000))
    assert norm_bandwidth.best_time(slow, repeats=3) > 0


def test_batch_norm_keeps_averages_and_a_single_sample_needs_them():
    torch.manual_seed(0)
    mean, variance = torch.zeros(4), torch.ones(4)
    for _ in range(60):
        _, mean, variance = running.batch_norm_step(3 * torch.randn(32, 4) + 5, mean, variance, True)
    assert (mean - 5).abs().max() < 0.5 and (variance.sqrt() - 3).abs().max() < 0.5
    alone = 3 * torch.randn(1, 4) + 5
    assert ref.batch_norm(alone).abs().max() < 1e-3
    assert running.batch_norm_step(alone, mean, variance, False)[0].abs().max() > 0.5
