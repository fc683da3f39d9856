"""The steps of GradientFlowExplorer."""

from ..tools.story import Step

POST, PRE, DEEP = 0, 1, 5  # indices in NAMES
_USUAL = {"wiring": POST, "other": PRE, "depth": 12, "width": 32, "seed": 0, "back": 96}
_LATER = ("wiring", "other", "width", "unfold", "checks")

STORY = (
    Step(
        "Before training, a gradient runs back from the loss through 12 layers. A bar is how hard it pushes a layer’s "
        "weights. Post-LN has a norm after each sum, Pre-LN before each sublayer.",
        "Whose last layer would a large first step hit harder?",
        ("Post-LN’s", "Pre-LN’s", "both alike"),
        0,
        "It gets 0.55, Pre-LN’s 0.17; over 3 seeds × 4 widths, 2.2 to 3.2 times as much. So Post-LN needs tiny first "
        "steps: a warm-up.",
        "Let the gradient run back, and compare the bars of layer 12, at the right.",
        {**_USUAL, "back": 0},
        moves=("back",),
        show=({"back": 1}, {"back": 4}, {"back": 8}, {"back": 12}),
        waits=("line", "signs"),
        without=(*_LATER, "depth", "seed", "run", "stream"),
    ),
    Step(
        "Why? The band’s height is the RMS of the stream’s numbers. Only Pre-LN’s grows from layer to layer; one last "
        "norm divides it, here y = x ÷ 2.28. So if x moves by 1, y moves by 1 ÷ 2.28.",
        "What becomes of Pre-LN’s last bar in 96 layers?",
        ("it shrinks", "it stays", "it grows"),
        0,
        "What divides the stream divides its gradient, too. From 6 to 96 layers the stream’s end grows 4.9 times, and "
        "the last bar shrinks 4.7 times. In Post-LN both end nearly where they began.",
        "Move the number of layers to 96: watch the band’s right end, and the bar above it.",
        {**_USUAL, "depth": 6},
        moves=("depth",),
        show=tuple({"depth": n} for n in (12, 24, 48, 96)),
        waits=("line", "signs"),
        without=(*_LATER, "seed", "run"),
    ),
    Step(
        "24 layers. Now take 96, four times as many: Pre-LN’s stream gets four times as many additions.",
        "How many times as high is its end then?",
        ("about 2", "about 4", "about 16"),
        0,
        "Before training, additions point in random directions and partly cancel: a random walk, whose size grows "
        "about like the root of their number. √4 = 2; here it is 1.9, over 3 seeds × 4 widths between 1.8 and 2.5.",
        "Compare the band’s right end at 24 and at 96 layers; the scale stays.",
        {**_USUAL, "depth": 24},
        moves=("depth",),
        show=({"depth": 48}, {"depth": 96}),
        waits=("line", "signs"),
        without=(*_LATER, "seed", "run"),
    ),
    Step(
        "96 layers. Layer 1 of Pre-LN lies farthest from the loss, yet it gets the largest push. Let the gradient run "
        "back, and look at the wiring: two ways lead from ⊕ to the left.",
        "Why does layer 1 get the most?",
        ("each layer adds a part", "larger weights", "the last norm"),
        0,
        "The gradient passes ⊕, and each branch adds a part, divided by the stream’s size: large where the stream is "
        "thin. Layer 1 gets 14.6 times what layer 96 gets; over 3 seeds × 4 widths, 6.5 to 15.6.",
        "Let the gradient run back: where do the bars grow most, and how high is the band there?",
        {**_USUAL, "depth": 96, "back": 0},
        moves=("back",),
        show=tuple({"back": n} for n in (16, 32, 48, 64, 80, 96)),
        waits=("line", "signs"),
        without=(*_LATER, "depth", "seed", "run"),
    ),
    Step(
        "So why not Post-LN, with a warm-up? Each seed draws other weights. Try all three.",
        "Whose layer 1 may get nearly no gradient?",
        ("Post-LN’s", "Pre-LN’s", "both"),
        0,
        "With seed 2 it gets 0.02 times what layer 96 gets; over 3 seeds × 4 widths, 0.02 to 4.0. Each norm on the "
        "stream rescales the gradient, and 192 such factors multiply: chance decides.",
        "Set the seed to 2, and look at the bars of layer 1, at the left.",
        {**_USUAL, "depth": 96},
        moves=("seed",),
        show=({"seed": 1}, {"seed": 2}),
        waits=("line", "signs"),
        without=(*_LATER, "depth", "run"),
    ),
    Step(
        "DeepNorm has a norm after each sum, too, but multiplies the stream by α = 3.7 before it and starts with small "
        "weights: each layer changes the stream only a little. Let the gradient run back.",
        "Which of its 96 layers get the largest push?",
        ("the first", "the last", "all alike"),
        2,
        "Stream and gradient pass almost unchanged: over 3 seeds × 4 widths, layer 1 gets 0.99 to 1.06 times what "
        "layer 96 gets. Its push is 20 times smaller than Post-LN’s 0.543, but Adam rescales each push.",
        "Let the gradient run back, and compare DeepNorm’s bars with each other.",
        {**_USUAL, "wiring": DEEP, "depth": 96, "back": 0},
        moves=("back",),
        show=tuple({"back": n} for n in (16, 32, 48, 64, 80, 96)),
        waits=("line", "signs"),
        without=("width", "run", "checks"),
    ),
    Step(
        "Now break it: give the widget a pre_ln that forgets the norm and returns x + sublayer(x).",
        "What becomes of the gradient on its way back?",
        ("it vanishes", "it stays as it was", "it explodes"),
        2,
        "Layer 1 of 12 gets 26 times what layer 12 gets: each layer makes stream and gradient larger, and no norm "
        "divides.",
        "Compare Pre-LN’s bars at the left with those at the right.",
        _USUAL,
    ),
)
