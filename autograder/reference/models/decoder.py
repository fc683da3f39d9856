"""Shared by all decoder-only models here: tokens in, masks and positions per layer, caches, logits out."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from autograder.reference.gqa import GroupedQueryAttention
from autograder.reference.kv_cache import ContiguousCache, RollingCache
from autograder.reference.masks import causal_mask_at, position_ids
from autograder.reference.sparse import local_causal_mask_at

Cache = ContiguousCache | RollingCache


class CausalDecoder(nn.Module):
    """Token embedding, blocks, final norm, linear head.

    Args: blocks, modules called as block(x, mask=…, position_ids=…, cache=…), with an attribute
    ``attention``; final_norm; tied, whether the head shares the embedding's weight; windows, per block
    the number of keys that a query sees, own included, or None for all.
    Subclasses override ``embed`` and ``logits`` if their model differs.
    """

    def __init__(
        self,
        vocab: int,
        d_model: int,
        blocks: Iterable[nn.Module],
        final_norm: nn.Module,
        tied: bool,
        windows: Sequence[int | None] | None = None,
    ):
        super().__init__()
        self.tokens = nn.Embedding(vocab, d_model)
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = final_norm
        self.head = nn.Linear(d_model, vocab, bias=False)
        if tied:
            self.head.weight = self.tokens.weight
        self.windows: list[int | None] = [None] * len(self.blocks) if windows is None else list(windows)
        if len(self.windows) != len(self.blocks):
            raise ValueError(f"{len(self.blocks)} blocks need as many windows, got {len(self.windows)}")

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Args: ids (B, T), positions (T,) or (B, T). Returns: (B, T, d_model)."""
        return self.tokens(ids)

    def logits(self, hidden: Tensor) -> Tensor:
        """Args: hidden (B, T, d_model), after the final norm. Returns: (B, T, vocab)."""
        return self.head(hidden)

    def forward(self, ids: Tensor, real: Tensor | None = None, caches: Sequence[Cache] | None = None) -> Tensor:
        """Logits of the next token after each of T new tokens.

        Args: ids (B, T) int64; real (B, S) boolean for all S = past + T positions, False = padding on
        either side; caches, one per block as from new_caches, appended to.
        Returns: (B, T, vocab). Raises: ValueError when real or caches do not fit.
        """
        return self.logits(self.hidden(ids, real, caches))

    def hidden(self, ids: Tensor, real: Tensor | None = None, caches: Sequence[Cache] | None = None) -> Tensor:
        """Like forward, up to and including the final norm: (B, T, d_model)."""
        past = caches[0].length if caches else 0
        slots = torch.arange(past, past + ids.shape[1], device=ids.device)
        if real is not None and real.shape != (ids.shape[0], past + ids.shape[1]):
            raise ValueError(f"real must cover {(ids.shape[0], past + ids.shape[1])}, got {tuple(real.shape)}")
        if caches is not None and len(caches) != len(self.blocks):
            raise ValueError(f"{len(self.blocks)} blocks need as many caches, got {len(caches)}")
        # Slots count padding, positions don't: masks compare slots; embeddings and RoPE use positions.
        positions = slots if real is None else position_ids(real)[:, past:]
        masks = self._masks(slots, real, caches)
        x = self.embed(ids, positions)
        for index, block in enumerate(self.blocks):
            cache = caches[index] if caches else None
            x = block(x, mask=masks[self.windows[index]], position_ids=positions, cache=cache)
        return self.final_norm(x)

    def _masks(self, slots: Tensor, real: Tensor | None, caches: Sequence[Cache] | None) -> dict[int | None, Tensor]:
        """One mask per kind of window, (T, S) or (B, 1, T, S)."""
        masks = {}
        for window in set(self.windows):
            keys = slots if not caches else caches[self.windows.index(window)].key_positions(len(slots))
            mask = causal_mask_at(slots, keys)
            if window is not None:
                mask = local_causal_mask_at(slots, keys, window)
            masks[window] = mask if real is None else mask & real[:, None, None, keys]
        return masks

    def new_caches(self, B: int, capacity: int) -> list[Cache]:
        """Empty caches in the model's dtype and on its device; rolling ones for blocks with a window."""
        weight = self.tokens.weight
        caches: list[Cache] = []
        for block, window in zip(self.blocks, self.windows, strict=True):
            attention = block.attention
            assert isinstance(attention, GroupedQueryAttention), "a decoder with other caches makes its own"
            G, D = attention.n_kv_heads, attention.head_dim
            if window is None:
                caches.append(ContiguousCache(B, G, capacity, D, dtype=weight.dtype, device=weight.device))
            else:
                caches.append(RollingCache(B, G, window, D, dtype=weight.dtype, device=weight.device))
        return caches


def parameter_count(model: nn.Module) -> int:
    """Number of parameters; a tied one counts once."""
    return sum(p.numel() for p in model.parameters())
