"""Paged key-value cache: a pool of fixed blocks, and per sequence a table of the blocks it uses.

Memory is allocated block by block as sequences grow, so that at most block - 1 slots per sequence are
ever idle, compared with capacity - length for one buffer each. Blocks can be shared: a fork copies the
table, and a block is copied only when one of its owners writes to it.

Source: Kwon et al. 2023 (vLLM), arXiv:2309.06180.
"""

import math
from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from autograder.reference.attention import attention_scores
from autograder.reference.gqa import group_size


class PagedCache:
    """Blocks of ``block`` tokens for G key-value heads of dimension D, shared by all sequences."""

    def __init__(
        self,
        n_blocks: int,
        block: int,
        G: int,
        D: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ):
        if n_blocks < 1 or block < 1:
            raise ValueError(f"n_blocks and block must be positive, got {n_blocks} and {block}")
        self.keys = torch.zeros(n_blocks, G, block, D, dtype=dtype, device=device)
        self.values = torch.zeros_like(self.keys)
        self.block = block
        self.tables: dict[Hashable, list[int]] = {}
        self.lengths: dict[Hashable, int] = {}
        self._free = list(range(n_blocks - 1, -1, -1))
        self._owners = [0] * n_blocks

    def open(self, name: Hashable) -> None:
        """Start an empty sequence. Raises: ValueError when the name is taken."""
        if name in self.tables:
            raise ValueError(f"sequence {name!r} exists already")
        self.tables[name], self.lengths[name] = [], 0

    def append(self, name: Hashable, keys: Tensor, values: Tensor) -> None:
        """Add T tokens, keys and values (G, T, D), to a sequence.

        Raises: ValueError for other shapes, MemoryError when the pool has too few free blocks (nothing
        is written then), KeyError for an unknown sequence.
        """
        G, D = self.keys.shape[1], self.keys.shape[3]
        if keys.shape != values.shape or keys.dim() != 3 or (keys.shape[0], keys.shape[2]) != (G, D):
            raise ValueError(f"keys and values must be ({G}, T, {D}), got {keys.shape} and {values.shape}")
        table, start, T = self.tables[name], self.lengths[name], keys.shape[1]
        partial = start % self.block
        shared_tail = bool(partial) and T > 0 and self._owners[table[-1]] > 1
        needed = -(-(start + T) // self.block) - len(table) + shared_tail
        if needed > len(self._free):
            raise MemoryError(f"{needed} blocks are needed, {len(self._free)} are free")
        if shared_tail:
            table[-1] = self._copy_of(table[-1])
        table += [self._take() for _ in range(needed - shared_tail)]
        for t in range(start, start + T):
            slot = (table[t // self.block], slice(None), t % self.block)
            self.keys[slot], self.values[slot] = keys[:, t - start], values[:, t - start]
        self.lengths[name] = start + T

    def gather(self, name: Hashable) -> tuple[Tensor, Tensor]:
        """All keys and values of a sequence in order, (G, S, D) each, copied out of its blocks."""
        table, S = self.tables[name], self.lengths[name]
        join = lambda pool: pool[table].transpose(0, 1).flatten(1, 2)[:, :S]
        return join(self.keys), join(self.values)

    def fork(self, parent: Hashable, child: Hashable) -> None:
        """Start ``child`` with the parent's tokens without copying them: both own the same blocks."""
        self.open(child)
        self.tables[child], self.lengths[child] = list(self.tables[parent]), self.lengths[parent]
        for index in self.tables[child]:
            self._owners[index] += 1

    def close(self, name: Hashable) -> None:
        """Forget a sequence; blocks without another owner are free again."""
        for index in self.tables.pop(name):
            self._release(index)
        del self.lengths[name]

    def block_table(self, names: Sequence[Hashable]) -> tuple[Tensor, Tensor]:
        """(tables (n, m) int64, lengths (n,) int64) of several sequences; unused table entries are 0."""
        m = max((len(self.tables[name]) for name in names), default=0)
        rows = [self.tables[name] + [0] * (m - len(self.tables[name])) for name in names]
        device = self.keys.device
        lengths = torch.tensor([self.lengths[name] for name in names], device=device)
        return torch.tensor(rows, dtype=torch.long, device=device).view(len(names), m), lengths

    @property
    def free_blocks(self) -> int:
        """Blocks that no sequence owns."""
        return len(self._free)

    @property
    def idle_slots(self) -> int:
        """Slots at the ends of sequences that hold no token; a shared block counts once per sequence."""
        return sum(len(t) * self.block - self.lengths[name] for name, t in self.tables.items())

    def _take(self) -> int:
        index = self._free.pop()
        self._owners[index] = 1
        return index

    def _release(self, index: int) -> None:
        self._owners[index] -= 1
        if self._owners[index] == 0:
            self._free.append(index)

    def _copy_of(self, index: int) -> int:
        new = self._take()
        self.keys[new], self.values[new] = self.keys[index], self.values[index]
        self._release(index)
        return new


def paged_attention(q: Tensor, cache: PagedCache, names: Sequence[Hashable]) -> Tensor:
    """One decoding step of several sequences of different lengths, straight from their blocks.

    Walks through the block tables with a running maximum and sum (online softmax, Milakov and
    Gimelshein 2018, arXiv:1805.02867), so that no sequence is ever gathered into one tensor.

    Args: q (n, H, D), the newest token of each sequence, whose key is already appended; names, n
    sequences. Returns: (n, H, D); zeros for an empty sequence.
    Raises: ValueError when G does not divide H or q does not have one row per name.
    """
    n, H, D = q.shape
    if n != len(names):
        raise ValueError(f"q has {n} rows for {len(names)} sequences")
    G = cache.keys.shape[1]
    tables, lengths = cache.block_table(names)
    grouped = q.view(n, G, group_size(H, G), D)
    work = torch.promote_types(q.dtype, torch.float32)
    peak = torch.full(grouped.shape[:-1], -math.inf, dtype=work, device=q.device)  # (n, G, H/G)
    weight_sum = torch.zeros_like(peak)
    out = torch.zeros(grouped.shape, dtype=work, device=q.device)
    for column in range(tables.shape[1]):
        keys, values = cache.keys[tables[:, column]], cache.values[tables[:, column]]  # (n, G, block, D)
        positions = column * cache.block + torch.arange(cache.block, device=q.device)
        valid = positions < lengths[:, None]  # (n, block)
        scores = attention_scores(grouped, keys).to(work).masked_fill(~valid[:, None, None], -math.inf)
        new_peak = torch.maximum(peak, scores.amax(-1))
        # A sequence that has ended (or is empty) keeps its peak; -inf - (-inf) must not become NaN.
        safe = new_peak.masked_fill(new_peak == -math.inf, 0.0)
        old_share = torch.exp(peak - safe)
        weights = torch.exp(scores - safe[..., None])
        weight_sum = weight_sum * old_share + weights.sum(-1)
        out = out * old_share[..., None] + weights @ values.to(work)
        peak = new_peak
    return (out / weight_sum.masked_fill(weight_sum == 0, 1.0)[..., None]).view(n, H, D).to(q.dtype)
