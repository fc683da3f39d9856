"""Cheap and expensive solutions of the exercises whose cost is limited: all give the same numbers."""

import collections
import math
import re

import torch
import torch.nn.functional as F
from torch import nn

from autograder.exercises.u08_kv_cache_and_gqa import cross, latent, rolling, step
from autograder.exercises.u09_sparse_attention import gather, pairs
from autograder.exercises.u11_assembly import experts, names
from autograder.exercises.u13_scale_and_cost import forward
from autograder.exercises.u14_cheaper_attention import backward, chunks, linear, merge, stream
from autograder.exercises.u15_experts_and_drafts import muon
from autograder.reference.assembly.loading import rename
from autograder.reference.kv_cache import RollingCache
from autograder.reference.muon import COEFFICIENTS
from autograder.reference.sparse import local_causal_mask
from tests.course import local_ways


def latent_by_einsum(q, c, wk, wv):
    weights = torch.einsum("htd,hdr,sr->hts", q, wk, c).div(math.sqrt(q.shape[-1])).softmax(-1)
    return torch.einsum("hts,sr,hvr->htv", weights, c, wv)


def latent_by_sdpa(q, c, wk, wv):
    shared = c.expand(q.shape[0], -1, -1)
    return F.scaled_dot_product_attention(q @ wk, shared, shared, scale=q.shape[-1] ** -0.5) @ wv.mT


def latent_by_broadcasting(q, c, wk, wv):
    asked = (q[..., None] * wk[:, None]).sum(2)
    weights = ((asked[:, :, None] * c).sum(-1) / math.sqrt(q.shape[-1])).softmax(-1)
    return (((weights[..., None] * c).sum(2))[:, :, None] * wv[:, None]).sum(-1)


def half_expanded(q, c, wk, wv):
    return (((q @ wk) @ c.T) / math.sqrt(q.shape[-1])).softmax(-1) @ (c @ wv.mT)


def expanded_by_heads(q, c, wk, wv):
    heads = range(q.shape[0])
    scores = [q[h] @ (c @ wk[h].T).T / math.sqrt(q.shape[-1]) for h in heads]
    return torch.stack([s.softmax(-1) @ (c @ wv[h].T) for h, s in zip(heads, scores, strict=True)])


def expanded_together(q, c, wk, wv):
    both = torch.einsum("sr,hdr->hsd", c, torch.cat([wk, wv], 1))
    keys, values = both.split([wk.shape[1], wv.shape[1]], dim=-1)
    return (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(-1) @ values


def step_by_sdpa(q, k, v, past=None):
    k, v = (torch.cat([past[i], t], dim=2) if past else t for i, t in enumerate((k, v)))
    mask = torch.ones(q.shape[2], k.shape[2]).tril(k.shape[2] - q.shape[2]) > 0
    return F.scaled_dot_product_attention(q, k, v, mask), (k, v)


def step_over_all(q, k, v, past=None):
    """Pads the chunk's queries to one for each token of the text and keeps the last rows of the result."""
    T = q.shape[2]
    k, v = (torch.cat([past[i], t], dim=2) if past else t for i, t in enumerate((k, v)))
    S = k.shape[2]
    q = torch.cat([q[:, :, :1].expand(-1, -1, S - T, -1), q], dim=2)
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(torch.ones(S, S).triu(1) > 0, -math.inf).softmax(-1)
    return torch.einsum("bhts,bhsd->bhtd", weights, v)[:, :, S - T :], (k, v)


def latents(attend):
    return latent.absorbed_queries, attend, latent.latent_bytes_by_layers


class Flat(nn.Module):
    """Correct: reads the weights without calling their modules, and the shapes of the weights on each call."""

    def __init__(self, d_model):
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))
        self.stored = None

    def weights(self):
        return torch.cat([self.k_proj.weight, self.v_proj.weight])

    def project(self, memory):
        return F.linear(memory, self.weights()).chunk(2, -1)

    def forward(self, x, memory):
        if self.stored is None:
            self.stored = self.project(memory)
        if self.stored[0].shape != (*memory.shape[:2], self.k_proj.weight.shape[0]):
            raise ValueError("another memory")
        keys, values = self.stored
        return (self.q_proj(x) @ keys.mT / math.sqrt(keys.shape[-1])).softmax(-1) @ values


class FlatEachTime(Flat):
    """Projects on every call, without calling a module."""

    def forward(self, x, memory):
        self.project(memory)
        return super().forward(x, memory)


class CopiesWeights(Flat):
    """Copies the weights on every call."""

    def forward(self, x, memory):
        self.copied = self.k_proj.weight.clone(), self.v_proj.weight.data.clone()
        return super().forward(x, memory)


class Queue:
    """Correct: keeps one entry for each token."""

    def __init__(self, B, G, window, D):
        self.window, self.tokens = window, collections.deque(maxlen=max(window - 1, 1))

    def append(self, keys, values):
        old = list(self.tokens) if self.window > 1 else []
        joined = [torch.cat([o[n] for o in old] + [new], 2) for n, new in enumerate((keys, values))]
        for t in range(keys.shape[2]):
            self.tokens.append((keys[:, :, t : t + 1], values[:, :, t : t + 1]))
        return tuple(joined)


class KeepsChunks:
    """Keeps every chunk as it came."""

    def __init__(self, B, G, window, D):
        self.window, self.chunks = window, []

    def append(self, keys, values):
        self.chunks.append((keys, values))
        last = keys.shape[2] + self.window - 1
        return tuple(torch.cat(side, 2)[:, :, -last:] for side in zip(*self.chunks, strict=True))


EVERYTHING = {}


class KeepsElsewhere(KeepsChunks):
    """Keeps the chunks outside the object."""

    def __init__(self, B, G, window, D):
        super().__init__(B, G, window, D)
        EVERYTHING.clear()
        self.chunks = EVERYTHING.setdefault("all", [])


def lists(attend):
    return gather.index_by_rows, attend


def by_masks(T, w):
    return int(local_causal_mask(T, w).sum())


def by_mask_rows(T, w):
    places = torch.arange(T)
    return sum(int(((places <= i) & (i - places < w)).sum()) for i in range(T))


def by_one_tensor(T, w):
    return int((torch.arange(T) + 1).clamp(max=w).sum())


class MaskedExperts(experts.Experts):
    """Every expert reads all tokens; other experts' tokens are zeros."""

    def forward(self, x):
        share, chosen = self.router(x).softmax(-1).topk(self.n_active, dim=-1)
        share, out = share / share.sum(-1, keepdim=True), torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            mine = (share * (chosen == i)).sum(-1, keepdim=True)
            out = out + expert(x * (mine > 0)) * mine
        return out


class ExpertsByToken(experts.Experts):
    """Computes each token by itself."""

    def forward(self, x):
        share, chosen = self.router(x).softmax(-1).topk(self.n_active, dim=-1)
        share = share / share.sum(-1, keepdim=True)
        rows = zip(x.flatten(0, 1), share.flatten(0, 1), chosen.flatten(0, 1).tolist(), strict=True)
        mixed = [sum(s * self.experts[i](token) for s, i in zip(own, few, strict=True)) for token, own, few in rows]
        return torch.stack(mixed).view_as(x)


def lora_by_ranks(x, A, B, alpha):
    """Adds up rank by rank, without a matrix product."""
    return sum((x @ a)[..., None] * b for a, b in zip(A, B.T, strict=True)) * (alpha / len(A))


def lora_by_outer(x, A, B, alpha):
    """Adds up one matrix of the weight's size per rank."""
    return x @ sum(torch.outer(b, a) for a, b in zip(A, B.T, strict=True)).T * (alpha / len(A))


def lora_by_einsum(x, A, B, alpha):
    """Computes the large product B A first."""
    return torch.einsum("...i,oi->...o", x, torch.einsum("or,ri->oi", B, A)) * (alpha / len(A))


def adapters(low_rank):
    return low_rank, forward._Simple


def rename_by_pop(state, rules):
    left = dict(state)
    plan = [(name, names.first_rule(name, rules)) for name in state]
    return {re.sub(*rule, name): left.pop(name) for name, rule in plan if rule[1] is not None}


def rename_views(state, rules):
    return {name: tensor.detach()[:] for name, tensor in rename(state, rules).items()}


def rename_added(state, rules):
    return {name: tensor + 0 for name, tensor in rename(state, rules).items()}


def rename_one_copied(state, rules):
    found = rename(state, rules)
    return {name: t.clone() if name.startswith("embeddings") else t for name, t in found.items()}


def halves(q, k, v, block, mask=None):
    """Correct: cuts the keys in two until a piece is small enough, and merges."""
    if block < 1:
        raise ValueError("no block")
    S = k.shape[-2]
    if S <= block:
        return stream._dense(q, k, v, block, mask)
    at = S // 2
    parts = (slice(0, at), slice(at, S))
    one, two = (halves(q, k[..., p, :], v[..., p, :], block, None if mask is None else mask[..., p]) for p in parts)
    return merge.merge(*one, *two)


def rows_of_queries(q, k, v, block, mask=None):
    """Correct: one query at a time with all its keys, and no block of keys at all."""
    if block < 1:
        raise ValueError("no block")
    cut = lambda t: None if mask is None else mask.expand(*q.shape[:-1], k.shape[-2])[..., t : t + 1, :]
    found = [stream._dense(q[..., t : t + 1, :], k, v, block, cut(t)) for t in range(q.shape[-2])]
    return torch.cat([out for out, _ in found], -2), torch.cat([lse for _, lse in found], -1)


def weights_of_all(q, k, v, block, mask=None):
    """Blocks of values, but all weights at once."""
    lse = stream._dense(q, k, v, block, mask)[1]
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)
    weights = (scores - lse.masked_fill(lse == -math.inf, 0.0)[..., None]).exp()
    return sum(w @ x for w, x in zip(weights.split(block, -1), v.split(block, -2), strict=True)), lse


def backward_by_queries(q, k, v, out, lse, d_out, block):
    """Correct: blocks of queries instead of keys."""
    parts = [t.split(block, -2) for t in (q, out, lse[..., None], d_out)]
    found = [backward._dense(a, k, v, b, c.squeeze(-1), d, block) for a, b, c, d in zip(*parts, strict=True)]
    return torch.cat([f[0] for f in found], -2), sum(f[1] for f in found), sum(f[2] for f in found)


def backward_by_autograd(q, k, v, out, lse, d_out, block):
    """All weights at once, differentiated by torch."""
    with torch.enable_grad():
        given = [t.detach().requires_grad_() for t in (q, k, v)]
        weights = (given[0] @ given[1].mT / q.shape[-1] ** 0.5).softmax(-1)
        return torch.autograd.grad(weights @ given[2], given, d_out)


def states_at_once(q, k, v, decay, chunk, state=None):
    """A state for every token, all at the same time."""
    pairs = k[..., :, None] * v[..., None, :]
    start = torch.zeros_like(pairs[:, :, 0]) if state is None else state
    made = []
    for t in range(q.shape[2]):
        start = decay[:, :, t, None, None] * start + pairs[:, :, t]
        made.append(start)
    return (q[..., None, :] @ torch.stack(made, 2)).squeeze(-2), start


def larger_chunks(q, k, v, decay, chunk, state=None):
    """Correct: chunks of twice the size."""
    return chunks.in_chunks(q, k, v, decay, 2 * chunk, state)


def pairs_by_broadcasting(q, k, v, decay):
    """Correct: products and sums of expanded tensors."""
    T = q.shape[2]
    passed = decay.log().cumsum(-1)
    kept = (passed[..., None] - passed[:, :, None]).masked_fill(torch.ones(T, T).triu(1) > 0, -math.inf).exp()
    scores = (q[:, :, :, None] * k[:, :, None]).sum(-1) * kept
    return (scores[..., None] * v[:, :, None]).sum(-2)


def pairs_from_states(q, k, v, decay):
    """The recurrence's results."""
    return linear.recurrent(q, k, v, decay)[0]


def pairs_from_all_states(q, k, v, decay):
    """A state for every token, all at the same time."""
    return states_at_once(q, k, v, decay, 1)[0]


def orthogonal_by_einsum(g, rounds=5, eps=1e-7):
    a, b, c = COEFFICIENTS
    x = (g if len(g) <= len(g.T) else g.T) / g.norm().clamp(min=eps)
    for _ in range(rounds):
        s = torch.einsum("ik,jk->ij", x, x)
        x = a * x + torch.einsum("ij,jk->ik", b * s + c * s.matrix_power(2), x)
    return x if len(g) <= len(g.T) else x.T


def orthogonal_as_it_lies(g, rounds=5, eps=1e-7):
    a, b, c = COEFFICIENTS
    x = g / g.norm().clamp(min=eps)
    for _ in range(rounds):
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return x


WAYS = {
    "muon.step": (
        [(orthogonal_by_einsum, muon.step_by_lerp)],
        [(orthogonal_as_it_lies, muon.step_by_lerp)],
    ),
    "tiles.stream": (
        [stream.by_mergers, halves, rows_of_queries],
        [stream._dense, weights_of_all],
    ),
    "tiles.backward": (
        [backward.by_einsum, backward_by_queries],
        [backward._dense, backward_by_autograd],
    ),
    "state.linear": (
        [(linear.recurrent, f) for f in (linear.parallel_by_products, pairs_by_broadcasting)],
        [(linear.recurrent, f) for f in (pairs_from_states, pairs_from_all_states)],
    ),
    "state.chunks": (
        [chunks.by_products, larger_chunks],
        [chunks._token_by_token, chunks._all_pairs, states_at_once],
    ),
    "assembly.names": (
        [rename_by_pop, rename_views],
        [rename_added, rename_one_copied, *(m.fn for m in names.EXERCISE.mutants if m.name == "copied")],
    ),
    "sparse.local_attention": (local_ways.RIGHT, local_ways.DEAR),
    "sparse.gather": (
        [lists(gather.gather_by_queries), lists(gather.gather_by_einsum)],
        [lists(gather._dense_gather), lists(gather._scores_picked)],
    ),
    "sparse.pairs": (
        [(by_one_tensor, *pairs.EXERCISE.reference[1:]), pairs.EXERCISE.alternatives[0]],
        [(by_masks, *pairs.EXERCISE.reference[1:]), (by_mask_rows, *pairs.EXERCISE.reference[1:])],
    ),
    "cache.latent": (
        [latents(f) for f in (latent.absorbed_by_heads, latent_by_einsum, latent_by_sdpa, latent_by_broadcasting)],
        [latents(f) for f in (latent.expanded_attention, half_expanded, expanded_by_heads, expanded_together)],
    ),
    "lora.forward": (
        [adapters(f) for f in (forward.low_rank, forward.by_einsum, lora_by_ranks)],
        [adapters(f) for f in (forward.whole_matrix, lora_by_outer, lora_by_einsum)],
    ),
    "cache.step": ([step.row_by_row, step.by_positions, step_by_sdpa], [step._all_queries, step_over_all]),
    "cache.cross": ([cross._Simple, Flat], [FlatEachTime, CopiesWeights]),
    "assembly.experts": (
        [ExpertsByToken, experts.ByRows],
        [MaskedExperts, *(m.fn for m in experts.EXERCISE.mutants if m.name in ("dense", "chosen_last"))],
    ),
    "cache.rolling": ([rolling.TailCache, RollingCache, Queue], [KeepsChunks, KeepsElsewhere]),
}
