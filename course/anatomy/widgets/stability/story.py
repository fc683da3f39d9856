"""The steps of SoftmaxStabilityExplorer."""

from ..tools.story import Step

_USUAL = {
    "grow": "by the slider",
    "factor": 13,
    "run_step": 0,
    "cap": 10.0,
    "gain": 1.0,
    "coefficient": 1e-4,
    "quantity": "entropy",
    "more": True,
    "part": "all",
}

STORY = (
    Step(
        "Each bar is the weight that softmax gives to the score at its left. Drag the box of scores to the right: one "
        "factor makes all eight larger.",
        "What happens as they grow?",
        ("one weight takes all", "weights become equal", "nothing"),
        0,
        "At factor 11.3 the first key has 0.997, and the entropy is near 0 nats.",
        "Compare the bars at factor 1 and at 11.3.",
        {**_USUAL, "factor": 6, "more": False},
        moves=("factor",),
        show=({"factor": 8}, {"factor": 10}, {"factor": 12}, {"factor": 13}),
    ),
    Step(
        "A soft cap squeezes each score between −10 and 10, however large it was. Drag the scores to the right.",
        "At factor 256, what are the four positive scores?",
        ("all 10, with equal weights", "one is far ahead", "all 0"),
        0,
        "They were 128 to 512, and all end at 10: far beyond the cap, large scores are no longer told apart.",
        "Drag to factor 256 and read, under “soft cap”, the scores at the left of the bars.",
        {**_USUAL, "factor": 13, "part": "soft cap"},
        moves=("factor",),
        show=({"factor": 16}, {"factor": 19}, {"factor": 22}),
    ),
    Step(
        "Where a weight no longer moves with its score, nothing is learned: slope 0. Point along the lines.",
        "Which line keeps its slope at 256?",
        ("no remedy", "soft cap", "QK-norm"),
        2,
        "QK-norm divides the growth out. The cap bounds the scores, but its own slope goes to 0.",
        "Point at the dotted line, which stands at 256, and read the three slopes in the gray line.",
        {**_USUAL, "quantity": "slope", "factor": 22, "part": "QK-norm"},
        moves=("factor",),
        show=({"factor": 14, "along": True}, {"factor": 18, "along": True}, {"factor": 22, "along": True}),
    ),
    Step(
        "These scores reach 64. The shift subtracts the largest score from all before exp. In the table, each dtype "
        "has a limit for exp(x).",
        "Which dtype needs the shift here?",
        ("float16", "bfloat16", "float32"),
        0,
        "exp(64) is beyond float16, which ends at 65,504. bfloat16 reaches as far as float32.",
        "Look for NaN in the table.",
        {**_USUAL, "factor": 16, "part": "dtypes"},
        show=({"dtype": 0},),
        waits=("line", "numbers"),
    ),
    Step(
        "Z is the sum below softmax’s fraction. z-loss pulls log Z toward 0, so the logits cannot drift up together. "
        "The gray bars are its gradient.",
        "Which logit does it push down most?",
        ("the largest", "all alike", "the smallest"),
        0,
        "The gradient is 2 λ log Z · p, so each logit gets a share as large as its weight.",
        "Compare the gray bars with the blue ones.",
        {**_USUAL, "factor": 8, "coefficient": 1.0, "part": "z-loss"},
        show=({"key": 7, "panel": 0}, {"key": 0, "panel": 0}),
    ),
    Step(
        "Now the scores of a recorded training run. Point along the solid line, step by step.",
        "From which step on is its slope below 0.001?",
        ("8", "32", "96"),
        1,
        "At step 24 it is still 0.0086; at step 32, with scores up to 50.5, it is 3.3e−6.",
        "Point at each of these steps, and read the first slope in the gray line.",
        {**_USUAL, "grow": "as in a training run", "quantity": "slope", "part": "QK-norm"},
        moves=("run_step",),
        show=({"run_step": 1, "along": True}, {"run_step": 3, "along": True}, {"run_step": 4, "along": True}),
    ),
    Step(
        "Now break it: a cap of 1 is far too small for these scores. Drag them as far as you like.",
        "Can the soft cap still give one key 0.9?",
        ("yes", "no"),
        1,
        "No weight gets above 0.24: scores between −1 and 1 are too close together for a choice.",
        "Follow the dashed line from end to end: it shows the largest weight.",
        {**_USUAL, "cap": 1.0, "quantity": "largest p", "part": "soft cap"},
        moves=("factor",),
        show=({"factor": 6}, {"factor": 20}, {"factor": 36}),
        waits=("line",),
    ),
)
