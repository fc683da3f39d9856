"""The module: four projections around attention in heads."""

import math

import torch
from torch import Tensor, nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source
from autograder.reference import attention as ref


def masked_scores(q, k, mask, fill=-math.inf):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores if mask is None else scores.masked_fill(~mask, fill)


def attend(q, k, v, mask=None):
    # As a learner writes it: without the reference's checks, so that errors read like theirs.
    return ref.softmax(masked_scores(q, k, mask)) @ v


class MultiHeadAttention(nn.Module):
    """Correct: four projections by name, and heads split and merged by the reference's functions."""

    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("the heads cannot share d_model")
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, context=None, mask=None):
        source = x if context is None else context
        q, k, v = self.q_proj(x), self.k_proj(source), self.v_proj(source)
        q, k, v = (ref.split_heads(p, self.n_heads) for p in (q, k, v))
        heads = attend(q, k, v, mask)
        return self.o_proj(ref.merge_heads(heads))


class HeadLoop(nn.Module):
    """Correct: one head at a time, with slices of the big matrices."""

    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads must divide d_model")
        self.H, self.D = n_heads, d_model // n_heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=bias))

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        if mask is not None and mask.dim() == 4:
            mask = mask.expand(-1, self.H, -1, -1)
        heads = []
        for h in range(self.H):
            cut = slice(h * self.D, (h + 1) * self.D)
            q, k = self.q_proj(x)[..., cut], self.k_proj(context)[..., cut]
            m = mask[:, h] if mask is not None and mask.dim() == 4 else mask
            heads.append(ref.scaled_dot_product_attention(q, k, self.v_proj(context)[..., cut], m))
        return self.o_proj(torch.cat(heads, dim=-1))


class Einsum(nn.Module):
    """Correct: einsum over named axes, no split and no merge."""

    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"{n_heads} heads do not fit {d_model}")
        self.n = n_heads
        for name in ("q", "k", "v", "o"):
            self.add_module(f"{name}_proj", nn.Linear(d_model, d_model, bias=bias))

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        q, k, v = (p.unflatten(-1, (self.n, -1)) for p in (self.q_proj(x), self.k_proj(context), self.v_proj(context)))
        scores = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        share = scores.softmax(-1).nan_to_num(0.0)
        return self.o_proj(torch.einsum("bhts,bshd->bthd", share, v).flatten(2))


NAMES = ("q_proj", "k_proj", "v_proj", "o_proj")


def weights(g: Source, d_model: int, bias: bool = True) -> dict[str, Tensor]:
    """Random weights by name."""
    state = {f"{n}.weight": g.randn(d_model, d_model, scale=d_model**-0.5) for n in NAMES}
    return state | ({f"{n}.bias": g.randn(d_model, scale=0.5) for n in NAMES} if bias else {})


def module(g: Source, d_model: int, n_heads: int, bias: bool = True) -> Program:
    """A program that builds the learner's module and loads weights into it."""
    kwargs = {} if bias else {"bias": False}
    return Program().new("MultiHeadAttention", d_model, n_heads, state=weights(g, d_model, bias), **kwargs)


def _by_hand(g: Source) -> Program:
    eye = torch.eye(2)
    state = {f"{n}.weight": eye.clone() for n in NAMES} | {"o_proj.weight": 2 * eye}
    p = Program().new("MultiHeadAttention", 2, 1, state=state, bias=False)
    return p.call(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]))


def _padding(*rows: list[bool]) -> Tensor:
    return torch.tensor(rows)[:, None, None, :]


def _per_head(g: Source, *shape: int) -> Tensor:
    """Each head and query has an allowed and a forbidden key."""
    mask = g.mask(*shape)
    mask[..., -1] = False
    return mask


# Most mistakes leave the ValueError out: a learner who makes one may or may not have written the check. Those that show
# in torch's errors alone keep it: they are known only if all cases are alike.
MISTAKES = changes(
    MultiHeadAttention,
    """
no_output_projection: self.o_proj(ref.merge_heads(heads)) → ref.merge_heads(heads) ; d_model % n_heads → False
    The merged heads are returned as they are. o_proj comes last: it mixes what the heads found.
viewed: ref.split_heads(p, self.n_heads) → p.reshape(len(p), self.n_heads, p.shape[1], -1)
; ref.merge_heads(heads) → heads.reshape(x.shape) ; d_model % n_heads → False
    The heads are cut without a transpose, so a head sees whole words instead of a slice of every word. Use your
    split_heads and merge_heads.
one_head: ref.split_heads(p, self.n_heads) → p[:, None] ; d_model % n_heads → False
    All features go through one single attention, so n_heads plays no part. Split q, k and v into heads first.
scaled_by_model: attend(q, → attend(q / math.sqrt(self.n_heads), ; d_model % n_heads → False
    The scores are divided by √d_model. Each head has D = d_model/H numbers: divide by √D, as your
    scaled_dot_product_attention does after the split.
unscaled: attend(q, → attend(q * math.sqrt(q.shape[-1]), ; d_model % n_heads → False
    The scores are not divided by √D. Check your scaled_dot_product_attention: this module is built on it.
context_ignored: source = x if context is None else context → source = x ; d_model % n_heads → False
    The context is never looked at. Where it is given, keys and values come from context, and only queries from x.
context_or: x if context is None else context → context or x
    `context or x` and `if context` ask whether a whole tensor is true, which has no answer. Write `x if context is
    None else context`.
values_from_x: self.v_proj(source) → self.v_proj(x) ; d_model % n_heads → False
    Keys come from context, but values from x. A key and its value belong to the same word: make both from context.
roles_swapped: else context → else context; x, source = source, x ; d_model % n_heads → False
    Roles are swapped: queries come from context, keys and values from x. x asks, so x makes the queries; the
    context answers.
one_projection: self.k_proj(source) → self.q_proj(source) ; d_model % n_heads → False
    The keys are made with q_proj. Keys have a matrix of their own, k_proj; sharing it makes every score table
    symmetric.
mask_ignored: v, mask) → v) ; d_model % n_heads → False
    The mask is never used. Pass it on to scaled_dot_product_attention.
mask_dropped_with_context: v, mask) → v, mask if context is None else None) ; d_model % n_heads → False
    Where a context is given the mask is dropped. It hides keys of the context just as well: pass it on in both
    cases.
first_heads_mask: v, mask) → v, mask[:, :1] if mask is not None and mask.dim() == 4 else mask)
; d_model % n_heads → False
    All heads use the first head's mask. A (B, H, T, S) mask has one for each head: pass it on as it is.
nan_on_empty: attend(q, k, v, mask) → masked_scores(q, k, mask).softmax(-1) @ v
    A sentence without words gives NaN. Attend with your scaled_dot_product_attention: its masked_softmax gives
    zeros where nothing is allowed.
always_bias: super().__init__() → super().__init__(); bias = True
    There are biases even with bias=False. Pass bias on to every one of the four nn.Linear, o_proj too.
other_names: self.q_proj = → self.W_q =
    The weights do not fit the module. It needs four nn.Linear(d_model, d_model), named q_proj, k_proj, v_proj and
    o_proj, and nothing else.
unchecked: d_model % n_heads → False
    The constructor accepts sizes that do not fit. Raise a ValueError when n_heads does not divide d_model.
split_viewed: ref.split_heads(p, self.n_heads) → p.reshape(len(p), self.n_heads, p.shape[1], -1)
; d_model % n_heads → False
    q, k and v are reshaped straight to (B, H, T, D), so a head gets whole words. Split with your split_heads: (B,
    T, H, D) first, then swap axes 1 and 2.
merge_viewed: ref.merge_heads(heads) → heads.reshape(x.shape) ; d_model % n_heads → False
    The heads are joined without swapping axes back, so a word gets numbers of other words. Use your merge_heads.
interleaved: ref.split_heads(p, self.n_heads) → p.unflatten(-1, (-1, self.n_heads)).permute(0, 3, 1, 2)
; ref.merge_heads(heads) → heads.permute(0, 2, 3, 1).flatten(2) ; d_model % n_heads → False
    Head h gets every H-th number. It owns the block hD to (h+1)D − 1: use your split_heads and merge_heads.
interleaved_split: ref.split_heads(p, self.n_heads) → p.unflatten(-1, (-1, self.n_heads)).permute(0, 3, 1, 2)
; d_model % n_heads → False
    The split gives head h every H-th number. It owns the block hD to (h+1)D − 1: use your split_heads.
interleaved_merge: ref.merge_heads(heads) → heads.permute(0, 2, 3, 1).flatten(2) ; d_model % n_heads → False
    The numbers of the heads are joined alternately. Those of head 0 come first, all of them: use your merge_heads.
first_head_only: ref.split_heads(p, self.n_heads) → p[:, None] ; ref.merge_heads(heads) → heads[:, 0]
; d_model % n_heads → False
    q, k and v are never cut into heads: one head has all d_model numbers. Use your split_heads before the attention
    and merge_heads after it.
no_head_axis: ref.split_heads(p, self.n_heads) → p ; ref.merge_heads(heads) → heads ; d_model % n_heads → False
    q, k and v go into the attention without a head axis, and a mask for heads does not fit them. Split them first,
    and merge the result.
one_length: source = → B, T, d = x.shape; source =
; ref.split_heads(p, self.n_heads) → p.reshape(B, T, self.n_heads, d // self.n_heads).transpose(1, 2)
    Keys and values are reshaped with the length of x. The context has a length of its own: take it from their
    shape, or use your split_heads.
scaled_twice: attend(q, → attend(q / math.sqrt(q.shape[-1]), ; d_model % n_heads → False
    The scores are divided by D, by √D twice. Your scaled_dot_product_attention scales already.
keys_from_x: self.k_proj(source) → self.k_proj(x)
    Values come from context, but keys from x. A key and its value belong to the same word: make both from context.
all_from_context: self.q_proj(x) → self.q_proj(source) ; d_model % n_heads → False
    Queries come from context too, so x is not looked at. x asks: make the queries from x.
values_of_k_proj: self.v_proj(source) → self.k_proj(source) ; d_model % n_heads → False
    The values are made with k_proj, and v_proj is never used. Values have a matrix of their own.
keys_of_v_proj: self.k_proj(source) → self.v_proj(source) ; d_model % n_heads → False
    The keys are made with v_proj, and k_proj is never used. Keys have a matrix of their own.
only_q_proj: self.k_proj(source), self.v_proj(source) → self.q_proj(source), self.q_proj(source)
; d_model % n_heads → False
    Keys and values are made with q_proj. Each has a matrix of its own: k_proj and v_proj.
raw_values: self.v_proj(source) → source ; d_model % n_heads → False
    The values are the words themselves. They go through v_proj first.
keys_and_values_exchanged: q, k, v = self → q, v, k = self ; d_model % n_heads → False
    Keys and values are exchanged: k_proj makes the keys, v_proj the values, and the attention takes q, k, v in this
    order.
mask_inverted: v, mask) → v, mask if mask is None else ~mask) ; d_model % n_heads → False
    The mask is turned round before it is passed on. True means may look everywhere in this unit: pass it on as it
    is.
mask_unsqueezed: v, mask) → v, mask if mask is None else mask[:, None])
    The mask gets one more axis. It broadcasts to (B, H, T, S) as it is: pass it on unchanged.
mask_dropped_without_context: v, mask) → v, None if context is None else mask) ; d_model % n_heads → False
    Where no context is given the mask is dropped. Self-attention needs it just as well: pass it on in both cases.
never_bias: super().__init__() → super().__init__(); bias = False
    The four layers have no biases, though bias is True. Pass bias on to every nn.Linear.
head_sizes: self.q_proj = nn.Linear(d_model, d_model → self.q_proj = nn.Linear(d_model, d_model // n_heads
; self.k_proj = nn.Linear(d_model, d_model → self.k_proj = nn.Linear(d_model, d_model // n_heads
; self.v_proj = nn.Linear(d_model, d_model → self.v_proj = nn.Linear(d_model, d_model // n_heads
    q_proj, k_proj and v_proj have the size of one head. All heads share a matrix: nn.Linear(d_model, d_model),
    which is split afterwards.
residual: return self → return x + self ; d_model % n_heads → False
    x is added to the result. The skip connection belongs to the block around this layer: return o_proj's output
    alone.
pair_returned: merge_heads(heads)) → merge_heads(heads)), None ; d_model % n_heads → False
    forward returns a tuple. Return o_proj's output alone.
projected_before_merge: self.o_proj(ref.merge_heads(heads)) → ref.merge_heads(self.o_proj(heads))
    A layer gets the D numbers of one head, but each of the four takes all d_model of a word: project, split,
    attend, merge, then o_proj.
not_merged: ref.merge_heads(heads) → heads
    The heads are never merged, so an axis of heads is left. Use your merge_heads before o_proj.
viewed_after_transpose: ref.merge_heads(heads) → heads.transpose(1, 2).view(x.shape)
    view needs memory in order, and transpose changes the order. Use your merge_heads, or reshape.
sizes_swapped: ref.split_heads(p, self.n_heads) → ref.split_heads(p, p.shape[-1] // self.n_heads)
    Number and size of the heads are exchanged. split_heads takes how many heads there are, n_heads.
mask_two_axes: v, mask) → v, mask if mask is None else mask[None, None])
    The mask gets two more axes, and one that has four already fits no longer. It broadcasts as it is: pass it on
    unchanged.
large_negative: attend(q, k, v, mask) → ref.softmax(masked_scores(q, k, mask, -1e9)) @ v
    A sentence without words gets the mean of its padding: a row of -1e9 has equal scores. Attend with your
    scaled_dot_product_attention.
""",
)

EXERCISE = Exercise(
    id="attention.multi_head",
    title="Multi-head attention",
    points=4,
    difficulty=3,
    minutes=20,
    reference=ref.MultiHeadAttention,
    alternatives=[HeadLoop, Einsum],
    forbidden=("scaled_dot_product_attention", "multi_head_attention_forward"),
    forbidden_message="Build it from your own scaled_dot_product_attention.",
    cases=[
        Case(
            "by hand",
            "one head, W_Q, W_K and W_V the identity, W_O twice the identity: each word keeps the larger "
            "share of itself",
            _by_hand,
        ),
        Case(
            "self-attention",
            "2 sentences of 5 words, d_model 6, 3 heads, with biases",
            lambda g: module(g, 6, 3).call(g.randn(2, 5, 6)),
            weight=2,
        ),
        Case(
            "cross-attention",
            "3 queries from x look at 5 words of context",
            lambda g: module(g, 6, 3).call(g.randn(2, 3, 6), context=g.randn(2, 5, 6)),
            weight=2,
        ),
        Case(
            "no bias",
            "bias=False leaves four matrices and nothing else; weights and x are float64, and so is the result",
            lambda g: module(g, 6, 2, bias=False).call(g.randn(1, 4, 6)).double(),
        ),
        Case(
            "mask per query",
            "word t sees words 0 to t: a (T, T) mask",
            lambda g: module(g, 8, 4).call(g.randn(2, 5, 8), mask=torch.ones(5, 5).tril().bool()),
        ),
        Case(
            "mask per key",
            "the second sentence has 2 words only: a (B, 1, 1, T) mask",
            lambda g: module(g, 6, 3).call(g.randn(2, 4, 6), mask=_padding([True] * 4, [True, True, False, False])),
        ),
        Case(
            "empty sentence",
            "the second sentence has no words at all: its rows are o_proj's bias, not NaN",
            lambda g: module(g, 6, 2).call(g.randn(2, 3, 6), mask=_padding([True, True, False], [False] * 3)),
        ),
        Case(
            "context and mask",
            "queries look at 5 words of context, and a mask of shape (B, H, T, S) hides other keys in every head",
            lambda g: module(g, 6, 3).call(g.randn(2, 4, 6), context=g.randn(2, 5, 6), mask=_per_head(g, 2, 3, 4, 5)),
            weight=2,
        ),
        Case(
            "gradients",
            "gradients reach x, the context and all eight parameters",
            lambda g: module(g, 6, 2).call(
                g.randn(1, 3, 6), context=g.randn(1, 4, 6), grad=[0, "context"], params=True
            ),
        ),
        Case(
            "does not fit",
            "d_model 6 cannot be shared by 4 heads: the constructor raises ValueError",
            lambda g: Program().new("MultiHeadAttention", 6, 4),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
an exact division here: what does not divide has raised before, and T(T + 1) is even
    4e6d914225 alternative HeadLoop, arithmetic: d_model // n_heads rounded up
""",
)
