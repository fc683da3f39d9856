"""Parameters and FLOPs of decoders and of encoder-decoders."""

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import attention as ref


def _block(n, B, T, S, d, H, bias, pairs):
    return n, n * ref.attention_parameters(d, bias), n * ref.attention_flops(B, T, S, d, H), n * pairs


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

EXERCISE = Exercise(
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
                2, 5, 3, g.integer(200, 900), g.integer(20, 150), 8 * g.integer(2, 40), 8, fn="encoder_decoder_counts"
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
