"""Oracles: torch's norms (forward and autograd), Hugging Face RMSNorms, per-element loops, an operation
counter."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference import norms
from tests.reference.draws import draw

from . import hugging_face as hf

FAST = settings(max_examples=25, deadline=None, derandomize=True)
sizes = st.integers(1, 7)


# values


@FAST
@given(sizes, sizes, st.integers(1, 40), st.sampled_from([1e-5, 1e-12, 0.3]), st.integers(0, 99))
def test_layer_norm_equals_torch(oracle_report, B, T, d, eps, seed):
    x, weight, bias = 3 * draw(B, T, d, seed=seed) + 1, draw(d, seed=1), draw(d, seed=2)
    expected = F.layer_norm(x, (d,), weight, bias, eps)
    # d = 1 has variance 0: only ε remains, and rounding errors are divided by its root.
    name = "layer_norm / F.layer_norm"
    oracle_report(name, norms.layer_norm(x, weight, bias, eps), expected, atol=1e-9 if d == 1 else None)
    plain = F.layer_norm(x, (d,), eps=eps)
    oracle_report(name, norms.layer_norm(x, eps=eps), plain, atol=1e-9 if d == 1 else None)


@FAST
@given(sizes, sizes, st.integers(1, 40), st.sampled_from([1e-6, 1e-12, 0.3]), st.integers(0, 99))
def test_rms_norm_equals_torch(oracle_report, B, T, d, eps, seed):
    x, weight = 3 * draw(B, T, d, seed=seed) + 1, draw(d, seed=1)
    name = "rms_norm / F.rms_norm"
    oracle_report(name, norms.rms_norm(x, weight, eps), F.rms_norm(x, (d,), weight, eps))
    oracle_report(name, norms.rms_norm(x, eps=eps), F.rms_norm(x, (d,), eps=eps))


def test_layer_norm_worked_by_hand():
    # Mean 3, variance (4 + 0 + 4)/3: ±2/√(8/3) = ±1.2247.
    out = norms.layer_norm(torch.tensor([1.0, 3.0, 5.0]))
    torch.testing.assert_close(out, torch.tensor([-1.2247, 0.0, 1.2247]), rtol=0, atol=1e-4)


def test_rms_norm_worked_by_hand():
    # Mean of squares (1 + 9 + 25)/3 = 11.667, root 3.4157: a mean and not a sum.
    out = norms.rms_norm(torch.tensor([1.0, 3.0, 5.0]))
    torch.testing.assert_close(out, torch.tensor([0.29277, 0.87831, 1.46385]), rtol=0, atol=1e-5)


def test_epsilon_stands_inside_the_root():
    x = torch.tensor([1.0, 3.0], dtype=torch.float64)
    assert float(norms.layer_norm(x, eps=3.0)[1]) == pytest.approx(1 / math.sqrt(1 + 3))
    assert float(norms.rms_norm(x, eps=4.0)[1]) == pytest.approx(3 / math.sqrt(5 + 4))
    assert torch.isfinite(norms.rms_norm(torch.zeros(4))).all()


@FAST
@given(sizes, st.integers(2, 30), st.integers(0, 99))
def test_layer_norm_is_rms_norm_of_the_centered_input(T, d, seed):
    x = draw(T, d, seed=seed)
    centered = x - x.mean(-1, keepdim=True)
    torch.testing.assert_close(norms.layer_norm(x, eps=1e-6), norms.rms_norm(centered, eps=1e-6))


def test_who_is_invariant_to_what():
    x = draw(4, 9)
    layer, rms = (lambda v: norms.layer_norm(v, eps=0.0)), (lambda v: norms.rms_norm(v, eps=0.0))
    for norm in (layer, rms):
        torch.testing.assert_close(norm(7 * x), norm(x))
    torch.testing.assert_close(layer(x + 5), layer(x))
    assert float((rms(x + 5) - rms(x)).abs().max()) > 0.5


def test_layer_norm_does_not_see_other_samples():
    x = draw(3, 4, 6).requires_grad_()
    changed = x.detach().clone()
    changed[1:] = 100
    changed[0, 1:] = -100
    assert torch.equal(norms.layer_norm(changed)[0, 0], norms.layer_norm(x)[0, 0])
    norms.layer_norm(x)[0, 0, 0].backward()
    assert (x.grad[0, 0] != 0).all() and (x.grad[1:] == 0).all() and (x.grad[0, 1:] == 0).all()


# dtypes


def test_large_half_precision_inputs_do_not_overflow():
    x = torch.tensor([1000.0, -500.0, 300.0], dtype=torch.float16)
    assert torch.isinf(x * x).any()
    for norm in (norms.layer_norm, norms.rms_norm):
        out = norm(x)
        assert out.dtype == torch.float16
        torch.testing.assert_close(out, norm(x.double()).half(), rtol=1e-3, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_low_precision_equals_hugging_face_bit_for_bit(oracle_report, dtype):
    x, weight = (20 * draw(5, 33)).to(dtype), draw(33, seed=1).to(dtype)
    for name, theirs in (("LLaMA", hf.LlamaRMSNorm(33, eps=1e-6)), ("T5", hf.T5LayerNorm(33, eps=1e-6))):
        theirs = theirs.to(dtype)
        theirs.load_state_dict({"weight": weight})
        oracle_report(f"rms_norm / {name}", norms.rms_norm(x, weight), theirs(x), rtol=0, atol=0)
    gemma, ours = hf.Gemma2RMSNorm(33).to(dtype), norms.GemmaRMSNorm(33).to(dtype)
    gemma.load_state_dict({"weight": weight})
    ours.load_state_dict({"weight": weight})
    oracle_report("GemmaRMSNorm / Gemma 2", ours(x), gemma(x), rtol=0, atol=0)
    layer = norms.LayerNorm(33).to(dtype)
    oracle_report("layer_norm / F.layer_norm", layer(x), F.layer_norm(x, (33,), layer.weight, layer.bias))


def test_cast_orders_of_llama_and_gemma_differ():
    x, weight = (20 * draw(50, 33)).bfloat16(), draw(33, seed=1).bfloat16()
    gemma = norms.GemmaRMSNorm(33).bfloat16()
    gemma.load_state_dict({"weight": weight - 1})
    same_gamma = (gemma.weight + 1).detach()
    differ = norms.rms_norm(x, same_gamma) != gemma(x)
    assert 0 < int(differ.sum()) < x.numel()


# backward


@FAST
@given(sizes, sizes, st.integers(2, 20), st.integers(0, 99))
def test_layer_norm_backward_equals_autograd(oracle_report, B, T, d, seed):
    x, weight, bias = (draw(*s, seed=seed + i).requires_grad_() for i, s in enumerate([(B, T, d), (d,), (d,)]))
    grad = draw(B, T, d, seed=seed + 9)
    F.layer_norm(x, (d,), weight, bias, 0.1).backward(grad)
    got = norms.layer_norm_backward(grad, x.detach(), weight.detach(), 0.1)
    for name, mine, theirs in zip(("dx", "dweight", "dbias"), got, (x, weight, bias), strict=True):
        oracle_report(f"layer_norm_backward {name} / autograd", mine, theirs.grad, rtol=1e-9, atol=1e-11)


@FAST
@given(sizes, st.integers(1, 20), st.integers(0, 99))
def test_rms_norm_backward_equals_autograd(oracle_report, T, d, seed):
    x, weight = draw(T, d, seed=seed).requires_grad_(), draw(d, seed=seed + 1).requires_grad_()
    grad = draw(T, d, seed=seed + 9)
    F.rms_norm(x, (d,), weight, 0.1).backward(grad)
    got = norms.rms_norm_backward(grad, x.detach(), weight.detach(), 0.1)
    for name, mine, theirs in zip(("dx", "dweight"), got, (x, weight), strict=True):
        oracle_report(f"rms_norm_backward {name} / autograd", mine, theirs.grad)


def test_backward_of_a_single_vector(oracle_report):
    x, grad, weight = draw(6), draw(6, seed=1), draw(6, seed=2)
    dx, dweight, dbias = norms.layer_norm_backward(grad, x, weight)
    assert dx.shape == dweight.shape == dbias.shape == (6,)
    assert torch.equal(dbias, grad)
    assert norms.rms_norm_backward(grad, x, weight)[1].shape == (6,)


@FAST
@given(sizes, st.integers(3, 20), st.integers(0, 99))
def test_layer_norm_gradient_is_orthogonal_to_ones_and_to_the_output(T, d, seed):
    x, grad = draw(T, d, seed=seed), draw(T, d, seed=seed + 1)
    weight = draw(d, seed=seed + 2)
    dx, _, _ = norms.layer_norm_backward(grad, x, weight, eps=1e-12)
    x_hat = norms.layer_norm(x, eps=1e-12)
    scale = dx.norm(dim=-1) * d**0.5
    assert float((dx.sum(-1).abs() / scale).max()) < 1e-9
    assert float(((dx * x_hat).sum(-1).abs() / scale).max()) < 1e-6
    # RMSNorm's gradient is only orthogonal to the output.
    dx, _ = norms.rms_norm_backward(grad, x, weight, eps=1e-12)
    assert float(((dx * x).sum(-1).abs() / scale).max()) < 1e-6


# other axes


@FAST
@given(sizes, st.integers(1, 3), st.integers(1, 3), st.integers(2, 5), st.integers(1, 5), st.integers(0, 99))
def test_norms_of_images_equal_torch(oracle_report, N, groups, per_group, height, width, seed):
    C = groups * per_group
    x = draw(N, C, height, width, seed=seed) * 2 + 1
    eps = 0.01
    pairs = {
        "batch_norm / F.batch_norm": (
            norms.batch_norm(x, 1, eps),
            F.batch_norm(x, None, None, training=True, eps=eps),
        ),
        "instance_norm / F.instance_norm": (norms.instance_norm(x, eps), F.instance_norm(x, eps=eps)),
        "group_norm / F.group_norm": (norms.group_norm(x, groups, eps), F.group_norm(x, groups, eps=eps)),
        "layer norm of an image / F.layer_norm": (
            norms.normalize_over(x, norms.NORM_AXES["layer"]["NCHW"], eps),
            F.layer_norm(x, x.shape[1:], eps=eps),
        ),
    }
    for name, (got, expected) in pairs.items():
        oracle_report(name, got, expected)


def test_text_axes_equal_torch(oracle_report):
    x, eps = draw(3, 5, 8) * 2 + 1, 1e-5
    axes = {kind: layouts["BTd"] for kind, layouts in norms.NORM_AXES.items()}
    by_channel = x.transpose(1, 2)  # torch wants (N, C, L)
    theirs = {
        "layer": F.layer_norm(x, (8,), eps=eps),
        "batch": F.batch_norm(by_channel, None, None, training=True, eps=eps).transpose(1, 2),
        "instance": F.instance_norm(by_channel, eps=eps).transpose(1, 2),
    }
    assert axes.keys() == theirs.keys()
    for kind, expected in theirs.items():
        oracle_report(f"{kind} norm of text / torch", norms.normalize_over(x, axes[kind], eps), expected)
    oracle_report("batch norm of text / torch", norms.batch_norm(x, -1, eps), theirs["batch"])


def test_group_norm_between_layer_and_instance_norm():
    x = draw(2, 6, 3, 4)
    torch.testing.assert_close(norms.group_norm(x, 1), norms.normalize_over(x, (1, 2, 3)))
    torch.testing.assert_close(norms.group_norm(x, 6), norms.instance_norm(x))
    with pytest.raises(ValueError, match="6 channels cannot be split into 4 groups"):
        norms.group_norm(x, 4)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_batch_norm_inference_equals_torch(oracle_report, dtype):
    x, mean, variance = draw(3, 4, 5, dtype=dtype), draw(4, seed=1, dtype=dtype), draw(4, dtype=dtype).exp()
    expected = F.batch_norm(x, mean, variance, training=False)
    oracle_report("batch_norm_inference / F.batch_norm", norms.batch_norm_inference(x, mean, variance), expected)


def test_padding_changes_batch_norm_but_not_layer_norm():
    x = draw(2, 3, 4)
    padded = torch.cat([x, torch.zeros(2, 5, 4, dtype=x.dtype)], dim=1)
    assert torch.equal(norms.layer_norm(padded)[:, :3], norms.layer_norm(x))
    moved = (norms.batch_norm(padded, -1)[:, :3] - norms.batch_norm(x, -1)).abs().max()
    assert float(moved) > 0.1


def test_errors():
    for call in (
        lambda x: norms.layer_norm(x, torch.ones(3)),
        lambda x: norms.layer_norm(x, bias=torch.ones(1)),
        lambda x: norms.rms_norm(x, torch.ones(2, 4)),
    ):
        with pytest.raises(ValueError, match=r"must have shape \(4,\)"):
            call(torch.zeros(2, 4))


# cost


class Counted:
    """A number that counts the arithmetic done with it."""

    operations = 0

    def __init__(self, value):
        self.value = value

    def _combine(self, other, result):
        Counted.operations += 1
        return Counted(result)

    def __add__(self, other):
        return self._combine(other, self.value + other.value)

    def __sub__(self, other):
        return self._combine(other, self.value - other.value)

    def __mul__(self, other):
        return self._combine(other, self.value * other.value)

    def __truediv__(self, other):
        return self._combine(other, self.value / other.value)

    def sqrt(self):
        return self._combine(None, math.sqrt(self.value))


def counted_row(row, weight, bias=None, eps=1e-5):
    """One row computed in scalars, for both norms; bias None means RMSNorm."""
    d, total = Counted(len(row)), Counted(0.0)
    if bias is not None:
        for x in row:
            total = total + x
        mean = total / d
        row = [x - mean for x in row]
    squares = Counted(0.0)
    for x in row:
        squares = squares + x * x
    scale = Counted(1.0) / (squares / d + Counted(eps)).sqrt()
    out = [x * scale * g for x, g in zip(row, weight, strict=True)]
    return out if bias is None else [y + b for y, b in zip(out, bias, strict=True)]


@pytest.mark.parametrize("tokens, d", [(1, 1), (3, 7), (5, 16)])
def test_flops_equal_a_count_of_scalar_operations(tokens, d):
    x, weight, bias = draw(tokens, d), draw(d, seed=1), draw(d, seed=2)
    wrap = lambda row: [Counted(float(v)) for v in row]
    for cost, norm, extra in (
        (norms.layer_norm_cost(tokens, d, 4), norms.layer_norm(x, weight, bias), [wrap(bias)]),
        (norms.rms_norm_cost(tokens, d, 4), norms.rms_norm(x, weight, 1e-5), []),
    ):
        Counted.operations = 0
        rows = [counted_row(wrap(row), wrap(weight), *extra) for row in x]
        assert cost.flops == Counted.operations
        got = torch.tensor([[y.value for y in row] for row in rows], dtype=torch.float64)
        torch.testing.assert_close(got, norm)


def test_bytes_pinned():
    # 4096 tokens of width 4096 in bfloat16: 32 MiB in, 32 MiB out, and 8 KiB per parameter vector.
    layer, rms = norms.layer_norm_cost(4096, 4096, 2), norms.rms_norm_cost(4096, 4096, 2)
    assert layer.bytes == 2 * 2**25 + 2 * 8192
    assert rms.bytes == 2 * 2**25 + 8192
    assert norms.layer_norm_cost(4096, 4096, 2, reads=3).bytes == 4 * 2**25 + 2 * 8192
    assert norms.rms_norm_cost(4096, 4096, 2, reads=2).bytes == 3 * 2**25 + 8192
    assert rms.intensity < layer.intensity < 2
