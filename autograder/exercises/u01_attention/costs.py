"""Parameters and FLOPs of an attention block, and of the three families built from it."""

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import attention as ref


# --- one block -----------------------------------------------------------------------------------------------------
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


# The mistakes leave the ValueError out; see heads.py.
def _flops(projection_rows, pair_factor, factor=2):
    def wrong(B, T, S, d_model, H):
        return factor * B * (projection_rows(T, S) * d_model**2 + pair_factor(T, S, d_model, H))

    return wrong


P = ref.attention_parameters
ROWS = lambda T, S: 2 * T + 2 * S
PAIRS = lambda T, S, d, H: 2 * T * S * d

COST = Exercise(
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
        Case("no bias", "without biases four matrices are left", lambda g: call(g.integer(5, 90), bias=False)),
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
                g.integer(3, 9), g.integer(10, 40), g.integer(50, 90), 4 * g.integer(4, 30), 4, fn="attention_flops"
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


# --- three families ------------------------------------------------------------------------------------------------
def _block(n, B, T, S, d, H, bias, pairs):
    return n, n * P(d, bias), n * ref.attention_flops(B, T, S, d, H), n * pairs


def decoder_by_sum(n_layers, B, T, d_model, H, bias=True):
    """Pairs row by row."""
    return _block(n_layers, B, T, T, d_model, H, bias, sum(t + 1 for t in range(T)))


def both_by_sum(n_encoder, n_decoder, B, S, T, d_model, H, bias=True):
    """Three kinds of block, added up."""
    parts = [
        _block(n_encoder, B, S, S, d_model, H, bias, S * S),
        decoder_by_sum(n_decoder, B, T, d_model, H, bias),
        _block(n_decoder, B, T, S, d_model, H, bias, T * S),
    ]
    return [sum(p[i] for p in parts) for i in range(4)]


def _decoder(pairs, flops=lambda f: f):
    def wrong(n_layers, B, T, d_model, H, bias=True):
        n, p, f, _ = ref.encoder_only_counts(n_layers, B, T, d_model, H, bias)
        return n, p, flops(f), n_layers * pairs(T)

    return wrong


def _both(encoder=ref.encoder_only_counts, decoder=ref.decoder_only_counts, cross=None):
    def wrong(n_encoder, n_decoder, B, S, T, d_model, H, bias=True):
        parts = [encoder(n_encoder, B, S, d_model, H, bias), decoder(n_decoder, B, T, d_model, H, bias)]
        if cross:
            parts.append(cross(n_decoder, B, S, T, d_model, H, bias))
        return tuple(sum(column) for column in zip(*parts, strict=True))

    return wrong


def _cross(n, B, S, T, d, H, bias):
    return _block(n, B, T, S, d, H, bias, T * S)


half = lambda pairs: _decoder(pairs, lambda f: f // 2)
triangle = lambda T: T * (T + 1) // 2
one_layer = lambda n_layers, B, T, d_model, H, bias=True: (
    *ref.encoder_only_counts(n_layers, B, T, d_model, H, bias)[:3],
    triangle(T),
)

FAMILIES = Exercise(
    id="attention.families",
    unit="01-attention",
    title="Three families in numbers",
    points=2,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="decoder_only_counts(n_layers, B, T, d_model, H, bias=True)",
    targets=("decoder_only_counts", "encoder_decoder_counts"),
    reference=(ref.decoder_only_counts, ref.encoder_decoder_counts),
    alternatives=[(decoder_by_sum, both_by_sum)],
    cases=[
        Case(
            "one decoder layer",
            "3 words: word t sees t + 1 words, so 1 + 2 + 3 = 6 pairs are allowed",
            lambda g: call(1, 1, 3, 2, 1),
        ),
        Case(
            "one of each",
            "one encoder layer on 2 words, one decoder layer on 3: three blocks, 4 + 6 + 6 pairs",
            lambda g: call(1, 1, 1, 2, 3, 2, 1, fn="encoder_decoder_counts"),
        ),
        Case(
            "decoder", "GPT-2 small: 12 layers, 1024 words, d_model 768, 12 heads", lambda g: call(12, 1, 1024, 768, 12)
        ),
        Case(
            "decoder, no bias",
            "random sizes, no biases",
            lambda g: call(g.integer(2, 9), g.integer(2, 5), g.integer(5, 50), 4 * g.integer(2, 9), 4, bias=False),
        ),
        Case(
            "different depths",
            "2 encoder layers and 5 decoder layers, long input and short output",
            lambda g: call(
                2, 5, 3, g.integer(50, 90), g.integer(5, 20), 8 * g.integer(2, 5), 8, fn="encoder_decoder_counts"
            ),
        ),
        Case(
            "no bias",
            "6 and 6 layers without biases, as in the original T5-small",
            lambda g: call(6, 6, 2, 40, 30, 512, 8, bias=False, fn="encoder_decoder_counts"),
        ),
    ],
    mutants=[
        Mutant(
            "all_pairs",
            (_decoder(lambda T: T * T), _both(decoder=_decoder(lambda T: T * T), cross=_cross)),
            "The decoder's pairs are counted as T². Under a causal mask word t sees t + 1 words: "
            "1 + 2 + … + T = T(T + 1)/2.",
        ),
        Mutant(
            "without_itself",
            (_decoder(lambda T: T * (T - 1) // 2), _both(decoder=_decoder(lambda T: T * (T - 1) // 2), cross=_cross)),
            "A word sees itself too. Count T(T + 1)/2 pairs, not T(T − 1)/2.",
        ),
        Mutant(
            "pairs_of_one_layer",
            (one_layer, _both(decoder=one_layer, cross=_cross)),
            "The allowed pairs are those of one layer. All four numbers are sums over all layers: multiply by "
            "n_layers.",
        ),
        Mutant(
            "mask_saves_flops",
            (half(triangle), _both(decoder=half(triangle), cross=_cross)),
            "The decoder's FLOPs are halved. A mask hides scores after they were computed: the dense FLOPs stay, "
            "only the allowed pairs shrink.",
        ),
        Mutant(
            "no_cross",
            (ref.decoder_only_counts, _both()),
            "Cross-attention is missing. Each decoder layer of an encoder–decoder has two blocks: causal "
            "self-attention, and attention from T to S.",
        ),
        Mutant(
            "cross_swapped",
            (
                ref.decoder_only_counts,
                _both(cross=lambda n, B, S, T, d, H, bias: _block(n, B, T, T, d, H, bias, T * T)),
            ),
            "Cross-attention is counted with T keys. Its queries come from the T output words, its keys and values "
            "from the S input words.",
        ),
        Mutant(
            "cross_per_encoder",
            (
                ref.decoder_only_counts,
                lambda n_encoder, n_decoder, B, S, T, d_model, H, bias=True: _both(
                    cross=lambda n, *rest: _cross(n_encoder, *rest)
                )(n_encoder, n_decoder, B, S, T, d_model, H, bias),
            ),
            "There is one cross-attention per encoder layer here. It sits in the decoder: count n_decoder of them.",
        ),
        Mutant(
            "both_causal",
            (ref.decoder_only_counts, _both(encoder=ref.decoder_only_counts, cross=_cross)),
            "The encoder's pairs are counted as causal. An encoder word sees all S words, so its layer allows S² "
            "pairs.",
        ),
    ],
)

EXERCISES = [COST, FAMILIES]
