"""The steps of AnatomyView."""

from typing import Any

from ..tools.story import Step


def _scene(token: int, layer: int, head: int, part: str = "", text: str = "") -> dict[str, Any]:
    return {"token": token, "layer": layer, "head": head, "part": part, "text": text, "wrote": [], "draws": False}


# Tokens that the model itself writes: “ly clever, and I am sure”, and again and again “ I am sure”.
_START, _CIRCLE = [277, 295, 307, 11, 282, 301, 444, 731], [301, 444, 731]

STORY = (
    Step(
        "Each upright line is a token on its way through layers L0 to L3. Point at one: blue fed its guess.",
        "After which token is the model surest of what comes next?",
        ("the last comma", "“D”, the first", "“ish”"),
        2,
        "After “aston-ish” there is hardly anything but “ment”: 97%. After the last comma it is far less sure.",
        "Point at each of the three, and read the number behind “next”.",
        _scene(31, 3, 0),
        moves=("token",),
        show=({"token": 0}, {"token": 31}, {"token": 10}),
    ),
    Step(
        "At the right below: what each layer would say next if it were the last.",
        "Which layer brings the quotation mark?",
        ("L0", "L2", "L3"),
        2,
        "From L0 to L2 the likeliest word is “and”: after a comma, a safe guess.",
        "Compare the first word of each line.",
        _scene(31, 2, 0),
        moves=("layer",),
        show=({"layer": 0}, {"layer": 1}, {"layer": 2}, {"layer": 3}),
    ),
    Step(
        "A head is one of four parts of a layer that look back and fetch from other tokens. Head 0 in layer 3, at the "
        "last token: the dashed word is what it attends to most.",
        "What does it look at?",
        ("the closing quotation mark", "the word before", "the first word"),
        0,
        "That mark, 13 tokens back, says that a speech stopped with a comma: it is not over.",
        "Find the dashed frame in the line of words.",
        _scene(31, 3, 0),
        show=({"key": 30}, {"key": 0}, {"key": 18}),
    ),
    Step(
        "Another kind of head: layer 2, head 0. Point at its rows, one after the other.",
        "Where do most rows look?",
        ("at themselves", "at the token just before", "at the first token"),
        1,
        "“st”, “on”, “ish”: such a head puts pieces of words together. A few rows, as that of “ment”, look elsewhere.",
        "Look at the dark cells: they lie just beside the diagonal.",
        _scene(10, 2, 0),
        moves=("token",),
        show=tuple({"token": token, "key": token - 1} for token in (7, 8, 9, 10)),
        waits=("line",),
    ),
    Step(
        "A part opens when it is clicked. Here are all norms on the way of the last token: pale before, blue after.",
        "What do the norms undo?",
        ("that the stream grows", "that words repeat", "that it turns"),
        0,
        "The stream becomes more than a hundred times as long, and every layer reads it at about one size.",
        "Compare the pale bars from left to right, then the blue ones.",
        _scene(31, 3, 0, part="norm"),
    ),
    Step(
        "Click the other parts too: each opens a picture of what it does to this token. Here is the mask.",
        "How many tokens may token 5 look at?",
        ("5", "6", "32"),
        1,
        "Itself and the five before it: the mask hides what comes later.",
        "Point at token 5 and read below the mask.",
        _scene(12, 0, 1, part="mask"),
        moves=("token", "part"),
        show=({"token": 3}, {"token": 5}),
    ),
    Step(
        "Now your own text: type one, or let this one go on. “One token” adds the likeliest.",
        "Which streams does a new token change?",
        ("none but its own", "all of them", "the one before it"),
        0,
        "No token looks at later ones, so earlier streams stay as they are: their keys and values are kept.",
        "Press “One token” and watch the streams at its left.",
        _scene(31, 3, 0, text="My dear Mr. Bennet"),
        moves=("token", "text", "wrote", "draws"),
        show=({"wrote": [11]},),
    ),
    Step(
        "Let it write on, or press “One token” again and again: it takes the likeliest each time.",
        "What does it come to?",
        ("an end", "a circle", "a new speaker"),
        1,
        "“I am sure I am sure”: what was just written is likely again. With “draw among 5” it gets away.",
        "Wait until twenty tokens are written.",
        _scene(31, 3, 0, text="It is a truth universally"),
        moves=("token", "wrote"),
        show=tuple({"wrote": [*_START, *_CIRCLE * n]} for n in (0, 1, 2, 3, 4)),
    ),
)
