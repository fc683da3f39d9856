"""The steps of SoftmaxStabilityExplorer."""

from ..tools.story import Step

_USUAL = {
    "grow": "by the slider",
    "factor": 6,
    "run_step": 0,
    "cap": 10.0,
    "gain": 1.0,
    "coefficient": 1e-4,
    "quantity": "entropy",
    "exp_of": "x",
    "more": False,
    "part": "all",
}
_LATER = ("grow", "more")

STORY = (
    Step(
        "Softmax turns eight scores x into weights, the bars. float16 is a small kind of number, fast on GPUs; its "
        "line shows exp(x) of each score. Drag the box of scores right until the weights break.",
        "NaN means “not a number”. What broke the weights?",
        ("a score above 65,504", "exp of the largest score", "a weight above 1"),
        1,
        "exp(11.3) is about 82,000, but float16 ends at 65,504. What is larger becomes ∞, and ∞ ÷ ∞ is NaN.",
        "Drag until the first NaN. Which mark has just left the gray bar, and where does that bar end?",
        _USUAL,
        moves=("factor",),
        show=({"factor": 8}, {"factor": 9}, {"factor": 10}, {"factor": 11}),
        without=("exp_of", *_LATER),
    ),
    Step(
        "A trick, the shift: subtract the largest score, max, from all scores first. Switch between x and x − max, "
        "here and after dragging the scores left or right.",
        "What does it do to weights that were not broken?",
        ("nothing", "all get smaller", "the largest gets more"),
        0,
        "exp(x − max) is exp(x) ÷ exp(max), and so is their sum: exp(max) cancels. And no exp is above 1.",
        "Compare the eight weights for x and for x − max at one factor.",
        {**_USUAL, "factor": 8},
        moves=("factor", "exp_of"),
        show=({"exp_of": "x − max"}, {"exp_of": "x"}, {"exp_of": "x − max"}, {"factor": 12}, {"factor": 14}),
        without=_LATER,
    ),
    Step(
        "With the shift no exp becomes ∞, but drag right: more and more marks turn hollow. Their exp is too small "
        "for float16 and becomes 0.",
        "What does that do to the weights?",
        ("they break again", "next to nothing", "they all become 0"),
        1,
        "The largest score has exp(0) = 1, so the sum is at least 1. Each one lost is below a ten-millionth of it.",
        "Watch the bars while marks turn hollow. Is a weight lost that you could have seen?",
        {**_USUAL, "factor": 9, "exp_of": "x − max"},
        moves=("factor",),
        show=({"factor": 11}, {"factor": 12}, {"factor": 13}, {"factor": 15}),
        without=_LATER,
    ),
    Step(
        "Now a model scores eight tokens. If the right one has the weight p, the loss is −log p: see the bars “−log p”."
        " Drag the scores right until the lowest weights are 0.",
        "What does a weight of 0 do to the loss?",
        ("nothing", "it becomes 0", "it becomes ∞"),
        2,
        "−log 0 is ∞, and its gradient is NaN. log Z − x is the same loss without a weight: the bars “log Z − x” "
        "stay numbers.",
        "Drag to factor 8. What stands at the lowest bars under “−log p”?",
        {**_USUAL, "factor": 8, "exp_of": "x − max", "more": True, "part": "loss"},
        moves=("factor",),
        show=({"factor": 10}, {"factor": 11}, {"factor": 12}, {"factor": 13}),
        without=("part", *_LATER),
    ),
    Step(
        "Would a larger dtype (kind of number) do without the shift? Each has its line; the gray bar ends at its "
        "largest number. Drag the scores right, as far as you like.",
        "Which dtype never needs the shift?",
        ("float32", "float64", "none of them"),
        2,
        "exp outgrows all: float32 and bfloat16 end at exp(88.7), float64 at exp(709.8). So softmax always shifts.",
        "Drag the scores to the very right. Which lines have no ×?",
        {**_USUAL, "factor": 9, "more": True, "part": "dtypes"},
        moves=("factor",),
        show=({"factor": 12}, {"factor": 18}, {"factor": 22}, {"factor": 24}),
        without=("part", *_LATER),
    ),
    Step(
        "Large scores do another harm, even with the shift. A score of attention is q · k ÷ √D, for vectors of D "
        "numbers. Without √D, D = 128 makes it √128 = 11.3 times as large: drag to that factor.",
        "What does that do to learning?",
        ("nothing, with the shift", "it almost stops", "it gets faster"),
        1,
        "One weight takes 0.997 of all. Its slope falls to 0.0035, and with it the gradient that comes back.",
        "Follow the slope, the line in the lower picture, to factor 11.3.",
        {**_USUAL, "more": True, "part": "slope", "quantity": "slope"},
        moves=("factor",),
        show=({"factor": 8}, {"factor": 10}, {"factor": 12}, {"factor": 13}),
        without=("part", "quantity", *_LATER),
    ),
    Step(
        "In training, scores can get too large all the same. A remedy: a soft cap squeezes each score between −10 and "
        "10. Drag to factor 64.",
        "Where do keys still share the weight?",
        ("with no remedy", "with soft cap", "with neither"),
        1,
        "Four scores are squeezed to almost 10. But the cap is flat there: its own slope is near 0.",
        "Compare the bars at factor 64. Where is more than one long?",
        {**_USUAL, "more": True, "quantity": "slope", "part": "soft cap"},
        moves=("factor",),
        show=({"factor": 10}, {"factor": 13}, {"factor": 18}),
        without=("part", "quantity", *_LATER),
    ),
    Step(
        "Another remedy: q and k grow in training, but QK-norm gives each a fixed length, so that no score gets beyond "
        "a bound, here 4. Drag to factor 256.",
        "Is its slope still large enough there to learn?",
        ("no, it falls to 0, too", "yes, as at factor 1"),
        1,
        "QK-norm divides the growth out. The cap bounds the scores, but its own slope goes to 0.",
        "Point at the curves at 256, and read the three slopes in the gray box.",
        {**_USUAL, "more": True, "quantity": "slope", "part": "QK-norm"},
        moves=("factor",),
        show=({"factor": 14, "along": True}, {"factor": 18, "along": True}, {"factor": 22, "along": True}),
        without=("quantity",),
    ),
)
