"""The steps of GradientFlowExplorer."""

from ..tools.story import Step

POST, PRE = 0, 1  # indices in NAMES
_USUAL = {"wiring": POST, "other": PRE, "depth": 12, "width": 32, "seed": 0}

STORY = (
    Step(
        "Run along “Last layer against depth”: it sets the depth, and the other picture shows each layer.",
        "Which last layer gets less gradient in a deeper stack?",
        ("Post-LN’s", "Pre-LN’s", "both"),
        1,
        "Pre-LN’s falls about as depth to the power −0.5; Post-LN’s stays flat.",
        "Follow both lines of that picture from 6 to 96.",
        _USUAL,
        moves=("depth",),
    ),
    Step(
        "96 layers. Point at the first and at the last layer of the dotted curve.",
        "How much more gradient does Pre-LN’s first layer get than its last?",
        ("as much", "twice", "15 times"),
        2,
        "14.6 times: a late layer adds to a residual stream that has grown large.",
        "Read “first / last layer” of Pre-LN below the pictures.",
        {**_USUAL, "depth": 96},
    ),
    Step(
        "Point at the small pictures; a click keeps a wiring. Look at its gradient norm per layer.",
        "Which one gives 96 layers the same gradient?",
        ("norm inside", "sandwich", "DeepNorm"),
        2,
        "Its curve is level: the first layer’s norm is 0.99 times the last one’s.",
        "Compare “first / last layer”: 1 means alike.",
        {**_USUAL, "depth": 96},
        moves=("wiring",),
    ),
    Step(
        "One picture is one random start. Change the seed and the width.",
        "Does Post-LN’s last layer stay flat for all of them?",
        ("yes", "no"),
        0,
        "Its exponent lies between −0.1 and 0.1 for every seed and width.",
        "Watch the word behind Post-LN’s exponent.",
        {**_USUAL, "depth": 96, "width": 64, "seed": 1},
        moves=("width", "seed"),
    ),
    Step(
        "Now break it: give the widget a function that puts a norm in the wrong place.",
        "Where would you see it?",
        ("in the curve per layer", "in “Last layer against depth”"),
        0,
        "Solid line and gray dashes part, and the last sign says differs. The other picture is recorded.",
        "Read under each caption whose curves these are.",
        _USUAL,
    ),
)
