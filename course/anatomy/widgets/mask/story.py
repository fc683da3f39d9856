"""The steps of MaskExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "Each row is a token that asks, each column a token that answers. Point at a cell, or move the query.",
        "At how many tokens may “two” look?",
        ("3", "4", "8"),
        1,
        "Its row is filled up to itself: positions 0 to 3.",
        "Count the filled cells in the row with the frame.",
        {"mask": 0, "size": 4, "query": 3, "layers": 2, "painted": ""},
    ),
    Step(
        "One cell is painted: “one” looks at “two”, a later token. Point at the rows below it.",
        "After 2 layers, who else knows “two” too early?",
        ("nobody", "dog and saw", "every token"),
        1,
        "Both look at “one”, which has looked at “two”. So “saw” can copy its next token, “two”.",
        "Choose dog, then saw: which inputs are filled at the bottom of the right picture?",
        {"mask": 0, "size": 4, "query": 1, "layers": 2, "painted": "0,3"},
        moves=("query",),
    ),
    Step(
        "Padding on the left: five real tokens come after three of padding.",
        "Which queries see nothing at all?",
        ("none", "those of [pad]", "that of “one”"),
        1,
        "Before a [pad] on the left there is only padding. Its softmax would be 0 ÷ 0.",
        "Look for rows without a filled cell, and at the third number below the pictures.",
        {"mask": 3, "size": 4, "query": 1, "layers": 2, "painted": ""},
    ),
    Step(
        "A prefix of three tokens: they see each other in both directions. Move the size.",
        "How many pairs look ahead?",
        ("3", "9", "28"),
        0,
        "Above the diagonal three cells are filled: “one” sees dog and saw, dog sees saw.",
        "Count the filled cells above the diagonal.",
        {"mask": 4, "size": 3, "query": 0, "layers": 2, "painted": ""},
    ),
    Step(
        "GLM: part A is the text with blanks [M], part B fills them, each from its [S]. Two rows of positions on top.",
        "What do the tokens of part A see?",
        ("A and B", "all of A, nothing of B", "earlier tokens only"),
        1,
        "The block of A is full, and every cell from A to B is empty.",
        "Choose a query of part A and look right of the first [S].",
        {"mask": 10, "size": 0, "query": 2, "layers": 2, "painted": ""},
        moves=("query",),
    ),
    Step(
        "Break it: cell [7, 0] is painted white, so “.” cannot look at “one”. Click cells to paint more away.",
        "Does “.” still depend on “one” after 2 layers?",
        ("yes", "no"),
        0,
        "“one” arrives through tokens that look at it and that “.” may look at.",
        "Point at “one” in the input row on the right: its ways light up.",
        {"mask": 0, "size": 4, "query": 7, "layers": 2, "painted": "7,0"},
    ),
)
