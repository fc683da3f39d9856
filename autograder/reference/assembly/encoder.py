"""An encoder from a configuration: every token sees every real token.

Sources: arXiv:1810.04805 (BERT), arXiv:1909.11942 section 3.1 (ALBERT: one layer for all).
"""

import torch
from torch import Tensor, nn

from autograder.reference.assembly.attention import Attention
from autograder.reference.assembly.block import Block, Make
from autograder.reference.assembly.embeddings import Embeddings
from autograder.reference.assembly.pieces import Config, make_ffn, make_norm


class Encoder(nn.Module):
    """Embeddings and blocks, and a final norm if the placement leaves the stream unnormalized.

    With ``shared_layers`` there is one block, which runs n_layers times.
    """

    def __init__(self, c: Config, attention: Make = Attention, ffn: Make = make_ffn):
        super().__init__()
        self.c = c
        self.embeddings = Embeddings(c)
        stored = 1 if c["shared_layers"] else c["n_layers"]
        self.blocks = nn.ModuleList(Block(c, attention, ffn) for _ in range(stored))
        self.final_norm = nn.Identity() if c["placement"] == "post" else make_norm(c)

    def forward(self, ids: Tensor, segments: Tensor | None = None, real: Tensor | None = None) -> Tensor:
        """Args: ids (B, T) int64; segments (B, T) int64, None for all 0; real (B, T) boolean, False = padding, which
        no token attends to; None for no padding.

        Returns: (B, T, d_model), one vector for each token.
        """
        positions = torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
        mask = None if real is None else real[:, None, None, :]
        x = self.embeddings(ids, positions, segments)
        for layer in range(self.c["n_layers"]):
            x, _ = self.blocks[layer % len(self.blocks)](x, mask, positions)
        return self.final_norm(x)
