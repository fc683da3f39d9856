"""The steps of RopeExplorer."""

from typing import Any

from ..tools.story import Step

TRAINING = 7  # index of the step about the panel "Longer than trained"
_USUAL: dict[str, Any] = {
    **{"m": 9, "n": 4, "base": 1e4, "dim": 8, "plane": 0, "stand": False, "proof": 0, "front": 0, "hand": "position"},
    **{"more": False, "turned": [0] * 16, "waves": [], "fault": 0, "order": "interleaved"},
    **{"head": 128, "trained": 4096, "length": 16384, "scheme": 0, "clock": 32},
}

_FREE = ("more", "m", "n", "plane")  # what moves in nearly every step
# Degrees by which q's content turns until its four waves have their peak at a distance of 20.
PEAK = (232, 276, 332, 61)


def _scene(*panels: str, **other: Any) -> dict[str, Any]:
    """All controls: these panels are open, and what isn't named is as usual."""
    return {**_USUAL, "panels": list(panels), **other}


STORY = (
    Step(
        "Attention alone sees no order. So RoPE turns q: each pair of its numbers is an arrow, and at position m it has"
        " turned by mθ. θ is the dial’s angle per token. Drag “sat”, and watch.",
        "Why can’t the first dial alone tell m?",
        ("it comes round again", "it is slow", "neighbors look alike"),
        0,
        "After 6.28 tokens it has gone once round. Slower dials have not: together they tell far tokens apart.",
        "Drag “sat” on from m = 9, and look when the first blue arrow is back where it began.",
        _scene("line", "dials"),
        moves=(*_FREE, "front"),
        show=tuple({"m": m} for m in (10, 11, 12, 13, 14, 15)),
        without=("more", "checks"),
    ),
    Step(
        "k turns, too: by nθ. Now press “Three tokens in front”: m and n grow by 3. The wedge is how far q has turned "
        "since position n, where k is: (m − n)θ.",
        "What does the score do?",
        ("it rises", "it stands still", "it falls"),
        1,
        "Both arrows of a dial turn by the same angle, so the angle between them stays: only the distance counts.",
        "Read the large number behind “q·k =” before and after.",
        _scene("line", "dials", m=20, n=15),
        moves=(*_FREE, "front"),
        show=({"front": 1}, {"front": 2}, {"front": 3}, {"m": 21, "n": 16}, {"m": 22, "n": 17}),
        waits=("signs",),
        without=("more", "checks"),
    ),
    Step(
        "Why? Press “Next equality” 4 times: the first press turns each dial back by nθ. Then “Step both +1”.",
        "Turned back, which arrow stands still at each step?",
        ("only k", "only q", "both"),
        2,
        "k is back where it was without a position, and q is left with (m − n)θ, which stays.",
        "Stand on k, and press “Step both +1”.",
        _scene("line", "dials", "proof", m=20, n=15, plane=1),
        moves=(*_FREE, "front", "proof", "stand"),
        show=(
            *({"stand": True, "proof": n} for n in (1, 2, 3, 4)),
            *({"m": 20 + by, "n": 15 + by} for by in (1, 2, 3)),
        ),
        without=("checks",),
    ),
    Step(
        "A head wants to look 20 places back: the score should peak at the dot. Drag q onto k in each dial: that turns "
        "q’s content, its own numbers. Each dial, or plane, adds a wave to the score.",
        "What must the head learn for that?",
        ("angles of q and k", "lengths of q and k", "speeds θ"),
        0,
        "Turned content shifts a wave. Where all peaks meet, the score is highest. Lengths set how high each wave is, "
        "so they bring no peaks together, and θ is fixed.",
        "Drag q in the second dial round and round, and watch what its wave (bold) does.",
        _scene("dials", "score", hand="content", m=24, n=4, plane=1),
        moves=(*_FREE, "hand", "turned", "waves"),
        show=tuple({"plane": i, "turned": [0] * i + [*PEAK[i:]] + [0] * 12} for i in (3, 2, 1, 0)),
        without=("checks",),
    ),
    Step(
        "The map has q·k for all m, n: S[m, n]. Along a diagonal m − n stays. Drag “cat” to the left: k goes away.",
        "Does a farther key always score lower?",
        ("yes", "no, it rises again", "no, it stays"),
        1,
        "Waves fall and rise again: 62 places away it is 2.34. Content decides which distances score high.",
        "Drag “cat” from the right end to the left end, and read the large number on the way.",
        _scene("line", "dials", "map", m=63, n=63),
        moves=(*_FREE, "front"),
        show=tuple({"n": n} for n in (58, 50, 40, 23, 12, 1)),
        without=("checks",),
    ),
    Step(
        "A right RoPE paints stripes along the diagonals. Break it: choose a fault, and watch the stripes.",
        "Which fault keeps them diagonal?",
        ("one sign wrong", "one θ for all", "key not turned"),
        1,
        "Distance still decides, but after 6.28 tokens the score comes back. This is what many speeds are for.",
        "Choose each of the three, and look along a diagonal.",
        _scene("breaking", "dials", "map", plane=1),
        moves=(*_FREE, "fault"),
        show=({"fault": 1}, {"fault": 3}, {"fault": 2}, {"fault": 3}),
    ),
    Step(
        "The same head in memory: arcs join the two numbers of a dial. Some checkpoints store all first numbers, then "
        "their partners. Reorder both, then only q, and read the sum.",
        "When does this order change the score?",
        ("never", "if only q has it", "if both have it"),
        1,
        "q·k multiplies place by place: if only q is reordered, 6 of its 8 numbers meet strangers.",
        "Choose “both reordered” and then “only q reordered”, and read the sum beside them.",
        _scene("dials", "strip"),
        moves=(*_FREE, "order"),
        show=({"order": "halves"}, {"order": "q"}),
        without=("checks",),  # they judge the dials, not what is multiplied here
    ),
    Step(
        "A larger head has 64 planes, a hand for each. Press “Read the text”: it is 4 times as long as in training, so "
        "slow hands reach new angles (hatched). Position interpolation, PI, slows all hands alike.",
        "What does PI cost?",
        ("neighbors look more alike", "slow hands stop", "nothing"),
        0,
        "With PI nothing is hatched, but the first hand turns by ¼ per token, not by 1 (try YaRN: it spares it). "
        "So RoPE is: turn by position, score by distance; fast hands for neighbors, slow ones for far tokens.",
        "Choose PI, and look at the first hand: how far is it now from the thin one, the token before?",
        _scene("training", clock=0),
        moves=("more", "scheme", "clock"),
        show=({"scheme": 1},),
    ),
)
