"""Placement of the norms: every residual wiring of one block, as one class each.

A block gets its two sublayers (attention and feed-forward: any modules (B, T, d) -> (B, T, d)) and
makes its own norms. ``forward(x, **kwargs)`` passes kwargs (a mask) on to the attention. Below, F is a
sublayer and x the residual stream.
"""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from autograder.reference.attention import (
    MultiHeadAttention,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from autograder.reference.ffn import GatedFeedForward
from autograder.reference.norms import GemmaRMSNorm, LayerNorm, RMSNorm

NormFactory = Callable[[int], nn.Module]


class PostLN(nn.Module):
    """norm(x + F(x)): the norm sits on the residual stream. arXiv:1706.03762; BERT, GPT-1."""

    def __init__(self, d_model: int, attention: nn.Module, ffn: nn.Module, norm: NormFactory = LayerNorm):
        super().__init__()
        self.attention, self.ffn = attention, ffn
        self.attention_norm, self.ffn_norm = norm(d_model), norm(d_model)

    def forward(self, x: Tensor, **kwargs: Tensor) -> Tensor:
        x = self.attention_norm(x + self.attention(x, **kwargs))
        return self.ffn_norm(x + self.ffn(x))


class PreLN(nn.Module):
    """x + F(norm(x)): a clean identity path; the stack needs one norm at its end. arXiv:2002.04745."""

    def __init__(self, d_model: int, attention: nn.Module, ffn: nn.Module, norm: NormFactory = LayerNorm):
        super().__init__()
        self.attention, self.ffn = attention, ffn
        self.attention_norm, self.ffn_norm = norm(d_model), norm(d_model)

    def forward(self, x: Tensor, **kwargs: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x), **kwargs)
        return x + self.ffn(self.ffn_norm(x))


class SandwichLN(nn.Module):
    """x + norm(F(norm(x))): norms before and after the sublayer. arXiv:2105.13290 (CogView)."""

    def __init__(self, d_model: int, attention: nn.Module, ffn: nn.Module, norm: NormFactory = LayerNorm):
        super().__init__()
        self.attention, self.ffn = attention, ffn
        self.attention_norm_in, self.attention_norm_out = norm(d_model), norm(d_model)
        self.ffn_norm_in, self.ffn_norm_out = norm(d_model), norm(d_model)

    def forward(self, x: Tensor, **kwargs: Tensor) -> Tensor:
        x = x + self.attention_norm_out(self.attention(self.attention_norm_in(x), **kwargs))
        return x + self.ffn_norm_out(self.ffn(self.ffn_norm_in(x)))


class PrePostNorm(SandwichLN):
    """Pre- and post-norm outside the residual stream, as in Gemma 2 and 3. arXiv:2408.00118.

    The same wiring as SandwichLN, rediscovered; only the kind of norm differs.
    """

    def __init__(self, d_model: int, attention: nn.Module, ffn: nn.Module, norm: NormFactory = GemmaRMSNorm):
        super().__init__(d_model, attention, ffn, norm)


class NormInside(nn.Module):
    """x + norm(F(x)): only the sublayer's output is normalized, inside the residual. arXiv:2501.00656.

    OLMo 2. Unlike in PreLN, F sees the raw stream; unlike in PostLN, the stream itself is never normalized.
    """

    def __init__(self, d_model: int, attention: nn.Module, ffn: nn.Module, norm: NormFactory = RMSNorm):
        super().__init__()
        self.attention, self.ffn = attention, ffn
        self.attention_norm, self.ffn_norm = norm(d_model), norm(d_model)

    def forward(self, x: Tensor, **kwargs: Tensor) -> Tensor:
        x = x + self.attention_norm(self.attention(x, **kwargs))
        return x + self.ffn_norm(self.ffn(x))


class DeepNorm(nn.Module):
    """norm(α·x + F(x)): Post-LN with a heavier residual. arXiv:2203.00555.

    Use it with deepnorm_init_, which makes F's weights smaller by β.
    """

    def __init__(
        self,
        d_model: int,
        attention: nn.Module,
        ffn: nn.Module,
        alpha: float,
        norm: NormFactory = LayerNorm,
    ):
        super().__init__()
        self.alpha = alpha
        self.attention, self.ffn = attention, ffn
        self.attention_norm, self.ffn_norm = norm(d_model), norm(d_model)

    def forward(self, x: Tensor, **kwargs: Tensor) -> Tensor:
        x = self.attention_norm(self.alpha * x + self.attention(x, **kwargs))
        return self.ffn_norm(self.alpha * x + self.ffn(x))


class ParallelBlock(nn.Module):
    """x + A(norm(x)) + F(norm(x)) with one shared norm. GPT-J, PaLM (arXiv:2204.02311), Falcon."""

    def __init__(self, d_model: int, attention: nn.Module, ffn: nn.Module, norm: NormFactory = LayerNorm):
        super().__init__()
        self.attention, self.ffn = attention, ffn
        self.norm = norm(d_model)

    def forward(self, x: Tensor, **kwargs: Tensor) -> Tensor:
        h = self.norm(x)
        return x + self.attention(h, **kwargs) + self.ffn(h)


class ParallelBlockTwoNorms(nn.Module):
    """x + A(norm₁(x)) + F(norm₂(x)): parallel, but each branch has its own norm. GPT-NeoX, arXiv:2204.06745."""

    def __init__(self, d_model: int, attention: nn.Module, ffn: nn.Module, norm: NormFactory = LayerNorm):
        super().__init__()
        self.attention, self.ffn = attention, ffn
        self.attention_norm, self.ffn_norm = norm(d_model), norm(d_model)

    def forward(self, x: Tensor, **kwargs: Tensor) -> Tensor:
        return x + self.attention(self.attention_norm(x), **kwargs) + self.ffn(self.ffn_norm(x))


class Stack(nn.Module):
    """Blocks one after the other, then ``final_norm`` if given (PreLN and similar wirings need one)."""

    def __init__(self, blocks: Iterable[nn.Module], final_norm: nn.Module | None = None):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = final_norm if final_norm is not None else nn.Identity()

    def forward(self, x: Tensor, **kwargs: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x, **kwargs)
        return self.final_norm(x)


class PreLNStack(Stack):
    """PreLN blocks, one for each pair (attention, ffn), and the final norm that the stream needs."""

    def __init__(
        self,
        d_model: int,
        sublayers: Iterable[tuple[nn.Module, nn.Module]],
        norm: NormFactory = LayerNorm,
    ):
        blocks = [PreLN(d_model, attention, ffn, norm) for attention, ffn in sublayers]
        super().__init__(blocks, norm(d_model))


class DeepNormScale(NamedTuple):
    """α multiplies the residual, β the initialization of value, output and feed-forward weights."""

    alpha: float
    beta: float


def _check_depths(*depths: int) -> None:
    if min(depths) < 1:
        raise ValueError(f"the number of layers must be positive, got {depths}")


def deepnorm_encoder_only(n_layers: int) -> DeepNormScale:
    """α = (2N)^¼, β = (8N)^-¼. arXiv:2203.00555, table in figure 2. Raises: ValueError when N < 1."""
    _check_depths(n_layers)
    return DeepNormScale((2 * n_layers) ** 0.25, (8 * n_layers) ** -0.25)


def deepnorm_decoder_only(n_layers: int) -> DeepNormScale:
    """The same as encoder-only, with the decoder's depth."""
    return deepnorm_encoder_only(n_layers)


def deepnorm_encoder_decoder(n_encoder: int, n_decoder: int) -> tuple[DeepNormScale, DeepNormScale]:
    """(encoder, decoder): 0.81(N⁴M)^(1/16), 0.87(N⁴M)^(-1/16); (3M)^¼, (12M)^-¼.

    N encoder and M decoder layers; a decoder layer has three sublayers, hence 3 and 12 instead of 2 and 8.
    Raises: ValueError when a depth is below 1.
    """
    _check_depths(n_encoder, n_decoder)
    depth = n_encoder**4 * n_decoder
    return (
        DeepNormScale(0.81 * depth ** (1 / 16), 0.87 * depth ** (-1 / 16)),
        DeepNormScale((3 * n_decoder) ** 0.25, (12 * n_decoder) ** -0.25),
    )


def deepnorm_init_(block: nn.Module, beta: float) -> None:
    """Xavier-normal weights in place: gain 1 for q_proj and k_proj, gain β for every other matrix.

    q and k determine only where attention looks, not how large its output is, so they are not scaled.
    Biases become 0. Norms are unchanged.
    """
    for name, parameter in block.named_parameters():
        owner = name.split(".")[-2] if "." in name else ""
        if not owner.endswith("_proj"):
            continue
        if parameter.dim() < 2:
            nn.init.zeros_(parameter)
        else:
            nn.init.xavier_normal_(parameter, gain=1.0 if owner in ("q_proj", "k_proj") else beta)


def fused_parallel_forward(block: ParallelBlock, x: Tensor, mask: Tensor | None = None) -> Tensor:
    """ParallelBlock's forward with two matrix products for the weights instead of seven.

    With the shared norm, q, k, v, gate and up read the same input, so their matrices stack along the output;
    o and down add to the same output, so theirs stack along the input. arXiv:2204.02311, section 2.
    Args: a block of MultiHeadAttention and GatedFeedForward without biases; x (B, T, d).
    Returns: (B, T, d), equal to block(x, mask=mask) up to rounding.
    Raises: TypeError for other sublayers, ValueError when one has biases.
    """
    attention, ffn = block.attention, block.ffn
    if not (isinstance(attention, MultiHeadAttention) and isinstance(ffn, GatedFeedForward)):
        raise TypeError("only MultiHeadAttention and GatedFeedForward are fused here")
    inputs = [attention.q_proj, attention.k_proj, attention.v_proj, ffn.gate_proj, ffn.up_proj]
    outputs = [attention.o_proj, ffn.down_proj]
    if any(linear.bias is not None for linear in inputs + outputs):
        raise ValueError("fused_parallel_forward expects linear layers without biases")
    w_in = torch.cat([linear.weight for linear in inputs])  # (3·d + 2·d_ff, d)
    w_out = torch.cat([linear.weight for linear in outputs], dim=1)  # (d, d + d_ff)
    sizes = [linear.out_features for linear in inputs]
    q, k, v, gate, up = (block.norm(x) @ w_in.T).split(sizes, dim=-1)
    q, k, v = (split_heads(part, attention.n_heads) for part in (q, k, v))
    attended = merge_heads(scaled_dot_product_attention(q, k, v, mask))  # (B, T, d)
    return x + torch.cat([attended, ffn.activation(gate) * up], dim=-1) @ w_out.T


def gradient_norms(stack: Stack) -> list[float]:
    """L2 norm of each block's parameter gradients after a backward pass, first block first.

    Raises: ValueError when a block has no gradients yet.
    """
    norms = []
    for index, block in enumerate(stack.blocks):
        gradients = [p.grad for p in block.parameters() if p.grad is not None]
        if not gradients:
            raise ValueError(f"block {index} has no gradients; call backward first")
        norms.append(math.sqrt(sum(float(g.double().square().sum()) for g in gradients)))
    return norms
