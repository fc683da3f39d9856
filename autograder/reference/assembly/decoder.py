"""A decoder from a configuration: maps token ids to logits of the next token, with or without a past."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from autograder.reference.assembly.attention import Attention, Pair
from autograder.reference.assembly.block import Block, Make
from autograder.reference.assembly.embeddings import Embeddings
from autograder.reference.assembly.masks import decoder_mask, position_ids
from autograder.reference.assembly.pieces import Config, make_ffn, make_norm


def window_of(c: Config, layer: int) -> int | None:
    """Number of keys that a layer's queries see, own included; None for all. Every ``window_every``-th layer has it."""
    return c["window"] if layer % c["window_every"] == 0 else None


class Decoder(nn.Module):
    """Embeddings, blocks, a final norm if the placement leaves the stream unnormalized, and a head, tied or not."""

    def __init__(self, c: Config, attention: Make = Attention, ffn: Make = make_ffn):
        super().__init__()
        self.c = c
        self.embeddings = Embeddings(c)
        self.blocks = nn.ModuleList(Block(c, attention, ffn) for _ in range(c["n_layers"]))
        self.final_norm = nn.Identity() if c["placement"] == "post" else make_norm(c)
        if not c["tied"]:
            self.head = nn.Linear(c["d_model"], c["vocab"], bias=False)

    def forward(
        self, ids: Tensor, real: Tensor | None = None, past: Sequence[Pair] | None = None
    ) -> tuple[Tensor, list[Pair]]:
        """Args: ids (B, T) int64, new tokens; real (B, S) boolean for past and new tokens, False = padding, None for
        no padding; past as returned by the previous call, None for an empty one.

        Returns: logits (B, T, vocab), and for each layer all keys and values (B, G, S, D).
        """
        seen = past[0][0].shape[2] if past else 0
        T = ids.shape[1]
        if real is None:
            real = ids.new_ones(len(ids), seen + T, dtype=torch.bool)
        positions = position_ids(real)[:, seen:]
        x, stored = self.embeddings(ids, positions), []
        for layer, block in enumerate(self.blocks):
            mask = decoder_mask(real, T, window_of(self.c, layer))
            x, pair = block(x, mask, positions, past[layer] if past else None)
            stored.append(pair)
        return self.logits(self.final_norm(x)), stored

    def logits(self, x: Tensor) -> Tensor:
        """x (B, T, d_model), after the final norm → (B, T, vocab)."""
        return self.embeddings.logits(x) if self.c["tied"] else self.head(x)
