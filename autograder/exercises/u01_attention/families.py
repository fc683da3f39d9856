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


def _allowed_only(n_layers, B, T, d_model, H, bias=True):
    n, p, f, pairs = ref.decoder_only_counts(n_layers, B, T, d_model, H, bias)
    return n, p, f - n_layers * 4 * B * (T * T - T * (T + 1) // 2) * d_model, pairs


half = lambda pairs: _decoder(pairs, lambda f: f // 2)
triangle = lambda T: T * (T + 1) // 2

one_layer = lambda n_layers, B, T, d_model, H, bias=True: (
    *ref.encoder_only_counts(n_layers, B, T, d_model, H, bias)[:3],
    triangle(T),
)


def _cross_with(pairs):
    """Cross-attention with another count of pairs for one layer."""
    return lambda n, B, S, T, d, H, bias: _block(n, B, T, S, d, H, bias, pairs(B, T, S, H))


def _with_parts(blocks=1, parameters=1):
    """Cross-attention of which blocks or parameters are left out."""

    def cross(n, B, S, T, d, H, bias):
        full = _cross(n, B, S, T, d, H, bias)
        return blocks * full[0], parameters * full[1], *full[2:]

    return cross


def _decoder_with(pairs):
    """Mistaken pairs of one decoder layer, from (B, T, H), in both functions."""

    def wrong(n_layers, B, T, d_model, H, bias=True):
        return *ref.encoder_only_counts(n_layers, B, T, d_model, H, bias)[:3], n_layers * pairs(B, T, H)

    return wrong


def _without_bias(n_layers, B, T, d_model, H, bias=True):
    return ref.decoder_only_counts(n_layers, B, T, d_model, H)


def joined(n_encoder, n_decoder, B, S, T, d_model, H, bias=True):
    parts = ref.encoder_only_counts(n_encoder, B, S, d_model, H, bias)
    parts += ref.decoder_only_counts(n_decoder, B, T, d_model, H, bias)
    return tuple(parts) + _cross(n_decoder, B, S, T, d_model, H, bias)


def lengths_swapped(n_encoder, n_decoder, B, S, T, d_model, H, bias=True):
    return ref.encoder_decoder_counts(n_encoder, n_decoder, B, T, S, d_model, H, bias)


def depths_swapped(n_encoder, n_decoder, B, S, T, d_model, H, bias=True):
    return ref.encoder_decoder_counts(n_decoder, n_encoder, B, S, T, d_model, H, bias)


def batch_everywhere(n_encoder, n_decoder, B, S, T, d_model, H, bias=True):
    *rest, pairs = ref.encoder_decoder_counts(n_encoder, n_decoder, B, S, T, d_model, H, bias)
    return *rest, B * pairs


def _in_both(decoder):
    return decoder, _both(decoder=decoder, cross=_cross)


EXERCISE = Exercise(
    id="attention.families",
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
            "only_allowed_flops",
            (_allowed_only, _both(decoder=_allowed_only, cross=_cross)),
            "The decoder's FLOPs leave the hidden pairs out. Dense code computes a masked score and then hides it: the "
            "FLOPs are those of T·T pairs.",
        ),
        Mutant(
            "bias_not_passed",
            (
                ref.decoder_only_counts,
                lambda n_encoder, n_decoder, B, S, T, d_model, H, bias=True: ref.encoder_decoder_counts(
                    n_encoder, n_decoder, B, S, T, d_model, H
                ),
            ),
            "encoder_decoder_counts always counts the biases. Pass bias on to all three kinds of block.",
        ),
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
        Mutant(
            "pairs_times_batch",
            (_decoder_with(lambda B, T, H: B * triangle(T)), batch_everywhere),
            "Both functions multiply the pairs by B. The allowed pairs are those of one sentence.",
        ),
        Mutant(
            "decoder_pairs_times_batch",
            _in_both(_decoder_with(lambda B, T, H: B * triangle(T))),
            "The decoder's causal pairs are multiplied by B. The allowed pairs are those of one sentence.",
        ),
        Mutant(
            "cross_pairs_times_batch",
            (ref.decoder_only_counts, _both(cross=_cross_with(lambda B, T, S, H: B * T * S))),
            "The pairs of cross-attention are multiplied by B. The allowed pairs are those of one sentence.",
        ),
        Mutant(
            "pairs_times_heads",
            _in_both(_decoder_with(lambda B, T, H: H * triangle(T))),
            "The decoder's pairs are multiplied by H. Heads are not counted separately here.",
        ),
        Mutant(
            "cross_below_diagonal",
            (
                ref.decoder_only_counts,
                _both(cross=_cross_with(lambda B, T, S, H: sum(min(t + 1, S) for t in range(T)))),
            ),
            "Cross-attention is counted as causal. Every output word sees all S input words: T·S pairs.",
        ),
        Mutant(
            "cross_half",
            (ref.decoder_only_counts, _both(cross=_cross_with(lambda B, T, S, H: T * S // 2))),
            "The pairs of cross-attention are halved. It has no causal mask: every output word sees all S input words.",
        ),
        Mutant(
            "cross_triangle",
            (ref.decoder_only_counts, _both(cross=_cross_with(lambda B, T, S, H: triangle(T)))),
            "The pairs of cross-attention are T(T + 1)/2, those of the causal block. Every output word sees all S "
            "input words: T·S pairs.",
        ),
        Mutant(
            "cross_square_of_input",
            (ref.decoder_only_counts, _both(cross=lambda n, B, S, T, d, H, b: _block(n, B, S, S, d, H, b, S * S))),
            "Cross-attention is counted with S queries. Its queries come from the T output words, its keys and values "
            "from the S input words.",
        ),
        Mutant(
            "cross_has_no_layers",
            (ref.decoder_only_counts, _both(cross=lambda n, *rest: _cross(1, *rest))),
            "One cross-attention is counted in all. Each of the n_decoder layers has one.",
        ),
        Mutant(
            "one_block_per_layer",
            (ref.decoder_only_counts, _both(cross=_with_parts(0, 0))),
            "Blocks and parameters leave out cross-attention. Each decoder layer has two blocks, with four matrices "
            "each.",
        ),
        Mutant(
            "layers_for_blocks",
            (ref.decoder_only_counts, _both(cross=_with_parts(0, 1))),
            "The first number counts layers. A decoder layer has two blocks: n_encoder + 2·n_decoder in all.",
        ),
        Mutant(
            "parameters_shared",
            (ref.decoder_only_counts, _both(cross=_with_parts(1, 0))),
            "The parameters of cross-attention are missing. It has four matrices of its own.",
        ),
        Mutant(
            "cross_only_pairs",
            (ref.decoder_only_counts, _both(cross=lambda n, B, S, T, d, H, b: (0, 0, 0, n * T * S))),
            "Cross-attention counts in the pairs only. It is a block of its own, with parameters and FLOPs.",
        ),
        Mutant(
            "only_cross",
            (
                ref.decoder_only_counts,
                _both(decoder=lambda *a: (0, 0, 0, 0), cross=_cross),
            ),
            "The decoder's causal self-attention is missing. Each decoder layer has that block and cross-attention.",
        ),
        Mutant(
            "joined",
            (ref.decoder_only_counts, joined),
            "+ joins the tuples to one of twelve numbers. Add them up entry by entry: "
            "tuple(a + b + c for a, b, c in zip(…)).",
        ),
        Mutant(
            "pairs_as_float",
            _in_both(_decoder_with(lambda B, T, H: T * (T + 1) / 2)),
            "The pairs are right but a float. T·(T + 1) is even: divide it with //.",
        ),
        Mutant(
            "half_of_square",
            _in_both(_decoder_with(lambda B, T, H: T * T // 2)),
            "The decoder's pairs are T²/2, without the rest of the diagonal. 1 + 2 + … + T = T(T + 1)/2.",
        ),
        Mutant(
            "bracket_missing",
            _in_both(_decoder_with(lambda B, T, H: (T * T + 1) // 2)),
            "The decoder's pairs are (T·T + 1)/2. Mind the bracket: T·(T + 1)/2.",
        ),
        Mutant(
            "triangle_not_halved",
            _in_both(_decoder_with(lambda B, T, H: T * (T + 1))),
            "The decoder's pairs are T(T + 1), twice as many as the mask allows. Divide by 2.",
        ),
        Mutant(
            "decoder_bias_not_passed",
            (_without_bias, _both(decoder=_without_bias, cross=_cross)),
            "decoder_only_counts always counts the biases. Pass bias on to encoder_only_counts.",
        ),
        Mutant(
            "bias_never_passed",
            (
                _without_bias,
                lambda n_encoder, n_decoder, B, S, T, d_model, H, bias=True: ref.encoder_decoder_counts(
                    n_encoder, n_decoder, B, S, T, d_model, H
                ),
            ),
            "Both functions always count the biases. Pass bias on wherever parameters are counted.",
        ),
        Mutant(
            "cross_bias_not_passed",
            (ref.decoder_only_counts, _both(cross=lambda n, B, S, T, d, H, bias: _cross(n, B, S, T, d, H, True))),
            "The biases of cross-attention are counted even with bias=False. Pass bias on to its parameters too.",
        ),
        Mutant(
            "lengths_swapped",
            (ref.decoder_only_counts, lengths_swapped),
            "The lengths are exchanged: here the encoder reads T words and the decoder writes S. The encoder's length "
            "is S, the decoder's T.",
        ),
        Mutant(
            "depths_swapped",
            (ref.decoder_only_counts, depths_swapped),
            "n_encoder and n_decoder are exchanged. n_encoder layers have one block each, n_decoder layers have two.",
        ),
        Mutant(
            "decoder_not_causal",
            (ref.decoder_only_counts, _both(decoder=ref.encoder_only_counts, cross=_cross)),
            "decoder_only_counts is right, but in the encoder–decoder the decoder's own pairs count as T². They are "
            "causal there too: take decoder_only_counts.",
        ),
    ],
)
