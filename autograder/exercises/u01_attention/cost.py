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
    if d_model % H != 0:
        raise ValueError(f"{H} heads do not divide {d_model}")
    return 4 * B * d_model * ((T + S) * d_model + T * S)


# The mistakes leave the ValueError out; see shared.py.
def _flops(projection_rows, pair_factor, factor=2):
    def wrong(B, T, S, d_model, H):
        return factor * B * (projection_rows(T, S) * d_model**2 + pair_factor(T, S, d_model, H))

    return wrong


ROWS = lambda T, S: 2 * T + 2 * S
PAIRS = lambda T, S, d, H: 2 * T * S * d


def _right(B, T, S, d_model, H):
    return 4 * B * d_model * ((T + S) * d_model + T * S)


def check_reversed(B, T, S, d_model, H):
    if H % d_model:
        raise ValueError("does not fit")
    return _right(B, T, S, d_model, H)


def _parameters(matrices=4, biases=4):
    return lambda d_model, bias=True: matrices * d_model**2 + (biases * d_model if bias else 0)


EXERCISE = Exercise(
    id="attention.cost",
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
            "bias_always",
            (lambda d_model, bias=True: P(d_model, True), _flops(ROWS, PAIRS)),
            "The biases are counted even with bias=False. Add 4·d_model only when bias is True.",
        ),
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
            "Three projections are counted in both functions. W_O is the fourth: it has parameters and costs FLOPs.",
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
            "The T×S products count half. The scores cost 2·B·T·S·d_model, the weighted sum of the values as much "
            "again, and a mask saves nothing.",
        ),
        Mutant(
            "unchecked",
            (P, lambda B, T, S, d_model, H: 4 * B * d_model * ((T + S) * d_model + T * S)),
            "The numbers are right. Raise a ValueError when H does not divide d_model: no such layer exists.",
        ),
        Mutant(
            "three_in_parameters",
            (_parameters(3, 3), _flops(ROWS, PAIRS)),
            "The parameters are those of three layers. W_O is the fourth: 4·d_model² weights, and 4·d_model biases.",
        ),
        Mutant(
            "three_in_flops",
            (P, _flops(lambda T, S: T + 2 * S, PAIRS)),
            "The FLOPs of one projection over T words are missing. There are two: queries before the attention, and "
            "W_O after it.",
        ),
        Mutant(
            "one_bias_missing",
            (_parameters(4, 3), _flops(ROWS, PAIRS)),
            "Three biases are counted. Each of the four layers has one of d_model numbers.",
        ),
        Mutant(
            "bias_of_one_layer",
            (_parameters(4, 1), _flops(ROWS, PAIRS)),
            "One bias of d_model numbers is counted. Each of the four layers has its own: 4·d_model.",
        ),
        Mutant(
            "bias_is_one_number",
            (lambda d_model, bias=True: 4 * d_model**2 + (4 if bias else 0), _flops(ROWS, PAIRS)),
            "One number is counted for each bias. A bias has one number per output: d_model of them.",
        ),
        Mutant(
            "one_matrix",
            (_parameters(1, 1), _flops(ROWS, PAIRS)),
            "The parameters are those of one layer. A block has four: W_Q, W_K, W_V and W_O.",
        ),
        Mutant(
            "projections_only",
            (P, _flops(ROWS, lambda T, S, d, H: 0)),
            "The two products with T×S pairs are missing: the scores and the weighted sum, 2·B·T·S·d_model each.",
        ),
        Mutant(
            "pairs_only",
            (P, _flops(lambda T, S: 0, PAIRS)),
            "The four projections are missing: 2·B·d_model² FLOPs for each word that goes through one.",
        ),
        Mutant(
            "half_of_projections",
            (P, _flops(lambda T, S: T + S, PAIRS)),
            "The projections cost twice this: two over T words and two over S words, with 2·d_model² FLOPs for each "
            "word.",
        ),
        Mutant(
            "projections_of_one_sentence",
            (P, lambda B, T, S, d_model, H: 4 * (T + S) * d_model**2 + 4 * B * T * S * d_model),
            "The projections are those of one sentence. B sentences have B·T and B·S words.",
        ),
        Mutant(
            "no_batch",
            (P, lambda B, T, S, d_model, H: 4 * (T + S) * d_model**2 + 4 * T * S * d_model),
            "These are the FLOPs of one sentence. All products are done for each of the B sentences.",
        ),
        Mutant(
            "projections_per_head",
            (P, lambda B, T, S, d_model, H: 4 * B * (T + S) * d_model**2 * H + 4 * B * T * S * d_model),
            "The projections are counted H times with the full d_model². All heads together have one d_model × d_model "
            "matrix for each projection.",
        ),
        Mutant(
            "projections_of_one_head",
            (P, lambda B, T, S, d_model, H: 4 * B * (T + S) * d_model * (d_model // H) + 4 * B * T * S * d_model),
            "The projections are those of one head, d_model × D. All H heads together make d_model × d_model.",
        ),
        Mutant(
            "pairs_of_queries",
            (P, _flops(ROWS, lambda T, S, d, H: 2 * T * T * d)),
            "The pairs are counted as T·T. T queries meet S keys: T·S.",
        ),
        Mutant(
            "output_over_context",
            (P, _flops(lambda T, S: T + 3 * S, PAIRS)),
            "Three projections are counted over S words. Only keys and values come from the context: queries and W_O "
            "run over T words.",
        ),
        Mutant(
            "queries_over_three",
            (P, _flops(lambda T, S: 3 * T + S, PAIRS)),
            "Three projections are counted over T words. Keys and values both come from the S words of the context.",
        ),
        Mutant(
            "context_for_all",
            (P, _flops(lambda T, S: 4 * S, PAIRS)),
            "All four projections are counted for S words. q_proj and o_proj run over the T words of the queries.",
        ),
        Mutant(
            "pairs_added",
            (P, lambda B, T, S, d_model, H: 4 * B * (T + S) * d_model**2 + 4 * B * (T + S) * d_model),
            "The pairs are counted as T + S. Each of the T queries meets each of the S keys: T·S.",
        ),
        Mutant(
            "biases_counted",
            (P, _flops(ROWS, lambda T, S, d, H: 2 * T * S * d + (T + S) * d)),
            "Additions of the biases are counted. Only the six matrix products count here.",
        ),
        Mutant(
            "flops_as_float",
            (P, lambda *sizes: float(ref.attention_flops(*sizes))),
            "The FLOPs are right but a float: / makes one even where it comes out even. Divide with //.",
        ),
        Mutant(
            "check_reversed",
            (P, check_reversed),
            "attention_flops refuses sizes that fit. H divides d_model where d_model % H is 0: raise the error only "
            "where it is not.",
        ),
        Mutant(
            "flops_of_one_key_set",
            (P, _flops(lambda T, S: 2 * T + S, PAIRS)),
            "The FLOPs of one projection over S words are missing. There are two: keys and values.",
        ),
    ],
)
