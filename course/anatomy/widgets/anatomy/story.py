"""The steps of AnatomyView."""

from ..tools.story import Step

STORY = (
    Step(
        "Point at the words. Each gray stream is one token's vector, from the embedding at the bottom to what the "
        "model says next, at the top; blue is the way back from there.",
        "What does it say after the last comma?",
        ("and", "a quotation mark", "she"),
        1,
        "She spoke, was interrupted by “she added”, and goes on speaking.",
        "Read the end of the line of words, behind ▸.",
        {"token": 31, "layer": 3, "head": 0, "part": ""},
    ),
    Step(
        "Below the head you see what each layer would say if it were the last.",
        "Which layer brings the quotation mark?",
        ("L0", "L2", "L3"),
        2,
        "From L0 to L2 the likeliest word is “and”: after a comma, a safe guess.",
        "Compare the first word of each line.",
        {"token": 31, "layer": 2, "head": 0, "part": ""},
    ),
    Step(
        "In layer 3, head 0 of the last token looks back. The dashed word is what it attends to most.",
        "What does it look at?",
        ("the closing quotation mark", "the word before", "the first word"),
        0,
        "That mark, 13 tokens back, says that a speech stopped with a comma: it is not over.",
        "Find the dashed frame in the line of words.",
        {"token": 31, "layer": 3, "head": 0, "part": ""},
    ),
    Step(
        "Another kind of head: layer 2, head 0. Point at its rows, one after the other.",
        "Where do most rows look?",
        ("at themselves", "at the token just before", "at the first token"),
        1,
        "Such a head puts pieces of words together: “st”, “on”, “ish”, “ment”.",
        "Look at the dark cells: they lie just beside the diagonal.",
        {"token": 10, "layer": 2, "head": 0, "part": ""},
        moves=("token",),
    ),
    Step(
        "A part opens when it is clicked. Here are all norms on the way of the last token: pale before, blue after.",
        "What do the norms undo?",
        ("that the stream grows", "that words repeat", "that it turns"),
        0,
        "The stream becomes more than a hundred times as long, and every layer reads it at about one size.",
        "Compare the pale bars from left to right, then the blue ones.",
        {"token": 31, "layer": 3, "head": 0, "part": "norm"},
    ),
    Step(
        "Open the other parts. With your own functions, as in unit 11, a right part gets a ✓; a wrong one cracks, and "
        "the streams that it moves turn orange.",
        "How many tokens may token 5 look at?",
        ("5", "6", "32"),
        1,
        "Itself and the five before it: the mask hides what comes later.",
        "Point at token 5 and read below the mask.",
        {"token": 12, "layer": 0, "head": 1, "part": "mask"},
        moves=("token", "part"),
    ),
)
