"""Attention on latents with absorbed projections."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference.attention import attention_weights
from autograder.reference.mla import mla_bytes_per_token

from .shared import attend


def absorbed_queries(q, w_uk):
    """q (H, T, D), w_uk (H, D, R) → (H, T, R)."""
    return q @ w_uk


def absorbed_attention(q, c, w_uk, w_uv):
    """Attention on latents c (S, R); w_uv (H, Dv, R) → (H, T, Dv)."""
    scores = absorbed_queries(q, w_uk) @ c.mT / math.sqrt(q.shape[-1])
    return attention_weights(scores) @ c @ w_uv.mT


def queries_by_einsum(q, w_uk):
    """Named axes."""
    return torch.einsum("htd,hdr->htr", q, w_uk)


def expanded_attention(q, c, w_uk, w_uv):
    """The same function with every head's keys and values written out."""
    keys = torch.einsum("sr,hdr->hsd", c, w_uk)
    values = torch.einsum("sr,hdr->hsd", c, w_uv)
    return attend(q, keys, values)


def latent_bytes_by_layers(n_layers, kv_rank, rope_dim, itemsize=2):
    """Layer by layer."""
    return sum((kv_rank + rope_dim) * itemsize for _ in range(n_layers))


def _absorbed(
    scale=lambda q, c: math.sqrt(q.shape[-1]), queries=absorbed_queries, up=lambda mixed, w_uv: mixed @ w_uv.mT
):
    def wrong(q, c, w_uk, w_uv):
        return up((queries(q, w_uk) @ c.mT / scale(q, c)).softmax(-1) @ c, w_uv)

    return wrong


head_zero = lambda q, w_uk: q @ w_uk[:1]
MLA = mla_bytes_per_token
A, AQ = absorbed_attention, absorbed_queries


def _latent_case(g: Source, H: int = 3, T: int = 2, S: int = 6, D: int = 4, R: int = 5, Dv: int = 3) -> Program:
    return call(g.randn(H, T, D), g.randn(S, R), g.randn(H, D, R), g.randn(H, Dv, R), fn="absorbed_attention")


def _latent_by_hand(g: Source) -> Program:
    one = torch.ones(1, 1, 1)
    return call(math.log(3) * one, torch.tensor([[0.0], [0.5]]), 2 * one, 8 * one, fn="absorbed_attention")


EXERCISE = Exercise(
    id="cache.latent",
    unit="08-kv-cache-and-gqa",
    title="Attention on latents",
    points=3,
    difficulty=4,
    minutes=20,
    extension=True,
    signature="absorbed_queries(q, w_uk)",
    targets=("absorbed_queries", "absorbed_attention", "latent_bytes_per_token"),
    reference=(AQ, A, MLA),
    alternatives=[(queries_by_einsum, expanded_attention, latent_bytes_by_layers)],
    cases=[
        Case(
            "queries by hand",
            "q = (1, 2) and W = ((1, 0, 3), (0, 1, 1)) make (1, 2, 5)",
            lambda g: call(torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[1.0, 0.0, 3.0], [0.0, 1.0, 1.0]]])),
        ),
        Case(
            "attention by hand",
            "latents 0 and 0.5, W_UK = 2, so scores 0 and ln 3, weights 1/4 and 3/4; W_UV = 8 makes 0.375 into 3",
            _latent_by_hand,
        ),
        Case(
            "queries",
            "three heads with matrices of their own, R = 5, D = 4",
            lambda g: call(g.randn(3, 2, 4), g.randn(3, 4, 5)),
        ),
        Case("attention", "three heads, two queries, six latents of 5 numbers, D = 4, Dv = 3", _latent_case, weight=2),
        Case(
            "wide latent",
            "R = 16 and D = 4: the scale is that of the head, not of the latent",
            lambda g: _latent_case(g, R=16),
            weight=2,
        ),
        Case(
            "bytes",
            "DeepSeek-V3: 61 layers, 512 latent and 64 rotary numbers, 2 bytes each",
            lambda g: call(61, 512, 64, fn="latent_bytes_per_token"),
        ),
        Case(
            "bytes in float32",
            "two models of random sizes, 4 bytes each",
            lambda g: several(
                2,
                lambda p: p.call(
                    g.integer(5, 90),
                    16 * g.integer(5, 40),
                    8 * g.integer(2, 9),
                    itemsize=4,
                    fn="latent_bytes_per_token",
                ),
            ),
        ),
    ],
    mutants=[
        Mutant(
            "scaled_by_rank",
            (AQ, _absorbed(scale=lambda q, c: math.sqrt(c.shape[-1])), MLA),
            "The scores are divided by √R. They equal q·k of the expanded heads, which have D numbers: divide by √D.",
        ),
        Mutant("unscaled", (AQ, _absorbed(scale=lambda q, c: 1.0), MLA), "The scores are not divided by √D."),
        Mutant(
            "no_up",
            (AQ, _absorbed(up=lambda mixed, w_uv: mixed), MLA),
            "The mixed latents are returned. Each head still turns them into its values with W_UV.",
        ),
        Mutant(
            "mean_up",
            (AQ, _absorbed(up=lambda mixed, w_uv: mixed @ w_uv.mean(0).mT), MLA),
            "One W_UV, the mean over heads, serves all heads. Each head has its own.",
        ),
        Mutant(
            "head_zero",
            (head_zero, _absorbed(queries=head_zero), MLA),
            "All heads use head 0's W_UK. Multiply head by head: (H, T, D) @ (H, D, R).",
        ),
        Mutant(
            "factor_two",
            (AQ, A, lambda n_layers, kv_rank, rope_dim, itemsize=2: 2 * MLA(n_layers, kv_rank, rope_dim, itemsize)),
            "latent_bytes_per_token counts keys and values apart. One latent serves both, so there is no factor 2.",
        ),
        Mutant(
            "no_rope",
            (AQ, A, lambda n_layers, kv_rank, rope_dim, itemsize=2: n_layers * kv_rank * itemsize),
            "latent_bytes_per_token leaves out the rotary key. It is cached too: rope_dim numbers per layer, "
            "shared by all heads.",
        ),
    ],
)
