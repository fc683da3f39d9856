"""Splitting features into heads and merging them again."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Ref, call
from autograder.reference import attention as ref


def split_by_slices(x, n_heads):
    """One slice of features per head."""
    if x.shape[-1] % n_heads != 0:
        raise ValueError("n_heads must divide d_model")
    D = x.shape[-1] // n_heads
    return torch.stack([x[..., h * D : (h + 1) * D] for h in range(n_heads)], dim=1)


def merge_by_cat(x):
    """Heads side by side."""
    return torch.cat(list(x.unbind(1)), dim=-1)


def split_by_permute(x, n_heads):
    """unflatten, then permute."""
    if x.shape[-1] % n_heads:
        raise ValueError("n_heads must divide d_model")
    return x.unflatten(-1, (n_heads, -1)).permute(0, 2, 1, 3)


def merge_by_permute(x):
    """permute, then flatten."""
    return x.permute(0, 2, 1, 3).flatten(2)


# The mistakes leave the ValueError out: a learner who makes one of them may or may not have written the check.
MISTAKES = changes(
    (ref.split_heads, ref.merge_heads),
    """
split_viewed: (B, T, n_heads, d_model // n_heads).transpose(1, 2) → (B, n_heads, T, d_model // n_heads)
; _check_heads(x.shape[-1], n_heads) →
    split_heads reshapes straight to (B, H, T, D), so a head gets whole words. Reshape to (B, T, H, D) first, then
    swap axes 1 and 2.
merge_viewed: x.transpose(1, 2) → x
    merge_heads reshapes without swapping axes first, so a word gets numbers of other words. Transpose to (B, T, H,
    D), then reshape.
both_viewed: (B, T, n_heads, d_model // n_heads).transpose(1, 2) → (B, n_heads, T, d_model // n_heads)
; x.transpose(1, 2) → x ; _check_heads(x.shape[-1], n_heads) →
    Both functions reshape without a transpose. There and back cancels, but each head gets whole words instead of a
    slice of every word.
view_after_transpose: reshape(B, T, H * D) → view(B, T, H * D)
    view needs memory in order, and transpose changes the order. Use reshape (or .contiguous().view) in merge_heads.
interleaved: n_heads, d_model // n_heads).transpose(1, 2) → d_model // n_heads, n_heads).permute(0, 3, 1, 2)
; x.transpose(1, 2) → x.permute(0, 2, 3, 1) ; _check_heads(x.shape[-1], n_heads) →
    Head h gets every H-th number. Here head h owns one block, numbers hD to (h+1)D − 1: reshape to (B, T, H, D),
    not (B, T, D, H).
merge_interleaved: x.transpose(1, 2) → x.permute(0, 2, 3, 1)
    merge_heads puts the heads' numbers alternately: 0 of each head, then 1 of each. Head 0's numbers come first,
    all of them: swap axes 1 and 2, then reshape.
split_interleaved: n_heads, d_model // n_heads).transpose(1, 2) → d_model // n_heads, n_heads).permute(0, 3, 1, 2)
; _check_heads(x.shape[-1], n_heads) →
    split_heads gives head h every H-th number. Head h owns one block, numbers hD to (h+1)D − 1: reshape to (B, T,
    H, D), not (B, T, D, H).
not_moved: n_heads).transpose(1, 2) → n_heads) ; _check_heads(x.shape[-1], n_heads) →
    split_heads stops at (B, T, H, D). Swap axes 1 and 2, so that the heads come before the words.
unchecked: _check_heads(x.shape[-1], n_heads) →
    Splitting is right where it fits. Where n_heads does not divide d_model, raise a ValueError before reshaping.
sizes_swapped: n_heads, d_model // n_heads → d_model // n_heads, n_heads ; _check_heads(x.shape[-1], n_heads) →
    split_heads makes D heads of H numbers. n_heads is how many heads there are, D = d_model / n_heads is how long
    each one is (x.split takes that length).
sizes_swapped_not_moved: d_model = x.shape → d_model = x.shape; n_heads = d_model // n_heads
; n_heads).transpose(1, 2) → n_heads) ; _check_heads(x.shape[-1], n_heads) →
    split_heads stops at (B, T, D, H). Reshape to (B, T, H, D), then swap axes 1 and 2.
view_of_contiguous: n_heads).transpose(1, 2) → n_heads).transpose(1, 2).contiguous()
; reshape(B, T, H * D) → view(B, T, H * D)
    merge_heads calls view after transpose, which leaves the memory in another order. Use reshape there, or
    .contiguous().view.
split_last_axes: n_heads).transpose(1, 2) → n_heads).transpose(-2, -1) ; _check_heads(x.shape[-1], n_heads) →
    split_heads swaps the last two axes, (B, T, D, H). After the reshape to (B, T, H, D) axes 1 and 2 change places.
split_first_axes: n_heads).transpose(1, 2) → n_heads).transpose(0, 1) ; _check_heads(x.shape[-1], n_heads) →
    split_heads swaps sentences and words, axes 0 and 1. After the reshape to (B, T, H, D) axes 1 and 2 change
    places.
heads_before_sentences: reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2) → chunk(n_heads, dim=-1))
; x.chunk → torch.stack(x.chunk ; _check_heads(x.shape[-1], n_heads) →
    split_heads puts the heads before the sentences, (H, B, T, D). The heads are axis 1: stack along dim=1.
heads_in_batch: n_heads).transpose(1, 2) → n_heads).transpose(1, 2).reshape(B * n_heads, T, d_model // n_heads)
; _check_heads(x.shape[-1], n_heads) →
    split_heads joins sentences and heads to one axis, (B·H, T, D). Keep them apart: (B, H, T, D).
merge_not_joined: .reshape(B, T, H * D) →
    merge_heads stops at (B, T, H, D). Join the last two axes: reshape to (B, T, H·D).
merge_last_axes: x.transpose(1, 2) → x.transpose(-2, -1)
    merge_heads swaps the last two axes before it joins. Swap axes 1 and 2, so that each word's heads lie side by
    side, then reshape.
merge_summed: x.transpose(1, 2).reshape(B, T, H * D) → x.sum(1)
    merge_heads adds the heads up. Put them side by side instead: a word gets back H·D numbers.
merge_along_words: x.transpose(1, 2).reshape(B, T, H * D) → torch.cat(list(x.unbind(1)), dim=1)
    merge_heads joins the heads along the words, (B, H·T, D). Join them along the last axis: (B, T, H·D).
""",
)

EXERCISE = Exercise(
    id="attention.split_heads",
    title="Split and merge heads",
    points=2,
    difficulty=2,
    minutes=12,
    reference=(ref.split_heads, ref.merge_heads),
    alternatives=[(split_by_slices, merge_by_cat), (split_by_permute, merge_by_permute)],
    cases=[
        Case(
            "split by hand",
            "two words of 4 numbers, 2 heads: head 0 holds the first two numbers of each word",
            lambda g: call(torch.arange(8.0).reshape(1, 2, 4), 2),
        ),
        Case(
            "merge by hand",
            "2 heads of 2 words: each word gets its numbers from head 0, then those from head 1",
            lambda g: call(torch.arange(8.0).reshape(1, 2, 2, 2), fn="merge_heads"),
        ),
        Case("split odd", "2 sentences of 5 words with 6 numbers, 3 heads", lambda g: call(g.randn(2, 5, 6), 3)),
        Case(
            "merge odd",
            "2 sentences, 3 heads, 5 words, 4 numbers per head",
            lambda g: call(g.randn(2, 3, 5, 4), fn="merge_heads"),
        ),
        Case(
            "split gradients",
            "gradients flow back through split_heads, in float64",
            lambda g: call(g.randn(2, 3, 4, dtype=torch.float64), 2, grad=[0]),
            weight=0.5,
        ),
        Case(
            "merge gradients",
            "gradients flow back through merge_heads, in float64",
            lambda g: call(g.randn(2, 2, 3, 2, dtype=torch.float64), fn="merge_heads", grad=[0]),
            weight=0.5,
        ),
        Case(
            "there and back",
            "merging what was split gives the input back",
            lambda g: call(g.randn(2, 3, 8), 4).call(Ref(0), fn="merge_heads"),
            weight=0,
        ),
        Case(
            "does not fit",
            "6 numbers cannot be shared by 4 heads: ValueError",
            lambda g: call(g.randn(1, 2, 6), 4),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
an exact division here: what does not divide has raised before, and T(T + 1) is even
    d671d984a1 solution, arithmetic: d_model // n_heads rounded up
    c28d495713 alternative (split_by_slices, merge_by_cat), arithmetic: x.shape[-1] // n_heads rounded up
torch.cat takes a tuple as well as a list
    f889c57fc3 alternative (split_by_slices, merge_by_cat), call: list(x.unbind(1)) → its argument
""",
)
