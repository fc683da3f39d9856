"""The claims of the source notes that were found wrong or imprecise, and where the course tries each.

Number in the list of claims → (unit, words that its claim on trial contains, kinds of evidence of which its verdict
needs at least one). A claim about a named model is decided by that model's own configuration, or by its paper if no
configuration can tell.
"""

EXACT, RECORDED, MEASURED, MODELS, CITED = "exact", "recorded", "measured", "models", "cited"

CLAIMS = {
    1: ("06", "cat([-x_f, x_s]", {EXACT}),
    2: ("06", "not neighbors", {EXACT}),
    3: ("06", "float16 queries", {EXACT}),
    4: ("06", "x_m x_n \\cos", {EXACT}),
    5: ("06", "Natural extrapolation", {RECORDED}),
    6: ("05", "PaLM uses absolute", {MODELS}),
    7: ("05", "mask attention is symmetric", {EXACT}),
    8: ("03", "depends on batch statistics", {EXACT}),
    9: ("03", "gradient vanishes", {RECORDED}),
    10: ("03", "prevent overfitting", {RECORDED}),
    14: ("04", "\\beta = 1/\\sqrt2", {MODELS}),
    16: ("04", "activated branch", {EXACT}),
    17: ("02", "\\lVert x\\rVert_2^2", {EXACT}),
    18: ("02", "may also get a bias", {EXACT, MODELS}),
    19: ("13", "49152", {MODELS}),
    20: ("13", "A100", {CITED}),
    21: ("01", "BERT is in essence", {MODELS}),
    22: ("08", "LLaMA series uses GQA", {MODELS}),
    23: ("08", "512 KiB", {EXACT}),
    24: ("08", "does not grow with the input", {EXACT}),
    25: ("07", "are set to 0", {EXACT}),
    26: ("07", "−1e9", {EXACT}),
    27: ("05", "\\text{Bias}", {MODELS}),
    29: ("05", "DeBERTa", {MODELS}),
    30: ("07", "T5 is a prefix LM", {MODELS}),
    31: ("07", "UniLM", {EXACT, CITED}),
    32: ("09", "L \\times w", {EXACT}),
    33: ("05", "Sinusoidal positions extrapolate", {RECORDED}),
    35: ("10", "whatever the learning rate", {EXACT}),
    36: ("10", "1/(1 − p)", {EXACT}),
    37: ("10", "ill-conditioned", {EXACT, RECORDED}),
    38: ("03", "except BERT use pre-norm", {MODELS}),
    39: ("02", "fewer FLOPs", {MEASURED}),
    40: ("08", "FlashAttention and PagedAttention", {EXACT, CITED}),
    41: ("07", "CLIP is an encoder", {MODELS}),
    42: ("08", "678B", {MODELS, EXACT}),
}

# Misprints of one page teach little: they are not on trial. Number in the list → (unit, words of its text that give the
# right form).
MISPRINTS = {
    11: ("04", "makes the constant 0.798"),
    12: ("04", "is $1 - \\sigma(x)$ and not"),
    13: ("04", "The factor in front makes the area under it 1"),
    15: ("04", '"Gated twice" multiplies SwiGLU\'s product by a third branch'),
    28: ("05", "8 to 11 share bucket 8"),
    34: ("05", "counts *pairs* of features"),
}
