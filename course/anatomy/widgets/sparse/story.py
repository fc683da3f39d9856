"""The steps of SparseExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "Filled cells are scored, all others cost nothing. Point at a cell, or move the query.",
        "Which words does query 14 score?",
        ("13 and 14", "12 to 14", "0 to 14"),
        1,
        "A causal window of 3 keys holds the word itself and the two before it.",
        "Look at the dark cells in the row with the frame.",
        {"pattern": 1, "size": 2, "query": 14, "layers": 1},
    ),
    Step(
        "The same window, four layers deep: dots mark what arrives by way of other words. Point at a dot.",
        "Which is the first word that query 14 depends on?",
        ("word 10", "word 6", "word 0"),
        1,
        "Each layer goes 2 words further back: 14 − 4 · 2 = 6.",
        "Look at the first dot in the row with the frame, or at the input on the right.",
        {"pattern": 1, "size": 2, "query": 14, "layers": 4},
    ),
    Step(
        "Blocks of 4 words, eight layers deep. Move the query from block to block.",
        "What does query 14 depend on?",
        ("its block alone", "all earlier words", "every word"),
        0,
        "No word looks out of its block, so no layer can bring anything in.",
        "Look for dots: is anything reached that is not scored?",
        {"pattern": 3, "size": 2, "query": 14, "layers": 8},
        moves=("query",),
    ),
    Step(
        "A window of 3, and word 0 is global: it sees all words, and all see it.",
        "After how many layers has every word reached every other?",
        ("1", "2", "19"),
        1,
        "In layer 1 all words come to word 0, in layer 2 it tells them to all.",
        "Move the layers, and read “all is reached after”.",
        {"pattern": 4, "size": 0, "query": 14, "layers": 1},
        moves=("layers",),
    ),
    Step(
        "Strided: near words in one layer, every fourth word in the next. Together they score 17 % of all pairs.",
        "What does query 14 depend on after the two?",
        ("every fourth word", "all earlier words", "near words"),
        1,
        "Layer 2 jumps back in fours, and layer 1 has filled the gaps between the jumps.",
        "Look at the row with the frame: filled cells and dots together.",
        {"pattern": 7, "size": 2, "query": 14, "layers": 2},
    ),
    Step(
        "Now run along the small pictures with 8 layers, and try to break a pattern by its size.",
        "Which one never reaches everything, however deep?",
        ("blocks", "random keys", "strided"),
        0,
        "The others have ways between all words, or all earlier ones. Blocks have none from one to the next.",
        "Choose each of the three and read “all is reached after”.",
        {"pattern": 5, "size": 2, "query": 14, "layers": 8},
        moves=("pattern", "size"),
    ),
)
