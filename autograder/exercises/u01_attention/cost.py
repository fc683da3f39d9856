"""Parameters and FLOPs of one attention block."""

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import attention as ref

P = ref.attention_parameters


def parameters_by_layers(d_model, bias=True):
    """Layer by layer."""
    return sum(d_model * d_model + (d_model if bias else 0) for _ in ("q", "k", "v", "o"))


def flops_by_products(B, T, S, d_model, H):
    """2·rows·inner·columns for each matrix product, heads one by one."""
    if d_model % H:
        raise ValueError("H must divide d_model")
    D = d_model // H
    products = [(B * n, d_model, d_model) for n in (T, S, S, T)]
    products += [(T, D, S), (T, S, D)] * (B * H)
    return sum(2 * a * b * c for a, b, c in products)


def flops_factored(B, T, S, d_model, H):
    """The closed form 4·B·d·((T + S)·d + T·S)."""
    if H < 1 or d_model % H != 0:
        raise ValueError(f"{H} heads do not divide {d_model}")
    return 4 * B * d_model * ((T + S) * d_model + T * S)


# The mistakes leave the ValueError out; see shared.py.
def _flops(projection_rows, pair_factor, factor=2):
    def wrong(B, T, S, d_model, H):
        return factor * B * (projection_rows(T, S) * d_model**2 + pair_factor(T, S, d_model, H))

    return wrong


ROWS = lambda T, S: 2 * T + 2 * S
PAIRS = lambda T, S, d, H: 2 * T * S * d

EXERCISE = Exercise(
    id="attention.cost",
    unit="01-attention",
    title="What one block costs",
    points=2,
    difficulty=2,
    minutes=12,
    extension=True,
    signature="attention_parameters(d_model, bias=True)",
    targets=("attention_parameters", "attention_flops"),
    reference=(P, ref.attention_flops),
    alternatives=[(parameters_by_layers, flops_by_products), (parameters_by_layers, flops_factored)],
    cases=[
        Case("parameters by hand", "d_model 2: four 2×2 matrices and four biases of 2 make 24", lambda g: call(2)),
        Case(
            "flops by hand",
            "one word of 2 numbers: 4 projections of 8 FLOPs, scores and sum 4 each, 40 in all",
            lambda g: call(1, 1, 1, 2, 1, fn="attention_flops"),
        ),
        Case(
            "no bias",
            "without biases four matrices are left: three sizes",
            lambda g: several(3, lambda p: p.call(g.integer(5, 900), bias=False)),
        ),
        Case("BERT-base", "d_model 768 with biases", lambda g: call(768)),
        # B is never 2 here: 4·T·S·d (B forgotten) would equal 2·B·T·S·d (one product forgotten).
        Case(
            "more keys",
            "5 queries against 7 keys, three sentences, 2 heads of 4 numbers",
            lambda g: call(3, 5, 7, 8, 2, fn="attention_flops"),
        ),
        Case(
            "random",
            "random sizes, 4 heads",
            lambda g: call(
                g.integer(3, 90),
                g.integer(10, 400),
                g.integer(500, 900),
                4 * g.integer(4, 300),
                4,
                fn="attention_flops",
            ),
        ),
        Case(
            "does not fit",
            "d_model 6 cannot be shared by 4 heads: attention_flops raises ValueError",
            lambda g: call(1, 2, 2, 6, 4, fn="attention_flops"),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "no_biases",
            (lambda d_model, bias=True: 4 * d_model**2, _flops(ROWS, PAIRS)),
            "The biases are not counted. Each of the four layers has d_model of them when bias is True.",
        ),
        Mutant(
            "three_matrices",
            (
                lambda d_model, bias=True: 3 * d_model**2 + (3 * d_model if bias else 0),
                _flops(lambda T, S: T + 2 * S, PAIRS),
            ),
            "Only three projections are counted. W_O is the fourth, in the parameters and in the FLOPs.",
        ),
        Mutant(
            "per_head_matrices",
            (lambda d_model, bias=True: P(d_model, bias), _flops(ROWS, lambda T, S, d, H: 2 * T * S * d * H)),
            "The scores are counted H times with the full d_model. Each head has d_model/H numbers, so all heads "
            "together cost as much as one of d_model.",
        ),
        Mutant(
            "one_head_only",
            (P, _flops(ROWS, lambda T, S, d, H: 2 * T * S * d // H)),
            "The scores and the weighted sum are counted for one head. There are H heads of d_model/H numbers.",
        ),
        Mutant(
            "multiply_add_is_one",
            (P, _flops(ROWS, PAIRS, factor=1)),
            "A multiply-add is counted as one FLOP. Here it is two: an (a, b) times (b, c) product costs 2·a·b·c.",
        ),
        Mutant(
            "pairs_of_one_sentence",
            (P, lambda B, T, S, d_model, H: 4 * B * (T + S) * d_model**2 + 4 * T * S * d_model),
            "The pairs of one sentence only are counted. Each of the B sentences has T·S of its own.",
        ),
        Mutant(
            "keys_like_queries",
            (P, _flops(lambda T, S: 4 * T, PAIRS)),
            "All four projections are counted for T words. k_proj and v_proj run over the S words of the context.",
        ),
        Mutant(
            "scores_only",
            (P, _flops(ROWS, lambda T, S, d, H: T * S * d)),
            "One of the two T×S products is missing. The scores cost 2·B·T·S·d_model, and the weighted sum of the "
            "values as much again.",
        ),
        Mutant(
            "unchecked",
            (P, lambda B, T, S, d_model, H: 4 * B * d_model * ((T + S) * d_model + T * S)),
            "The numbers are right. Raise a ValueError when H does not divide d_model: no such layer exists.",
        ),
    ],
)
