"""Attention over blocks of keys, with a running maximum and sum."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import online_softmax

from .merge import merge
from .shared import qkv, row


def streamed(q, k, v, block, mask=None):
    """As in the solution."""
    if block < 1:
        raise ValueError("a block holds at least one key")
    largest = q.new_full(q.shape[:-1], -math.inf)
    total, mixed = torch.zeros_like(largest), v.new_zeros(*q.shape[:-1], v.shape[-1])
    for start in range(0, k.shape[-2], block):
        part = slice(start, start + block)
        scores = q @ k[..., part, :].mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask[..., part], -math.inf)
        new = torch.maximum(largest, scores.amax(-1))
        safe = new.masked_fill(new == -math.inf, 0.0)
        old, weights = (largest - safe).exp(), (scores - safe[..., None]).exp()
        total = total * old + weights.sum(-1)
        mixed = mixed * old[..., None] + weights @ v[..., part, :]
        largest = new
    return mixed / total.masked_fill(total == 0, 1.0)[..., None], largest + total.log()


def by_mergers(q, k, v, block, mask=None):
    """Each block is a partial result of its own, merged at once."""
    if block <= 0:
        raise ValueError("no block")
    out, lse = None, None
    for keys, values, start in zip(k.split(block, -2), v.split(block, -2), range(0, k.shape[-2], block), strict=True):
        scores = q @ keys.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[..., start : start + block], -math.inf)
        sums = scores.logsumexp(-1)
        weights = (scores - sums.masked_fill(sums == -math.inf, 0.0)[..., None]).exp()
        part = weights @ values, sums
        out, lse = part if out is None else merge(out, lse, *part)
    return out, lse


def _padded(q, k, v, block, mask=None):
    """Keys of zeros fill up the last block, and nothing hides them."""
    if block < 1:
        raise ValueError("a block holds at least one key")
    more = (0, 0, 0, -k.shape[-2] % block)
    mask = None if mask is None else torch.nn.functional.pad(mask, (0, more[3]))
    return streamed(q, torch.nn.functional.pad(k, more), torch.nn.functional.pad(v, more), block, mask)


def _dense(q, k, v, block, mask=None):
    """All scores at once; right numbers."""
    if block < 1:
        raise ValueError("a block holds at least one key")
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    lse = scores.logsumexp(-1)
    return (scores - lse.masked_fill(lse == -math.inf, 0.0)[..., None]).exp() @ v, lse


MISTAKES = [
    Mutant(
        "dense",
        _dense,
        "The numbers are right, but all T × S scores are computed at once. Loop over the keys, block by block, and "
        "hold the scores of one block only.",
    ),
    Mutant(
        "padded_keys",
        _padded,
        "The last block is filled up with keys of zeros, and without a mask these take part: a score of 0 has weight. "
        "Leave the last block short.",
    ),
    *changes(
        streamed,
        """
sum_not_rescaled: total * old + weights → total + weights
    The running sum isn't rescaled when the maximum grows: multiply it by e to (old maximum − new maximum) before the
    block's part is added.
values_not_rescaled: mixed * old[..., None] + weights → mixed + weights
    The values mixed so far aren't rescaled when the maximum grows. They carry the old maximum as the sum does:
    multiply both.
nothing_rescaled: total * old + weights → total + weights ; mixed * old[..., None] + weights → mixed + weights
    Neither sum nor values are rescaled when the maximum grows. Multiply both by e to (old maximum − new maximum)
    before you add.
rescaled_upside_down: (largest - safe).exp(), → (safe - largest.masked_fill(largest == -math.inf, 0.0)).exp(),
    The old sum is multiplied by e to (new − old), so it grows. What was measured against a smaller maximum must
    shrink: e to (old − new).
maximum_not_kept: largest = new → ; largest + total.log() → new + total.log()
    The maximum is not carried on to the next block. Store the new one at the end of each step.
maximum_of_the_block: torch.maximum(largest, scores.amax(-1)) → scores.amax(-1)
    The maximum is that of the last block alone, so an earlier, larger one is lost, and e to the difference overflows.
    Take the larger of both.
no_maximum: safe = new.masked_fill(new == -math.inf, 0.0) → new = torch.zeros_like(new); safe = new
; old, weights = (largest - safe).exp(), → old, weights = torch.ones_like(safe),
    No maximum is subtracted, so e to a large score overflows. Subtract the largest score so far.
starts_at_zero: q.new_full(q.shape[:-1], -math.inf) → q.new_zeros(q.shape[:-1])
    The maximum starts at 0, so it stays 0 where all scores are negative, and e to a very low score vanishes. Start
    with −∞.
empty_nan: new.masked_fill(new == -math.inf, 0.0) → new
    A query that has seen no key so far gets NaN, from −∞ − (−∞). As long as its maximum is −∞, subtract 0 instead.
zero_over_zero: total.masked_fill(total == 0, 1.0)[..., None] → total[..., None]
    A query without any key gets 0/0, which is NaN. Divide by 1 where the sum is 0.
divided_in_each_block: + weights @ → + weights / weights.sum(-1, keepdim=True) @
    Each block is divided by its own sum, so all blocks count alike. Divide once, at the end, by the sum over all
    blocks.
never_divided: mixed / total.masked_fill(total == 0, 1.0)[..., None] → mixed
    The mixed values are not divided by the sum, so the weights don't sum to 1. Divide once, at the end.
lse_is_maximum: largest + total.log() → largest
    The result is right, but the largest score is returned as lse. It is the maximum plus the logarithm of the sum.
lse_without_maximum: largest + total.log() → total.log()
    The result is right, but the lse lacks the maximum that was subtracted from every score. Add it to the logarithm of
    the sum.
lse_without_log: largest + total.log() → largest + total
    The result is right, but the sum itself is added to the maximum. Add its logarithm.
last_block_lost: range(0, k.shape[-2], block) → range(0, k.shape[-2] - k.shape[-2] % block, block)
    Keys at the end are left out when the last block is shorter. Go on until the last key: slices may be shorter.
unscaled: / math.sqrt(q.shape[-1]) →
    The scores are not divided by √D.
divided_by_size: math.sqrt(q.shape[-1]) → q.shape[-1]
    The scores are divided by D. Divide them by its square root.
scaled_by_values: math.sqrt(q.shape[-1]) → math.sqrt(v.shape[-1])
    The scores are divided by the square root of v's last size. Queries and keys make them grow: use q.shape[-1].
polarity: ~mask[..., part] → mask[..., part]
    The mask is read the other way round. True means may look: fill the scores with −∞ where it is False.
mask_ignored: scores.masked_fill(~mask[..., part], -math.inf) → scores
    The mask is not used. Cut its columns for each block, and fill the scores with −∞ where it is False.
first_columns: ~mask[..., part] → ~mask[..., : scores.shape[-1]]
    Every block uses the mask's first columns. Cut the mask at the same place as the keys.
hidden_zero: masked_fill(~mask[..., part], -math.inf) → masked_fill(~mask[..., part], 0.0)
    Hidden scores are set to 0, and a score of 0 still gets weight. Fill them with −∞.
first_values: weights @ v[..., part, :] → weights @ v[..., : weights.shape[-1], :]
    Every block is mixed from the first values. Cut the values at the same place as the keys.
large_negative: masked_fill(~mask[..., part], -math.inf) → masked_fill(~mask[..., part], -1e9)
    A large negative number stands for −∞, so a query without any key gets the mean of all values. Fill with −∞.
unchecked: raise ValueError("a block holds at least one key") → block = 1
    The rest is right. Raise a ValueError when block is below 1.
zero_alone: block < 1 → block == 0
    A block of 0 raises a ValueError, but a negative one does not. Raise it for every block below 1.
""",
    ),
]


def _by_hand(g: Source) -> Program:
    return call(row(1.0), row(0.0, 0.0, math.log(6)), row(10.0, 30.0, 60.0), 2)


def _rising(g: Source, sign: int) -> Program:
    """Scores that rise, or fall, by hundreds from block to block."""
    q, k, v = qkv(g, 3, 6, B=1, H=2)
    q = q * 0 + torch.tensor([2.0, 0.02, 1.0])[:, None]
    return call(q, k * 0.1 + sign * 60.0 * torch.arange(6.0)[:, None], v, 2)


def _low(g: Source) -> Program:
    q, k, v = qkv(g, 3, 6, B=1, H=2, dtype=torch.float64)
    return call(2.0 + 0 * q, k - 250.0, v, 2)


def _hidden_blocks(g: Source) -> Program:
    mask = g.mask(5, 7, keep=0.6)
    mask[:, 0] = False
    mask[1], mask[3] = False, False
    mask[1, 5], mask[0, 2], mask[2, 3], mask[4, 6] = True, True, True, True
    return call(*qkv(g, 5, 7), 2, mask)


def _counted(g: Source) -> Program:
    """A block of scores has 2,048 numbers, all scores 16,384."""
    return call(*qkv(g, 128, B=1, H=1, D=8, Dv=8), 16).within(
        largest=6_000, because="a block of 16 keys has 2,048 scores"
    )


def _long(g: Source) -> Program:
    return call(*qkv(g, g.size(shown=40, graded=3_000), B=1, H=1, D=4, Dv=2), 512)


def _with_gradients(g: Source) -> Program:
    q, k, v = qkv(g, 4, 7, dtype=torch.float64)
    return call(q, k, v, 3, mask=g.mask(2, 1, 4, 7), grad=[0, 1, 2])


EXERCISE = Exercise(
    id="tiles.stream",
    title="Keys in blocks",
    points=3,
    difficulty=3,
    minutes=14,
    reference=online_softmax.attention_in_blocks,
    alternatives=[streamed, by_mergers],
    forbidden=("scaled_dot_product_attention",),
    forbidden_message="PyTorch's own loop runs inside it; write yours here.",
    cases=[
        Case(
            "by hand",
            "scores 0, 0 and ln 6 in blocks of 2 and 1: the mean of 10, 30 and 60 is 50, the lse ln 8",
            _by_hand,
        ),
        Case(
            "blocks of 2",
            "six keys in three blocks, two sentences, three heads",
            lambda g: call(*qkv(g, 4, 6), 2),
            weight=2,
        ),
        Case("a short last block", "seven keys in blocks of 3", lambda g: call(*qkv(g, 5, 7), 3)),
        Case("one block", "a block longer than the text, T = 1", lambda g: call(*qkv(g, 1, 5, B=1), 64)),
        Case("blocks of 1", "one key at a time, in float64", lambda g: call(*qkv(g, 3, 5, dtype=torch.float64), 1)),
        Case("rising scores", "each block's scores are hundreds larger than those before", lambda g: _rising(g, 1)),
        Case("falling scores", "the first block has the largest scores, by hundreds", lambda g: _rising(g, -1)),
        Case(
            "low scores",
            "all scores are about −1,000, in float64",
            _low,
            rtol=1e-9,  # a score of 1,000 has lost three digits before it is subtracted
        ),
        Case(
            "mask",
            "a mask (T, S) that leaves each query some key in its first block",
            lambda g: call(*qkv(g, 4, 6), 2, g.mask(4, 6)),
        ),
        Case("mask per sentence", "a mask (B, 1, T, S)", lambda g: call(*qkv(g, 4, 6), 4, mask=g.mask(2, 1, 4, 6))),
        Case(
            "hidden blocks",
            "whole blocks are hidden from some queries, and all of them from one",
            _hidden_blocks,
            weight=2,
        ),
        Case("cost", "128 keys in blocks of 16: no tensor has 6,000 numbers or more", _counted, weight=4),
        Case("long text", "as many as 3,000 tokens in grading, in blocks of 512 keys", _long),
        Case("gradients", "in float64, with a mask: gradients reach q, k and v", _with_gradients),
        Case("no block", "block = 0 raises ValueError", lambda g: call(*qkv(g, 2), 0), weight=0.5),
        Case("a negative block", "block = −2 raises ValueError", lambda g: call(*qkv(g, 2), -2), weight=0.5),
    ],
    mutants=MISTAKES,
    equivalent="""
sums and single entries do not depend on the order
    ef688fc3c9 solution, reversed: range(0, k.shape[-2], block) reversed
    b066c1732b alternative streamed, reversed: range(0, k.shape[-2], block) reversed
for a block of 0, range or split itself raises an error of the right kind
    72143cbf5b solution, constant: 1 → 0 in block < 1
    5dc9813900 alternative streamed, constant: 1 → 0 in block < 1
before the first block the old part is multiplied by e to −∞, which is 0
    e82de669b5 solution, name: zeros_like → ones_like in torch.zeros_like(largest)
    900f1cfa9f alternative streamed, name: zeros_like → ones_like in torch.zeros_like(largest)
e to −∞ is 0 whatever finite number is subtracted from it
    cd2281e6cf solution, constant: 0.0 → 1.0 in new.masked_fill(new == -math.inf, 0.0)
    9917840684 alternative streamed, constant: 0.0 → 1.0 in new.masked_fill(new == -math.inf, 0.0)
    5888b3ddea alternative by_mergers, constant: 0.0 → 1.0 in sums.masked_fill(sums == -math.inf, 0.0)
the numbers broadcast, and have their axes after the first block
    1ebf1a6fe6 solution, constant: -1 → 0 in :-1
    71a1d613e6 solution, constant: -1 → 0 in :-1
    d82528010d alternative streamed, constant: -1 → 0 in :-1
    d144565dab alternative streamed, constant: -1 → 0 in :-1
where the sum is 0, the values are 0 too
    f701fe47be solution, constant: 1.0 → 2.0 in total.masked_fill(total == 0, 1.0)
    03ff6e2154 alternative streamed, constant: 1.0 → 2.0 in total.masked_fill(total == 0, 1.0)
all parts are cut alike, so they are equally many
    e0cec73602 alternative by_mergers, keyword: zip(k.split(block, -2), v.split(block, -2), range(0, k.shape[-2], blo……
    1cba5de8ba alternative by_mergers, flag: True → False in strict=True
""",
)
