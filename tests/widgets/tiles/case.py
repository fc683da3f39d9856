"""TilesExplorer with right functions, and its controls."""

from anatomy.widgets import TilesExplorer
from anatomy.widgets.tiles.scenes import ALL, EARLIER, LOOP, MERGE

from autograder.exercises.u14_cheaper_attention.merge import merge
from autograder.exercises.u14_cheaper_attention.stream import streamed

from ..case import Case

MORE = {"more": True}
CASE = Case(
    TilesExplorer,
    ({"attention_in_blocks": streamed, "merge": merge},),
    [
        ("slider", "query", "query", "ArrowLeft"),
        ("slider", "blocks read", "read", "ArrowRight"),
        ("group", "keys in a block", "block", "ArrowRight", MORE),
        ("group", "looks at", "look", "ArrowRight", {**MORE, "query": 5}),
        ("group", "done as", "way", "ArrowRight", MORE),
        ("button", "size, mask, merge", "more", "Enter"),
    ],
    silent=("more", "way"),
    crowded=(
        {},
        {"read": 3},
        *(
            {**MORE, "block": b, "look": look, "read": 6, "query": q}
            for b in (2, 6)
            for look in (ALL, EARLIER)
            for q in (0, 11)
        ),
        {**MORE, "way": MERGE, "read": 3},
        {**MORE, "way": LOOP, "read": 4},
    ),
)
