"""The steps of NormExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "LayerNorm measures from the mean μ, in units of σ. RMSNorm measures from 0, in units of RMS. "
        "Run along the bars.",
        "All inputs are above 0. How many outputs of LayerNorm are below 0?",
        ("none", "3", "6"),
        1,
        "Entries 1, 4 and 7 lie below the mean, 2.5. For RMSNorm all eight stay above 0.",
        "Count the bars that hang down in the middle picture.",
        {"scale": 1.0, "shift": 2.0, "eps": 1e-5},
    ),
    Step(
        "The shift is 0 here. Drag a bar of the input, or the grip μ, up and down: all eight move together.",
        "Which norm notices?",
        ("LayerNorm only", "RMSNorm only", "both"),
        1,
        "LayerNorm takes the mean away, and the shift with it. RMSNorm never looks at the mean.",
        "Which bars leave the black lines, where they stood at shift 0?",
        {"scale": 1.0, "shift": 0.0, "eps": 1e-5},
        moves=("shift",),
    ),
    Step(
        "A shift of 10 is large beside σ = 1.2. Every bar of RMSNorm is now near 1.",
        "How far apart are RMSNorm's largest and smallest bar?",
        ("0.4", "1.4", "3.5"),
        0,
        "1.163 − 0.762: RMS is mostly the shift, so the differences are divided by 10.6 and not by 1.2.",
        "Point at entries 3 and 4 in the right picture, and subtract.",
        {"scale": 1.0, "shift": 10.0, "eps": 1e-5},
    ),
    Step(
        "No shift. Drag the grip σ up: the input gets 3, 10, 100 times as large. Watch the numbers at its axis.",
        "Which norm notices?",
        ("LayerNorm only", "RMSNorm only", "neither"),
        2,
        "Numerator and denominator grow by the same factor.",
        "Do any bars leave the black lines?",
        {"scale": 1.0, "shift": 0.0, "eps": 1e-8},
        moves=("scale",),
    ),
    Step(
        "The scale is −1: all inputs have changed their sign. The black lines are where the bars stood before.",
        "What do the norms make of it?",
        ("nothing changes", "all bars turn over", "only RMSNorm changes"),
        1,
        "σ and RMS are sizes, and a size is positive: a norm keeps the sign of its input.",
        "Compare the bars with the black lines in both norms.",
        {"scale": -1.0, "shift": 0.0, "eps": 1e-5},
    ),
    Step(
        "Now break it: with scale 0.1, σ² is only 0.014. Raise ε, one step at a time.",
        "At which ε are the bars less than half as long?",
        ("1e−5", "1e−3", "0.1"),
        2,
        "ε = 0.1 is 7 times σ²: the root is then mostly ε, and the scale is no longer divided away.",
        "Move ε to its right end and compare with the black lines.",
        {"scale": 0.1, "shift": 0.0, "eps": 1e-8},
        moves=("eps",),
    ),
)
