"""Sandwich norm, and a norm on the branch alone."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import residual as ref

from .shared import LAYER, RELU, RMS, SIN, SQUARE, TANH, ZEROS, pair


def sandwich_of_pre(x, sublayer, norm_in, norm_out):
    """Pre-LN with a sublayer that normalizes its own output."""
    return ref.pre_ln(x, lambda h: norm_out(sublayer(h)), norm_in)


def inside_in_steps(x, sublayer, norm):
    """The branch, then the sum."""
    branch = norm(sublayer(x))
    return branch.add(x)


MISTAKES = changes(
    (ref.sandwich, ref.norm_inside),
    """
norms_exchanged: norm_out(sublayer(norm_in(x))) → norm_in(sublayer(norm_out(x)))
    sandwich uses norm_out before the sublayer and norm_in after it. Exchange them.
on_the_stream: x + norm_out(sublayer(norm_in(x))) → norm_out(x + sublayer(norm_in(x)))
    sandwich puts norm_out around the sum, which normalizes the stream. It belongs around the sublayer alone; x is
    added last.
no_norm_out: norm_out(sublayer(norm_in(x))) → sublayer(norm_in(x))
    sandwich never uses norm_out. Normalize the sublayer's output before it is added to x.
same_norm_twice: norm_out(sublayer(norm_in(x))) → norm_in(sublayer(norm_in(x)))
    sandwich uses norm_in twice. The two norms have weights of their own: norm_out comes after the sublayer.
from_normed: x + norm_out(sublayer(norm_in(x))) → norm_in(x) + norm_out(sublayer(norm_in(x)))
    sandwich adds the branch to norm_in(x). The residual path carries x itself.
inside_as_pre: x + norm(sublayer(x)) → x + sublayer(norm(x))
    norm_inside normalizes what enters the sublayer. Here the sublayer sees x, and its output is normalized.
inside_as_post: x + norm(sublayer(x)) → norm(x + sublayer(x))
    norm_inside normalizes the sum. Normalize the sublayer's output alone, then add x.
inside_no_residual: x + norm(sublayer(x)) → norm(sublayer(x))
    norm_inside forgets the residual. Add x after the norm.
sandwich_no_residual: x + norm_out(sublayer(norm_in(x))) → norm_out(sublayer(norm_in(x)))
    sandwich forgets the residual. Add x to what norm_out gives.
no_norm_in: norm_out(sublayer(norm_in(x))) → norm_out(sublayer(x))
    sandwich never uses norm_in. Normalize what the sublayer reads as well.
out_twice: norm_out(sublayer(norm_in(x))) → norm_out(sublayer(norm_out(x)))
    sandwich uses norm_out twice. The two norms have weights of their own: norm_in comes before the sublayer.
both_before: norm_out(sublayer(norm_in(x))) → sublayer(norm_out(norm_in(x)))
    sandwich uses both norms before the sublayer. norm_out normalizes what the sublayer gives.
both_after: norm_out(sublayer(norm_in(x))) → norm_out(norm_in(sublayer(x)))
    sandwich uses both norms after the sublayer. norm_in normalizes what the sublayer reads.
inside_no_norm: x + norm(sublayer(x)) → x + sublayer(x)
    norm_inside never uses norm. Normalize what the sublayer gives, then add x.
inside_from_normed: x + norm(sublayer(x)) → norm(x) + norm(sublayer(x))
    norm_inside adds the branch to norm(x). The residual path carries x itself.
inside_stream_only: x + norm(sublayer(x)) → norm(x) + sublayer(x)
    norm_inside normalizes the residual path in place of the branch: it should be x + norm(sublayer(x)).
inside_as_sandwich: x + norm(sublayer(x)) → x + norm(sublayer(norm(x)))
    norm_inside normalizes before the sublayer as well. There is one norm, on what the sublayer gives.
sandwich_own_norms: return x + norm_out( → own = lambda v: F.layer_norm(v, v.shape[-1:]); return x + own(
; sublayer(norm_in(x)) → sublayer(own(x))
    sandwich always takes LayerNorm, whatever norms it is given. Call norm_in and norm_out.
inside_own_norm: x + norm(sublayer(x)) → x + F.layer_norm(sublayer(x), x.shape[-1:])
    norm_inside always takes LayerNorm, whatever norm it is given. Call the argument norm.
sandwich_as_post: x + norm_out(sublayer(norm_in(x))) → norm_out(x + sublayer(x))
    sandwich is Post-LN with norm_out. Both norms lie on the branch, and x is added last: x +
    norm_out(sublayer(norm_in(x))).
sandwich_of_parts: x + norm_out(sublayer(norm_in(x))) → norm_out(norm_in(x) + sublayer(norm_in(x)))
    sandwich normalizes the stream at both ends. Its norms lie on the branch alone: x +
    norm_out(sublayer(norm_in(x))).
sandwich_around_sum: norm_out(sublayer(norm_in(x))) → norm_out(norm_in(x) + sublayer(norm_in(x)))
    sandwich adds norm_in(x) inside norm_out. norm_out normalizes what the sublayer gives, nothing else.
inside_sum_too: x + norm(sublayer(x)) → norm(x + norm(sublayer(x)))
    norm_inside normalizes the sum as well. There is one norm, on what the sublayer gives.
inside_second_residual: x + norm(sublayer(x)) → x + norm(x + sublayer(x))
    norm_inside adds x inside the norm too. Normalize the sublayer's output alone, then add x once.
""",
)

EXERCISE = Exercise(
    id="placement.variants",
    title="A norm on the branch",
    points=2,
    difficulty=2,
    minutes=8,
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
            "LayerNorm before and RMSNorm after a sublayer, 2 sentences of 3 tokens",
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
        Case(
            "sandwich float64",
            "a stream in float64, one sentence of one token: so is what sandwich makes of it",
            lambda g: call(g.randn(1, 1, 6, dtype=torch.float64), SIN, RMS, LAYER),
            weight=0.5,
        ),
        Case(
            "inside float64",
            "a stream in float64, one sentence of one token: so is what norm_inside makes of it",
            lambda g: call(g.randn(1, 1, 6, dtype=torch.float64), TANH, LAYER, fn="norm_inside"),
            weight=0.5,
        ),
        Case(
            "sandwich gradient",
            "the gradient of x through both norms, and past them",
            lambda g: call(g.randn(2, 3, 4, scale=2.0), SIN, LAYER, RMS, grad=[0]),
            weight=0.5,
        ),
        Case(
            "inside gradient",
            "the gradient of x through the norm on the branch, and past it",
            lambda g: call(g.randn(2, 3, 4, scale=2.0), SIN, LAYER, fn="norm_inside", grad=[0]),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
)
