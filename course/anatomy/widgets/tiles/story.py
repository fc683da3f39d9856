"""The steps of TilesExplorer."""

from ..tools.story import Step
from .scenes import ALL, EARLIER, LOOP, MERGE

_USUAL = {"query": 11, "read": 2, "block": 3, "look": ALL, "way": LOOP, "more": False}

STORY = (
    Step(
        "Fast memory is small, so the query, word 11, reads its 12 keys in blocks of 3. Each bar is "
        "e^(score − largest score so far), so none is above 1. Press “Read on”: word 6 has a larger score.",
        "Which of the bars before it shrink?",
        ("none", "all, by the same factor", "only the highest"),
        1,
        "The largest score is 4 now, no longer 2. So each bar is e^(score − 4) instead of e^(score − 2), which is "
        "e^(2 − 4) = 0.14 times as high.",
        "Read on, and compare the bars with their dashed outlines.",
        _USUAL,
        moves=("read",),
        show=({"read": 3},),
        without=("kept", "values", "more", "checks"),
    ),
    Step(
        "The program forgets the bars. For each query it keeps three numbers: the largest score, the sum of the bars, "
        "and “mixed”, the sum of bar × value. Read on to word 6, with its larger score.",
        "What must shrink before the new block is added?",
        ("the sum alone", "mixed alone", "both"),
        2,
        "Both are sums of old bars, and all of these take the factor e^(2 − 4) = 0.14. So the sums take it, too: "
        "nobody needs the bars again.",
        "Read on, and look at the right for dashed outlines: they show what was kept before.",
        _USUAL,
        moves=("read",),
        show=({"read": 3}, {"part": 1}, {"part": 2}),
        without=("more", "checks"),
    ),
    Step(
        "All 12 keys are read. The last three have no score above 4, so nothing had to shrink this time. The result, "
        "mixed ÷ sum, is the average of the values, weighted by the bars.",
        "Does one softmax over all 12 give the same?",
        ("no, only nearly the same", "yes"),
        1,
        "Each bar has ended as e^(score − 4), as if all scores had been there at once. So its share of the sum is its "
        "weight in one softmax.",
        "Read the line “result, against one softmax”.",
        {**_USUAL, "read": 4},
        show=({"part": 3},),
        waits=("signs",),
        without=("more",),
    ),
    Step(
        "Only the framed tile of scores is held; the next one takes its place. Read on, choose other sizes of a block, "
        "and watch the bars “In fast memory”.",
        "How many scores are held with twice the text?",
        ("twice as many", "as many as now", "4 times as many"),
        1,
        "A tile is 2 × 2 = 4 scores, whatever the length; four times as many tiles take turns.",
        "Read on through all tiles: does the blue bar grow?",
        {**_USUAL, "read": 2, "block": 2, "more": True},
        moves=("read",),
        show=({"read": 3}, {"read": 6}),
        without=("look", "way", "checks"),
    ),
    Step(
        "A model that writes may not look ahead, so half of the table is hidden. A tile in which everything is hidden "
        "is skipped; one on the diagonal is computed whole.",
        "Blocks of 3: how many of the 16 tiles are computed?",
        ("8", "10", "16"),
        1,
        "1 + 2 + 3 + 4 = 10, a bit more than half. Smaller tiles come nearer to one half.",
        "Count the tiles that are not crossed out.",
        {**_USUAL, "query": 11, "read": 4, "look": EARLIER, "more": True},
        moves=("query", "read"),
        show=({"query": 2, "read": 1}, {"query": 5, "read": 2}, {"query": 8, "read": 3}, {"query": 11, "read": 4}),
        waits=("signs",),
        without=("way",),
    ),
    Step(
        "Another way: each block, perhaps on a machine of its own, gives the average of its values and its lse: the "
        "logarithm of its sum of e^score. The function merge joins two of them at a time.",
        "Which numbers differ from those of the loop?",
        ("the sum", "the mixed values", "none"),
        2,
        "e^lse is the block’s sum of e^score again, its weight. So merge finds the same average.",
        "Switch between “one loop” and “merged parts”, and watch the numbers at the right.",
        {**_USUAL, "read": 4, "way": MERGE, "more": True},
        moves=("read", "way"),
        show=({"way": LOOP}, {"way": MERGE, "read": 3}, {"read": 4}),
        without=("checks",),
    ),
)
