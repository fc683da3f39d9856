"""The steps of ExpertsExplorer."""

from ..tools.story import Step
from .settings import MEAN, NO_LIMIT, ROUTERS, ZERO

_KNOBS = {"bias0": ZERO, "bias1": ZERO, "bias2": ZERO}
_USUAL = {**_KNOBS, "word": 6, "k": 1, "router": ROUTERS[0], "room": NO_LIMIT, "more": False}
_TWO = {**_USUAL, "k": 2, "more": True}
_BALANCED = {"bias0": ZERO - 2, "bias1": ZERO, "bias2": ZERO + 2}

STORY = (
    Step(
        "Three small networks, the experts, stand in place of the feed-forward layer; each word goes to one of them. "
        "Expert 2 has none: drag its knob to the right.",
        "Where do its words come from?",
        ("they are new words", "from the other experts", "it gets none"),
        1,
        "The knob adds a bias to what expert 2 is worth for every word, so words leave the others for it.",
        "Drag the knob to its end, and count the words of the other two.",
        _USUAL,
        moves=("bias2",),
        show=({"bias2": ZERO + 1}, {"bias2": ZERO + 3}),
        without=("balancing",),
    ),
    Step(
        "Now each word goes to two experts, mixed by weights. Look at “mat” at the right: a bar is a score, and its "
        "line is score + bias, which chooses. Drag the knob under expert 1 to its right end.",
        "Does the bias change the weights of “mat”?",
        ("yes, expert 1 counts more", "no"),
        1,
        "The lines choose and the bars weigh: expert 1 is chosen first now, and still has the weight 0.41.",
        "Compare the weights at the right before and after.",
        _TWO,
        moves=("bias1",),
        show=({"bias1": ZERO + 1}, {"bias1": ZERO + 2}),
        without=("balancing",),
    ),
    Step(
        "24 choices for three experts: the mean load is 8. “Balance once” moves each knob by 0.1, to the left if its "
        "expert has more than 8, to the right if it has less.",
        "After how many presses have all experts 8?",
        ("1", "2", "4"),
        1,
        "11, 9, 4 become 10, 7, 7, and then 8, 8, 8. Nothing moves after that.",
        "Press the button, and read the loads over the stacks.",
        _TWO,
        moves=("bias0", "bias1", "bias2"),
        show=({"bias0": ZERO - 1, "bias1": ZERO - 1, "bias2": ZERO + 1}, _BALANCED),
    ),
    Step(
        "On real machines an expert often has room for a fixed number of words, here for 8. First choices are served "
        "first, in the order of the words. A word that comes later is dropped.",
        "How many of the 24 choices are dropped?",
        ("0", "3", "4"),
        2,
        "Expert 0 drops three of its 11, and expert 1 drops one of its 9. Those words go on without that expert.",
        "Count the crossed-out words above the thick lines.",
        {**_TWO, "room": MEAN},
        show=({"expert": 0}, {"expert": 1}),
        waits=("line", "signs"),
    ),
    Step(
        "The same room for 8, with the knobs where “Balance once” has left them.",
        "How many choices are dropped now?",
        ("0", "3", "4"),
        0,
        "Experts that are evenly busy need no more room than the mean load, so no word is dropped.",
        "Compare the stacks with the thick lines.",
        {**_TWO, **_BALANCED, "room": MEAN},
        show=({"expert": 0}, {"expert": 1}, {"expert": 2}),
        waits=("line", "signs"),
    ),
    Step(
        "An older router takes the probabilities of a softmax over all three experts as weights, and has no bias. Look "
        "at “mat” again.",
        "What do its two weights add up to?",
        ("exactly 1", "less than 1", "more than 1"),
        1,
        "The third expert has a part of the probability too, though it does not work for this word.",
        "Add the two weights at the right.",
        {**_TWO, "router": ROUTERS[1]},
        show=({"expert": 0, "part": 0}, {"expert": 1, "part": 1}),
    ),
)
