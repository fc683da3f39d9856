"""The steps of RopeExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "Each pair of features is a dial: drag the blue q in the first one, or move m. q turns with m, k with n.",
        "Which dial turns fastest?",
        ("the first", "the last", "all alike"),
        0,
        "Its arrow turns by θ = 1 rad for each position; in the last dial θ is 0.001.",
        "Drag m from end to end and compare the arrows.",
        {"m": 9, "n": 4, "base": 1e4, "dim": 8},
        moves=("m", "n"),
    ),
    Step(
        "The score adds the dials' products. Press “Step both +1”: m and n grow, m − n stays 5.",
        "What does the score do?",
        ("it rises", "it stands still", "it falls"),
        1,
        "Both arrows of a dial turn by the same angle, so the angle between them stays.",
        "Read the score in the gray line before and after a step.",
        {"m": 20, "n": 15, "base": 1e4, "dim": 8},
        moves=("m", "n"),
    ),
    Step(
        "Point at the map: the cross marks S[m, n], the dotted line the cells with the same m − n.",
        "Which cells have the score of [40, 8]?",
        ("its row", "its diagonal", "its column"),
        1,
        "S depends on m − n alone, so it is constant along each diagonal.",
        "Walk with shift and an arrow key, then with the arrow key alone.",
        {"m": 40, "n": 8, "base": 1e4, "dim": 8},
        moves=("m", "n"),
    ),
    Step(
        "A small base, 100: even the last dial turns visibly now. Run along the curve.",
        "How does the curve look far from 0?",
        ("it comes to rest at 0", "it goes on waving", "it only falls"),
        1,
        "With fast dials, far distances look much like near ones again and again.",
        "Look at the right end of the curve, beyond m − n = 40.",
        {"m": 30, "n": 4, "base": 100.0, "dim": 8},
        moves=("m", "n"),
    ),
    Step(
        "Now break it: give the widget a rotation with one sign wrong, or only look at the three signs below.",
        "Which signs need ✓ for a right function?",
        ("all three", "only the first", "none"),
        0,
        "A rotation the other way round keeps lengths and distances: only the comparison with the reference tells.",
        "Each sign tests something that the others do not see.",
        {"m": 9, "n": 4, "base": 1e4, "dim": 4},
    ),
)
