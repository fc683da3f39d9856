"""DeepNorm's wiring and its constants."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Program, call, several
from autograder.reference import placement
from autograder.reference import residual as ref

ONE, BOTH = placement.deepnorm_decoder_only, placement.deepnorm_encoder_decoder


def deepnorm(x, sublayer, norm, alpha):
    return norm(alpha * x + sublayer(x))


def deepnorm_scale(n_layers):
    if n_layers < 1:
        raise ValueError("a stack has at least one layer")
    return (2 * n_layers) ** 0.25, (8 * n_layers) ** -0.25


def deepnorm_scale_encoder_decoder(n_encoder, n_decoder):
    if n_encoder < 1 or n_decoder < 1:
        raise ValueError("a stack has at least one layer")
    depth = n_encoder**4 * n_decoder
    encoder = 0.81 * depth ** (1 / 16), 0.87 * depth ** (-1 / 16)
    decoder = (3 * n_decoder) ** 0.25, (12 * n_decoder) ** -0.25
    return encoder, decoder


def by_scaling(x, sublayer, norm, alpha):
    """norm is blind to a factor, so x + F(x)/α gives the same up to ε; here without that shortcut."""
    return norm(torch.add(sublayer(x), x, alpha=alpha))


def scale_by_roots(n_layers):
    """Square roots of square roots."""
    if n_layers < 1:
        raise ValueError("a stack has at least one layer")
    return (2 * n_layers) ** 0.5**2, 1 / (8 * n_layers) ** 0.5**2


def both_by_roots(n_encoder, n_decoder):
    """The sixteenth root by four square roots."""
    if n_encoder < 1 or n_decoder < 1:
        raise ValueError("a stack has at least one layer")
    root = (n_encoder**4 * n_decoder) ** (1 / 16)
    return [(0.81 * root, 0.87 / root), ((3 * n_decoder) ** (1 / 4), 1 / (12 * n_decoder) ** (1 / 4))]


MISTAKES = changes(
    (deepnorm, deepnorm_scale, deepnorm_scale_encoder_decoder),
    """
alpha_on_branch: norm(alpha * x + sublayer(x)) → norm(x + alpha * sublayer(x))
    The branch gets α, or x is divided by it. DeepNorm makes the residual heavier: norm(α·x + F(x)).
alpha_on_both: norm(alpha * x + sublayer(x)) → norm(alpha * (x + sublayer(x)))
    α has no effect: it is not used, or it multiplies the whole sum, where the norm removes it again. It belongs to
    x alone.
alpha_inside: norm(alpha * x + sublayer(x)) → norm(alpha * x + sublayer(alpha * x))
    The sublayer sees α·x. It reads x itself; only the residual is multiplied.
alpha_outside: norm(alpha * x + sublayer(x)) → alpha * x + norm(sublayer(x))
    The norm sits on the branch. DeepNorm is Post-LN with a heavier residual: the norm comes last, on the sum.
square_roots: ** 0.25, (8 * n_layers) ** -0.25 → ** 0.5, (8 * n_layers) ** -0.5 ; if n_layers < 1: → if False:
    These are square roots. The exponents are ¼ and −¼.
beta_grows: (8 * n_layers) ** -0.25 → (8 * n_layers) ** 0.25 ; if n_layers < 1: → if False:
    β grows with depth here. It shrinks the weights: the exponent is −¼.
one_over_alpha: 8 * n_layers → 2 * n_layers ; if n_layers < 1: → if False:
    β is 1/α here. It has an 8 where α has a 2: β = (8N)^−¼.
eight_and_two: (2 * n_layers) ** 0.25, (8 * n_layers) → (8 * n_layers) ** 0.25, (2 * n_layers)
; if n_layers < 1: → if False:
    The 2 and the 8 are exchanged. α = (2N)^¼ and β = (8N)^−¼.
beta_first: (2 * n_layers) ** 0.25, (8 * n_layers) ** -0.25 → (8 * n_layers) ** -0.25, (2 * n_layers) ** 0.25
; if n_layers < 1: → if False:
    β comes first. A pair is (α, β).
divided_by_four: ** 0.25, (8 * n_layers) ** -0.25 → ** 1 / 4, (8 * n_layers) ** -1 / 4 ; if n_layers < 1: → if False:
; ** (1 / 16), 0.87 * depth ** (-1 / 16) → ** 1 / 16, 0.87 * depth ** -1 / 16
; ** 0.25, (12 * n_decoder) ** -0.25 → ** 1 / 4, (12 * n_decoder) ** -1 / 4
; if n_encoder < 1 or n_decoder < 1: → if False:
    In Python x ** 1 / 4 is (x ** 1) / 4. Put the exponent in parentheses, or write 0.25.
decoder_as_alone: (3 * n_decoder) ** 0.25, (12 * n_decoder) → (2 * n_decoder) ** 0.25, (8 * n_decoder)
; if n_encoder < 1 or n_decoder < 1: → if False:
    This decoder has 2M and 8M, as a stack of its own. Beside an encoder each layer has three sublayers: 3M and 12M.
depths_exchanged: n_encoder**4 * n_decoder → n_decoder**4 * n_encoder ; if n_encoder < 1 or n_decoder < 1: → if False:
    N and M are exchanged in the encoder's scale: it is N⁴M with N encoder and M decoder layers.
decoder_first: return encoder, decoder → return decoder, encoder ; if n_encoder < 1 or n_decoder < 1: → if False:
    The decoder's pair comes first. Return the encoder's (α, β), then the decoder's.
no_residual: norm(alpha * x + sublayer(x)) → norm(sublayer(x))
    deepnorm forgets the residual. Add α·x to the sublayer's output before the norm.
no_norm: norm(alpha * x + sublayer(x)) → alpha * x + sublayer(x)
    deepnorm never uses norm. It comes last, on the sum: norm(α·x + F(x)).
as_pre_ln: norm(alpha * x + sublayer(x)) → alpha * x + sublayer(norm(x))
    This is Pre-LN with a factor. DeepNorm is Post-LN: the sublayer reads x, and the norm comes last.
twos_forgotten: (2 * n_layers) ** 0.25, (8 * n_layers) ** → n_layers**0.25, n_layers ** ; if n_layers < 1: → if False:
    The factors in front of N are missing: α = (2N)^¼ and β = (8N)^−¼.
factor_outside: (2 * n_layers) ** 0.25, (8 * n_layers) ** → 2 * n_layers**0.25, 8 * n_layers **
; if n_layers < 1: → if False:
    In Python 2 * n ** 0.25 is 2·(n^¼). The root covers the factor as well: (2 * n) ** 0.25.
fourth_power_forgotten: n_encoder**4 → n_encoder ; if n_encoder < 1 or n_decoder < 1: → if False:
    In the encoder's scale N is not raised to the fourth power: it is (N⁴M)^(1/16).
product_to_the_fourth: n_encoder**4 → n_encoder ; (1 / 16) → (4 / 16) ; (-1 / 16) → (-4 / 16)
; if n_encoder < 1 or n_decoder < 1: → if False:
    Both depths are raised to the fourth power. Only N is: N⁴M.
encoder_beta_grows: (-1 / 16) → (1 / 16) ; if n_encoder < 1 or n_decoder < 1: → if False:
    The encoder's β grows with depth here. Its exponent is negative: 0.87·(N⁴M)^(−1/16).
encoder_constants: 0.81 * depth ** (1 / 16), 0.87 → 0.87 * depth ** (1 / 16), 0.81
; if n_encoder < 1 or n_decoder < 1: → if False:
    0.81 and 0.87 are exchanged. The encoder's α has 0.81, its β has 0.87.
decoder_from_encoder: (3 * n_decoder) ** 0.25, (12 * n_decoder) → (3 * n_encoder) ** 0.25, (12 * n_encoder)
; if n_encoder < 1 or n_decoder < 1: → if False:
    The decoder's pair is made from the encoder's depth. It is (3M)^¼ and (12M)^−¼ with M decoder layers.
flat: return encoder, decoder → return encoder + decoder
    These are four numbers in a row. Return two pairs: ((α, β) of the encoder, (α, β) of the decoder).
pair_unchecked: if n_encoder < 1 or n_decoder < 1: → if False:
    The pairs are right, but any depths are accepted. Raise a ValueError where one of the two is below 1.
encoder_unchecked: if n_encoder < 1 or n_decoder < 1 → if n_decoder < 1
    Only the decoder's depth is checked. Raise a ValueError where the encoder's is below 1, too.
decoder_unchecked: if n_encoder < 1 or n_decoder < 1 → if n_encoder < 1
    Only the encoder's depth is checked. Raise a ValueError where the decoder's is below 1, too.
only_zero_refused: if n_encoder < 1 or n_decoder < 1 → if n_encoder == 0 or n_decoder == 0
    Only a depth of 0 is refused. Negative depths need the ValueError as well: compare with < 1.
one_layer_refused: if n_encoder < 1 or n_decoder < 1 → if n_encoder <= 1 or n_decoder <= 1
    A single layer is refused. It is a stack already: only depths below 1 raise the ValueError.
unchecked: if n_layers < 1: → if False:
    The numbers are right. Raise a ValueError for fewer than one layer: 0 layers have no scale.
beta_factor_outside: (8 * n_layers) ** → 8 * n_layers ** ; if n_layers < 1: → if False:
    β is 8·N^(−¼) here, because a power binds tighter than a product. Put 8N in parentheses.
alpha_factor_outside: (2 * n_layers) ** → 2 * n_layers ** ; if n_layers < 1: → if False:
    α is 2·(N^¼) here, because a power binds tighter than a product. Put 2N in parentheses.
scale_divided_by_four: (8 * n_layers) ** -0.25 → (8 * n_layers) ** -1 / 4 ; if n_layers < 1: → if False:
    In Python x ** -1 / 4 is (x ** -1) / 4. Put β's exponent in parentheses, or write -0.25.
norm_on_residual: norm(alpha * x + sublayer(x)) → norm(alpha * x) + sublayer(x)
    The norm is taken of α·x alone. Add F(x) first: norm(α·x + F(x)).
sublayer_on_normed: norm(alpha * x + sublayer(x)) → norm(alpha * x + sublayer(norm(x)))
    The sublayer reads norm(x). DeepNorm has one norm, on the sum; the sublayer reads x.
encoder_power_outside: 0.81 * depth → 0.81 * n_encoder**4 * n_decoder ; 0.87 * depth → 0.87 * n_encoder**4 * n_decoder
; if n_encoder < 1 or n_decoder < 1: → if False:
    In the encoder's scale the exponent ±1/16 covers M alone. Put N⁴M in parentheses.
encoder_fourth_root: (1 / 16) → 0.25 ; (-1 / 16) → -0.25 ; if n_encoder < 1 or n_decoder < 1: → if False:
    The encoder's exponents are ±¼. Of N⁴M the 16th root is taken: ±1/16.
encoder_as_alone: 0.81 * depth ** (1 / 16) → (2 * n_encoder) ** 0.25
; 0.87 * depth ** (-1 / 16) → (8 * n_encoder) ** -0.25 ; if n_encoder < 1 or n_decoder < 1: → if False:
    This encoder has 2N and 8N, as a stack of its own. Beside a decoder it has 0.81·(N⁴M)^(1/16) and
    0.87·(N⁴M)^(−1/16).
encoder_constants_inside: 0.81 * depth → (0.81 * depth) ; 0.87 * depth → (0.87 * depth)
; if n_encoder < 1 or n_decoder < 1: → if False:
    0.81 and 0.87 stand under the root. They multiply it: 0.81·(N⁴M)^(1/16).
decoder_constants: (3 * n_decoder) ** 0.25, (12 * n_decoder) → (12 * n_decoder) ** 0.25, (3 * n_decoder)
; if n_encoder < 1 or n_decoder < 1: → if False:
    The 3 and the 12 are exchanged in the decoder's pair: (3M)^¼ and (12M)^−¼.
decoder_beta_grows: (12 * n_decoder) ** -0.25 → (12 * n_decoder) ** 0.25
; if n_encoder < 1 or n_decoder < 1: → if False:
    The decoder's β grows with depth here. Its exponent is negative: (12M)^−¼.
alphas_and_betas: return encoder, decoder → return tuple(zip(encoder, decoder, strict=True))
; if n_encoder < 1 or n_decoder < 1: → if False:
    The pairs are (α, α) and (β, β). Return (α, β) of the encoder, then (α, β) of the decoder.
scale_of_one_refused: n_layers < 1 → n_layers <= 1
    deepnorm_scale refuses a single layer. It is a stack already: only depths below 1 raise the ValueError.
""",
)

EXERCISE = Exercise(
    id="placement.deepnorm",
    title="DeepNorm",
    points=3,
    difficulty=2,
    minutes=12,
    extension=True,
    reference=(ref.deepnorm, ONE, BOTH),
    alternatives=[(by_scaling, scale_by_roots, both_by_roots)],
    cases=[
        Case(
            "wiring by hand",
            "α = 2: twice 1 and 3 plus their squares are 3 and 15, normalized −1 and 1",
            lambda g: call(torch.tensor([[[1.0, 3.0]]]), Fn("square"), Fn("layer_norm"), 2.0),
        ),
        Case(
            "wiring",
            "RMSNorm, random stream and a random α",
            lambda g: call(g.randn(2, 3, 5, scale=2.0), Fn("sin"), Fn("rms_norm"), g.number(1.5, 3.0)),
        ),
        Case("8 layers", "N = 8: α = 16^¼ = 2 and β = 64^−¼ = 0.354", lambda g: call(8, fn="deepnorm_scale")),
        Case(
            "random depths",
            "three depths between 20 and 200 layers",
            lambda g: several(3, lambda p: p.call(g.integer(20, 200), fn="deepnorm_scale")),
        ),
        Case(
            "encoder-decoder",
            "6 encoder and 6 decoder layers: (α, β) of the encoder, then of the decoder",
            lambda g: call(6, 6, fn="deepnorm_scale_encoder_decoder"),
        ),
        Case(
            "uneven depths",
            "encoders that are deeper than their decoders",
            lambda g: several(
                2, lambda p: p.call(g.integer(30, 99), g.integer(2, 20), fn="deepnorm_scale_encoder_decoder")
            ),
        ),
        Case(
            "no layers",
            "a stack of 0 layers has no scale: ValueError",
            lambda g: call(0, fn="deepnorm_scale"),
            weight=0.5,
        ),
        Case(
            "one layer",
            "the smallest stack, one layer, has a scale",
            lambda g: call(1, fn="deepnorm_scale"),
            weight=0.5,
        ),
        Case(
            "one layer each",
            "a model with one encoder layer, then one with a single decoder layer",
            lambda g: (
                Program()
                .call(1, g.integer(2, 30), fn="deepnorm_scale_encoder_decoder")
                .call(g.integer(2, 30), 1, fn="deepnorm_scale_encoder_decoder")
            ),
            weight=0.5,
        ),
        Case(
            "fewer than none",
            "−3 encoder layers, where the fourth power hides the sign: ValueError",
            lambda g: call(-3, 6, fn="deepnorm_scale_encoder_decoder"),
            weight=0.5,
        ),
        Case(
            "no encoder",
            "0 encoder and 6 decoder layers: ValueError",
            lambda g: call(0, 6, fn="deepnorm_scale_encoder_decoder"),
            weight=0.5,
        ),
        Case(
            "no decoder",
            "6 encoder layers and no decoder have no scale either: ValueError",
            lambda g: call(6, 0, fn="deepnorm_scale_encoder_decoder"),
            weight=0.5,
        ),
        Case(
            "float64",
            "a stream in float64, one sentence of one token: so is the result",
            lambda g: call(g.randn(1, 1, 6, dtype=torch.float64), Fn("tanh"), Fn("layer_norm"), g.number(1.5, 3.0)),
            weight=0.5,
        ),
        Case(
            "gradient",
            "the gradient of x through the norm, along the heavy residual and along the branch",
            lambda g: call(g.randn(2, 3, 4), Fn("sin"), Fn("rms_norm"), g.number(1.5, 3.0), grad=[0]),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
)
