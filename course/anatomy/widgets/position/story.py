"""The steps of PositionExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "Left: a vector for each position. A score is the product of two. Point at the map: a line joins the same "
        "distance r.",
        "Does r = 5 score as r = −5 does?",
        ("yes", "no, more", "no, less"),
        0,
        "The plain product is a sum of cosines of r, and a cosine forgets the sign: no direction.",
        "Point at the curve at r = 5 and at r = −5, and compare S.",
        {"scheme": 0, "variant": 0, "query": 20},
    ),
    Step(
        "The same waves behind random projections W_q and W_k. Point along a diagonal, or use shift and an arrow key.",
        "Does the distance alone make the score?",
        ("yes", "no, the position too"),
        1,
        "The band is wide: pairs with one distance have very different scores.",
        "Look at the height of the band, which holds all pairs of a distance.",
        {"scheme": 0, "variant": 1, "query": 20},
        moves=("query",),
    ),
    Step(
        "Here W turns each wave by three positions. Move the query and watch the darkest cell of its row.",
        "Where does query 20 look?",
        ("at itself", "3 back", "3 ahead"),
        1,
        "A matrix that turns the waves makes the score largest at r = −3, for each query.",
        "Point at the peak of the curve and read r.",
        {"scheme": 0, "variant": 2, "query": 20},
        moves=("query",),
    ),
    Step(
        "Shaw's table has one row for each r, and ends at ±K. Here K = 2; move the variant to see K grow.",
        "Can it tell r = 5 from r = 20?",
        ("yes", "no"),
        1,
        "Both are clipped to 2, so the curve is flat from there on.",
        "Point at the curve at 5 and at 20: which row of a do they ask for?",
        {"scheme": 2, "variant": 0, "query": 5},
    ),
    Step(
        "ALiBi learns nothing: it subtracts a slope times the distance. Point at key 12.",
        "What does query 20 lose there?",
        ("¼", "2", "8"),
        1,
        "The slope is ¼ and the distance 8: ¼ · 8 = 2.",
        "Read the formula while you point at query 20, key 12.",
        {"scheme": 7, "variant": 1, "query": 20},
    ),
    Step(
        "Now break it: look for schemes that forget the direction, or give the widget a key minus query turned round.",
        "Which one also has “no direction”?",
        ("Shaw", "ALiBi", "DeBERTa"),
        1,
        "A penalty for the distance |r| is the same on both sides; a causal mask must tell them apart.",
        "Choose each scheme, and read the second sign below the map.",
        {"scheme": 2, "variant": 3, "query": 20},
        moves=("scheme", "variant"),
    ),
)
