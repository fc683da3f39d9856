"""The steps of SoftmaxStabilityExplorer."""

from ..tools.story import Step

_USUAL = {
    "grow": "by the slider",
    "factor": 13,
    "cap": 10.0,
    "gain": 1.0,
    "coefficient": 1e-4,
    "quantity": "entropy",
}

STORY = (
    Step(
        "Drag the scores under “no remedy” to the left and right: one factor multiplies all eight.",
        "What do growing scores do to plain softmax?",
        ("one weight takes all", "the weights become equal", "nothing"),
        0,
        "Its entropy falls to 0: the largest weight goes to 1, all others to 0.",
        "Compare the blue bars at factor 0.125 and at 11.3.",
        _USUAL,
    ),
    Step(
        "A weight learns through its slope. Run along the curve from left to right.",
        "Which line keeps its slope at factor 256?",
        ("no remedy", "soft cap", "QK-norm"),
        2,
        "QK-norm’s scores do not grow at all. The cap bounds the scores, and its own slope goes to 0.",
        "Point at the curve near 256 and read the three numbers.",
        {**_USUAL, "quantity": "slope", "factor": 22},
    ),
    Step(
        "Scores up to 64. Point at the rows of the table: p = exp(x) ÷ Σ exp(x), without a shift and with one.",
        "Which dtype cannot do without the shift here?",
        ("float16", "bfloat16", "float32"),
        0,
        "exp(64) is beyond float16’s largest number; bfloat16 has the exponents of float32.",
        "Look for NaN in the table.",
        {**_USUAL, "factor": 16},
    ),
    Step(
        "z-loss pulls log Z to 0. Its gradient stands in the gray bars, point at one.",
        "Which logit does it push down most?",
        ("the largest", "all alike", "the smallest"),
        0,
        "The gradient is 2 λ log Z · p: it is shared out like the softmax weights.",
        "Compare the gray bars with the blue ones.",
        {**_USUAL, "factor": 8, "coefficient": 1.0},
    ),
    Step(
        "These are the scores of a recorded run. Go through its steps.",
        "When is the slope without a remedy below 0.001?",
        ("from step 40", "from step 96", "never"),
        0,
        "At step 40 the largest score is 95.6, and the slope is practically 0.",
        "Point along the solid line; the label below it counts the steps.",
        {**_USUAL, "grow": "as in a training run", "run_step": 0, "quantity": "slope"},
    ),
    Step(
        "Now break it: a cap of 1 is far too small for these scores. Drag them as far as you like.",
        "Can one key still get a weight of 0.9?",
        ("yes", "no"),
        1,
        "Scores between −1 and 1 give no weight above 0.24: the layer can no longer choose one key.",
        "Let the curve show “largest p” and follow the dashes.",
        {**_USUAL, "cap": 1.0, "quantity": "largest p"},
    ),
)
