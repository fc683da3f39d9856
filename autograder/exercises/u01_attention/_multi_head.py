"""Wrong multi-head layers: each replaces one step of the layer."""

import math

from torch import nn

from autograder.judge.spec import Mutant
from autograder.reference import attention as ref

from .shared import merge_viewed, split_viewed


def attend(q, k, v, mask=None):
    # As a learner writes it: without the reference's checks, so that errors read like theirs.
    return ref.softmax(masked_scores(q, k, mask)) @ v


def masked_scores(q, k, mask):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


class Steps(ref.MultiHeadAttention):
    """The layer in four steps, so that each mistake below can replace one of them; sizes are not checked."""

    def __init__(self, d_model, n_heads, bias=True):
        super().__init__(d_model, 1, bias)
        self.n_heads = n_heads

    def choose(self, x, context):
        return x if context is None else context

    def project(self, x, context):
        return self.q_proj(x), self.k_proj(context), self.v_proj(context)

    def attend(self, q, k, v, mask):
        return attend(q, k, v, mask)

    def join(self, heads):
        return self.o_proj(ref.merge_heads(heads))

    def forward(self, x, context=None, mask=None):
        q, k, v = (ref.split_heads(p, self.n_heads) for p in self.project(x, self.choose(x, context)))
        return self.join(self.attend(q, k, v, mask))


class Checked(Steps):
    """With the check of sizes: a mistake that shows in torch's errors alone is known only if all cases are alike."""

    def __init__(self, d_model, n_heads, bias=True):
        ref.MultiHeadAttention.__init__(self, d_model, n_heads, bias)


def wrong(base=Steps, **methods):
    # Named like the learner's class: torch puts the name into its load errors, which are part of a fingerprint.
    return type("MultiHeadAttention", (base,), methods)


def viewed_forward(self, x, context=None, mask=None):
    q, k, v = (split_viewed(p, self.n_heads) for p in self.project(x, x if context is None else context))
    return self.o_proj(merge_viewed(self.attend(q, k, v, mask)))


def one_head(self, x, context=None, mask=None):
    q, k, v = (p[:, None] for p in self.project(x, x if context is None else context))
    return self.join(self.attend(q, k, v, mask))


def mask_without_context(self, x, context=None, mask=None):
    return Steps.forward(self, x, context, mask if context is None else None)


def with_first_heads_mask(self, q, k, v, mask):
    return attend(q, k, v, mask[:, :1] if mask is not None and mask.dim() == 4 else mask)


def always_bias(self, d_model, n_heads, bias=True):
    Checked.__init__(self, d_model, n_heads, True)


def other_names(self, d_model, n_heads, bias=True):
    Checked.__init__(self, d_model, n_heads, bias)
    self.W_q = nn.Linear(d_model, d_model, bias=bias)
    del self.q_proj


def joined(split, merge):
    """A forward with another split and merge of the heads."""

    def forward(self, x, context=None, mask=None):
        projected = self.project(x, x if context is None else context)
        q, k, v = (split(p, self.n_heads) for p in projected)
        return self.o_proj(merge(self.attend(q, k, v, mask)))

    return forward


def split_interleaved(x, n_heads):
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)


def merge_interleaved(x):
    return x.permute(0, 2, 3, 1).flatten(2)


def first_head_only(self, x, context=None, mask=None):
    """No heads: one more axis, of which only the first entry is read again."""
    q, k, v = (p[:, None] for p in self.project(x, x if context is None else context))
    return self.o_proj(self.attend(q, k, v, mask)[:, 0])


def no_head_axis(self, x, context=None, mask=None):
    return self.o_proj(self.attend(*self.project(x, x if context is None else context), mask))


def one_length(self, x, context=None, mask=None):
    B, T, d = x.shape
    cut = lambda p: p.reshape(B, T, self.n_heads, d // self.n_heads).transpose(1, 2)
    q, k, v = (cut(p) for p in self.project(x, x if context is None else context))
    return self.join(self.attend(q, k, v, mask))


def nan_on_empty(self, q, k, v, mask):
    return masked_scores(q, k, mask).softmax(-1) @ v


def mask_without_self(self, x, context=None, mask=None):
    return Steps.forward(self, x, context, None if context is None else mask)


def never_bias(self, d_model, n_heads, bias=True):
    Checked.__init__(self, d_model, n_heads, False)


def head_sizes(self, d_model, n_heads, bias=True):
    Checked.__init__(self, d_model, n_heads, bias)
    for name in ("q_proj", "k_proj", "v_proj"):
        setattr(self, name, nn.Linear(d_model, d_model // n_heads, bias=bias))


def residual(self, x, context=None, mask=None):
    return x + Steps.forward(self, x, context, mask)


def pair_returned(self, x, context=None, mask=None):
    return Steps.forward(self, x, context, mask), None


def projected_before_merge(self, heads):
    return ref.merge_heads(self.o_proj(heads))


def viewed_after_transpose(self, heads):
    B, H, T, D = heads.shape
    return self.o_proj(heads.transpose(1, 2).view(B, T, H * D))


def split_into_sizes(p, n_heads):
    return ref.split_heads(p, p.shape[-1] // n_heads)


def low_fill(self, q, k, v, mask):
    scores = masked_scores(q, k, None)
    return ref.softmax(scores if mask is None else scores.masked_fill(~mask, -1e9)) @ v


MORE_ABOUT_HEADS = [
    Mutant(
        "projected_before_merge",
        wrong(Checked, join=projected_before_merge),
        "A layer gets the D numbers of one head, but each of the four takes all d_model of a word: project, split, "
        "attend, merge, then o_proj.",
    ),
    Mutant(
        "not_merged",
        wrong(Checked, join=lambda self, heads: self.o_proj(heads)),
        "The heads are never merged, so an axis of heads is left. Use your merge_heads before o_proj.",
    ),
    Mutant(
        "viewed_after_transpose",
        wrong(Checked, join=viewed_after_transpose),
        "view needs memory in order, and transpose changes the order. Use your merge_heads, or reshape.",
    ),
    Mutant(
        "sizes_swapped",
        wrong(Checked, forward=joined(split_into_sizes, ref.merge_heads)),
        "Number and size of the heads are exchanged. split_heads takes how many heads there are, n_heads.",
    ),
    Mutant(
        "mask_two_axes",
        wrong(Checked, attend=lambda self, q, k, v, mask: attend(q, k, v, mask if mask is None else mask[None, None])),
        "The mask gets two more axes, and one that has four already fits no longer. It broadcasts as it is: pass it on "
        "unchanged.",
    ),
    Mutant(
        "large_negative",
        wrong(Checked, attend=low_fill),
        "A sentence without words gets the mean of its padding: a row of -1e9 has equal scores. Attend with your "
        "scaled_dot_product_attention.",
    ),
]
