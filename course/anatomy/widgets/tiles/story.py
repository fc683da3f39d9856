"""The steps of TilesExplorer."""

from ..tools.story import Step
from .scenes import ALL, EARLIER, LOOP, MERGE

_USUAL = {"query": 11, "read": 2, "block": 3, "look": ALL, "way": LOOP, "more": False}

STORY = (
    Step(
        "Fast memory cannot hold all scores, so word 11 reads its 12 scores three at a time; the largest so far has a "
        "bar of 1. Press “Read on”: key 6 has a larger one.",
        "What happens to the bars before it?",
        ("nothing", "all shrink alike", "only the highest shrinks"),
        1,
        "A bar says how much a key counts beside the largest score. That is larger now, so all others count less.",
        "Read on, and compare the bars with their dashed outlines.",
        _USUAL,
        moves=("read",),
        show=({"read": 3},),
        without=("kept",),
    ),
    Step(
        "The bars are drawn for you; the program has forgotten them. For each query it keeps three numbers: the "
        "largest score, the sum of the bars, and “mixed”, the sum of bars × values (one number each here).",
        "Which of them were made smaller when key 6 came?",
        ("the sum alone", "mixed alone", "both"),
        2,
        "Both were measured against the old largest score, 2, so both are multiplied by e to (2 − 4), which is 0.14; "
        "then the new block is added.",
        "Look at the right for dashed outlines: they show what was kept before.",
        {**_USUAL, "read": 3},
        show=({"part": 1}, {"part": 2}),
        waits=("line", "numbers"),
    ),
    Step(
        "All 12 keys are read. The last three have no larger score than 4, so nothing had to shrink this time.",
        "Is the result only near the softmax over all 12 scores at once?",
        ("yes, each block adds a small error", "no, it is the same"),
        1,
        "The factors shrink every bar to the height that it would have had, so the shares are those of one softmax.",
        "Read the line “result, against one softmax”.",
        {**_USUAL, "read": 4},
        show=({"part": 3},),
        waits=("signs",),
    ),
    Step(
        "Only the framed tile of scores is held; earlier ones are thrown away, and new ones take their place. Choose "
        "other sizes of a block, and watch the bars “Numbers held at once”.",
        "Blocks of 2: how many of the 144 scores are held at once?",
        ("24", "4", "144"),
        1,
        "2 queries × 2 keys. With a longer text there are more tiles, but each stays as small.",
        "Count the numbers in the framed tile.",
        {**_USUAL, "read": 2, "block": 2, "more": True},
        moves=("read",),
        show=({"read": 3}, {"read": 6}),
        waits=("line",),
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
    ),
    Step(
        "Another way: each block, as if on a machine of its own, makes an average and its lse, the logarithm of the "
        "sum of e to its scores. The function merge joins two of them at a time.",
        "Which numbers differ from those of the loop?",
        ("the sum", "the mixed values", "none"),
        2,
        "Average and lse say all that another machine must know: e to the lse is what a part weighs when two are "
        "joined.",
        "Switch between “one loop” and “merged parts”, and watch the numbers at the right.",
        {**_USUAL, "read": 4, "way": MERGE, "more": True},
        moves=("read", "way"),
        show=({"way": LOOP}, {"way": MERGE, "read": 3}, {"read": 4}),
    ),
)
