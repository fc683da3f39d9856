"""The steps of PermutationExplorer."""

from ..tools.story import Step

STORY = (
    Step(
        "Attention makes a row of numbers of each word; each looks at all, without a mask. Dog and man swap places: "
        "after attention in map 2, before it in map 3.",
        "Where do maps 2 and 3 differ?",
        ("at “dog” and “man”", "in all rows", "nowhere"),
        2,
        "For this attention “the man bites the dog” is “the dog bites the man” with its rows moved: who bites is lost.",
        "Look at the last map, Map 3 minus Map 2.",
        {"order": "dog ↔ man", "positions": False, "word": 1},
        moves=("word",),
        show=({"order": "as written"}, {"order": "dog ↔ man"}, {"word": 4}),
        waits=("line", "signs", "numbers"),
    ),
    Step(
        "The sentence as written, with “the” at places 0 and 3. Point at both rows of map 1.",
        "Are the two rows equal?",
        ("yes", "no"),
        0,
        "Attention knows which words are there, and not at which place.",
        "Compare the two rows cell by cell.",
        {"order": "as written", "positions": False, "word": 0},
        moves=("word",),
        show=({"word": 3}, {"word": 0}),
        waits=("line", "signs", "numbers"),
    ),
    Step(
        "Press “Next order” until you have seen all six. Or drag a word of map 3: the order in which it stands nearest "
        "to your hand is taken.",
        "Which order makes a difference?",
        ("backward", "shuffled", "none"),
        2,
        "The output of a word is the same in each order; only its row is another one.",
        "Does the last map ever show a color?",
        {"order": "backward", "positions": False, "word": 4},
        moves=("order", "word"),
        show=tuple(
            {"order": order} for order in ("as written", "dog ↔ man", "shifted by one", "shuffled", "shuffled again")
        ),
    ),
    Step(
        "The same order, but now each place adds a position vector of its own to its word.",
        "How many rows differ now?",
        ("none", "two", "all six"),
        2,
        "Each word stands at another place, so each query, key and value is another one.",
        "Read the last map row by row.",
        {"order": "backward", "positions": True, "word": 4},
        show=({"positions": False}, {"positions": True}),
        waits=("line", "signs"),
    ),
    Step(
        "Dog and man swap places again, now with position vectors. The other four words stay where they were.",
        "Does the row of “bites” differ now?",
        ("no, it has not moved", "yes"),
        1,
        "It attends to dog and man, and their keys and values hold other positions now. So order counts: who bites can "
        "be told.",
        "Look at the third row of the last map, with and without position vectors.",
        {"order": "dog ↔ man", "positions": True, "word": 2},
        show=({"positions": False}, {"positions": True}),
        waits=("line", "signs"),
    ),
)
