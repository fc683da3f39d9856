"""The steps of TilesExplorer."""

from ..tools.story import Step
from .scenes import ALL, EARLIER, LOOP, MERGE

_USUAL = {"query": 11, "read": 2, "block": 3, "look": ALL, "way": LOOP, "more": False}

STORY = (
    Step(
        "Fast memory is too small for all scores, so word 11 reads its 12 three at a time. A bar of 1 is the largest "
        "so far: words 1 and 5 tie. Press “Read on”: word 6 has a larger one.",
        "What happens to the bars before it?",
        ("nothing", "all shrink by the same factor", "only the highest shrink"),
        1,
        "A bar says how much a key counts beside the largest score. That is 4 now, no longer 2, so all "
        "before count e to (2 − 4) = 0.14 times as much.",
        "Read on, and compare the bars with their dashed outlines.",
        _USUAL,
        moves=("read",),
        show=({"read": 3},),
        without=("kept", "checks"),
    ),
    Step(
        "The program forgets the bars drawn here. For each query it keeps three numbers: the largest score, the sum of "
        "the bars, and “mixed”, the sum of bars × values. Read on: word 6 has a larger score.",
        "Which of the sum and “mixed” must shrink?",
        ("the sum alone", "mixed alone", "both"),
        2,
        "Both were measured against the old largest score, 2, so both are multiplied by e to (2 − 4), which is 0.14; "
        "then the new block is added.",
        "Read on, and look at the right for dashed outlines: they show what was kept before.",
        _USUAL,
        moves=("read",),
        show=({"read": 3}, {"part": 1}, {"part": 2}),
        without=("checks",),
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
        "Only the framed tile of scores is held; earlier ones are thrown away, and new ones take their place. Read on, "
        "choose other sizes of a block, and watch the bars “In fast memory”.",
        "And with twice the text: how many at once?",
        ("twice as many", "as many as now", "4 times as many"),
        1,
        "A tile is 2 × 2 = 4 scores, whatever the length; four times as many tiles take turns.",
        "Read on through all tiles: does the blue bar grow?",
        {**_USUAL, "read": 2, "block": 2, "more": True},
        moves=("read",),
        show=({"read": 3}, {"read": 6}),
        without=("checks",),
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
        "Average and lse are all that another machine must know: a part weighs e to its lse.",
        "Switch between “one loop” and “merged parts”, and watch the numbers at the right.",
        {**_USUAL, "read": 4, "way": MERGE, "more": True},
        moves=("read", "way"),
        show=({"way": LOOP}, {"way": MERGE, "read": 3}, {"read": 4}),
        without=("checks",),
    ),
)
