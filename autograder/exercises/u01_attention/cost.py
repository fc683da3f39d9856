"""Parameters and FLOPs of one attention block."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
from autograder.reference import attention as ref


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


# The mistakes leave the ValueError out: a learner who makes one of them may or may not have written the check.
MISTAKES = changes(
    (ref.attention_parameters, ref.attention_flops),
    """
bias_always: (4 * d_model if bias else 0) → 4 * d_model ; _check_heads(d_model, H) →
    The biases are counted even with bias=False. Add 4·d_model only when bias is True.
no_biases: + (4 * d_model if bias else 0) → ; _check_heads(d_model, H) →
    The biases are not counted. Each of the four layers has d_model of them when bias is True.
three_matrices: 4 * d_model * d_model + (4 * d_model → 3 * d_model * d_model + (3 * d_model ; 2 * T + 2 * S → T + 2 * S
; _check_heads(d_model, H) →
    Three projections are counted in both functions. W_O is the fourth: it has parameters and costs FLOPs.
per_head_matrices: T * S * d_model → T * S * d_model * H ; _check_heads(d_model, H) →
    The scores are counted H times with the full d_model. Each head has d_model/H numbers, so all heads together
    cost as much as one of d_model.
one_head_only: T * S * d_model → T * S * d_model // H ; _check_heads(d_model, H) →
    The scores and the weighted sum are counted for one head. There are H heads of d_model/H numbers.
multiply_add_is_one: projections = 2 * → projections = ; pairs = 2 * → pairs = ; _check_heads(d_model, H) →
    A multiply-add is counted as one FLOP. Here it is two: an (a, b) times (b, c) product costs 2·a·b·c.
pairs_of_one_sentence: 2 * B * T * S → 2 * T * S ; _check_heads(d_model, H) →
    The pairs of one sentence only are counted. Each of the B sentences has T·S of its own.
keys_like_queries: 2 * T + 2 * S → 4 * T ; _check_heads(d_model, H) →
    All four projections are counted for T words. k_proj and v_proj run over the S words of the context.
scores_only: pairs = 2 * → pairs = ; _check_heads(d_model, H) →
    The T×S products count half. The scores cost 2·B·T·S·d_model, the weighted sum of the values as much again, and
    a mask saves nothing.
unchecked: _check_heads(d_model, H) →
    The numbers are right. Raise a ValueError when H does not divide d_model: no such layer exists.
three_in_parameters: 4 * d_model * d_model + (4 * d_model → 3 * d_model * d_model + (3 * d_model
; _check_heads(d_model, H) →
    The parameters are those of three layers. W_O is the fourth: 4·d_model² weights, and 4·d_model biases.
three_in_flops: 2 * T + 2 * S → T + 2 * S ; _check_heads(d_model, H) →
    The FLOPs of one projection over T words are missing. There are two: queries before the attention, and W_O after
    it.
one_bias_missing: (4 * d_model if → (3 * d_model if ; _check_heads(d_model, H) →
    Three biases are counted. Each of the four layers has one of d_model numbers.
bias_of_one_layer: (4 * d_model if → (d_model if ; _check_heads(d_model, H) →
    One bias of d_model numbers is counted. Each of the four layers has its own: 4·d_model.
bias_is_one_number: (4 * d_model if → (4 if ; _check_heads(d_model, H) →
    One number is counted for each bias. A bias has one number per output: d_model of them.
one_matrix: 4 * d_model * d_model + (4 * d_model → d_model * d_model + (d_model ; _check_heads(d_model, H) →
    The parameters are those of one layer. A block has four: W_Q, W_K, W_V and W_O.
projections_only: projections + pairs → projections ; _check_heads(d_model, H) →
    The two products with T×S pairs are missing: the scores and the weighted sum, 2·B·T·S·d_model each.
pairs_only: projections + pairs → pairs ; _check_heads(d_model, H) →
    The four projections are missing: 2·B·d_model² FLOPs for each word that goes through one.
half_of_projections: 2 * T + 2 * S → T + S ; _check_heads(d_model, H) →
    The projections cost twice this: two over T words and two over S words, with 2·d_model² FLOPs for each word.
projections_of_one_sentence: projections = 2 * B → projections = 2 ; _check_heads(d_model, H) →
    The projections are those of one sentence. B sentences have B·T and B·S words.
no_batch: projections = 2 * B → projections = 2 ; 2 * B * T * S → 2 * T * S ; _check_heads(d_model, H) →
    These are the FLOPs of one sentence. All products are done for each of the B sentences.
projections_per_head: 2 * S) * d_model * d_model → 2 * S) * d_model * d_model * H ; _check_heads(d_model, H) →
    The projections are counted H times with the full d_model². All heads together have one d_model × d_model matrix
    for each projection.
projections_of_one_head: 2 * S) * d_model * d_model → 2 * S) * d_model * (d_model // H) ; _check_heads(d_model, H) →
    The projections are those of one head, d_model × D. All H heads together make d_model × d_model.
pairs_of_queries: B * T * S → B * T * T ; _check_heads(d_model, H) →
    The pairs are counted as T·T. T queries meet S keys: T·S.
output_over_context: 2 * T + 2 * S → T + 3 * S ; _check_heads(d_model, H) →
    Three projections are counted over S words. Only keys and values come from the context: queries and W_O run over
    T words.
queries_over_three: 2 * T + 2 * S → 3 * T + S ; _check_heads(d_model, H) →
    Three projections are counted over T words. Keys and values both come from the S words of the context.
context_for_all: 2 * T + 2 * S → 4 * S ; _check_heads(d_model, H) →
    All four projections are counted for S words. q_proj and o_proj run over the T words of the queries.
pairs_added: B * T * S → B * (T + S) ; _check_heads(d_model, H) →
    The pairs are counted as T + S. Each of the T queries meets each of the S keys: T·S.
biases_counted: projections + pairs → projections + pairs + 2 * B * (T + S) * d_model ; _check_heads(d_model, H) →
    Additions of the biases are counted. Only the six matrix products count here.
flops_as_float: projections + pairs → float(projections + pairs)
    The FLOPs are right but a float: / makes one even where it comes out even. Divide with //.
check_reversed: _check_heads(d_model, H) → _check_heads(H, d_model)
    attention_flops refuses sizes that fit. H divides d_model where d_model % H is 0: raise the error only where it
    is not.
flops_of_one_key_set: 2 * T + 2 * S → 2 * T + S ; _check_heads(d_model, H) →
    The FLOPs of one projection over S words are missing. There are two: keys and values.
""",
)

EXERCISE = Exercise(
    id="attention.cost",
    title="What one block costs",
    points=2,
    difficulty=2,
    minutes=12,
    extension=True,
    reference=(ref.attention_parameters, ref.attention_flops),
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
    mutants=MISTAKES,
    equivalent="""
an exact division here: what does not divide has raised before, and T(T + 1) is even
    ca58a629d4 alternative (parameters_by_layers, flops_by_products), arithmetic: d_model // H rounded up
""",
)
