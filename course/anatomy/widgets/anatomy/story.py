"""The steps of AnatomyView."""

from typing import Any

from ..tools.story import Step


def _scene(token: int, layer: int, head: int, part: str = "", text: str = "") -> dict[str, Any]:
    return {"token": token, "layer": layer, "head": head, "part": part, "text": text, "wrote": [], "draws": False}


# Tokens that the model itself writes: “ly clever, and I am sure”, and again and again “ I am sure”.
_START, _CIRCLE = [277, 295, 307, 11, 282, 301, 444, 731], [301, 444, 731]
PLAIN = ("parts", "heads", "draws")  # the first steps are about a text and what comes next

STORY = (
    Step(
        "A small but whole Transformer has read this text. After each token, a word or a piece of one, it guesses the "
        "next: point at tokens. “One token” writes the likeliest guess.",
        "When is it surest?",
        ("after a comma", "at the start of the text", "inside a word"),
        2,
        "After “aston-ish” there is hardly anything but “ment”: 97%. After the last comma many words fit.",
        "Point along the first line: after which token is the uppermost bar longest?",
        _scene(31, 3, 0),
        moves=("token", "text", "wrote", "draws"),
        show=({"token": 0}, {"token": 31}, {"token": 10}),
        without=PLAIN,
    ),
    Step(
        "Each upright line is a token's stream, rising through layers L0–L3. Blue ones fed the guess after “ish”.",
        "Why none from the right?",
        ("later words are unknown", "near words matter most", "it is empty"),
        0,
        "Whoever writes has only what is written. So each token looks at itself and at earlier ones, in each layer.",
        "After “ish” the whole text is there to be read. Point at later tokens: does one on the right turn blue?",
        _scene(10, 3, 0),
        moves=("token", "layer"),
        show=({"token": 20}, {"token": 0}, {"token": 10}),
        without=PLAIN,
    ),
    Step(
        "L0 to L2 would say “and”, L3 says a quotation mark. Each layer has four heads, which look back and fetch. "
        "Point at the layers: the dashed word is what head 0 looks at most.",
        "What does this head of L3 look at?",
        ("the mark closing a speech", "the word before", "the first word"),
        0,
        'After it, a speech goes on: type ‹When I consider," she added,›. Without its mark, “I” comes next.',
        "Point at L3 in the last stream, and find the dashed frame in the text.",
        _scene(31, 0, 0),
        moves=("layer", "token", "text", "wrote"),  # the reply invites to type
        show=({"layer": 1}, {"layer": 2}, {"layer": 3}),
        without=("draws",),
    ),
    Step(
        "Other heads have other habits. Here is head 0 of L2: a row for each token, blue where it looks. Point at "
        "rows, and watch the dashed word.",
        "What does it tell each token?",
        ("who is speaking", "what stands before it", "how many there are"),
        1,
        "Most rows look just one back: “ish” at “on”, “on” at “st”. So a piece of a word knows what it continues.",
        "Point at the rows of “st”, “on” and “ish”.",
        _scene(10, 2, 0),
        moves=("token",),
        show=tuple({"token": token, "key": token - 1} for token in (7, 8, 9, 10)),
        without=("draws",),
    ),
    Step(
        "A part opens when it is clicked. Here are all norms on the way of the last token: gray before, blue after.",
        "What do the norms undo?",
        ("that the stream grows", "that words repeat", "that it turns"),
        0,
        "Each part adds to the stream, which grows more than a hundredfold; each part reads it at one size.",
        "Compare the gray bars from left to right, then the blue ones.",
        _scene(31, 3, 0, part="norm"),
        without=("heads", "draws"),
    ),
    Step(
        "Now your own text: type one, or press “One token”, which writes the likeliest. Gray is the stream itself; "
        "blue is only its share in the newest guess.",
        "Which gray streams change?",
        ("none but its own", "all of them", "the one before it"),
        0,
        "No token looks at later ones, so earlier streams stay as they are: their keys and values are kept.",
        "Press “One token”, and compare the gray widths at its left before and after.",
        _scene(31, 3, 0, text="My dear Mr. Bennet"),
        moves=("token", "text", "wrote", "draws"),
        show=({"wrote": [11]},),
        without=("heads", "draws"),
    ),
    Step(
        "Let it write on, or press “One token” again and again: it takes the likeliest each time.",
        "What does it come to?",
        ("it ends", "it repeats itself", "a new speaker"),
        1,
        "“I am sure I am sure”: what was just written is likely again. With “draw among 5” it gets away.",
        "Press “Write on”, and wait until twenty tokens are written.",
        _scene(31, 3, 0, text="It is a truth universally"),
        moves=("token", "wrote", "draws"),
        show=tuple({"wrote": [*_START, *_CIRCLE * n]} for n in (0, 1, 2, 3, 4)),
        without=("heads",),
    ),
)
