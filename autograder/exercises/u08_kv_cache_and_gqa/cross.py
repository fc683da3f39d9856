"""Cross-attention that projects its memory once."""

import math
from collections.abc import Sequence

import torch
from torch import nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source
from autograder.reference.attention import scaled_dot_product_attention
from autograder.reference.kv_cache import CrossAttentionCache


class CrossAttention(nn.Module):
    """One head of cross-attention whose keys and values are projected at the first call only."""

    def __init__(self, d_model):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.v_proj = nn.Linear(d_model, d_model, bias=False)
        self.cache = CrossAttentionCache()

    def forward(self, x, memory):
        """x (B, T, d_model), memory (B, S, d_model) → (B, T, d_model)."""
        project = lambda m: (self.k_proj(m)[:, None], self.v_proj(m)[:, None])  # (B, 1, S, d_model): one head
        keys, values = self.cache.get(memory, project)
        return scaled_dot_product_attention(self.q_proj(x), keys[:, 0], values[:, 0])


class ByShape(nn.Module):
    """Correct: attributes instead of a cache object, and the memory's shape beside them."""

    def __init__(self, d_model):
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))
        self.shape = None

    def forward(self, x, memory):
        """Two batched products."""
        if self.shape is None:
            self.shape, self.keys, self.values = memory.shape, self.k_proj(memory), self.v_proj(memory)
        if memory.shape != self.shape:
            raise ValueError("another memory")
        scores = torch.bmm(self.q_proj(x), self.keys.mT) * x.shape[-1] ** -0.5
        return torch.bmm(torch.softmax(scores, dim=-1), self.values)


class _Simple(nn.Module):
    """Correct: keys and values in one attribute."""

    def __init__(self, d_model):
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))
        self.stored = None

    def forward(self, x, memory):
        """As in unit 01, without a mask."""
        if self.stored is None:
            self.stored = self.k_proj(memory), self.v_proj(memory)
        keys, values = self.stored
        if keys.shape != memory.shape:
            raise ValueError("another memory")
        scores = self.q_proj(x) @ keys.mT / math.sqrt(keys.shape[-1])
        return scores.softmax(-1) @ values


def _cross_program(
    g: Source, d: int, B: int, S: int, plan: Sequence[int], later: tuple[int, int] | None = None
) -> Program:
    """A call for each number of target tokens; ``later`` is (B, S) from the second call on."""
    state = {f"{n}_proj.weight": g.randn(d, d, scale=d**-0.5) for n in "qkv"}
    program = Program().new("CrossAttention", d, state=state)
    for i, T in enumerate(plan):
        b, s = (B, S) if i == 0 or later is None else later
        program.call(g.randn(b, T, d), g.randn(b, s, d))
    return program


def _counted(g: Source) -> Program:
    program = _cross_program(g, 4, 1, 3, [1])
    for T in (2, 1):
        program.call(g.randn(1, T, 4), g.randn(1, 3, 4))
        program.within(
            reads=0, of=("k_proj.weight", "v_proj.weight"), because="keys and values are kept from the first call on"
        )
    return program


def _trained(g: Source, T: int) -> Program:
    """One call in float32 whose gradients are judged, of the input, the memory and the projections."""
    program = _cross_program(g, 4, 2, 3, [])
    return program.call(g.randn(2, T, 4), g.randn(2, 3, 4), grad=[0, 1], params=True)


def _cross_by_hand(g: Source) -> Program:
    one = {f"{n}_proj.weight": torch.ones(1, 1) for n in "qkv"}
    memory, x = torch.tensor([[[0.0], [1.0]]]), torch.tensor([[[math.log(3)]]])
    return Program().new("CrossAttention", 1, state=one).call(x, memory).call(x, memory + 100)


MISTAKES = changes(
    _Simple,
    """
every_time: self.stored is None → True
    Keys and values are computed anew at each step. Project the memory at the first call and keep them.
for_nothing: keys, values = self.stored → keys, values = self.stored; self.k_proj(memory), self.v_proj(memory)
    The results are right, but the memory is projected again at each call, for nothing. Call k_proj and v_proj
    inside the if, at the first call only.
grows: self.stored = self.k_proj(memory), self.v_proj(memory) → self.stored = memory[:, :0], memory[:, :0]
; keys, values = self.stored → new = self.k_proj(memory), self.v_proj(memory); keys, values = self.stored
; values = self.stored → values = self.stored = [torch.cat(pair, 1) for pair in zip(self.stored, new)] ; raise →
    The cache grows at each step. Cross-attention's keys belong to the source, which does not grow: fill the cache
    once.
own_keys: self.stored is None → True ; self.k_proj(memory), self.v_proj(memory) → self.k_proj(x), self.v_proj(x)
; raise →
    Keys and values come from x. That is self-attention: project the memory.
keys_only: keys, values = self.stored → keys, values = self.stored[0], self.v_proj(memory) ; raise →
    The keys are kept, the values are computed anew. Keep both.
keys_twice: self.v_proj(memory) → self.k_proj(memory) ; raise →
    The values are the keys: k_proj is used for both. Project the memory with v_proj for the values.
detached: self.k_proj(memory), self.v_proj(memory) → self.k_proj(memory).detach(), self.v_proj(memory).detach()
    Keys and values are stored without gradients, so k_proj and v_proj are never trained. Store them as they are,
    without detach and no_grad.
causal: scores.softmax → scores.masked_fill(torch.ones(scores.shape[-2:]).tril() == 0, -math.inf).softmax ; raise →
    A causal mask hides source tokens. Every target token may look at the whole source.
raw_queries: self.q_proj(x) → x ; raise →
    The queries are x itself. Project them with q_proj, at every step.
unscaled: / math.sqrt(keys.shape[-1]) → ; raise →
    The scores are not divided by √d_model.
swapped: keys, values = self.stored → values, keys = self.stored ; raise →
    Keys and values are exchanged. What k_proj makes is compared with the query, what v_proj makes is summed up.
length_only: keys.shape != memory.shape → keys.shape[1] != memory.shape[1]
    Only the length of a later memory is compared. Compare the whole shape: the batch may differ, too.
same_contents: self.stored = self.k_proj(memory), → self.memory = memory; self.stored = self.k_proj(memory),
; keys.shape != memory.shape → not torch.equal(self.memory, memory)
    A later memory of the same shape is refused because its contents differ. Compare the shapes alone: the cache
    replaces the contents.
refilled: self.stored is None → self.stored is None or self.stored[0].shape != memory.shape
    A later memory of another shape fills the cache anew. It belongs to another request: raise a ValueError.
unchecked: raise →
    The steps are right. Raise a ValueError when a later memory has another shape than the one that was stored.
over_queries: softmax(-1) → softmax(-2) ; raise →
    The softmax runs over the queries. The weights of each target token sum to 1 over the source tokens: the last
    axis.
over_batch: softmax(-1) → softmax(0) ; raise →
    The softmax runs over the sentences. The weights of each target token sum to 1 over the source tokens: the last
    axis.
divided_by_size: math.sqrt(keys.shape[-1]) → keys.shape[-1] ; raise →
    The scores are divided by d_model. Divide them by its square root.
scaled_by_length: keys.shape[-1] → keys.shape[-2] ; raise →
    The scores are divided by the square root of the number of source tokens. The size of a query counts: √d_model.
queries_kept: self.stored = self.k_proj(memory), → self.queries = self.q_proj(x); self.stored = self.k_proj(memory),
; scores = self.q_proj(x) → scores = self.queries ; raise →
    The queries of the first call are kept, too. x is new at each call: project it every time, and keep keys and
    values alone.
values_only: keys, values = self.stored → keys, values = self.k_proj(memory), self.stored[1]
    The values are kept, the keys are computed anew. Keep both.
values_twice: self.k_proj(memory) → self.v_proj(memory) ; raise →
    The keys are the values: v_proj is used for both. Project the memory with k_proj for the keys.
raw_memory: self.k_proj(memory), self.v_proj(memory) → memory, memory ; raise →
    The memory itself serves as keys and values. Project it with k_proj and v_proj at the first call.
raw_keys: self.k_proj(memory) → memory ; raise →
    The memory itself serves as keys. Project it with k_proj at the first call.
batch_only: keys.shape != memory.shape → len(keys) != len(memory)
    Only the batch size of a later memory is compared. Compare the whole shape: the length may differ, too.
""",
)

EXERCISE = Exercise(
    id="cache.cross",
    title="The cache of cross-attention",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    reference=CrossAttention,
    alternatives=[ByShape],
    forbidden=("scaled_dot_product_attention",),
    forbidden_message="Scores, softmax, weighted sum: three lines.",
    cases=[
        Case(
            "by hand",
            "keys 0 and 1 get weights 1/4 and 3/4, so the result is 0.75, and a second call with another "
            "memory gives 0.75 again",
            _cross_by_hand,
            weight=2,
        ),
        Case(
            "one step", "two sentences, one target token, five source tokens", lambda g: _cross_program(g, 6, 2, 5, [1])
        ),
        Case(
            "more queries",
            "three target tokens at once see all four source tokens, in float64",
            lambda g: _cross_program(g, 6, 2, 4, [3]).double(),
        ),
        Case(
            "three steps",
            "the memory's contents change after the first call; keys and values do not",
            lambda g: _cross_program(g, 4, 1, 3, [1, 2, 1]),
            weight=2,
        ),
        Case(
            "projected once",
            "two calls after the first one do not read the weights of k_proj and v_proj",
            _counted,
            weight=5,
        ),
        Case(
            "gradients",
            "a first call: gradients reach x, the memory and all three projections",
            lambda g: _trained(g, 2),
        ),
        Case(
            "another length",
            "a later memory of another length belongs to another request: ValueError",
            lambda g: _cross_program(g, 4, 1, 3, [1, 1], later=(1, 5)),
            weight=0.5,
        ),
        Case(
            "another batch",
            "a later memory of two sentences, after one: ValueError",
            lambda g: _cross_program(g, 4, 1, 3, [1, 1], later=(2, 3)),
            weight=0.25,
        ),
    ],
    mutants=MISTAKES,
)
