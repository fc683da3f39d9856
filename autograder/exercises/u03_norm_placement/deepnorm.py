"""DeepNorm's wiring and its constants."""

import torch

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, call, several
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


def _pair(is_refused):
    """The right pairs, and a ValueError where ``is_refused``."""

    def scales(n_encoder, n_decoder):
        if is_refused(n_encoder, n_decoder):
            raise ValueError("a stack has at least one layer")
        return right_encoder(n_encoder, n_decoder), right_decoder(n_encoder, n_decoder)

    return scales


def _both(encoder, decoder):
    return lambda n_encoder, n_decoder: (encoder(n_encoder, n_decoder), decoder(n_encoder, n_decoder))


right_encoder = lambda n, m: (0.81 * (n**4 * m) ** (1 / 16), 0.87 * (n**4 * m) ** (-1 / 16))
right_decoder = lambda n, m: ((3 * m) ** 0.25, (12 * m) ** -0.25)
unchecked = _scale(lambda n: (2 * n) ** 0.25, lambda n: (8 * n) ** -0.25)


def scale_of_one_refused(n_layers):
    if n_layers <= 1:
        raise ValueError("too few layers")
    return ONE(n_layers)


_encoder = lambda a, b: (ref.deepnorm, ONE, _both(lambda n, m: (a(n, m), b(n, m)), right_decoder))
_decoder = lambda a, b: (ref.deepnorm, ONE, _both(right_encoder, lambda n, m: (a(m), b(m))))
_grouped = lambda n, m: tuple(zip(right_encoder(n, m), right_decoder(n, m), strict=True))


EXERCISE = Exercise(
    id="placement.deepnorm",
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
            "a stream in float64, one sentence of one word: so is the result",
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
    mutants=[
        Mutant(
            "alpha_on_branch",
            (_step(lambda x, f, n, a: n(x + a * f(x))), ONE, BOTH),
            "The branch gets α, or x is divided by it. DeepNorm makes the residual heavier: norm(α·x + F(x)).",
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
            "no_residual",
            (_step(lambda x, f, n, a: n(f(x))), ONE, BOTH),
            "deepnorm forgets the residual. Add α·x to the sublayer's output before the norm.",
        ),
        Mutant(
            "no_norm",
            (_step(lambda x, f, n, a: a * x + f(x)), ONE, BOTH),
            "deepnorm never uses norm. It comes last, on the sum: norm(α·x + F(x)).",
        ),
        Mutant(
            "as_pre_ln",
            (_step(lambda x, f, n, a: a * x + f(n(x))), ONE, BOTH),
            "This is Pre-LN with a factor. DeepNorm is Post-LN: the sublayer reads x, and the norm comes last.",
        ),
        Mutant(
            "twos_forgotten",
            (ref.deepnorm, _scale(lambda n: n**0.25, lambda n: n**-0.25), BOTH),
            "The factors in front of N are missing: α = (2N)^¼ and β = (8N)^−¼.",
        ),
        Mutant(
            "factor_outside",
            (ref.deepnorm, _scale(lambda n: 2 * n**0.25, lambda n: 8 * n**-0.25), BOTH),
            "In Python 2 * n ** 0.25 is 2·(n^¼). The root covers the factor as well: (2 * n) ** 0.25.",
        ),
        Mutant(
            "fourth_power_forgotten",
            (
                ref.deepnorm,
                ONE,
                _both(lambda n, m: (0.81 * (n * m) ** (1 / 16), 0.87 * (n * m) ** (-1 / 16)), right_decoder),
            ),
            "In the encoder's scale N is not raised to the fourth power: it is (N⁴M)^(1/16).",
        ),
        Mutant(
            "product_to_the_fourth",
            (
                ref.deepnorm,
                ONE,
                _both(lambda n, m: (0.81 * (n * m) ** (4 / 16), 0.87 * (n * m) ** (-4 / 16)), right_decoder),
            ),
            "Both depths are raised to the fourth power. Only N is: N⁴M.",
        ),
        Mutant(
            "encoder_beta_grows",
            (
                ref.deepnorm,
                ONE,
                _both(lambda n, m: (0.81 * (n**4 * m) ** (1 / 16), 0.87 * (n**4 * m) ** (1 / 16)), right_decoder),
            ),
            "The encoder's β grows with depth here. Its exponent is negative: 0.87·(N⁴M)^(−1/16).",
        ),
        Mutant(
            "encoder_constants",
            (
                ref.deepnorm,
                ONE,
                _both(lambda n, m: (0.87 * (n**4 * m) ** (1 / 16), 0.81 * (n**4 * m) ** (-1 / 16)), right_decoder),
            ),
            "0.81 and 0.87 are exchanged. The encoder's α has 0.81, its β has 0.87.",
        ),
        Mutant(
            "decoder_from_encoder",
            (ref.deepnorm, ONE, _both(right_encoder, lambda n, m: ((3 * n) ** 0.25, (12 * n) ** -0.25))),
            "The decoder's pair is made from the encoder's depth. It is (3M)^¼ and (12M)^−¼ with M decoder layers.",
        ),
        Mutant(
            "flat",
            (ref.deepnorm, ONE, lambda n_encoder, n_decoder: sum(BOTH(n_encoder, n_decoder), ())),
            "These are four numbers in a row. Return two pairs: ((α, β) of the encoder, (α, β) of the decoder).",
        ),
        Mutant(
            "pair_unchecked",
            (ref.deepnorm, ONE, _pair(lambda n, m: False)),
            "The pairs are right, but any depths are accepted. Raise a ValueError where one of the two is below 1.",
        ),
        Mutant(
            "encoder_unchecked",
            (ref.deepnorm, ONE, _pair(lambda n, m: m < 1)),
            "Only the decoder's depth is checked. Raise a ValueError where the encoder's is below 1, too.",
        ),
        Mutant(
            "decoder_unchecked",
            (ref.deepnorm, ONE, _pair(lambda n, m: n < 1)),
            "Only the encoder's depth is checked. Raise a ValueError where the decoder's is below 1, too.",
        ),
        Mutant(
            "only_zero_refused",
            (ref.deepnorm, ONE, _pair(lambda n, m: n == 0 or m == 0)),
            "Only a depth of 0 is refused. Negative depths need the ValueError as well: compare with < 1.",
        ),
        Mutant(
            "one_layer_refused",
            (ref.deepnorm, ONE, _pair(lambda n, m: n <= 1 or m <= 1)),
            "A single layer is refused. It is a stack already: only depths below 1 raise the ValueError.",
        ),
        Mutant(
            "unchecked",
            (ref.deepnorm, unchecked, BOTH),
            "The numbers are right. Raise a ValueError for fewer than one layer: 0 layers have no scale.",
        ),
        Mutant(
            "beta_factor_outside",
            (ref.deepnorm, _scale(lambda n: (2 * n) ** 0.25, lambda n: 8 * n**-0.25), BOTH),
            "β is 8·N^(−¼) here, because a power binds tighter than a product. Put 8N in parentheses.",
        ),
        Mutant(
            "alpha_factor_outside",
            (ref.deepnorm, _scale(lambda n: 2 * n**0.25, lambda n: (8 * n) ** -0.25), BOTH),
            "α is 2·(N^¼) here, because a power binds tighter than a product. Put 2N in parentheses.",
        ),
        Mutant(
            "scale_divided_by_four",
            (ref.deepnorm, _scale(lambda n: (2 * n) ** 0.25, lambda n: (8 * n) ** -1 / 4), BOTH),
            "In Python x ** -1 / 4 is (x ** -1) / 4. Put β's exponent in parentheses, or write -0.25.",
        ),
        Mutant(
            "norm_on_residual",
            (_step(lambda x, f, n, a: n(a * x) + f(x)), ONE, BOTH),
            "The norm is taken of α·x alone. Add F(x) first: norm(α·x + F(x)).",
        ),
        Mutant(
            "sublayer_on_normed",
            (_step(lambda x, f, n, a: n(a * x + f(n(x)))), ONE, BOTH),
            "The sublayer reads norm(x). DeepNorm has one norm, on the sum; the sublayer reads x.",
        ),
        Mutant(
            "encoder_power_outside",
            _encoder(lambda n, m: 0.81 * n**4 * m ** (1 / 16), lambda n, m: 0.87 * n**4 * m ** (-1 / 16)),
            "In the encoder's scale the exponent ±1/16 covers M alone. Put N⁴M in parentheses.",
        ),
        Mutant(
            "encoder_fourth_root",
            _encoder(lambda n, m: 0.81 * (n**4 * m) ** 0.25, lambda n, m: 0.87 * (n**4 * m) ** -0.25),
            "The encoder's exponents are ±¼. Of N⁴M the 16th root is taken: ±1/16.",
        ),
        Mutant(
            "encoder_as_alone",
            _encoder(lambda n, m: (2 * n) ** 0.25, lambda n, m: (8 * n) ** -0.25),
            "This encoder has 2N and 8N, as a stack of its own. Beside a decoder it has 0.81·(N⁴M)^(1/16) and "
            "0.87·(N⁴M)^(−1/16).",
        ),
        Mutant(
            "encoder_constants_inside",
            _encoder(lambda n, m: (0.81 * n**4 * m) ** (1 / 16), lambda n, m: (0.87 * n**4 * m) ** (-1 / 16)),
            "0.81 and 0.87 stand under the root. They multiply it: 0.81·(N⁴M)^(1/16).",
        ),
        Mutant(
            "decoder_constants",
            _decoder(lambda m: (12 * m) ** 0.25, lambda m: (3 * m) ** -0.25),
            "The 3 and the 12 are exchanged in the decoder's pair: (3M)^¼ and (12M)^−¼.",
        ),
        Mutant(
            "decoder_beta_grows",
            _decoder(lambda m: (3 * m) ** 0.25, lambda m: (12 * m) ** 0.25),
            "The decoder's β grows with depth here. Its exponent is negative: (12M)^−¼.",
        ),
        Mutant(
            "alphas_and_betas",
            (ref.deepnorm, ONE, _grouped),
            "The pairs are (α, α) and (β, β). Return (α, β) of the encoder, then (α, β) of the decoder.",
        ),
        Mutant(
            "scale_of_one_refused",
            (ref.deepnorm, scale_of_one_refused, BOTH),
            "deepnorm_scale refuses a single layer. It is a stack already: only depths below 1 raise the ValueError.",
        ),
    ],
)
