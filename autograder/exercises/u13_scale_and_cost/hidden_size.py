"""The width of a GPT, read off its published number of parameters."""

import math

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference import scaling
from autograder.reference.models.gpt2 import GPTConfig


def gpt_parameters(d_model, n_layers, vocab, positions):
    """The reference's count, of a configuration."""
    return scaling.gpt2_parameters(GPTConfig(vocab, d_model, n_layers, 1, positions))


def hidden_size(parameters, n_layers, vocab, positions, multiple=64):
    """The root of a square, to the nearest multiple."""
    return scaling.gpt2_width(parameters, n_layers, vocab, positions, multiple)


def count_by_parts(d_model, n_layers, vocab, positions):
    """Matrices, then biases and norms."""
    matrices = 4 * d_model * d_model + 2 * d_model * 4 * d_model
    vectors = 4 * d_model + 4 * d_model + d_model + 2 * 2 * d_model
    return n_layers * (matrices + vectors) + vocab * d_model + positions * d_model + 2 * d_model


def width_by_square(parameters, n_layers, vocab, positions, multiple=64):
    """The square completed, and half a multiple added before what is over is cut off."""
    tables = 13 * n_layers + vocab + positions + 2
    d = ((48 * n_layers * parameters + tables**2) ** 0.5 - tables) / (24 * n_layers)
    return int(d / multiple + 0.5) * multiple


def _count(count):
    """A wrong count; hidden_size is right."""
    return count, hidden_size


def _width(solve):
    """A right count; ``solve`` gets a, b, the parameters and the multiple."""

    def wrong(parameters, n_layers, vocab, positions, multiple=64):
        a, b = 12 * n_layers, vocab + positions + 13 * n_layers + 2
        return solve(a, b, parameters, multiple)

    return gpt_parameters, wrong


def _root(a, b, c):
    return (math.sqrt(b * b + 4 * a * c) - b) / (2 * a)


def _published(g: Source, program: Program) -> None:
    """A count that lies between two widths, up to a third of the way, as published ones do."""
    multiple = g.choice((32, 64, 128))
    layers, vocab, positions = g.integer(6, 97), g.integer(30_000, 130_000), 2 ** g.integer(9, 13)
    width = multiple * g.integer(5, 60) + multiple * g.number(-0.33, 0.33)
    parameters = round(layers * (12 * width**2 + 13 * width) + (vocab + positions + 2) * width)
    program.call(parameters, layers, vocab, positions, multiple=multiple, fn="hidden_size")


def _small(g: Source, program: Program) -> None:
    """A narrow model, most of whose parameters are tables: here the linear term decides."""
    multiple, layers = g.choice((1, 2)), g.integer(2, 5)
    vocab, positions = g.integer(300, 3000), 2 ** g.integer(8, 13)
    # Odd multiples: no multiple of 64, which is what comes out where the argument is ignored.
    width = multiple * (2 * g.integer(10, 45) + 1 + g.number(-0.33, 0.33))
    parameters = round(layers * (12 * width**2 + 13 * width) + (vocab + positions + 2) * width)
    program.call(parameters, layers, vocab, positions, multiple=multiple, fn="hidden_size")


def _halfway(g: Source, program: Program, offset: float) -> None:
    """A model of few words whose count lies nearly halfway between two widths: here every term decides."""
    layers, vocab, positions = g.choice((1, 2)), g.integer(3, 9), g.integer(3, 9)
    width = g.integer(20, 60) + offset
    parameters = round(layers * (12 * width**2 + 13 * width) + (vocab + positions + 2) * width)
    program.call(parameters, layers, vocab, positions, multiple=1, fn="hidden_size")


def _default(g: Source, program: Program) -> None:
    layers, width = g.integer(8, 50), 64 * g.integer(8, 60)
    parameters = gpt_parameters(width, layers, 50257, 1024) + g.integer(-10_000, 10_000)
    program.call(parameters, layers, 50257, 1024, fn="hidden_size")


def _counts(g: Source, program: Program) -> None:
    program.call(8 * g.integer(20, 900), g.integer(2, 90), g.integer(1000, 130_000), 2 ** g.integer(8, 13))


EXERCISE = Exercise(
    id="scale.hidden_size",
    title="A width read off a count",
    points=2,
    difficulty=2,
    minutes=10,
    signature="gpt_parameters(d_model, n_layers, vocab, positions)",
    targets=("gpt_parameters", "hidden_size"),
    reference=(gpt_parameters, hidden_size),
    alternatives=[(count_by_parts, width_by_square)],
    cases=[
        Case("by hand", "width 2, one layer, 5 words, 3 places: 74 + 16 + 4 = 94", lambda g: call(2, 1, 5, 3)),
        Case("counts", "four models of random sizes", lambda g: several(4, lambda p: _counts(g, p)), weight=2),
        Case(
            "GPT-2",
            "124,439,808 parameters in 12 layers: width 768",
            lambda g: call(124_439_808, 12, 50257, 1024, fn="hidden_size"),
        ),
        Case(
            "exact counts",
            "three widths that are multiples of 64, from counts that are a little off",
            lambda g: several(3, lambda p: _default(g, p)),
        ),
        Case(
            "published counts",
            "rounded counts, up to a third of the way to the next multiple of 32, 64 or 128",
            lambda g: several(4, lambda p: _published(g, p)),
            weight=2,
        ),
        Case(
            "narrow models",
            "four small models, most of them tables, to the nearest whole number or even one",
            lambda g: several(4, lambda p: _small(g, p)),
        ),
        Case(
            "nearly halfway",
            "one or two layers and a handful of words, counts that lie nearly halfway between two widths",
            lambda g: several(6, lambda p: _halfway(g, p, -0.475 if len(p.steps) % 2 else 0.475)),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "no_positions",
            _count(
                lambda d_model, n_layers, vocab, positions: (
                    n_layers * (12 * d_model**2 + 13 * d_model) + (vocab + 2) * d_model
                )
            ),
            "The table of positions is missing from the count: positions · d_model.",
        ),
        Mutant(
            "no_embedding",
            _count(
                lambda d_model, n_layers, vocab, positions: (
                    n_layers * (12 * d_model**2 + 13 * d_model) + (positions + 2) * d_model
                )
            ),
            "The table of words is missing from the count: vocab · d_model. The head uses the same table.",
        ),
        Mutant(
            "own_head",
            _count(
                lambda d_model, n_layers, vocab, positions: (
                    n_layers * (12 * d_model**2 + 13 * d_model) + (2 * vocab + positions + 2) * d_model
                )
            ),
            "The table of words is counted twice. The head is tied: it uses the same numbers.",
        ),
        Mutant(
            "no_final_norm",
            _count(
                lambda d_model, n_layers, vocab, positions: (
                    n_layers * (12 * d_model**2 + 13 * d_model) + (vocab + positions) * d_model
                )
            ),
            "The last norm is missing from the count: gain and bias, 2 · d_model.",
        ),
        Mutant(
            "matrices_only",
            _count(
                lambda d_model, n_layers, vocab, positions: (
                    n_layers * 12 * d_model**2 + (vocab + positions + 2) * d_model
                )
            ),
            "The biases and norms of the layers are missing from the count: 13 · d_model in each.",
        ),
        Mutant(
            "attention_only",
            _count(
                lambda d_model, n_layers, vocab, positions: (
                    n_layers * (4 * d_model**2 + 13 * d_model) + (vocab + positions + 2) * d_model
                )
            ),
            "The feed-forward matrices are missing from the count: d_model × 4·d_model and back, 8 · d_model² in each "
            "layer.",
        ),
        Mutant(
            "ffn_only",
            _count(
                lambda d_model, n_layers, vocab, positions: (
                    n_layers * (8 * d_model**2 + 13 * d_model) + (vocab + positions + 2) * d_model
                )
            ),
            "The attention matrices are missing from the count: q, k, v and the output, 4 · d_model² in each layer.",
        ),
        Mutant(
            "one_layer",
            _count(
                lambda d_model, n_layers, vocab, positions: (
                    12 * d_model**2 + 13 * d_model + (vocab + positions + 2) * d_model
                )
            ),
            "One layer is counted. Multiply its part by n_layers.",
        ),
        Mutant(
            "norm_in_each",
            _count(
                lambda d_model, n_layers, vocab, positions: (
                    n_layers * (12 * d_model**2 + 15 * d_model) + (vocab + positions) * d_model
                )
            ),
            "The last norm is counted in every layer. The two norms of a layer are in the 13 · d_model; the last one "
            "comes once.",
        ),
        Mutant(
            "vectors_once",
            _count(
                lambda d_model, n_layers, vocab, positions: (
                    n_layers * 12 * d_model**2 + 15 * d_model + (vocab + positions) * d_model
                )
            ),
            "The biases and norms of one layer are counted. Each layer has its own 13 · d_model.",
        ),
        Mutant(
            "tables_forgotten",
            _width(lambda a, b, n, m: m * round(_root(a, 13 * a / 12 + 2, n) / m)),
            "On the way back the two tables are forgotten. (vocab + positions) · d_model is part of the linear term.",
        ),
        Mutant(
            "ffn_width",
            _width(lambda a, b, n, m: 4 * m * round(_root(a, b, n) / m)),
            "The width of the feed-forward layer comes back. hidden_size wants d_model, a quarter of it.",
        ),
        Mutant(
            "rounded_down",
            _width(lambda a, b, n, m: m * math.floor(_root(a, b, n) / m)),
            "The width is rounded down. Published counts are rounded both ways: take the nearest multiple.",
        ),
        Mutant(
            "rounded_up",
            _width(lambda a, b, n, m: m * math.ceil(_root(a, b, n) / m)),
            "The width is rounded up. Published counts are rounded both ways: take the nearest multiple.",
        ),
        Mutant(
            "not_rounded",
            _width(lambda a, b, n, m: round(_root(a, b, n))),
            "The width is no multiple of `multiple`. Divide by it, round, multiply.",
        ),
        Mutant(
            "always_64",
            _width(lambda a, b, n, m: 64 * round(_root(a, b, n) / 64)),
            "The width is rounded to multiples of 64, whatever was asked for. Use the argument.",
        ),
        Mutant(
            "layers_alone",
            _width(lambda a, b, n, m: m * round(math.sqrt(n / a) / m)),
            "hidden_size takes all parameters for matrices of the layers. Words, positions and biases have their "
            "part: the linear term.",
        ),
        Mutant(
            "other_root",
            _width(lambda a, b, n, m: m * round((-math.sqrt(b * b + 4 * a * n) - b) / (2 * a) / m)),
            "hidden_size takes the negative root. The width is the other one: (−b + √…) / (2a).",
        ),
        Mutant(
            "sign",
            _width(lambda a, b, n, m: m * round((math.sqrt(b * b + 4 * a * n) + b) / (2 * a) / m)),
            "b has the wrong sign in hidden_size. The root is (−b + √(b² + 4a·parameters)) / (2a).",
        ),
    ],
)
