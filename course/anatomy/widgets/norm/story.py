"""The steps of NormExplorer."""

from ..tools.story import Step

_BARS = {"show": "bars", "stage": 2}

STORY = (
    Step(
        "A norm brings numbers to one size. LayerNorm subtracts their mean μ and divides by σ, their typical distance "
        "from μ. RMSNorm only divides, by RMS, their typical distance from 0.",
        "All inputs are above 0. How many outputs of LayerNorm are below 0?",
        ("none", "3", "6"),
        1,
        "Entries 1, 4 and 7 lie below the mean, 3.5. For RMSNorm all eight stay above 0.",
        "Count the bars that hang down in the middle picture.",
        {"scale": 1.0, "shift": 3.0, "eps": 1e-5, **_BARS},
        show=tuple({"entry": i} for i in (1, 4, 7)),
        waits=("line", "numbers"),
        without=("eps", "scale", "show", "before", "sizes"),
    ),
    Step(
        "The shift is 0 here. Drag a bar of the input, or the grip μ, up and down: all eight move together.",
        "Which norm’s bars change?",
        ("LayerNorm’s only", "RMSNorm’s only", "both"),
        1,
        "LayerNorm takes the mean away, and the shift with it. RMSNorm never looks at the mean.",
        "Which bars leave the short lines, where they stood at shift 0?",
        {"scale": 1.0, "shift": 0.0, "eps": 1e-5, **_BARS},
        moves=("shift",),
        show=({"shift": 0.5}, {"shift": 1.0}, {"shift": 2.0}),
        waits=("line", "numbers"),
        without=("eps", "show"),
    ),
    Step(
        "Now all 8 numbers of x are one point: the larger their mean, the higher it stands. The flat line is the plane "
        "of mean 0, seen from the side. Go through the stages, from x to its result y.",
        "Which y is high above the plane?",
        ("LayerNorm’s", "RMSNorm’s", "both"),
        1,
        "Both end on the circle, but RMSNorm only shortens x: its y is still 0.90 of the radius high. LayerNorm took "
        "all the height away first.",
        "Set “after the norm” and look for the two triangles.",
        {"scale": 1.0, "shift": 2.0, "eps": 1e-5, "show": "points", "stage": 0},
        moves=("stage",),
        show=({"stage": 1}, {"stage": 2}),
        waits=("line", "signs"),
    ),
    Step(
        "Drag the grip σ up: the input gets 3, 10, 100 times as large and outgrows its axis. ε, which only prevents "
        "a division by 0, is tiny here.",
        "Which norm’s bars change?",
        ("LayerNorm’s only", "RMSNorm’s only", "neither"),
        2,
        "Numerator and denominator grow by one factor. So a stream may grow 100 times through a model, and each layer "
        "still reads numbers of the same size.",
        "Do any bars leave the short lines?",
        {"scale": 1.0, "shift": 0.0, "eps": 1e-8, **_BARS},
        moves=("scale",),
        show=({"scale": 3.0}, {"scale": 10.0}, {"scale": 100.0}),
        waits=("line", "numbers"),
    ),
    Step(
        "The scale is −1: all inputs have changed their sign. The short lines are where the bars stood before.",
        "Which norm’s bars turn over?",
        ("neither", "RMSNorm’s only", "both"),
        2,
        "σ and RMS are sizes, and no size is negative. Dividing by one keeps every sign, so the bars stay turned over.",
        "Compare the bars with the short lines in both norms.",
        {"scale": -1.0, "shift": 0.0, "eps": 1e-5, **_BARS},
        show=({"scale": 1.0}, {"scale": -1.0}),
        waits=("line", "numbers"),
    ),
    Step(
        "Now break it: at scale 0.1 the input is almost flat, and σ² is only 0.014. Raise ε, which is added under the "
        "root, one step at a time.",
        "At which ε are the bars less than half as long?",
        ("1e−5", "1e−3", "0.1"),
        2,
        "ε = 0.1 is 7 times σ²: the root is then mostly ε, and the scale is no longer divided away.",
        "Move ε to its right end and compare with the short lines.",
        {"scale": 0.1, "shift": 0.0, "eps": 1e-8, **_BARS},
        moves=("eps",),
        show=({"eps": 1e-5}, {"eps": 1e-3}, {"eps": 0.1}),
        waits=("line", "numbers"),
    ),
)
