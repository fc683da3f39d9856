"""From token ids to vectors and back: embeddings and the head tied to them.

Sources: arXiv:1706.03762 section 3.4 (one matrix for both ends), arXiv:1810.04805 (positions and segments),
arXiv:1909.11942 section 3.1 (factorized).
"""

import torch
from torch import Tensor, nn

from autograder.reference.assembly.pieces import Config
from autograder.reference.norms import LayerNorm


class Embeddings(nn.Module):
    """Token + learned position + segment, then a norm, then a wider map: each if the configuration has it.

    Tables are d_embedding wide; ``widen`` (with a bias) maps to d_model if the two differ, as in ALBERT.
    """

    def __init__(self, c: Config):
        super().__init__()
        d = c["d_embedding"]
        self.tokens = nn.Embedding(c["vocab"], d)
        self.positions = nn.Embedding(c["max_positions"], d) if c["position"] == "learned" else None
        self.segments = nn.Embedding(c["n_segments"], d) if c["n_segments"] else None
        self.norm = LayerNorm(d, c["eps"]) if c["embedding_norm"] else nn.Identity()
        self.widen = nn.Linear(d, c["d_model"]) if d != c["d_model"] else nn.Identity()

    def forward(self, ids: Tensor, positions: Tensor | None, segments: Tensor | None = None) -> Tensor:
        """Args: ids (B, T) int64; positions (T,) or (B, T) int64, used only with a position table; segments
        (B, T) int64, None for all 0.

        Returns: (B, T, d_model). Raises: ValueError past the last learned position.
        """
        x = self.tokens(ids)
        if self.positions is not None:
            assert positions is not None
            last = self.positions.num_embeddings - 1
            if int(positions.max()) > last:
                raise ValueError(f"learned positions end at {last}, and the text goes on to {int(positions.max())}")
            x = x + self.positions(positions)
        if self.segments is not None:
            x = x + self.segments(torch.zeros_like(ids) if segments is None else segments)
        return self.widen(self.norm(x))

    def logits(self, x: Tensor) -> Tensor:
        """The tied head: x (..., d_embedding) → (..., vocab), the dot product with each token's vector."""
        return x @ self.tokens.weight.T
