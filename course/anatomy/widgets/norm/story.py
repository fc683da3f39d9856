"""The steps of NormExplorer."""

from ..tools.story import Step

_BARS = {"show": "bars", "stage": 2}
_START = {"scale": 1.0, "shift": 0.0, "eps": 1e-5, **_BARS}

STORY = (
    Step(
        "A token’s numbers may grow 100 times through a model. Before each sublayer, a norm reads them: LayerNorm "
        "divides by σ, their size around the mean, RMSNorm by RMS, around 0. Drag the grip σ up.",
        "Which norm’s bars grow with the input?",
        ("LayerNorm’s only", "RMSNorm’s only", "neither’s"),
        2,
        "σ and RMS grow by the same factor as the input, so the quotient stays. Whatever the stream’s size, each "
        "sublayer reads numbers of one size; a learned gain per number then sets how large.",
        "Do any bars leave the short lines, where they stood before?",
        _START,
        moves=("scale",),
        show=({"scale": 3.0}, {"scale": 10.0}, {"scale": 100.0}),
        waits=("line", "numbers"),
        without=("eps", "shift", "show", "mean", "formula", "checks"),
    ),
    Step(
        "Now add one number to all eight. Drag a bar of the input, or the grip μ, their mean, up and down.",
        "Which norm’s bars change?",
        ("LayerNorm’s only", "RMSNorm’s only", "both norms’"),
        1,
        "LayerNorm takes the mean away first, and the shift with it. RMSNorm keeps it: at shift 10 its bars are nearly "
        "alike, as the mean drowns the differences.",
        "Which bars leave the short lines, where they stood at shift 0?",
        _START,
        moves=("shift",),
        show=({"shift": 1.0}, {"shift": 3.0}, {"shift": 10.0}),
        waits=("line", "numbers"),
        without=("eps", "scale", "show", "formula", "checks"),
    ),
    Step(
        "The same as geometry: the 8 numbers of x are one point. Up is the mean, the direction (1, …, 1); the flat "
        "line is all vectors of mean 0. Go through the stages, from x to y.",
        "What does only LayerNorm throw away?",
        ("the height", "the length", "both"),
        0,
        "Both end on the circle: 8 numbers of RMS 1 have the length √8. LayerNorm first lets x fall straight onto the "
        "flat line; RMSNorm only shortens it, and y is still 0.90 of the radius high.",
        "Set “after the norm”: both triangles lie on the circle. How high is each?",
        {"scale": 1.0, "shift": 2.0, "eps": 1e-5, "show": "points", "stage": 0},
        moves=("stage",),
        show=({"stage": 1}, {"stage": 2}),
        waits=("line", "signs"),
        without=("eps", "scale", "shift", "formula", "checks"),
    ),
    Step(
        "Many models use RMSNorm, which leaves the mean in. Here μ is 2.5. Drag it down to 0.",
        "How do both norms’ bars differ there?",
        ("not at all", "in their length", "in their signs"),
        0,
        "At mean 0, RMS is σ, so both divide the same x by the same number. A model can learn weights that write "
        "numbers of mean 0 into the stream; then nothing is left for LayerNorm to subtract.",
        "Drag μ until the dotted line lies on 0, at shift −0.5. Compare bar 4 of both.",
        {**_START, "shift": 2.0},
        moves=("shift",),
        show=({"shift": 1.0}, {"shift": 0.0}, {"shift": -0.5}),
        waits=("line", "signs", "numbers"),
        without=("eps", "scale", "show", "before", "formula", "checks"),
    ),
    Step(
        "At scale 0.01 the input’s bars are too low to see: it may be mere noise. Yet both norms’ are as high as ever. "
        "Raise ε, which stands under the root.",
        "What does a large ε do to the norms’ bars?",
        ("keeps them low", "raises them", "nothing"),
        0,
        "σ² is only 0.00014. Beside ε = 0.1 it hardly counts: the divisor is nearly √ε, and noise is not blown up. A "
        "small ε only prevents 0 ÷ 0.",
        "Move ε to its right end and compare with the short lines.",
        {**_START, "scale": 0.01, "eps": 1e-8},
        moves=("eps",),
        show=({"eps": 1e-5}, {"eps": 1e-3}, {"eps": 0.1}),
        waits=("line", "numbers"),
        without=("shift", "show"),
    ),
    Step(
        "Try both: scale 3 with shift 3, then scale −1 with shift 0.",
        "Which change of x can no layer after LayerNorm notice?",
        ("3 · x + 3", "−x", "both"),
        0,
        "LayerNorm forgets size and mean. All else stays: σ is never negative, so −x turns every bar over. RMSNorm "
        "forgets the size alone.",
        "After each change, do LayerNorm’s bars leave the short lines?",
        {**_START, "eps": 1e-8},
        moves=("scale", "shift"),
        show=({"scale": 3.0}, {"shift": 3.0}, {"scale": 1.0, "shift": 0.0}, {"scale": -1.0}),
        waits=("line", "numbers"),
        without=("eps", "show", "formula", "checks"),
    ),
)
