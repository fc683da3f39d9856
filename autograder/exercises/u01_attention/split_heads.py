"""Splitting features into heads and merging them again."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Ref, call
from autograder.reference import attention as ref

from .shared import merge_viewed, split_viewed


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


def split_interleaved(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, T, d // n_heads, n_heads).permute(0, 3, 1, 2)


def merge_interleaved(x):
    B, H, T, D = x.shape
    return x.permute(0, 2, 3, 1).reshape(B, T, H * D)


def split_unchecked(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, T, n_heads, d // n_heads).transpose(1, 2)


def split_not_moved(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, T, n_heads, d // n_heads)


def merge_view_after_transpose(x):
    B, H, T, D = x.shape
    return x.transpose(1, 2).view(B, T, H * D)


def split_sizes_swapped(x, n_heads):
    B, T, d = x.shape
    return x.reshape(B, T, d // n_heads, n_heads).transpose(1, 2)


def split_contiguous(x, n_heads):
    return ref.split_heads(x, n_heads).contiguous()


def split_last_axes(x, n_heads):
    return split_not_moved(x, n_heads).transpose(-2, -1)


def split_first_axes(x, n_heads):
    return split_not_moved(x, n_heads).transpose(0, 1)


def split_stacked_first(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1))


def split_into_batch(x, n_heads):
    B, T, d = x.shape
    return split_unchecked(x, n_heads).reshape(B * n_heads, T, d // n_heads)


def merge_not_joined(x):
    return x.transpose(1, 2)


def merge_last_axes(x):
    B, H, T, D = x.shape
    return x.transpose(-2, -1).reshape(B, T, H * D)


def merge_summed(x):
    return x.sum(1)


def merge_along_words(x):
    return torch.cat(list(x.unbind(1)), dim=1)


EXERCISE = Exercise(
    id="attention.split_heads",
    title="Split and merge heads",
    points=2,
    difficulty=2,
    minutes=12,
    signature="split_heads(x, n_heads)",
    targets=("split_heads", "merge_heads"),
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
    mutants=[
        Mutant(
            "split_viewed",
            (split_viewed, ref.merge_heads),
            "split_heads reshapes straight to (B, H, T, D), so a head gets whole words. Reshape to (B, T, H, D) "
            "first, then swap axes 1 and 2.",
        ),
        Mutant(
            "merge_viewed",
            (ref.split_heads, merge_viewed),
            "merge_heads reshapes without swapping axes first, so a word gets numbers of other words. Transpose to "
            "(B, T, H, D), then reshape.",
        ),
        Mutant(
            "both_viewed",
            (split_viewed, merge_viewed),
            "Both functions reshape without a transpose. There and back cancels, but each head gets whole words "
            "instead of a slice of every word.",
        ),
        Mutant(
            "view_after_transpose",
            (ref.split_heads, merge_view_after_transpose),
            "view needs memory in order, and transpose changes the order. Use reshape (or .contiguous().view) in "
            "merge_heads.",
        ),
        Mutant(
            "interleaved",
            (split_interleaved, merge_interleaved),
            "Head h gets every H-th number. Here head h owns one block, numbers hD to (h+1)D − 1: reshape to "
            "(B, T, H, D), not (B, T, D, H).",
        ),
        Mutant(
            "merge_interleaved",
            (ref.split_heads, merge_interleaved),
            "merge_heads puts the heads' numbers alternately: 0 of each head, then 1 of each. Head 0's numbers come "
            "first, all of them: swap axes 1 and 2, then reshape.",
        ),
        Mutant(
            "split_interleaved",
            (split_interleaved, ref.merge_heads),
            "split_heads gives head h every H-th number. Head h owns one block, numbers hD to (h+1)D − 1: reshape to "
            "(B, T, H, D), not (B, T, D, H).",
        ),
        Mutant(
            "not_moved",
            (split_not_moved, ref.merge_heads),
            "split_heads stops at (B, T, H, D). Swap axes 1 and 2, so that the heads come before the words.",
        ),
        Mutant(
            "unchecked",
            (split_unchecked, ref.merge_heads),
            "Splitting is right where it fits. Where n_heads does not divide d_model, raise a ValueError before "
            "reshaping.",
        ),
        Mutant(
            "sizes_swapped",
            (split_sizes_swapped, ref.merge_heads),
            "split_heads makes D heads of H numbers. n_heads is how many heads there are, D = d_model / n_heads is how "
            "long each one is (x.split takes that length).",
        ),
        Mutant(
            "sizes_swapped_not_moved",
            (lambda x, n_heads: split_not_moved(x, x.shape[-1] // n_heads), ref.merge_heads),
            "split_heads stops at (B, T, D, H). Reshape to (B, T, H, D), then swap axes 1 and 2.",
        ),
        Mutant(
            "view_of_contiguous",
            (split_contiguous, merge_view_after_transpose),
            "merge_heads calls view after transpose, which leaves the memory in another order. Use reshape there, or "
            ".contiguous().view.",
        ),
        Mutant(
            "split_last_axes",
            (split_last_axes, ref.merge_heads),
            "split_heads swaps the last two axes, (B, T, D, H). After the reshape to (B, T, H, D) axes 1 and 2 change "
            "places.",
        ),
        Mutant(
            "split_first_axes",
            (split_first_axes, ref.merge_heads),
            "split_heads swaps sentences and words, axes 0 and 1. After the reshape to (B, T, H, D) axes 1 and 2 "
            "change places.",
        ),
        Mutant(
            "heads_before_sentences",
            (split_stacked_first, ref.merge_heads),
            "split_heads puts the heads before the sentences, (H, B, T, D). The heads are axis 1: stack along dim=1.",
        ),
        Mutant(
            "heads_in_batch",
            (split_into_batch, ref.merge_heads),
            "split_heads joins sentences and heads to one axis, (B·H, T, D). Keep them apart: (B, H, T, D).",
        ),
        Mutant(
            "merge_not_joined",
            (ref.split_heads, merge_not_joined),
            "merge_heads stops at (B, T, H, D). Join the last two axes: reshape to (B, T, H·D).",
        ),
        Mutant(
            "merge_last_axes",
            (ref.split_heads, merge_last_axes),
            "merge_heads swaps the last two axes before it joins. Swap axes 1 and 2, so that each word's heads lie "
            "side by side, then reshape.",
        ),
        Mutant(
            "merge_summed",
            (ref.split_heads, merge_summed),
            "merge_heads adds the heads up. Put them side by side instead: a word gets back H·D numbers.",
        ),
        Mutant(
            "merge_along_words",
            (ref.split_heads, merge_along_words),
            "merge_heads joins the heads along the words, (B, H·T, D). Join them along the last axis: (B, T, H·D).",
        ),
    ],
)
