"""The places of a Transformer for a learner's part: how it is called there, and what it must return."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ..tools.calls import WrongOutput, call
from ..tools.types import Function
from ..tools.whole import tensor_of
from ..tools.words import N_, _

Map = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Place:
    """One part of the picture.

    key: its name in the pass; title: its name in the picture. names: the course's names of functions that fit there.
    widget: the widget that shows only this part.
    """

    key: str
    title: str
    names: tuple[str, ...]
    widget: str


PLACES = (
    Place("norm", "RMSNorm", ("rms_norm",), "NormExplorer"),
    Place("rope", "RoPE", ("apply_rope_half",), "RopeExplorer"),
    Place("mask", N_("mask"), ("causal_mask", "decoder_mask"), "MaskExplorer"),
    Place("attention", N_("attention"), ("scaled_dot_product_attention", "grouped_attention"), "AttentionExplorer"),
    Place("ffn", N_("gated FFN"), ("GatedFeedForward",), "ActivationExplorer"),
    Place("residual", N_("residual +"), ("pre_ln",), "GradientFlowExplorer"),
)
NAMES = tuple(name for place in PLACES for name in place.names)
KEY_OF = {name: place.key for place in PLACES for name in place.names}


def adapted(name: str, fn: Any) -> Callable[..., Tensor]:
    """Wraps the learner's ``fn`` so that its place can call it: see ``STAND_INS`` for arguments and results.

    The result raises WrongOutput for a wrong shape or dtype and for numbers that are not finite, and the errors of
    ``fn``.
    """
    return _ADAPTERS[name](fn)


def _finite(result: Tensor, name: str) -> Tensor:
    if not result.isfinite().all():
        raise WrongOutput(_("{name} returned NaN or ∞ here.").format(name=name))
    return result


def _rms_norm(fn: Function) -> Callable[..., Tensor]:
    return lambda x, weight, eps: _finite(call(fn, "rms_norm", x.shape, x, weight, eps), "rms_norm")


def _apply_rope_half(fn: Function) -> Callable[..., Tensor]:
    name = "apply_rope_half"
    return lambda x, ids, base: _finite(call(fn, name, x.shape, x, ids, base), name)


def _causal_mask(fn: Function) -> Callable[..., Tensor]:
    return lambda T: tensor_of(fn(T), "causal_mask", "boolean", (T, T))[None, None]


def _decoder_mask(fn: Function) -> Callable[..., Tensor]:
    real = lambda T: torch.ones(1, T, dtype=torch.bool)
    return lambda T: tensor_of(fn(real(T), T), "decoder_mask", "boolean", (1, 1, T, T))


def _scaled_dot_product_attention(fn: Function) -> Callable[..., Tensor]:
    name = "scaled_dot_product_attention"

    def attention(q, k, v, mask):
        n = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(n, 1), v.repeat_interleave(n, 1)
        return _finite(call(fn, name, (*q.shape[:3], v.shape[-1]), q, k, v, mask), name)

    return attention


def _grouped_attention(fn: Function) -> Callable[..., Tensor]:
    name = "grouped_attention"
    return lambda q, k, v, mask: _finite(call(fn, name, (*q.shape[:3], v.shape[-1]), q, k, v, mask), name)


# A learner's class creates its own weights: they must be replaced, by name.
def _gated_feed_forward(cls: Any) -> Callable[..., Tensor]:
    def ffn(x, gate, up, down):
        layer = cls(x.shape[-1], gate.shape[0], F.silu)
        state = {"gate_proj.weight": gate, "up_proj.weight": up, "down_proj.weight": down}
        layer.to(x.dtype).load_state_dict(state)
        return _finite(call(layer, "GatedFeedForward", x.shape, x), "GatedFeedForward")

    return ffn


def _pre_ln(fn: Function) -> Callable[..., Tensor]:
    return lambda x, sublayer, norm: _finite(call(fn, "pre_ln", x.shape, x, sublayer, norm), "pre_ln")


_ADAPTERS: dict[str, Callable[[Any], Callable[..., Tensor]]] = {
    "rms_norm": _rms_norm,
    "apply_rope_half": _apply_rope_half,
    "causal_mask": _causal_mask,
    "decoder_mask": _decoder_mask,
    "scaled_dot_product_attention": _scaled_dot_product_attention,
    "grouped_attention": _grouped_attention,
    "GatedFeedForward": _gated_feed_forward,
    "pre_ln": _pre_ln,
}


# ---- stand-ins for parts that are missing or fail: torch's own functions where torch has them -----------------------


def _norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x (1, T, d), weight (d,) → (1, T, d)."""
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def _rope(x: Tensor, ids: Tensor, base: float) -> Tensor:
    """x (1, H, T, D), ids (1, T) → (1, H, T, D), pairs (i, i + D/2)."""
    turn = torch.outer(ids[0].double(), base ** -torch.linspace(0, 1, x.shape[-1] // 2 + 1, dtype=torch.float64)[:-1])
    pairs = torch.complex(*x.double().chunk(2, -1)) * torch.polar(torch.ones_like(turn), turn)
    return torch.cat([pairs.real, pairs.imag], -1).to(x.dtype)


def _mask(T: int) -> Tensor:
    """(1, 1, T, T) boolean, True = may look."""
    return torch.ones(1, 1, T, T, dtype=torch.bool).tril()


def _attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """q (1, H, T, D), k (1, G, T, D), v (1, G, T, Dv), mask (1, 1, T, T) → (1, H, T, Dv)."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def _ffn(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """x (1, T, d), gate and up (d_ff, d), down (d, d_ff) → (1, T, d)."""
    return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)


def _residual(x: Tensor, sublayer: Map, norm: Map) -> Tensor:
    """x (1, T, d) → (1, T, d)."""
    return torch.add(x, sublayer(norm(x)))


STAND_INS: dict[str, Callable[..., Tensor]] = {
    "norm": _norm,
    "rope": _rope,
    "mask": _mask,
    "attention": _attention,
    "ffn": _ffn,
    "residual": _residual,
}
