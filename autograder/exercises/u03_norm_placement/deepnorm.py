"""DeepNorm's wiring and its constants."""

import torch

from autograder.judge.spec import Case, Exercise, Fn, Mutant, call, several
from autograder.reference import placement
from autograder.reference import residual as ref

ONE, BOTH = placement.deepnorm_decoder_only, placement.deepnorm_encoder_decoder


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


def _step(rule):
    """With the names of the signature, which is checked before anything runs."""
    return lambda x, sublayer, norm, alpha: rule(x, sublayer, norm, alpha)


def _scale(a, b):
    """Wrong scales without the ValueError: a learner who errs here may or may not have written it."""
    return lambda n_layers: (a(n_layers), b(n_layers))


def _both(encoder, decoder):
    return lambda n_encoder, n_decoder: (encoder(n_encoder, n_decoder), decoder(n_encoder, n_decoder))


right_encoder = lambda n, m: (0.81 * (n**4 * m) ** (1 / 16), 0.87 * (n**4 * m) ** (-1 / 16))
right_decoder = lambda n, m: ((3 * m) ** 0.25, (12 * m) ** -0.25)
unchecked = _scale(lambda n: (2 * n) ** 0.25, lambda n: (8 * n) ** -0.25)

EXERCISE = Exercise(
    id="placement.deepnorm",
    unit="03-norm-placement",
    title="DeepNorm",
    points=3,
    difficulty=2,
    minutes=12,
    extension=True,
    signature="deepnorm(x, sublayer, norm, alpha)",
    targets=("deepnorm", "deepnorm_scale", "deepnorm_scale_encoder_decoder"),
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
            "no decoder",
            "6 encoder layers and no decoder have no scale either: ValueError",
            lambda g: call(6, 0, fn="deepnorm_scale_encoder_decoder"),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "alpha_on_branch",
            (_step(lambda x, f, n, a: n(x + a * f(x))), ONE, BOTH),
            "α multiplies the sublayer's output. DeepNorm makes the residual heavier: norm(α·x + F(x)).",
        ),
        Mutant(
            "alpha_on_both",
            (_step(lambda x, f, n, a: n(a * (x + f(x)))), ONE, BOTH),
            "α has no effect: it is not used, or it multiplies the whole sum, where the norm removes it again. It "
            "belongs to x alone.",
        ),
        Mutant(
            "alpha_inside",
            (_step(lambda x, f, n, a: n(a * x + f(a * x))), ONE, BOTH),
            "The sublayer sees α·x. It reads x itself; only the residual is multiplied.",
        ),
        Mutant(
            "alpha_outside",
            (_step(lambda x, f, n, a: a * x + n(f(x))), ONE, BOTH),
            "The norm sits on the branch. DeepNorm is Post-LN with a heavier residual: the norm comes last, on the "
            "sum.",
        ),
        Mutant(
            "square_roots",
            (ref.deepnorm, _scale(lambda n: (2 * n) ** 0.5, lambda n: (8 * n) ** -0.5), BOTH),
            "These are square roots. The exponents are ¼ and −¼.",
        ),
        Mutant(
            "beta_grows",
            (ref.deepnorm, _scale(lambda n: (2 * n) ** 0.25, lambda n: (8 * n) ** 0.25), BOTH),
            "β grows with depth here. It shrinks the weights: the exponent is −¼.",
        ),
        Mutant(
            "one_over_alpha",
            (ref.deepnorm, _scale(lambda n: (2 * n) ** 0.25, lambda n: (2 * n) ** -0.25), BOTH),
            "β is 1/α here. It has an 8 where α has a 2: β = (8N)^−¼.",
        ),
        Mutant(
            "eight_and_two",
            (ref.deepnorm, _scale(lambda n: (8 * n) ** 0.25, lambda n: (2 * n) ** -0.25), BOTH),
            "The 2 and the 8 are exchanged. α = (2N)^¼ and β = (8N)^−¼.",
        ),
        Mutant(
            "beta_first",
            (ref.deepnorm, _scale(lambda n: (8 * n) ** -0.25, lambda n: (2 * n) ** 0.25), BOTH),
            "β comes first. A pair is (α, β).",
        ),
        Mutant(
            "divided_by_four",
            (
                ref.deepnorm,
                _scale(lambda n: (2 * n) ** 1 / 4, lambda n: (8 * n) ** -1 / 4),
                _both(
                    lambda n, m: (0.81 * (n**4 * m) ** 1 / 16, 0.87 * (n**4 * m) ** -1 / 16),
                    lambda n, m: ((3 * m) ** 1 / 4, (12 * m) ** -1 / 4),
                ),
            ),
            "In Python x ** 1 / 4 is (x ** 1) / 4. Put the exponent in parentheses, or write 0.25.",
        ),
        Mutant(
            "decoder_as_alone",
            (ref.deepnorm, ONE, _both(right_encoder, lambda n, m: ((2 * m) ** 0.25, (8 * m) ** -0.25))),
            "This decoder has 2M and 8M, as a stack of its own. Beside an encoder each layer has three sublayers: "
            "3M and 12M.",
        ),
        Mutant(
            "depths_exchanged",
            (ref.deepnorm, ONE, _both(lambda n, m: right_encoder(m, n), right_decoder)),
            "N and M are exchanged in the encoder's scale: it is N⁴M with N encoder and M decoder layers.",
        ),
        Mutant(
            "decoder_first",
            (ref.deepnorm, ONE, _both(right_decoder, right_encoder)),
            "The decoder's pair comes first. Return the encoder's (α, β), then the decoder's.",
        ),
        Mutant(
            "unchecked",
            (ref.deepnorm, unchecked, BOTH),
            "The numbers are right. Raise a ValueError for fewer than one layer: 0 layers have no scale.",
        ),
    ],
)
