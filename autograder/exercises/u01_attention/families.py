"""Parameters and FLOPs of decoders and of encoder-decoders."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
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


MISTAKES = changes(
    (ref.decoder_only_counts, ref.encoder_decoder_counts),
    """
only_allowed_flops: (allowed_pairs → (flops=dense.flops - 2 * n_layers * B * T * (T - 1) * d_model, allowed_pairs
    The decoder's FLOPs leave the hidden pairs out. Dense code computes a masked score and then hides it: the FLOPs
    are those of T·T pairs.
bias_not_passed: S, d_model, H, bias) → S, d_model, H)
; (n_decoder, B, T, d_model, H, bias) → (n_decoder, B, T, d_model, H) ; (d_model, bias) → (d_model)
    encoder_decoder_counts always counts the biases. Pass bias on to all three kinds of block.
all_pairs: T * (T + 1) // 2 → T * T
    The decoder's pairs are counted as T². Under a causal mask word t sees t + 1 words: 1 + 2 + … + T = T(T + 1)/2.
without_itself: (T + 1) → (T - 1)
    A word sees itself too. Count T(T + 1)/2 pairs, not T(T − 1)/2.
pairs_of_one_layer: n_layers * T → T
    The allowed pairs are those of one layer. All four numbers are sums over all layers: multiply by n_layers.
mask_saves_flops: (allowed_pairs → (flops=dense.flops // 2, allowed_pairs
    The decoder's FLOPs are halved. A mask hides scores after they were computed: the dense FLOPs stay, only the
    allowed pairs shrink.
no_cross: decoder, cross → decoder
    Cross-attention is missing. Each decoder layer of an encoder–decoder has two blocks: causal self-attention, and
    attention from T to S.
cross_swapped: (B, T, S, → (B, T, T, ; T * S → T * T
    Cross-attention is counted with T keys. Its queries come from the T output words, its keys and values from the S
    input words.
cross_per_encoder: cross = → n_decoder = n_encoder; cross =
    There is one cross-attention per encoder layer here. It sits in the decoder: count n_decoder of them.
both_causal: encoder = encoder_only_counts → encoder = decoder_only_counts
    The encoder's pairs are counted as causal. An encoder word sees all S words, so its layer allows S² pairs.
pairs_times_batch: n_layers * T → n_layers * B * T ; n_decoder * T → n_decoder * B * T
; encoder, decoder, cross → encoder._replace(allowed_pairs=B * encoder.allowed_pairs), decoder, cross
    Both functions multiply the pairs by B. The allowed pairs are those of one sentence.
decoder_pairs_times_batch: n_layers * T → n_layers * B * T
    The decoder's causal pairs are multiplied by B. The allowed pairs are those of one sentence.
cross_pairs_times_batch: n_decoder * T → n_decoder * B * T
    The pairs of cross-attention are multiplied by B. The allowed pairs are those of one sentence.
pairs_times_heads: n_layers * T → n_layers * H * T
    The decoder's pairs are multiplied by H. Heads are not counted separately here.
cross_below_diagonal: T * S → sum(min(t + 1, S) for t in range(T))
    Cross-attention is counted as causal. Every output word sees all S input words: T·S pairs.
cross_half: T * S → (T * S // 2)
    The pairs of cross-attention are halved. It has no causal mask: every output word sees all S input words.
cross_triangle: T * S → (T * (T + 1) // 2)
    The pairs of cross-attention are T(T + 1)/2, those of the causal block. Every output word sees all S input
    words: T·S pairs.
cross_square_of_input: (B, T, S, → (B, S, S, ; T * S → S * S
    Cross-attention is counted with S queries. Its queries come from the T output words, its keys and values from
    the S input words.
cross_has_no_layers: cross = → n_decoder = 1; cross =
    One cross-attention is counted in all. Each of the n_decoder layers has one.
one_block_per_layer: decoder, cross → decoder, cross._replace(blocks=0, parameters=0)
    Blocks and parameters leave out cross-attention. Each decoder layer has two blocks, with four matrices each.
layers_for_blocks: decoder, cross → decoder, cross._replace(blocks=0)
    The first number counts layers. A decoder layer has two blocks: n_encoder + 2·n_decoder in all.
parameters_shared: decoder, cross → decoder, cross._replace(parameters=0)
    The parameters of cross-attention are missing. It has four matrices of its own.
cross_only_pairs: decoder, cross → decoder, cross._replace(blocks=0, parameters=0, flops=0)
    Cross-attention counts in the pairs only. It is a block of its own, with parameters and FLOPs.
only_cross: encoder, decoder, cross → encoder, cross
    The decoder's causal self-attention is missing. Each decoder layer has that block and cross-attention.
joined: AttentionCounts(*(sum(column) for column in zip(encoder, decoder, → encoder + decoder + ; , strict=True))) →
    + joins the tuples to one of twelve numbers. Add them up entry by entry: tuple(a + b + c for a, b, c in zip(…)).
pairs_as_float: // 2 → / 2
    The pairs are right but a float. T·(T + 1) is even: divide it with //.
half_of_square: T * (T + 1) // 2 → (T * T // 2)
    The decoder's pairs are T²/2, without the rest of the diagonal. 1 + 2 + … + T = T(T + 1)/2.
bracket_missing: T * (T + 1) // 2 → ((T * T + 1) // 2)
    The decoder's pairs are (T·T + 1)/2. Mind the bracket: T·(T + 1)/2.
triangle_not_halved: // 2 →
    The decoder's pairs are T(T + 1), twice as many as the mask allows. Divide by 2.
decoder_bias_not_passed: (n_layers, B, T, d_model, H, bias) → (n_layers, B, T, d_model, H)
    decoder_only_counts always counts the biases. Pass bias on to encoder_only_counts.
bias_never_passed: (n_layers, B, T, d_model, H, bias) → (n_layers, B, T, d_model, H)
; S, d_model, H, bias) → S, d_model, H) ; (n_decoder, B, T, d_model, H, bias) → (n_decoder, B, T, d_model, H)
; (d_model, bias) → (d_model)
    Both functions always count the biases. Pass bias on wherever parameters are counted.
cross_bias_not_passed: (d_model, bias) → (d_model)
    The biases of cross-attention are counted even with bias=False. Pass bias on to its parameters too.
lengths_swapped: encoder = → S, T = T, S; encoder =
    The lengths are exchanged: here the encoder reads T words and the decoder writes S. The encoder's length is S,
    the decoder's T.
depths_swapped: encoder = → n_encoder, n_decoder = n_decoder, n_encoder; encoder =
    n_encoder and n_decoder are exchanged. n_encoder layers have one block each, n_decoder layers have two.
decoder_not_causal: decoder = decoder_only_counts → decoder = encoder_only_counts
    decoder_only_counts is right, but in the encoder–decoder the decoder's own pairs count as T². They are causal
    there too: take decoder_only_counts.
""",
)

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
    idle=("H",),  # the number of heads changes no count
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
    mutants=MISTAKES,
    equivalent="""
d_model numbers are shared by H heads, so no count depends on H; the text asks for no error here
    081eb9b228 solution, ignored: decoder_only_counts: H is always ones
    7bf09aea1f solution, ignored: encoder_decoder_counts: H is always ones
    3d9016706d alternative (decoder_by_sum, both_by_sum), ignored: _block: H is always ones
    2ab88fdf39 alternative (decoder_by_sum, both_by_sum), ignored: decoder_by_sum: H is always ones
    4734001a0a alternative (decoder_by_sum, both_by_sum), ignored: both_by_sum: H is always ones
an exact division here: what does not divide has raised before, and T(T + 1) is even
    1e8387872e solution, arithmetic: n_layers * T * (T + 1) // 2 rounded up
the FLOPs of a block are symmetric in T and S
    9e10bd3fad solution, argument: attention_flops(B, T, S, d_model, H): arguments 2 and 3 swapped
    6a6a27a5d5 alternative (decoder_by_sum, both_by_sum), argument: ref.attention_flops(B, T, S, d, H): arguments 2 an…
the three are only added up
    64a355d0c2 solution, argument: zip(encoder, decoder, cross): arguments 1 and 2 swapped
    0ed23ee546 solution, argument: zip(encoder, decoder, cross): arguments 2 and 3 swapped
the loop fills independent entries, in any order
    80fab49629 alternative (decoder_by_sum, both_by_sum), reversed: range(T) reversed
the counts of a block are symmetric in T and S
    71e757ae73 alternative (decoder_by_sum, both_by_sum), argument: _block(n_decoder, B, T, S, d_model, H, bias, T * S…
""",
)
