"""No reference mixes devices. Checked without a GPU: inputs live on the meta device, and every operation
is watched for tensors from two devices, as a CUDA kernel would refuse them."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from autograder.reference import activations, attention, ffn, norms, placement, rope, rope_scaling
from autograder.reference.positions import alibi, deberta, recurrent, shaw, sinusoidal, t5_buckets, tupe
from autograder.reference.positions import transformer_xl as xl

DEVICE = "meta"


class OneDevice(TorchDispatchMode):
    """Raises when an operation gets tensors from two devices. Copy operations may; scalars and index tensors may be on
    the CPU, as CUDA kernels allow."""

    ALLOWED = {torch.ops.aten._to_copy, torch.ops.aten.copy_, torch.ops.aten.index}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and t.dim()]
        devices = {t.device.type for t in tensors}
        if len(devices) > 1 and function.overloadpacket not in self.ALLOWED:
            raise RuntimeError(f"{function} mixes devices {sorted(devices)}")
        return function(*args, **(kwargs or {}))


def draw(*shape, dtype=torch.float32):
    return torch.empty(shape, dtype=dtype, device=DEVICE)


def ids(*shape):
    return torch.empty(shape, dtype=torch.int64, device=DEVICE)


def allowed(*shape):
    return torch.empty(shape, dtype=torch.bool, device=DEVICE)


def on_device(build):
    with torch.device(DEVICE):
        return build()


HEADS = (2, 3, 5, 8)  # B, H, T, D
CASES = {
    "attention": lambda: attention.scaled_dot_product_attention(
        draw(*HEADS), draw(*HEADS), draw(*HEADS), allowed(5, 5)
    ),
    "multi-head": lambda: on_device(lambda: attention.MultiHeadAttention(8, 2))(draw(2, 5, 8)),
    "rope": lambda: rope.apply_rope(draw(*HEADS), ids(2, 5)),
    "rope, half": lambda: rope.apply_rope_half(draw(*HEADS), ids(5)),
    "rope, ids on the CPU": lambda: rope.apply_rope_half(draw(*HEADS), torch.arange(5)),
    "rope, complex": lambda: rope.apply_rope_complex(draw(*HEADS), ids(2, 5)),
    "rope, partial": lambda: rope.apply_partial_rope(draw(*HEADS, dtype=torch.bfloat16), ids(5), 4),
    "yarn": lambda: rope_scaling.apply_scaled_rope(
        draw(*HEADS), ids(5), rope_scaling.yarn_frequencies(8, 1e4, 4, 64), 1.1
    ),
    "interpolation": lambda: rope.apply_rope(draw(*HEADS), rope_scaling.position_interpolation(ids(5), 4)),
    "layer norm": lambda: norms.layer_norm(draw(4, 8), draw(8), draw(8)),
    "layer norm backward": lambda: norms.layer_norm_backward(draw(4, 8), draw(4, 8), draw(8))[0],
    "rms norm": lambda: norms.rms_norm(draw(4, 8, dtype=torch.float16), draw(8)),
    "group norm": lambda: norms.group_norm(draw(2, 6, 3, 4), 3),
    "swiglu": lambda: on_device(lambda: ffn.GatedFeedForward(8, 12))(draw(4, 8)),
    "pre-LN": lambda: on_device(lambda: placement.PreLN(8, attention.MultiHeadAttention(8, 2), ffn.FeedForward(8, 12)))(
        draw(2, 5, 8), mask=allowed(5, 5)
    ),
    "sinusoid": lambda: sinusoidal.sinusoid_half(ids(5), 8),
    "position product": lambda: sinusoidal.position_product(ids(5), 8),
    "recurrent": lambda: on_device(lambda: recurrent.RecurrentPositions(8))(draw(2, 5, 8)),
    "shaw": lambda: shaw.shaw_attention(draw(*HEADS), draw(*HEADS), draw(*HEADS), draw(5, 8), draw(7, 8)),
    "transformer-xl": lambda: on_device(lambda: xl.TransformerXLAttention(8, 2))(draw(2, 5, 8), draw(2, 3, 8)),
    "t5": lambda: t5_buckets.t5_attention(
        draw(*HEADS), draw(*HEADS), draw(*HEADS), on_device(lambda: t5_buckets.T5RelativeBias(3))(5, 5)
    ),
    "deberta": lambda: on_device(lambda: deberta.DisentangledAttention(8, 2))(draw(2, 5, 8), draw(6, 8)),
    "deberta, paper": lambda: deberta.deberta_scores(
        draw(*HEADS), draw(*HEADS), draw(3, 6, 8), deberta.released_query_table(draw(3, 6, 8))
    ),
    "alibi": lambda: alibi.alibi_attention(draw(*HEADS), draw(*HEADS), draw(*HEADS), alibi.alibi_slopes(3)),
    "tupe": lambda: tupe.untie_cls(tupe.tupe_position_scores(draw(3, 5, 8), draw(3, 5, 8)), draw(3), draw(3)),
} | {f"{name}'": lambda f=f: f[1](f[0](draw(5))) for name, f in activations.ACTIVATIONS.items()}


@pytest.mark.parametrize("name", CASES)
def test_runs_on_one_device(name):
    with OneDevice():
        assert CASES[name]().device.type == DEVICE


@pytest.mark.parametrize("mix", [lambda a, b: a + b, lambda a, b: a @ b.T, lambda a, b: a.gather(0, b.long())])
def test_the_check_itself_notices_mixed_devices(mix):
    with OneDevice(), pytest.raises(RuntimeError, match="device"):
        mix(draw(3, 3), torch.zeros(3, 3))
