"""The steps of RopeExplorer."""

from typing import Any

from ..tools.story import Step

TRAINING = 6  # index of the step about the panel "Longer than trained"
_USUAL: dict[str, Any] = {
    **{"m": 9, "n": 4, "base": 1e4, "dim": 8, "plane": 0, "stand": False, "proof": 0, "front": 0, "hand": "position"},
    **{"more": False, "turned": [0] * 16, "waves": [], "fault": 0, "order": "interleaved"},
    **{"head": 128, "trained": 4096, "length": 16384, "scheme": 0, "clock": 32},
}

_FREE = ("more", "m", "n", "plane")  # what moves in nearly every step


def _scene(*panels: str, **other: Any) -> dict[str, Any]:
    """All controls: these panels are open, and what isn't named is as usual."""
    return {**_USUAL, "panels": list(panels), **other}


STORY = (
    Step(
        "Two numbers of q are an arrow on a dial. Drag the token “sat” along the line: q turns with its position m.",
        "Which dial turns fastest?",
        ("the first", "the last", "all alike"),
        0,
        "Its arrow turns by θ = 1 rad for each position; in the last dial θ is 0.001.",
        "Drag “sat” from end to end and compare the blue arrows.",
        _scene("line", "dials"),
        moves=(*_FREE, "front"),
        show=tuple({"m": m} for m in (12, 20, 40, 60, 10)),
    ),
    Step(
        "Move both tokens on: press “Step both +1”. The wedge is how far q has turned beyond k: (m − n)θ.",
        "What does the score do?",
        ("it rises", "it stands still", "it falls"),
        1,
        "Both arrows of a dial turn by the same angle, so the angle between them stays.",
        "Read the large number behind “q·k =” before and after.",
        _scene("line", "dials", m=20, n=15),
        moves=(*_FREE, "front"),
        show=({"front": 1}, {"front": 2}, {"front": 3}, {"m": 21, "n": 16}, {"m": 22, "n": 17}),
    ),
    Step(
        "Press “Next equality” 4 times: with the first you stand on k, the dial turns back by nθ. Then “Step both +1”.",
        "Which arrow stands still when both tokens move on?",
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
    ),
    Step(
        "Bars stack to q·k, thin waves add up to the curve. Switch waves off; turn q or k by its content.",
        "What does turning the content of q do to its wave?",
        ("it shifts it", "it makes it higher", "nothing"),
        0,
        "Content sets φ, where the wave begins; its height is |q||k|, its speed θ.",
        "Choose “content”, drag q in a dial, and watch the wave of that plane alone.",
        _scene("dials", "score", hand="content"),
        moves=(*_FREE, "hand", "turned", "waves"),
        show=({"waves": [1, 2, 3]}, *({"turned": [angle] + [0] * 15} for angle in (30, 60, 90, 120))),
    ),
    Step(
        "Point at the map: the cross marks S[m, n], the dotted line the cells with the same m − n.",
        "Which cells have the score of [40, 8]?",
        ("its row", "its diagonal", "its column"),
        1,
        "S depends on m − n alone, so it is constant along each diagonal.",
        "Walk with shift and an arrow key, then with the arrow key alone.",
        _scene("dials", "map", m=40, n=8),
        moves=_FREE,
        show=({"n": 9}, {"n": 10}, {"m": 41, "n": 9}, {"m": 42, "n": 10}, {"m": 43, "n": 11}),
    ),
    Step(
        "Now break it: choose a fault. Equalities that fail go out, and most faults also turn a sign below to ✗.",
        "Which fault leaves the distance in charge?",
        ("one sign", "one θ for all", "key not turned"),
        1,
        "Each plane still turns by the distance. But all waves are alike, and the score comes back every 6.3 tokens.",
        "Read “depends on m − n alone” with each fault.",
        _scene("breaking", "dials", "proof", plane=1, proof=4, stand=True),
        moves=(*_FREE, "fault", "proof", "stand"),
        show=({"fault": 1}, {"fault": 2}, {"fault": 3}),
    ),
    Step(
        "One hand for each plane. In a text 4 times as long as in training, slow hands reach angles never seen "
        "(hatched). PI slows all alike, NTK the slow ones most, YaRN spares the fast ones.",
        "Which of the three leaves some of it hatched?",
        ("PI", "NTK", "YaRN"),
        1,
        "NTK slows only the last hand by the whole factor, so others go a little too far. PI slows even the fast ones.",
        "Choose each of the three, and read “reach what is new”.",
        _scene("training"),
        moves=("more", "scheme", "clock"),
        show=({"scheme": 1}, {"scheme": 3}, {"scheme": 2}),
    ),
    Step(
        "The same head in memory: arcs join the partners of a pair. Riffle it into halves, as LLaMA's code has it.",
        "Does the score change?",
        ("yes", "no", "only in plane 0"),
        1,
        "Partners stay partners, only where they stand differs. Mixing the two orders is the fault “pairs mixed up”.",
        "Read the score before and after the riffle.",
        _scene("dials", "strip"),
        moves=(*_FREE, "order"),
        show=({"order": "halves"},),
    ),
)
