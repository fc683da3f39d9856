"""The width of a GPT, read off its published number of parameters."""

import math

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
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
    d = (math.sqrt(48 * n_layers * parameters + tables**2) - tables) / (24 * n_layers)
    return math.floor(d / multiple + 0.5) * multiple


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
    """A model of few tokens whose count lies nearly halfway between two widths: here every term decides."""
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


MISTAKES = changes(
    (count_by_parts, width_by_square),
    """
no_positions: + positions * d_model →
    The table of positions is missing from the count: positions · d_model.
no_embedding: + vocab * d_model →
    The table of tokens is missing from the count: vocab · d_model. The head uses the same table.
own_head: + vocab * d_model → + 2 * vocab * d_model
    The table of tokens is counted twice. The head is tied: it uses the same numbers.
no_final_norm: positions * d_model + 2 * d_model → positions * d_model
    The last norm is missing from the count: gain and bias, 2 · d_model.
matrices_only: (matrices + vectors) → matrices
    The biases and norms of the layers are missing from the count: 13 · d_model in each.
attention_only: + 2 * d_model * 4 * d_model →
    The feed-forward matrices are missing from the count: d_model × 4·d_model and back, 8 · d_model² in each layer.
ffn_only: 4 * d_model * d_model + →
    The attention matrices are missing from the count: q, k, v and the output, 4 · d_model² in each layer.
one_layer: n_layers * (matrices + vectors) → matrices + vectors
    One layer is counted. Multiply its part by n_layers.
norm_in_each: 2 * 2 * d_model → 3 * 2 * d_model ; positions * d_model + 2 * d_model → positions * d_model
    The last norm is counted in every layer. The two norms of a layer are in the 13 · d_model; the last one comes
    once.
vectors_once: n_layers * (matrices + vectors) → n_layers * matrices + vectors
    The biases and norms of one layer are counted. Each layer has its own 13 · d_model.
tables_forgotten: + vocab + positions →
    On the way back the two tables are forgotten. (vocab + positions) · d_model is part of the linear term.
ffn_width: return math.floor → return 4 * math.floor
    The width of the feed-forward layer comes back. hidden_size wants d_model, a quarter of it.
rounded_down: math.floor(d / multiple + 0.5) → math.floor(d / multiple)
    The width is rounded down. Published counts are rounded both ways: take the nearest multiple.
rounded_up: math.floor(d / multiple + 0.5) → math.ceil(d / multiple)
    The width is rounded up. Published counts are rounded both ways: take the nearest multiple.
not_rounded: math.floor(d / multiple + 0.5) * multiple → round(d)
    The width is no multiple of `multiple`. Divide by it, round, multiply.
always_64: math.floor(d / multiple + 0.5) * multiple → math.floor(d / 64 + 0.5) * 64
    The width is rounded to multiples of 64, whatever was asked for. Use the argument.
layers_alone: 13 * n_layers + vocab + positions + 2 → 0
    hidden_size takes all parameters for matrices of the layers. Tokens, positions and biases have their part: the
    linear term.
other_root: (math.sqrt → (-math.sqrt
    hidden_size takes the negative root. The width is the other one: (−b + √…) / (2a).
sign: - tables) → + tables)
    b has the wrong sign in hidden_size. The root is (−b + √(b² + 4a·parameters)) / (2a).
""",
)

EXERCISE = Exercise(
    id="scale.hidden_size",
    title="A width read off a count",
    points=2,
    difficulty=2,
    minutes=10,
    reference=(gpt_parameters, hidden_size),
    alternatives=[(count_by_parts, width_by_square)],
    cases=[
        Case("by hand", "width 2, one layer, 5 tokens, 3 positions: 74 + 16 + 4 = 94", lambda g: call(2, 1, 5, 3)),
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
            "one or two layers and a handful of tokens, counts that lie nearly halfway between two widths",
            lambda g: several(6, lambda p: _halfway(g, p, -0.475 if len(p.steps) % 2 else 0.475)),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
)
