"""Residual wirings as functions: Post-LN and Pre-LN, sandwich and norm inside, parallel and its fused matrices."""

import torch

from autograder.judge.spec import Case, Exercise, Fn, Mutant, call
from autograder.reference import residual as ref

UNIT = "03-norm-placement"
SQUARE, SIN, TANH, RELU, ZEROS = (Fn(n) for n in ("square", "sin", "tanh", "relu", "zeros"))
LAYER, RMS = Fn("layer_norm"), Fn("rms_norm")


def pair(*numbers):
    """One token of a few numbers, (1, 1, d)."""
    return torch.tensor([[list(numbers)]])


# --- Post-LN and Pre-LN --------------------------------------------------------------------------------------------
def post_in_steps(x, sublayer, norm):
    """The branch first, then the sum, then the norm."""
    branch = sublayer(x)
    total = torch.add(branch, x)
    return norm(total)


def pre_in_steps(x, sublayer, norm):
    """The same in steps."""
    branch = sublayer(norm(x))
    return torch.stack([x, branch]).sum(0)


def on_normed(x, sublayer, norm):
    h = norm(x)
    return h + sublayer(h)


def post_no_residual(x, sublayer, norm):
    return norm(sublayer(x))


def pre_no_residual(x, sublayer, norm):
    return sublayer(norm(x))


def both_ends(x, sublayer, norm):
    return norm(x + sublayer(norm(x)))


POST_AND_PRE = Exercise(
    id="placement.post_and_pre",
    unit=UNIT,
    title="Two places for one norm",
    points=1,
    difficulty=1,
    minutes=6,
    signature="post_ln(x, sublayer, norm)",
    targets=("post_ln", "pre_ln"),
    reference=(ref.post_ln, ref.pre_ln),
    alternatives=[(post_in_steps, pre_in_steps)],
    cases=[
        Case(
            "post by hand",
            "1 and 3 plus their squares are 2 and 12, normalized −1 and 1",
            lambda g: call(pair(1.0, 3.0), SQUARE, LAYER),
        ),
        Case(
            "pre by hand",
            "1 and 3 normalized are −1 and 1, squared 1 and 1, added to 1 and 3: 2 and 4",
            lambda g: call(pair(1.0, 3.0), SQUARE, LAYER, fn="pre_ln"),
        ),
        Case(
            "post random",
            "2 sentences of 3 words, tanh as the sublayer, RMSNorm as the norm",
            lambda g: call(g.randn(2, 3, 5, scale=2.0), TANH, RMS),
        ),
        Case(
            "pre random",
            "2 sentences of 3 words, sin as the sublayer",
            lambda g: call(g.randn(2, 3, 5, scale=2.0), SIN, LAYER, fn="pre_ln"),
        ),
        Case(
            "post silent",
            "a sublayer that says 0: Post-LN normalizes the stream all the same",
            lambda g: call(g.randn(2, 3, 5, scale=3.0), ZEROS, LAYER),
        ),
        Case(
            "pre silent",
            "a sublayer that says 0: Pre-LN gives the stream back untouched",
            lambda g: call(g.randn(2, 3, 5, scale=3.0), ZEROS, LAYER, fn="pre_ln"),
            weight=0,
        ),
    ],
    mutants=[
        Mutant(
            "swapped",
            (ref.pre_ln, ref.post_ln),
            "The two are exchanged. Post-LN normalizes last, after the addition; Pre-LN normalizes what enters the "
            "sublayer.",
        ),
        Mutant(
            "pre_from_normed",
            (ref.post_ln, on_normed),
            "pre_ln adds the branch to norm(x). The residual path must carry x itself: x + sublayer(norm(x)).",
        ),
        Mutant(
            "no_residuals",
            (post_no_residual, pre_no_residual),
            "The residual is missing in both. The sublayer's output is added to x.",
        ),
        Mutant(
            "post_no_residual",
            (post_no_residual, ref.pre_ln),
            "post_ln forgets the residual. Add x to the sublayer's output before the norm.",
        ),
        Mutant(
            "pre_no_residual",
            (ref.post_ln, pre_no_residual),
            "pre_ln forgets the residual. Add x to the sublayer's output.",
        ),
        Mutant(
            "post_branch_only",
            (ref.norm_inside, ref.pre_ln),
            "post_ln normalizes the branch alone. The norm of Post-LN sits on the sum: norm(x + sublayer(x)).",
        ),
        Mutant(
            "pre_norm_after",
            (ref.post_ln, ref.norm_inside),
            "pre_ln normalizes what leaves the sublayer. Pre-LN normalizes what enters it: sublayer(norm(x)).",
        ),
        Mutant(
            "post_from_normed",
            (on_normed, ref.pre_ln),
            "post_ln normalizes x before the sublayer. In Post-LN the sublayer sees x, and the norm comes last.",
        ),
        Mutant(
            "post_twice",
            (both_ends, ref.pre_ln),
            "post_ln normalizes twice. Its sublayer sees the raw x; the only norm comes last, on the sum.",
        ),
        Mutant(
            "pre_twice",
            (ref.post_ln, both_ends),
            "pre_ln normalizes the sum as well. Its only norm stands before the sublayer: x + sublayer(norm(x)).",
        ),
        Mutant(
            "pre_wrong_branch",
            (ref.post_ln, lambda x, sublayer, norm: norm(x) + sublayer(x)),
            "pre_ln normalizes the residual path, and the sublayer sees the raw x. It is the other way round.",
        ),
    ],
)


# --- sandwich, norm inside -----------------------------------------------------------------------------------------
def sandwich_of_pre(x, sublayer, norm_in, norm_out):
    """Pre-LN with a sublayer that normalizes its own output."""
    return ref.pre_ln(x, lambda h: norm_out(sublayer(h)), norm_in)


def inside_in_steps(x, sublayer, norm):
    """The branch, then the sum."""
    branch = norm(sublayer(x))
    return branch.add(x)


def _as_sandwich(rule):
    """With the names of the signature, which is checked before anything runs."""
    return lambda x, sublayer, norm_in, norm_out: rule(x, sublayer, norm_in, norm_out)


SANDWICH = Exercise(
    id="placement.variants",
    unit=UNIT,
    title="A norm on the branch",
    points=2,
    difficulty=2,
    minutes=8,
    signature="sandwich(x, sublayer, norm_in, norm_out)",
    targets=("sandwich", "norm_inside"),
    reference=(ref.sandwich, ref.norm_inside),
    alternatives=[(sandwich_of_pre, inside_in_steps)],
    cases=[
        Case(
            "sandwich by hand",
            "1 and 3 normalized are −1 and 1, ReLU makes 0 and 1, RMSNorm 0 and 1.414; added to x",
            lambda g: call(pair(1.0, 3.0), RELU, LAYER, RMS),
        ),
        Case(
            "inside by hand",
            "1 and 3 squared are 1 and 9, normalized −1 and 1, added to 1 and 3: 0 and 4",
            lambda g: call(pair(1.0, 3.0), SQUARE, LAYER, fn="norm_inside"),
        ),
        Case(
            "sandwich random",
            "LayerNorm before and RMSNorm after a sublayer, 2 sentences of 3 words",
            lambda g: call(g.randn(2, 3, 5, scale=3.0), SIN, LAYER, RMS),
        ),
        Case(
            "norms exchanged",
            "RMSNorm before and LayerNorm after the sublayer",
            lambda g: call(g.randn(1, 4, 7, scale=2.0), TANH, RMS, LAYER),
        ),
        Case(
            "inside random",
            "the sublayer sees the raw stream, its output is normalized",
            lambda g: call(g.randn(2, 3, 5, scale=3.0), SIN, RMS, fn="norm_inside"),
        ),
        Case(
            "silent",
            "a sublayer that says 0 leaves the stream untouched",
            lambda g: call(g.randn(2, 3, 5), ZEROS, LAYER, RMS),
            weight=0,
        ),
    ],
    mutants=[
        Mutant(
            "norms_exchanged",
            (_as_sandwich(lambda x, f, a, b: ref.sandwich(x, f, b, a)), ref.norm_inside),
            "sandwich uses norm_out before the sublayer and norm_in after it. Exchange them.",
        ),
        Mutant(
            "on_the_stream",
            (_as_sandwich(lambda x, f, a, b: b(x + f(a(x)))), ref.norm_inside),
            "sandwich puts norm_out around the sum, which normalizes the stream. It belongs around the sublayer "
            "alone; x is added last.",
        ),
        Mutant(
            "no_norm_out",
            (_as_sandwich(lambda x, f, a, b: x + f(a(x))), ref.norm_inside),
            "sandwich never uses norm_out. Normalize the sublayer's output before it is added to x.",
        ),
        Mutant(
            "same_norm_twice",
            (_as_sandwich(lambda x, f, a, b: x + a(f(a(x)))), ref.norm_inside),
            "sandwich uses norm_in twice. The two norms have weights of their own: norm_out comes after the sublayer.",
        ),
        Mutant(
            "from_normed",
            (_as_sandwich(lambda x, f, a, b: a(x) + b(f(a(x)))), ref.norm_inside),
            "sandwich adds the branch to norm_in(x). The residual path carries x itself.",
        ),
        Mutant(
            "inside_as_pre",
            (ref.sandwich, ref.pre_ln),
            "norm_inside normalizes what enters the sublayer. Here the sublayer sees x, and its output is normalized.",
        ),
        Mutant(
            "inside_as_post",
            (ref.sandwich, ref.post_ln),
            "norm_inside normalizes the sum. Normalize the sublayer's output alone, then add x.",
        ),
        Mutant(
            "inside_no_residual",
            (ref.sandwich, post_no_residual),
            "norm_inside forgets the residual. Add x after the norm.",
        ),
        Mutant(
            "sandwich_no_residual",
            (_as_sandwich(lambda x, f, a, b: b(f(a(x)))), ref.norm_inside),
            "sandwich forgets the residual. Add x to what norm_out gives.",
        ),
        Mutant(
            "inside_as_sandwich",
            (ref.sandwich, lambda x, sublayer, norm: x + norm(sublayer(norm(x)))),
            "norm_inside normalizes before the sublayer as well. There is one norm, on what the sublayer gives.",
        ),
    ],
)


# --- parallel ------------------------------------------------------------------------------------------------------
def parallel_of_sum(x, attention, ffn, norm):
    """Both branches as one sublayer of Pre-LN."""
    return ref.pre_ln(x, lambda h: attention(h) + ffn(h), norm)


def fuse_by_filling(w_q, w_k, w_v, w_up, w_o, w_down):
    """Empty matrices, filled block by block."""
    d, d_ff = w_q.shape[0], w_up.shape[0]
    w_in, w_out = w_q.new_empty(3 * d + d_ff, d), w_q.new_empty(d, d + d_ff)
    for i, w in enumerate((w_q, w_k, w_v)):
        w_in[i * d : (i + 1) * d] = w
    w_in[3 * d :] = w_up
    w_out[:, :d], w_out[:, d:] = w_o, w_down
    return w_in, w_out


def sequential(x, attention, ffn, norm):
    x = x + attention(norm(x))
    return x + ffn(norm(x))


def _as_parallel(rule):
    return lambda x, attention, ffn, norm: rule(x, attention, ffn, norm)


def _weights(g, d, d_ff):
    return [g.randn(d, d) for _ in range(3)] + [g.randn(d_ff, d), g.randn(d, d), g.randn(d, d_ff)]


def _fuse(d, d_ff):
    return lambda g: call(*_weights(g, d, d_ff), fn="fuse")


def _one_by_one(g):
    return call(*(torch.tensor([[v]]) for v in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)), fn="fuse")


PARALLEL_BLOCK = Exercise(
    id="placement.parallel",
    unit=UNIT,
    title="Both sublayers at once",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="parallel(x, attention, ffn, norm)",
    targets=("parallel", "fuse"),
    reference=(ref.parallel, ref.fuse),
    alternatives=[(parallel_of_sum, fuse_by_filling)],
    cases=[
        Case(
            "parallel by hand",
            "3 and 4 over their root mean square are 0.85 and 1.13; their squares, and they "
            "themselves (ReLU), are added to x",
            lambda g: call(pair(3.0, 4.0), SQUARE, RELU, RMS),
        ),
        Case(
            "parallel random",
            "2 sentences of 3 words, two different branches",
            lambda g: call(g.randn(2, 3, 5, scale=2.0), SIN, TANH, LAYER),
        ),
        Case(
            "parallel, RMSNorm", "another norm, B = 1", lambda g: call(g.randn(1, 4, 7, scale=3.0), TANH, SQUARE, RMS)
        ),
        Case("fuse by hand", "six 1×1 matrices: 1, 2, 3, 4 stand below each other, 5 and 6 side by side", _one_by_one),
        Case("fuse", "d = 4 and d_ff = 6: (18, 4) and (4, 10)", _fuse(4, 6)),
        Case("fuse square", "d_ff = d = 3, where a wrong axis raises no error", _fuse(3, 3)),
    ],
    mutants=[
        Mutant(
            "sequential",
            (sequential, ref.fuse),
            "The feed-forward branch reads what attention has already changed: that is Pre-LN. Here both branches "
            "read the same norm(x).",
        ),
        Mutant(
            "ffn_not_normed",
            (_as_parallel(lambda x, a, f, n: x + a(n(x)) + f(x)), ref.fuse),
            "The feed-forward branch reads x. Both branches share one normalized input, h = norm(x).",
        ),
        Mutant(
            "twice_x",
            (_as_parallel(lambda x, a, f, n: ref.pre_ln(x, a, n) + ref.pre_ln(x, f, n)), ref.fuse),
            "x is added twice, once per branch. There is one residual for both.",
        ),
        Mutant(
            "chained",
            (_as_parallel(lambda x, a, f, n: x + f(a(n(x)))), ref.fuse),
            "The feed-forward branch reads attention's output. Parallel branches do not see each other: add them.",
        ),
        Mutant(
            "no_residual",
            (_as_parallel(lambda x, a, f, n: a(n(x)) + f(n(x))), ref.fuse),
            "The residual is missing. Add x to the two branches.",
        ),
        Mutant(
            "from_normed",
            (_as_parallel(lambda x, a, f, n: n(x) + a(n(x)) + f(n(x))), ref.fuse),
            "The branches are added to norm(x). The residual path carries x itself.",
        ),
        Mutant(
            "no_norm",
            (_as_parallel(lambda x, a, f, n: x + a(x) + f(x)), ref.fuse),
            "norm is not used. Both branches read h = norm(x).",
        ),
        Mutant(
            "out_below",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([q, k, v, up]), torch.cat([o, down.T]))),
            "w_o and w_down stand below each other. They read different numbers and write to the same d, so their "
            "columns stand side by side (dim=1).",
        ),
        Mutant(
            "out_along_rows",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([q, k, v, up]), torch.cat([o, down]))),
            "torch.cat joins rows unless dim=1 is given. w_o (d, d) and w_down (d, d_ff) have equally many rows: "
            "join their columns.",
        ),
        Mutant(
            "out_exchanged",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([q, k, v, up]), torch.cat([down, o], 1))),
            "w_down comes before w_o. The attended values come first in the input of w_out, so w_o is first.",
        ),
        Mutant(
            "up_first",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([up, q, k, v]), torch.cat([o, down], 1))),
            "w_up comes first in w_in. The order asked for is q, k, v, up.",
        ),
        Mutant(
            "transposed",
            (ref.parallel, lambda q, k, v, up, o, down: (torch.cat([q, k, v, up]).T, torch.cat([o, down], 1).T)),
            "Both matrices are transposed. nn.Linear keeps weights as (out, in), and so does this exercise.",
        ),
    ],
)

FIRST, VARIANTS, PARALLEL = [POST_AND_PRE], [SANDWICH], [PARALLEL_BLOCK]
