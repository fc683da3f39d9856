"""BERT and ALBERT: encoders with learned positions and segments, Post-LN, GELU.

ALBERT embeds tokens in a smaller space and runs the same layer repeatedly.

Sources: Devlin et al. 2018, arXiv:1810.04805; Lan et al. 2019, arXiv:1909.11942.
"""

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from autograder.reference.activations import gelu, gelu_tanh, tanh
from autograder.reference.attention import MultiHeadAttention
from autograder.reference.ffn import Activation, FeedForward
from autograder.reference.masks import key_padding_mask
from autograder.reference.norms import LayerNorm
from autograder.reference.placement import PostLN


class BertConfig(NamedTuple):
    """Sizes of a BERT model."""

    vocab: int
    d_model: int
    n_layers: int
    n_heads: int
    d_ff: int
    max_positions: int = 512
    n_segments: int = 2
    eps: float = 1e-12


class BertEmbeddings(nn.Module):
    """norm(token + position + segment), all learned, width d."""

    def __init__(self, c: BertConfig, d: int):
        super().__init__()
        self.tokens = nn.Embedding(c.vocab, d)
        self.positions = nn.Embedding(c.max_positions, d)
        self.segments = nn.Embedding(c.n_segments, d)
        self.norm = LayerNorm(d, c.eps)

    def forward(self, ids: Tensor, segments: Tensor | None = None) -> Tensor:
        """Args: ids (B, T); segments (B, T), default all 0. Returns: (B, T, d).

        Raises: ValueError past the last learned position.
        """
        T = ids.shape[1]
        if T > self.positions.num_embeddings:
            raise ValueError(f"learned positions end at {self.positions.num_embeddings}, got {T} tokens")
        segments = torch.zeros_like(ids) if segments is None else segments
        positions = torch.arange(T, device=ids.device)
        return self.norm(self.tokens(ids) + self.positions(positions) + self.segments(segments))


def bert_block(c: BertConfig, activation: Activation) -> PostLN:
    """norm(x + A(x)), then norm(x + F(x))."""
    ffn = FeedForward(c.d_model, c.d_ff, activation)
    return PostLN(c.d_model, MultiHeadAttention(c.d_model, c.n_heads), ffn, partial(LayerNorm, eps=c.eps))


class Bert(nn.Module):
    """The encoder with its pooler. Returns (hidden (B, T, d_model), pooled (B, d_model))."""

    def __init__(self, c: BertConfig):
        super().__init__()
        self.embeddings = BertEmbeddings(c, c.d_model)
        self.blocks = nn.ModuleList(bert_block(c, gelu) for _ in range(c.n_layers))
        self.pooler = nn.Linear(c.d_model, c.d_model)

    def forward(self, ids: Tensor, segments: Tensor | None = None, real: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Args: ids and segments (B, T) int64; real (B, T) boolean, False = padding.

        pooled is tanh of a linear map of the first token, [CLS].
        """
        mask = None if real is None else key_padding_mask(real)
        x = self.embeddings(ids, segments)
        for block in self.blocks:
            x = block(x, mask=mask)
        return x, tanh(self.pooler(x[:, 0]))


class BertForPretraining(nn.Module):
    """BERT with its two heads: masked tokens (B, T, vocab), next sentence (B, 2).

    The token head is a linear layer, GELU and norm, then the embedding matrix (tied) and a bias.
    """

    def __init__(self, c: BertConfig):
        super().__init__()
        self.bert = Bert(c)
        self.transform = nn.Linear(c.d_model, c.d_model)
        self.transform_norm = LayerNorm(c.d_model, c.eps)
        self.decoder = nn.Linear(c.d_model, c.vocab)
        self.decoder.weight = self.bert.embeddings.tokens.weight
        self.next_sentence = nn.Linear(c.d_model, 2)

    def forward(self, ids: Tensor, segments: Tensor | None = None, real: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Arguments as in Bert."""
        hidden, pooled = self.bert(ids, segments, real)
        return self.decoder(self.transform_norm(gelu(self.transform(hidden)))), self.next_sentence(pooled)


class Albert(nn.Module):
    """BERT with factorized embeddings (vocab·E + E·d instead of vocab·d) and one shared block.

    Saves parameters, not time: the block runs n_layers times. GELU in its tanh form.
    """

    def __init__(self, c: BertConfig, d_embedding: int):
        super().__init__()
        self.n_layers = c.n_layers
        self.embeddings = BertEmbeddings(c, d_embedding)
        self.widen = nn.Linear(d_embedding, c.d_model)
        self.block = bert_block(c, gelu_tanh)
        self.pooler = nn.Linear(c.d_model, c.d_model)

    def forward(self, ids: Tensor, segments: Tensor | None = None, real: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Arguments and results as in Bert."""
        mask = None if real is None else key_padding_mask(real)
        x = self.widen(self.embeddings(ids, segments))
        for _ in range(self.n_layers):
            x = self.block(x, mask=mask)
        return x, tanh(self.pooler(x[:, 0]))
