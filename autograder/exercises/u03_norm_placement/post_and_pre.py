"""Post-LN and Pre-LN around one sublayer."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import residual as ref

from .shared import LAYER, RMS, SIN, SQUARE, TANH, ZEROS, pair


def post_in_steps(x, sublayer, norm):
    """The branch first, then the sum, then the norm."""
    branch = sublayer(x)
    total = torch.add(branch, x)
    return norm(total)


def pre_in_steps(x, sublayer, norm):
    """The same in steps."""
    branch = sublayer(norm(x))
    return torch.stack([x, branch]).sum(0)


MISTAKES = changes(
    (ref.post_ln, ref.pre_ln),
    """
swapped: norm(x + sublayer(x)) → sublayer(norm(x)) + x ; x + sublayer(norm(x)) → norm(sublayer(x) + x)
    The two are exchanged. Post-LN normalizes last, after the addition; Pre-LN normalizes what enters the sublayer.
pre_from_normed: x + sublayer(norm(x)) → norm(x) + sublayer(norm(x))
    pre_ln adds the branch to norm(x). The residual path must carry x itself: x + sublayer(norm(x)).
no_residuals: x + sublayer(x) → sublayer(x) ; x + sublayer(norm(x)) → sublayer(norm(x))
    The residual is missing in both. The sublayer's output is added to x.
post_no_residual: x + sublayer(x) → sublayer(x)
    post_ln forgets the residual. Add x to the sublayer's output before the norm.
pre_no_residual: x + sublayer(norm(x)) → sublayer(norm(x))
    pre_ln forgets the residual. Add x to the sublayer's output.
post_branch_only: norm(x + sublayer(x)) → x + norm(sublayer(x))
    post_ln normalizes the branch alone. The norm of Post-LN sits on the sum: norm(x + sublayer(x)).
pre_norm_after: x + sublayer(norm(x)) → x + norm(sublayer(x))
    pre_ln normalizes what leaves the sublayer. Pre-LN normalizes what enters it: sublayer(norm(x)).
post_from_normed: norm(x + sublayer(x)) → norm(x) + sublayer(norm(x))
    post_ln normalizes x before the sublayer. In Post-LN the sublayer sees x, and the norm comes last.
post_twice: norm(x + sublayer(x)) → norm(x + sublayer(norm(x)))
    post_ln normalizes twice. Its sublayer sees the raw x; the only norm comes last, on the sum.
pre_twice: x + sublayer(norm(x)) → norm(x + sublayer(norm(x)))
    pre_ln normalizes the sum as well. Its only norm stands before the sublayer: x + sublayer(norm(x)).
post_is_pre: norm(x + sublayer(x)) → x + sublayer(norm(x))
    post_ln is Pre-LN as well. In Post-LN the sublayer sees the bare x, and the norm is taken of the sum: norm(x +
    sublayer(x)).
pre_is_post: x + sublayer(norm(x)) → norm(x + sublayer(x))
    pre_ln is Post-LN as well. In Pre-LN the norm stands before the sublayer, inside the branch: x +
    sublayer(norm(x)).
post_second_residual: norm(x + sublayer(x)) → x + norm(x + sublayer(x))
    post_ln adds x once more after the norm. In Post-LN nothing passes by the norm: norm(x + sublayer(x)).
post_no_norm: norm(x + sublayer(x)) → x + sublayer(x)
    post_ln never uses norm. Normalize the sum: norm(x + sublayer(x)).
pre_no_norm: x + sublayer(norm(x)) → x + sublayer(x)
    pre_ln never uses norm. Normalize what the sublayer reads: sublayer(norm(x)).
post_x_normed: norm(x + sublayer(x)) → norm(x) + sublayer(x)
    post_ln normalizes x alone. Add the sublayer's output first, then normalize the sum.
pre_wrong_branch: x + sublayer(norm(x)) → norm(x) + sublayer(x)
    pre_ln normalizes the residual path, and the sublayer sees the raw x. It is the other way round.
post_own_norm: norm(x + sublayer(x)) → F.layer_norm(x + sublayer(x), x.shape[-1:])
    post_ln always takes LayerNorm, whatever norm it is given. Call the argument norm.
pre_own_norm: x + sublayer(norm(x)) → x + sublayer(F.layer_norm(x, x.shape[-1:]))
    pre_ln always takes LayerNorm, whatever norm it is given. Call the argument norm.
post_parts_normed: norm(x + sublayer(x)) → norm(x) + norm(sublayer(x))
    post_ln normalizes the two parts and adds them then. Add first, and normalize the sum.
pre_sandwich: x + sublayer(norm(x)) → x + norm(sublayer(norm(x)))
    pre_ln normalizes the sublayer's output as well. Its only norm stands before the sublayer.
post_branch_of_normed: norm(x + sublayer(x)) → norm(sublayer(norm(x)))
    post_ln normalizes twice and has no residual. It is norm(x + sublayer(x)).
pre_double_residual: x + sublayer(norm(x)) → x + norm(x) + sublayer(norm(x))
    pre_ln adds norm(x) to the sum. Two parts are added: x and sublayer(norm(x)).
""",
)

EXERCISE = Exercise(
    id="placement.post_and_pre",
    title="Two places for one norm",
    points=1,
    difficulty=1,
    minutes=6,
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
            "2 sentences of 3 tokens, tanh as the sublayer, RMSNorm as the norm",
            lambda g: call(g.randn(2, 3, 5, scale=2.0), TANH, RMS),
        ),
        Case(
            "pre random",
            "2 sentences of 3 tokens, sin as the sublayer",
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
        Case(
            "post float64",
            "a stream in float64, one sentence of one token: so is what Post-LN makes of it",
            lambda g: call(g.randn(1, 1, 6, dtype=torch.float64), SIN, LAYER),
            weight=0.5,
        ),
        Case(
            "pre float64",
            "a stream in float64, one sentence of one token: so is what Pre-LN makes of it",
            lambda g: call(g.randn(1, 1, 6, dtype=torch.float64), TANH, RMS, fn="pre_ln"),
            weight=0.5,
        ),
        Case(
            "post gradient",
            "the gradient of x through Post-LN: all of it passes the norm",
            lambda g: call(g.randn(2, 3, 4, scale=2.0), SIN, RMS, grad=[0]),
            weight=0.5,
        ),
        Case(
            "pre gradient",
            "the gradient of x through Pre-LN: one part of it passes nothing",
            lambda g: call(g.randn(2, 3, 4, scale=2.0), SQUARE, LAYER, fn="pre_ln", grad=[0]),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
)
