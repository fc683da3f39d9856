"""The steps of ExpertsExplorer."""

from ..tools.story import Step
from .settings import MEAN, NO_LIMIT, ROUTERS, ZERO

_KNOBS = {"bias0": ZERO, "bias1": ZERO, "bias2": ZERO}
_USUAL = {**_KNOBS, "word": 6, "k": 1, "router": ROUTERS[0], "room": NO_LIMIT, "more": False}
_TWO = {**_USUAL, "k": 2, "more": True}
_K, _ROUTER, _ROOM = "folded-k", "folded-router", "folded-room"
_SETTINGS = (_K, _ROUTER, _ROOM, "more")  # what is folded away: a step shows the one that it speaks of
_BALANCED = {"bias0": ZERO - 2, "bias1": ZERO, "bias2": ZERO + 2}

STORY = (
    Step(
        "Three networks, the experts, replace the feed-forward layer. A router picks one for each word: more "
        "parameters, same work per word. Expert 2 has no words: drag its knob to the right.",
        "Where do its words come from?",
        ("they are new words", "from the other experts", "it gets none"),
        1,
        "The router gives each expert a score for each word. The knob adds a bias to all scores of expert 2, and the "
        "highest score + bias is chosen: so words leave the others for it.",
        "Drag the knob to its end, and count the words of the other two.",
        _USUAL,
        moves=("bias2",),
        show=({"bias2": ZERO + 1}, {"bias2": ZERO + 3}),
        without=("balancing", "mean", "weights", "word", "checks", *_SETTINGS),
    ),
    Step(
        "Now each word goes to two experts, mixed by weights. Look at “mat” at the right: a bar is a score, and its "
        "line is score + bias, which chooses. Drag the knob under expert 1 to its right end.",
        "Does the bias change the weights of “mat”?",
        ("yes, expert 1 counts more", "no"),
        1,
        "The lines choose, the bars weigh: expert 1 is chosen first now, but its weight is still its bar's share of "
        "both bars, 0.450 ÷ (0.646 + 0.450) = 0.41.",
        "Compare the weights at the right before and after.",
        _TWO,
        moves=("bias1",),
        show=({"bias1": ZERO + 1}, {"bias1": ZERO + 3}),
        without=("balancing", "mean", "checks", *_SETTINGS),
    ),
    Step(
        "If each expert has its own machine, the busiest makes all wait. The mean load is 24 ÷ 3 = 8. “Balance once” "
        "moves each knob by 0.1: to the left above 8, to the right below 8.",
        "After how many presses have all experts 8?",
        ("1", "2", "4"),
        1,
        "11, 9, 4 become 10, 7, 7, and then 8, 8, 8. Nothing moves after that.",
        "Put all knobs back to the middle, and count the presses until nothing moves.",
        _TWO,
        moves=("bias0", "bias1", "bias2"),
        show=({"bias0": ZERO - 1, "bias1": ZERO - 1, "bias2": ZERO + 1}, _BALANCED),
        without=("word", "checks", *_SETTINGS),
    ),
    Step(
        "A machine often has room for a fixed number of words. First choices are served first, in the order of the "
        "text. Whoever finds no room is dropped: set the room to “the mean load”, 8.",
        "How many of the 24 choices are dropped?",
        ("0", "3", "4"),
        2,
        "Expert 0 drops three of its 11, and expert 1 drops one of its 9. Those words go on without that expert.",
        "Count the crossed-out words above the thick lines.",
        _TWO,
        moves=("room",),
        show=({"room": MEAN}, {"expert": 0}, {"expert": 1}),
        waits=("line", "signs"),
        without=("balancing", "word", _K, _ROUTER, "more"),
    ),
    Step(
        "The same room for 8, and four choices are dropped. Press “Balance once” until nothing moves.",
        "How many are dropped then?",
        ("0", "3", "4"),
        0,
        "Experts that are evenly busy need no more room than the mean load, so no choice is dropped.",
        "Press until the loads are 8, 8, 8, and look above the thick lines.",
        {**_TWO, "room": MEAN},
        moves=("bias0", "bias1", "bias2"),
        show=({"bias0": ZERO - 1, "bias1": ZERO - 1, "bias2": ZERO + 1}, _BALANCED),
        waits=("line", "signs"),
        without=("word", _K, _ROUTER, "more"),
    ),
    Step(
        "So far each score was a sigmoid: a number between 0 and 1, by itself. An older router takes a softmax, the "
        "three shares of 1, and no bias. Add the weights of “mat”, then choose “softmax”.",
        "What do its two weights add up to then?",
        ("exactly 1", "less than 1", "more than 1"),
        1,
        "0.636 + 0.286 = 0.922: the third expert has the other 0.078, though it does not work for “mat”.",
        "Add the two weights at the right.",
        _TWO,
        moves=("router",),
        show=({"router": ROUTERS[1]}, {"expert": 0, "part": 0}, {"expert": 1, "part": 1}),
        without=("balancing", "mean", "checks", _ROOM),
    ),
)
