"""The steps of GradientFlowExplorer."""

from ..tools.story import Step

POST, PRE = 0, 1  # indices in NAMES
_USUAL = {"wiring": POST, "other": PRE, "depth": 12, "width": 32, "seed": 0, "back": 96}

STORY = (
    Step(
        "Post-LN norms after each sum, Pre-LN before each sublayer. Let a gradient run back from the loss: a bar is "
        "how hard it pushes a layer’s weights.",
        "Whose last layer, next to the loss, is pushed harder?",
        ("Post-LN’s", "Pre-LN’s", "both alike"),
        0,
        "0.55 against 0.17; from all 12 starts, 2.2 to 3.2 times as hard. So Post-LN needs tiny first steps (warm-up).",
        "Let the gradient run back, and compare the bars of layer 12, at the right.",
        {**_USUAL, "back": 0},
        moves=("back",),
        show=({"back": 1}, {"back": 4}, {"back": 8}, {"back": 12}),
        waits=("line", "signs"),
    ),
    Step(
        "Make the stacks deeper: run along “Last layer against depth”.",
        "Which last layer gets less gradient in a deeper stack?",
        ("Post-LN’s", "Pre-LN’s", "both"),
        1,
        "From all starts Pre-LN’s falls: its stream grows with each sum, and the last norm divides a gradient by its "
        "size. Post-LN is normed after each sum, so its stream keeps its size.",
        "Follow both lines of that picture from 6 to 96.",
        _USUAL,
        moves=("depth",),
        show=tuple({"depth": n, "last": True} for n in (6, 12, 24, 48, 96)),
        waits=("line", "signs", "numbers"),
    ),
    Step(
        "96 layers. Press “Let the gradient run back”, and watch its size from layer 96 to layer 1.",
        "Whose layer 1 gets more than five times what layer 96 gets?",
        ("Post-LN’s", "Pre-LN’s", "both"),
        1,
        "The gradient gains on its way back, most where Pre-LN’s stream is still small: layer 1 gets 14.6 times what "
        "layer 96 gets; 6.5 to 15.6 from all 12 starts. Post-LN’s varies: 0.02 to 4.0 times.",
        "Compare the first bar with the last: read “first / last layer” below.",
        {**_USUAL, "depth": 96, "back": 0},
        moves=("back",),
        show=tuple({"back": n} for n in (16, 32, 48, 64, 80, 96)),
        waits=("line", "signs"),
    ),
    Step(
        "The small pictures show the gradient norm per layer. Point to see one large; a click keeps it.",
        "Which one gives 96 layers the same gradient?",
        ("norm inside", "sandwich", "DeepNorm"),
        2,
        "Its small curve is level: first / last layer is 0.99, and 0.99 to 1.06 from all 12 starts.",
        "Compare “first / last layer”: 1 means alike.",
        {**_USUAL, "depth": 96},
        moves=("wiring",),
        show=({"wiring": 4}, {"wiring": 2}, {"wiring": 5}),
    ),
    Step(
        "One picture is one random start. Change the seed and the width.",
        "Is the blue line in “Last layer against depth” level for all of them?",
        ("yes", "no"),
        0,
        "Its ends differ by a factor of at most 1.3. But layer 1 of 96 gets 0.02 to 4.0 times as much as layer 96.",
        "Watch Post-LN’s “16 × deeper” below: the word says which way its last layer goes.",
        {**_USUAL, "depth": 96, "width": 64, "seed": 1},
        moves=("width", "seed"),
        show=({"seed": 2}, {"seed": 0}, {"width": 256}, {"width": 32}, {"width": 64, "seed": 1}),
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
