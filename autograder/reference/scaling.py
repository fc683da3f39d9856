"""Parameter counts in closed form, training compute, compute-optimal sizes, shape ratios.

Sources: Kaplan et al. 2020, arXiv:2001.08361 (6·N·D); Hoffmann et al. 2022, arXiv:2203.15556
(Chinchilla); Besiroglu et al. 2024, arXiv:2404.10102 (its fit repeated); Narayanan et al. 2021,
arXiv:2104.04473 (days of training).
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from autograder.reference.models.bert import BertConfig
from autograder.reference.models.glm import ChatGLMConfig
from autograder.reference.models.gpt2 import GPTConfig
from autograder.reference.models.llama import LlamaConfig
from autograder.reference.models.t5 import T5Config


def llama_parameters(c: LlamaConfig) -> int:
    """Embedding and head, and per layer q and o (2·d²), k and v (2·d·G·D), three d·d_ff, two norms."""
    kv = c.n_kv_heads * c.d_model // c.n_heads
    layer = 2 * c.d_model**2 + 2 * c.d_model * kv + 3 * c.d_model * c.d_ff + 2 * c.d_model
    return 2 * c.vocab * c.d_model + c.n_layers * layer + c.d_model


def chatglm_parameters(c: ChatGLMConfig) -> int:
    """As llama_parameters, plus biases of q, k and v."""
    kv = c.n_kv_heads * c.d_model // c.n_heads
    same = LlamaConfig(c.vocab, c.d_model, c.n_layers, c.n_heads, c.n_kv_heads, c.d_ff)
    return llama_parameters(same) + c.n_layers * (c.d_model + 2 * kv)


def mixtral_parameters(c: LlamaConfig, n_experts: int, active: int | None = None) -> int:
    """llama_parameters with n_experts feed-forward layers and a router; with ``active``, the part that a token uses."""
    experts = n_experts if active is None else active
    further = (experts - 1) * 3 * c.d_model * c.d_ff
    return llama_parameters(c) + c.n_layers * (further + n_experts * c.d_model)


def gpt2_parameters(c: GPTConfig) -> int:
    """Tokens (tied with the head), positions, and per layer 12·d² + 13·d; 2·d for the final norm."""
    d = c.d_model
    return (c.vocab + c.max_positions) * d + c.n_layers * (12 * d * d + 13 * d) + 2 * d


def gpt2_width(parameters: float, n_layers: int, vocab: int, positions: int, multiple: int = 64) -> int:
    """The d_model, a multiple of ``multiple``, whose gpt2_parameters are closest to a published count.

    The count is quadratic in d: 12·L·d² + (V + P + 13·L + 2)·d.
    """
    a, b = 12 * n_layers, vocab + positions + 13 * n_layers + 2
    return multiple * round((math.sqrt(b * b + 4 * a * parameters) - b) / (2 * a) / multiple)


def _bert_layer(c: BertConfig) -> int:
    attention = 4 * (c.d_model**2 + c.d_model)
    ffn = 2 * c.d_model * c.d_ff + c.d_ff + c.d_model
    return attention + ffn + 4 * c.d_model  # two LayerNorms


def _bert_embeddings(c: BertConfig, d: int) -> int:
    return (c.vocab + c.max_positions + c.n_segments + 2) * d  # 2·d for the LayerNorm


def bert_parameters(c: BertConfig) -> int:
    """Encoder with pooler, no heads."""
    pooler = c.d_model**2 + c.d_model
    return _bert_embeddings(c, c.d_model) + c.n_layers * _bert_layer(c) + pooler


def albert_parameters(c: BertConfig, d_embedding: int) -> int:
    """As bert_parameters, but with embeddings of width E, a map E -> d, and one layer however often it runs."""
    widen = d_embedding * c.d_model + c.d_model
    return _bert_embeddings(c, d_embedding) + widen + _bert_layer(c) + c.d_model**2 + c.d_model


def t5_parameters(c: T5Config, gated: bool = False) -> int:
    """Version 1.0 (two feed-forward matrices, tied head) or, gated, 1.1 (three matrices, untied head)."""
    attention = 4 * c.d_model * c.n_heads * c.head_dim
    ffn = (3 if gated else 2) * c.d_model * c.d_ff
    encoder = c.n_layers * (attention + ffn + 2 * c.d_model) + c.d_model
    decoder = c.n_layers * (2 * attention + ffn + 3 * c.d_model) + c.d_model
    vocab = (2 if gated else 1) * c.vocab * c.d_model
    return vocab + encoder + decoder + 2 * c.num_buckets * c.n_heads


class DeepSeekV3Config(NamedTuple):
    """Sizes of DeepSeek-V3: the first n_dense layers have no experts, the later ones do."""

    vocab: int = 129280
    d_model: int = 7168
    n_layers: int = 61
    n_dense: int = 3
    d_ff: int = 18432
    n_experts: int = 256
    n_shared: int = 1
    n_active: int = 8
    d_expert: int = 2048
    n_heads: int = 128
    q_rank: int = 1536
    kv_rank: int = 512
    nope_dim: int = 128
    rope_dim: int = 64
    v_dim: int = 128


def deepseek_v3_parameters(c: DeepSeekV3Config, active: bool = False) -> int:
    """All parameters, or those that one token uses. Without the module that predicts further tokens.

    A token reads only one row of the embedding, so the table does not count as active; the head does. That
    gives 36.6 billion, in the paper 37.
    """
    attention = (
        c.d_model * c.q_rank
        + c.q_rank * (1 + c.n_heads * (c.nope_dim + c.rope_dim))
        + c.d_model * (c.kv_rank + c.rope_dim)
        + c.kv_rank * (1 + c.n_heads * (c.nope_dim + c.v_dim))
        + c.n_heads * c.v_dim * c.d_model
    )
    expert = 3 * c.d_model * c.d_expert
    experts = (c.n_active if active else c.n_experts) + c.n_shared
    moe = experts * expert + c.n_experts * c.d_model  # including the router
    ffn = c.n_dense * 3 * c.d_model * c.d_ff + (c.n_layers - c.n_dense) * moe
    vocab = (1 if active else 2) * c.vocab * c.d_model
    return vocab + c.n_layers * (attention + 2 * c.d_model) + ffn + c.d_model


# Compute


def training_flops(parameters: float, tokens: float, recompute: bool = False) -> float:
    """6·N·D: 2 per parameter and token forward, 4 backward; 8·N·D when activations are recomputed.

    Leaves out attention's T² part, which is small if T is below d_model.
    """
    return (8 if recompute else 6) * parameters * tokens


def training_days(flops: float, devices: int, achieved_flops: float) -> float:
    """Days on ``devices`` that each sustain achieved_flops per second (less than their peak)."""
    return flops / (devices * achieved_flops) / 86400


class PowerLaw(NamedTuple):
    """y = coefficient · x^exponent."""

    coefficient: float
    exponent: float


def fit_power_law(x: Tensor, y: Tensor) -> PowerLaw:
    """Least squares in the logarithms of positive x and y (n,), n at least 2: a straight line."""
    u, v = x.double().log(), y.double().log()
    du = u - u.mean()
    exponent = (du @ (v - v.mean()) / (du @ du)).item()
    return PowerLaw(torch.exp(v.mean() - exponent * u.mean()).item(), exponent)


class LossFit(NamedTuple):
    """L(N, D) = E + A/N^alpha + B/D^beta, nats per token."""

    E: float
    A: float
    alpha: float
    B: float
    beta: float


HOFFMANN = LossFit(1.69, 406.4, 0.34, 410.7, 0.28)
"""The Chinchilla paper's third approach."""

BESIROGLU = LossFit(1.8172, 482.01, 0.3478, 2085.43, 0.3658)
"""The same data fitted again. At Chinchilla's compute it asks for 18 tokens per parameter, near the paper's
rule of 20; HOFFMANN, taken literally, asks for 93."""


def scaling_loss(parameters: float, tokens: float, fit: LossFit = HOFFMANN) -> float:
    """Predicted loss of a model of N parameters trained on D tokens."""
    return fit.E + fit.A / parameters**fit.alpha + fit.B / tokens**fit.beta


class Allocation(NamedTuple):
    """Parameters and training tokens."""

    parameters: float
    tokens: float


def allocation(flops: float, law: PowerLaw) -> Allocation:
    """Parameters given by a power law of the budget, and the tokens that 6·N·D = flops leaves for them."""
    parameters = law.coefficient * flops**law.exponent
    return Allocation(parameters, flops / (6 * parameters))


def compute_optimal(flops: float, fit: LossFit = HOFFMANN) -> Allocation:
    """The N and D with 6·N·D = flops that minimize scaling_loss.

    N = G·(C/6)^(β/(α+β)), D = (C/6)^(α/(α+β))/G, G = (αA/(βB))^(1/(α+β)).
    Raises: ValueError when flops is not positive.
    """
    if flops <= 0:
        raise ValueError(f"flops must be positive, got {flops}")
    total = fit.alpha + fit.beta
    G = (fit.alpha * fit.A / (fit.beta * fit.B)) ** (1 / total)
    budget = flops / 6
    return Allocation(G * budget ** (fit.beta / total), budget ** (fit.alpha / total) / G)


def twenty_tokens_rule(flops: float) -> Allocation:
    """The rule of thumb D = 20·N under 6·N·D = flops."""
    parameters = (flops / 120) ** 0.5
    return Allocation(parameters, 20 * parameters)


# Shapes


class ShapeRatios(NamedTuple):
    """Three ratios that are similar in most models: d_ff/d_model, H·D/d_model, d_model/n_layers.

    Usual values: 4 for a plain and 8/3 for a gated feed-forward layer; 1; 100 to 200.
    """

    ffn: float
    heads: float
    aspect: float


def shape_ratios(d_model: int, n_layers: int, n_heads: int, head_dim: int, d_ff: int) -> ShapeRatios:
    """The ratios of one model."""
    return ShapeRatios(d_ff / d_model, n_heads * head_dim / d_model, d_model / n_layers)
