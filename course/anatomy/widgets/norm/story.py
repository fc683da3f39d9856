"""The steps of NormExplorer."""

from ..tools.story import Step

_BARS = {"show": "bars", "stage": 2}

STORY = (
    Step(
        "A norm gives each layer numbers of one size; without it they grow from layer to layer. LayerNorm first "
        "subtracts the mean μ, RMSNorm doesn’t.",
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
        "Which norm notices?",
        ("LayerNorm only", "RMSNorm only", "both"),
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
        "Each vector of 8 numbers is now one point. The flat line is the plane of mean 0, seen from the side. The "
        "shift of 2 puts x high above it. Go through the three stages.",
        "Both end on the circle. Which is high above the plane?",
        ("LayerNorm’s", "RMSNorm’s", "both"),
        1,
        "RMSNorm only shortens x: its y is still 0.90 of the radius high. LayerNorm took all the height away first.",
        "Set “after the norm” and look for the two triangles.",
        {"scale": 1.0, "shift": 2.0, "eps": 1e-5, "show": "points", "stage": 0},
        moves=("stage",),
        show=({"stage": 1}, {"stage": 2}),
        waits=("line", "signs"),
    ),
    Step(
        "ε, added under the root against division by 0, is only 1e−8. Drag the grip σ up: the input gets 3, 10, 100 "
        "times as large. Its axis grows with it: the band is the old axis.",
        "Which norm notices?",
        ("LayerNorm only", "RMSNorm only", "neither"),
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
        "What do the norms make of it?",
        ("nothing changes", "all bars turn over", "only RMSNorm changes"),
        1,
        "σ and RMS are sizes, and a size is positive: dividing by one turns no sign, so what turns over stays turned.",
        "Compare the bars with the short lines in both norms.",
        {"scale": -1.0, "shift": 0.0, "eps": 1e-5, **_BARS},
        show=({"scale": 1.0}, {"scale": -1.0}),
        waits=("line", "numbers"),
    ),
    Step(
        "Now break it: with scale 0.1, σ² is only 0.014. Raise ε, one step at a time.",
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
