"""Arithmetic intensity of prefill and decode, and the roofline that turns it into time.

Convention: 2 FLOPs per multiply-add; every operand is read once and every result written once, as a
fused kernel would (scores and weights stay on chip). Softmax, norms and activations are left out.

Sources: roofline, Williams et al. 2009 (CACM 52); decode, Pope et al. 2022, arXiv:2211.05102.
"""

from typing import NamedTuple


class Cost(NamedTuple):
    """FLOPs, and bytes moved between memory and chip."""

    flops: int
    bytes: int

    @property
    def intensity(self) -> float:
        """FLOPs per byte."""
        return self.flops / self.bytes


def total(*costs: Cost) -> Cost:
    """Sum of costs, field by field."""
    return Cost(sum(c.flops for c in costs), sum(c.bytes for c in costs))


def linear_cost(tokens: int, d_in: int, d_out: int, itemsize: int = 2) -> Cost:
    """x (tokens, d_in) times a weight: reads both, writes (tokens, d_out). For few tokens, intensity → tokens."""
    return Cost(2 * tokens * d_in * d_out, itemsize * (d_in * d_out + tokens * (d_in + d_out)))


def attention_cost(B: int, T: int, S: int, H: int, G: int, D: int, itemsize: int = 2) -> Cost:
    """T queries on S cached keys: q, k and v are read, the result is written.

    Decoding (T = 1) with large S has intensity 2·(H/G)/itemsize: H/G in half precision, whatever B is,
    because every user has their own keys. Masked pairs count.
    """
    return Cost(4 * B * H * T * S * D, itemsize * B * D * (2 * H * T + 2 * G * S))


def decoder_layer_cost(
    B: int, T: int, S: int, d_model: int, H: int, G: int, D: int, d_ff: int, itemsize: int = 2
) -> Cost:
    """A LLaMA layer: four projections, attention, and a gated feed-forward layer of three matrices."""
    linear = lambda d_in, d_out: linear_cost(B * T, d_in, d_out, itemsize)
    return total(
        linear(d_model, H * D),
        linear(d_model, G * D),
        linear(d_model, G * D),
        linear(H * D, d_model),
        attention_cost(B, T, S, H, G, D, itemsize),
        linear(d_model, d_ff),
        linear(d_model, d_ff),
        linear(d_ff, d_model),
    )


def ridge_point(peak_flops: float, bandwidth: float) -> float:
    """Intensity at which memory (bytes/s) and compute (FLOP/s) take equally long."""
    return peak_flops / bandwidth


def attainable_flops(intensity: float, peak_flops: float, bandwidth: float) -> float:
    """The roofline: min(peak, intensity · bandwidth), FLOP/s."""
    return min(peak_flops, intensity * bandwidth)


def roofline_seconds(cost: Cost, peak_flops: float, bandwidth: float) -> float:
    """Minimum time for a cost when compute and memory traffic overlap perfectly."""
    return max(cost.flops / peak_flops, cost.bytes / bandwidth)
